// From n random places of n.
__kernel void gather(__global const uint *in, __global uint *out, int n) {
    int i = get_global_id(0);
    out[i] = in[in[i] & (n - 1)];
}
