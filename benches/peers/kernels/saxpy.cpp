// x and y are the halves of the input.
#include <cmath>

extern "C" void saxpy(const float *in, float *out, int n) {
#pragma omp parallel for simd
    for (int i = 0; i < n; ++i) out[i] = std::fma(2.5f, in[i], in[n + i]);
}
