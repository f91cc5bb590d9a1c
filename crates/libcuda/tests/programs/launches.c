/* Kernels that launch kernels, and a graph that launches itself: without a compiler, which has the device runtime linked. */
#include "graph.h"

CUresult cuCtxSetLimit(unsigned, size_t);

enum { PENDING_LAUNCHES = 4, DEVICE_LAUNCH = 4 };

/* `launch` is what nvcc makes of `kernel<<<1, threads, 0, stream>>>(p)`. */
static const char CODE[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".extern .func (.param .b64 buffer) __cudaCDP2GetParameterBufferV2(.param .b64 kernel,\n"
    "  .param .align 4 .b8 grid[12], .param .align 4 .b8 block[12], .param .b32 shared);\n"
    ".extern .func (.param .b32 error) __cudaCDP2LaunchDeviceV2(.param .b64 buffer, .param .b64 stream);\n"
    ".extern .func (.param .b32 error) __cudaCDP2GetLastError();\n"
    ".extern .func (.param .b32 error) cudaGraphLaunch(.param .b64 graph, .param .b64 stream);\n"
    ".func (.param .b32 error) launch(.param .b64 kernel, .param .b64 p, .param .b64 stream) {\n"
    "  .reg .b32 %r; .reg .b64 %d<2>; .reg .pred %none;\n"
    "  .param .b64 k; .param .align 4 .b8 g[12]; .param .align 4 .b8 b[12]; .param .b32 s; .param .b64 buffer;\n"
    "  .param .b64 where; .param .b32 e;\n"
    "  ld.param.u64 %d0, [kernel]; st.param.b64 [k], %d0;\n"
    "  st.param.b32 [g], 1; st.param.b32 [g+4], 1; st.param.b32 [g+8], 1;\n"
    "  st.param.b32 [b], 1; st.param.b32 [b+4], 1; st.param.b32 [b+8], 1; st.param.b32 [s], 0;\n"
    "  call (buffer), __cudaCDP2GetParameterBufferV2, (k, g, b, s);\n"
    "  ld.param.b64 %d0, [buffer]; setp.eq.u64 %none, %d0, 0; @%none bra LAST;\n"
    "  ld.param.u64 %d1, [p]; st.u64 [%d0], %d1;\n"
    "  st.param.b64 [buffer], %d0; ld.param.u64 %d1, [stream]; st.param.b64 [where], %d1;\n"
    "  call (e), __cudaCDP2LaunchDeviceV2, (buffer, where);\n"
    "LAST: call (e), __cudaCDP2GetLastError; ld.param.b32 %r, [e]; st.param.b32 [error], %r; ret; }\n"
    /* p[0] counts. */
    ".visible .entry counts(.param .u64 p) { .reg .b64 %d; ld.param.u64 %d, [p]; red.global.add.u32 [%d], 1; ret; }\n"
    /* Launches `counts` n times into a stream; p[1] counts what is refused, p[2] has the error. */
    ".visible .entry floods(.param .u64 p, .param .u64 stream, .param .u32 n) {\n"
    "  .reg .b32 %r<2>; .reg .b64 %d<3>; .reg .pred %q; .param .b64 k; .param .b64 a; .param .b64 s; .param .b32 e;\n"
    "  ld.param.u64 %d0, [p]; ld.param.u64 %d1, [stream]; ld.param.u32 %r0, [n]; mov.u64 %d2, counts;\n"
    "NEXT: st.param.b64 [k], %d2; st.param.b64 [a], %d0; st.param.b64 [s], %d1;\n"
    "  call (e), launch, (k, a, s); ld.param.b32 %r1, [e]; setp.eq.u32 %q, %r1, 0; @%q bra TAKEN;\n"
    "  red.global.add.u32 [%d0+4], 1; st.global.u32 [%d0+8], %r1;\n"
    "TAKEN: sub.u32 %r0, %r0, 1; setp.ne.u32 %q, %r0, 0; @%q bra NEXT; ret; }\n"
    /* Counts p[0] down, and launches its graph again until that is 0; p[1] has the last error. */
    ".visible .entry again(.param .u64 p) {\n"
    "  .reg .b32 %r; .reg .b64 %d<2>; .reg .pred %q; .param .b64 g; .param .b64 s; .param .b32 e;\n"
    "  ld.param.u64 %d0, [p]; ld.global.u32 %r, [%d0]; sub.u32 %r, %r, 1; st.global.u32 [%d0], %r;\n"
    "  setp.eq.u32 %q, %r, 0; @%q exit;\n"
    "  mov.u64 %d1, %current_graph_exec; st.param.b64 [g], %d1; st.param.b64 [s], 0x0100000000000000;\n"
    "  call (e), cudaGraphLaunch, (g, s); ld.param.b32 %r, [e]; st.global.u32 [%d0+4], %r; ret; }\n"
    ".visible .entry crashes(.param .u64 p) { .reg .b64 %d; ld.param.u64 %d, [p]; st.global.u32 [%d], 1; ret; }\n"
    ".visible .entry launches_crash(.param .u64 p) {\n"
    "  .reg .b64 %d<3>; .param .b64 k; .param .b64 a; .param .b64 s; .param .b32 e;\n"
    "  mov.u64 %d0, crashes; st.param.b64 [k], %d0; st.param.b64 [a], 8; st.param.b64 [s], 0;\n"
    "  call (e), launch, (k, a, s); ret; }\n";

static CUdeviceptr words;

static void read_words(unsigned *into) {
    OK(cuMemcpyDtoH_v2(into, words, 12));
    OK(cuMemsetD32_v2(words, 0, 3));
}

static void flood(CUfunction floods, uint64_t stream, unsigned n) {
    void *params[] = {&words, &stream, &n};
    OK(cuLaunchKernel(floods, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
}

int main(void) {
    begin();
    CUmodule module;
    CUfunction floods, again, crash;
    unsigned said[3];
    OK(cuModuleLoadData(&module, CODE));
    OK(cuModuleGetFunction(&floods, module, "floods"));
    OK(cuModuleGetFunction(&again, module, "again"));
    OK(cuModuleGetFunction(&crash, module, "launches_crash"));
    OK(cuMemAlloc_v2(&words, 12));
    OK(cuMemsetD32_v2(words, 0, 3));

    /* What follows in the host's stream comes behind all that a kernel has launched. As on an H200, one thread that launches
       more than may be pending into its default stream (0) or to be forgotten (4) is refused nothing. */
    for (uint64_t stream = 0; stream <= 4; stream += 4) {
        flood(floods, stream, 3000);
        read_words(said);
        TRUE(said[0] == 3000 && said[1] == 0);
    }
    /* Tails (3) must wait for the launching grid: cudaErrorLaunchPendingCountExceeded. */
    OK(cuCtxSetLimit(PENDING_LAUNCHES, 32));
    flood(floods, 3, 100);
    read_words(said);
    TRUE(said[0] == 32 && said[1] == 68 && said[2] == 69);

    /* A graph that launches itself behind itself; outside of a graph its kernel cannot be launched. */
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    void *params[] = {&words};
    EXPECT(801, cuLaunchKernel(again, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    KernelParams kernel = one_thread(again, params);
    OK(cuGraphCreate((void **)&graph, 0));
    EXPECT(1, cuGraphInstantiateWithFlags(&exec, graph, DEVICE_LAUNCH));
    OK(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &kernel));
    OK(cuGraphInstantiateWithFlags(&exec, graph, DEVICE_LAUNCH));
    OK(cuGraphUpload(exec, NULL));
    OK(cuMemsetD32_v2(words, 1000, 1));
    OK(cuGraphLaunch(exec, NULL));
    read_words(said);
    TRUE(said[0] == 0 && said[1] == 0);
    /* Twice in a row, each with its own rounds. */
    OK(cuMemsetD32_v2(words, 10, 1));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuMemsetD32_v2(words, 5, 1));
    OK(cuGraphLaunch(exec, NULL));
    read_words(said);
    TRUE(said[0] == 0 && said[1] == 0);
    OK(cuGraphExecDestroy(exec));
    /* An instance that is not made for it has no handle there. */
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuMemsetD32_v2(words, 10, 1));
    OK(cuGraphLaunch(exec, NULL));
    read_words(said);
    TRUE(said[0] == 9 && said[1] == 1);

    /* A fault of what a kernel has launched is the context's. */
    OK(cuLaunchKernel(crash, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    EXPECT(700, cuCtxSynchronize());
    printf("launches: passed\n");
    return 0;
}
