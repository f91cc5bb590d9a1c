// 5 x 5 weights over an image of (n + 4) x (n + 4), which comes behind them.
#include <cmath>

const int SIDE = 5;

extern "C" void convolution(const float *in, float *out, int n) {
    const float *image = in + SIDE * SIDE;
#pragma omp parallel for
    for (int y = 0; y < n; ++y)
#pragma omp simd
        for (int x = 0; x < n; ++x) {
            float sum = 0;
            for (int dy = 0; dy < SIDE; ++dy)
                for (int dx = 0; dx < SIDE; ++dx)
                    sum = std::fma(in[dy * SIDE + dx], image[(y + dy) * (n + SIDE - 1) + x + dx], sum);
            out[y * n + x] = sum;
        }
}
