// A race: every thread adds to the same sum, and not atomically.
__device__ void add(int *total, int value) {
    *total += value;
}

__global__ void sum(int *total, const int *in) {
    int value = in[blockIdx.x * blockDim.x + threadIdx.x];
    if (threadIdx.x % 32 == 0)
        add(total, value);
}
