// Scopes and orders that are too narrow: the patterns of ScoR's benchmarks.

// A message from one CTA to another. 1: released to its own CTA alone; 2: acquired from its own CTA alone; 3: not released;
// 4: not acquired.
//: run message<0> grid=2 block=32
//: in data u32[32]
//: in flag u32[1]
//: in sum u32[32]
//: out sum u32[32] = for i: i + 7
//: twin message<1>
//: report race missing=scope at=POLL|FLAG
//: report race missing=scope at=READ|WRITE
//: twin message<2>
//: report race missing=scope at=POLL|FLAG
//: report race missing=scope at=READ|WRITE
//: twin message<3>
//: report race missing=release at=READ|WRITE
//: twin message<4>
//: report race at=READ|WRITE
template <int bug> __global__ void message(u32 *data, u32 *flag, u32 *sum) {
    const u32 t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = t + 7; // <- WRITE
        __syncthreads();
        if (t == 0) store<bug == 3 ? RELAXED : RELEASE, bug == 1 ? CTA : GPU>(flag, 1u); // <- FLAG
    } else {
        if (t == 0)
            while (load<bug == 4 ? RELAXED : ACQUIRE, bug == 2 ? CTA : GPU>(flag) == 0) { // <- POLL
            }
        __syncthreads();
        sum[t] = data[t]; // <- READ
    }
}
KERNELS_5(message)

// The same by fences around a volatile flag, as programs before C++11 have it. 1: the writer's fence is of the block; 2: the
// reader's is; 3: the writer has none; 4: the reader has none.
//: run fenced<0> grid=2 block=1
//: in data u32[2]
//: in flag u32[1]
//: out data u32[2] = 41 42
//: twin fenced<1>
//: report race at=READ|WRITE
//: twin fenced<2>
//: report race at=READ|WRITE
//: twin fenced<3>
//: report race missing=release at=READ|WRITE
//: twin fenced<4>
//: report race missing=acquire at=READ|WRITE
template <int bug> __global__ void fenced(u32 *data, volatile u32 *flag) {
    if (blockIdx.x == 0) {
        data[0] = 41; // <- WRITE
        if (bug == 1) fence<CTA>();
        else if (bug != 3) fence<GPU>();
        *flag = 1;
    } else {
        while (*flag == 0) {
        }
        if (bug == 2) fence<CTA>();
        else if (bug != 4) fence<GPU>();
        data[1] = plain_load(data) + 1; // <- READ
    }
}
KERNELS_5(fenced)

// All CTAs count. 1: atomicAdd_block; 2: of one CTA alone; 3: a load and a store.
//: run count<0> grid=4 block=64
//: in counter u32[1]
//: out counter u32[1] = 256
//: twin count<1>
//: report race missing=scope at=ADD,ADD
//: twin count<2>
//: report race missing=scope at=NARROW|WIDE
//: twin count<3>
//: report race at=STORE|LOAD
//: may race
template <int bug> __global__ void count(u32 *counter) {
    if (bug == 1) add<RELAXED, CTA>(counter, 1u); // <- ADD
    else if (bug == 2 && blockIdx.x == 1) add<RELAXED, CTA>(counter, 1u); // <- NARROW
    else if (bug == 3) {
        const u32 before = plain_load(counter); // <- LOAD
        plain_store(counter, before + 1); // <- STORE
    } else add<RELAXED, GPU>(counter, 1u); // <- WIDE
}
KERNELS_4(count)

// Each CTA takes work of its own queue by atomics of its CTA, as ScoR's work stealing does, and then of the next CTA's.
// 1: the owner's are too narrow for the thief.
//: run steal<0> grid=4 block=32
//: in heads u32[4]
//: in done u32[64]
//: out done u32[64] = 1*64
//: twin steal<1>
//: report race missing=scope at=OWN|THEFT
template <int bug> __global__ void steal(u32 *heads, u32 *done) {
    if (threadIdx.x != 0) return;
    const u32 own = blockIdx.x, other = (own + 1) % gridDim.x;
    for (;;) {
        const u32 item = add<RELAXED, bug == 1 ? CTA : GPU>(&heads[own], 1u); // <- OWN
        if (item >= 16) break;
        add(&done[own * 16 + item], 1u);
    }
    for (;;) {
        const u32 item = add<RELAXED, GPU>(&heads[other], 1u); // <- THEFT
        if (item >= 16) break;
        add(&done[other * 16 + item], 1u);
    }
}
KERNELS_2(steal)

// Work of the CTA's own queue, of which nobody steals: the narrow scope is wide enough. 1: queues are chosen by the CTA's
// number modulo 2, so that two CTAs share one.
//: run own_queue<0> grid=4 block=64
//: in heads u32[4]
//: in done u32[256]
//: out done u32[256] = 1*256
//: twin own_queue<1>
//: report race missing=scope at=TAKE,TAKE
template <int bug> __global__ void own_queue(u32 *heads, u32 *done) {
    const u32 queue = bug == 1 ? blockIdx.x % 2 : blockIdx.x;
    const u32 item = add<RELAXED, CTA>(&heads[queue], 1u); // <- TAKE
    if (item < 64) add(&done[queue * 64 + item], 1u);
}
KERNELS_2(own_queue)

