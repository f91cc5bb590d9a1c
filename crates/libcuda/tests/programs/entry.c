/* Entry points: versions, twins, what does not exist, what is not implemented. */
#define _GNU_SOURCE
#include "driver.h"
#include <dlfcn.h>

CUresult cuGetProcAddress(const char *, void **, int, uint64_t);

static void *find(const char *name, int version, uint64_t flags) {
    void *address = NULL;
    int status = -1;
    OK(cuGetProcAddress_v2(name, &address, version, flags, &status));
    TRUE(status == 0 && address);
    return address;
}

int main(void) {
    int version, status = -1;
    void *address = (void *)1;
    OK(cuDriverGetVersion(&version));
    TRUE(version == 13000);
    TRUE(find("cuMemAlloc", 13000, 0) == (void *)cuMemAlloc_v2);
    TRUE(find("cuMemAlloc", 3010, 0) != (void *)cuMemAlloc_v2);
    TRUE(find("cuLaunchKernel", 12000, 0) == (void *)cuLaunchKernel);
    TRUE(find("cuLaunchKernel", 12000, 2) == dlsym(RTLD_DEFAULT, "cuLaunchKernel_ptsz"));
    TRUE(find("cuMemcpyHtoD", 12000, 2) == dlsym(RTLD_DEFAULT, "cuMemcpyHtoD_v2_ptds"));
    TRUE(find("cuInit", 12000, 2) == (void *)cuInit);
    /* As recorded on an H200: what is missing is told by the status, or by the result of the older function. */
    OK(cuGetProcAddress_v2("cuNothing", &address, 13000, 0, &status));
    TRUE(status == 1 && !address);
    address = (void *)1;
    OK(cuGetProcAddress_v2("cuNothing", &address, 13000, 0, NULL));
    TRUE(!address);
    OK(cuGetProcAddress_v2("cuFuncSetAttribute", &address, 2000, 0, &status));
    TRUE(status == 2 && !address);
    OK(cuGetProcAddress_v2("cuMemcpyHtoD_v2", &address, 13000, 0, &status));
    TRUE(status == 1 && !address);
    EXPECT(500, cuGetProcAddress("cuFuncSetAttribute", &address, 2000, 0));
    address = (void *)1, status = 7;
    EXPECT(1, cuGetProcAddress_v2("cuInit", &address, 13050, 0, &status));
    TRUE(status == 7 && address == (void *)1);
    EXPECT(1, cuGetProcAddress_v2(NULL, &address, 13000, 0, &status));

    const void *table = (void *)1;
    char id[16] = {0};
    EXPECT(500, cuGetExportTable(&table, id));
    TRUE(!table);

    const char *text;
    OK(cuGetErrorName(700, &text));
    TRUE(!strcmp(text, "CUDA_ERROR_ILLEGAL_ADDRESS"));
    OK(cuGetErrorString(0, &text));
    TRUE(!strcmp(text, "no error"));
    EXPECT(1, cuGetErrorName(12345, &text));
    TRUE(!text);

    OK(cuInit(0));
    int count;
    char name[64];
    OK(cuDeviceGetCount(&count));
    TRUE(count == 3);
    OK(cuDeviceGetName(name, sizeof name, 2));
    TRUE(!strcmp(name, "Tesla T4"));
    int major;
    OK(cuDeviceGetAttribute(&major, 75, 0));
    TRUE(major == 9);
    void *graph;
    EXPECT(801, cuImportExternalMemory(&graph, 0));
    EXPECT(801, cuImportExternalMemory(&graph, 0));
    puts("entry: passed");
    return 0;
}
