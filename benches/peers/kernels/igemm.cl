// C = A * B^T, all n x n; A and B of 8-bit integers, C of 32-bit ones; B comes behind A.
#define BLOCK 16

__kernel void igemm(__global const char4 *in, __global int *out, int n) {
    __local char4 a[BLOCK][BLOCK], b[BLOCK][BLOCK + 1];
    int words = n / 4;
    __global const char4 *left = in, *right = in + n * words;
    int x = get_local_id(0), y = get_local_id(1), row = get_group_id(1) * BLOCK, column = get_group_id(0) * BLOCK;
    int sum = 0;
    for (int k = 0; k < words; k += BLOCK) {
        a[y][x] = left[(row + y) * words + k + x];
        b[x][y] = right[(column + y) * words + k + x];
        BARRIER;
        for (int i = 0; i < BLOCK; ++i) {
            int4 products = convert_int4(a[y][i]) * convert_int4(b[i][x]);
            sum += products.x + products.y + products.z + products.w;
        }
        BARRIER;
    }
    out[(row + y) * n + column + x] = sum;
}
