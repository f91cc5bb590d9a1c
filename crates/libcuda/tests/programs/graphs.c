/* Graphs built by hand. `step` doubles a number and adds its own, so that only one order gives the result. */
#include "graph.h"

static CUfunction step_;
static CUdeviceptr word;

static unsigned read_word(void) {
    unsigned value;
    OK(cuMemcpyDtoH_v2(&value, word, 4));
    return value;
}

static CUgraphNode step(CUgraph graph, const CUgraphNode *behind, size_t count, unsigned k, unsigned spin) {
    CUgraphNode node;
    void *params[] = {&word, &k, &spin};
    KernelParams kernel = one_thread(step_, params);
    OK(cuGraphAddKernelNode_v2(&node, graph, behind, count, &kernel));
    return node;
}

static unsigned launch(CUgraphExec exec, unsigned from) {
    OK(cuMemsetD32_v2(word, from, 1));
    OK(cuGraphLaunch(exec, NULL));
    return read_word();
}

static void count(void *counter) {
    __atomic_add_fetch((unsigned *)counter, 1, __ATOMIC_SEQ_CST);
}

static CUgraphExec instantiate(CUgraph graph) {
    CUgraphExec exec;
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
}

static void order_and_questions(void) {
    CUgraph graph, clone;
    OK(cuGraphCreate((void **)&graph, 0));
    EXPECT(1, cuGraphCreate((void **)&clone, 1));
    /* w = w * 2 + 1, then * 2 + 2, then * 2 + 3: b is made before a, so that order comes from edges alone. */
    CUgraphNode b = step(graph, NULL, 0, 2, 1), a = step(graph, NULL, 0, 1, 100000);
    OK(cuGraphAddDependencies(graph, &a, &b, 1));
    EXPECT(1, cuGraphAddDependencies(graph, &a, &b, 1));
    CUgraphNode c = step(graph, &b, 1, 3, 1), twice[] = {a, a}, bad;
    EXPECT(1, cuGraphAddEmptyNode(&bad, graph, twice, 2));
    EXPECT(1, cuGraphAddEmptyNode(&bad, graph, NULL, 1));
    CUgraphExec exec = instantiate(graph);
    TRUE(launch(exec, 0) == 11);
    TRUE(launch(exec, 1) == 19);

    size_t n = 0;
    OK(cuGraphGetNodes(graph, NULL, &n));
    TRUE(n == 3);
    CUgraphNode nodes[4] = {0}, to[4] = {0};
    n = 4;
    OK(cuGraphGetNodes(graph, nodes, &n));
    TRUE(n == 3 && nodes[0] == b && nodes[1] == a && nodes[2] == c && !nodes[3]);
    n = 4;
    OK(cuGraphGetRootNodes(graph, nodes, &n));
    TRUE(n == 1 && nodes[0] == a);
    n = 4;
    OK(cuGraphGetEdges(graph, nodes, to, &n));
    TRUE(n == 2 && ((nodes[0] == a && to[0] == b && nodes[1] == b && to[1] == c) ||
                    (nodes[1] == a && to[1] == b && nodes[0] == b && to[0] == c)));
    n = 4;
    OK(cuGraphNodeGetDependencies(c, nodes, &n));
    TRUE(n == 1 && nodes[0] == b);
    n = 4;
    OK(cuGraphNodeGetDependentNodes(a, nodes, &n));
    TRUE(n == 1 && nodes[0] == b);
    unsigned type = 99;
    OK(cuGraphNodeGetType(a, &type));
    TRUE(type == KERNEL);
    KernelParams shown;
    OK(cuGraphKernelNodeGetParams_v2(c, &shown));
    TRUE(shown.func == step_ && shown.gx == 1 && *(CUdeviceptr *)shown.params[0] == word &&
         *(unsigned *)shown.params[1] == 3);

    /* A clone is a graph of its own. */
    CUgraphNode copied;
    OK(cuGraphClone(&clone, graph));
    OK(cuGraphNodeFindInClone(&copied, c, clone));
    EXPECT(1, cuGraphNodeFindInClone(&bad, copied, graph));
    OK(cuGraphDestroyNode(copied));
    CUgraphExec shorter = instantiate(clone);
    TRUE(launch(shorter, 0) == 4);
    TRUE(launch(exec, 0) == 11);
    EXPECT(1, cuGraphDestroyNode(copied));

    /* A circle is refused when it is instantiated. */
    OK(cuGraphNodeFindInClone(&nodes[0], a, clone));
    OK(cuGraphNodeFindInClone(&nodes[1], b, clone));
    OK(cuGraphAddDependencies(clone, &nodes[1], &nodes[0], 1));
    CUgraphExec none;
    InstantiateParams params = {0};
    EXPECT(1, cuGraphInstantiateWithParams(&none, clone, &params));
    TRUE(params.result == 2);
    OK(cuGraphRemoveDependencies(clone, &nodes[1], &nodes[0], 1));
    OK(cuGraphInstantiateWithParams(&none, clone, &params));
    TRUE(params.result == 0);

    /* Single steps of an instance: other parameters, and none at all. */
    unsigned k = 10, spin = 1, enabled = 7;
    void *changed[] = {&word, &k, &spin};
    KernelParams other = one_thread(step_, changed);
    OK(cuGraphExecKernelNodeSetParams_v2(exec, c, &other));
    TRUE(launch(exec, 0) == 18);
    OK(cuGraphNodeSetEnabled(exec, b, 0));
    OK(cuGraphNodeGetEnabled(exec, b, &enabled));
    TRUE(enabled == 0 && launch(exec, 0) == 12);

    /* The graph still says 3; a whole update brings that back. */
    UpdateInfo info;
    OK(cuGraphNodeSetEnabled(exec, b, 1));
    OK(cuGraphExecUpdate_v2(exec, graph, &info));
    TRUE(info.result == 0 && launch(exec, 0) == 11);
    OK(cuGraphKernelNodeSetParams_v2(c, &other));
    OK(cuGraphExecUpdate_v2(exec, graph, &info));
    TRUE(launch(exec, 0) == 18);
    EXPECT(910, cuGraphExecUpdate_v2(exec, clone, &info));
    TRUE(info.result == 2);
    int priority = -3, back[16] = {0};
    int value[16] = {priority};
    OK(cuGraphKernelNodeSetAttribute(c, 8, value));
    OK(cuGraphKernelNodeGetAttribute(c, 8, back));
    TRUE(back[0] == -3);

    /* An instance outlives its graph; handles do not. */
    uint64_t flags = 9;
    OK(cuGraphExecGetFlags(exec, &flags));
    TRUE(flags == 0);
    OK(cuGraphDestroy(graph));
    EXPECT(1, cuGraphGetNodes(graph, NULL, &n));
    EXPECT(1, cuGraphNodeGetType(a, &type));
    OK(cuGraphUpload(exec, NULL));
    TRUE(launch(exec, 0) == 18);
    OK(cuGraphExecDestroy(exec));
    EXPECT(1, cuGraphLaunch(exec, NULL));
    OK(cuGraphExecDestroy(shorter));
    OK(cuGraphDestroy(clone));
}

