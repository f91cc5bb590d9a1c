// C = A * B^T, all n x n; A and B of halves, C of floats; B comes behind A. OpenCL has no tensor cores: 32 x 32 halves of A and of B
// are made floats in local memory, where each of 128 work-items computes eight elements of 32 x 32.
#define TILE 32

__kernel void hgemm(__global const half *in, __global float *out, int n) {
    __local float a[TILE][TILE], b[TILE][TILE + 1];
    int x = get_local_id(0) % TILE, y = get_local_id(0) / TILE, column = get_group_id(0) * TILE, row = get_group_id(1) * TILE;
    float sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (int k = 0; k < n; k += TILE) {
        for (int r = y; r < TILE; r += 4) {
            a[r][x] = vload_half((row + r) * n + k + x, in);
            b[x][r] = vload_half((n + column + r) * n + k + x, in);
        }
        BARRIER;
        for (int i = 0; i < TILE; ++i)
            for (int r = 0; r < 8; ++r) sums[r] = fma(a[y + r * 4][i], b[i][x], sums[r]);
        BARRIER;
    }
    for (int r = 0; r < 8; ++r) out[(row + y + r * 4) * n + column + x] = sums[r];
}
