const int SUMMED = 16384;

extern "C" void reduction(const float *in, float *out, int n) {
#pragma omp parallel for
    for (int s = 0; s < n / SUMMED; ++s) {
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int i = 0; i < SUMMED; ++i) sum += in[s * SUMMED + i];
        out[s] = sum;
    }
}
