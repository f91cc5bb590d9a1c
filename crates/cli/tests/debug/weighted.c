/* A program on the driver API: it loads the PTX of weighted.cu and launches its two kernels, as nvcc's output would. With
   an argument the second one reads from nowhere. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int cuInit(unsigned flags);
int cuDeviceGet(int *device, int ordinal);
int cuCtxCreate_v2(void **context, unsigned flags, int device);
int cuModuleLoad(void **module, const char *file);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuMemAlloc_v2(uint64_t *address, size_t bytes);
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **arguments, void **extra);

static void done(int result, const char *what) {
    if (result != 0) {
        printf("%s: error %d\n", what, result);
        exit(3);
    }
}

#define DO(call) done(call, #call)

int main(int argc, char **argv) {
    (void)argv;
    enum { N = 200, ROOM = 256 };
    int device, host[ROOM], total = 0, factor = 3, n = N;
    void *context, *module, *scale, *sum;
    uint64_t in, out, result;
    for (int i = 0; i < ROOM; i++)
        host[i] = i < N ? i : -1000;
    DO(cuInit(0));
    DO(cuDeviceGet(&device, 0));
    DO(cuCtxCreate_v2(&context, 0, device));
    DO(cuModuleLoad(&module, PTX));
    DO(cuModuleGetFunction(&scale, module, "_Z5scalePiPKiii"));
    DO(cuModuleGetFunction(&sum, module, "_Z3sumPiPKii"));
    DO(cuMemAlloc_v2(&in, sizeof host));
    DO(cuMemAlloc_v2(&out, sizeof host));
    DO(cuMemAlloc_v2(&result, sizeof total));
    DO(cuMemcpyHtoD_v2(in, host, sizeof host));
    DO(cuMemcpyHtoD_v2(out, host, sizeof host));
    printf("scaling %d numbers\n", N);
    fflush(stdout);
    DO(cuLaunchKernel(scale, 4, 1, 1, 64, 1, 1, 0, NULL, (void *[]){&out, &in, &factor, &n}, NULL));
    if (argc > 1)
        out = 0;
    DO(cuLaunchKernel(sum, 1, 1, 1, 64, 1, 1, 0, NULL, (void *[]){&result, &out, &n}, NULL));
    DO(cuMemcpyDtoH_v2(&total, result, sizeof total));
    printf("total %d, expected %d\n", total, factor * N * (N - 1) / 2);
    return total != factor * N * (N - 1) / 2;
}
