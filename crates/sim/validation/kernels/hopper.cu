// What compute capability 9.0 has: bulk copies and their barriers, products of a warpgroup, clusters and their shared memory.

INLINE void barrier_begin(u32 barrier, u32 arrivals) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(barrier), "r"(arrivals) : "memory"); }
INLINE void barriers_begun() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
INLINE void arrive(u32 barrier) { asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" :: "r"(barrier) : "memory"); }
INLINE void expect(u32 barrier, u32 bytes) { asm volatile("{ .reg .b64 state; mbarrier.arrive.expect_tx.shared.b64 state, [%0], %1; }" :: "r"(barrier), "r"(bytes) : "memory"); }
INLINE void wait(u32 barrier, u32 parity) {
    u32 done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
            : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
}
INLINE void copy_bulk(u32 to, const void *from, u32 bytes, u32 barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
        :: "r"(to), "l"(from), "r"(bytes), "r"(barrier) : "memory");
}

// Four KiB a CTA by bulk copies, to shared memory and from there.
extern "C" __global__ void bulk_copy(const u8 *in, u8 *out) {
    __shared__ __attribute__((aligned(128))) u8 bytes[4096];
    __shared__ u64 barrier;
    u32 to = shared_address(bytes), full = shared_address(&barrier);
    if (threadIdx.x == 0) {
        barrier_begin(full, 1);
        barriers_begun();
        expect(full, 4096);
        copy_bulk(to, in + blockIdx.x * 4096ull, 4096, full);
        wait(full, 0);
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 4096;" :: "l"(out + blockIdx.x * 4096ull), "r"(to) : "memory");
        asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::: "memory");
    }
}

// A warp brings tiles of 1,024 numbers by bulk copies through four stages; the others sum them up.
extern "C" __global__ void bulk_pipeline(const float *in, float *out, int tiles) {
    __shared__ __attribute__((aligned(128))) float stages[4][1024];
    __shared__ u64 barriers[8];
    u32 full = shared_address(barriers), empty = full + 32, base = shared_address(stages);
    if (threadIdx.x == 0) {
        for (int i = 0; i < 4; ++i) barrier_begin(full + 8 * i, 1), barrier_begin(empty + 8 * i, 128);
        barriers_begun();
    }
    __syncthreads();
    const float *own = in + blockIdx.x * tiles * 1024ull;
    if (threadIdx.x >= 128) {
        if (threadIdx.x == 128)
            for (int i = 0; i < tiles; ++i) {
                u32 stage = i % 4;
                if (i >= 4) wait(empty + 8 * stage, (i / 4 - 1) & 1);
                expect(full + 8 * stage, 4096);
                copy_bulk(base + 4096 * stage, own + i * 1024, 4096, full + 8 * stage);
            }
        return;
    }
    float sum = 0;
    for (int i = 0; i < tiles; ++i) {
        u32 stage = i % 4;
        wait(full + 8 * stage, i / 4 & 1);
        for (int k = 0; k < 8; ++k) sum += stages[stage][k * 128 + threadIdx.x];
        arrive(empty + 8 * stage);
    }
    out[blockIdx.x * 128 + threadIdx.x] = sum;
}

// Two halves of a CTA hand numbers to one another by barriers in shared memory.
extern "C" __global__ void barrier_ring(const int *in, int *out, int rounds) {
    __shared__ int numbers[2][128];
    __shared__ u64 barriers[4];
    int t = threadIdx.x % 128;
    u32 full = shared_address(barriers), empty = full + 16;
    if (threadIdx.x == 0) {
        for (int i = 0; i < 4; ++i) barrier_begin(full + 8 * i, 128);
        barriers_begun();
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        int own = in[blockIdx.x * 128 + t];
        for (int i = 0; i < rounds; ++i) {
            if (i >= 2) wait(empty + 8 * (i % 2), (i / 2 - 1) & 1);
            numbers[i % 2][t] = own = own * 1664525 + 1013904223;
            arrive(full + 8 * (i % 2));
        }
        return;
    }
    int sum = 0;
    for (int i = 0; i < rounds; ++i) {
        wait(full + 8 * (i % 2), i / 2 & 1);
        sum ^= numbers[i % 2][(t + i) % 128];
        arrive(empty + 8 * (i % 2));
    }
    out[blockIdx.x * 128 + t] = sum;
}

