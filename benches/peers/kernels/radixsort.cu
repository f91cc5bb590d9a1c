// A step of a radix sort: each 256 keys are sorted, stably, by their lowest 8 bits: split by a bit at a time, where a scan
// says how many zeros stand before.
const int TILE = 256, BITS = 8;

extern "C" __global__ void radixsort(const unsigned *in, unsigned *out, int n) {
    __shared__ unsigned keys[TILE];
    __shared__ int zeros[TILE];
    int t = threadIdx.x, i = blockIdx.x * TILE + t;
    unsigned key = in[i];
    for (int bit = 0; bit < BITS; ++bit) {
        int zero = ~key >> bit & 1;
        zeros[t] = zero;
        for (int distance = 1; distance < TILE; distance *= 2) {
            __syncthreads();
            int before = t >= distance ? zeros[t - distance] : 0;
            __syncthreads();
            zeros[t] += before;
        }
        __syncthreads();
        int place = zero ? zeros[t] - 1 : zeros[TILE - 1] + t - zeros[t];
        keys[place] = key;
        __syncthreads();
        key = keys[t];
    }
    out[i] = key;
}
