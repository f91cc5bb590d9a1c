// A quarter of pi: of 256 random points a work-item those within the circle. xorshift32, seeded by the input.
#define SAMPLES 256

float random(uint *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return (*state >> 8) * (1.0f / (1 << 24));
}

__kernel void montecarlo(__global const uint *in, __global int *out, int n) {
    int i = get_global_id(0), within = 0;
    uint state = in[i] | 1;
    for (int sample = 0; sample < SAMPLES; ++sample) {
        float x = random(&state), y = random(&state);
        within += x * x + y * y <= 1.0f;
    }
    out[i] = within;
}
