//: run phases block=128
//: out d s32[128] = for i: 20 * 128
//: run split block=96
//: out d s32[96] = for i: (i + 33) % 96 * 3
//: run dropping block=128
//: out d s32[4] = 128 96 64 32
//: run pipeline block=128
//: in s s32[4096] = for i: i * 7 % 1000
//: out d s32[4096] = for i: i * 7 % 1000 * 2 + 1
//: run parity block=64
//: out d s32[64] = for i: i < 32 ? 5 : 9

// cuda::barrier: arrivals that wait and that do not, dropped arrivals, asynchronous copies.
#include <cuda/barrier>

#pragma nv_diag_suppress static_var_with_dynamic_init

using Barrier = cuda::barrier<cuda::thread_scope_block>;

extern "C" __global__ void phases(int *d) {
#if __CUDA_ARCH__ >= 800
    __shared__ Barrier bar;
    __shared__ int sum;
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
        sum = 0;
    }
    __syncthreads();
    for (int i = 0; i < 20; i++) {
        atomicAdd(&sum, 1);
        bar.arrive_and_wait();
    }
    d[threadIdx.x] = sum;
#endif
}

extern "C" __global__ void split(int *d) {
#if __CUDA_ARCH__ >= 800
    __shared__ Barrier bar;
    __shared__ int s[96];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    s[threadIdx.x] = threadIdx.x * 3;
    auto token = bar.arrive();
    int other = (threadIdx.x + 33) % 96;
    bar.wait(std::move(token));
    d[threadIdx.x] = s[other];
#endif
}

// A warp less in each phase.
extern "C" __global__ void dropping(int *d) {
#if __CUDA_ARCH__ >= 800
    __shared__ Barrier bar;
    __shared__ int count[4];
    if (threadIdx.x < 4) count[threadIdx.x] = 0;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    int warp = threadIdx.x / 32;
    for (int phase = 0; phase < 4; phase++) {
        atomicAdd(&count[phase], 1);
        if (warp == 3 - phase) {
            bar.arrive_and_drop();
            break;
        }
        bar.arrive_and_wait();
    }
    __syncthreads();
    if (threadIdx.x < 4) d[threadIdx.x] = count[threadIdx.x];
#endif
}

// Tiles of 512 numbers through two buffers; each thread copies four, one by one.
extern "C" __global__ void pipeline(const int *s, int *d) {
#if __CUDA_ARCH__ >= 800
    __shared__ Barrier bar[2];
    __shared__ int tile[2][512];
    if (threadIdx.x < 2) init(&bar[threadIdx.x], blockDim.x);
    __syncthreads();
    auto fetch = [&](int t) {
        for (int at = threadIdx.x * 4; at < threadIdx.x * 4 + 4; at++)
            cuda::memcpy_async(&tile[t % 2][at], s + t * 512 + at, sizeof(int), bar[t % 2]);
    };
    fetch(0);
    for (int t = 0; t < 8; t++) {
        if (t + 1 < 8) fetch(t + 1);
        bar[t % 2].arrive_and_wait();
        for (int i = threadIdx.x; i < 512; i += 128) d[t * 512 + i] = tile[t % 2][i] * 2 + 1;
        __syncthreads();
    }
#endif
}

// One warp asks whether the phase is over until it is; the other ends it.
extern "C" __global__ void parity(int *d) {
#if __CUDA_ARCH__ >= 900
    __shared__ Barrier bar;
    __shared__ int value;
    if (threadIdx.x == 0) {
        init(&bar, 1);
        value = 0;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        while (!bar.try_wait_parity_for(false, cuda::std::chrono::nanoseconds(100))) {
        }
        d[threadIdx.x] = value;
    } else {
        if (threadIdx.x == 40) {
            value = 5;
            (void)bar.arrive();
        }
        d[threadIdx.x] = 9;
    }
#endif
}
