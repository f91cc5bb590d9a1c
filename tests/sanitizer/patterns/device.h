// What the patterns use of CUDA C++ and libcu++, spelled so that each call is the one PTX instruction that the guide's mapping
// gives it: order and scope are template arguments, so that a mistake can be planted in them. Nothing here has lines of its own
// (NODEBUG): an instruction belongs to the line of the kernel.
#pragma once
#include "../../clang/device.h"

// Instances of a kernel's template: 0 is the clean one, every other number a mistake.
#define KERNEL(name, bug) template __global__ decltype(name<bug>) name<bug>;
#define KERNELS_2(name) KERNEL(name, 0) KERNEL(name, 1)
#define KERNELS_3(name) KERNELS_2(name) KERNEL(name, 2)
#define KERNELS_4(name) KERNELS_3(name) KERNEL(name, 3)
#define KERNELS_5(name) KERNELS_4(name) KERNEL(name, 4)
#define DEVICE NODEBUG __device__ inline

enum Order { RELAXED, ACQUIRE, RELEASE, ACQ_REL };
enum Scope { CTA, CLUSTER, GPU, SYS };

// ASM(".order.scope", ...) for the order and the scope of the template around it.
#define SCOPES(ORDER, text, ASM, ...)                                                      \
    if constexpr (order == ORDER && scope == CTA) ASM(text ".cta", __VA_ARGS__);           \
    if constexpr (order == ORDER && scope == CLUSTER) ASM(text ".cluster", __VA_ARGS__);   \
    if constexpr (order == ORDER && scope == GPU) ASM(text ".gpu", __VA_ARGS__);           \
    if constexpr (order == ORDER && scope == SYS) ASM(text ".sys", __VA_ARGS__);
#define ORDERS(ASM, ...)                           \
    SCOPES(RELAXED, ".relaxed", ASM, __VA_ARGS__)  \
    SCOPES(ACQUIRE, ".acquire", ASM, __VA_ARGS__)  \
    SCOPES(RELEASE, ".release", ASM, __VA_ARGS__)  \
    SCOPES(ACQ_REL, ".acq_rel", ASM, __VA_ARGS__)

// `load<ACQUIRE, GPU>(p)`, `store<RELEASE, GPU>(p, v)`.
#define LD(how, type, reg) asm volatile("ld" how type " %0, [%1];" : "=" reg(value) : "l"(at) : "memory")
#define ST(how, type, reg) asm volatile("st" how type " [%0], %1;" : : "l"(at), reg(value) : "memory")
#define LOAD_AND_STORE(T, type, reg)                                                \
    template <Order order, Scope scope = GPU> DEVICE T load(const T *at) {          \
        static_assert(order == RELAXED || order == ACQUIRE, "an order of loads");   \
        T value;                                                                    \
        SCOPES(RELAXED, ".relaxed", LD, type, reg)                                  \
        SCOPES(ACQUIRE, ".acquire", LD, type, reg)                                  \
        return value;                                                               \
    }                                                                               \
    template <Order order, Scope scope = GPU> DEVICE void store(T *at, T value) {   \
        static_assert(order == RELAXED || order == RELEASE, "an order of stores");  \
        SCOPES(RELAXED, ".relaxed", ST, type, reg)                                  \
        SCOPES(RELEASE, ".release", ST, type, reg)                                  \
    }
LOAD_AND_STORE(u32, ".u32", "r")
LOAD_AND_STORE(u64, ".u64", "l")

// `add<RELAXED, GPU>(p, v)` and its kin; what was there before.
#define ATOM(how, op, reg) asm volatile("atom" how op " %0, [%1], %2;" : "=" reg(old) : "l"(at), reg(by) : "memory")
#define ATOMIC(name, T, op, reg)                                                     \
    template <Order order = RELAXED, Scope scope = GPU> DEVICE T name(T *at, T by) { \
        T old;                                                                       \
        ORDERS(ATOM, op, reg)                                                        \
        return old;                                                                  \
    }
