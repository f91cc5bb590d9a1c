/* A kernel whose threads race only if the last of them are first, for the checks. Whatever schedules it runs under besides, memory
 * is as one run of it has left it. */
#include "driver.h"

static const char code[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry signal(.param .u64 p)\n{\n"
    ".reg .u64 %d; .reg .u32 %r<4>; .reg .pred %p<3>;\n"
    "ld.param.u64 %d, [p]; mov.u32 %r0, %tid.x;\n"
    "setp.eq.u32 %p0, %r0, 0; setp.eq.u32 %p1, %r0, 256;\n"
    "@%p0 bra look; @%p1 bra set; ret;\n"
    /* The first thread reads the data if the flag is set, without an acquire. It counts its looks. */
    "look: ld.global.u32 %r1, [%d+8]; add.u32 %r1, %r1, 1; st.global.u32 [%d+8], %r1;\n"
    "ld.relaxed.gpu.global.u32 %r2, [%d+4]; setp.eq.u32 %p2, %r2, 0; @%p2 bra done;\n"
    "ld.global.u32 %r3, [%d]; st.global.u32 [%d+12], %r3;\n"
    "done: ret;\n"
    "set: st.global.u32 [%d], 7; st.relaxed.gpu.global.u32 [%d+4], 1; ret;\n}\n";

int main(void) {
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction signal;
    CUdeviceptr memory;
    unsigned words[4] = {0, 0, 41, 0};
    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuCtxCreate_v2(&context, 0, device));
    OK(cuModuleLoadData(&module, code));
    OK(cuModuleGetFunction(&signal, module, "signal"));
    OK(cuMemAlloc_v2(&memory, sizeof words));
    OK(cuMemcpyHtoD_v2(memory, words, sizeof words));
    void *params[] = {&memory};
    OK(cuLaunchKernel(signal, 1, 1, 1, 288, 1, 1, 0, NULL, params, NULL));
    OK(cuMemcpyDtoH_v2(words, memory, sizeof words));
    /* In the program's own run the first thread comes first, once. */
    TRUE(words[0] == 7 && words[1] == 1 && words[2] == 42 && words[3] == 0);
    puts("schedules: passed");
    return 0;
}
