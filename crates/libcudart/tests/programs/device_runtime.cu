// nvcc: -rdc=true
// What the device runtime answers beside launching. The expected numbers are an H200's (driver 580.159.04).
#include "check.h"

__global__ void empty() {}
__global__ void __launch_bounds__(64) bounded() {}
__global__ void large(char a, double b, short c, int *out) {
    extern __shared__ int dynamic[];
    dynamic[threadIdx.x] = threadIdx.x;
    if (threadIdx.x == blockDim.x - 1) *out = a + static_cast<int>(b) + c + dynamic[threadIdx.x];
}

#define SAY(call)                                                                                                     \
    do {                                                                                                              \
        int result = call;                                                                                            \
        printf("%s: %d, last %d\n", #call, result, cudaGetLastError());                                               \
    } while (0)

__global__ void refused() {
    empty<<<1, 2048>>>();
    printf("2048 threads: %d, then %d\n", cudaGetLastError(), cudaGetLastError());
    empty<<<0, 1>>>();
    printf("no blocks: %d\n", cudaGetLastError());
    empty<<<1, 1, 100000>>>();
    printf("shared memory: %d\n", cudaGetLastError());
    bounded<<<1, 128>>>();
    printf("launch bounds: %d, %d\n", cudaPeekAtLastError(), cudaPeekAtLastError());
    bounded<<<1, 64>>>();
    printf("an error stays: %s: %s\n", cudaGetErrorName(cudaPeekAtLastError()), cudaGetErrorString(cudaGetLastError()));
    cudaStream_t stream;
    cudaEvent_t event;
    SAY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    SAY(cudaEventCreateWithFlags(&event, cudaEventDefault));
    SAY(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    SAY(cudaEventRecord(event, stream));
    SAY(cudaEventRecord(event, cudaStreamTailLaunch));
    SAY(cudaEventRecord(event, cudaStreamFireAndForget));
    SAY(cudaStreamWaitEvent(stream, event, 0));
    SAY(cudaStreamWaitEvent(cudaStreamTailLaunch, event, 0));
    SAY(cudaEventDestroy(event));
    SAY(cudaStreamDestroy(stream));
    SAY(cudaStreamDestroy(0));
    SAY(cudaStreamDestroy(cudaStreamTailLaunch));
}

__global__ void by_thread() {
    if (threadIdx.x == 2) empty<<<1, 2048>>>();
    __syncthreads();
    int error = cudaGetLastError();
    if (error != 0) printf("thread %d: %d\n", threadIdx.x, error);
}

__global__ void questions() {
    int value = -1, count = -1;
    SAY(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0));
    printf("%d\n", value);
    SAY(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(9999), 0));
    SAY(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 500));
    SAY(cudaGetDevice(&value));
    SAY(cudaGetDeviceCount(&count));
    printf("device %d, of some: %d\n", value, count > 0);
    size_t limit = 0;
    SAY(cudaDeviceGetLimit(&limit, cudaLimitDevRuntimePendingLaunchCount));
    printf("%llu\n", static_cast<unsigned long long>(limit));
    SAY(cudaDeviceGetLimit(&limit, cudaLimitDevRuntimeSyncDepth));
    cudaFuncAttributes attributes;
    SAY(cudaFuncGetAttributes(&attributes, bounded));
    printf("%d\n", attributes.maxThreadsPerBlock);
    SAY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, bounded, 64, 0));
    printf("%d\n", value);
}

// Copies and fills go by the programming guide; what they are refused for is recorded.
__global__ void memory(int *values, int *out) {
    int *none = nullptr, *heap = nullptr;
    SAY(cudaMalloc(&none, 0));
    SAY(cudaMalloc(&heap, 64 * sizeof(int)));
    heap[63] = 1;
    SAY(cudaFree(heap));
    SAY(cudaFree(nullptr));
    SAY(cudaMemsetAsync(values, 1, 32 * sizeof(int), 0));
    SAY(cudaMemcpyAsync(values + 32, values, 32 * sizeof(int), cudaMemcpyDeviceToDevice, 0));
    SAY(cudaMemcpyAsync(values + 32, values, 4, cudaMemcpyHostToDevice, 0));
    SAY(cudaMemset2DAsync(values + 33, 16, 2, 4, 3, 0));
    SAY(cudaMemcpy2DAsync(out, 8, values + 32, 16, 8, 4, cudaMemcpyDeviceToDevice, 0));
    large<<<1, 100, 400>>>(1, 2.5, 3, out + 8);
}

int main() {
    int *values, *out, host[9] = {};
    CALL(cudaMalloc(&values, 64 * sizeof(int)));
    CALL(cudaMalloc(&out, sizeof host));
    refused<<<1, 1>>>();
    CALL(cudaDeviceSynchronize());
    by_thread<<<1, 32>>>();
    CALL(cudaDeviceSynchronize());
    questions<<<1, 1>>>();
    CALL(cudaDeviceSynchronize());
    memory<<<1, 1>>>(values, out);
    CALL(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    for (int value : host) printf("%x,", value);
    printf("\n");
}
