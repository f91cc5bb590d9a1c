// nvcc: -rdc=true
// What becomes of wrong changes of a kernel node, by kernels and by the host. The lines expected are an H200's.
#include "check.h"

__global__ void adds(int *sum, int step) { atomicAdd(sum, step); }
__global__ void twice(int *sum, int step) { atomicAdd(sum, 2 * step); }

// The changes that kernels try.
#define NODE_CHANGES(X)                                                                                               \
    X(param_of_the_step, cudaGraphKernelNodeSetParam(node, 8, &step, 4))                                              \
    X(param_behind_all, cudaGraphKernelNodeSetParam(node, 12, &step, 4))                                              \
    X(param_far_behind, cudaGraphKernelNodeSetParam(node, 1ull << 40, &step, 4))                                      \
    X(param_offset_wraps, cudaGraphKernelNodeSetParam(node, ~0ull, &step, 4))                                         \
    X(param_of_no_bytes, cudaGraphKernelNodeSetParam(node, 8, &step, 0))                                              \
    X(param_of_no_bytes_behind_all, cudaGraphKernelNodeSetParam(node, 100, &step, 0))                                 \
    X(param_of_no_bytes_from_null, cudaGraphKernelNodeSetParam(node, 0, nullptr, 0))                                  \
    X(param_from_null, cudaGraphKernelNodeSetParam(node, 8, nullptr, 4))                                              \
    X(param_within_the_step, cudaGraphKernelNodeSetParam(node, 9, &step, 2))                                          \
    X(param_over_two, cudaGraphKernelNodeSetParam(node, 6, zeros, 4))                                                 \
    X(param_over_the_end, cudaGraphKernelNodeSetParam(node, 8, zeros, 8))                                             \
    X(param_over_the_end_by_one, cudaGraphKernelNodeSetParam(node, 11, zeros, 2))                                     \
    X(grid_of_none, cudaGraphKernelNodeSetGridDim(node, dim3(0, 1, 1)))                                               \
    X(grid_of_none_in_y, cudaGraphKernelNodeSetGridDim(node, dim3(1, 0, 1)))                                          \
    X(grid_too_wide, cudaGraphKernelNodeSetGridDim(node, dim3(1u << 31, 1, 1)))                                       \
    X(grid_too_high, cudaGraphKernelNodeSetGridDim(node, dim3(1, 65536, 1)))                                          \
    X(grid_too_deep, cudaGraphKernelNodeSetGridDim(node, dim3(1, 1, 65536)))                                          \
    X(grid_of_24, cudaGraphKernelNodeSetGridDim(node, dim3(2, 3, 4)))                                                 \
    X(disabled, cudaGraphKernelNodeSetEnabled(node, false))                                                           \
    X(no_node, cudaGraphKernelNodeSetEnabled(nullptr, false))                                                         \
    X(no_node_grid, cudaGraphKernelNodeSetGridDim(nullptr, dim3(1)))                                                  \
    X(no_node_param, cudaGraphKernelNodeSetParam(nullptr, 8, &step, 4))                                               \
    X(no_updates_from_null, cudaGraphKernelNodeUpdatesApply(nullptr, 0))                                              \
    X(no_updates, cudaGraphKernelNodeUpdatesApply(updates, 0))                                                        \
    X(updates_from_null, cudaGraphKernelNodeUpdatesApply(nullptr, 1))                                                 \
    X(good_then_no_grid, cudaGraphKernelNodeUpdatesApply(updates, 2))                                                 \
    X(no_grid_then_good, cudaGraphKernelNodeUpdatesApply(updates + 1, 2))                                             \
    X(good_then_far_param, cudaGraphKernelNodeUpdatesApply(updates + 2, 2))                                           \
    X(good_then_no_field, cudaGraphKernelNodeUpdatesApply(updates + 4, 2))                                            \
    X(good_then_unknown_field, cudaGraphKernelNodeUpdatesApply(updates + 6, 2))                                       \
    X(good_then_no_node, cudaGraphKernelNodeUpdatesApply(updates + 8, 2))                                             \
    X(good_then_param_from_null, cudaGraphKernelNodeUpdatesApply(updates + 10, 2))                                    \
    X(good_then_good, cudaGraphKernelNodeUpdatesApply(updates + 12, 2))

enum Change {
#define NAME(name, call) name,
    NODE_CHANGES(NAME)
#undef NAME
        CHANGES
};

__device__ cudaGraphKernelNodeUpdate grid(cudaGraphDeviceNode_t node, unsigned width) {
    return {node, cudaGraphKernelNodeFieldGridDim, {dim3(width)}};
}

