// nvcc: -rdc=true
// The order of grids that kernels launch: default streams of blocks, streams, events, tails, fire and forget.
#include "order.h"

__global__ void mark(int what) {
    if (threadIdx.x == 0) note(what);
}

// Works for a while, so that what did not wait would be seen.
__global__ void slow_mark(int what) {
    long long start = clock64();
    while (clock64() - start < 20000) {}
    note(what);
}

// One block has one default stream, whichever thread launches.
__global__ void default_stream() {
    if (threadIdx.x == 3) slow_mark<<<1, 1>>>(10);
    __syncthreads();
    if (threadIdx.x == 1) mark<<<1, 1>>>(11);
    __syncthreads();
    if (threadIdx.x == 40) mark<<<2, 64>>>(12);
}

// Every thread that executes a launch launches.
__global__ void every_thread() { mark<<<1, 32>>>(blockIdx.x * blockDim.x + threadIdx.x); }

__global__ void streams_and_events() {
    cudaStream_t one, other;
    cudaEvent_t event;
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    for (int i = 0; i < 4; i++) slow_mark<<<1, 1, 0, one>>>(i);
    cudaEventRecord(event, one);
    mark<<<1, 1, 0, one>>>(4);
    mark<<<1, 1, 0, other>>>(20);
    cudaStreamWaitEvent(other, event, 0);
    mark<<<1, 1, 0, other>>>(21);
    cudaStreamWaitEvent(0, event, 0);
    mark<<<1, 1>>>(30);
    // What was launched goes on without them.
    cudaEventDestroy(event);
    cudaStreamDestroy(one);
    cudaStreamDestroy(other);
}

__global__ void with_tail(int what) {
    mark<<<1, 1, 0, cudaStreamTailLaunch>>>(what + 3);
    slow_mark<<<1, 1>>>(what + 1);
    slow_mark<<<1, 1, 0, cudaStreamFireAndForget>>>(what + 2);
    note(what);
}

__global__ void tails() {
    with_tail<<<1, 1, 0, cudaStreamTailLaunch>>>(100);
    with_tail<<<1, 1, 0, cudaStreamTailLaunch>>>(200);
    with_tail<<<1, 1, 0, cudaStreamFireAndForget>>>(10);
    note(1);
}

// A chain of tails, each of which is launched by the one before.
__global__ void countdown(int left) {
    if (left == 0) note(7);
    else countdown<<<1, 1, 0, cudaStreamTailLaunch>>>(left - 1);
}

// What a grid has stored before it launches another, that one sees; and the host sees all.
__global__ void sum(const int *values, int *total) { atomicAdd(total, values[threadIdx.x]); }
__global__ void publishes(int *values, int *total) {
    values[threadIdx.x] = threadIdx.x + 1;
    __syncthreads();
    if (threadIdx.x == 0) sum<<<1, 64>>>(values, total);
}

__global__ void deep(int left) {
    note(left);
    if (left > 0) deep<<<1, 1>>>(left - 1);
}

int main() {
    default_stream<<<1, 64>>>();
    CLAIM(noted() == std::vector<int>({10, 11, 12, 12}));
    every_thread<<<4, 40>>>();
    auto list = noted();
    CLAIM(list.size() == 160);
    for (int i = 0; i < 160; i++) place(list, i);

    streams_and_events<<<1, 1>>>();
    list = noted();
    CLAIM(list.size() == 8);
    for (int i = 0; i < 4; i++) CLAIM(place(list, i) < place(list, i + 1));
    CLAIM(place(list, 3) < place(list, 21) && place(list, 20) < place(list, 21) && place(list, 3) < place(list, 30));

    tails<<<1, 1>>>();
    list = noted();
    CLAIM(list.size() == 13);
    // All that is no tail comes before the first tail, and one tail with all that it leads to before the next.
    for (int what : {1, 10, 11, 12, 13}) CLAIM(place(list, what) < 5);
    for (int what : {100, 101, 102, 103}) CLAIM(place(list, what) >= 5 && place(list, what) < 9);
    for (int what : {10, 100, 200}) {
        for (int i = 0; i < 3; i++) CLAIM(place(list, what + i) < place(list, what + 3));
    }

    countdown<<<1, 1>>>(500);
    CLAIM(noted() == std::vector<int>({7}));

    int *values, *total, host = 0;
    CALL(cudaMalloc(&values, 64 * sizeof(int)));
    CALL(cudaMalloc(&total, sizeof(int)));
    CALL(cudaMemset(total, 0, sizeof(int)));
    publishes<<<1, 64>>>(values, total);
    CALL(cudaMemcpy(&host, total, sizeof host, cudaMemcpyDeviceToHost));
    CLAIM(host == 64 * 65 / 2);

    deep<<<1, 1>>>(20);
    list = noted();
    CLAIM(list.size() == 21);
    for (int i = 0; i <= 20; i++) CLAIM(list[i] == 20 - i);
    printf("launch_order: passed\n");
}
