/* What a context, a stream and the user limit. Run with WARPLOOM_MEMORY=64M. */
#include "memory.h"

static const char CALLS[] =
    ".version 8.0\n.target sm_70\n.address_size 64\n"
    ".extern .func (.param .b64 p) malloc(.param .b64 n);\n"
    ".extern .func cudaGraphSetConditional(.param .b64 h, .param .b32 v);\n"
    ".visible .entry takes(.param .u64 out, .param .u64 bytes) {\n"
    "  .reg .b64 %d<3>; ld.param.u64 %d0, [bytes]; { .param .b64 n; .param .b64 p; st.param.b64 [n], %d0;\n"
    "  call.uni (p), malloc, (n); ld.param.b64 %d1, [p]; } ld.param.u64 %d2, [out]; st.global.u64 [%d2], %d1; ret; }\n"
    /* Counts a word down and goes on while it is not 0. */
    ".visible .entry down(.param .u64 h, .param .u64 word) {\n"
    "  .reg .b64 %d<2>; .reg .b32 %r; ld.param.u64 %d0, [h]; ld.param.u64 %d1, [word]; ld.global.u32 %r, [%d1];\n"
    "  sub.u32 %r, %r, 1; st.global.u32 [%d1], %r; { .param .b64 p; .param .b32 v; st.param.b64 [p], %d0;\n"
    "  st.param.b32 [v], %r; call.uni cudaGraphSetConditional, (p, v); } ret; }\n";

static CUfunction takes;

/* Whether a kernel's `malloc` of so many bytes succeeds. */
static int taken(uint64_t bytes) {
    CUdeviceptr out;
    uint64_t address = 7;
    OK(cuMemAlloc_v2(&out, 8));
    void *params[] = {&out, &bytes};
    OK(cuLaunchKernel(takes, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    OK(cuMemcpyDtoH_v2(&address, out, 8));
    OK(cuMemFree_v2(out));
    return address != 0;
}

int main(void) {
    CUmodule module;
    CUfunction down;
    size_t value = 0, free_ = 0, total = 0;
    begin();
    OK(cuModuleLoadData(&module, CALLS));
    OK(cuModuleGetFunction(&takes, module, "takes"));
    OK(cuModuleGetFunction(&down, module, "down"));

    OK(cuCtxGetLimit(&value, 2));
    TRUE(value == 8 * MIB);
    TRUE(taken(3 * MIB) && !taken(9 * MIB));
    OK(cuCtxSetLimit(2, MIB));
    OK(cuCtxGetLimit(&value, 2));
    TRUE(value == MIB && taken(MIB / 2) && !taken(3 * MIB));
    OK(cuCtxSetLimit(0, 4096));
    OK(cuCtxGetLimit(&value, 0));
    TRUE(value == 4096);
    EXPECT(1, cuCtxSetLimit(0, (size_t)1 << 40));
    EXPECT(1, cuCtxGetLimit(&value, 77));

    int least = 9, greatest = 9, priority = 9;
    CUstream stream;
    OK(cuCtxGetStreamPriorityRange(&least, &greatest));
    TRUE(least == 0 && greatest == -5);
    OK(cuStreamCreateWithPriority(&stream, 1, -100));
    OK(cuStreamGetPriority(stream, &priority));
    TRUE(priority == -5);

    /* The condition is set by the kernel itself. */
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    uint64_t handle;
    CUdeviceptr word;
    OK(cuMemAlloc_v2(&word, 4));
    OK(cuMemsetD32_v2(word, 5, 1));
    OK(cuGraphCreate((void **)&graph, 0));
    CUcontext context;
    OK(cuCtxGetCurrent(&context));
    OK(cuGraphConditionalHandleCreate(&handle, graph, context, 1, 1));
    NodeParams params = {.type = CONDITIONAL, .conditional = {.handle = handle, .type = 1, .size = 1}};
    OK(cuGraphAddNode(&node, graph, NULL, 0, &params));
    void *arguments[] = {&handle, &word};
    KernelParams kernel = one_thread(down, arguments);
    OK(cuGraphAddKernelNode_v2(&node, params.conditional.graphs[0], NULL, 0, &kernel));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, NULL));
    unsigned left = 9;
    OK(cuMemcpyDtoH_v2(&left, word, 4));
    TRUE(left == 0);

    /* The user's limit: all ways to memory say so, and what is freed can be had again. */
    CUdeviceptr p, q;
    uint64_t physical;
    CUmemoryPool pool;
    void *host;
    OK(cuMemGetInfo_v2(&free_, &total));
    TRUE(total == 64 * MIB && free_ < total);
    EXPECT(2, cuMemAlloc_v2(&p, 65 * MIB));
    OK(cuMemAlloc_v2(&p, 40 * MIB));
    EXPECT(2, cuMemAlloc_v2(&q, 30 * MIB));
    EXPECT(2, cuMemCreate(&physical, 30 * MIB, &ON_DEVICE, 0));
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    EXPECT(2, cuMemAllocFromPoolAsync(&q, 30 * MIB, pool, stream));
    EXPECT(2, cuMemAllocHost_v2(&host, 65 * MIB));
    OK(cuMemFree_v2(p));
    OK(cuMemAllocFromPoolAsync(&q, 50 * MIB, pool, stream));
    OK(cuMemFreeAsync(q, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemCreate(&physical, 50 * MIB, &ON_DEVICE, 0));
    OK(cuMemRelease(physical));
    OK(cuMemAlloc_v2(&p, 50 * MIB));
    puts("bounds: passed");
    return 0;
}
