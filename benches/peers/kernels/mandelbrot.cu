// n x n points, up to 256 rounds.
const int ROUNDS = 256;

extern "C" __global__ void mandelbrot(const float *, int *out, int n) {
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    float cx = px * (3.0f / n) - 2.0f, cy = py * (2.0f / n) - 1.0f, x = 0, y = 0;
    int round = 0;
    while (round < ROUNDS && x * x + y * y <= 4.0f) {
        float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
        ++round;
    }
    out[py * n + px] = round;
}
