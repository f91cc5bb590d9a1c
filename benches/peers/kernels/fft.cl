// Complex Fourier transforms of 512 points, n points in all: Stockham's algorithm, radix 2, in local memory; a butterfly a work-item
// and stage.
#define POINTS 512
#define THREADS (POINTS / 2)
#define PI 3.14159265f

__kernel void fft(__global const float *in, __global float *out, int n) {
    __local float re[2][POINTS], im[2][POINTS];
    int t = get_local_id(0), first = get_group_id(0) * POINTS, from = 0;
    for (int i = t; i < POINTS; i += THREADS) {
        re[0][i] = in[2 * (first + i)];
        im[0][i] = in[2 * (first + i) + 1];
    }
    for (int m = 1; m < POINTS; m *= 2) {
        BARRIER;
        int k = t & (m - 1), jm = t - k, to = 1 - from, place = k + 2 * jm;
        float ar = re[from][t], ai = im[from][t], br = re[from][t + THREADS], bi = im[from][t + THREADS];
        float angle = -PI / THREADS * jm, c = native_cos(angle), s = native_sin(angle), dr = ar - br, di = ai - bi;
        re[to][place] = ar + br;
        im[to][place] = ai + bi;
        re[to][place + m] = c * dr - s * di;
        im[to][place + m] = c * di + s * dr;
        from = to;
    }
    BARRIER;
    for (int i = t; i < POINTS; i += THREADS) {
        out[2 * (first + i)] = re[from][i];
        out[2 * (first + i) + 1] = im[from][i];
    }
}