ATOMIC(add, u32, ".add.u32", "r")
ATOMIC(add, u64, ".add.u64", "l")
ATOMIC(exchange, u32, ".exch.b32", "r")
ATOMIC(exchange, u64, ".exch.b64", "l")
ATOMIC(max, u32, ".max.u32", "r")
ATOMIC(min, u32, ".min.u32", "r")
ATOMIC(or_bits, u32, ".or.b32", "r")
// `atomicInc`: counts up to `by`, and from there to 0.
ATOMIC(increment, u32, ".inc.u32", "r")

// `to` is there now if `from` was.
#define CAS(how, type, reg) \
    asm volatile("atom" how ".cas" type " %0, [%1], %2, %3;" : "=" reg(old) : "l"(at), reg(from), reg(to) : "memory")
#define COMPARE_AND_SWAP(T, type, reg)                                                     \
    template <Order order = RELAXED, Scope scope = GPU> DEVICE T cas(T *at, T from, T to) { \
        T old;                                                                             \
        ORDERS(CAS, type, reg)                                                             \
        return old;                                                                        \
    }
COMPARE_AND_SWAP(u32, ".b32", "r")
COMPARE_AND_SWAP(u64, ".b64", "l")

// `__threadfence_block()`, a fence of the cluster, `__threadfence()`, `__threadfence_system()`.
template <Scope scope> DEVICE void fence() {
    if constexpr (scope == CTA) asm volatile("fence.acq_rel.cta;" : : : "memory");
    else if constexpr (scope == CLUSTER) asm volatile("fence.acq_rel.cluster;" : : : "memory");
    else if constexpr (scope == GPU) asm volatile("fence.acq_rel.gpu;" : : : "memory");
    else asm volatile("fence.acq_rel.sys;" : : : "memory");
}

// Loads and stores that compilers leave alone, and that are weak all the same: the plain ones of a kernel.
DEVICE u32 plain_load(const u32 *at) {
    u32 value;
    asm volatile("ld.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}
DEVICE void plain_store(u32 *at, u32 value) { asm volatile("st.u32 [%0], %1;" : : "l"(at), "r"(value) : "memory"); }

// Barriers of the warp, and of so many threads of the CTA by number.
DEVICE void sync_warp(u32 members = FULL) { __nvvm_bar_warp_sync(members); }
DEVICE void named_sync(u32 number, u32 threads) {
    asm volatile("barrier.sync %0, %1;" : : "r"(number), "r"(threads) : "memory");
}
DEVICE void named_arrive(u32 number, u32 threads) {
    asm volatile("barrier.arrive %0, %1;" : : "r"(number), "r"(threads) : "memory");
}

// Warps.
DEVICE u32 lane() { return threadIdx.x % 32; }
DEVICE u32 warp() { return threadIdx.x / 32; }
DEVICE u32 shuffle(u32 value, u32 from) { return __nvvm_shfl_sync_idx_i32(FULL, value, from, 31); }
DEVICE u32 shuffle_xor(u32 value, u32 by) { return __nvvm_shfl_sync_bfly_i32(FULL, value, by, 31); }
DEVICE u32 match_any(u32 value) {
    u32 same;
    asm volatile("match.any.sync.b32 %0, %1, 0xffffffff;" : "=r"(same) : "r"(value) : "memory");
    return same;
}
DEVICE u32 active_mask() {
    u32 mask;
    asm volatile("activemask.b32 %0;" : "=r"(mask) : : "memory");
    return mask;
}
DEVICE u32 first_lane(u32 mask) { return __builtin_ctz(mask); }

// A barrier of all CTAs, of the kind that `grid.sync()` is: thread 0 counts its CTA in and waits for the round to end.
template <Order arrive = ACQ_REL, Order wait = ACQUIRE, Scope scope = GPU> DEVICE void grid_sync(u32 *counter) {
    __syncthreads();
    if (threadIdx.x == 0) {
        const u32 round = add<arrive, scope>(counter, 1u) / gridDim.x;
        while (load<wait, scope>(counter) / gridDim.x == round) {
        }
    }
    __syncthreads();
}

// Shared memory by its own addresses, for the instructions that ask for them.
DEVICE u32 shared_address(const void *at) {
    return (u32)(u64)(const __attribute__((address_space(3))) void *)at;
}

// `cp.async`: copies that the thread waits for by groups.
DEVICE void copy_16(void *shared, const void *global) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(shared_address(shared)), "l"(global) : "memory");
}
DEVICE void copy_4(void *shared, const void *global) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" : : "r"(shared_address(shared)), "l"(global) : "memory");
}
DEVICE void copy_commit() { asm volatile("cp.async.commit_group;" : : : "memory"); }
template <int but> DEVICE void copy_wait() { asm volatile("cp.async.wait_group %0;" : : "n"(but) : "memory"); }

