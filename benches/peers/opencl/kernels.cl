// The kernels as OpenCL, by the same algorithms as in CUDA.

#include "sizes.h"

#pragma OPENCL FP_CONTRACT OFF

#define KERNEL __kernel void
#define TX ((int)get_local_id(0))
#define TY ((int)get_local_id(1))
#define BX ((int)get_group_id(0))
#define BY ((int)get_group_id(1))
#define NX ((int)get_local_size(0))
#define IN __global const float *in
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)

KERNEL saxpy(IN, __global float *out) {
    int i = BX * NX + TX;
    out[i] = fma(2.5f, in[i], in[FLOATS - 1 - i]);
}

KERNEL reduction(IN, __global float *out) {
    __local float sums[256];
    float sum = 0;
    for (int i = TX; i < SUMMED; i += 256) sum += in[BX * SUMMED + i];
    sums[TX] = sum;
    for (int half_way = 128; half_way > 0; half_way /= 2) {
        BARRIER;
        if (TX < half_way) sums[TX] += sums[TX + half_way];
    }
    if (TX == 0) out[BX] = sums[0];
}

KERNEL transpose(IN, __global float *out) {
    __local float tile[TILE][TILE + 1];
    tile[TY][TX] = in[(BY * TILE + TY) * SIDE + BX * TILE + TX];
    BARRIER;
    out[(BX * TILE + TY) * SIDE + BY * TILE + TX] = tile[TX][TY];
}

KERNEL stencil2d(IN, __global float *out) {
    int x = BX * BLOCK + TX, y = BY * BLOCK + TY, i = y * SIDE + x;
    if (x == 0 || y == 0 || x == SIDE - 1 || y == SIDE - 1) return;
    out[i] = 0.5f * in[i] + 0.125f * (in[i - 1] + in[i + 1] + in[i - SIDE] + in[i + SIDE]);
}

KERNEL sgemm(IN, __global float *out) {
    __local float a[BLOCK][BLOCK], b[BLOCK][BLOCK];
    __global const float *left = in, *right = in + MATRIX * MATRIX;
    int row = BY * BLOCK + TY, column = BX * BLOCK + TX;
    float sum = 0;
    for (int k = 0; k < MATRIX; k += BLOCK) {
        a[TY][TX] = left[row * MATRIX + k + TX];
        b[TY][TX] = right[(k + TY) * MATRIX + column];
        BARRIER;
        for (int i = 0; i < BLOCK; ++i) sum = fma(a[TY][i], b[i][TX], sum);
        BARRIER;
    }
    out[row * MATRIX + column] = sum;
}

KERNEL mandelbrot(IN, __global int *out) {
    int px = BX * BLOCK + TX, py = BY * BLOCK + TY;
    float cx = px * (3.0f / PIXELS) - 2.0f, cy = py * (2.0f / PIXELS) - 1.0f, x = 0, y = 0;
    int round_ = 0;
    while (round_ < ROUNDS && x * x + y * y <= 4.0f) {
        float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
        ++round_;
    }
    out[py * PIXELS + px] = round_;
}

KERNEL histogram(IN, __global int *out) {
    __local int bins[BINS];
    bins[TX] = 0;
    BARRIER;
    for (int i = BX * 4096 + TX; i < (BX + 1) * 4096; i += 256) atomic_add(&bins[(int)(in[i] * BINS)], 1);
    BARRIER;
    atomic_add(&out[TX], bins[TX]);
}

KERNEL scan(IN, __global float *out) {
    __local float sums[SEGMENT];
    int i = BX * SEGMENT + TX;
    sums[TX] = in[i];
    for (int distance_ = 1; distance_ < SEGMENT; distance_ *= 2) {
        BARRIER;
        float before = TX >= distance_ ? sums[TX - distance_] : 0.0f;
        BARRIER;
        sums[TX] += before;
    }
    out[i] = sums[TX];
}
