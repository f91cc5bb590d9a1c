// Inclusive sums over each 256 floats. One after the other: a processor gains nothing from doubling distances.
const int SEGMENT = 256;

extern "C" void scan(const float *in, float *out, int n) {
#pragma omp parallel for
    for (int s = 0; s < n; s += SEGMENT) {
        float sum = 0;
        for (int i = s; i < s + SEGMENT; ++i) out[i] = sum += in[i];
    }
}
