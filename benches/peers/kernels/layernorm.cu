// Layer norm of rows of 1,024, a block each: mean and variance by trees in shared memory.
const int COLUMNS = 1024, THREADS = 256, OWN = COLUMNS / THREADS;

// The sum of all threads' values.
__device__ float total(float *values, float value) {
    int t = threadIdx.x;
    values[t] = value;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) values[t] += values[t + half];
    }
    __syncthreads();
    float sum = values[0];
    __syncthreads();
    return sum;
}

extern "C" __global__ void layernorm(const float *in, float *out, int n) {
    __shared__ float values[THREADS];
    int t = threadIdx.x, row = blockIdx.x * COLUMNS;
    float own[OWN], sum = 0, squares = 0;
    for (int i = 0; i < OWN; ++i) {
        own[i] = in[row + i * THREADS + t];
        sum += own[i];
    }
    float mean = total(values, sum) / COLUMNS;
    for (int i = 0; i < OWN; ++i) {
        own[i] -= mean;
        squares = fmaf(own[i], own[i], squares);
    }
    float scale = rsqrtf(total(values, squares) / COLUMNS + 1e-5f);
    for (int i = 0; i < OWN; ++i) out[row + i * THREADS + t] = own[i] * scale;
}
