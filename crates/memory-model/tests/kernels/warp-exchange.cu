// Lanes of a warp exchange numbers in shared memory. `wrong` trusts that they run together.
template <bool MEET> __device__ void run(int *y) {
    __shared__ int x[2];
    x[threadIdx.x] = 1 + threadIdx.x;
    if (MEET) {
        __syncwarp(3);
    }
    y[threadIdx.x] = x[1 - threadIdx.x];
}

extern "C" __global__ void right(int *y) { run<true>(y); }
extern "C" __global__ void wrong(int *y) { run<false>(y); }
