// nvcc: -rdc=true
// Conditional nodes of graphs: bodies that run if a kernel says so, as long as it does, or the one that it chooses. The
// expected output is an H200's (driver 580.159.04).
#include "check.h"

__global__ void add(int *value, int term) { *value += term; }
__global__ void decide(cudaGraphConditionalHandle handle, unsigned value) { cudaGraphSetConditional(handle, value); }
// Counts down; the loop ends at zero.
__global__ void count(cudaGraphConditionalHandle handle, int *left, int *turns) {
    *turns += 1;
    *left -= 1;
    cudaGraphSetConditional(handle, *left > 0);
}

static cudaGraphNode_t kernel(cudaGraph_t graph, cudaGraphNode_t before, void *function, void **arguments) {
    cudaKernelNodeParams params = {};
    params.func = function;
    params.gridDim = params.blockDim = dim3(1);
    params.kernelParams = arguments;
    cudaGraphNode_t node;
    CALL(cudaGraphAddKernelNode(&node, graph, before ? &before : nullptr, before ? 1 : 0, &params));
    return node;
}

static cudaGraphNode_t condition(
    cudaGraph_t graph, cudaGraphNode_t before, cudaGraphConditionalHandle handle, cudaGraphConditionalNodeType type,
    unsigned size, cudaGraph_t *bodies) {
    cudaGraphNodeParams params = {};
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = handle;
    params.conditional.type = type;
    params.conditional.size = size;
    cudaGraphNode_t node;
    CALL(cudaGraphAddNode(&node, graph, before ? &before : nullptr, nullptr, before ? 1 : 0, &params));
    for (unsigned i = 0; i < size; i++) bodies[i] = params.conditional.phGraph_out[i];
    return node;
}

static int run(cudaGraphExec_t executable, int *value) {
    int result = 0;
    CALL(cudaMemset(value, 0, sizeof(int)));
    CALL(cudaGraphLaunch(executable, 0));
    CALL(cudaMemcpy(&result, value, sizeof result, cudaMemcpyDeviceToHost));
    return result;
}

int main() {
    int *value, *left;
    CALL(cudaMalloc(&value, sizeof(int)));
    CALL(cudaMalloc(&left, sizeof(int)));
    int one = 1, ten = 10, hundred = 100;

    // If, with an else; what the kernel says is changed by an update.
    cudaGraph_t graph, bodies[4];
    cudaGraphConditionalHandle handle;
    CALL(cudaGraphCreate(&graph, 0));
    CALL(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
    unsigned said = 1;
    void *decision[] = {&handle, &said};
    cudaGraphNode_t decides = kernel(graph, nullptr, reinterpret_cast<void *>(decide), decision);
    condition(graph, decides, handle, cudaGraphCondTypeIf, 2, bodies);
    void *terms[] = {&value, &one};
    kernel(bodies[0], nullptr, reinterpret_cast<void *>(add), terms);
    terms[1] = &ten;
    kernel(bodies[1], nullptr, reinterpret_cast<void *>(add), terms);
    cudaGraphExec_t executable;
    CALL(cudaGraphInstantiate(&executable, graph, 0));
    CLAIM(run(executable, value) == 1);
    said = 0;
    cudaKernelNodeParams other = {};
    other.func = reinterpret_cast<void *>(decide);
    other.gridDim = other.blockDim = dim3(1);
    other.kernelParams = decision;
    CALL(cudaGraphExecKernelNodeSetParams(executable, decides, &other));
    CLAIM(run(executable, value) == 10);

    // While, from a default that each launch begins with; the body is captured.
    CALL(cudaGraphCreate(&graph, 0));
    CALL(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
    condition(graph, nullptr, handle, cudaGraphCondTypeWhile, 1, bodies);
    cudaStream_t stream;
    CALL(cudaStreamCreate(&stream));
    CALL(cudaStreamBeginCaptureToGraph(
        stream, bodies[0], nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
    count<<<1, 1, 0, stream>>>(handle, left, value);
    cudaGraph_t captured;
    CALL(cudaStreamEndCapture(stream, &captured));
    CLAIM(captured == bodies[0]);
    CALL(cudaGraphInstantiate(&executable, graph, 0));
    for (int turns : {7, 1, 40}) {
        CALL(cudaMemcpy(left, &turns, sizeof turns, cudaMemcpyHostToDevice));
        CLAIM(run(executable, value) == turns);
    }

    // One of three, or none of them.
    for (unsigned chosen = 0; chosen < 5; chosen++) {
        CALL(cudaGraphCreate(&graph, 0));
        CALL(cudaGraphConditionalHandleCreate(&handle, graph, chosen, cudaGraphCondAssignDefault));
        condition(graph, nullptr, handle, cudaGraphCondTypeSwitch, 3, bodies);
        int *each[] = {&one, &ten, &hundred};
        for (int i = 0; i < 3; i++) {
            void *term[] = {&value, each[i]};
            kernel(bodies[i], nullptr, reinterpret_cast<void *>(add), term);
        }
        CALL(cudaGraphInstantiate(&executable, graph, 0));
        CLAIM(run(executable, value) == (chosen == 0 ? 1 : chosen == 1 ? 10 : chosen == 2 ? 100 : 0));
    }

    // A loop whose body decides each time: the first time the inner body runs, since the inner default is one.
    CALL(cudaGraphCreate(&graph, 0));
    cudaGraphConditionalHandle inner;
    CALL(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
    CALL(cudaGraphConditionalHandleCreate(&inner, graph, 1, cudaGraphCondAssignDefault));
    condition(graph, nullptr, handle, cudaGraphCondTypeWhile, 1, bodies);
    void *counting[] = {&handle, &left, &value};
    cudaGraphNode_t counts = kernel(bodies[0], nullptr, reinterpret_cast<void *>(count), counting);
    condition(bodies[0], counts, inner, cudaGraphCondTypeIf, 1, bodies + 1);
    terms[1] = &hundred;
    cudaGraphNode_t adds = kernel(bodies[1], nullptr, reinterpret_cast<void *>(add), terms);
    said = 0;
    void *stops[] = {&inner, &said};
    kernel(bodies[1], adds, reinterpret_cast<void *>(decide), stops);
    CALL(cudaGraphInstantiate(&executable, graph, 0));
    int turns = 5;
    CALL(cudaMemcpy(left, &turns, sizeof turns, cudaMemcpyHostToDevice));
    printf("a loop of %d with an inner body: %d\n", turns, run(executable, value));

    // A value that nobody decides by cannot be there, nor a node of the host in a body.
    CALL(cudaGraphCreate(&graph, 0));
    CALL(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
    printf("an unused handle: %d\n", cudaGraphInstantiate(&executable, graph, 0));
    condition(graph, nullptr, handle, cudaGraphCondTypeIf, 1, bodies);
    cudaHostNodeParams host = {[](void *) {}, nullptr};
    cudaGraphNode_t node;
    printf("a host node in a body: %d\n", cudaGraphAddHostNode(&node, bodies[0], nullptr, 0, &host));
    printf("instantiated: %d\n", cudaGraphInstantiate(&executable, graph, 0));
}
