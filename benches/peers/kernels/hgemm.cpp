// C = A * B^T, all n x n; A and B of halves, C of floats; B comes behind A. Products of rows, once they are floats.
#include <vector>

extern "C" void hgemm(const _Float16 *in, float *out, int n) {
    std::vector<float> floats(2 * n * n);
#pragma omp parallel for simd
    for (int i = 0; i < 2 * n * n; ++i) floats[i] = in[i];
    const float *left = floats.data(), *right = left + n * n;
#pragma omp parallel for
    for (int row = 0; row < n; ++row)
        for (int column = 0; column < n; ++column) {
            float sum = 0;
#pragma omp simd reduction(+ : sum)
            for (int k = 0; k < n; ++k) sum += left[row * n + k] * right[column * n + k];
            out[row * n + column] = sum;
        }
}
