// c = a * b for row-major matrices: a has m rows of k, b has k rows of n, c has m rows of n. No size needs to be a
// multiple of anything. Both kernels want blocks of TILE x TILE threads, one for each element of a tile of c.
constexpr int TILE = 16;

// Reads everything from global memory: each element of a is fetched n times over, each of b m times.
extern "C" __global__ void matmul_naive(float *c, const float *a, const float *b, int m, int n, int k) {
    int column = blockIdx.x * TILE + threadIdx.x;
    int row = blockIdx.y * TILE + threadIdx.y;
    if (row >= m || column >= n) {
        return;
    }
    float sum = 0;
    for (int i = 0; i < k; i++) {
        sum = fmaf(a[row * k + i], b[i * n + column], sum);
    }
    c[row * n + column] = sum;
}

// The block walks along k one tile at a time. Its threads fetch a tile of a and a tile of b together, one element of
// each a thread, and then read each of them TILE times from shared memory.
extern "C" __global__ void matmul_tiled(float *c, const float *a, const float *b, int m, int n, int k) {
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int column = blockIdx.x * TILE + tx;
    int row = blockIdx.y * TILE + ty;

    float sum = 0;
    for (int start = 0; start < k; start += TILE) {
        // Elements beyond the edge count as zero. Every thread stays to the end, even one with no element of c:
        // the others wait for it at the barrier.
        tile_a[ty][tx] = row < m && start + tx < k ? a[row * k + start + tx] : 0;
        tile_b[ty][tx] = start + ty < k && column < n ? b[(start + ty) * n + column] : 0;
        __syncthreads();
        for (int i = 0; i < TILE; i++) {
            sum = fmaf(tile_a[ty][i], tile_b[i][tx], sum);
        }
        __syncthreads();
    }
    if (row < m && column < n) {
        c[row * n + column] = sum;
    }
}
