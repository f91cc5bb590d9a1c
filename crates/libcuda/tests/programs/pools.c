/* Memory that streams allocate and free in their order, from pools. */
#include "memory.h"

static CUfunction step_;

static uint64_t attribute(CUmemoryPool pool, unsigned which) {
    uint64_t value = 0;
    OK(cuMemPoolGetAttribute(pool, which, &value));
    return value;
}

enum { OPPORTUNISTIC = 2, INTERNAL = 3, THRESHOLD = 4, RESERVED, RESERVED_HIGH, USED, USED_HIGH };

static void step(CUdeviceptr at, unsigned k, unsigned spin, CUstream stream) {
    void *params[] = {&at, &k, &spin};
    OK(cuLaunchKernel(step_, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

static unsigned access_of(CUmemoryPool pool, unsigned type) {
    Location place = {type, 0};
    unsigned flags = 99;
    OK(cuMemPoolGetAccess(&flags, pool, &place));
    return flags;
}

static unsigned pointer(int which, CUdeviceptr at) {
    uint64_t value = 0;
    OK(cuPointerGetAttribute(&value, which, at));
    return (unsigned)value;
}

enum { DEVICE = 1, HOST_, NODE, NODE_OF_THREAD };

/* Pools of the host's memory and of managed memory. What is expected here an H200 did. */
static void kinds(void) {
    CUmemoryPool pool, standard, same;
    CUdeviceptr p;
    Location nowhere = {0, 0}, host = {HOST_, 0}, node = {NODE, 0}, of_thread = {NODE_OF_THREAD, 0};
    Access host_too = {{HOST_, 0}, 3}, read_only = {{DEVICE, 0}, 1};

    PoolProps pinned = {.alloc_type = 1, .location = host};
    OK(cuMemPoolCreate(&pool, &pinned));
    TRUE(access_of(pool, DEVICE) == 0 && access_of(pool, HOST_) == 3 && access_of(pool, NODE) == 3);
    Location wrong = of_thread;
    unsigned flags;
    EXPECT(1, cuMemPoolGetAccess(&flags, pool, &wrong));
    OK(cuMemPoolSetAccess(pool, &USABLE, 1));
    TRUE(access_of(pool, DEVICE) == 3);
    OK(cuMemPoolSetAccess(pool, &CLOSED, 1));
    OK(cuMemPoolSetAccess(pool, &host_too, 1));
    OK(cuMemPoolSetAccess(pool, &USABLE, 1));
    OK(cuMemAllocFromPoolAsync(&p, 1000, pool, NULL));
    OK(cuStreamSynchronize(NULL));
    TRUE(pointer(2, p) == 1 && pointer(8, p) == 0 && pointer(1, p) == 0);
    OK(cuMemsetD8_v2(p, 7, 1000));
    OK(cuCtxSynchronize());
    TRUE(((volatile unsigned char *)p)[999] == 7);
    OK(cuMemFreeAsync(p, NULL));
    OK(cuMemPoolDestroy(pool));
    pinned.location = node;
    OK(cuMemPoolCreate(&pool, &pinned));
    OK(cuMemPoolDestroy(pool));
    pinned.location.id = 99;
    EXPECT(1, cuMemPoolCreate(&pool, &pinned));
    pinned.location = of_thread;
    EXPECT(1, cuMemPoolCreate(&pool, &pinned));
    pinned.location = nowhere;
    EXPECT(1, cuMemPoolCreate(&pool, &pinned));

    PoolProps managed = {.alloc_type = 2, .location = {DEVICE, 0}};
    OK(cuMemPoolCreate(&pool, &managed));
    TRUE(access_of(pool, DEVICE) == 0 && access_of(pool, HOST_) == 0);
    OK(cuMemAllocFromPoolAsync(&p, 1000, pool, NULL));
    OK(cuStreamSynchronize(NULL));
    TRUE(pointer(2, p) == 2 && pointer(8, p) == 1 && pointer(1, p) == 0);
    int best[2] = {-9, -9};
    OK(cuMemRangeGetAttribute(&best[0], 4, 2, p, 1000));
    OK(cuMemRangeGetAttribute(&best[1], 4, 5, p, 1000));
    TRUE(best[0] == 0 && best[1] == DEVICE);
    EXPECT(801, cuMemAdvise_v2(p, 1000, 1, host));
    EXPECT(1, cuStreamAttachMemAsync(NULL, p, 0, 1));
    OK(cuMemsetD8_v2(p, 9, 1000));
    OK(cuCtxSynchronize());
    TRUE(((volatile unsigned char *)p)[999] == 9);
    OK(cuMemFreeAsync(p, NULL));
    OK(cuMemPoolDestroy(pool));
    managed.location = nowhere;
    OK(cuMemPoolCreate(&pool, &managed));
    OK(cuMemPoolDestroy(pool));
    managed.location = (Location){DEVICE, 9};
    EXPECT(1, cuMemPoolCreate(&pool, &managed));

    EXPECT(1, cuMemGetDefaultMemPool(&standard, &nowhere, 1));
    EXPECT(801, cuMemGetDefaultMemPool(&standard, &of_thread, 1));
    EXPECT(801, cuMemGetDefaultMemPool(&standard, &of_thread, 2));
    for (unsigned kind = 1; kind <= 2; kind++) {
        OK(cuMemGetDefaultMemPool(&standard, &host, kind));
        OK(cuMemGetMemPool(&same, &host, kind));
        TRUE(standard == same);
        OK(cuMemSetMemPool(&host, kind, same));
        EXPECT(1, cuMemPoolDestroy(standard));
    }

    OK(cuDeviceGetDefaultMemPool(&standard, 0));
    TRUE(access_of(standard, DEVICE) == 3 && access_of(standard, HOST_) == 0);
    EXPECT(101, cuMemPoolSetAccess(standard, &CLOSED, 1));
    EXPECT(801, cuMemPoolSetAccess(standard, &host_too, 1));
    EXPECT(801, cuMemPoolSetAccess(standard, &read_only, 1));
    int file;
    EXPECT(1, cuMemPoolExportToShareableHandle(&file, standard, 1, 0));
}

int main(void) {
    CUmodule module;
    CUmemoryPool standard, current, pool;
    CUstream a, b;
    CUdeviceptr p, q, r;
    begin();
    OK(cuModuleLoadData(&module, PTX));
    OK(cuModuleGetFunction(&step_, module, "step"));
    OK(cuStreamCreate(&a, 1));
    OK(cuStreamCreate(&b, 1));
    OK(cuDeviceGetDefaultMemPool(&standard, 0));
    OK(cuDeviceGetMemPool(&current, 0));
    TRUE(standard == current);
    EXPECT(1, cuMemPoolDestroy(standard));
    OK(cuMemAllocAsync(&p, 0, a));
    TRUE(p == 0);
    OK(cuMemFreeAsync(p, a));

    PoolProps props = {.alloc_type = 1, .location = {1, 0}, .max_size = 3 * MIB};
    OK(cuMemPoolCreate(&pool, &props));
    OK(cuDeviceSetMemPool(0, pool));
    OK(cuDeviceGetMemPool(&current, 0));
    TRUE(current == pool);

    /* In one stream memory is taken up again at once, in order. */
    OK(cuMemAllocAsync(&p, MIB, a));
    TRUE(attribute(pool, USED) == MIB && attribute(pool, RESERVED) == MIB);
    CUmemoryPool owner;
    OK(cuPointerGetAttribute(&owner, 17, p));
    TRUE(owner == pool);
    OK(cuMemsetD32_v2(p, 0, 1));
    step(p, 1, 300000, a);
    OK(cuMemFreeAsync(p, a));
    EXPECT(1, cuMemFreeAsync(p, a));
    TRUE(attribute(pool, USED) == 0 && attribute(pool, RESERVED) == MIB);
    OK(cuMemAllocAsync(&q, MIB, a));
    TRUE(q == p);
    step(q, 2, 1, a);
    unsigned value = 0;
    OK(cuMemcpyDtoHAsync_v2(&value, q, 4, a));
    OK(cuStreamSynchronize(a));
    TRUE(value == 4);

    /* Another stream does not get it while the first may still use it, until it has waited. */
    unsigned no = 0;
    OK(cuMemPoolSetAttribute(pool, INTERNAL, &no));
    /* Nothing else is under way, which would keep what is freed meanwhile. */
    OK(cuCtxSynchronize());
    step(q, 2, 3000000, a);
    OK(cuMemFreeAsync(q, a));
    OK(cuMemAllocAsync(&r, MIB, b));
    TRUE(r != q && attribute(pool, RESERVED) == 2 * MIB);
    OK(cuStreamSynchronize(a));
    /* The threshold is 0: waiting gives back what is unused. */
    TRUE(attribute(pool, RESERVED) == MIB && attribute(pool, RESERVED_HIGH) == 2 * MIB);
    uint64_t keep = UINT64_MAX;
    OK(cuMemPoolSetAttribute(pool, THRESHOLD, &keep));
    OK(cuMemFreeAsync(r, b));
    OK(cuStreamSynchronize(b));
    TRUE(attribute(pool, RESERVED) == MIB && attribute(pool, USED) == 0);
    OK(cuMemAllocAsync(&p, MIB, a));
    TRUE(p == r);
    OK(cuMemFreeAsync(p, a));
    OK(cuStreamSynchronize(a));
    OK(cuMemPoolTrimTo(pool, 0));
    TRUE(attribute(pool, RESERVED) == 0);

    /* No more than it may have; with dependencies allowed, a stream waits for another's memory instead. */
    OK(cuMemAllocFromPoolAsync(&p, 2 * MIB, pool, a));
    EXPECT(2, cuMemAllocFromPoolAsync(&q, 2 * MIB, pool, b));
    unsigned yes = 1;
    OK(cuMemPoolSetAttribute(pool, INTERNAL, &yes));
    OK(cuMemsetD32_v2(p, 0, 1));
    OK(cuCtxSynchronize());
    step(p, 1, 3000000, a);
    OK(cuMemFreeAsync(p, a));
    OK(cuMemAllocFromPoolAsync(&q, 2 * MIB, pool, b));
    TRUE(q == p);
    step(q, 2, 1, b);
    OK(cuMemcpyDtoHAsync_v2(&value, q, 4, b));
    OK(cuStreamSynchronize(b));
    TRUE(value == 4);

    /* The highest values begin anew; a plain free is right, too; a pool that is gone leaves its allocations. */
    uint64_t zero = 0, one = 1;
    EXPECT(1, cuMemPoolSetAttribute(pool, USED_HIGH, &one));
    OK(cuMemPoolSetAttribute(pool, USED_HIGH, &zero));
    TRUE(attribute(pool, USED_HIGH) == 2 * MIB);
    OK(cuMemPoolDestroy(pool));
    EXPECT(1, cuMemPoolTrimTo(pool, 0));
    OK(cuDeviceGetMemPool(&current, 0));
    TRUE(current == standard);
    OK(cuMemsetD32_v2(q, 9, 1));
    OK(cuMemFree_v2(q));
    EXPECT(1, cuMemFree_v2(q));
    props.location.id = 99;
    EXPECT(101, cuMemPoolCreate(&pool, &props));
    kinds();
    puts("pools: passed");
    return 0;
}
