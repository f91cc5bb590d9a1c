// A sparse product: of every four elements along k two of A are stored, which metadata in tensor memory place: here the second and
// the fourth everywhere, so that every stored element meets an odd element of B.
//: device b200
//: run sparse block=128
//: in a f16[2048] = for i: i / 16 % 7 + 1
//: in b f16[2048] = for i: i % 2 == 0 ? 100 : i / 32 % 5 + 1
//: out d f32[8192] = for i: 16 * (i / 64 % 7 + 1) * (i % 64 % 5 + 1)
#include "tcgen05.h"

extern "C" __global__ void sparse(const uint4 *a, const uint4 *b, float *d) {
    __shared__ __align__(1024) uint4 a_tile[256], b_tile[256];
    __shared__ uint64_t done;
    __shared__ uint32_t place;
    if (threadIdx.x < 32) allocate<1>(place, 128);
    if (threadIdx.x == 0) {
        init(done, 1);
        show_inits();
    }
    // Rows of 32 bytes of A, of 64 bytes of B: groups of 8 lines by 16 bytes, those along k one after the other.
    for (int i = threadIdx.x; i < 256; i += 128) a_tile[i / 16 * 16 + i % 2 * 8 + i / 2 % 8] = a[i];
    for (int i = threadIdx.x; i < 256; i += 128) b_tile[i / 32 * 32 + i % 4 * 8 + i / 4 % 8] = b[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    before_sync();
    __syncthreads();
    after_sync();
    // Numbers of two bits: 1 and 3, over and over.
    const uint32_t metadata = place + 64, numbers = 0xdddddddd;
    asm volatile("tcgen05.st.sync.aligned.32x32b.x2.b32 [%0], {%1, %1};\ntcgen05.wait::st.sync.aligned;" ::"r"(
                     metadata + (threadIdx.x / 32 * 32 << 16)),
                 "r"(numbers)
                 : "memory");
    before_sync();
    __syncthreads();
    after_sync();
    if (threadIdx.x == 0) {
        asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %5, 0;\ntcgen05.mma.sp.cta_group::1.kind::f16 [%0], %1, %2, [%3], %4, p;\n}" ::"r"(
                         place),
                     "l"(plain(a_tile, 128, 256)), "l"(plain(b_tile, 128, 512)), "r"(metadata), "r"(instruction(128, 64) | 1 << 2), "r"(0)
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
