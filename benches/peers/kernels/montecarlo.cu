// A quarter of pi: of 256 random points a thread those within the circle. xorshift32, seeded by the input.
const int SAMPLES = 256;

__device__ float random(unsigned &state) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return (state >> 8) * (1.0f / (1 << 24));
}

extern "C" __global__ void montecarlo(const unsigned *in, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, within = 0;
    unsigned state = in[i] | 1;
    for (int sample = 0; sample < SAMPLES; ++sample) {
        float x = random(state), y = random(state);
        within += x * x + y * y <= 1.0f;
    }
    out[i] = within;
}
