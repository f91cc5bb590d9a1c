// A quarter of pi: of 256 random points an element those within the circle; LANES elements at a time. xorshift32, seeded by
// the input.
const int SAMPLES = 256, LANES = 64;

static inline float random(unsigned &state) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return (int)(state >> 8) * (1.0f / (1 << 24));
}

extern "C" void montecarlo(const unsigned *in, int *out, int n) {
#pragma omp parallel for
    for (int first = 0; first < n; first += LANES) {
        unsigned state[LANES];
        int within[LANES] = {};
        for (int l = 0; l < LANES; ++l) state[l] = in[first + l] | 1;
        for (int sample = 0; sample < SAMPLES; ++sample)
#pragma omp simd
            for (int l = 0; l < LANES; ++l) {
                float x = random(state[l]), y = random(state[l]);
                within[l] += x * x + y * y <= 1.0f;
            }
        for (int l = 0; l < LANES; ++l) out[first + l] = within[l];
    }
}
