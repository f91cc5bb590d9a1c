// Streams of all kinds, events and their times, functions of the host in a stream's order.
#include "check.h"

__global__ void step(int *value, int factor, int term) { *value = *value * factor + term; }

static void CUDART_CB note(void *place) { *static_cast<int *>(place) += 1; }

static void CUDART_CB told(cudaStream_t, cudaError_t result, void *place) {
    if (result == cudaSuccess) *static_cast<int *>(place) += 10;
}

int main() {
    int least, greatest;
    CALL(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CLAIM(greatest <= least);
    cudaStream_t streams[3];
    CALL(cudaStreamCreate(&streams[0]));
    CALL(cudaStreamCreateWithFlags(&streams[1], cudaStreamNonBlocking));
    CALL(cudaStreamCreateWithPriority(&streams[2], cudaStreamNonBlocking, greatest));
    unsigned flags;
    CALL(cudaStreamGetFlags(streams[1], &flags));
    CLAIM(flags == cudaStreamNonBlocking);

    int *values, notes = 0;
    CALL(cudaMallocHost(&values, 3 * sizeof(int)));
    int *device;
    CALL(cudaMalloc(&device, 3 * sizeof(int)));
    cudaEvent_t begin, end, between;
    CALL(cudaEventCreate(&begin));
    CALL(cudaEventCreate(&end));
    CALL(cudaEventCreateWithFlags(&between, cudaEventDisableTiming));
    for (int s = 0; s < 3; s++) {
        values[s] = s + 1;
        CALL(cudaMemcpyAsync(device + s, values + s, sizeof(int), cudaMemcpyHostToDevice, streams[s]));
    }
    CALL(cudaEventRecord(begin, streams[0]));
    for (int round = 0; round < 3; round++)
        for (int s = 0; s < 3; s++) step<<<1, 1, 0, streams[s]>>>(device + s, 10, s);
    CALL(cudaEventRecord(end, streams[0]));
    // The third stream goes on when the first has come here.
    CALL(cudaEventRecord(between, streams[0]));
    CALL(cudaStreamWaitEvent(streams[2], between, 0));
    CALL(cudaLaunchHostFunc(streams[2], note, &notes));
    CALL(cudaStreamAddCallback(streams[2], told, &notes, 0));
    for (int s = 0; s < 3; s++)
        CALL(cudaMemcpyAsync(values + s, device + s, sizeof(int), cudaMemcpyDeviceToHost, streams[s]));
    CALL(cudaStreamSynchronize(streams[2]));
    CLAIM(notes == 11);
    CALL(cudaDeviceSynchronize());
    CLAIM(cudaStreamQuery(streams[0]) == cudaSuccess && cudaEventQuery(end) == cudaSuccess);
    CLAIM(values[0] == 1000 && values[1] == 2111 && values[2] == 3222);
    float milliseconds = -1;
    CALL(cudaEventElapsedTime(&milliseconds, begin, end));
    CLAIM(milliseconds >= 0);
    CLAIM(cudaEventElapsedTime(&milliseconds, begin, between) == cudaErrorInvalidResourceHandle);
    CLAIM(cudaGetLastError() == cudaErrorInvalidResourceHandle);

    // The two default streams by their names.
    step<<<1, 1, 0, cudaStreamPerThread>>>(device, 2, 0);
    CALL(cudaStreamSynchronize(cudaStreamPerThread));
    step<<<1, 1, 0, cudaStreamLegacy>>>(device, 2, 0);
    CALL(cudaMemcpy(values, device, sizeof(int), cudaMemcpyDeviceToHost));
    CLAIM(values[0] == 4000);

    // Memory in a stream's order.
    int *ordered;
    CALL(cudaMallocAsync(&ordered, sizeof(int), streams[0]));
    CALL(cudaMemsetAsync(ordered, 0, sizeof(int), streams[0]));
    step<<<1, 1, 0, streams[0]>>>(ordered, 1, 42);
    CALL(cudaMemcpyAsync(values, ordered, sizeof(int), cudaMemcpyDeviceToHost, streams[0]));
    CALL(cudaFreeAsync(ordered, streams[0]));
    CALL(cudaStreamSynchronize(streams[0]));
    CLAIM(values[0] == 42);
    for (cudaStream_t stream : streams) CALL(cudaStreamDestroy(stream));
    CALL(cudaEventDestroy(begin));
    CALL(cudaFreeHost(values));
    printf("streams: passed\n");
}
