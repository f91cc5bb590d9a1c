#include <cstring>

extern "C" void copy(const float *in, float *out, int n) {
    const int part = 1 << 16;
#pragma omp parallel for
    for (int i = 0; i < n; i += part) std::memcpy(out + i, in + i, part * sizeof(float));
}
