// The kernels of the interpreter benchmark: each keeps one kind of instruction busy.

#define KERNEL extern "C" __attribute__((global)) void
#define SHARED __attribute__((shared))

static __attribute__((device)) inline unsigned thread_index() {
    return __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x();
}

// 32-bit integer arithmetic, logic and shifts.
KERNEL integer(unsigned *out, int rounds) {
    unsigned i = thread_index(), x = i * 2654435761u + 1, sum = 0;
    for (int r = 0; r < rounds; ++r) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        sum += x * 747796405u;
        sum = (sum & 0xffff0000u) | ((sum + x) & 0xffffu);
    }
    out[i] = sum;
}

// Single-precision arithmetic.
KERNEL floating(float *out, int rounds) {
    unsigned i = thread_index();
    float x = (float)(i & 1023) * 0.0009765625f, y = 0.5f;
    for (int r = 0; r < rounds; ++r) {
        y = __builtin_fmaf(x, y, 0.25f);
        x = x * 0.99f + y * 0.01f;
        y = y - x * 0.5f;
        x = __builtin_fmaf(y, -0.125f, x);
    }
    out[i] = x + y;
}

// A matrix product in 16x16 tiles of shared memory; n is a multiple of 16.
KERNEL shared(const float *a, const float *b, float *c, int n) {
    SHARED static float ta[16][16], tb[16][16];
    int tx = __nvvm_read_ptx_sreg_tid_x(), ty = __nvvm_read_ptx_sreg_tid_y();
    int row = __nvvm_read_ptx_sreg_ctaid_y() * 16 + ty, column = __nvvm_read_ptx_sreg_ctaid_x() * 16 + tx;
    float sum = 0;
    for (int t = 0; t < n; t += 16) {
        ta[ty][tx] = a[row * n + t + tx];
        tb[ty][tx] = b[(t + ty) * n + column];
        __syncthreads();
        for (int k = 0; k < 16; ++k)
            sum = __builtin_fmaf(ta[ty][k], tb[k][tx], sum);
        __syncthreads();
    }
    c[row * n + column] = sum;
}

// The Mandelbrot set: lanes leave the loop one by one.
KERNEL divergent(int *out, int width, int limit) {
    int i = thread_index(), px = i % width, py = i / width;
    float cx = -2.0f + 3.0f * px / width, cy = -1.5f + 3.0f * py / width, x = 0, y = 0;
    int n = 0;
    while (n < limit && x * x + y * y < 4.0f) {
        float t = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = t;
        ++n;
    }
    out[i] = n;
}
