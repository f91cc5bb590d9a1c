// The kernels as CUDA. `kernels.ptx` is what clang makes of them:
// clang-22 -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 --cuda-feature=+ptx80 -nocudalib -nocudainc -O2
// -ffp-contract=off -S kernels.cu.

#include "../sizes.h"

#define KERNEL extern "C" __attribute__((global)) void
#define SHARED __attribute__((shared)) static

#define TX ((int)__nvvm_read_ptx_sreg_tid_x())
#define TY ((int)__nvvm_read_ptx_sreg_tid_y())
#define BX ((int)__nvvm_read_ptx_sreg_ctaid_x())
#define BY ((int)__nvvm_read_ptx_sreg_ctaid_y())
#define NX ((int)__nvvm_read_ptx_sreg_ntid_x())

KERNEL saxpy(const float *in, float *out) {
    int i = BX * NX + TX;
    out[i] = __builtin_fmaf(2.5f, in[i], in[FLOATS - 1 - i]);
}

KERNEL reduction(const float *in, float *out) {
    SHARED float sums[256];
    float sum = 0;
    for (int i = TX; i < SUMMED; i += 256) sum += in[BX * SUMMED + i];
    sums[TX] = sum;
    for (int half = 128; half > 0; half /= 2) {
        __nvvm_bar_sync(0);
        if (TX < half) sums[TX] += sums[TX + half];
    }
    if (TX == 0) out[BX] = sums[0];
}

KERNEL transpose(const float *in, float *out) {
    SHARED float tile[TILE][TILE + 1];
    tile[TY][TX] = in[(BY * TILE + TY) * SIDE + BX * TILE + TX];
    __nvvm_bar_sync(0);
    out[(BX * TILE + TY) * SIDE + BY * TILE + TX] = tile[TX][TY];
}

KERNEL stencil2d(const float *in, float *out) {
    int x = BX * BLOCK + TX, y = BY * BLOCK + TY, i = y * SIDE + x;
    if (x == 0 || y == 0 || x == SIDE - 1 || y == SIDE - 1) return;
    out[i] = 0.5f * in[i] + 0.125f * (in[i - 1] + in[i + 1] + in[i - SIDE] + in[i + SIDE]);
}

KERNEL sgemm(const float *in, float *out) {
    SHARED float a[BLOCK][BLOCK], b[BLOCK][BLOCK];
    const float *left = in, *right = in + MATRIX * MATRIX;
    int row = BY * BLOCK + TY, column = BX * BLOCK + TX;
    float sum = 0;
    for (int k = 0; k < MATRIX; k += BLOCK) {
        a[TY][TX] = left[row * MATRIX + k + TX];
        b[TY][TX] = right[(k + TY) * MATRIX + column];
        __nvvm_bar_sync(0);
        for (int i = 0; i < BLOCK; ++i) sum = __builtin_fmaf(a[TY][i], b[i][TX], sum);
        __nvvm_bar_sync(0);
    }
    out[row * MATRIX + column] = sum;
}

KERNEL mandelbrot(const float *in, int *out) {
    int px = BX * BLOCK + TX, py = BY * BLOCK + TY;
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

KERNEL histogram(const float *in, int *out) {
    SHARED int bins[BINS];
    bins[TX] = 0;
    __nvvm_bar_sync(0);
    for (int i = BX * 4096 + TX; i < (BX + 1) * 4096; i += 256)
        __nvvm_atom_add_gen_i(&bins[(int)(in[i] * BINS)], 1);
    __nvvm_bar_sync(0);
    __nvvm_atom_add_gen_i(&out[TX], bins[TX]);
}

KERNEL scan(const float *in, float *out) {
    SHARED float sums[SEGMENT];
    int i = BX * SEGMENT + TX;
    sums[TX] = in[i];
    for (int distance = 1; distance < SEGMENT; distance *= 2) {
        __nvvm_bar_sync(0);
        float before = TX >= distance ? sums[TX - distance] : 0.0f;
        __nvvm_bar_sync(0);
        sums[TX] += before;
    }
    out[i] = sums[TX];
}
