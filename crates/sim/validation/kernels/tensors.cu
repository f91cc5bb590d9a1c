// After the patterns of Triton's tutorials: rows, elements and matrices of a network.

extern "C" __global__ void vector_add(const float4 *a, const float4 *b, float4 *sum) {
    sum[thread_id()] = a[thread_id()] + b[thread_id()];
}

// Softmax of rows of 256, a warp each, all of it in registers.
extern "C" __global__ void warp_softmax(const float4 *in, float4 *out) {
    int row = thread_id() / 32, place = row * 64 + lane_id();
    float4 low = in[place], high = in[place + 32];
    float most = fmaxf(fmaxf(fmaxf(low.x, low.y), fmaxf(low.z, low.w)), fmaxf(fmaxf(high.x, high.y), fmaxf(high.z, high.w)));
    most = warp_most(most);
#define EACH(v) (float4){__expf(v.x - most), __expf(v.y - most), __expf(v.z - most), __expf(v.w - most)}
    low = EACH(low), high = EACH(high);
#undef EACH
    float4 both = low + high;
    float scale = 1.0f / warp_sum(both.x + both.y + both.z + both.w);
    out[place] = low * scale, out[place + 32] = high * scale;
}

// Mean and variance of rows of 512 by a warp each; the row scaled by them, by weights and by biases.
extern "C" __global__ void warp_layernorm(const float4 *in, const float4 *weights, const float4 *biases, float4 *out) {
    int row = thread_id() / 32;
    float4 own[4];
    float sum = 0, squares = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        own[i] = in[row * 128 + i * 32 + lane_id()];
        sum += own[i].x + own[i].y + own[i].z + own[i].w;
    }
    float mean = warp_sum(sum) * (1.0f / 512);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        own[i] -= mean;
        float4 square = own[i] * own[i];
        squares += square.x + square.y + square.z + square.w;
    }
    float scale = rsqrtf(warp_sum(squares) * (1.0f / 512) + 1e-5f);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        int column = i * 32 + lane_id();
        out[row * 128 + column] = own[i] * scale * weights[column] + biases[column];
    }
}

// Elements are dropped by Philox' random numbers of ten rounds.
extern "C" __global__ void dropout(const float4 *in, float4 *out, u32 seed) {
    u32 c0 = thread_id(), c1 = 0, c2 = 0, c3 = 0, k0 = seed, k1 = 0;
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        u64 a = (u64)c0 * 0xd2511f53u, b = (u64)c2 * 0xcd9e8d57u;
        c0 = (u32)(b >> 32) ^ c1 ^ k0, c1 = b, c2 = (u32)(a >> 32) ^ c3 ^ k1, c3 = a;
        k0 += 0x9e3779b9u, k1 += 0xbb67ae85u;
    }
    float4 own = in[thread_id()];
    own.x = c0 >> 31 ? own.x * 2 : 0, own.y = c1 >> 31 ? own.y * 2 : 0;
    own.z = c2 >> 31 ? own.z * 2 : 0, own.w = c3 >> 31 ? own.w * 2 : 0;
    out[thread_id()] = own;
}

// x * sigmoid(1.702 x).
extern "C" __global__ void gelu(const float *in, float *out) {
    float x = in[thread_id()];
    out[thread_id()] = x / (1.0f + __expf(-1.702f * x));
}

// Pairs of columns of rows of 128 turn by an angle of their position.
extern "C" __global__ void rotary(const float *in, float *out) {
    int pair = thread_id() % 64, row = thread_id() / 64, place = row * 128 + pair;
    float angle = (row % 1024) * exp2(pair * (-13.2877f / 64)), x = in[place], y = in[place + 64];
    float sine = __sinf(angle), cosine = __cosf(angle);
    out[place] = x * cosine - y * sine, out[place + 64] = x * sine + y * cosine;
}

// Rows of 256 floats from a table, by their numbers.
extern "C" __global__ void embedding(const u32 *numbers, const float4 *table, float4 *out) {
    int row = thread_id() / 64, column = thread_id() % 64;
    out[thread_id()] = table[numbers[row] * 64 + column];
}

// y = A x of n columns, a warp a row.
extern "C" __global__ void gemv(const float4 *a, const float4 *x, float *y, int n) {
    int row = thread_id() / 32;
    float sum = 0;
    for (int i = lane_id(); i < n / 4; i += 32) {
        float4 product = a[row * (n / 4) + i] * x[i];
        sum += product.x + product.y + product.z + product.w;
    }
    sum = warp_sum(sum);
    if (lane_id() == 0) y[row] = sum;
}

