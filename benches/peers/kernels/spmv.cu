// A sparse matrix in CSR times a vector, a thread for each row: where rows begin, n integers, the vector, columns, values.
extern "C" __global__ void spmv(const int *in, float *out, int n) {
    const int *begin = in, *column = in + 3 * n + 1;
    const float *vector = (const float *)(in + 2 * n + 1), *value = (const float *)(column + begin[n]);
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int i = begin[row]; i < begin[row + 1]; ++i) sum = fmaf(value[i], vector[column[i]], sum);
    out[row] = sum;
}
