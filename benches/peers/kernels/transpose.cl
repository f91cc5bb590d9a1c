// n x n, in tiles through local memory.
#define TILE 32

__kernel void transpose(__global const float *in, __global float *out, int n) {
    __local float tile[TILE][TILE + 1];
    int x = get_local_id(0), y = get_local_id(1), left = get_group_id(0) * TILE, top = get_group_id(1) * TILE;
    tile[y][x] = in[(top + y) * n + left + x];
    BARRIER;
    out[(left + y) * n + top + x] = tile[x][y];
}
