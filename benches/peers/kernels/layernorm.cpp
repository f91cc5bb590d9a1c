// Layer norm of rows of 1,024.
#include <cmath>

const int COLUMNS = 1024;

extern "C" void layernorm(const float *in, float *out, int n) {
#pragma omp parallel for
    for (int row = 0; row < n; ++row) {
        const float *x = in + row * COLUMNS;
        float *y = out + row * COLUMNS, sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
        for (int i = 0; i < COLUMNS; ++i) sum += x[i];
        float mean = sum / COLUMNS;
#pragma omp simd reduction(+ : squares)
        for (int i = 0; i < COLUMNS; ++i) {
            y[i] = x[i] - mean;
            squares += y[i] * y[i];
        }
        float scale = 1.0f / std::sqrt(squares / COLUMNS + 1e-5f);
#pragma omp simd
        for (int i = 0; i < COLUMNS; ++i) y[i] *= scale;
    }
}
