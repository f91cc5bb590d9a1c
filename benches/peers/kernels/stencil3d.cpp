// Seven points of n x n x n.
extern "C" void stencil3d(const float *in, float *out, int n) {
    const int plane = n * n;
#pragma omp parallel for collapse(2)
    for (int z = 1; z < n - 1; ++z)
        for (int y = 1; y < n - 1; ++y)
#pragma omp simd
            for (int x = 1; x < n - 1; ++x) {
                int i = z * plane + y * n + x;
                float sides = in[i - 1] + in[i + 1] + in[i - n] + in[i + n];
                out[i] = 0.4f * in[i] + 0.1f * (sides + in[i - plane] + in[i + plane]);
            }
}
