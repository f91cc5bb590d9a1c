// n x n points, up to 256 rounds.
#define ROUNDS 256

__kernel void mandelbrot(__global const float *in, __global int *out, int n) {
    int px = get_global_id(0), py = get_global_id(1);
    float cx = px * (3.0f / n) - 2.0f, cy = py * (2.0f / n) - 1.0f, x = 0, y = 0;
    int rounds = 0;
    while (rounds < ROUNDS && x * x + y * y <= 4.0f) {
        float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
        ++rounds;
    }
    out[py * n + px] = rounds;
}
