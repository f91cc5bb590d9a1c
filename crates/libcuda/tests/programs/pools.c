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
    EXPECT(1, cuMemAllocAsync(&p, 0, a));

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
    puts("pools: passed");
    return 0;
}
