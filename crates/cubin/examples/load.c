/* Loads a cubin through the real driver, runs its kernel `k` and checks what it computes.
   cc load.c -o load -ldl && ./load FILE.cubin      prints "ok", or the step that failed and why. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 2, THREADS = 64, N = 3 };

static void *library;

static void *function(const char *name) {
    void *found = dlsym(library, name);
    if (!found) {
        printf("no %s\n", name);
        exit(2);
    }
    return found;
}

static void check(const char *step, int result) {
    if (result == 0) return;
    int (*name_of)(int, const char **) = function("cuGetErrorName");
    const char *name = "?";
    name_of(result, &name);
    printf("%s: %s\n", step, name);
    fflush(stdout);
    _Exit(1);
}

/* What the kernel in kernel.cu computes. */
static int expected(int block, int i) {
    static const int table[] = {1, 2, 3, 4}, global[] = {10, 20, 30, 40};
    return table[i & 3] + global[i & 3] + (THREADS - 1 - i) * 1000 + ((i + N) & 7) * N * 100000 + block * 10000000;
}

int main(int argc, char **argv) {
    library = dlopen("libcuda.so.1", RTLD_NOW);
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    if (!library || !file) {
        printf("no library or no file\n");
        return 2;
    }
    static char image[1 << 20];
    size_t size = fread(image, 1, sizeof image, file);
    (void)size;
    int (*init)(unsigned) = function("cuInit");
    int (*get)(int *, int) = function("cuDeviceGet");
    int (*retain)(void **, int) = function("cuDevicePrimaryCtxRetain");
    int (*current)(void *) = function("cuCtxSetCurrent");
    int (*load)(void **, const void *) = function("cuModuleLoadData");
    int (*find)(void **, void *, const char *) = function("cuModuleGetFunction");
    int (*allocate)(uint64_t *, size_t) = function("cuMemAlloc_v2");
    int (*fill)(uint64_t, unsigned, size_t) = function("cuMemsetD32_v2");
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                  void **) = function("cuLaunchKernel");
    int (*wait)(void) = function("cuCtxSynchronize");
    int (*copy)(void *, uint64_t, size_t) = function("cuMemcpyDtoH_v2");
    int device;
    void *context, *module, *kernel;
    check("init", init(0));
    check("device", get(&device, 0));
    check("context", retain(&context, device));
    check("current", current(context));
    check("load", load(&module, image));
    check("find", find(&kernel, module, "k"));
    uint64_t memory;
    int n = N;
    void *parameters[] = {&memory, &n};
    static int result[BLOCKS * THREADS];
    check("allocate", allocate(&memory, sizeof result));
    check("fill", fill(memory, 0x5a5a5a5a, BLOCKS * THREADS));
    check("launch", launch(kernel, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, parameters, NULL));
    check("wait", wait());
    check("copy", copy(result, memory, sizeof result));
    for (int at = 0; at < BLOCKS * THREADS; at++) {
        if (result[at] != expected(at / THREADS, at % THREADS)) {
            printf("wrong: element %d is %d, not %d\n", at, result[at], expected(at / THREADS, at % THREADS));
            fflush(stdout);
            _Exit(1);
        }
    }
    printf("ok\n");
    fflush(stdout);
    _Exit(0);
}
