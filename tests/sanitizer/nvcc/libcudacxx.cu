// Atomics, barriers and pipelines of libcu++, and groups of cooperative groups, with mistakes planted: what nvcc makes of NVIDIA's headers.
// The format is that of ../patterns; the PTX is made on the spot and never committed.
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>

namespace cg = cooperative_groups;

#pragma nv_diag_suppress static_var_with_dynamic_init

using cuda::memory_order_acquire;
using cuda::memory_order_relaxed;
using cuda::memory_order_release;

#define KERNEL(name, bug) template __global__ decltype(name<bug>) name<bug>;
#define KERNELS_2(name) KERNEL(name, 0) KERNEL(name, 1)
#define KERNELS_3(name) KERNELS_2(name) KERNEL(name, 2)
#define KERNELS_4(name) KERNELS_3(name) KERNEL(name, 3)

// A message by atomic_ref. 1: of the block's scope; 2: relaxed on both sides; 3: the flag is read as a plain word.
//: run message<0> grid=2 block=1
//: in data u32[2]
//: in flag u32[1]
//: out data u32[2] = 41 42
//: twin message<1>
//: report race missing=scope at=POLL|FLAG
//: report race missing=scope at=READ|WRITE
//: twin message<2>
//: report race at=READ|WRITE
//: twin message<3>
//: report race at=PLAIN|FLAG
//: may race
template <int bug> __global__ void message(unsigned *data, unsigned *flag) {
    constexpr auto scope = bug == 1 ? cuda::thread_scope_block : cuda::thread_scope_device;
    constexpr auto store = bug == 2 ? memory_order_relaxed : memory_order_release;
    constexpr auto load = bug == 2 ? memory_order_relaxed : memory_order_acquire;
    cuda::atomic_ref<unsigned, scope> ready(*flag);
    if (blockIdx.x == 0) {
        data[0] = 41; // <- WRITE
        ready.store(1, store); // <- FLAG
    } else if (bug == 3) {
        data[1] = *flag + 41; // <- PLAIN
    } else {
        while (ready.load(load) == 0) { // <- POLL
        }
        data[1] = data[0] + 1; // <- READ
    }
}
KERNELS_4(message)

// A lock by exchange and a counter by fetch_add. 1: the lock is relaxed; 2: the counter is of the block's scope.
//: run lock<0> grid=4 block=1
//: in word u32[1]
//: in count u32[2]
//: out count u32[2] = 4 4
//: twin lock<1>
//: report race at=WORK,WORK
//: twin lock<2>
//: report race missing=scope at=COUNT,COUNT
template <int bug> __global__ void lock(unsigned *word, unsigned *count) {
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> taken(*word);
    while (taken.exchange(1, bug == 1 ? memory_order_relaxed : memory_order_acquire) != 0) {
    }
    count[0] += 1; // <- WORK
    taken.store(0, bug == 1 ? memory_order_relaxed : memory_order_release);
    constexpr auto scope = bug == 2 ? cuda::thread_scope_block : cuda::thread_scope_device;
    cuda::atomic_ref<unsigned, scope>(count[1]).fetch_add(1, memory_order_relaxed); // <- COUNT
}
KERNELS_3(lock)

// cuda::barrier: arrive, then wait. 1: half of the threads do not wait; 2: the word is read between arriving and waiting.
//: run phases<0> grid=1 block=64
//: in out u32[64]
//: out out u32[64] = for i: 63 - i
//: twin phases<1>
//: report race at=READ|WRITE
//: may unwritten
//: twin phases<2>
//: report race at=EARLY|WRITE
//: may race
//: may unwritten
template <int bug> __global__ void phases(unsigned *out) {
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ unsigned words[64];
    const unsigned t = threadIdx.x;
    if (t == 0) init(&barrier, 64);
    __syncthreads();
    words[t] = t; // <- WRITE
    auto token = barrier.arrive();
    if (bug == 2) out[t] = words[63 - t]; // <- EARLY
    if (bug != 1 || t < 32) barrier.wait(static_cast<decltype(token) &&>(token));
    if (bug != 2) out[t] = words[63 - t]; // <- READ
}
KERNELS_3(phases)

// A pipeline of two stages by memcpy_async, each thread's own. 1: the other threads' words are read without a barrier; 2: the stage
// is not waited for.
//: run stages<0> grid=1 block=64
//: in from u32[256] = for i: i / 64
//: in to u32[64]
//: out to u32[64] = 6*64
//: twin stages<1>
//: report race at=USE|COPY
//: may race
//: may unwritten
//: twin stages<2>
//: report race at=USE|COPY
//: may race
//: may unwritten
template <int bug> __global__ void stages(const unsigned *from, unsigned *to) {
    __shared__ unsigned stage[2][64];
    auto pipe = cuda::make_pipeline();
    const unsigned t = threadIdx.x;
    unsigned sum = 0;
    for (unsigned k = 0; k <= 4; k++) {
        if (k < 4) {
            pipe.producer_acquire();
            cuda::memcpy_async(&stage[k % 2][t], &from[k * 64 + t], cuda::aligned_size_t<4>(4), pipe); // <- COPY
            pipe.producer_commit();
        }
        if (k == 0) continue;
        if (bug == 2) __syncwarp();
        else pipe.consumer_wait();
        if (bug != 1) __syncthreads();
        sum += stage[(k - 1) % 2][63 - t]; // <- USE
        if (bug != 1) __syncthreads();
        if (bug != 2) pipe.consumer_release();
    }
    to[t] = sum;
}
KERNELS_3(stages)

// Tiles of 16 lanes. 1: the tile's barrier stands for the block's; 2: there is none.
//: run tiles<0> grid=1 block=64
//: in out u32[64]
//: out out u32[64] = for i: i ^ 15
//: twin tiles<1>
//: report race at=FAR|WRITE
//: may unwritten
//: twin tiles<2>
//: report race missing=warp-sync at=NEAR|WRITE
//: may unwritten
template <int bug> __global__ void tiles(unsigned *out) {
    __shared__ unsigned words[64];
    const unsigned t = threadIdx.x;
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    words[t] = t; // <- WRITE
    if (bug != 2) tile.sync();
    if (bug == 1) out[t] = words[t ^ 63]; // <- FAR
    else out[t] = words[t ^ 15]; // <- NEAR
}
KERNELS_3(tiles)

// A cluster's sum. 1: the block's barrier instead of the cluster's.
//: run cluster_sum<0> grid=4 block=32 cluster=2
//: in out u32[4]
//: out out u32[4] = 1 1 5 5
//: twin cluster_sum<1>
//: report race at=READ|WRITE
//: may unwritten
template <int bug> __global__ void cluster_sum(unsigned *out) {
    __shared__ unsigned mine;
    auto cluster = cg::this_cluster();
    if (threadIdx.x == 0) mine = blockIdx.x; // <- WRITE
    if (bug == 1) __syncthreads();
    else cluster.sync();
    if (threadIdx.x == 0) {
        const unsigned first = *cluster.map_shared_rank(&mine, 0), second = *cluster.map_shared_rank(&mine, 1); // <- READ
        out[blockIdx.x] = first + second;
    }
    cluster.sync();
}
KERNELS_2(cluster_sum)
