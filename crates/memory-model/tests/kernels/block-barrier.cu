// Threads of a CTA exchange numbers over a cuda::barrier in shared memory. `wrong` arrives and does not wait.
#include <cuda/barrier>
using barrier = cuda::barrier<cuda::thread_scope_block>;
#pragma nv_diag_suppress static_var_with_dynamic_init

template <bool WAIT> __device__ void run(int *y) {
    __shared__ barrier meet;
    __shared__ int x[2];
    if (threadIdx.x == 0) {
        init(&meet, blockDim.x);
    }
    __syncthreads();
    x[threadIdx.x] = 1 + threadIdx.x;
    auto token = meet.arrive();
    if (WAIT) {
        meet.wait(static_cast<barrier::arrival_token &&>(token));
    }
    y[threadIdx.x] = x[1 - threadIdx.x];
}

extern "C" __global__ void right(int *y) { run<true>(y); }
extern "C" __global__ void wrong(int *y) { run<false>(y); }