__device__ cudaGraphKernelNodeUpdate param(cudaGraphDeviceNode_t node, const void *from, size_t offset) {
    cudaGraphKernelNodeUpdate update = {node, cudaGraphKernelNodeFieldParam, {}};
    update.updateData.param.pValue = from;
    update.updateData.param.offset = offset;
    update.updateData.param.size = 4;
    return update;
}

__global__ void tries(cudaGraphDeviceNode_t node, int change, int *answer) {
    int step = 5;
    char zeros[8] = {};
    cudaGraphKernelNodeUpdate updates[] = {
        grid(node, 7), grid(node, 0), grid(node, 7), param(node, &step, 4096),
        grid(node, 7), {node, cudaGraphKernelNodeFieldInvalid, {}},
        grid(node, 7), {node, static_cast<cudaGraphKernelNodeField>(77), {}},
        grid(node, 7), grid(nullptr, 7), grid(node, 7), param(node, nullptr, 8),
        param(node, &step, 8), grid(node, 7),
    };
    switch (change) {
#define CASE(name, call) case name: *answer = call; break;
    NODE_CHANGES(CASE)
#undef CASE
    }
}

static const char *const NAMES[] = {
#define TEXT(name, call) #name,
    NODE_CHANGES(TEXT)
#undef TEXT
};

static int *sum, *answer;
static cudaStream_t stream;

// A graph of `tries` and, after it, a captured launch of `adds` that kernels may change.
struct Pair {
    cudaGraph_t graph;
    cudaGraphNode_t node, first;
    cudaGraphDeviceNode_t updatable;

    explicit Pair(int change) {
        cudaLaunchAttribute attribute = {};
        attribute.id = cudaLaunchAttributeDeviceUpdatableKernelNode;
        attribute.val.deviceUpdatableKernelNode.deviceUpdatable = 1;
        cudaLaunchConfig_t config = {dim3(1), dim3(1), 0, stream, &attribute, 1};
        size_t count = 1;
        CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        CALL(cudaLaunchKernelEx(&config, adds, sum, 1));
        CALL(cudaStreamEndCapture(stream, &graph));
        CALL(cudaGraphGetNodes(graph, &node, &count));
        updatable = attribute.val.deviceUpdatableKernelNode.devNode;
        void *arguments[] = {&updatable, &change, &answer};
        cudaKernelNodeParams params = {(void *)tries, dim3(1), dim3(1), 0, arguments, nullptr};
        CALL(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &params));
        CALL(cudaGraphAddDependencies(graph, &first, &node, nullptr, 1));
    }

    cudaGraphExec_t instance() const {
        cudaGraphExec_t made;
        CALL(cudaGraphInstantiate(&made, graph, 0));
        CALL(cudaGraphUpload(made, stream));
        CALL(cudaStreamSynchronize(stream));
        return made;
    }
};

static int run(cudaGraphExec_t instance) {
    *sum = 0, *answer = -1;
    CALL(cudaGraphLaunch(instance, stream));
    CALL(cudaStreamSynchronize(stream));
    return *sum;
}

// The change alone, by a kernel in no graph.
static int change_alone(cudaGraphDeviceNode_t node, Change change) {
    tries<<<1, 1, 0, stream>>>(node, change, answer);
    CALL(cudaStreamSynchronize(stream));
    return *answer;
}

static void by_kernels() {
    for (int change = 0; change < CHANGES; change++) {
        cudaGraphExec_t instance = Pair(change).instance();
        int added = run(instance);
        printf("%s: %d, sum %d\n", NAMES[change], *answer, added);
        CALL(cudaGraphExecDestroy(instance));
    }
}

static void from_outside() {
    Pair pair(param_of_no_bytes);
    printf("without an instance: %d\n", change_alone(pair.updatable, grid_of_24));
    cudaGraphExec_t instance = pair.instance();
    printf("with one: %d", change_alone(pair.updatable, grid_of_24));
    printf(", sum %d\n", run(instance));
    printf("disabled: %d", change_alone(pair.updatable, disabled));
    printf(", sum %d\n", run(instance));
    unsigned enabled = 9;
    CALL(cudaGraphNodeGetEnabled(instance, pair.node, &enabled));
    printf("for the host it is enabled: %u\n", enabled);
    CALL(cudaGraphNodeSetEnabled(instance, pair.node, 1));
    printf("enabled by the host: sum %d\n", run(instance));
    printf("grid again: %d", change_alone(pair.updatable, grid_of_24));
    CALL(cudaGraphNodeSetEnabled(instance, pair.node, 0));
    printf(", disabled by the host: sum %d", run(instance));
    CALL(cudaGraphNodeSetEnabled(instance, pair.node, 1));
    printf(", enabled: sum %d\n", run(instance));
    printf("grid again: %d", change_alone(pair.updatable, grid_of_24));
    CALL(cudaGraphUpload(instance, stream));
    printf(", uploaded again: sum %d\n", run(instance));
    int step = 3;
    void *arguments[] = {&sum, &step};
    cudaKernelNodeParams params = {(void *)twice, dim3(2), dim3(1), 0, arguments, nullptr};
    CALL(cudaGraphExecKernelNodeSetParams(instance, pair.node, &params));
    printf("another kernel: sum %d\n", run(instance));
    CALL(cudaGraphExecDestroy(instance));
    printf("the instance is gone: %d\n", change_alone(pair.updatable, grid_of_24));
}