INLINE u64 descriptor(u32 address) {
    // No swizzling; matrices of 8 x 8 halves lie 1,024 bytes apart along k, 128 along rows.
    return (u64)(address >> 4 & 0x3fff) | 64ull << 16 | 8ull << 32;
}
INLINE void products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
INLINE void products_end() { asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;" ::: "memory"); }

#define FOUR(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SIXTEEN(d, i) FOUR(d, i), FOUR(d, i + 4), FOUR(d, i + 8), FOUR(d, i + 12)

// D += A * B^T: 64 x 64 by 16.
INLINE void product64(float (&d)[32], u64 a, u64 b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, 1, 1, 1, 0, 0;"
        : SIXTEEN(d, 0), SIXTEEN(d, 16) : "l"(a), "l"(b));
}
// D += A * B^T: 64 x 128 by 16.
INLINE void product128(float (&d)[64], u64 a, u64 b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, 1, 1, 1, 0, 0;"
        : SIXTEEN(d, 0), SIXTEEN(d, 16), SIXTEEN(d, 32), SIXTEEN(d, 48) : "l"(a), "l"(b));
}

// C = A * B^T of halves, n x n, in tiles of 64 x 64 that lie in memory as the products want them; two stages, each brought by two bulk
// copies.
extern "C" __global__ void wgmma_matmul(const u8 *a, const u8 *b, float *c, int n) {
    __shared__ __attribute__((aligned(128))) u8 tiles[2][2][8192];
    __shared__ u64 barriers[2];
    u32 base = shared_address(tiles), full = shared_address(barriers), steps = n / 64, t = threadIdx.x;
    const u8 *rows = a + blockIdx.y * steps * 8192ull, *columns = b + blockIdx.x * steps * 8192ull;
    auto load = [&](u32 step) {
        u32 stage = step % 2;
        expect(full + 8 * stage, 16384);
        copy_bulk(base + 16384 * stage, rows + step * 8192, 8192, full + 8 * stage);
        copy_bulk(base + 16384 * stage + 8192, columns + step * 8192, 8192, full + 8 * stage);
    };
    if (t == 0) {
        barrier_begin(full, 1), barrier_begin(full + 8, 1);
        barriers_begun();
        load(0);
    }
    __syncthreads();
    float d[32] = {};
    for (u32 step = 0; step < steps; ++step) {
        if (t == 0 && step + 1 < steps) load(step + 1);
        wait(full + 8 * (step % 2), step / 2 & 1);
        u32 of_a = base + 16384 * (step % 2);
        products_begin();
#pragma unroll
        for (u32 k = 0; k < 4; ++k) product64(d, descriptor(of_a + k * 2048), descriptor(of_a + 8192 + k * 2048));
        products_end();
        __syncthreads();
    }
    float *place = c + (blockIdx.y * 64 + t / 32 * 16 + t % 32 / 4) * n + blockIdx.x * 64 + t % 4 * 2;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        place[i * 8] = d[4 * i], place[i * 8 + 1] = d[4 * i + 1];
        place[8 * n + i * 8] = d[4 * i + 2], place[8 * n + i * 8 + 1] = d[4 * i + 3];
    }
}