// C = A * B^T of halves, n x n, by CTAs of four warps with 64 x 64 of it: tiles come by asynchronous copies, two ahead, and go to
// registers by ldmatrix. Chunks of 16 bytes lie so that eight rows of one are in different banks.
const int TILE = 64, DEPTH = 32, STAGES = 3;
INLINE int swizzled(int row, int chunk) { return row * DEPTH * 2 + (chunk ^ row / 2 % 4) * 16; }

extern "C" __global__ void matmul_staged(const u8 *a, const u8 *b, float *c, int n) {
    __shared__ __attribute__((aligned(128))) u8 tiles[STAGES][2][TILE * DEPTH * 2];
    int t = threadIdx.x, lane = t % 32, warp = t / 32, top = blockIdx.y * TILE, left = blockIdx.x * TILE;
    u32 base = shared_address(tiles);
    auto load = [&](int step) {
        u32 to = base + step % STAGES * 2 * TILE * DEPTH * 2;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            int row = t / 4 + i * 32, chunk = t % 4, at = step * DEPTH * 2 + chunk * 16;
            copy_async(to + swizzled(row, chunk), a + (top + row) * n * 2 + at);
            copy_async(to + TILE * DEPTH * 2 + swizzled(row, chunk), b + (left + row) * n * 2 + at);
        }
    };
    float sums[8][4] = {};
    for (int step = 0; step < STAGES - 1; ++step) {
        load(step);
        copies_end();
    }
    for (int step = 0; step < n / DEPTH; ++step) {
        copies_wait<STAGES - 2>();
        __syncthreads();
        if (step + STAGES - 1 < n / DEPTH) load(step + STAGES - 1);
        copies_end();
        u32 of_a = base + step % STAGES * 2 * TILE * DEPTH * 2, of_b = of_a + TILE * DEPTH * 2;
#pragma unroll
        for (int k = 0; k < DEPTH / 16; ++k) {
            u32 rows[4];
            load_matrices(rows, of_a + swizzled(warp * 16 + lane % 16, k * 2 + lane / 16));
#pragma unroll
            for (int pair = 0; pair < 4; ++pair) {
                u32 columns[4];
                load_matrices(columns, of_b + swizzled(pair * 16 + lane % 16, k * 2 + lane / 16));
                mma(sums[2 * pair], rows, columns[0], columns[2]);
                mma(sums[2 * pair + 1], rows, columns[1], columns[3]);
            }
        }
    }
    for (int i = 0; i < 8; ++i) {
        float *place = c + (top + warp * 16 + lane / 4) * n + left + i * 8 + lane % 4 * 2;
        place[0] = sums[i][0], place[1] = sums[i][1], place[8 * n] = sums[i][2], place[8 * n + 1] = sums[i][3];
    }
}

// The same of one stage: through registers to shared memory, and a barrier on either side.
extern "C" __global__ void matmul_plain(const u8 *a, const u8 *b, float *c, int n) {
    __shared__ __attribute__((aligned(128))) u8 tiles[2][TILE * DEPTH * 2];
    int t = threadIdx.x, lane = t % 32, warp = t / 32, top = blockIdx.y * TILE, left = blockIdx.x * TILE;
    u32 base = shared_address(tiles);
    float sums[8][4] = {};
    for (int step = 0; step < n / DEPTH; ++step) {
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            int row = t / 4 + i * 32, chunk = t % 4, at = step * DEPTH * 2 + chunk * 16;
            *reinterpret_cast<uint4 *>(&tiles[0][swizzled(row, chunk)]) = *reinterpret_cast<const uint4 *>(a + (top + row) * n * 2 + at);
            *reinterpret_cast<uint4 *>(&tiles[1][swizzled(row, chunk)]) = *reinterpret_cast<const uint4 *>(b + (left + row) * n * 2 + at);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH / 16; ++k) {
            u32 rows[4];
            load_matrices(rows, base + swizzled(warp * 16 + lane % 16, k * 2 + lane / 16));
#pragma unroll
            for (int pair = 0; pair < 4; ++pair) {
                u32 columns[4];
                load_matrices(columns, base + TILE * DEPTH * 2 + swizzled(pair * 16 + lane % 16, k * 2 + lane / 16));
                mma(sums[2 * pair], rows, columns[0], columns[2]);
                mma(sums[2 * pair + 1], rows, columns[1], columns[3]);
            }
        }
    }
    for (int i = 0; i < 8; ++i) {
        float *place = c + (top + warp * 16 + lane / 4) * n + left + i * 8 + lane % 4 * 2;
        place[0] = sums[i][0], place[1] = sums[i][1], place[8 * n] = sums[i][2], place[8 * n + 1] = sums[i][3];
    }
}