// Barriers in shared memory.
DEVICE void mbarrier_init(u64 *barrier, u32 count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" : : "r"(shared_address(barrier)), "r"(count) : "memory");
}
DEVICE void mbarrier_arrive(u64 *barrier) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" : : "r"(shared_address(barrier)) : "memory");
}
DEVICE void mbarrier_arrive_relaxed(u64 *barrier) {
    asm volatile("mbarrier.arrive.relaxed.cta.shared.b64 _, [%0];" : : "r"(shared_address(barrier)) : "memory");
}
DEVICE void mbarrier_expect(u64 *barrier, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" : : "r"(shared_address(barrier)), "r"(bytes) : "memory");
}
DEVICE void mbarrier_wait(u64 *barrier, u32 parity) {
    u32 done;
    do
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(shared_address(barrier)), "r"(parity) : "memory");
    while (!done);
}
DEVICE void mbarrier_wait_relaxed(u64 *barrier, u32 parity) {
    u32 done;
    do
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.relaxed.cta.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(shared_address(barrier)), "r"(parity) : "memory");
    while (!done);
}
DEVICE void mbarrier_copies_arrive(u64 *barrier) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" : : "r"(shared_address(barrier)) : "memory");
}

// Bulk copies: one thread's, which tell an mbarrier, or which it waits for by groups.
DEVICE void bulk_load(void *shared, const void *global, u32 bytes, u64 *barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 : : "r"(shared_address(shared)), "l"(global), "r"(bytes), "r"(shared_address(barrier)) : "memory");
}
DEVICE void bulk_store(void *global, const void *shared, u32 bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 : : "l"(global), "r"(shared_address(shared)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.commit_group;" : : : "memory");
}
DEVICE void bulk_wait() { asm volatile("cp.async.bulk.wait_group 0;" : : : "memory"); }
DEVICE void bulk_wait_read() { asm volatile("cp.async.bulk.wait_group.read 0;" : : : "memory"); }
DEVICE void proxy_fence() { asm volatile("fence.proxy.async;" : : : "memory"); }

// Clusters.
DEVICE u32 cluster_rank() {
    u32 rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
DEVICE void cluster_arrive() { asm volatile("barrier.cluster.arrive.release;" : : : "memory"); }
DEVICE void cluster_arrive_relaxed() { asm volatile("barrier.cluster.arrive.relaxed;" : : : "memory"); }
DEVICE void cluster_wait() { asm volatile("barrier.cluster.wait.acquire;" : : : "memory"); }
DEVICE void cluster_sync() {
    cluster_arrive();
    cluster_wait();
}
// A variable of the CTA of rank `rank`, by a generic address.
template <typename T> DEVICE T *remote(T *mine, u32 rank) {
    u64 theirs;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(theirs) : "l"(mine), "r"(rank));
    return (T *)theirs;
}
