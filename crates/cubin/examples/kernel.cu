// What load.c runs: parameters, constants, initialised memory, shared memory with a barrier, local memory, a call.
__constant__ int table[4] = {1, 2, 3, 4};
__device__ int global[4] = {10, 20, 30, 40};

__device__ __noinline__ int scaled(int *a, int n) {
    for (int i = 0; i < 8; i++) a[i] = i * n * 100000;
    return a[0];
}

extern "C" __global__ void __launch_bounds__(64) k(int *out, int n) {
    __shared__ int shared[64];
    int local[8], i = threadIdx.x;
    int zero = scaled(local, n);
    shared[i] = i * 1000;
    __syncthreads();
    out[blockIdx.x * 64 + i] =
        table[i & 3] + global[i & 3] + shared[63 - i] + local[(i + n) & 7] + blockIdx.x * 10000000 + zero;
}
