// 256 bins, of their own in each thread until the end.
const int BINS = 256;

extern "C" void histogram(const float *in, int *out, int n) {
#pragma omp parallel for reduction(+ : out[ : BINS])
    for (int i = 0; i < n; ++i) ++out[(int)(in[i] * BINS)];
}
