// 5 x 5 weights over an image of (n + 4) x (n + 4), which comes behind them; tiles with their margins in shared memory.
const int BLOCK = 16, SIDE = 5, TILE = BLOCK + SIDE - 1;

extern "C" __global__ void convolution(const float *in, float *out, int n) {
    __shared__ float tile[TILE][TILE], weights[SIDE * SIDE];
    const float *image = in + SIDE * SIDE;
    int x = threadIdx.x, y = threadIdx.y, t = y * BLOCK + x, left = blockIdx.x * BLOCK, top = blockIdx.y * BLOCK;
    if (t < SIDE * SIDE) weights[t] = in[t];
    for (int i = t; i < TILE * TILE; i += BLOCK * BLOCK)
        tile[i / TILE][i % TILE] = image[(top + i / TILE) * (n + SIDE - 1) + left + i % TILE];
    __syncthreads();
    float sum = 0;
    for (int dy = 0; dy < SIDE; ++dy)
        for (int dx = 0; dx < SIDE; ++dx) sum = fmaf(weights[dy * SIDE + dx], tile[y + dy][x + dx], sum);
    out[(top + y) * n + left + x] = sum;
}
