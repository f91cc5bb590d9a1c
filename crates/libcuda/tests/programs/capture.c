/* Stream capture: what becomes of work, what is forbidden meanwhile, and how it ends. */
#include "graph.h"

static CUfunction step_;
static CUdeviceptr word;
static CUstream a, b;
static CUevent event, join;

static void step(unsigned k, CUstream stream) {
    unsigned spin = 1;
    void *params[] = {&word, &k, &spin};
    OK(cuLaunchKernel(step_, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

static unsigned status(CUstream stream) {
    unsigned status = 9;
    OK(cuStreamIsCapturing(stream, &status));
    return status;
}

/* The capture of `a` is over, and says so once more. */
static void over(void) {
    CUgraph graph = (CUgraph)&status;
    TRUE(status(a) == 2);
    unsigned k = 1, spin = 1;
    void *params[] = {&word, &k, &spin};
    EXPECT(901, cuLaunchKernel(step_, 1, 1, 1, 1, 1, 1, 0, a, params, NULL));
    EXPECT(901, cuStreamEndCapture(a, &graph));
    TRUE(!graph && status(a) == 0);
}

static void nothing(void *unused) {
    (void)unused;
}

static size_t nodes(CUgraph graph) {
    size_t count = 0;
    OK(cuGraphGetNodes(graph, NULL, &count));
    return count;
}

int main(void) {
    CUmodule module;
    CUgraph graph;
    CUgraphExec exec;
    begin();
    OK(cuModuleLoadData(&module, PTX));
    OK(cuModuleGetFunction(&step_, module, "step"));
    OK(cuMemAlloc_v2(&word, 4));
    OK(cuStreamCreate(&a, 0));
    OK(cuStreamCreate(&b, 0));
    OK(cuEventCreate(&event, 0));
    OK(cuEventCreate(&join, 0));

    /* Work of two streams, joined; nothing runs before the graph is launched. */
    unsigned result = 0, before = 7;
    OK(cuMemsetD32_v2(word, 0, 1));
    OK(cuCtxSynchronize());
    OK(cuStreamBeginCapture_v2(a, 0));
    EXPECT(401, cuStreamBeginCapture_v2(a, 0));
    step(1, a);
    OK(cuEventRecord(event, a));
    OK(cuStreamWaitEvent(b, event, 0));
    TRUE(status(a) == 1 && status(b) == 1);
    step(2, b);
    OK(cuMemcpyDtoHAsync_v2(&result, word, 4, b));
    OK(cuLaunchHostFunc(b, nothing, NULL));
    OK(cuEventRecord(join, b));
    OK(cuStreamWaitEvent(a, join, 0));
    uint64_t id = 0;
    CUgraph growing;
    const CUgraphNode *front;
    size_t count = 9;
    unsigned state = 9;
    OK(cuStreamGetCaptureInfo_v2(a, &state, &id, &growing, &front, &count));
    /* `a` goes on behind its own kernel and what `b` did last. */
    TRUE(state == 1 && id && growing && count == 2);
    OK(cuStreamUpdateCaptureDependencies(a, (CUgraphNode *)&front[1], 1, 1));
    OK(cuStreamGetCaptureInfo_v2(a, &state, NULL, NULL, NULL, &count));
    TRUE(count == 1);
    step(3, a);
    OK(cuStreamEndCapture(a, &graph));
    TRUE(status(a) == 0 && status(b) == 0 && graph == growing && nodes(graph) == 5);
    OK(cuMemcpyDtoH_v2(&before, word, 4));
    TRUE(before == 0);
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, a));
    OK(cuStreamSynchronize(a));
    OK(cuMemcpyDtoH_v2(&before, word, 4));
    TRUE(result == 4 && before == 11);
    OK(cuGraphDestroy(graph));

    /* A graph launched while a stream is captured becomes a child; fills and allocations become nodes, too. */
    CUdeviceptr mine;
    OK(cuStreamBeginCapture_v2(a, 1));
    OK(cuMemAllocAsync(&mine, 64, a));
    OK(cuGraphLaunch(exec, a));
    OK(cuMemFreeAsync(mine, a));
    OK(cuStreamEndCapture(a, &graph));
    CUgraphNode made[8];
    count = 8;
    OK(cuGraphGetNodes(graph, made, &count));
    unsigned types[3];
    TRUE(count == 3);
    for (int i = 0; i < 3; i++) OK(cuGraphNodeGetType(made[i], &types[i]));
    TRUE(types[0] == ALLOC && types[1] == CHILD && types[2] == FREE);
    OK(cuGraphDestroy(graph));

    /* Into a graph that is there. */
    CUgraphNode first;
    OK(cuGraphCreate((void **)&graph, 0));
    OK(cuGraphAddEmptyNode(&first, graph, NULL, 0));
    OK(cuStreamBeginCaptureToGraph(a, graph, &first, NULL, 1, 0));
    step(1, a);
    CUgraph same;
    OK(cuStreamEndCapture(a, &same));
    TRUE(same == graph && nodes(graph) == 2);
    count = 8;
    OK(cuGraphNodeGetDependentNodes(first, made, &count));
    TRUE(count == 1);
    OK(cuGraphDestroy(graph));

    /* External events are nodes. */
    OK(cuStreamBeginCapture_v2(a, 0));
    OK(cuEventRecordWithFlags(event, a, 1));
    OK(cuStreamWaitEvent(a, join, 1));
    OK(cuStreamEndCapture(a, &graph));
    count = 8;
    OK(cuGraphGetNodes(graph, made, &count));
    OK(cuGraphNodeGetType(made[0], &types[0]));
    OK(cuGraphNodeGetType(made[1], &types[1]));
    TRUE(count == 2 && types[0] == RECORD && types[1] == WAIT);
    OK(cuGraphDestroy(graph));

    /* What is forbidden ends the capture. */
    CUdeviceptr other;
    EXPECT(900, cuStreamBeginCapture_v2(NULL, 0));
    EXPECT(401, cuStreamEndCapture(a, &graph));
    OK(cuStreamBeginCapture_v2(a, 0));
    EXPECT(900, cuStreamSynchronize(a));
    over();
    OK(cuStreamBeginCapture_v2(a, 0));
    EXPECT(900, cuStreamQuery(a));
    over();
    OK(cuStreamBeginCapture_v2(a, 0));
    EXPECT(900, cuCtxSynchronize());
    over();
    OK(cuStreamBeginCapture_v2(a, 0));
    EXPECT(900, cuMemAlloc_v2(&other, 4));
    over();
    OK(cuStreamBeginCapture_v2(a, 0));
    EXPECT(906, cuMemsetD32_v2(word, 0, 1));
    over();
    OK(cuStreamBeginCapture_v2(a, 0));
    OK(cuEventRecord(event, a));
    EXPECT(907, cuEventQuery(event));
    over();
    OK(cuStreamBeginCapture_v2(a, 0));
    OK(cuEventRecord(event, a));
    EXPECT(907, cuEventSynchronize(event));
    over();
    /* Events of nobody's capture, and of another one. */
    OK(cuEventRecord(event, b));
    OK(cuStreamBeginCapture_v2(a, 0));
    EXPECT(905, cuStreamWaitEvent(a, event, 0));
    over();
    OK(cuStreamBeginCapture_v2(a, 2));
    OK(cuStreamBeginCapture_v2(b, 2));
    OK(cuEventRecord(event, b));
    EXPECT(902, cuStreamWaitEvent(a, event, 0));
    over();
    EXPECT(901, cuStreamEndCapture(b, &graph));
    /* Work that nobody waits for, and the wrong stream. */
    OK(cuStreamBeginCapture_v2(a, 0));
    OK(cuEventRecord(event, a));
    OK(cuStreamWaitEvent(b, event, 0));
    step(1, b);
    EXPECT(904, cuStreamEndCapture(a, &graph));
    TRUE(!graph && status(a) == 0 && status(b) == 0);
    OK(cuStreamBeginCapture_v2(a, 0));
    step(1, a);
    OK(cuEventRecord(event, a));
    OK(cuStreamWaitEvent(b, event, 0));
    EXPECT(903, cuStreamEndCapture(b, &graph));
    over();
    TRUE(status(b) == 0);

    /* A relaxed capture, or a relaxed thread, may allocate. */
    OK(cuStreamBeginCapture_v2(a, 2));
    OK(cuMemAlloc_v2(&other, 4));
    OK(cuStreamEndCapture(a, &graph));
    TRUE(nodes(graph) == 0);
    OK(cuGraphDestroy(graph));
    unsigned mode = 2;
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    TRUE(mode == 0);
    OK(cuStreamBeginCapture_v2(a, 0));
    OK(cuMemFree_v2(other));
    OK(cuStreamEndCapture(a, &graph));
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    TRUE(mode == 2);
    OK(cuGraphDestroy(graph));
    mode = 3;
    EXPECT(1, cuThreadExchangeStreamCaptureMode(&mode));

    /* All is as if nothing had been captured. */
    OK(cuMemsetD32_v2(word, 0, 1));
    step(5, a);
    OK(cuMemcpyDtoH_v2(&before, word, 4));
    TRUE(before == 5);
    puts("capture: passed");
    return 0;
}
