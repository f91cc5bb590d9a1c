// 256 bins: atomics in local memory, then one for each bin and group in global memory.
#define BINS 256
#define COUNTED 4096

__kernel void histogram(__global const float *in, __global int *out, int n) {
    __local int bins[BINS];
    int t = get_local_id(0), begin = get_group_id(0) * COUNTED;
    bins[t] = 0;
    BARRIER;
    for (int i = begin + t; i < begin + COUNTED; i += BINS) atomic_inc(&bins[(int)(in[i] * BINS)]);
    BARRIER;
    atomic_add(&out[t], bins[t]);
}
