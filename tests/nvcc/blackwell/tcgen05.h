// The instructions of the tensor core and what goes with them, for the programs beside this file.
#pragma once
#include <cuda.h>
#include <cstdint>

__device__ inline uint32_t shared(const void *pointer) { return static_cast<uint32_t>(__cvta_generic_to_shared(pointer)); }

// mbarrier objects.
__device__ inline void init(uint64_t &object, uint32_t count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared(&object)), "r"(count) : "memory");
}
__device__ inline void expect(uint64_t &object, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared(&object)), "r"(bytes) : "memory");
}
__device__ inline void wait(uint64_t &object, uint32_t parity) {
    asm volatile("{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra again;\n}" ::"r"(
                     shared(&object)),
                 "r"(parity)
                 : "memory");
}
__device__ inline void show_inits() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ inline void cluster_sync() {
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

// A box of a tensor into shared memory.
__device__ inline void load(void *tile, const CUtensorMap &map, int x, int y, uint64_t &object) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
            shared(tile)),
        "l"(&map), "r"(x), "r"(y), "r"(shared(&object))
        : "memory");
}
// The same, where the object is that of the even CTA of the pair.
__device__ inline void load_for_pair(void *tile, const CUtensorMap &map, int x, int y, uint64_t &object) {
    asm volatile("cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
                 "%3}], [%4];" ::"r"(shared(tile)),
                 "l"(&map), "r"(x), "r"(y), "r"(shared(&object) & 0xfeffffff)
                 : "memory");
}

// Tensor memory, allocated and freed by one warp.
template <int Ctas> __device__ inline void allocate(uint32_t &place, uint32_t columns) {
    if constexpr (Ctas == 1) {
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;\n"
                     "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::"r"(shared(&place)),
                     "r"(columns)
                     : "memory");
    } else {
        asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;\n"
                     "tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;" ::"r"(shared(&place)),
                     "r"(columns)
                     : "memory");
    }
}
template <int Ctas> __device__ inline void deallocate(uint32_t place, uint32_t columns) {
    if constexpr (Ctas == 1) {
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(place), "r"(columns));
    } else {
        asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" ::"r"(place), "r"(columns));
    }
}
__device__ inline void before_sync() { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }
__device__ inline void after_sync() { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }

// Descriptors of shared memory: bits 46 to 48 are 0b001; strides are those of groups of 8 lines, and along k where nothing is swizzled.
__device__ inline uint64_t swizzled(const void *tile) {
    return uint64_t(2) << 61 | uint64_t(1) << 46 | uint64_t(1024 >> 4) << 32 | uint64_t(1) << 16 | (shared(tile) & 0x3ffff) >> 4;
}
__device__ inline uint64_t plain(const void *tile, uint32_t along_k, uint32_t along_lines) {
    return uint64_t(1) << 46 | uint64_t(along_lines >> 4) << 32 | uint64_t(along_k >> 4) << 16 | (shared(tile) & 0x3ffff) >> 4;
}

// An instruction descriptor: sums of `.f32`.
__device__ constexpr uint32_t instruction(uint32_t m, uint32_t n) { return 1 << 4 | (n >> 3) << 17 | (m >> 4) << 24; }

// 32 columns of the lanes of this warp.
__device__ inline void columns(float (&to)[32], uint32_t place) {
    uint32_t r[32];
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x32.b32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, [%32];\n"
                 "tcgen05.wait::ld.sync.aligned;"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7]), "=r"(r[8]),
                   "=r"(r[9]), "=r"(r[10]), "=r"(r[11]), "=r"(r[12]), "=r"(r[13]), "=r"(r[14]), "=r"(r[15]), "=r"(r[16]),
                   "=r"(r[17]), "=r"(r[18]), "=r"(r[19]), "=r"(r[20]), "=r"(r[21]), "=r"(r[22]), "=r"(r[23]), "=r"(r[24]),
                   "=r"(r[25]), "=r"(r[26]), "=r"(r[27]), "=r"(r[28]), "=r"(r[29]), "=r"(r[30]), "=r"(r[31])
                 : "r"(place));
    for (int i = 0; i < 32; i++) to[i] = __uint_as_float(r[i]);
}

// Writes this warp's part of a tile of D with so many columns, of which row 0 and column 0 are at `to`.
template <int Columns> __device__ inline void store(float *to, int pitch, uint32_t place) {
    const uint32_t warp = threadIdx.x / 32;
    for (int first = 0; first < Columns; first += 32) {
        float row[32];
        columns(row, place + (warp * 32 << 16) + first);
        for (int i = 0; i < 32; i++) to[threadIdx.x * pitch + first + i] = row[i];
    }
}
