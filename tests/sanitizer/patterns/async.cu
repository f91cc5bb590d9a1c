// Copies that threads start and wait for, pipelines of several stages, warps that specialise.

// A tile by cp.async. 1: not waited for; 2: waited for, but without a barrier for the others' words; 3: the barrier comes before the
// wait; 4: of two groups, one may still be under way.
//: run tile<0> grid=1 block=64
//: in from u32[128] = for i: i
//: in to u32[128]
//: out to u32[64] = for i: 63 - i + 127 - i
//: twin tile<1>
//: report race at=READ|COPY
//: may race
//: may unwritten
//: twin tile<2>
//: report race at=READ|COPY
//: may race
//: may unwritten
//: twin tile<3>
//: report race at=READ|COPY
//: may race
//: may unwritten
//: twin tile<4>
//: report race at=READ|SECOND
//: may race
//: may unwritten
template <int bug> __global__ void tile(const u32 *from, u32 *to) {
    __shared__ u32 words[128];
    const u32 t = threadIdx.x;
    copy_4(&words[t], &from[t]); // <- COPY
    copy_commit();
    copy_4(&words[t + 64], &from[t + 64]); // <- SECOND
    copy_commit();
    if (bug == 3) __syncthreads();
    if (bug == 4) copy_wait<1>();
    else if (bug != 1) copy_wait<0>();
    if (bug != 2 && bug != 3) __syncthreads();
    to[t] = plain_load(&words[63 - t]) + plain_load(&words[127 - t]); // <- READ
}
KERNELS_5(tile)

// Two stages: while one is used, the next one is copied. 1: no barrier after the use, so that the copy of the round after next
// overwrites what others still read; 2: the wait leaves the current one under way.
//: run two_stages<0> grid=1 block=64
//: in from u32[512] = for i: i / 64
//: in sums u32[64]
//: out sums u32[64] = 28*64
//: twin two_stages<1>
//: report race at=COPY|USE
//: may race
//: twin two_stages<2>
//: report race at=USE|COPY
//: may race
//: may unwritten
template <int bug> __global__ void two_stages(const u32 *from, u32 *sums) {
    __shared__ u32 stage[2][64];
    const u32 t = threadIdx.x;
    u32 sum = 0;
    for (u32 k = 0; k <= 8; k++) {
        if (k < 8) copy_4(&stage[k % 2][t], &from[k * 64 + t]); // <- COPY
        copy_commit();
        if (k == 0) continue;
        if (bug == 2) copy_wait<2>();
        else copy_wait<1>();
        __syncthreads();
        sum += plain_load(&stage[(k - 1) % 2][63 - t]); // <- USE
        if (bug != 1) __syncthreads();
    }
    sums[t] = sum;
}
KERNELS_3(two_stages)

// Three stages need one barrier a round. 1: only two buffers for three stages.
//: run three_stages<0> grid=1 block=64
//: in from u32[512] = for i: i / 64
//: in sums u32[64]
//: out sums u32[64] = 28*64
//: twin three_stages<1>
//: report race at=COPY|USE
//: may race
template <int bug> __global__ void three_stages(const u32 *from, u32 *sums) {
    constexpr u32 stages = bug == 1 ? 2 : 3;
    __shared__ u32 stage[3][64];
    const u32 t = threadIdx.x;
    u32 sum = 0;
    for (u32 k = 0; k < 10; k++) {
        if (k >= 2) {
            copy_wait<1>();
            __syncthreads();
        }
        if (k < 8) copy_4(&stage[k % stages][t], &from[k * 64 + t]); // <- COPY
        copy_commit();
        if (k >= 2) sum += plain_load(&stage[(k - 2) % stages][63 - t]); // <- USE
    }
    sums[t] = sum;
}
KERNELS_2(three_stages)

// Copies that tell a barrier in shared memory when they are done. 1: the barrier is arrived at, but not told by the copies; 2: it is
// not waited for.
//: run told<0> grid=1 block=64
//: in from u32[64] = for i: i
//: in to u32[64]
//: out to u32[64] = for i: 63 - i
//: twin told<1>
//: report race at=READ|COPY
//: may race
//: may unwritten
//: twin told<2>
//: report race at=READ|COPY
//: may race
//: may unwritten
template <int bug> __global__ void told(const u32 *from, u32 *to) {
    __shared__ u32 words[64];
    __shared__ u64 barrier;
    const u32 t = threadIdx.x;
    if (t == 0) mbarrier_init(&barrier, 64);
    __syncthreads();
    copy_4(&words[t], &from[t]); // <- COPY
    if (bug == 1) mbarrier_arrive(&barrier);
    else mbarrier_copies_arrive(&barrier);
    if (bug != 2) mbarrier_wait(&barrier, 0);
    to[t] = plain_load(&words[63 - t]); // <- READ
    copy_commit();
    copy_wait<0>();
}
KERNELS_3(told)

