// Clusters: the CTAs read and write one another's shared memory.

// A sum over the cluster by remote reads. 1: no barrier before them; 2: a barrier of the CTA instead; 3: arrived at, but not waited for
// until after the reads; 4: the arrival is relaxed.
//: run sum<0> grid=4 block=32 cluster=2
//: in out u32[4]
//: out out u32[4] = 3 3 7 7
//: twin sum<1>
//: report race at=READ|WRITE
//: may unwritten
//: twin sum<2>
//: report race at=READ|WRITE
//: may unwritten
//: twin sum<3>
//: report race at=READ|WRITE
//: may unwritten
//: twin sum<4>
//: report race at=READ|WRITE
template <int bug> __global__ void sum(u32 *out) {
    __shared__ u32 mine;
    if (threadIdx.x == 0) plain_store(&mine, blockIdx.x + 1); // <- WRITE
    if (bug == 2) __syncthreads();
    else if (bug == 4) cluster_arrive_relaxed(), cluster_wait();
    else if (bug == 3) cluster_arrive();
    else if (bug == 0) cluster_sync();
    if (threadIdx.x == 0)
        out[blockIdx.x] = plain_load(remote(&mine, 0)) + plain_load(remote(&mine, 1)); // <- READ
    if (bug == 3) cluster_wait();
    cluster_sync();
}
KERNELS_5(sum)

// Bins spread over the CTAs of the cluster, counted by remote atomics. 1: counted before all bins are zero; 2: read before all is
// counted; 3: atomics of the CTA's scope.
//: run spread_bins<0> grid=2 block=32 cluster=2
//: in values u32[64] = for i: i % 8
//: in counts u32[8]
//: out counts u32[8] = 8*8
//: twin spread_bins<1>
//: report race at=COUNT|ZERO
//: may unwritten
//: twin spread_bins<2>
//: report race at=RESULT|COUNT
//: twin spread_bins<3>
//: report race missing=scope at=COUNT,COUNT
template <int bug> __global__ void spread_bins(const u32 *values, u32 *counts) {
    __shared__ u32 bins[4];
    const u32 t = threadIdx.x, rank = cluster_rank();
    if (t < 4) plain_store(&bins[t], 0); // <- ZERO
    if (bug == 1) __syncthreads();
    else cluster_sync();
    const u32 value = values[blockIdx.x * 32 + t];
    add<RELAXED, bug == 3 ? CTA : CLUSTER>(remote(&bins[value % 4], value / 4), 1u); // <- COUNT
    if (bug == 2) __syncthreads();
    else cluster_sync();
    if (t < 4) counts[rank * 4 + t] = plain_load(&bins[t]); // <- RESULT
    if (bug == 2) cluster_sync();
}
KERNELS_4(spread_bins)

// Halos from the neighbour in the ring of the cluster. 1: the words are written again without a barrier after the reads; 2: the
// reads come before the barrier.
//: run halo<0> grid=4 block=32 cluster=4
//: in out u32[128]
//: out out u32[128] = for i: 2 * ((i + 32) % 128 / 32) + 1
//: twin halo<1>
//: report race at=AGAIN|READ
//: may race
//: twin halo<2>
//: report race at=READ|WRITE
//: may race
//: may unwritten
template <int bug> __global__ void halo(u32 *out) {
    __shared__ u32 words[32];
    const u32 t = threadIdx.x, rank = cluster_rank();
    u32 sum = 0;
    plain_store(&words[t], rank); // <- WRITE
    if (bug != 2) cluster_sync();
    sum += plain_load(remote(&words[31 - t], (rank + 1) % 4)); // <- READ
    if (bug != 1) cluster_sync();
    plain_store(&words[t], rank + 1); // <- AGAIN
    cluster_sync();
    sum += plain_load(remote(&words[t], (rank + 1) % 4));
    cluster_sync();
    out[blockIdx.x * 32 + t] = sum;
}
KERNELS_3(halo)

// A message by a flag in the other CTA's shared memory. 1: the flag is of the CTA's scope; 2: not released; 3: not acquired.
//: run remote_flag<0> grid=2 block=32 cluster=2
//: in out u32[1]
//: out out u32[1] = 11
//: twin remote_flag<1>
//: report race missing=scope at=POLL|FLAG
//: report race missing=scope at=READ|WRITE
//: twin remote_flag<2>
//: report race missing=release at=READ|WRITE
//: twin remote_flag<3>
//: report race missing=acquire at=READ|WRITE
template <int bug> __global__ void remote_flag(u32 *out) {
    __shared__ u32 data, flag;
    if (threadIdx.x == 0) store<RELAXED, CLUSTER>(&flag, 0u);
    cluster_sync();
    if (threadIdx.x == 0 && cluster_rank() == 0) {
        plain_store(remote(&data, 1), 11); // <- WRITE
        store<bug == 2 ? RELAXED : RELEASE, bug == 1 ? CTA : CLUSTER>(remote(&flag, 1), 1u); // <- FLAG
    }
    if (threadIdx.x == 0 && cluster_rank() == 1) {
        while (load<bug == 3 ? RELAXED : ACQUIRE, CLUSTER>(&flag) == 0) { // <- POLL
        }
        *out = plain_load(&data); // <- READ
    }
    cluster_sync();
}
KERNELS_4(remote_flag)

// Work split over the cluster and counted down: the last CTA collects. 1: the count is relaxed.
//: run collected<0> grid=4 block=32 cluster=4
//: in parts u32[4]
//: in out u32[1]
//: out out u32[1] = 10
//: twin collected<1>
//: report race at=READ|WRITE
template <int bug> __global__ void collected(u32 *parts, u32 *out) {
    __shared__ u32 count;
    if (threadIdx.x == 0) store<RELAXED, CLUSTER>(&count, 0u);
    cluster_sync();
    if (threadIdx.x == 0) {
        plain_store(&parts[cluster_rank()], cluster_rank() + 1); // <- WRITE
        if (add<bug == 1 ? RELAXED : ACQ_REL, CLUSTER>(remote(&count, 0), 1u) == 3) {
            u32 sum = 0;
            for (u32 i = 0; i < 4; i++) sum += plain_load(&parts[i]); // <- READ
            *out = sum;
        }
    }
    cluster_sync();
}
KERNELS_2(collected)

// Barriers of the cluster by a fence and a relaxed arrival, as the manual has it. 1: the fence is of the CTA; 2: it stands behind the
// arrival.
//: run fenced_arrival<0> grid=2 block=32 cluster=2
//: in words u32[64]
//: out words u32[64] = for i: (i + 32) % 64
//: twin fenced_arrival<1>
//: report race at=READ|WRITE
//: twin fenced_arrival<2>
//: report race at=READ|WRITE
template <int bug> __global__ void fenced_arrival(u32 *words) {
    const u32 i = blockIdx.x * 32 + threadIdx.x;
    plain_store(&words[i], i); // <- WRITE
    if (bug == 1) fence<CTA>();
    else if (bug != 2) fence<CLUSTER>();
    cluster_arrive_relaxed();
    if (bug == 2) fence<CLUSTER>();
    cluster_wait();
    const u32 other = plain_load(&words[(i + 32) % 64]); // <- READ
    cluster_sync();
    plain_store(&words[i], other);
}
KERNELS_3(fenced_arrival)
