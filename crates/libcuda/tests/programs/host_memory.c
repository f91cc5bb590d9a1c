/* The kinds of memory, and what kernels of every device make of them. */
#define _DEFAULT_SOURCE
#include "driver.h"
#include <sys/mman.h>

/* What cuPointerGetAttributes says: memory type, host pointer, device pointer, managed. */
static void kind(const void *p, unsigned type, const void *host, CUdeviceptr device, unsigned managed) {
    unsigned got_type = 99, got_managed = 99;
    void *got_host = (void *)99;
    CUdeviceptr got_device = 99;
    int which[] = {2, 4, 3, 8};
    void *out[] = {&got_type, &got_host, &got_device, &got_managed};
    OK(cuPointerGetAttributes(4, which, out, (CUdeviceptr)p));
    TRUE(got_type == type);
    TRUE(got_host == host);
    TRUE(got_device == device);
    TRUE(got_managed == managed);
}

static CUfunction step;

/* *p = *p * 2 + k */
static CUresult run(CUdeviceptr p, unsigned k) {
    unsigned spin = 1;
    void *params[] = {&p, &k, &spin};
    CUresult result = cuLaunchKernel(step, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
    return result ? result : cuCtxSynchronize();
}

static void load(void) {
    CUmodule module;
    OK(cuModuleLoadData(&module, PTX));
    OK(cuModuleGetFunction(&step, module, "step"));
}

int main(void) {
    CUcontext first = begin(), second;
    OK(cuDevicePrimaryCtxRetain(&second, 1));
    load();

    /* cuMemAlloc: the device's. */
    CUdeviceptr device;
    OK(cuMemAlloc_v2(&device, 64));
    kind((void *)device, 2, NULL, device, 0);
    void *none;
    EXPECT(1, cuPointerGetAttribute(&none, 4, device));

    /* malloc: nobody's but the program's. */
    unsigned *own = malloc(1 << 20);
    kind(own, 0, own, 0, 0);
    unsigned type;
    EXPECT(1, cuPointerGetAttribute(&type, 2, (CUdeviceptr)own));

    /* cuMemHostAlloc and cuMemAllocHost: one address for all, on each device. */
    unsigned *pinned[2];
    OK(cuMemHostAlloc((void **)&pinned[0], 64, 3));
    OK(cuMemAllocHost_v2((void **)&pinned[1], 64));
    for (int i = 0; i < 2; i++) {
        kind(pinned[i], 1, pinned[i], (CUdeviceptr)pinned[i], 0);
        CUdeviceptr mapped;
        OK(cuMemHostGetDevicePointer_v2(&mapped, pinned[i], 0));
        TRUE(mapped == (CUdeviceptr)pinned[i]);
        *pinned[i] = 5;
        OK(run(mapped, 1));
        TRUE(*pinned[i] == 11);
    }
    unsigned flags;
    OK(cuMemHostGetFlags(&flags, pinned[0]));
    TRUE(flags == 3);

    /* cuMemHostRegister: the program's memory at its own address. */
    EXPECT(713, cuMemHostUnregister(own));
    OK(cuMemHostRegister_v2(own, 1 << 20, 2));
    EXPECT(712, cuMemHostRegister_v2(own + 10, 4, 0));
    kind(own, 1, own, (CUdeviceptr)own, 0);
    own[100] = 20;
    CUdeviceptr mapped;
    OK(cuMemHostGetDevicePointer_v2(&mapped, own + 100, 0));
    OK(run(mapped, 2));
    TRUE(own[100] == 42);
    OK(cuMemsetD32_v2(mapped, 9, 2));
    OK(cuCtxSynchronize());
    TRUE(own[100] == 9 && own[101] == 9);
    EXPECT(1, cuMemHostRegister_v2((void *)8, 64, 0));
    EXPECT(801, cuMemHostRegister_v2(malloc(64), 64, 8));
    void *read_only = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(1, cuMemHostRegister_v2(read_only, 4096, 0));

    /* Managed memory. */
    CUdeviceptr managed;
    OK(cuMemAllocManaged(&managed, 3 * 4096, 1));
    kind((void *)managed, 2, (void *)managed, managed, 1);
    *(unsigned *)managed = 1;
    OK(run(managed, 1));
    TRUE(*(unsigned *)managed == 3);
    int value = 99, users[3];
    OK(cuMemRangeGetAttribute(&value, 4, 1, managed, 3 * 4096));
    TRUE(value == 0);
    OK(cuMemAdvise(managed + 4096, 4096, 1, 0));
    OK(cuMemRangeGetAttribute(&value, 4, 1, managed, 3 * 4096));
    TRUE(value == 0);
    OK(cuMemRangeGetAttribute(&value, 4, 1, managed + 4096, 4096));
    TRUE(value == 1);
    OK(cuMemAdvise(managed, 3 * 4096, 3, -1));
    OK(cuMemRangeGetAttribute(&value, 4, 2, managed, 4096));
    TRUE(value == -1);
    OK(cuMemAdvise(managed, 3 * 4096, 5, 1));
    OK(cuMemRangeGetAttribute(users, sizeof users, 3, managed, 4096));
    TRUE(users[0] == 1 && users[1] == -2 && users[2] == -2);
    OK(cuMemRangeGetAttribute(&value, 4, 4, managed, 4096));
    TRUE(value == -2);
    OK(cuMemPrefetchAsync(managed, 3 * 4096, 1, NULL));
    OK(cuMemRangeGetAttribute(&value, 4, 4, managed, 4096));
    TRUE(value == 1);
    OK(cuStreamAttachMemAsync(NULL, managed, 0, 1));
    EXPECT(1, cuMemAdvise(managed, 4 * 4096, 1, 0));
    EXPECT(1, cuMemAdvise(device, 64, 1, 0));
    EXPECT(101, cuMemPrefetchAsync(managed, 4096, 7, NULL));
    /* A batch, each range with a place of its own. */
    CUdeviceptr ranges[] = {managed, managed + 4096};
    size_t sizes[] = {4096, 4096}, from[] = {0, 1}, same[] = {0, 0};
    struct { int type, id; } places[] = {{2, 0}, {1, 0}};
    CUstream batch;
    OK(cuStreamCreate(&batch, 1));
    OK(cuMemPrefetchBatchAsync(ranges, sizes, 2, places, from, 2, 0, batch));
    OK(cuMemRangeGetAttribute(&value, 4, 4, managed, 4096));
    TRUE(value == -1);
    OK(cuMemRangeGetAttribute(&value, 4, 4, managed + 4096, 4096));
    TRUE(value == 0);
    EXPECT(1, cuMemPrefetchBatchAsync(ranges, sizes, 2, places, same, 2, 0, batch));

    /* What copies do to memory can be told of an allocation. */
    unsigned one = 1, synchronous = 0;
    OK(cuPointerSetAttribute(&one, 6, device + 8));
    OK(cuPointerGetAttribute(&synchronous, 6, device));
    TRUE(synchronous == 1);

    /* The other device uses all of that, but not the first one's own memory. */
    OK(cuCtxSetCurrent(second));
    load();
    *pinned[0] = 5, own[7] = 5, *(unsigned *)managed = 5;
    CUdeviceptr all[] = {(CUdeviceptr)pinned[0], (CUdeviceptr)(own + 7), managed};
    for (int i = 0; i < 3; i++) {
        OK(run(all[i], 0));
        TRUE(*(unsigned *)all[i] == 10);
    }
    EXPECT(700, run(device, 0));
    OK(cuDevicePrimaryCtxReset_v2(1));

    /* What is registered no longer is the program's again: an error, not the end of the process. */
    OK(cuCtxSetCurrent(first));
    OK(cuMemHostUnregister(own));
    kind(own, 0, own, 0, 0);
    EXPECT(1, cuMemFreeHost((void *)managed));
    EXPECT(1, cuMemFree_v2((CUdeviceptr)pinned[1]));
    OK(cuMemFreeHost(pinned[1]));
    own[0] = 77;
    load();
    EXPECT(700, run((CUdeviceptr)own, 0));
    TRUE(own[0] == 77);
    OK(cuDevicePrimaryCtxReset_v2(0));
    printf("host_memory: passed\n");
    return 0;
}
