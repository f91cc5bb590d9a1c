// Inclusive sums over each 256 floats, by doubling distances.
#define SEGMENT 256

__kernel void scan(__global const float *in, __global float *out, int n) {
    __local float sums[SEGMENT];
    int t = get_local_id(0), i = get_global_id(0);
    sums[t] = in[i];
    for (int reach = 1; reach < SEGMENT; reach *= 2) {
        BARRIER;
        float before = t >= reach ? sums[t - reach] : 0.0f;
        BARRIER;
        sums[t] += before;
    }
    out[i] = sums[t];
}
