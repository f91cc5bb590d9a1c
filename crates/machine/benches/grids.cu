// Kernels of many CTAs, as programs have them: little work in each, rows of memory, barriers.

#define KERNEL extern "C" __attribute__((global)) void
#define SHARED __attribute__((shared))

static __attribute__((device)) inline int tx() { return __nvvm_read_ptx_sreg_tid_x(); }
static __attribute__((device)) inline int ty() { return __nvvm_read_ptx_sreg_tid_y(); }
static __attribute__((device)) inline int bx() { return __nvvm_read_ptx_sreg_ctaid_x(); }
static __attribute__((device)) inline int by() { return __nvvm_read_ptx_sreg_ctaid_y(); }
static __attribute__((device)) inline int index() { return bx() * __nvvm_read_ptx_sreg_ntid_x() + tx(); }

// Nothing but CTAs.
KERNEL empty() {}

// y = a * x + y.
KERNEL saxpy(float a, const float *x, float *y, int n) {
    int i = index();
    if (i < n)
        y[i] = __builtin_fmaf(a, x[i], y[i]);
}

// A matrix in tiles of 32x32 by CTAs of 32x8; a column of padding, as programs have it against bank conflicts.
KERNEL transpose(const float *in, float *out, int n) {
    SHARED static float tile[32][33];
    for (int r = 0; r < 32; r += 8)
        tile[ty() + r][tx()] = in[(by() * 32 + ty() + r) * n + bx() * 32 + tx()];
    __syncthreads();
    for (int r = 0; r < 32; r += 8)
        out[(bx() * 32 + ty() + r) * n + by() * 32 + tx()] = tile[tx()][ty() + r];
}

// Five points of a grid of n x n, its edges left alone; CTAs of 32x8.
KERNEL stencil(const float *in, float *out, int n) {
    int x = bx() * 32 + tx(), y = by() * 8 + ty(), i = y * n + x;
    if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
        out[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - n] + in[i + n]);
}

// Inclusive sums over the 256 elements of each CTA.
KERNEL scan(const int *in, int *out) {
    SHARED static int sums[256];
    int sum = in[index()];
    sums[tx()] = sum;
    __syncthreads();
    for (int step = 1; step < 256; step *= 2) {
        if (tx() >= step)
            sum += sums[tx() - step];
        __syncthreads();
        sums[tx()] = sum;
        __syncthreads();
    }
    out[index()] = sum;
}

static __attribute__((device)) float reduce(float *shared, float value, bool largest) {
    shared[tx()] = value;
    __syncthreads();
    for (int step = 128; step > 0; step /= 2) {
        if (tx() < step) {
            float other = shared[tx() + step];
            value = largest ? __nvvm_fmax_f(value, other) : value + other;
            shared[tx()] = value;
        }
        __syncthreads();
    }
    value = shared[0];
    __syncthreads();
    return value;
}

// A row of 1024 for each CTA of 256.
KERNEL softmax(const float *in, float *out) {
    SHARED static float shared[256];
    float x[4], most = -1e30f, sum = 0;
    for (int i = 0; i < 4; ++i) {
        x[i] = in[bx() * 1024 + i * 256 + tx()];
        most = __nvvm_fmax_f(most, x[i]);
    }
    most = reduce(shared, most, true);
    for (int i = 0; i < 4; ++i) {
        x[i] = __nvvm_ex2_approx_f((x[i] - most) * 1.44269504f);
        sum += x[i];
    }
    float scale = __nvvm_rcp_approx_ftz_f(reduce(shared, sum, false));
    for (int i = 0; i < 4; ++i)
        out[bx() * 1024 + i * 256 + tx()] = x[i] * scale;
}

// A product of matrices in tiles of 16x16; n is a multiple of 16.
KERNEL sgemm(const float *a, const float *b, float *c, int n) {
    SHARED static float ta[16][16], tb[16][16];
    int row = by() * 16 + ty(), column = bx() * 16 + tx();
    float sum = 0;
    for (int t = 0; t < n; t += 16) {
        ta[ty()][tx()] = a[row * n + t + tx()];
        tb[ty()][tx()] = b[(t + ty()) * n + column];
        __syncthreads();
        for (int k = 0; k < 16; ++k)
            sum = __builtin_fmaf(ta[ty()][k], tb[k][tx()], sum);
        __syncthreads();
    }
    c[row * n + column] = sum;
}

// Each element from a place within 256 of its own.
KERNEL gather(const int *places, const float *in, float *out) {
    int i = index();
    out[i] = in[places[i]];
}
