// Graphs: captured from a stream, and built by hand.
#include "check.h"

__global__ void step(int *value, int factor, int term) { *value = *value * factor + term; }

int main() {
    int *value, host = 1;
    CALL(cudaMalloc(&value, sizeof(int)));
    cudaStream_t stream;
    CALL(cudaStreamCreate(&stream));
    CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CALL(cudaMemsetAsync(value, 0, sizeof(int), stream));
    step<<<1, 1, 0, stream>>>(value, 1, 3);
    step<<<1, 1, 0, stream>>>(value, 10, 4);
    cudaGraph_t graph;
    CALL(cudaStreamEndCapture(stream, &graph));
    size_t nodes = 0;
    CALL(cudaGraphGetNodes(graph, nullptr, &nodes));
    CLAIM(nodes == 3);
    cudaGraphExec_t executable;
    CALL(cudaGraphInstantiate(&executable, graph, 0));
    for (int i = 0; i < 2; i++) CALL(cudaGraphLaunch(executable, stream));
    CALL(cudaStreamSynchronize(stream));
    CALL(cudaMemcpy(&host, value, sizeof host, cudaMemcpyDeviceToHost));
    CLAIM(host == 34);

    cudaGraph_t built;
    CALL(cudaGraphCreate(&built, 0));
    cudaGraphNode_t fill, kernel, copy;
    cudaMemsetParams zeros = {value, 0, 0, 4, 1, 1};
    CALL(cudaGraphAddMemsetNode(&fill, built, nullptr, 0, &zeros));
    int factor = 2, term = 21;
    void *arguments[] = {&value, &factor, &term};
    cudaKernelNodeParams launch = {reinterpret_cast<void *>(step), dim3(1), dim3(1), 0, arguments, nullptr};
    CALL(cudaGraphAddKernelNode(&kernel, built, &fill, 1, &launch));
    CALL(cudaGraphAddMemcpyNode1D(&copy, built, &kernel, 1, &host, value, sizeof host, cudaMemcpyDeviceToHost));
    CALL(cudaGraphInstantiate(&executable, built, 0));
    CALL(cudaGraphLaunch(executable, stream));
    CALL(cudaStreamSynchronize(stream));
    CLAIM(host == 21);
    term = 5;
    CALL(cudaGraphExecKernelNodeSetParams(executable, kernel, &launch));
    CALL(cudaGraphLaunch(executable, stream));
    CALL(cudaStreamSynchronize(stream));
    CLAIM(host == 5);

    // The same by the general structure.
    cudaGraph_t any;
    CALL(cudaGraphCreate(&any, 0));
    cudaGraphNodeParams params = {};
    params.type = cudaGraphNodeTypeKernel;
    params.kernel.func = reinterpret_cast<void *>(step);
    params.kernel.gridDim = params.kernel.blockDim = dim3(1);
    params.kernel.kernelParams = arguments;
    CALL(cudaGraphAddNode(&kernel, any, nullptr, nullptr, 0, &params));
    params = {};
    params.type = cudaGraphNodeTypeMemcpy;
    params.memcpy.copyParams.srcPtr = make_cudaPitchedPtr(value, sizeof host, sizeof host, 1);
    params.memcpy.copyParams.dstPtr = make_cudaPitchedPtr(&host, sizeof host, sizeof host, 1);
    params.memcpy.copyParams.extent = make_cudaExtent(sizeof host, 1, 1);
    params.memcpy.copyParams.kind = cudaMemcpyDeviceToHost;
    CALL(cudaGraphAddNode(&copy, any, &kernel, nullptr, 1, &params));
    CALL(cudaGraphInstantiate(&executable, any, 0));
    CALL(cudaGraphLaunch(executable, stream));
    CALL(cudaStreamSynchronize(stream));
    CLAIM(host == 2 * 5 + 5);
    printf("graphs: passed\n");
}
