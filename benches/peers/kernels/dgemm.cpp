// C = A * B, all n x n; B comes behind A. Four rows of C at once, so that a row of B is loaded once for all of them.
#include <cmath>

const int ROWS = 4;

extern "C" void dgemm(const double *in, double *out, int n) {
    const double *left = in, *right = in + n * n;
#pragma omp parallel for
    for (int row = 0; row < n; row += ROWS)
        for (int k = 0; k < n; ++k) {
#pragma omp simd
            for (int column = 0; column < n; ++column)
                for (int r = row; r < row + ROWS; ++r)
                    out[r * n + column] = std::fma(left[r * n + k], right[k * n + column], out[r * n + column]);
        }
}
