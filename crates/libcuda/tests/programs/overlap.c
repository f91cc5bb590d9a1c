/* Programmatic dependent launch: a kernel begins when the one before it lets it, and waits for its end when it says so. */
#include "overlap.h"

static const char KERNELS[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    /* Every block lets the next kernel begin, waits until that has begun, and only then writes its word. */
    ".visible .entry first(.param .u64 at) {\n"
    "  .reg .pred %p; .reg .b32 %r<3>; .reg .b64 %d<3>; ld.param.u64 %d0, [at]; mov.u32 %r0, %ctaid.x;\n"
    "  griddepcontrol.launch_dependents;\n"
    "L: ld.volatile.global.u32 %r1, [%d0]; setp.eq.u32 %p, %r1, 0; @%p bra L;\n"
    "  add.u32 %r2, %r0, 1; mul.wide.u32 %d1, %r2, 4; add.u64 %d1, %d1, %d0; st.global.u32 [%d1], %r2; ret; }\n"
    /* Says that it has begun, waits, and adds up what the blocks wrote. */
    ".visible .entry second(.param .u64 at, .param .u32 blocks) {\n"
    "  .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %d<3>; ld.param.u64 %d0, [at]; ld.param.u32 %r0, [blocks];\n"
    "  mov.u32 %r1, 1; st.volatile.global.u32 [%d0], %r1; griddepcontrol.wait; mov.u32 %r2, 0; mov.u32 %r3, 0;\n"
    "L: add.u32 %r3, %r3, 1; mul.wide.u32 %d1, %r3, 4; add.u64 %d1, %d1, %d0; ld.global.u32 %r4, [%d1];\n"
    "  add.u32 %r2, %r2, %r4; setp.lt.u32 %p, %r3, %r0; @%p bra L; st.global.u32 [%d0], %r2; ret; }\n"
    ".visible .entry twice(.param .u64 at) { .reg .b32 %r; .reg .b64 %d; ld.param.u64 %d, [at];\n"
    "  ld.global.u32 %r, [%d]; shl.b32 %r, %r, 1; st.global.u32 [%d], %r; ret; }\n"
    ".visible .entry stops(.param .u64 at) { griddepcontrol.launch_dependents; trap; ret; }\n"
    ".visible .entry waits(.param .u64 at) { griddepcontrol.wait; ret; }\n";

enum { BLOCKS = 40, ROUNDS = 20 };

static CUfunction function(CUmodule module, const char *name) {
    CUfunction found;
    OK(cuModuleGetFunction(&found, module, name));
    return found;
}

int main(void) {
    begin();
    CUmodule module;
    CUstream stream;
    CUdeviceptr words;
    unsigned blocks = BLOCKS, sum = BLOCKS * (BLOCKS + 1) / 2, result[2];
    OK(cuModuleLoadData(&module, KERNELS));
    CUfunction first = function(module, "first"), second = function(module, "second");
    CUfunction twice = function(module, "twice");
    OK(cuStreamCreate(&stream, 1));
    OK(cuMemAlloc_v2(&words, 4 * (BLOCKS + 1)));
    void *params[] = {&words, &blocks};
    for (int round = 0; round < ROUNDS; round++) {
        OK(cuMemsetD32_v2(words, 0, BLOCKS + 1));
        OK(cuCtxSynchronize());
        /* The first kernel ends only if the second begins before that. */
        launch(first, BLOCKS, stream, 0, params);
        launch(second, 1, stream, 1, params);
        /* The third comes behind both, and the fourth may overlap with one that lets nobody begin. */
        launch(twice, 1, stream, 0, params);
        launch(twice, 1, stream, 1, params);
        OK(cuStreamSynchronize(stream));
        OK(cuMemcpyDtoH_v2(result, words, 8));
        TRUE(result[0] == 4 * sum && result[1] == 1);
    }
    /* An order of other work in between keeps it. */
    OK(cuMemsetD32_v2(words, 1, BLOCKS + 1));
    OK(cuCtxSynchronize());
    CUevent event;
    OK(cuEventCreate(&event, 0));
    launch(first, BLOCKS, stream, 0, params);
    OK(cuEventRecord(event, stream));
    launch(second, 1, stream, 1, params);
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH_v2(result, words, 4));
    TRUE(result[0] == sum);
    /* Whoever waits for a kernel that stops does not wait for ever. */
    CUfunction waits = function(module, "waits");
    launch(function(module, "stops"), 1, stream, 0, params);
    Attribute attribute = {.id = PROGRAMMATIC_STREAM_SERIALIZATION, .value.number = 1};
    CUresult late = cuLaunchKernelEx(&(Config){1, 1, 1, 1, 1, 1, 0, stream, &attribute, 1}, waits, params, NULL);
    TRUE(late == 0 || late == 719);
    EXPECT(719, cuStreamSynchronize(stream));
    puts("overlap: passed");
    return 0;
}
