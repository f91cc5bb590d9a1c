// C = A * B, all n x n, in tiles through local memory; B comes behind A.
#define BLOCK 16

__kernel void sgemm(__global const float *in, __global float *out, int n) {
    __local float a[BLOCK][BLOCK], b[BLOCK][BLOCK];
    __global const float *left = in, *right = in + n * n;
    int x = get_local_id(0), y = get_local_id(1), row = get_global_id(1), column = get_global_id(0);
    float sum = 0;
    for (int k = 0; k < n; k += BLOCK) {
        a[y][x] = left[row * n + k + x];
        b[y][x] = right[(k + y) * n + column];
        BARRIER;
        for (int i = 0; i < BLOCK; ++i) sum = fma(a[y][i], b[i][x], sum);
        BARRIER;
    }
    out[row * n + column] = sum;
}