/* All kinds of nodes in a row; two of them inside a child graph. */
static void kinds(void) {
    CUgraph graph, child;
    CUgraphNode fill, inner, outer, copy, host, record, empty;
    CUevent event;
    unsigned calls = 0, result = 0;
    OK(cuEventCreate(&event, 0));
    OK(cuGraphCreate((void **)&graph, 0));
    OK(cuGraphCreate((void **)&child, 0));
    MemsetParams memset = {.dst = word, .value = 5, .size = 4, .width = 1, .height = 1};
    OK(cuGraphAddMemsetNode(&fill, graph, NULL, 0, &memset, NULL));
    inner = step(child, NULL, 0, 1, 1000);
    step(child, &inner, 1, 2, 1);
    OK(cuGraphAddChildGraphNode(&outer, graph, &fill, 1, child));
    OK(cuGraphDestroy(child));
    Copy3D to_host = {.src_type = 2, .src_device = word, .dst_type = 1, .dst_host = &result, .width = 4, .height = 1, .depth = 1};
    OK(cuGraphAddMemcpyNode(&copy, graph, &outer, 1, &to_host, NULL));
    HostParams call = {count, &calls};
    OK(cuGraphAddHostNode(&host, graph, &copy, 1, &call));
    OK(cuGraphAddEventRecordNode(&record, graph, &host, 1, event));
    OK(cuGraphAddEmptyNode(&empty, graph, &record, 1));
    CUgraphExec exec = instantiate(graph);
    CUstream a, b;
    OK(cuStreamCreate(&a, 1));
    OK(cuStreamCreate(&b, 1));
    for (unsigned i = 1; i <= 3; i++) {
        result = 0;
        OK(cuGraphLaunch(exec, a));
        OK(cuEventSynchronize(event));
        TRUE(result == 24 && calls == i);
    }
    /* Another stream can wait for what the graph records. */
    CUgraph waits;
    CUgraphNode waiter, last;
    OK(cuGraphCreate((void **)&waits, 0));
    OK(cuGraphAddEventWaitNode(&waiter, waits, NULL, 0, event));
    last = step(waits, &waiter, 1, 3, 1);
    CUgraphExec second = instantiate(waits);
    OK(cuGraphLaunch(exec, a));
    OK(cuGraphLaunch(second, b));
    OK(cuStreamSynchronize(b));
    TRUE(read_word() == 51);

    MemsetParams memset_back;
    Copy3D copy_back;
    HostParams call_back;
    OK(cuGraphMemsetNodeGetParams(fill, &memset_back));
    TRUE(memset_back.dst == word && memset_back.value == 5 && memset_back.size == 4 && memset_back.width == 1);
    OK(cuGraphMemcpyNodeGetParams(copy, &copy_back));
    TRUE(!memcmp(&copy_back, &to_host, sizeof to_host));
    OK(cuGraphHostNodeGetParams(host, &call_back));
    TRUE(call_back.fn == count && call_back.data == &calls);
    EXPECT(1, cuGraphMemsetNodeGetParams(copy, &memset_back));
    CUgraph there;
    size_t n = 0;
    OK(cuGraphChildGraphNodeGetGraph(outer, &there));
    OK(cuGraphGetNodes(there, NULL, &n));
    TRUE(n == 2);
    EXPECT(1, cuGraphDestroy(there));
    OK(cuGraphDebugDotPrint(graph, "/dev/null", 1));
    (void)last;
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphExecDestroy(second));
    OK(cuGraphDestroy(waits));
    OK(cuGraphDestroy(graph));
    EXPECT(1, cuGraphGetNodes(there, NULL, &n));
}