// A bulk copy by one thread. 1: nobody waits; 2: only the thread that started it does, and there is no barrier of the others.
//: run bulk<0> grid=1 block=64
//: in from u32[64] = for i: i
//: in to u32[64]
//: out to u32[64] = for i: 63 - i
//: twin bulk<1>
//: report race at=READ|COPY
//: may unwritten
//: twin bulk<2>
//: report race at=READ|COPY
//: may unwritten
template <int bug> __global__ void bulk(const u32 *from, u32 *to) {
    __shared__ __attribute__((aligned(128))) u32 words[64];
    __shared__ u64 barrier;
    const u32 t = threadIdx.x;
    if (t == 0) {
        mbarrier_init(&barrier, 1);
        proxy_fence();
    }
    __syncthreads();
    if (t == 0) {
        mbarrier_expect(&barrier, 256);
        bulk_load(words, from, 256, &barrier); // <- COPY
    }
    if (bug == 0 || (bug == 2 && t == 0)) mbarrier_wait(&barrier, 0);
    to[t] = plain_load(&words[63 - t]); // <- READ
    if (bug == 1 || bug == 2) mbarrier_wait(&barrier, 0);
}
KERNELS_3(bulk)

// One warp copies, two use, with a full and an empty barrier for each of two stages. 1: a stage is empty once the first warp says so;
// 2: the users say so before they have read; 3: they do not wait for the second round.
//: run specialised<0> grid=1 block=96
//: in from u32[256] = for i: i / 64
//: in to u32[64]
//: out to u32[64] = 6*64
//: twin specialised<1>
//: report race at=COPY|USE
//: may race
//: twin specialised<2>
//: report race at=COPY|USE
//: may race
//: twin specialised<3>
//: report race at=USE|COPY
//: may race
//: may unwritten
template <int bug> __global__ void specialised(const u32 *from, u32 *to) {
    __shared__ __attribute__((aligned(128))) u32 stage[2][64];
    __shared__ u64 full[2], empty[2];
    const u32 t = threadIdx.x;
    if (t == 0) {
        for (u32 s = 0; s < 2; s++) {
            mbarrier_init(&full[s], 1);
            mbarrier_init(&empty[s], bug == 1 ? 32 : 64);
        }
        proxy_fence();
    }
    __syncthreads();
    if (t >= 64) {
        if (t == 64)
            for (u32 k = 0; k < 4; k++) {
                const u32 s = k % 2;
                if (k >= 2) mbarrier_wait(&empty[s], (k / 2 - 1) % 2);
                mbarrier_expect(&full[s], 256);
                bulk_load(stage[s], from + k * 64, 256, &full[s]); // <- COPY
            }
    } else {
        u32 sum = 0;
        for (u32 k = 0; k < 4; k++) {
            const u32 s = k % 2;
            if (bug != 3 || k < 2) mbarrier_wait(&full[s], k / 2 % 2);
            named_sync(1, 64);
            if (bug == 2) mbarrier_arrive(&empty[s]);
            sum += plain_load(&stage[s][63 - t]); // <- USE
            if (bug == 0 || bug == 3 || (bug == 1 && t < 32)) mbarrier_arrive(&empty[s]);
        }
        to[t] = sum;
    }
}
KERNELS_4(specialised)

// What the threads have written goes out by a bulk copy. 1: without a fence of the proxies; 2: the fence is thread 0's, before the
// barrier; 3: the words are written again before the copy has read them.
//: run out_by_bulk<0> grid=1 block=64
//: in to u32[64]
//: out to u32[64] = for i: i + 1
//: twin out_by_bulk<1>
//: report race missing=proxy-fence at=COPY|FILL
//: twin out_by_bulk<2>
//: report race missing=proxy-fence at=COPY|FILL
//: twin out_by_bulk<3>
//: report race at=AGAIN|COPY
template <int bug> __global__ void out_by_bulk(u32 *to) {
    __shared__ __attribute__((aligned(128))) u32 words[64];
    const u32 t = threadIdx.x;
    plain_store(&words[t], t + 1); // <- FILL
    if ((bug != 1 && bug != 2) || (bug == 2 && t == 0)) proxy_fence();
    __syncthreads();
    if (t == 0) {
        bulk_store(to, words, 256); // <- COPY
        if (bug != 3) bulk_wait_read();
    }
    __syncthreads();
    plain_store(&words[t], 0); // <- AGAIN
    if (t == 0) bulk_wait();
}
KERNELS_4(out_by_bulk)

// Phases of a barrier: arrive, work on something else, wait. 1: the wait comes before the arrival, for the phase before, which is over; 2: one thread
// arrives twice for another; 3: arriving and waiting are relaxed; 4: who arrives last does not wait.
//: run phases<0> grid=1 block=64
//: in out u32[64]
//: out out u32[64] = for i: 63 - i
//: twin phases<1>
//: report race at=READ|WRITE
//: may unwritten
//: twin phases<2>
//: report race at=READ|WRITE
//: may unwritten
//: twin phases<3>
//: report race at=READ|WRITE
//: twin phases<4>
//: report race at=READ|WRITE
//: may unwritten
template <int bug> __global__ void phases(u32 *out) {
    __shared__ u32 words[64];
    __shared__ u64 barrier;
    const u32 t = threadIdx.x;
    if (t == 0) mbarrier_init(&barrier, 64);
    __syncthreads();
    if (bug == 2 && t == 0) mbarrier_arrive(&barrier);
    plain_store(&words[t], t); // <- WRITE
    if (bug == 1) mbarrier_wait(&barrier, 1);
    if (bug == 3) mbarrier_arrive_relaxed(&barrier);
    else if (bug != 2 || t != 63) mbarrier_arrive(&barrier);
    if (bug == 3) mbarrier_wait_relaxed(&barrier, 0);
    else if (bug != 1 && (bug != 4 || t < 32)) mbarrier_wait(&barrier, 0);
    out[t] = plain_load(&words[63 - t]); // <- READ
}
KERNELS_5(phases)
