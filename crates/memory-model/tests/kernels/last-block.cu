// A sum of which each CTA stores a part; the last one adds them and resets the counter. `wrong` has no fence between the
// part and the counter.
template <bool FENCE> __device__ void run(unsigned *count, int *parts, int *sum) {
    parts[blockIdx.x] = 1 + blockIdx.x;
    if (FENCE) {
        __threadfence();
    }
    unsigned before = atomicInc(count, gridDim.x - 1);
    if (before == gridDim.x - 1) {
        if (FENCE) {
            __threadfence();
        }
        int all = 0;
        for (int i = 0; i < gridDim.x; i++) {
            all += parts[i];
        }
        *sum = all;
    }
}

extern "C" __global__ void right(unsigned *count, int *parts, int *sum) { run<true>(count, parts, sum); }
extern "C" __global__ void wrong(unsigned *count, int *parts, int *sum) { run<false>(count, parts, sum); }
