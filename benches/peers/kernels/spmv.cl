// A sparse matrix in CSR times a vector, a work-item for each row: where rows begin, n integers, the vector, columns, values.
__kernel void spmv(__global const int *in, __global float *out, int n) {
    __global const int *begin = in, *column = in + 3 * n + 1;
    __global const float *vector = (__global const float *)(in + 2 * n + 1);
    __global const float *value = (__global const float *)(column + begin[n]);
    int row = get_global_id(0);
    float sum = 0;
    for (int i = begin[row]; i < begin[row + 1]; ++i) sum = fma(value[i], vector[column[i]], sum);
    out[row] = sum;
}