/* Branches that meet each other: each waits for what the other writes, so that they must run at the same time. */
static void branches(void) {
    CUgraph graph;
    CUdeviceptr flags;
    OK(cuMemAlloc_v2(&flags, 8));
    OK(cuMemsetD32_v2(flags, 0, 2));
    CUstream streams[2];
    CUevent fork, join;
    OK(cuStreamCreate(&streams[0], 1));
    OK(cuStreamCreate(&streams[1], 1));
    OK(cuEventCreate(&fork, 0));
    OK(cuEventCreate(&join, 0));
    OK(cuStreamBeginCapture_v2(streams[0], 2));
    OK(cuEventRecord(fork, streams[0]));
    OK(cuStreamWaitEvent(streams[1], fork, 0));
    for (int i = 0; i < 2; i++) {
        OK(cuStreamWriteValue32_v2(streams[i], flags + 4 * i, 1, 0));
        OK(cuStreamWaitValue32_v2(streams[i], flags + 4 * (1 - i), 1, 1));
    }
    OK(cuEventRecord(join, streams[1]));
    OK(cuStreamWaitEvent(streams[0], join, 0));
    OK(cuStreamEndCapture(streams[0], &graph));
    size_t n = 0;
    OK(cuGraphGetNodes(graph, NULL, &n));
    TRUE(n == 4);
    CUgraphExec exec = instantiate(graph);
    for (int i = 0; i < 20; i++) {
        OK(cuMemsetD32_v2(flags, 0, 2));
        OK(cuCtxSynchronize());
        OK(cuGraphLaunch(exec, streams[0]));
        OK(cuStreamSynchronize(streams[0]));
    }
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

static void add_conditional(CUgraph graph, uint64_t handle, unsigned type, unsigned size, CUgraph **bodies,
                            CUgraphNode *node) {
    NodeParams params = {.type = CONDITIONAL, .conditional = {.handle = handle, .type = type, .size = size}};
    OK(cuGraphAddNode(node, graph, NULL, 0, &params));
    *bodies = params.conditional.graphs;
}

static CUcontext context(void) {
    CUcontext current;
    OK(cuCtxGetCurrent(&current));
    return current;
}

static void conditions(void) {
    CUgraph graph, *bodies;
    CUgraphNode node;
    uint64_t handle;
    /* While the word is not 0: `step` on the condition itself: c * 2 + k wraps to 0 after some rounds. */
    OK(cuGraphCreate((void **)&graph, 0));
    EXPECT(201, cuGraphConditionalHandleCreate(&handle, graph, NULL, 1, 1));
    OK(cuGraphConditionalHandleCreate(&handle, graph, context(), 1, 1));
    CUgraphExec exec;
    InstantiateParams params = {0};
    EXPECT(1, cuGraphInstantiateWithParams(&exec, graph, &params));
    TRUE(params.result == 5);
    add_conditional(graph, handle, 1, 1, &bodies, &node);
    CUgraphNode body = step(bodies[0], NULL, 0, 1, 1);
    CUdeviceptr condition = handle;
    unsigned zero = 0, spin = 1;
    void *shift[] = {&condition, &zero, &spin};
    KernelParams doubles = one_thread(step_, shift);
    CUgraphNode shifts;
    OK(cuGraphAddKernelNode_v2(&shifts, bodies[0], &body, 1, &doubles));
    HostParams call = {count, NULL};
    /* As on an H200, such a node can be there, but not be instantiated. */
    OK(cuGraphAddHostNode(&node, bodies[0], NULL, 0, &call));
    EXPECT(1, cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphDestroyNode(node));
    exec = instantiate(graph);
    /* 1 doubled 32 times is 0; the word is 2^32 - 1 then, at every launch, since the condition begins with 1. */
    TRUE(launch(exec, 0) == 0xffffffff);
    TRUE(launch(exec, 0) == 0xffffffff);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));

    /* If and switch. */
    for (unsigned value = 0; value < 4; value++) {
        OK(cuGraphCreate((void **)&graph, 0));
        OK(cuGraphConditionalHandleCreate(&handle, graph, context(), value, 1));
        add_conditional(graph, handle, 0, 2, &bodies, &node);
        step(bodies[0], NULL, 0, 10, 1);
        step(bodies[1], NULL, 0, 20, 1);
        exec = instantiate(graph);
        TRUE(launch(exec, 0) == (value ? 10 : 20));
        OK(cuGraphExecDestroy(exec));
        OK(cuGraphDestroy(graph));

        OK(cuGraphCreate((void **)&graph, 0));
        OK(cuGraphConditionalHandleCreate(&handle, graph, context(), value, 1));
        add_conditional(graph, handle, 2, 3, &bodies, &node);
        for (unsigned i = 0; i < 3; i++) step(bodies[i], NULL, 0, 10 + i, 1);
        exec = instantiate(graph);
        TRUE(launch(exec, 0) == (value < 3 ? 10 + value : 0));
        OK(cuGraphExecDestroy(exec));
        OK(cuGraphDestroy(graph));
    }
    /* A body's nodes decide by values of the outer graph, and the other way round. */
    uint64_t inner;
    CUgraph *nested;
    OK(cuGraphCreate((void **)&graph, 0));
    OK(cuGraphConditionalHandleCreate(&handle, graph, context(), 1, 1));
    OK(cuGraphConditionalHandleCreate(&inner, graph, context(), 1, 1));
    add_conditional(graph, handle, 0, 1, &bodies, &node);
    CUgraphExec exec_of_unused;
    EXPECT(1, cuGraphInstantiateWithFlags(&exec_of_unused, graph, 0));
    add_conditional(bodies[0], inner, 0, 1, &nested, &node);
    OK(cuGraphConditionalHandleCreate(&inner, nested[0], context(), 0, 1));
    add_conditional(graph, inner, 0, 1, &nested, &node);
    CUgraphExec nest = instantiate(graph);
    OK(cuGraphLaunch(nest, NULL));
    OK(cuCtxSynchronize());
    OK(cuGraphExecDestroy(nest));
    OK(cuGraphDestroy(graph));
    NodeParams wrong = {.type = CONDITIONAL, .conditional = {.handle = 12345, .type = 0, .size = 1}};
    OK(cuGraphCreate((void **)&graph, 0));
    EXPECT(1, cuGraphAddNode(&node, graph, NULL, 0, &wrong));
    OK(cuGraphDestroy(graph));
}

