// n x n points, up to 256 rounds, LANES points at a time until all of them have left.
const int ROUNDS = 256, LANES = 32;

extern "C" void mandelbrot(const float *, int *out, int n) {
#pragma omp parallel for schedule(dynamic)
    for (int py = 0; py < n; ++py)
        for (int left = 0; left < n; left += LANES) {
            float cx[LANES], cy = py * (2.0f / n) - 1.0f, x[LANES] = {}, y[LANES] = {};
            int rounds[LANES] = {};
            for (int l = 0; l < LANES; ++l) cx[l] = (left + l) * (3.0f / n) - 2.0f;
            for (int round = 0, inside = 1; round < ROUNDS && inside; ++round) {
                inside = 0;
#pragma omp simd reduction(| : inside)
                for (int l = 0; l < LANES; ++l) {
                    int stays = x[l] * x[l] + y[l] * y[l] <= 4.0f;
                    float next = x[l] * x[l] - y[l] * y[l] + cx[l];
                    y[l] = stays ? 2.0f * x[l] * y[l] + cy : y[l];
                    x[l] = stays ? next : x[l];
                    rounds[l] += stays;
                    inside |= stays;
                }
            }
            for (int l = 0; l < LANES; ++l) out[py * n + left + l] = rounds[l];
        }
}
