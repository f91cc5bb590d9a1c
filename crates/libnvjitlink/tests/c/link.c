// What Numba and others do: two PTX files become a cubin, which the driver loads, and whose kernel runs.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *Handle;
int VERSIONED(Create)(Handle *handle, uint32_t count, const char **options);
int nvJitLinkDestroy(Handle *handle);
int nvJitLinkAddData(Handle handle, int kind, const void *data, size_t size, const char *name);
int nvJitLinkComplete(Handle handle);
int nvJitLinkGetLinkedCubinSize(Handle handle, size_t *size);
int nvJitLinkGetLinkedCubin(Handle handle, void *cubin);
int nvJitLinkGetErrorLogSize(Handle handle, size_t *size);
int nvJitLinkGetErrorLog(Handle handle, char *log);
int cuInit(unsigned);
int cuDevicePrimaryCtxRetain(void **, int);
int cuCtxSetCurrent(void *);
int cuModuleLoadData(void **, const void *);
int cuModuleGetFunction(void **, void *, const char *);
int cuMemAlloc_v2(uint64_t *, size_t);
int cuMemcpyDtoH_v2(void *, uint64_t, size_t);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);

#define CHECK(truth)                                                                                                    \
    do {                                                                                                               \
        if (!(truth)) {                                                                                                \
            printf("line %d: %s\n", __LINE__, #truth);                                                                 \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

static const char KERNEL[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                             ".extern .func (.param .b32 r) answer();\n"
                             ".visible .entry k(.param .u64 to)\n{\n"
                             ".reg .b32 %x;\n.reg .b64 %p;\n.param .b32 r;\n"
                             "ld.param.u64 %p, [to];\ncall (r), answer;\nld.param.b32 %x, [r];\nst.global.b32 [%p], %x;\nret;\n}\n";
static const char ANSWER[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                             ".visible .func (.param .b32 r) answer()\n{\nst.param.b32 [r], 42;\nret;\n}\n";

int main(void) {
    // Clients ask for LTO-IR where this is.
    CHECK(dlsym(RTLD_DEFAULT, "nvJitLinkVersion") == NULL);
    Handle link = NULL;
    const char *options[] = {"-arch=sm_90", "-lineinfo"};
    CHECK(VERSIONED(Create)(&link, 0, NULL) == 2);
    const char *wrong[] = {"-arch=sm_90", "-such"};
    CHECK(VERSIONED(Create)(&link, 2, wrong) == 1);
    const char *nonsense[] = {"-arch=ninety"};
    CHECK(VERSIONED(Create)(&link, 1, nonsense) == 16);

    // A function that nobody has.
    CHECK(VERSIONED(Create)(&link, 2, options) == 0 && link);
    CHECK(nvJitLinkAddData(link, 2, KERNEL, strlen(KERNEL), "kernel") == 0);
    CHECK(nvJitLinkAddData(link, 3, "BC", 2, "lto") == 18);
    CHECK(nvJitLinkAddData(link, 2, NULL, 5, "none") != 0);
    CHECK(nvJitLinkComplete(link) == 4);
    size_t size = 0;
    CHECK(nvJitLinkGetErrorLogSize(link, &size) == 0 && size > 1);
    char *log = malloc(size);
    CHECK(nvJitLinkGetErrorLog(link, log) == 0 && strstr(log, "answer"));
    CHECK(nvJitLinkGetLinkedCubinSize(link, &size) == 3);
    Handle copy = link;
    CHECK(nvJitLinkDestroy(&link) == 0 && link == NULL);
    CHECK(nvJitLinkComplete(copy) == 3);

    // The context comes later than the link: the library does without.
    CHECK(VERSIONED(Create)(&link, 2, options) == 0);
    CHECK(nvJitLinkAddData(link, 2, KERNEL, sizeof KERNEL, "kernel") == 0);
    CHECK(nvJitLinkAddData(link, 10, ANSWER, strlen(ANSWER), "answer") == 0);
    CHECK(nvJitLinkComplete(link) == 0);
    CHECK(nvJitLinkGetLinkedCubinSize(link, &size) == 0);
    unsigned char *cubin = malloc(size);
    CHECK(nvJitLinkGetLinkedCubin(link, cubin) == 0 && memcmp(cubin, "\177ELF", 4) == 0);
    CHECK(nvJitLinkDestroy(&link) == 0);

    void *context, *module, *function;
    uint64_t memory;
    int answer = 0;
    CHECK(cuInit(0) == 0 && cuDevicePrimaryCtxRetain(&context, 0) == 0 && cuCtxSetCurrent(context) == 0);
    CHECK(cuModuleLoadData(&module, cubin) == 0 && cuModuleGetFunction(&function, module, "k") == 0);
    CHECK(cuMemAlloc_v2(&memory, 4) == 0);
    void *arguments[] = {&memory};
    CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL) == 0);
    CHECK(cuMemcpyDtoH_v2(&answer, memory, 4) == 0 && answer == 42);
    puts("link: passed");
    return 0;
}
