// Products of matrices by the library's fragments, a warp for each tile. Each column of B has a 1 and a 2.
//: run half_to_float grid=2,3 block=32
//: in a f16[1536] = for i: 1 << ((i / 32 * 5 + i % 32 * 3) % 4)
//: in b f16[1536] = for i: i / 48 == (i % 48 * 3 + 1) % 32 ? 1 : i / 48 == (i % 48 * 5 + 7) % 32 ? 2 : 0
//: in c f32[2304] = for i: i % 7 - 3
//: out d f32[2304] = for i: i % 7 - 3 + (1 << ((i / 48 * 5 + (i % 48 * 3 + 1) % 32 * 3) % 4))
//|   + ((i % 48 * 3 + 1) % 32 == (i % 48 * 5 + 7) % 32 ? 0 : 2 << ((i / 48 * 5 + (i % 48 * 5 + 7) % 32 * 3) % 4))
//: run half_to_half block=32
//: in a f16[512] = for i: (i / 16 * 5 + i % 16 * 3) % 9 - 4
//: in b f16[128] = for i: i % 16 == i / 16 * 3 % 16 ? 1 : 0
//: out d f16[256] = for i: (i / 8 * 5 + i % 8 * 3 % 16 * 3) % 9 - 4
//: run bytes block=32
//: in a s8[128] = for i: (i % 8 * 5 + i / 8 * 3) % 9 - 4
//: in b s8[512] = for i: i / 32 == i % 32 % 16 ? 3 : 0
//: out d s32[256] = for i: 3 * ((i / 32 * 5 + i % 32 % 16 * 3) % 9 - 4)
//: run brains block=32
//: in a bf16[256] = for i: (i / 16 * 5 + i % 16 * 3) % 9 - 4
//: in b bf16[256] = for i: i / 16 == (i % 16 * 7 + 2) % 16 ? 2 : 0
//: out d f32[256] = for i: 2 * ((i / 16 * 5 + (i % 16 * 7 + 2) % 16 * 3) % 9 - 4)
//: run tensor_floats block=32
//: in a f32[128] = for i: (i / 8 * 5 + i % 8 * 3) % 9 - 4
//: in b f32[128] = for i: i / 16 == (i % 16 * 3 + 2) % 8 ? 2 : 0
//: out d f32[256] = for i: 2 * ((i / 16 * 5 + (i % 16 * 3 + 2) % 8 * 3) % 9 - 4)
//: run doubles block=32
//: in a f64[32] = for i: (i / 4 * 5 + i % 4 * 3) % 9 - 4
//: in b f64[32] = for i: i / 8 == (i % 8 * 3 + 2) % 4 ? 2 : 0
//: out d f64[64] = for i: 2 * ((i / 8 * 5 + (i % 8 * 3 + 2) % 4 * 3) % 9 - 4)
#include <mma.h>

using namespace nvcuda::wmma;

extern "C" __global__ void half_to_float(const half *a, const half *b, const float *c, float *d) {
    constexpr int N = 48, K = 32;
    __shared__ half tile[16 * 24];
    fragment<matrix_a, 16, 16, 16, half, row_major> x;
    fragment<matrix_b, 16, 16, 16, half, row_major> y;
    fragment<accumulator, 16, 16, 16, float> sum;
    int row = blockIdx.y * 16, column = blockIdx.x * 16;
    // The third column of tiles comes with the first.
    for (; column < N; column += 32) {
        load_matrix_sync(sum, c + row * N + column, N, mem_row_major);
        for (int k = 0; k < K; k += 16) {
            for (int i = threadIdx.x; i < 256; i += 32)
                tile[i / 16 * 24 + i % 16] = b[(k + i / 16) * N + column + i % 16];
            __syncwarp();
            load_matrix_sync(x, a + row * K + k, K);
            load_matrix_sync(y, tile, 24);
            mma_sync(sum, x, y, sum);
            __syncwarp();
        }
        store_matrix_sync(d + row * N + column, sum, N, mem_row_major);
    }
}

extern "C" __global__ void half_to_half(const half *a, const half *b, half *d) {
    fragment<matrix_a, 32, 8, 16, half, row_major> x;
    fragment<matrix_b, 32, 8, 16, half, col_major> y;
    fragment<accumulator, 32, 8, 16, half> sum;
    fill_fragment(sum, __float2half(0.0f));
    load_matrix_sync(x, a, 16);
    load_matrix_sync(y, b, 16);
    mma_sync(sum, x, y, sum);
    store_matrix_sync(d, sum, 8, mem_row_major);
}

extern "C" __global__ void bytes(const signed char *a, const signed char *b, int *d) {
    fragment<matrix_a, 8, 32, 16, signed char, col_major> x;
    fragment<matrix_b, 8, 32, 16, signed char, row_major> y;
    fragment<accumulator, 8, 32, 16, int> sum;
    fill_fragment(sum, 0);
    load_matrix_sync(x, a, 8);
    load_matrix_sync(y, b, 32);
    mma_sync(sum, x, y, sum);
    store_matrix_sync(d, sum, 32, mem_row_major);
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
extern "C" __global__ void brains(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *d) {
    fragment<matrix_a, 16, 16, 16, __nv_bfloat16, row_major> x;
    fragment<matrix_b, 16, 16, 16, __nv_bfloat16, row_major> y;
    fragment<accumulator, 16, 16, 16, float> sum;
    fill_fragment(sum, 0.0f);
    load_matrix_sync(x, a, 16);
    load_matrix_sync(y, b, 16);
    mma_sync(sum, x, y, sum);
    store_matrix_sync(d, sum, 16, mem_row_major);
}

extern "C" __global__ void tensor_floats(const float *a, const float *b, float *d) {
    fragment<matrix_a, 16, 16, 8, precision::tf32, row_major> x;
    fragment<matrix_b, 16, 16, 8, precision::tf32, row_major> y;
    fragment<accumulator, 16, 16, 8, float> sum;
    fill_fragment(sum, 0.0f);
    load_matrix_sync(x, a, 8);
    load_matrix_sync(y, b, 16);
    for (int i = 0; i < x.num_elements; i++) x.x[i] = __float_to_tf32(x.x[i]);
    for (int i = 0; i < y.num_elements; i++) y.x[i] = __float_to_tf32(y.x[i]);
    mma_sync(sum, x, y, sum);
    store_matrix_sync(d, sum, 16, mem_row_major);
}

extern "C" __global__ void doubles(const double *a, const double *b, double *d) {
    fragment<matrix_a, 8, 8, 4, double, row_major> x;
    fragment<matrix_b, 8, 8, 4, double, row_major> y;
    fragment<accumulator, 8, 8, 4, double> sum;
    fill_fragment(sum, 0.0);
    load_matrix_sync(x, a, 4);
    load_matrix_sync(y, b, 8);
    mma_sync(sum, x, y, sum);
    store_matrix_sync(d, sum, 8, mem_row_major);
}
#endif
