__kernel void copy(__global const float *in, __global float *out, int n) {
    int i = get_global_id(0);
    out[i] = in[i];
}