// A cellular automaton of one dimension: CTAs tell their neighbours by flags that a generation is written. 1: the flag is
// released to the CTA only; 2: the neighbours are not waited for; 3: only the left one is.
//: run rule_110<0> grid=3 block=32
//: in cells u32[480] = 0*95 1 0*384
//: in ready u32[3]
//: twin rule_110<1>
//: report race missing=scope at=READY|WAIT
//: report race at=READ|WRITE
//: may race missing=scope
//: twin rule_110<2>
//: report race at=READ|WRITE
//: twin rule_110<3>
//: report race at=READ|WRITE
template <int bug> __global__ void rule_110(u32 *cells, u32 *ready) {
    const u32 t = threadIdx.x, b = blockIdx.x, i = b * 32 + t;
    for (u32 step = 0; step < 4; step++) {
        const u32 *now = cells + step * 96;
        u32 *next = cells + (step + 1) * 96;
        if (step > 0 && bug != 2) {
            if (t == 0 && b > 0)
                while (load<ACQUIRE, GPU>(&ready[b - 1]) < step) { // <- WAIT
                }
            if (t == 0 && b + 1 < gridDim.x && bug != 3)
                while (load<ACQUIRE, GPU>(&ready[b + 1]) < step) {
                }
            __syncthreads();
        }
        const u32 pattern = (i > 0 ? now[i - 1] * 4 : 0) + now[i] * 2 + (i < 95 ? now[i + 1] : 0); // <- READ
        next[i] = 110 >> pattern & 1; // <- WRITE
        __syncthreads();
        if (t == 0) store<RELEASE, bug == 1 ? CTA : GPU>(&ready[b], step + 1); // <- READY
    }
}
KERNELS_4(rule_110)

// CTAs of a cluster, and of two. 1: the scope of the cluster between clusters.
//: run cluster_counter<0> grid=4 block=32 cluster=2
//: in counters u32[2]
//: out counters u32[2] = 64 64
//: twin cluster_counter<1>
//: report race missing=scope at=ADD,ADD
template <int bug> __global__ void cluster_counter(u32 *counters) {
    add<RELAXED, CLUSTER>(&counters[bug == 1 ? 0 : blockIdx.x / 2], 1u); // <- ADD
}
KERNELS_2(cluster_counter)

// A flag of the cluster. 1: the reader is in another cluster; 2: the release is of the CTA.
//: run cluster_message<0> grid=4 block=1 cluster=2
//: in data u32[1]
//: in flag u32[1]
//: in got u32[1]
//: out got u32[1] = 5
//: twin cluster_message<1>
//: report race missing=scope at=POLL|FLAG
//: report race missing=scope at=READ|WRITE
//: twin cluster_message<2>
//: report race missing=scope at=POLL|FLAG
//: report race missing=scope at=READ|WRITE
template <int bug> __global__ void cluster_message(u32 *data, u32 *flag, u32 *got) {
    if (blockIdx.x == 0) {
        *data = 5; // <- WRITE
        store<RELEASE, bug == 2 ? CTA : CLUSTER>(flag, 1u); // <- FLAG
    } else if (blockIdx.x == (bug == 1 ? 2 : 1)) {
        while (load<ACQUIRE, CLUSTER>(flag) == 0) { // <- POLL
        }
        *got = *data; // <- READ
    }
}
KERNELS_3(cluster_message)

// A relay: 0 tells 1, 1 tells 2, 2 reads what 0 wrote. 1: the middle one does not acquire; 2: nor release; 3: its release is of
// the CTA, the first message of the device.
//: run relay<0> grid=3 block=1
//: in data u32[1]
//: in flags u32[2]
//: in got u32[1]
//: out got u32[1] = 9
//: twin relay<1>
//: report race at=READ|WRITE
//: twin relay<2>
//: report race at=READ|WRITE
//: twin relay<3>
//: report race missing=scope at=SECOND|TELL
//: report race at=READ|WRITE
template <int bug> __global__ void relay(u32 *data, u32 *flags, u32 *got) {
    if (blockIdx.x == 0) {
        *data = 9; // <- WRITE
        store<RELEASE, GPU>(&flags[0], 1u);
    } else if (blockIdx.x == 1) {
        while (load<bug == 1 ? RELAXED : ACQUIRE, GPU>(&flags[0]) == 0) {
        }
        store<bug == 2 ? RELAXED : RELEASE, bug == 3 ? CTA : GPU>(&flags[1], 1u); // <- TELL
    } else {
        while (load<ACQUIRE, GPU>(&flags[1]) == 0) { // <- SECOND
        }
        *got = *data; // <- READ
    }
}
KERNELS_4(relay)

// Vertices of colour numbers by neighbours: the shared work counter is of the device, the CTA's own of the CTA. 1: the device's
// counter too is taken by the CTA's scope; 2: the CTA's is a plain one.
//: run chunks<0> grid=4 block=64
//: in next u32[1]
//: in done u32[1024]
//: out done u32[1024] = 1*1024
//: twin chunks<1>
//: report race missing=scope at=CHUNK,CHUNK
//: twin chunks<2>
//: report race missing=barrier at=TAKEN|LOOK
//: may race
template <int bug> __global__ void chunks(u32 *next, u32 *done) {
    __shared__ u32 base, used;
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) {
            base = add<RELAXED, bug == 1 ? CTA : GPU>(next, 128u); // <- CHUNK
            used = 0;
        }
        __syncthreads();
        if (base >= 1024) return;
        for (;;) {
            u32 mine;
            if (bug == 2) {
                mine = plain_load(&used); // <- LOOK
                plain_store(&used, mine + 1); // <- TAKEN
            } else mine = add<RELAXED, CTA>(&used, 1u);
            if (mine >= 128) break;
            add(&done[base + mine], 1u);
        }
    }
}
KERNELS_3(chunks)
