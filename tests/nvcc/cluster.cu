//: run histogram grid=8 block=64 cluster=4
//: in keys s32[2048] = for i: i * i % 97
//: out bins s32[128] = 22 43 42 43 43 0 42 0 42 43 0 42 42 0 0 0 43 0 42 0 0 0 42 0 42 43 0 42 0 0 0 42 42 42 0 42 43 0 0 0 0 0 0 42 42 0 0 42 42 43 42 0 0 42 42 0 0 0 0 0 0 42 42 0 43 42 42 0 0 0 42 0 42 42 0 42 0 0 0 42 0 43 0 0 0 42 42 0 42 42 0 42 0 42 42 42 42 0*31
//: run rotate grid=12 block=32 cluster=6
//: out d s32[384] = for i: (i / 32 / 6 * 6 + (i / 32 + 1) % 6) * 1000 + i % 32
//: run rotate grid=12 block=32 cluster=3
//: out d s32[384] = for i: (i / 32 / 3 * 3 + (i / 32 + 1) % 3) * 1000 + i % 32
//: run sum grid=8 block=128
//: out d s32[8] = for i: 512 * 511 / 2 + (i / 4 * 512 * 512)

// Clusters as cooperative groups has them: distributed shared memory, ranks, split barriers.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define CLUSTERS_OF_4 __cluster_dims__(4, 1, 1)
#else
#define CLUSTERS_OF_4
#endif

// A histogram of 128 bins, 32 of them in each CTA of a cluster.
extern "C" __global__ void histogram(const int *keys, int *bins) {
#if __CUDA_ARCH__ >= 900
    __shared__ int mine[32];
    auto cluster = cg::this_cluster();
    if (threadIdx.x < 32) mine[threadIdx.x] = 0;
    cluster.sync();
    for (int i = cluster.thread_rank(); i < 1024; i += cluster.num_threads()) {
        int key = keys[blockIdx.x / 4 * 1024 + i];
        atomicAdd(cluster.map_shared_rank(&mine[key % 32], key / 32), 1);
    }
    cluster.sync();
    if (threadIdx.x < 32) atomicAdd(&bins[cluster.block_rank() * 32 + threadIdx.x], mine[threadIdx.x]);
#endif
}

// Every CTA reads what the next one of its cluster has.
extern "C" __global__ void rotate(int *d) {
#if __CUDA_ARCH__ >= 900
    __shared__ int mine[32];
    auto cluster = cg::this_cluster();
    mine[threadIdx.x] = blockIdx.x * 1000 + threadIdx.x;
    auto token = cluster.barrier_arrive();
    unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
    cluster.barrier_wait(std::move(token));
    d[blockIdx.x * 32 + threadIdx.x] = cluster.map_shared_rank(mine, next)[threadIdx.x];
    cluster.sync();
#endif
}

// The sum over a cluster, whose size the kernel says itself.
extern "C" __global__ void CLUSTERS_OF_4 sum(int *d) {
#if __CUDA_ARCH__ >= 900
    __shared__ int total;
    auto cluster = cg::this_cluster();
    if (threadIdx.x == 0) total = 0;
    cluster.sync();
    int value = blockIdx.x * 128 + threadIdx.x;
    int *everyone = cluster.map_shared_rank(&total, 0);
    atomicAdd(everyone, value);
    cluster.sync();
    if (threadIdx.x == 0) d[blockIdx.x] = *everyone;
    cluster.sync();
#endif
}
