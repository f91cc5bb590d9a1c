//: run negate grid=4 block=128
//: in in s32[1024] = for i: i * 3
//: out d s32[1024] = for i: 0 - i * 3
//: run transpose grid=3,2 block=16,16
//: in a s32[6144] = for i: i
//: map source tiled s32 of a size=96,64 stride=384 box=32,32
//: in b s32[6144]
//: map target tiled s32 of b size=64,96 stride=256 box=32,32
//: out b s32[6144] = for i: i % 64 * 96 + i / 64
//: run column_sums grid=2 block=64
//: in a f32[4096] = for i: i % 64
//: map rows tiled f32 of a size=64,64 stride=256 box=32,8
//: arg height s32 = 64
//: out d f32[64] = for i: 64 * i
//: run histogram grid=8 block=64
//: in keys u32[4096] = for i: i * i % 32
//: out counts u32[32] = 512 512 0 0 1024 0*4 512 0*6 512 512 0*7 512 0*6
//: run halo block=64
//: in a f32[64] = for i: i + 1
//: map image tiled f32 of a size=8,8 stride=32 box=12,4
//: out d f32[48] = 0*4 0*8 0*4 1 2 3 4 5 6 7 8 0*4 9 10 11 12 13 14 15 16 0*4 17 18 19 20 21 22 23 24

// Bulk and tensor copies through the barrier and the PTX functions of libcu++.
#include <cuda.h>
#include <cuda/barrier>
#include <cuda/ptx>

using barrier = cuda::barrier<cuda::thread_scope_block>;
namespace ptx = cuda::ptx;

// A block's part comes in and goes out as one copy each.
extern "C" __global__ void negate(const int *in, int *d) {
    __shared__ alignas(16) int part[256];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ barrier bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    if (threadIdx.x == 0) {
        cuda::device::memcpy_async_tx(part, in + blockIdx.x * 256, cuda::aligned_size_t<16>(sizeof(part)), bar);
    }
    auto token = threadIdx.x == 0 ? cuda::device::barrier_arrive_tx(bar, 1, sizeof(part)) : bar.arrive();
    bar.wait(std::move(token));
    for (int i = threadIdx.x; i < 256; i += blockDim.x) part[i] = -part[i];
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, d + blockIdx.x * 256, part, sizeof(part));
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

// A tile comes in by one map and goes out, transposed, by another.
extern "C" __global__ void transpose(const int *, const __grid_constant__ CUtensorMap source, int *,
                                     const __grid_constant__ CUtensorMap target) {
    __shared__ alignas(128) int from[32][32];
    __shared__ alignas(128) int to[32][32];
    __shared__ barrier bar;
    int thread = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;
    int at[2] = {int(blockIdx.x) * 32, int(blockIdx.y) * 32}, back[2] = {at[1], at[0]};
    if (thread == 0) {
        init(&bar, threads);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    barrier::arrival_token token;
    if (thread == 0) {
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, &from, &source, at,
                                  cuda::device::barrier_native_handle(bar));
        token = cuda::device::barrier_arrive_tx(bar, 1, sizeof(from));
    } else {
        token = bar.arrive();
    }
    bar.wait(std::move(token));
    for (int i = thread; i < 1024; i += threads) to[i % 32][i / 32] = from[i / 32][i % 32];
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (thread == 0) {
        ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &target, back, &to);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}

// Two tiles are under way at a time; one warp loads, the other one adds.
extern "C" __global__ void column_sums(const float *, const __grid_constant__ CUtensorMap rows, int height, float *d) {
    constexpr int STAGES = 2, TILE = 8;
    __shared__ alignas(128) float tile[STAGES][TILE][32];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            ptx::mbarrier_init(&full[i], 1);
            ptx::mbarrier_init(&empty[i], 32);
        }
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
    int steps = height / TILE;
    if (threadIdx.x == 32) {
        for (int i = 0; i < steps; i++) {
            int stage = i % STAGES, round = i / STAGES, at[2] = {int(blockIdx.x) * 32, i * TILE};
            while (round > 0 && !ptx::mbarrier_try_wait_parity(&empty[stage], (round - 1) & 1)) {}
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[stage], sizeof(tile[0]));
            ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, &tile[stage], &rows, at, &full[stage]);
        }
    } else if (threadIdx.x < 32) {
        float sum = 0;
        for (int i = 0; i < steps; i++) {
            int stage = i % STAGES;
            while (!ptx::mbarrier_try_wait_parity(&full[stage], (i / STAGES) & 1)) {}
            for (int row = 0; row < TILE; row++) sum += tile[stage][row][threadIdx.x];
            ptx::mbarrier_arrive(&empty[stage]);
        }
        d[blockIdx.x * 32 + threadIdx.x] = sum;
    }
}

// Each block counts by itself and adds its counts to all others' in one copy.
extern "C" __global__ void histogram(const unsigned *keys, unsigned *counts) {
    __shared__ alignas(16) unsigned mine[32];
    if (threadIdx.x < 32) mine[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < 512; i += blockDim.x) atomicAdd(&mine[keys[blockIdx.x * 512 + i]], 1);
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, counts, mine, sizeof(mine));
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}

// A tile that begins outside the image, on the left and above.
extern "C" __global__ void halo(const float *, const __grid_constant__ CUtensorMap image, float *d) {
    __shared__ alignas(128) float tile[4][12];
    __shared__ barrier bar;
    int at[2] = {-4, -1};
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    barrier::arrival_token token;
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, &tile, &image, at,
                                  cuda::device::barrier_native_handle(bar));
        token = cuda::device::barrier_arrive_tx(bar, 1, sizeof(tile));
    } else {
        token = bar.arrive();
    }
    bar.wait(std::move(token));
    if (threadIdx.x < 48) d[threadIdx.x] = tile[threadIdx.x / 12][threadIdx.x % 12];
}
