// Templates, functors, lambdas; what functions are, and how many blocks fit.
#include "check.h"

template <typename T, int N> __global__ void __launch_bounds__(256) power(T *values) {
    __shared__ T copies[256];
    int i = threadIdx.x;
    copies[i] = values[i];
    __syncthreads();
    T result = 1;
    for (int n = 0; n < N; n++) result *= copies[i];
    values[i] = result;
}

template <typename F> __global__ void apply(int *values, F f) { values[threadIdx.x] = f(values[threadIdx.x]); }

struct Affine {
    int factor, term;
    __device__ int operator()(int x) const { return factor * x + term; }
};

extern __shared__ int dynamic[];
__global__ void reverse(int *values, int count) {
    int i = threadIdx.x;
    dynamic[i] = values[i];
    __syncthreads();
    values[i] = dynamic[count - 1 - i];
}

template <typename T, int N> void check(T base) {
    T *values, host[256];
    for (int i = 0; i < 256; i++) host[i] = base + (i % 4);
    CALL(cudaMalloc(&values, sizeof host));
    CALL(cudaMemcpy(values, host, sizeof host, cudaMemcpyHostToDevice));
    power<T, N><<<1, 256>>>(values);
    T got[256];
    CALL(cudaMemcpy(got, values, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 256; i++) {
        T expected = 1;
        for (int n = 0; n < N; n++) expected *= host[i];
        CLAIM(got[i] == expected);
    }
    CALL(cudaFree(values));
}

int main() {
    check<int, 3>(2);
    check<double, 2>(0.5);
    check<long long, 5>(3);

    int *values, host[64];
    CALL(cudaMallocManaged(&values, sizeof host));
    for (int i = 0; i < 64; i++) values[i] = i;
    apply<<<1, 64>>>(values, Affine{3, 1});
    reverse<<<1, 64, 64 * sizeof(int)>>>(values, 64);
    CALL(cudaDeviceSynchronize());
    for (int i = 0; i < 64; i++) CLAIM(values[i] == 3 * (63 - i) + 1);

    cudaFuncAttributes attributes;
    CALL(cudaFuncGetAttributes(&attributes, power<int, 3>));
    CLAIM(attributes.sharedSizeBytes == 1024 && attributes.maxThreadsPerBlock == 256);
    CLAIM(attributes.numRegs > 0 && attributes.ptxVersion == 90);
    CALL(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10));
    CALL(cudaFuncGetAttributes(&attributes, reverse));
    CLAIM(attributes.maxDynamicSharedSizeBytes == 100 << 10);
    int blocks, size, grid;
    CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, power<int, 3>, 256, 0));
    CLAIM(blocks == 8);
    CALL(cudaOccupancyMaxPotentialBlockSize(&grid, &size, power<int, 3>));
    CLAIM(size == 256 && grid == 8 * 132);
    const char *name;
    CALL(cudaFuncGetName(&name, reinterpret_cast<const void *>(reverse)));
    printf("%s\n", name);

    cudaLaunchConfig_t config = {};
    config.gridDim = 1, config.blockDim = 64;
    CALL(cudaLaunchKernelEx(&config, apply<Affine>, values, Affine{0, 7}));
    CALL(cudaDeviceSynchronize());
    CLAIM(values[63] == 7);
    printf("templates: passed\n");
}