// The same with 64 x 128 of C a CTA, four stages, and a warp of its own that brings them.
extern "C" __global__ void wgmma_pipeline(const u8 *a, const u8 *b, float *c, int n) {
    extern __shared__ __attribute__((aligned(128))) u8 tiles[];
    __shared__ u64 barriers[8];
    const u32 STAGE = 8192 + 16384;
    u32 base = shared_address(tiles), full = shared_address(barriers), empty = full + 32, steps = n / 64, t = threadIdx.x;
    if (t == 0) {
        for (int i = 0; i < 4; ++i) barrier_begin(full + 8 * i, 1), barrier_begin(empty + 8 * i, 128);
        barriers_begun();
    }
    __syncthreads();
    if (t >= 128) {
        if (t == 128) {
            const u8 *rows = a + blockIdx.y * steps * 8192ull, *columns = b + blockIdx.x * steps * 16384ull;
            for (u32 step = 0; step < steps; ++step) {
                u32 stage = step % 4;
                if (step >= 4) wait(empty + 8 * stage, (step / 4 - 1) & 1);
                expect(full + 8 * stage, STAGE);
                copy_bulk(base + STAGE * stage, rows + step * 8192, 8192, full + 8 * stage);
                copy_bulk(base + STAGE * stage + 8192, columns + step * 16384, 16384, full + 8 * stage);
            }
        }
        return;
    }
    float d[64] = {};
    for (u32 step = 0; step < steps; ++step) {
        u32 stage = step % 4, of_a = base + STAGE * stage;
        wait(full + 8 * stage, step / 4 & 1);
        products_begin();
#pragma unroll
        for (u32 k = 0; k < 4; ++k) {
            // Matrices lie 2,048 bytes apart along k here.
            u64 of_b = (u64)((of_a + 8192 + k * 4096) >> 4 & 0x3fff) | 128ull << 16 | 8ull << 32;
            product128(d, descriptor(of_a + k * 2048), of_b);
        }
        products_end();
        arrive(empty + 8 * stage);
    }
    float *place = c + (blockIdx.y * 64 + t / 32 * 16 + t % 32 / 4) * n + blockIdx.x * 128 + t % 4 * 2;
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        place[i * 8] = d[4 * i], place[i * 8 + 1] = d[4 * i + 1];
        place[8 * n + i * 8] = d[4 * i + 2], place[8 * n + i * 8 + 1] = d[4 * i + 3];
    }
}

INLINE u32 cluster_rank() { return __nvvm_read_ptx_sreg_cluster_ctarank(); }
INLINE void cluster_meet() { asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory"); }
INLINE u32 mapped(u32 address, u32 rank) {
    u32 there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
    return there;
}
INLINE int load_cluster(u32 address) {
    int value;
    asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
    return value;
}

// The sum of 1,024 elements by each CTA; those of a cluster of four come together in the first one's shared memory.
extern "C" __global__ void cluster_reduce(const uint4 *in, int *out) {
    __shared__ int sums[8], all[4];
    const uint4 own = in[thread_id()];
    int sum = warp_sum((int)(own.x + own.y + own.z + own.w));
    if (lane_id() == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    cluster_meet();
    if (threadIdx.x == 0) {
        for (int warp = 1; warp < 8; ++warp) sum += sums[warp];
        asm volatile("st.shared::cluster.s32 [%0], %1;" :: "r"(mapped(shared_address(&all[cluster_rank()]), 0)), "r"(sum) : "memory");
    }
    cluster_meet();
    if (cluster_rank() == 0 && threadIdx.x == 0) out[blockIdx.x / 4] = all[0] + all[1] + all[2] + all[3];
}

// Counts of 2,048 values, whose counters lie in the shared memory of the four CTAs of a cluster.
extern "C" __global__ void cluster_histogram(const u32 *in, u32 *counts, int n) {
    __shared__ u32 own[512];
    for (int i = threadIdx.x; i < 512; i += blockDim.x) own[i] = 0;
    __syncthreads();
    cluster_meet();
    for (int i = thread_id(); i < n; i += gridDim.x * blockDim.x) {
        u32 value = in[i] & 2047;
        asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], 1;" :: "r"(mapped(shared_address(&own[value & 511]), value >> 9)) : "memory");
    }
    cluster_meet();
    for (int i = threadIdx.x; i < 512; i += blockDim.x) atomic_add(&counts[cluster_rank() * 512 + i], own[i]);
}

// Steps of diffusion along a line of which each CTA of a cluster of four has a part: at the ends neighbours' memory is read.
extern "C" __global__ void cluster_diffusion(const int *in, int *out, int steps) {
    __shared__ int line[2][256];
    int t = threadIdx.x, rank = cluster_rank();
    line[0][t] = in[thread_id()];
    cluster_meet();
    for (int step = 0; step < steps; ++step) {
        u32 now = shared_address(line[step % 2]);
        int left = t > 0 ? line[step % 2][t - 1] : load_cluster(mapped(now + 255 * 4, (rank + 3) % 4));
        int right = t < 255 ? line[step % 2][t + 1] : load_cluster(mapped(now, (rank + 1) % 4));
        line[(step + 1) % 2][t] = (left + right + 2 * line[step % 2][t]) >> 2;
        cluster_meet();
    }
    out[thread_id()] = line[steps % 2][t];
}
