// C = A * B^T, all n x n; A and B of 8-bit integers, C of 32-bit ones; B comes behind A.
#include <cstdint>

extern "C" void igemm(const int8_t *in, int *out, int n) {
    const int8_t *left = in, *right = in + n * n;
#pragma omp parallel for
    for (int row = 0; row < n; ++row)
        for (int column = 0; column < n; ++column) {
            int sum = 0;
#pragma omp simd reduction(+ : sum)
            for (int k = 0; k < n; ++k) sum += left[row * n + k] * right[column * n + k];
            out[row * n + column] = sum;
        }
}
