// Four ordinary kernels for `crates/ir/tests/ir/compilers.rs`. build.sh compiles them.

#ifdef __clang__
#include "../../clang/device.h"
__device__ inline float exp2f(float x) { return __nvvm_ex2_approx_f(x); }
__device__ inline float __shfl_sync(unsigned mask, float x, int from) { return __nvvm_shfl_sync_idx_f32(mask, x, from, 31); }
#endif

extern "C" __global__ void saxpy(int n, float a, const float *x, float *y)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = a * x[i] + y[i];
}

extern "C" __global__ void transpose(float *out, const float *in, int width, int height)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < width && y + j < height)
            tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < height && y + j < width)
            out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

// Tiles of 32 by 32 by 8, each thread one element; sizes are multiples of the tiles'.
extern "C" __global__ void sgemm(int n, int k, const float *a, const float *b, float *c)
{
    __shared__ float as[32][8], bs[8][32];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 32 + ty, column = blockIdx.x * 32 + tx;
    float sum = 0;
    for (int at = 0; at < k; at += 8) {
        if (tx < 8)
            as[ty][tx] = a[row * k + at + tx];
        if (ty < 8)
            bs[ty][tx] = b[(at + ty) * n + column];
        __syncthreads();
#pragma unroll 1
        for (int i = 0; i < 8; i++)
            sum += as[ty][i] * bs[i][tx];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

// A warp for each row.
extern "C" __global__ void softmax(const float *in, float *out, int columns)
{
    const float *row = in + (long)blockIdx.x * columns;
    float *to = out + (long)blockIdx.x * columns;
    float most = -1e30f, sum = 0;
    for (int i = threadIdx.x; i < columns; i += 32)
        most = fmaxf(most, row[i]);
    for (int step = 16; step > 0; step /= 2)
        most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, step));
    for (int i = threadIdx.x; i < columns; i += 32)
        sum += exp2f((row[i] - most) * 1.442695f);
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, step);
    sum = __shfl_sync(0xffffffff, sum, 0);
    for (int i = threadIdx.x; i < columns; i += 32)
        to[i] = exp2f((row[i] - most) * 1.442695f) / sum;
}
