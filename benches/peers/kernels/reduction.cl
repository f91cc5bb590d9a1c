// A sum for each group: strided by work-items, then a tree in local memory.
#define SUMMED 16384
#define THREADS 256

__kernel void reduction(__global const float *in, __global float *out, int n) {
    __local float sums[THREADS];
    int t = get_local_id(0), b = get_group_id(0);
    float sum = 0;
    for (int i = t; i < SUMMED; i += THREADS) sum += in[b * SUMMED + i];
    sums[t] = sum;
    for (int middle = THREADS / 2; middle > 0; middle /= 2) {
        BARRIER;
        if (t < middle) sums[t] += sums[t + middle];
    }
    if (t == 0) out[b] = sums[0];
}
