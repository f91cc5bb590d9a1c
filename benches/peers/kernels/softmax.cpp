// g++: -ffast-math
// Softmax of rows of 1,024.
#include <algorithm>
#include <cmath>

const int COLUMNS = 1024;

extern "C" void softmax(const float *in, float *out, int n) {
#pragma omp parallel for
    for (int row = 0; row < n; ++row) {
        const float *x = in + row * COLUMNS;
        float *y = out + row * COLUMNS, most = x[0], sum = 0;
#pragma omp simd reduction(max : most)
        for (int i = 0; i < COLUMNS; ++i) most = std::max(most, x[i]);
#pragma omp simd reduction(+ : sum)
        for (int i = 0; i < COLUMNS; ++i) {
            y[i] = std::exp(x[i] - most);
            sum += y[i];
        }
        float scale = 1.0f / sum;
#pragma omp simd
        for (int i = 0; i < COLUMNS; ++i) y[i] *= scale;
    }
}
