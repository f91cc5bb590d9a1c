// Kernels as programs have them, for both engines: `nvcc -arch=sm_90 -O3 --ptx ordinary.cu`.
#include <cuda_fp16.h>

extern "C" __global__ void black_scholes(float *call, float *put, const float *stock, const float *strike, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float rate = 0.02f, volatility = 0.3f, years = 1.0f;
    float s = stock[i], x = strike[i];
    float root = sqrtf(years);
    float d1 = (__logf(s / x) + (rate + 0.5f * volatility * volatility) * years) / (volatility * root);
    float d2 = d1 - volatility * root;
    auto normal = [](float d) {
        float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
        float sum = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
        float c = 0.39894228f * __expf(-0.5f * d * d) * sum;
        return d > 0 ? 1.0f - c : c;
    };
    float n1 = normal(d1), n2 = normal(d2), discounted = x * __expf(-rate * years);
    call[i] = s * n1 - discounted * n2;
    put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
}

extern "C" __global__ void nbody(float4 *force, const float4 *body, int n) {
    __shared__ float4 tile[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = body[i];
    float3 sum = {0, 0, 0};
    for (int base = 0; base < n; base += blockDim.x) {
        tile[threadIdx.x] = body[base + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < blockDim.x; ++j) {
            float4 o = tile[j];
            float dx = o.x - me.x, dy = o.y - me.y, dz = o.z - me.z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float by = o.w * inverse * inverse * inverse;
            sum.x += dx * by;
            sum.y += dy * by;
            sum.z += dz * by;
        }
        __syncthreads();
    }
    force[i] = make_float4(sum.x, sum.y, sum.z, 0);
}

__device__ float block_reduce(float value, float *of_warps, bool maximum) {
    for (int by = 16; by > 0; by >>= 1) {
        float other = __shfl_xor_sync(0xffffffff, value, by);
        value = maximum ? fmaxf(value, other) : value + other;
    }
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x < 32) {
        value = threadIdx.x < blockDim.x / 32 ? of_warps[threadIdx.x] : (maximum ? -INFINITY : 0.0f);
        for (int by = 16; by > 0; by >>= 1) {
            float other = __shfl_xor_sync(0xffffffff, value, by);
            value = maximum ? fmaxf(value, other) : value + other;
        }
        if (threadIdx.x == 0) of_warps[0] = value;
    }
    __syncthreads();
    value = of_warps[0];
    __syncthreads();
    return value;
}

extern "C" __global__ void softmax(float *out, const float *in, int columns) {
    __shared__ float of_warps[32];
    const float *row = in + blockIdx.x * columns;
    float most = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) most = fmaxf(most, row[i]);
    most = block_reduce(most, of_warps, true);
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += __expf(row[i] - most);
    sum = block_reduce(sum, of_warps, false);
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        out[blockIdx.x * columns + i] = __expf(row[i] - most) / sum;
}

extern "C" __global__ void histogram(unsigned *counts, const unsigned *values, int n) {
    __shared__ unsigned bins[256];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[values[i] >> 12 & 255], 1u);
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], bins[threadIdx.x]);
}

extern "C" __global__ void gather(float *out, const float *in, const unsigned *index, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * in[index[i] % n];
}

extern "C" __global__ void transpose(float *out, const float *in, int n) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[x * n + y + j] = in[(y + j) * n + x];
}

extern "C" __global__ void halves(__half2 *out, const __half2 *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half2 x = in[i], y = x;
    for (int j = 0; j < 16; ++j) y = __hfma2(y, x, __hadd2(x, __float2half2_rn(0.5f)));
    out[i] = y;
}

extern "C" __global__ void array(float *out, const float *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float own[16];
    for (int j = 0; j < 16; ++j) own[j] = in[(i + j * 17) % n];
    for (int j = 0; j < 16; ++j) {
        int at = (int)own[j] & 15;
        float swapped = own[at];
        own[at] = own[j];
        own[j] = swapped;
    }
    float sum = 0;
    for (int j = 0; j < 16; ++j) sum = sum * 0.5f + own[j];
    out[i] = sum;
}
