/* Cooperative launches: all blocks of a grid wait for one another. */
#include "driver.h"

/* What cooperative groups compile to: the workspace's address is in %envreg1 and %envreg2, the barrier in its second
 * word. Each block adds 1 to a counter, waits for all blocks, and writes what it then reads. */
#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"
static const char CODE[] =
    HEAD ".visible .global .align 4 .u32 arrived = 0;\n"
    ".visible .entry meet(.param .u64 out, .param .u32 rounds) {\n"
    "  .reg .pred %p<3>; .reg .b32 %r<16>; .reg .b64 %d<6>;\n"
    "  mov.u32 %r0, %envreg2; mov.u32 %r1, %envreg1; cvt.u64.u32 %d0, %r0; cvt.u64.u32 %d1, %r1;\n"
    "  bfi.b64 %d0, %d1, %d0, 32, 32; setp.ne.s64 %p0, %d0, 0; @%p0 bra VALID; trap;\n"
    "VALID: add.s64 %d1, %d0, 4; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %nctaid.x; mov.u32 %r4, %tid.x;\n"
    "  ld.param.u32 %r5, [rounds]; mov.u32 %r6, 0;\n"
    "AGAIN: setp.ne.u32 %p0, %r4, 0; @%p0 bra WAIT;\n"
    "  red.relaxed.gpu.global.add.u32 [arrived], 1;\n"
    "WAIT: barrier.sync 0; @%p0 bra DONE;\n"
    "  mov.u32 %r7, -2147483647; sub.s32 %r7, %r7, %r3; setp.eq.s32 %p1, %r2, 0; selp.b32 %r8, %r7, 1, %p1;\n"
    "  atom.add.release.gpu.u32 %r9, [%d1], %r8;\n"
    "SPIN: ld.acquire.gpu.u32 %r10, [%d1]; xor.b32 %r11, %r10, %r9; setp.gt.s32 %p2, %r11, -1; @%p2 bra SPIN;\n"
    "DONE: barrier.sync 0; add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, %r5; @%p2 bra AGAIN;\n"
    "  @%p0 ret; ld.param.u64 %d2, [out]; mul.wide.u32 %d3, %r2, 4; add.s64 %d2, %d2, %d3;\n"
    "  ld.relaxed.gpu.global.u32 %r12, [arrived]; st.global.u32 [%d2], %r12; ret;\n"
    "}\n"
    ".visible .entry alone(.param .u64 out) { .reg .b32 %r<2>; .reg .b64 %d; ld.param.u64 %d, [out];\n"
    "  mov.u32 %r0, %envreg1; mov.u32 %r1, %envreg2; or.b32 %r0, %r0, %r1; st.global.u32 [%d], %r0; ret; }\n";

/* The same by the functions of the device runtime, which linking provides. */
static const char RUNTIME[] = HEAD
    ".extern .func (.param .b64 h) cudaCGGetIntrinsicHandle(.param .b32 scope);\n"
    ".extern .func (.param .b32 e) cudaCGSynchronize(.param .b64 h, .param .b32 flags);\n"
    ".extern .func (.param .b32 e) cudaCGGetSize(.param .b64 threads, .param .b64 grids, .param .b64 h);\n"
    ".extern .func (.param .b32 e) cudaCGGetRank(.param .b64 thread, .param .b64 grid, .param .b64 h);\n"
    ".visible .global .align 4 .u32 count = 0;\n"
    ".visible .entry sync(.param .u64 out) {\n"
    "  .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %d<4>; .param .b32 a; .param .b64 h; .param .b32 e;\n"
    "  mov.u32 %r0, 1; st.param.b32 [a], %r0; call (h), cudaCGGetIntrinsicHandle, (a); ld.param.b64 %d0, [h];\n"
    "  red.relaxed.gpu.global.add.u32 [count], 1; mov.u32 %r1, 0; st.param.b64 [h], %d0; st.param.b32 [a], %r1;\n"
    "  call (e), cudaCGSynchronize, (h, a); ld.param.b32 %r2, [e]; ld.relaxed.gpu.global.u32 %r3, [count];\n"
    "  setp.ne.u32 %p, %r2, 0; @%p mov.u32 %r3, 7777;\n"
    "  mov.u32 %r4, %ctaid.x; ld.param.u64 %d1, [out]; mul.wide.u32 %d2, %r4, 4; add.s64 %d1, %d1, %d2;\n"
    "  st.global.u32 [%d1], %r3; ret; }\n"
    /* The word with its rank grows by the number of threads, once for each grid, or by 7777. */
    ".visible .entry ranks(.param .u64 out) {\n"
    "  .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %d<5>; .param .b32 a; .param .b64 h; .param .b32 e;\n"
    "  .param .b64 x; .param .b64 y; .local .align 4 .b32 words[4];\n"
    "  mov.u64 %d2, words; cvta.local.u64 %d2, %d2; add.u64 %d3, %d2, 4; ld.param.u64 %d1, [out];\n"
    "  st.param.b32 [a], 1; call (h), cudaCGGetIntrinsicHandle, (a); ld.param.b64 %d0, [h];\n"
    "  st.param.b64 [x], %d2; st.param.b64 [y], %d3; st.param.b64 [h], %d0; call (e), cudaCGGetSize, (x, y, h);\n"
    "  ld.local.u32 %r0, [words]; ld.local.u32 %r1, [words+4]; mul.lo.u32 %r0, %r0, %r1; ld.param.b32 %r2, [e];\n"
    "  setp.ne.u32 %p, %r2, 0; @%p mov.u32 %r0, 7777;\n"
    "  st.param.b64 [x], %d2; st.param.b64 [y], 0; st.param.b64 [h], %d0; st.local.u32 [words], 0;\n"
    "  call (e), cudaCGGetRank, (x, y, h); ld.local.u32 %r1, [words];\n"
    "  mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2; red.global.add.u32 [%d1], %r0; ret; }\n";