static void memory(void) {
    CUgraph graph;
    CUgraphNode alloc, fill, copy, free_;
    AllocParams params = {.props = {.alloc_type = 1, .location = {1, 0}}, .bytes = 1000};
    unsigned result = 0;
    uint64_t used = 9;
    OK(cuGraphCreate((void **)&graph, 0));
    OK(cuGraphAddMemAllocNode(&alloc, graph, NULL, 0, &params));
    MemsetParams memset = {.dst = params.address, .value = 77, .size = 4, .width = 250, .height = 1};
    OK(cuGraphAddMemsetNode(&fill, graph, &alloc, 1, &memset, NULL));
    Copy3D to_host = {.src_type = 2, .src_device = params.address + 996, .dst_type = 1, .dst_host = &result, .width = 4, .height = 1, .depth = 1};
    OK(cuGraphAddMemcpyNode(&copy, graph, &fill, 1, &to_host, NULL));
    CUgraph clone;
    EXPECT(801, cuGraphClone(&clone, graph));
    CUgraphExec exec = instantiate(graph), other;
    EXPECT(801, cuGraphInstantiateWithFlags(&other, graph, 0));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuCtxSynchronize());
    TRUE(result == 77);
    OK(cuDeviceGetGraphMemAttribute(0, 0, &used));
    TRUE(used == 1000);
    /* Not freed yet. */
    EXPECT(1, cuGraphLaunch(exec, NULL));
    OK(cuMemFreeAsync(params.address, NULL));
    EXPECT(1, cuMemFreeAsync(params.address, NULL));
    /* It counts until it is given back, which its graph prevents. */
    OK(cuDeviceGraphMemTrim(0));
    OK(cuDeviceGetGraphMemAttribute(0, 0, &used));
    TRUE(used == 1000);
    OK(cuGraphLaunch(exec, NULL));
    OK(cuMemFree_v2(params.address));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 1));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphAddMemFreeNode(&free_, graph, &copy, 1, params.address));
    EXPECT(1, cuGraphAddMemFreeNode(&free_, graph, &copy, 1, params.address));
    OK(cuCtxSynchronize());
    OK(cuGraphDestroy(graph));
    /* The last launch left it live: it outlives its graph. */
    OK(cuDeviceGraphMemTrim(0));
    OK(cuMemsetD8_v2(params.address, 1, 1000));
    OK(cuMemFreeAsync(params.address, NULL));
    OK(cuCtxSynchronize());
    OK(cuDeviceGetGraphMemAttribute(0, 0, &used));
    TRUE(used == 1000);
    OK(cuDeviceGraphMemTrim(0));
    OK(cuDeviceGetGraphMemAttribute(0, 0, &used));
    TRUE(used == 0);
    OK(cuDeviceGetGraphMemAttribute(0, 1, &used));
    TRUE(used == 1000);
    used = 0;
    OK(cuDeviceSetGraphMemAttribute(0, 1, &used));
    OK(cuDeviceGetGraphMemAttribute(0, 1, &used));
    TRUE(used == 0);

    /* Managed memory, which the program reads at its address; nothing, and the host's, are not for graphs. */
    OK(cuGraphCreate((void **)&graph, 0));
    AllocParams managed = {.props = {.alloc_type = 2, .location = {1, 0}}, .bytes = 100};
    OK(cuGraphAddMemAllocNode(&alloc, graph, NULL, 0, &managed));
    memset.dst = managed.address;
    memset.width = 25;
    OK(cuGraphAddMemsetNode(&fill, graph, &alloc, 1, &memset, NULL));
    exec = instantiate(graph);
    OK(cuGraphUpload(exec, NULL));
    OK(cuDeviceGetGraphMemAttribute(0, 0, &used));
    TRUE(used == 100);
    OK(cuGraphLaunch(exec, NULL));
    OK(cuCtxSynchronize());
    TRUE(((volatile unsigned *)managed.address)[24] == 77);
    OK(cuMemFreeAsync(managed.address, NULL));
    managed.bytes = 0;
    EXPECT(1, cuGraphAddMemAllocNode(&alloc, graph, NULL, 0, &managed));
    managed.bytes = 100;
    managed.props.location.type = 2;
    EXPECT(801, cuGraphAddMemAllocNode(&alloc, graph, NULL, 0, &managed));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

static void objects(void) {
    static unsigned gone;
    CUuserObject object;
    CUgraph graph;
    EXPECT(1, cuUserObjectCreate(&object, &gone, count, 1, 0));
    OK(cuUserObjectCreate(&object, &gone, count, 2, 1));
    OK(cuGraphCreate((void **)&graph, 0));
    OK(cuGraphRetainUserObject(graph, object, 1, 1));
    CUgraphExec exec = instantiate(graph);
    OK(cuUserObjectRelease(object, 1));
    OK(cuGraphDestroy(graph));
    TRUE(gone == 0);
    OK(cuGraphExecDestroy(exec));
    TRUE(gone == 1);
}

int main(void) {
    CUmodule module;
    begin();
    OK(cuModuleLoadData(&module, PTX));
    OK(cuModuleGetFunction(&step_, module, "step"));
    OK(cuMemAlloc_v2(&word, 4));
    order_and_questions();
    kinds();
    branches();
    conditions();
    memory();
    objects();
    puts("graphs: passed");
    return 0;
}
