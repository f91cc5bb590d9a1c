// x and y are the halves of the input.
__kernel void saxpy(__global const float *in, __global float *out, int n) {
    int i = get_global_id(0);
    out[i] = fma(2.5f, in[i], in[n + i]);
}