static CUfunction runtime(CUfunction *ranks) {
    CUlinkState state;
    void *image;
    size_t size;
    CUmodule module;
    CUfunction sync;
    OK(cuLinkCreate_v2(0, NULL, NULL, &state));
    OK(cuLinkAddData_v2(state, 1, (void *)RUNTIME, sizeof RUNTIME, "runtime", 0, NULL, NULL));
    OK(cuLinkComplete(state, &image, &size));
    OK(cuModuleLoadData(&module, image));
    OK(cuLinkDestroy(state));
    OK(cuModuleGetFunction(&sync, module, "sync"));
    OK(cuModuleGetFunction(ranks, module, "ranks"));
    return sync;
}

int main(void) {
    begin();
    CUmodule module;
    CUfunction meet, alone, ranks, sync = runtime(&ranks);
    CUdeviceptr out;
    OK(cuModuleLoadData(&module, CODE));
    OK(cuModuleGetFunction(&meet, module, "meet"));
    OK(cuModuleGetFunction(&alone, module, "alone"));

    int processors, blocks, cooperative;
    OK(cuDeviceGetAttribute(&cooperative, 95, 0));
    OK(cuDeviceGetAttribute(&processors, 16, 0));
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, meet, 512, 0));
    TRUE(cooperative == 1 && blocks > 1);
    unsigned most = (unsigned)(processors * blocks), rounds = 3, *seen = calloc(most, 4);
    OK(cuMemAlloc_v2(&out, most * 4));
    void *params[] = {&out, &rounds};

    /* As many blocks as there can be, twice: each launch has a barrier of its own. */
    size_t before, after, all;
    OK(cuMemGetInfo_v2(&before, &all));
    for (unsigned turn = 1; turn <= 2; turn++) {
        OK(cuLaunchCooperativeKernel(meet, most, 1, 1, 512, 1, 1, 0, NULL, params));
        OK(cuMemcpyDtoH_v2(seen, out, most * 4));
        for (unsigned i = 0; i < most; i++)
            TRUE(seen[i] == turn * rounds * most);
    }
    OK(cuMemGetInfo_v2(&after, &all));
    TRUE(before == after);
    EXPECT(720, cuLaunchCooperativeKernel(meet, most + 1, 1, 1, 512, 1, 1, 0, NULL, params));

    OK(cuLaunchCooperativeKernel(sync, 40, 1, 1, 64, 1, 1, 0, NULL, params));
    OK(cuMemcpyDtoH_v2(seen, out, 40 * 4));
    for (unsigned i = 0; i < 40; i++)
        TRUE(seen[i] == 40 * 64);
    OK(cuLaunchKernel(sync, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    OK(cuMemcpyDtoH_v2(seen, out, 4));
    TRUE(seen[0] == 7777);

    /* Ranks count all threads of the grid, and without a grid there are none. */
    OK(cuMemsetD32_v2(out, 0, 288));
    OK(cuLaunchCooperativeKernel(ranks, 2, 3, 2, 4, 2, 3, 0, NULL, params));
    OK(cuMemcpyDtoH_v2(seen, out, 288 * 4));
    for (unsigned i = 0; i < 288; i++)
        TRUE(seen[i] == 288);
    OK(cuMemsetD32_v2(out, 0, 1));
    OK(cuLaunchKernel(ranks, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    OK(cuMemcpyDtoH_v2(seen, out, 4));
    TRUE(seen[0] == 7777);

    /* A launch that is not cooperative has no workspace: the group is not valid. */
    OK(cuLaunchKernel(alone, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    OK(cuMemcpyDtoH_v2(seen, out, 4));
    TRUE(seen[0] == 0);
    OK(cuLaunchKernel(meet, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    EXPECT(719, cuCtxSynchronize());
    printf("grid: passed\n");
    return 0;
}
