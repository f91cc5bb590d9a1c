// What these kernels use of CUDA C++ beyond benches/peers/frame/cuda.h, in clang's builtins and the PTX manual's instructions.
#pragma once

#define FULL 0xffffffffu
#define INLINE NODEBUG __device__ inline

typedef unsigned char u8;
typedef unsigned u32;
typedef unsigned long long u64;
typedef float float4 __attribute__((ext_vector_type(4)));
typedef u32 uint4 __attribute__((ext_vector_type(4)));

struct gridDim_register {
    NODEBUG __device__ static unsigned read_x() { return __nvvm_read_ptx_sreg_nctaid_x(); }
    __declspec(property(get = read_x)) unsigned x;
};
extern const __device__ gridDim_register gridDim;

INLINE int lane_id() { return threadIdx.x & 31; }
INLINE int thread_id() { return blockIdx.x * blockDim.x + threadIdx.x; }
INLINE int shuffle_up(int value, int by) { return __nvvm_shfl_sync_up_i32(FULL, value, by, 0); }
INLINE int shuffle_xor(int value, int by) { return __nvvm_shfl_sync_bfly_i32(FULL, value, by, 31); }
INLINE float shuffle_xor(float value, int by) { return __nvvm_shfl_sync_bfly_f32(FULL, value, by, 31); }
INLINE int shuffle(int value, int from) { return __nvvm_shfl_sync_idx_i32(FULL, value, from, 31); }
INLINE u32 ballot(bool predicate) { return __nvvm_vote_ballot_sync(FULL, predicate); }
INLINE u32 atomic_add(u32 *cell, u32 by) { return __atomic_fetch_add(cell, by, __ATOMIC_RELAXED); }
INLINE float exp2(float x) { return __nvvm_ex2_approx_f(x); }

INLINE int warp_sum(int value) {
    for (int by = 16; by > 0; by /= 2) value += shuffle_xor(value, by);
    return value;
}
INLINE float warp_sum(float value) {
    for (int by = 16; by > 0; by /= 2) value += shuffle_xor(value, by);
    return value;
}
INLINE float warp_most(float value) {
    for (int by = 16; by > 0; by /= 2) value = fmaxf(value, shuffle_xor(value, by));
    return value;
}
// The sum of the lanes up to this one.
INLINE int warp_scan(int value) {
    for (int by = 1; by < 32; by *= 2) {
        int below = shuffle_up(value, by);
        if (lane_id() >= by) value += below;
    }
    return value;
}

// The address of what a generic pointer to shared memory points to.
INLINE u32 shared_address(const void *pointer) {
    u64 address;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(pointer));
    return address;
}

// D += A * B of halves, 16 x 8 by 16.
INLINE void mma(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
INLINE void load_matrices(u32 (&to)[4], u32 address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(address));
}
INLINE void load_matrices_transposed(u32 (&to)[4], u32 address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(address));
}
INLINE u32 pack(float low, float high) {
    u32 both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

// Asynchronous copies of 16 bytes to shared memory.
INLINE void copy_async(u32 to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(from) : "memory");
}
INLINE void copies_end() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int left> INLINE void copies_wait() { asm volatile("cp.async.wait_group %0;" :: "n"(left) : "memory"); }
