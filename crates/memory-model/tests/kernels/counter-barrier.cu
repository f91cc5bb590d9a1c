// A barrier of CTAs made of a counter. `wrong_fence` has no fence behind it, `wrong_count` waits for one too many.
template <bool FENCE, int EXTRA> __device__ void run(unsigned *count, int *x, int *y) {
    x[blockIdx.x] = 1 + blockIdx.x;
    __threadfence();
    atomicAdd(count, 1);
    while (*(volatile unsigned *)count < gridDim.x + EXTRA) {
    }
    if (FENCE) {
        __threadfence();
    }
    y[blockIdx.x] = x[1 - blockIdx.x];
}

extern "C" __global__ void right(unsigned *count, int *x, int *y) { run<true, 0>(count, x, y); }
extern "C" __global__ void wrong_fence(unsigned *count, int *x, int *y) { run<false, 0>(count, x, y); }
extern "C" __global__ void wrong_count(unsigned *count, int *x, int *y) { run<true, 1>(count, x, y); }
