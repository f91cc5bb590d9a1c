/* Two devices: copies between them, and kernels of one that use the other's memory. */
#include "memory.h"

static const char SETS[] =
    ".version 8.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry add_to(.param .u64 to, .param .u64 from) {\n"
    "  .reg .b64 %d<2>; .reg .b32 %r<3>; ld.param.u64 %d0, [to]; ld.param.u64 %d1, [from];\n"
    "  ld.global.u32 %r0, [%d1]; atom.global.add.u32 %r1, [%d0], %r0; ret; }\n";

static CUcontext contexts[2];
static CUdeviceptr words[2];
static CUfunction add_to;

static void load(int device) {
    CUmodule module;
    OK(cuDevicePrimaryCtxRetain(&contexts[device], device));
    OK(cuCtxSetCurrent(contexts[device]));
    OK(cuMemAlloc_v2(&words[device], 4));
    OK(cuMemsetD32_v2(words[device], 10 + device, 1));
    OK(cuCtxSynchronize());
    OK(cuModuleLoadData(&module, SETS));
    OK(cuModuleGetFunction(&add_to, module, "add_to"));
}

static CUresult add(CUdeviceptr to, CUdeviceptr from) {
    void *params[] = {&to, &from};
    OK(cuLaunchKernel(add_to, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    return cuCtxSynchronize();
}

static unsigned word(int device) {
    unsigned value;
    OK(cuMemcpyDtoH_v2(&value, words[device], 4));
    return value;
}

int main(void) {
    int can = 9;
    OK(cuInit(0));
    load(1);
    load(0);
    OK(cuDeviceCanAccessPeer(&can, 0, 1));
    TRUE(can == 1);
    OK(cuDeviceCanAccessPeer(&can, 0, 0));
    TRUE(can == 0);

    EXPECT(217, cuCtxEnablePeerAccess(contexts[0], 0));
    EXPECT(705, cuCtxDisablePeerAccess(contexts[1]));
    OK(cuCtxEnablePeerAccess(contexts[1], 0));
    EXPECT(704, cuCtxEnablePeerAccess(contexts[1], 0));
    OK(add(words[1], words[0]));
    TRUE(word(1) == 21 && word(0) == 10);
    OK(cuMemcpyPeer(words[0], contexts[0], words[1], contexts[1], 4));
    TRUE(word(0) == 21);
    OK(cuMemsetD32_v2(words[1], 5, 1));
    OK(cuMemcpyPeerAsync(words[0], contexts[0], words[1], contexts[1], 4, NULL));
    OK(cuCtxSynchronize());
    TRUE(word(0) == 5);

    /* Memory of a pool that the other device may use. */
    OK(cuCtxDisablePeerAccess(contexts[1]));
    CUmemoryPool pool;
    CUdeviceptr pooled;
    PoolProps props = {.alloc_type = 1, .location = {1, 1}};
    Access access = {{1, 0}, 3};
    unsigned flags = 9;
    OK(cuMemPoolCreate(&pool, &props));
    OK(cuMemPoolGetAccess(&flags, pool, &access.location));
    TRUE(flags == 0);
    OK(cuMemPoolSetAccess(pool, &access, 1));
    OK(cuMemPoolGetAccess(&flags, pool, &access.location));
    TRUE(flags == 3);
    OK(cuCtxSetCurrent(contexts[1]));
    OK(cuMemAllocFromPoolAsync(&pooled, 4, pool, NULL));
    OK(cuMemsetD32_v2(pooled, 100, 1));
    OK(cuCtxSynchronize());
    OK(cuCtxSetCurrent(contexts[0]));
    OK(add(pooled, words[0]));
    unsigned value = 0;
    OK(cuMemcpyDtoH_v2(&value, pooled, 4));
    TRUE(value == 105);
    access.flags = 0;
    OK(cuMemPoolSetAccess(pool, &access, 1));

    /* Without access it is an illegal address. */
    EXPECT(700, add(words[1], words[0]));
    puts("peers: passed");
    return 0;
}
