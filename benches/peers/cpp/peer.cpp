// The kernels as plain C++ with OpenMP: what a careful programmer writes for a processor, by the same algorithms where that means
// something there. g++ -O3 -march=native -fopenmp -ffp-contract=off.

#include <cmath>
#include "../protocol.h"

static void saxpy(const float *in, float *out) {
#pragma omp parallel for simd
    for (int i = 0; i < FLOATS; ++i) out[i] = std::fma(2.5f, in[i], in[FLOATS - 1 - i]);
}

static void reduction(const float *in, float *out) {
#pragma omp parallel for
    for (int s = 0; s < SUMS; ++s) {
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int i = 0; i < SUMMED; ++i) sum += in[s * SUMMED + i];
        out[s] = sum;
    }
}

static void transpose(const float *in, float *out) {
#pragma omp parallel for collapse(2)
    for (int by = 0; by < SIDE; by += TILE)
        for (int bx = 0; bx < SIDE; bx += TILE)
            for (int y = 0; y < TILE; ++y)
#pragma omp simd
                for (int x = 0; x < TILE; ++x) out[(bx + y) * SIDE + by + x] = in[(by + x) * SIDE + bx + y];
}

static void stencil2d(const float *in, float *out) {
#pragma omp parallel for
    for (int y = 1; y < SIDE - 1; ++y)
#pragma omp simd
        for (int x = 1; x < SIDE - 1; ++x) {
            int i = y * SIDE + x;
            out[i] = 0.5f * in[i] + 0.125f * (in[i - 1] + in[i + 1] + in[i - SIDE] + in[i + SIDE]);
        }
}

static void sgemm(const float *in, float *out) {
    const float *left = in, *right = in + MATRIX * MATRIX;
#pragma omp parallel for
    for (int row = 0; row < MATRIX; ++row)
        for (int k = 0; k < MATRIX; ++k) {
            float a = left[row * MATRIX + k];
#pragma omp simd
            for (int column = 0; column < MATRIX; ++column)
                out[row * MATRIX + column] = std::fma(a, right[k * MATRIX + column], out[row * MATRIX + column]);
        }
}

static void mandelbrot(const float *, float *output) {
    int *out = reinterpret_cast<int *>(output);
#pragma omp parallel for schedule(dynamic)
    for (int py = 0; py < PIXELS; ++py)
        for (int px = 0; px < PIXELS; ++px) {
            float cx = px * (3.0f / PIXELS) - 2.0f, cy = py * (2.0f / PIXELS) - 1.0f, x = 0, y = 0;
            int round = 0;
            while (round < ROUNDS && x * x + y * y <= 4.0f) {
                float next = x * x - y * y + cx;
                y = 2.0f * x * y + cy;
                x = next;
                ++round;
            }
            out[py * PIXELS + px] = round;
        }
}

static void histogram(const float *in, float *output) {
    int *out = reinterpret_cast<int *>(output);
#pragma omp parallel for reduction(+ : out[ : BINS])
    for (int i = 0; i < FLOATS; ++i) ++out[(int)(in[i] * BINS)];
}

static void scan(const float *in, float *out) {
#pragma omp parallel for
    for (int s = 0; s < FLOATS; s += SEGMENT) {
        float sum = 0;
        for (int i = s; i < s + SEGMENT; ++i) out[i] = sum += in[i];
    }
}

static const struct {
    const char *name;
    void (*run)(const float *, float *);
} KERNELS[] = {
    {"saxpy", saxpy}, {"reduction", reduction}, {"transpose", transpose}, {"stencil2d", stencil2d},
    {"sgemm", sgemm}, {"mandelbrot", mandelbrot}, {"histogram", histogram}, {"scan", scan},
};

int main(int count, char **arguments) {
    if (count != 2) return 2;
    const float *in = (const float *)whole(arguments[1], FLOATS * sizeof(float));
    float *out = (float *)aligned_alloc(4096, OUTPUT);
    Request request;
    while (next(&request)) {
        if (!request.name[0]) {
            save(request.file, out, request.bytes);
            answer(0);
            continue;
        }
        for (auto &kernel : KERNELS)
            if (!strcmp(kernel.name, request.name)) {
                memset(out, 0, request.bytes);
                long long begin = now();
                kernel.run(in, out);
                answer(now() - begin);
            }
    }
}
