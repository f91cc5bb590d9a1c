// nvcc: -rdc=true
// Kernels that change a kernel node that comes after them in their own graph: its parameters, its grid, whether it runs.
#include "check.h"

__global__ void adds(int *sum, int step) { atomicAdd(sum, step); }

__global__ void decides(cudaGraphDeviceNode_t node, const int *wanted, int *answer) {
    int step = wanted[0];
    *answer = cudaGraphKernelNodeSetParam(node, sizeof(int *), step);
    if (*answer == cudaSuccess) *answer = cudaGraphKernelNodeSetGridDim(node, dim3(wanted[1]));
    if (*answer == cudaSuccess) *answer = cudaGraphKernelNodeSetEnabled(node, wanted[2] != 0);
}

__global__ void decides_at_once(cudaGraphDeviceNode_t node, const int *wanted, int *answer) {
    cudaGraphKernelNodeUpdate updates[3] = {
        {node, cudaGraphKernelNodeFieldParam, {}},
        {node, cudaGraphKernelNodeFieldGridDim, {dim3(wanted[1])}},
        {node, cudaGraphKernelNodeFieldEnabled, {}},
    };
    updates[0].updateData.param.pValue = wanted;
    updates[0].updateData.param.offset = sizeof(int *);
    updates[0].updateData.param.size = sizeof(int);
    updates[2].updateData.isEnabled = wanted[2];
    *answer = cudaGraphKernelNodeUpdatesApply(updates, 3);
}

static int *sum, *wanted, *answer;

// A graph of a captured launch of `adds` that kernels may change, behind one of a kernel that does so.
static cudaGraphExec_t make(void (*first)(cudaGraphDeviceNode_t, const int *, int *)) {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphNode_t node, before;
    cudaGraphExec_t executable;
    size_t count = 1;
    int step = 1;
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeDeviceUpdatableKernelNode;
    attribute.val.deviceUpdatableKernelNode.deviceUpdatable = 1;
    CALL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaLaunchConfig_t config = {dim3(1), dim3(1), 0, stream, &attribute, 1};
    CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CALL(cudaLaunchKernelEx(&config, adds, sum, step));
    CALL(cudaStreamEndCapture(stream, &graph));
    CALL(cudaGraphGetNodes(graph, &node, &count));
    cudaGraphDeviceNode_t updatable = attribute.val.deviceUpdatableKernelNode.devNode;
    CLAIM(count == 1 && updatable);
    void *arguments[] = {&updatable, &wanted, &answer};
    cudaKernelNodeParams params = {(void *)first, dim3(1), dim3(1), 0, arguments, nullptr};
    CALL(cudaGraphAddKernelNode(&before, graph, nullptr, 0, &params));
    CALL(cudaGraphAddDependencies(graph, &before, &node, nullptr, 1));
    CALL(cudaGraphInstantiate(&executable, graph, 0));
    CALL(cudaGraphUpload(executable, stream));
    CALL(cudaStreamSynchronize(stream));
    return executable;
}

static int run(cudaGraphExec_t executable, int step, int blocks, int enabled) {
    *sum = 0, wanted[0] = step, wanted[1] = blocks, wanted[2] = enabled;
    CALL(cudaGraphLaunch(executable, 0));
    CALL(cudaDeviceSynchronize());
    return *sum;
}

int main() {
    CALL(cudaMallocManaged(&sum, sizeof(int)));
    CALL(cudaMallocManaged(&wanted, 3 * sizeof(int)));
    CALL(cudaMallocManaged(&answer, sizeof(int)));
    for (auto kernel : {decides, decides_at_once}) {
        cudaGraphExec_t executable = make(kernel);
        CLAIM(run(executable, 10, 3, 1) == 30 && *answer == cudaSuccess);
        CLAIM(run(executable, 7, 100, 1) == 700 && *answer == cudaSuccess);
        CLAIM(run(executable, 7, 100, 0) == 0 && *answer == cudaSuccess);
        CLAIM(run(executable, 5, 0, 1) == 0 && *answer == cudaErrorInvalidValue);
        CLAIM(run(executable, 5, 2, 1) == 10 && *answer == cudaSuccess);
        CALL(cudaGraphExecDestroy(executable));
    }
    printf("graph_updates: passed\n");
}
