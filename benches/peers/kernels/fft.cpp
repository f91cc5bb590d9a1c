// Complex Fourier transforms of 512 points, n points in all: Stockham's algorithm, radix 2, with a table of the roots of one.
#include <cmath>
#include <utility>

const int POINTS = 512, HALF = POINTS / 2;

extern "C" void fft(const float *in, float *out, int n) {
    float cosine[HALF], sine[HALF];
    for (int i = 0; i < HALF; ++i) {
        cosine[i] = std::cos(-M_PI / HALF * i);
        sine[i] = std::sin(-M_PI / HALF * i);
    }
#pragma omp parallel for
    for (int first = 0; first < n; first += POINTS) {
        float buffers[4][POINTS], *re = buffers[0], *im = buffers[1], *to_re = buffers[2], *to_im = buffers[3];
        for (int i = 0; i < POINTS; ++i) {
            re[i] = in[2 * (first + i)];
            im[i] = in[2 * (first + i) + 1];
        }
        for (int m = 1; m < POINTS; m *= 2) {
#pragma omp simd
            for (int t = 0; t < HALF; ++t) {
                int k = t & (m - 1), jm = t - k, place = k + 2 * jm;
                float ar = re[t], ai = im[t], br = re[t + HALF], bi = im[t + HALF];
                float c = cosine[jm], s = sine[jm], dr = ar - br, di = ai - bi;
                to_re[place] = ar + br;
                to_im[place] = ai + bi;
                to_re[place + m] = c * dr - s * di;
                to_im[place + m] = c * di + s * dr;
            }
            std::swap(re, to_re);
            std::swap(im, to_im);
        }
        for (int i = 0; i < POINTS; ++i) {
            out[2 * (first + i)] = re[i];
            out[2 * (first + i) + 1] = im[i];
        }
    }
}
