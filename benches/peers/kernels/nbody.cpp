// g++: -ffast-math
// Accelerations of n bodies (x, y, z, mass), which are first laid out as vectors want them.
#include <cmath>
#include <vector>

extern "C" void nbody(const float *in, float *out, int n) {
    std::vector<float> parts[4];
    for (int c = 0; c < 4; ++c) {
        parts[c].resize(n);
        for (int i = 0; i < n; ++i) parts[c][i] = in[4 * i + c];
    }
    const float *px = parts[0].data(), *py = parts[1].data(), *pz = parts[2].data(), *mass = parts[3].data();
#pragma omp parallel for
    for (int i = 0; i < n; ++i) {
        float x = px[i], y = py[i], z = pz[i], ax = 0, ay = 0, az = 0;
#pragma omp simd reduction(+ : ax, ay, az)
        for (int j = 0; j < n; ++j) {
            float dx = px[j] - x, dy = py[j] - y, dz = pz[j] - z;
            float inverse = 1 / std::sqrt(std::fma(dx, dx, std::fma(dy, dy, std::fma(dz, dz, 0.01f))));
            float pull = mass[j] * inverse * inverse * inverse;
            ax += dx * pull;
            ay += dy * pull;
            az += dz * pull;
        }
        out[3 * i] = ax;
        out[3 * i + 1] = ay;
        out[3 * i + 2] = az;
    }
}
