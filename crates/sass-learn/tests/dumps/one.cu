// What tests/dumps.rs learns from. The listings beside it are of this file and of two.cu: see README.md.

__constant__ float coefficients[8];

__global__ void sums(const float *a, const float *b, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
#pragma unroll 1
    for (int k = i; k < n; k += gridDim.x * blockDim.x) {
        sum += a[k] * b[k] + coefficients[k & 7];
        if (sum > 100.0f) sum -= fabsf(b[k]) * 0.5f;
    }
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
    if ((threadIdx.x & 31) == 0) atomicAdd(out, sum);
}

__global__ void doubles(const double *x, double *y, int n) {
    __shared__ double tile[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] : 1.0;
    __syncthreads();
    double v = tile[63 - threadIdx.x];
    if (i < n) y[i] = v * 2.5 + tile[threadIdx.x] - 0.75;
}

__global__ void integers(const int *x, unsigned long long *y, unsigned mask, int shift) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = x[i];
    unsigned long long w = (unsigned long long)v * 12345u + ((unsigned long long)mask << shift);
    w ^= __popc(v & mask) + __clz(v) - min(v, 17) + max(v, -9);
    if (v < 0 && (v & 3) != 1) w -= v >> 2;
    y[i] = w;
}
