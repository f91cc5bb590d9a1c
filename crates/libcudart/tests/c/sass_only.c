/* A fat binary without PTX cannot be run, and the runtime says why, once. */
#include "compiled.h"

static struct container container;
static struct wrapper wrapper;

static void kernel(void) {}

int main(void) {
    wrapper = pack(&container, ELF, 90, "\177ELF");
    void **handle = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(handle, (const char *)kernel, "kernel", "kernel", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    int count;
    CALL(cudaGetDeviceCount(&count));
    CLAIM(count == 3);
    void *launched;
    dim3 one = {1, 1, 1};
    CALL(__cudaGetKernel(&launched, (const void *)kernel));
    CLAIM(__cudaLaunchKernel(launched, one, one, NULL, 0, NULL) == 209);
    CLAIM(__cudaLaunchKernel(launched, one, one, NULL, 0, NULL) == 209);
    CLAIM(cudaGetLastError() == 209 && cudaGetLastError() == 0);
    CLAIM(__cudaInitModule(handle) == 0);
    printf("sass_only: passed\n");
    return 0;
}
