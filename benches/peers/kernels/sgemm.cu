// C = A * B, all n x n, in tiles through shared memory; B comes behind A.
const int BLOCK = 16;

extern "C" __global__ void sgemm(const float *in, float *out, int n) {
    __shared__ float a[BLOCK][BLOCK], b[BLOCK][BLOCK];
    const float *left = in, *right = in + n * n;
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * BLOCK + y, column = blockIdx.x * BLOCK + x;
    float sum = 0;
    for (int k = 0; k < n; k += BLOCK) {
        a[y][x] = left[row * n + k + x];
        b[y][x] = right[(k + y) * n + column];
        __syncthreads();
        for (int i = 0; i < BLOCK; ++i) sum = fmaf(a[y][i], b[i][x], sum);
        __syncthreads();
    }
    out[row * n + column] = sum;
}
