// A product of 4-bit floats in blocks of 16 with scale factors (`nvf4`), which `tcgen05.cp` brings into tensor memory. All is exact:
// row m of A is e2m1 numbers 1 and 0.5 (codes 2 and 1) in turns of 16, times 2 to the power of m % 3; column n of B is 1 and 2 (codes 2 and 4)
// in every other element, times 1.5 in the second block of each four.
//: device b200
//: run scaled block=128
//: in a u8[4096] = for i: i % 32 / 8 % 2 == 0 ? 0x22 : 0x11
//: in b u8[2048] = for i: 0x42
//: in a_scales u8[512] = for i: 0x38 + 8 * ((i / 16 + i % 16 / 4 * 32) % 3)
//: in b_scales u8[512] = for i: i % 4 == 1 ? 0x3c : 0x38
//: out d f32[8192] = for i: 78 * (1 << (i / 64 % 3))
#include "tcgen05.h"

extern "C" __global__ void scaled(const uint4 *a, const uint4 *b, const uint4 *a_scales, const uint4 *b_scales, float *d) {
    __shared__ __align__(1024) uint4 a_tile[256], b_tile[128], a_factors[32], b_factors[32];
    __shared__ uint64_t done;
    __shared__ uint32_t place;
    if (threadIdx.x < 32) allocate<1>(place, 128);
    if (threadIdx.x == 0) {
        init(done, 1);
        show_inits();
    }
    // Rows of 32 bytes: groups of 8 lines by 16 bytes, the two along k one after the other.
    for (int i = threadIdx.x; i < 256; i += 128) a_tile[i / 16 * 16 + i % 2 * 8 + i / 2 % 8] = a[i];
    for (int i = threadIdx.x; i < 128; i += 128) b_tile[i / 16 * 16 + i % 2 * 8 + i / 2 % 8] = b[i];
    if (threadIdx.x < 32) {
        a_factors[threadIdx.x] = a_scales[threadIdx.x];
        b_factors[threadIdx.x] = b_scales[threadIdx.x];
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    before_sync();
    __syncthreads();
    after_sync();
    const uint32_t a_place = place + 64, b_place = place + 68;
    if (threadIdx.x == 0) {
        asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(a_place), "l"(plain(a_factors, 16, 128)) : "memory");
        asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(b_place), "l"(plain(b_factors, 16, 128)) : "memory");
        // Of both factors e2m1, of the scale factors ue4m3.
        const uint32_t instruction = 1 << 7 | 1 << 10 | (64 >> 3) << 17 | (128 >> 7) << 27;
        asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %6, 0;\n"
                     "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X [%0], %1, %2, %3, [%4], [%5], p;\n}" ::"r"(place),
                     "l"(plain(a_tile, 128, 256)), "l"(plain(b_tile, 128, 256)), "r"(instruction), "r"(a_place), "r"(b_place), "r"(0)
                     : "memory");
        asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(shared(&done)) : "memory");
    }
    wait(done, 0);
    after_sync();
    store<64>(d, 64, place);
    before_sync();
    __syncthreads();
    if (threadIdx.x < 32) deallocate<1>(place, 128);
}
