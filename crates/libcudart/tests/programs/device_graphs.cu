// nvcc: -rdc=true
// Graphs that kernels launch: fired and forgotten, behind the launching graph, beside it, and a graph that launches
// itself again.
#include "order.h"

__global__ void mark(int what) { note(what); }

__global__ void launches(cudaGraphExec_t graph, cudaStream_t stream, int what) {
    note(what);
    cudaError_t error = cudaGraphLaunch(graph, stream);
    if (error != cudaSuccess) note(-error);
}

__global__ void launches_two(cudaGraphExec_t one, cudaGraphExec_t other) {
    if (cudaGraphLaunch(one, cudaStreamGraphTailLaunch) != cudaSuccess) note(-1);
    if (cudaGraphLaunch(other, cudaStreamGraphTailLaunch) != cudaSuccess) note(-2);
    note(1);
}

// The work of one round, and the decision whether there is another.
__global__ void round(int *value) { *value = *value * 2 + 1; }
__global__ void again(int *left) {
    note(*left);
    if (--*left > 0) {
        cudaError_t error = cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch);
        if (error != cudaSuccess) note(-error);
    }
}

__global__ void twice() {
    note(cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphFireAndForget));
    if (tickets < 3) {
        int first = cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch);
        int second = cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch);
        note(100 + 10 * first + second);
    }
}

__global__ void current() { note(cudaGetCurrentGraphExec() != nullptr); }

template <class Body> static cudaGraphExec_t make(unsigned flags, Body body) {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CALL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    body(stream);
    CALL(cudaStreamEndCapture(stream, &graph));
    CALL(cudaGraphInstantiate(&executable, graph, flags));
    if (flags & cudaGraphInstantiateFlagDeviceLaunch) CALL(cudaGraphUpload(executable, stream));
    CALL(cudaStreamSynchronize(stream));
    CALL(cudaStreamDestroy(stream));
    return executable;
}

static std::vector<int> run(cudaGraphExec_t executable) {
    CALL(cudaGraphLaunch(executable, 0));
    return noted();
}

int main() {
    constexpr unsigned DEVICE = cudaGraphInstantiateFlagDeviceLaunch;
    using List = std::vector<int>;
    auto a = make(DEVICE, [](cudaStream_t s) { mark<<<1, 1, 0, s>>>(10), mark<<<1, 1, 0, s>>>(11); });
    auto b = make(DEVICE, [](cudaStream_t s) { mark<<<1, 1, 0, s>>>(20), mark<<<1, 1, 0, s>>>(21); });
    CLAIM(run(a) == List({10, 11}));

    // Fired: at any time before the launching graph's tail; behind: after all of it.
    auto fires = make(0, [&](cudaStream_t s) {
        launches<<<1, 1, 0, s>>>(a, cudaStreamGraphFireAndForget, 1);
        mark<<<1, 1, 0, s>>>(2);
        launches<<<1, 1, 0, s>>>(b, cudaStreamGraphTailLaunch, 3);
        mark<<<1, 1, 0, s>>>(4);
    });
    for (int i = 0; i < 3; i++) {
        auto list = run(fires);
        CLAIM(list.size() == 8 && place(list, 1) < place(list, 10) && place(list, 10) < place(list, 11));
        CLAIM(place(list, 20) == 6 && place(list, 21) == 7);
    }

    // The tail of a tail comes before the next tail.
    auto c = make(DEVICE, [&](cudaStream_t s) {
        launches<<<1, 1, 0, s>>>(a, cudaStreamGraphTailLaunch, 40);
        mark<<<1, 1, 0, s>>>(41);
    });
    auto tails = make(0, [&](cudaStream_t s) { launches_two<<<1, 1, 0, s>>>(c, b), mark<<<1, 1, 0, s>>>(2); });
    CLAIM(run(tails) == List({1, 2, 40, 41, 10, 11, 20, 21}));

    // What a fired graph fires comes before its own tail; what it launches beside itself need not.
    auto inner = make(DEVICE, [&](cudaStream_t s) {
        launches<<<1, 1, 0, s>>>(a, cudaStreamGraphFireAndForget, 50);
        launches<<<1, 1, 0, s>>>(b, cudaStreamGraphTailLaunch, 51);
    });
    auto list = run(make(0, [&](cudaStream_t s) {
        launches<<<1, 1, 0, s>>>(inner, cudaStreamGraphFireAndForget, 1);
        mark<<<1, 1, 0, s>>>(2);
    }));
    CLAIM(list.size() == 8 && place(list, 11) < place(list, 20) && place(list, 51) < place(list, 20));
    auto beside = make(DEVICE, [&](cudaStream_t s) {
        launches<<<1, 1, 0, s>>>(a, cudaStreamGraphFireAndForgetAsSibling, 60);
        launches<<<1, 1, 0, s>>>(b, cudaStreamGraphTailLaunch, 61);
    });
    list = run(make(0, [&](cudaStream_t s) { launches<<<1, 1, 0, s>>>(beside, cudaStreamGraphFireAndForget, 1); }));
    CLAIM(list.size() == 7 && place(list, 61) < place(list, 20) && place(list, 60) < place(list, 10));

    // A graph that launches itself behind itself as long as there is work.
    int *left, *value, rounds = 12, result = 0;
    CALL(cudaMalloc(&left, sizeof(int)));
    CALL(cudaMalloc(&value, sizeof(int)));
    CALL(cudaMemset(value, 0, sizeof(int)));
    CALL(cudaMemcpy(left, &rounds, sizeof rounds, cudaMemcpyHostToDevice));
    auto loop = make(DEVICE, [&](cudaStream_t s) { round<<<1, 1, 0, s>>>(value), again<<<1, 1, 0, s>>>(left); });
    list = run(loop);
    CLAIM(list.size() == 12 && list.front() == 12 && list.back() == 1);
    CALL(cudaMemcpy(&result, value, sizeof result, cudaMemcpyDeviceToHost));
    CLAIM(result == (1 << 12) - 1);

    // What is refused, and where there is a current graph.
    auto refused = [&](cudaStream_t stream) {
        return run(make(0, [&](cudaStream_t s) { launches<<<1, 1, 0, s>>>(a, stream, 1); }));
    };
    CLAIM(refused(0) == List({1, -cudaErrorInvalidValue}));
    CLAIM(refused(cudaStreamPerThread) == List({1, -cudaErrorInvalidValue}));
    CALL(cudaMemcpy(left, &rounds, sizeof rounds, cudaMemcpyHostToDevice));
    CLAIM(run(make(0, [&](cudaStream_t s) { again<<<1, 1, 0, s>>>(left); })) == List({12, -cudaErrorInvalidValue}));
    CLAIM(run(make(DEVICE, [](cudaStream_t s) { twice<<<1, 1, 0, s>>>(); })) == List({1, 101, 1}));
    CLAIM(run(make(DEVICE, [](cudaStream_t s) { current<<<1, 1, 0, s>>>(); })) == List({1}));
    CLAIM(run(make(0, [](cudaStream_t s) { current<<<1, 1, 0, s>>>(); })) == List({0}));
    printf("device_graphs: passed\n");
}
