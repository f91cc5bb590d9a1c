// Products by `tcgen05`, with tiles that tensor copies bring and sums in tensor memory: by single CTAs, and by pairs. B is stored by
// columns; each column has a 1 and a 2, so that an element of D is the sum of two known elements of A.
//: device b200
//: run single grid=2,2 block=128
//: in a f16[32768] = for i: 1 << ((i / 128 * 5 + i % 128 * 3 + i % 128 / 16) % 4)
//: map a_map tiled f16 of a size=128,256 stride=256 box=64,128 swizzle=128
//: in b f16[16384] = for i: i % 128 == (i / 128 * 3 + 1) % 128 ? 1 : i % 128 == (i / 128 * 5 + 8) % 128 ? 2 : 0
//: map b_map tiled f16 of b size=128,128 stride=256 box=64,64 swizzle=128
//: arg k s32 = 128
//: arg pitch s32 = 128
//: out d f32[32768] = for i: (1 << ((i / 128 * 5 + (i % 128 * 3 + 1) % 128 * 3 + (i % 128 * 3 + 1) % 128 / 16) % 4))
//|   + 2 * (1 << ((i / 128 * 5 + (i % 128 * 5 + 8) % 128 * 3 + (i % 128 * 5 + 8) % 128 / 16) % 4))
//
//: run pairs grid=2,2 block=128
//: in a f16[32768] = for i: 1 << ((i / 128 * 5 + i % 128 * 3 + i % 128 / 16) % 4)
//: map a_map tiled f16 of a size=128,256 stride=256 box=64,128 swizzle=128
//: in b f16[16384] = for i: i % 128 == (i / 128 * 3 + 1) % 128 ? 1 : i % 128 == (i / 128 * 5 + 8) % 128 ? 2 : 0
//: map b_map tiled f16 of b size=128,128 stride=256 box=64,32 swizzle=128
//: arg k s32 = 128
//: arg pitch s32 = 128
//: out d f32[32768] = for i: (1 << ((i / 128 * 5 + (i % 128 * 3 + 1) % 128 * 3 + (i % 128 * 3 + 1) % 128 / 16) % 4))
//|   + 2 * (1 << ((i / 128 * 5 + (i % 128 * 5 + 8) % 128 * 3 + (i % 128 * 5 + 8) % 128 / 16) % 4))
#include "tcgen05.h"

constexpr int ROWS = 128, COLUMNS = 64, DEPTH = 64;

__device__ inline void multiply(uint32_t d, uint64_t a, uint64_t b, uint32_t instruction, bool adds) {
    asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %4, 0;\ntcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;\n}" ::"r"(d),
                 "l"(a), "l"(b), "r"(instruction), "r"(uint32_t(adds))
                 : "memory");
}

__device__ inline void multiply_by_pair(uint32_t d, uint64_t a, uint64_t b, uint32_t instruction, bool adds) {
    asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %4, 0;\ntcgen05.mma.cta_group::2.kind::f16 [%0], %1, %2, %3, p;\n}" ::"r"(d),
                 "l"(a), "l"(b), "r"(instruction), "r"(uint32_t(adds))
                 : "memory");
}

extern "C" __global__ void single(const unsigned short *, const __grid_constant__ CUtensorMap a_map, const unsigned short *,
                                  const __grid_constant__ CUtensorMap b_map, int k, int pitch, float *d) {
    __shared__ __align__(1024) unsigned char a_tile[ROWS * DEPTH * 2], b_tile[COLUMNS * DEPTH * 2];
    __shared__ uint64_t full, done;
    __shared__ uint32_t place;
    if (threadIdx.x < 32) allocate<1>(place, 64);
    if (threadIdx.x == 0) {
        init(full, 1);
        init(done, 1);
        show_inits();
    }
    before_sync();
    __syncthreads();
    after_sync();
    for (int first = 0, phase = 0; first < k; first += DEPTH, phase ^= 1) {
        if (threadIdx.x == 0) {
            expect(full, sizeof a_tile + sizeof b_tile);
            load(a_tile, a_map, first, blockIdx.y * ROWS, full);
            load(b_tile, b_map, first, blockIdx.x * COLUMNS, full);
            wait(full, phase);
            for (int step = 0; step < DEPTH / 16; step++)
                multiply(place, swizzled(a_tile) + step * 2, swizzled(b_tile) + step * 2, instruction(ROWS, COLUMNS),
                         first + step > 0);
            asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(shared(&done))
                         : "memory");
        }
        wait(done, phase);
        // Nobody may be so late that the phase after the next looks like this one.
        __syncthreads();
    }
    after_sync();
    store<COLUMNS>(d + blockIdx.y * ROWS * pitch + blockIdx.x * COLUMNS, pitch, place);
    before_sync();
    __syncthreads();
    if (threadIdx.x < 32) deallocate<1>(place, 64);
}

// Two CTAs compute 256 rows: each has half of the rows of A, and half of the columns of B.
extern "C" __global__ void __cluster_dims__(2, 1, 1)
    pairs(const unsigned short *, const __grid_constant__ CUtensorMap a_map, const unsigned short *, const __grid_constant__ CUtensorMap b_map,
          int k, int pitch, float *d) {
    __shared__ __align__(1024) unsigned char a_tile[ROWS * DEPTH * 2], b_tile[COLUMNS / 2 * DEPTH * 2];
    __shared__ uint64_t full, done;
    __shared__ uint32_t place;
    const uint32_t rank = blockIdx.x % 2;
    if (threadIdx.x < 32) allocate<2>(place, 64);
    if (threadIdx.x == 0) {
        init(full, 1);
        init(done, 1);
        show_inits();
    }
    before_sync();
    __syncthreads();
    cluster_sync();
    after_sync();
    for (int first = 0, phase = 0; first < k; first += DEPTH, phase ^= 1) {
        if (threadIdx.x == 0) {
            if (rank == 0) expect(full, 2 * (sizeof a_tile + sizeof b_tile));
            load_for_pair(a_tile, a_map, first, rank * ROWS, full);
            load_for_pair(b_tile, b_map, first, blockIdx.y * COLUMNS + rank * COLUMNS / 2, full);
            if (rank == 0) {
                wait(full, phase);
                for (int step = 0; step < DEPTH / 16; step++)
                    multiply_by_pair(place, swizzled(a_tile) + step * 2, swizzled(b_tile) + step * 2,
                                     instruction(2 * ROWS, COLUMNS), first + step > 0);
                asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(
                                 shared(&done)),
                             "h"(uint16_t(3))
                             : "memory");
            }
        }
        wait(done, phase);
        cluster_sync();
    }
    after_sync();
    store<COLUMNS>(d + rank * ROWS * pitch + blockIdx.y * COLUMNS, pitch, place);
    before_sync();
    __syncthreads();
    cluster_sync();
    if (threadIdx.x < 32) deallocate<2>(place, 64);
}
