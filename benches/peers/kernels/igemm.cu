// C = A * B^T, all n x n; A and B of 8-bit integers, C of 32-bit ones; B comes behind A. Four products at once, by dp4a.
const int BLOCK = 16;

extern "C" __global__ void igemm(const int *in, int *out, int n) {
    __shared__ int a[BLOCK][BLOCK], b[BLOCK][BLOCK + 1];
    int words = n / 4;
    const int *left = in, *right = in + n * words;
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * BLOCK, column = blockIdx.x * BLOCK;
    int sum = 0;
    for (int k = 0; k < words; k += BLOCK) {
        a[y][x] = left[(row + y) * words + k + x];
        b[x][y] = right[(column + y) * words + k + x];
        __syncthreads();
        for (int i = 0; i < BLOCK; ++i) sum = __dp4a(a[y][i], b[i][x], sum);
        __syncthreads();
    }
    out[(row + y) * n + column + x] = sum;
}