#define SAY(...) printf("%s: %d\n", #__VA_ARGS__, __VA_ARGS__)

static void by_the_host() {
    const cudaLaunchAttributeID id = cudaLaunchAttributeDeviceUpdatableKernelNode;
    cudaLaunchAttributeValue on = {}, off = {}, got = {};
    Pair pair(param_of_no_bytes), other(param_of_no_bytes);
    cudaGraphNode_t node = pair.node, first = pair.first, child;
    cudaGraph_t graph = pair.graph, copy, parent;
    cudaGraphExec_t instance, second;
    on.deviceUpdatableKernelNode.deviceUpdatable = 1;
    SAY(cudaGraphKernelNodeGetAttribute(node, id, &got));
    CLAIM(got.deviceUpdatableKernelNode.deviceUpdatable && got.deviceUpdatableKernelNode.devNode == pair.updatable);
    SAY(cudaGraphKernelNodeGetAttribute(first, id, &got));
    CLAIM(!got.deviceUpdatableKernelNode.deviceUpdatable && !got.deviceUpdatableKernelNode.devNode);
    SAY(cudaGraphKernelNodeSetAttribute(first, id, &off));
    SAY(cudaGraphKernelNodeSetAttribute(node, id, &off));
    SAY(cudaGraphKernelNodeSetAttribute(node, id, &on));
    CLAIM(on.deviceUpdatableKernelNode.devNode == pair.updatable);
    // Now with the handle in it.
    SAY(cudaGraphKernelNodeSetAttribute(node, id, &on));
    SAY(cudaGraphKernelNodeSetAttribute(first, id, &on));
    on.deviceUpdatableKernelNode.devNode = nullptr;
    on.deviceUpdatableKernelNode.deviceUpdatable = 2;
    SAY(cudaGraphKernelNodeSetAttribute(node, id, &on));
    off.deviceUpdatableKernelNode.devNode = pair.updatable;
    SAY(cudaGraphKernelNodeSetAttribute(first, id, &off));
    SAY(cudaGraphKernelNodeCopyAttributes(first, node));
    SAY(cudaGraphKernelNodeCopyAttributes(node, first));
    SAY(cudaGraphKernelNodeCopyAttributes(other.node, node));
    SAY(cudaGraphDestroyNode(node));
    SAY(cudaGraphRemoveDependencies(graph, &first, &node, nullptr, 1));
    SAY(cudaGraphAddDependencies(graph, &first, &node, nullptr, 1));
    SAY(cudaGraphClone(&copy, graph));
    SAY(cudaGraphInstantiate(&instance, graph, 0));
    SAY(cudaGraphInstantiate(&second, graph, 0));
    SAY(cudaGraphExecUpdate(instance, other.graph, nullptr));
    cudaGraphExecUpdateResultInfo result;
    SAY(cudaGraphExecUpdate(instance, other.graph, &result));
    SAY(cudaGraphExecUpdate(instance, graph, &result));
    CALL(cudaGraphCreate(&parent, 0));
    SAY(cudaGraphAddChildGraphNode(&child, parent, nullptr, 0, graph));
    SAY(cudaGraphAddChildGraphNode(&child, parent, nullptr, 0, other.graph));
    SAY(cudaGraphDestroyNode(first));
    SAY(cudaGraphDestroy(graph));
    SAY(cudaGraphExecDestroy(instance));
    cudaLaunchAttribute attribute = {};
    attribute.id = id;
    attribute.val.deviceUpdatableKernelNode.deviceUpdatable = 1;
    cudaLaunchConfig_t config = {dim3(1), dim3(1), 0, stream, &attribute, 1};
    SAY(cudaLaunchKernelEx(&config, adds, sum, 1));
}

int main() {
    CALL(cudaMallocManaged(&sum, sizeof(int)));
    CALL(cudaMallocManaged(&answer, sizeof(int)));
    CALL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    by_kernels();
    from_outside();
    by_the_host();
    printf("node_changes: passed\n");
}
