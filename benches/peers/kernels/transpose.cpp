// n x n, in tiles that stay in the cache.
const int TILE = 32;

extern "C" void transpose(const float *in, float *out, int n) {
#pragma omp parallel for collapse(2)
    for (int top = 0; top < n; top += TILE)
        for (int left = 0; left < n; left += TILE)
            for (int y = 0; y < TILE; ++y)
#pragma omp simd
                for (int x = 0; x < TILE; ++x) out[(left + y) * n + top + x] = in[(top + x) * n + left + y];
}
