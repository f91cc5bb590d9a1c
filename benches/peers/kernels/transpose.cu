// n x n, in tiles through shared memory, whose rows are padded against bank conflicts.
const int TILE = 32;

extern "C" __global__ void transpose(const float *in, float *out, int n) {
    __shared__ float tile[TILE][TILE + 1];
    int x = threadIdx.x, y = threadIdx.y, left = blockIdx.x * TILE, top = blockIdx.y * TILE;
    tile[y][x] = in[(top + y) * n + left + x];
    __syncthreads();
    out[(left + y) * n + top + x] = tile[x][y];
}
