__device__ int weigh(int value, int factor) {
    int weighed = value * factor;
    return weighed;
}

__global__ void scale(int *out, const int *in, int factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = weigh(in[i], factor);
}

__global__ void sum(int *total, const int *in, int n) {
    __shared__ int part[64];
    int t = threadIdx.x;
    int mine = 0;
    for (int i = t; i <= n; i += blockDim.x)
        mine += in[i];
    part[t] = mine;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half)
            part[t] += part[t + half];
        __syncthreads();
    }
    if (t == 0)
        *total = part[0];
}