// Flash attention on tensor cores: a CTA of four warps has 64 queries of one head, 64 wide, and walks along keys and values in tiles of
// 32. Scores of a warp's 16 queries stay in registers, where they are the left matrix of the next product.
const int WIDE = 64, KEYS = 32;
INLINE int at(int row, int chunk) { return row * WIDE * 2 + (chunk ^ row % 8) * 16; }

extern "C" __global__ void attention_mma(const u8 *q, const u8 *k, const u8 *v, float *out, int n) {
    __shared__ __attribute__((aligned(128))) u8 queries[64 * WIDE * 2], keys[KEYS * WIDE * 2], values[KEYS * WIDE * 2];
    int t = threadIdx.x, lane = t % 32, warp = t / 32, head = blockIdx.y * n * WIDE;
    auto tile = [&](u8 *to, const u8 *from, int rows) {
        for (int i = t; i < rows * 8; i += 128)
            *reinterpret_cast<uint4 *>(to + at(i / 8, i % 8)) = *reinterpret_cast<const uint4 *>(from + i * 16);
    };
    tile(queries, q + (head + blockIdx.x * 64 * WIDE) * 2, 64);
    __syncthreads();
    u32 own[4][4];
    for (int i = 0; i < 4; ++i) load_matrices(own[i], shared_address(queries) + at(warp * 16 + lane % 16, i * 2 + lane / 16));
    float sums[8][4] = {}, most[2] = {-1e30f, -1e30f}, weight[2] = {};
    for (int begin = 0; begin < n; begin += KEYS) {
        __syncthreads();
        tile(keys, k + (head + begin * WIDE) * 2, KEYS);
        tile(values, v + (head + begin * WIDE) * 2, KEYS);
        __syncthreads();
        float scores[4][4] = {};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
#pragma unroll
            for (int pair = 0; pair < 2; ++pair) {
                u32 columns[4];
                load_matrices(columns, shared_address(keys) + at(pair * 16 + lane % 16, i * 2 + lane / 16));
                mma(scores[2 * pair], own[i], columns[0], columns[2]);
                mma(scores[2 * pair + 1], own[i], columns[1], columns[3]);
            }
        }
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float larger = most[half];
#pragma unroll
            for (int i = 0; i < 4; ++i) larger = fmaxf(larger, fmaxf(scores[i][2 * half], scores[i][2 * half + 1]));
            larger = fmaxf(larger, shuffle_xor(larger, 1));
            larger = fmaxf(larger, shuffle_xor(larger, 2));
            float kept = exp2(most[half] - larger), added = 0;
            most[half] = larger;
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                scores[i][2 * half] = exp2(scores[i][2 * half] - larger);
                scores[i][2 * half + 1] = exp2(scores[i][2 * half + 1] - larger);
                added += scores[i][2 * half] + scores[i][2 * half + 1];
            }
            weight[half] = weight[half] * kept + added;
#pragma unroll
            for (int i = 0; i < 8; ++i) sums[i][2 * half] *= kept, sums[i][2 * half + 1] *= kept;
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            u32 left[4] = {pack(scores[2 * i][0], scores[2 * i][1]), pack(scores[2 * i][2], scores[2 * i][3]),
                           pack(scores[2 * i + 1][0], scores[2 * i + 1][1]), pack(scores[2 * i + 1][2], scores[2 * i + 1][3])};
#pragma unroll
            for (int pair = 0; pair < 4; ++pair) {
                u32 columns[4];
                load_matrices_transposed(columns, shared_address(values) + at(i * 16 + lane % 16, pair * 2 + lane / 16));
                mma(sums[2 * pair], left, columns[0], columns[1]);
                mma(sums[2 * pair + 1], left, columns[2], columns[3]);
            }
        }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        float all = weight[half] + shuffle_xor(weight[half], 1);
        all += shuffle_xor(all, 2);
        float *place = out + head + (blockIdx.x * 64 + warp * 16 + half * 8 + lane / 4) * WIDE + lane % 4 * 2;
#pragma unroll
        for (int i = 0; i < 8; ++i) place[i * 8] = sums[i][2 * half] / all, place[i * 8 + 1] = sums[i][2 * half + 1] / all;
    }
}
