// 5 x 5 weights over an image of (n + 4) x (n + 4), which comes behind them; tiles with their margins in local memory.
#define BLOCK 16
#define SIDE 5
#define TILE (BLOCK + SIDE - 1)

__kernel void convolution(__global const float *in, __global float *out, int n) {
    __local float tile[TILE][TILE], weights[SIDE * SIDE];
    __global const float *image = in + SIDE * SIDE;
    int x = get_local_id(0), y = get_local_id(1), t = y * BLOCK + x;
    int left = get_group_id(0) * BLOCK, top = get_group_id(1) * BLOCK;
    if (t < SIDE * SIDE) weights[t] = in[t];
    for (int i = t; i < TILE * TILE; i += BLOCK * BLOCK)
        tile[i / TILE][i % TILE] = image[(top + i / TILE) * (n + SIDE - 1) + left + i % TILE];
    BARRIER;
    float sum = 0;
    for (int dy = 0; dy < SIDE; ++dy)
        for (int dx = 0; dx < SIDE; ++dx) sum = fma(weights[dy * SIDE + dx], tile[y + dy][x + dx], sum);
    out[(top + y) * n + left + x] = sum;
}
