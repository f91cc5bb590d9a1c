// A sparse matrix in CSR times a vector: where rows begin, n integers, the vector, columns, values.
#include <cmath>

extern "C" void spmv(const int *in, float *out, int n) {
    const int *begin = in, *column = in + 3 * n + 1;
    const float *vector = (const float *)(in + 2 * n + 1), *value = (const float *)(column + begin[n]);
#pragma omp parallel for
    for (int row = 0; row < n; ++row) {
        float sum = 0;
        for (int i = begin[row]; i < begin[row + 1]; ++i) sum = std::fma(value[i], vector[column[i]], sum);
        out[row] = sum;
    }
}
