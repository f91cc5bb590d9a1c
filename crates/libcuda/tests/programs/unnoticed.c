/* What a GPU does not notice: it is done, and told of once for each kernel and instruction, or stops the kernel if the
 * program is to be strict. And time, which passes. */
#include "driver.h"

static const char *CODE =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry behind(.param .u64 p, .param .u64 d)\n{\n"
    "  .reg .b64 %p, %d;\n  .reg .b32 %v;\n"
    "  ld.param.u64 %p, [p];\n  ld.param.u64 %d, [d];\n"
    "  st.global.u32 [%p+12], 5;\n  ld.global.u32 %v, [%p+12];\n  st.global.u32 [%d], %v;\n  ret;\n}\n"
    ".visible .entry mask(.param .u64 d)\n{\n"
    "  .reg .b64 %d;\n  .reg .b32 %v;\n"
    "  ld.param.u64 %d, [d];\n  mov.u32 %v, %laneid;\n"
    "  shfl.sync.idx.b32 %v, %v, 20, 31, 0x0000ffff;\n  st.global.u32 [%d], %v;\n  ret;\n}\n"
    ".visible .entry nap(.param .u32 times)\n{\n"
    "  .reg .b32 %n;\n  .reg .pred %p;\n"
    "  ld.param.u32 %n, [times];\n"
    "again:\n  nanosleep.u32 1000000;\n  sub.u32 %n, %n, 1;\n  setp.ne.u32 %p, %n, 0;\n  @%p bra again;\n  ret;\n}\n"
    ".visible .entry spin(.param .u64 cycles)\n{\n"
    "  .reg .b64 %n, %start, %now;\n  .reg .pred %p;\n"
    "  ld.param.u64 %n, [cycles];\n  mov.u64 %start, %clock64;\n"
    "again:\n  mov.u64 %now, %clock64;\n  sub.u64 %now, %now, %start;\n  setp.lt.u64 %p, %now, %n;\n  @%p bra again;\n  ret;\n}\n";

static CUmodule module;

static CUfunction kernel(const char *name) {
    CUfunction function;
    OK(cuModuleGetFunction(&function, module, name));
    return function;
}

/* Milliseconds that a kernel takes by events around it. */
static float taken(CUfunction function, unsigned blocks, void *argument) {
    CUevent before, after;
    float milliseconds;
    void *params[] = {argument};
    OK(cuEventCreate(&before, 0));
    OK(cuEventCreate(&after, 0));
    OK(cuEventRecord(before, NULL));
    OK(cuLaunchKernel(function, blocks, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
    OK(cuEventRecord(after, NULL));
    OK(cuEventSynchronize(after));
    OK(cuEventElapsedTime_v2(&milliseconds, before, after));
    return milliseconds;
}

int main(void) {
    OK(cuInit(0));
    begin();
    OK(cuModuleLoadData(&module, CODE));
    CUdeviceptr ten, result;
    OK(cuMemAlloc_v2(&ten, 10));
    OK(cuMemAlloc_v2(&result, 4));

    /* 20 milliseconds of sleep, in each of 8 blocks at the same time. */
    unsigned naps = 20;
    float slept = taken(kernel("nap"), 8, &naps);
    TRUE(slept >= 20);
    /* 2 * 10^8 cycles of 1.98 GHz, in each of 8 blocks. */
    unsigned long long cycles = 200000000;
    float spun = taken(kernel("spin"), 8, &cycles);
    TRUE(spun >= 100);

    const char *strict = getenv("WARPLOOM_STRICT");
    void *behind[] = {&ten, &result}, *mask[] = {&result};
    unsigned value = 0;
    if (strict) {
        OK(cuLaunchKernel(kernel("behind"), 1, 1, 1, 1, 1, 1, 0, NULL, behind, NULL));
        EXPECT(700, cuCtxSynchronize());
        puts("unnoticed: passed");
        return 0;
    }
    for (int i = 0; i < 3; i++) {
        OK(cuLaunchKernel(kernel("behind"), 1, 1, 1, 1, 1, 1, 0, NULL, behind, NULL));
    }
    OK(cuMemcpyDtoH_v2(&value, result, 4));
    TRUE(value == 5);
    OK(cuLaunchKernel(kernel("mask"), 1, 1, 1, 32, 1, 1, 0, NULL, mask, NULL));
    OK(cuMemcpyDtoH_v2(&value, result, 4));
    TRUE(value == 20);
    puts("unnoticed: passed");
    return 0;
}
