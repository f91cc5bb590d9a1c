// A sum for each block: strided by threads, then a tree in shared memory.
const int SUMMED = 16384, THREADS = 256;

extern "C" __global__ void reduction(const float *in, float *out, int n) {
    __shared__ float sums[THREADS];
    int t = threadIdx.x;
    float sum = 0;
    for (int i = t; i < SUMMED; i += THREADS) sum += in[blockIdx.x * SUMMED + i];
    sums[t] = sum;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) sums[t] += sums[t + half];
    }
    if (t == 0) out[blockIdx.x] = sums[0];
}
