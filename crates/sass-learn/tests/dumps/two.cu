// What tests/dumps.rs foretells after learning from one.cu.

__constant__ float weights[16];

__global__ void norms(const float *v, float *norm, int n, float floor) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float total = 0;
#pragma unroll 1
    for (int k = 0; k < n; k++) {
        float x = v[row * n + k] - weights[k & 15];
        total += x * x;
    }
    for (int step = 8; step > 0; step /= 2) total += __shfl_down_sync(0xffffffff, total, step);
    if (total > floor) norm[row] = -total * 0.25f;
}

__global__ void mixed(const double *x, double *y, const int *which, int n) {
    __shared__ double tile[128];
    int i = blockIdx.x * 128 + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[which[i]] : -3.0;
    __syncthreads();
    if (i < n) y[i] = tile[127 - threadIdx.x] * 1.5 + tile[threadIdx.x];
}
