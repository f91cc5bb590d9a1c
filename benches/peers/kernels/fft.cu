// Complex Fourier transforms of 512 points, n points in all: Stockham's algorithm, radix 2, in shared memory; a butterfly a thread
// and stage.
const int POINTS = 512, THREADS = POINTS / 2;
const float PI = 3.14159265f;

extern "C" __global__ void fft(const float *in, float *out, int n) {
    __shared__ float re[2][POINTS], im[2][POINTS];
    int t = threadIdx.x, first = blockIdx.x * POINTS, from = 0;
    for (int i = t; i < POINTS; i += THREADS) {
        re[0][i] = in[2 * (first + i)];
        im[0][i] = in[2 * (first + i) + 1];
    }
    for (int m = 1; m < POINTS; m *= 2) {
        __syncthreads();
        int k = t & (m - 1), jm = t - k, to = 1 - from, place = k + 2 * jm;
        float ar = re[from][t], ai = im[from][t], br = re[from][t + THREADS], bi = im[from][t + THREADS];
        float angle = -PI / THREADS * jm, c = __cosf(angle), s = __sinf(angle), dr = ar - br, di = ai - bi;
        re[to][place] = ar + br;
        im[to][place] = ai + bi;
        re[to][place + m] = c * dr - s * di;
        im[to][place + m] = c * di + s * dr;
        from = to;
    }
    __syncthreads();
    for (int i = t; i < POINTS; i += THREADS) {
        out[2 * (first + i)] = re[from][i];
        out[2 * (first + i) + 1] = im[from][i];
    }
}
