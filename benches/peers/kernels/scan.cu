// Inclusive sums over each 256 floats, by doubling distances.
const int SEGMENT = 256;

extern "C" __global__ void scan(const float *in, float *out, int n) {
    __shared__ float sums[SEGMENT];
    int t = threadIdx.x, i = blockIdx.x * SEGMENT + t;
    sums[t] = in[i];
    for (int distance = 1; distance < SEGMENT; distance *= 2) {
        __syncthreads();
        float before = t >= distance ? sums[t - distance] : 0.0f;
        __syncthreads();
        sums[t] += before;
    }
    out[i] = sums[t];
}
