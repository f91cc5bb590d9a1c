/* What calls of the driver and copies take, as a program sees them. `cargo xtask calls` compiles and runs it.

   A figure is the median of many rounds. Copies are compared with the C library's memcpy between buffers that have been
   touched before, alternately with it, since the host's other work changes its speed more than anything else does. */
#define _GNU_SOURCE
#include "../tests/programs/driver.h"
#include <time.h>

CUresult cuMemAllocAsync(CUdeviceptr *, size_t, CUstream);
CUresult cuMemFreeAsync(CUdeviceptr, CUstream);
CUresult cuMemsetD8Async(CUdeviceptr, unsigned char, size_t, CUstream);

enum { ROUNDS = 201, BURST = 256, COPIES = 7 };

static const size_t GIB = (size_t)1 << 30;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n) {
    qsort(values, n, sizeof *values, ascending);
    return values[n / 2];
}

static CUfunction empty, add;
static CUstream stream;
static CUevent event;
static CUdeviceptr small;

static void launch_empty(void) { OK(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL)); }
static void launch_default(void) { OK(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL)); }
static void launch_add(void) {
    unsigned n = 32;
    void *params[] = {&small, &small, &small, &n};
    OK(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL));
}
static void launch_grid(void) { OK(cuLaunchKernel(empty, 1024, 1, 1, 256, 1, 1, 0, stream, NULL, NULL)); }
static void record(void) { OK(cuEventRecord(event, stream)); }
static void copy_small(void) {
    unsigned words[4] = {0};
    OK(cuMemcpyHtoDAsync_v2(small, words, sizeof words, stream));
}
static void fill_small(void) { OK(cuMemsetD8Async(small, 1, 16, stream)); }
static void allocate_in_order(void) {
    CUdeviceptr p;
    OK(cuMemAllocAsync(&p, 4096, stream));
    OK(cuMemFreeAsync(p, stream));
}
static void allocate(void) {
    CUdeviceptr p;
    OK(cuMemAlloc_v2(&p, 4096));
    OK(cuMemFree_v2(p));
}
static void current(void) {
    CUcontext context;
    OK(cuCtxGetCurrent(&context));
}
static void to_the_end(void) {
    launch_empty();
    OK(cuStreamSynchronize(stream));
}

/* What the calls of a burst take until they return, and until their work is done. */
static void calls(const char *name, void (*call)(void)) {
    static double returned[ROUNDS], done[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        OK(cuCtxSynchronize());
        double start = now();
        for (int i = 0; i < BURST; i++) call();
        returned[round] = now() - start;
        OK(cuCtxSynchronize());
        done[round] = now() - start;
    }
    printf("%-44s %8.3f us   until done %8.3f us\n", name, median(returned, ROUNDS) / BURST * 1e6,
           median(done, ROUNDS) / BURST * 1e6);
}

/* One call, when nothing else is under way for a while. */
static void lone(const char *name, void (*call)(void)) {
    static double taken[ROUNDS];
    struct timespec pause = {0, 200000};
    for (int round = 0; round < ROUNDS; round++) {
        OK(cuCtxSynchronize());
        nanosleep(&pause, NULL);
        double start = now();
        call();
        taken[round] = now() - start;
    }
    printf("%-44s %8.3f us\n", name, median(taken, ROUNDS) * 1e6);
}

static void copies(const char *name, void (*copy)(void *, const void *), void *to, const void *from, void *plain_to,
                   const void *plain_from) {
    double ours[COPIES], plain[COPIES];
    copy(to, from);
    for (int round = 0; round < COPIES; round++) {
        double start = now();
        memcpy(plain_to, plain_from, GIB);
        double middle = now();
        copy(to, from);
        plain[round] = middle - start;
        ours[round] = now() - middle;
    }
    double mine = 1 / median(ours, COPIES), theirs = 1 / median(plain, COPIES);
    printf("%-44s %8.2f GiB/s   memcpy %8.2f GiB/s   ratio %.2f\n", name, mine, theirs, mine / theirs);
}

static void to_device(void *to, const void *from) { OK(cuMemcpyHtoD_v2((CUdeviceptr)to, from, GIB)); }
static void from_device(void *to, const void *from) { OK(cuMemcpyDtoH_v2(to, (CUdeviceptr)from, GIB)); }
static void on_device(void *to, const void *from) {
    OK(cuMemcpyDtoD_v2((CUdeviceptr)to, (CUdeviceptr)from, GIB));
    OK(cuCtxSynchronize());
}
static void to_device_later(void *to, const void *from) {
    OK(cuMemcpyHtoDAsync_v2((CUdeviceptr)to, from, GIB, stream));
    OK(cuStreamSynchronize(stream));
}
static void fill(void *to, const void *unused) {
    (void)unused;
    OK(cuMemsetD8_v2((CUdeviceptr)to, 7, GIB));
    OK(cuCtxSynchronize());
}

int main(int count, char **words) {
    CUmodule module;
    begin();
    OK(cuModuleLoadData(&module, PTX));
    OK(cuModuleGetFunction(&empty, module, "empty"));
    OK(cuModuleGetFunction(&add, module, "add"));
    OK(cuStreamCreate(&stream, 1));
    OK(cuEventCreate(&event, 0));
    OK(cuMemAlloc_v2(&small, 4096));

    calls("cuLaunchKernel, empty kernel", launch_empty);
    calls("cuLaunchKernel, empty, default stream", launch_default);
    calls("cuLaunchKernel, 32 threads, 4 parameters", launch_add);
    calls("cuEventRecord", record);
    calls("cuMemcpyHtoDAsync, 16 bytes", copy_small);
    calls("cuMemsetD8Async, 16 bytes", fill_small);
    calls("cuMemAllocAsync and cuMemFreeAsync", allocate_in_order);
    calls("cuMemAlloc and cuMemFree", allocate);
    calls("cuCtxGetCurrent", current);
    lone("cuLaunchKernel after a pause", launch_empty);
    lone("cuLaunchKernel and cuStreamSynchronize", to_the_end);
    lone("cuLaunchKernel, 1024 blocks, after a pause", launch_grid);
    if (count > 1 && !strcmp(words[1], "--no-copies")) return 0;

    char *a = malloc(GIB), *b = malloc(GIB), *locked;
    CUdeviceptr x, y;
    TRUE(a && b);
    memset(a, 1, GIB);
    memset(b, 2, GIB);
    OK(cuMemAllocHost_v2((void **)&locked, GIB));
    memset(locked, 3, GIB);
    OK(cuMemAlloc_v2(&x, GIB));
    OK(cuMemAlloc_v2(&y, GIB));
    copies("cuMemcpyHtoD, 1 GiB", to_device, (void *)x, a, b, a);
    copies("cuMemcpyHtoDAsync, 1 GiB, page-locked", to_device_later, (void *)x, locked, b, a);
    copies("cuMemcpyHtoDAsync, 1 GiB, pageable", to_device_later, (void *)x, a, b, a);
    copies("cuMemcpyDtoH, 1 GiB", from_device, a, (void *)x, b, a);
    copies("cuMemcpyDtoD, 1 GiB", on_device, (void *)y, (void *)x, b, a);
    copies("cuMemsetD8, 1 GiB", fill, (void *)y, NULL, b, a);
    return 0;
}
