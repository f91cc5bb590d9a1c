// Locks of all kinds, and what they are to protect.

// A spin lock by compare-and-swap, of thread 0 of each CTA. 1: taken without an acquire; 2: given back without a release; 3: of the
// CTA's scope; 4: given back by a plain store.
//: run spin<0> grid=6 block=32
//: in lock u32[1]
//: in total u32[1]
//: out total u32[1] = 6
//: twin spin<1>
//: report race missing=acquire at=WORK,WORK
//: twin spin<2>
//: report race missing=release at=WORK,WORK
//: twin spin<3>
//: report race missing=scope at=LOCK|GIVE_BACK
//: report race missing=scope at=WORK,WORK
//: may race missing=scope
//: twin spin<4>
//: report race at=LOCK|UNLOCK
//: report race at=WORK,WORK
//: may race
template <int bug> __global__ void spin(u32 *lock, u32 *total) {
    if (threadIdx.x != 0) return;
    constexpr Scope scope = bug == 3 ? CTA : GPU;
    while (cas<bug == 1 ? RELAXED : ACQUIRE, scope>(lock, 0u, 1u) != 0) { // <- LOCK
    }
    *total += 1; // <- WORK
    if (bug == 4) plain_store(lock, 0); // <- UNLOCK
    else store<bug == 2 ? RELAXED : RELEASE, scope>(lock, 0u); // <- GIVE_BACK
}
KERNELS_5(spin)

// The same by fences and atomicExch, as the older books have it. 1: no fence behind the taking; 2: none before the giving back; 3: that
// one is of the block.
//: run spin_fenced<0> grid=6 block=32
//: in lock u32[1]
//: in total u32[1]
//: out total u32[1] = 6
//: twin spin_fenced<1>
//: report race at=WORK,WORK
//: twin spin_fenced<2>
//: report race at=WORK,WORK
//: twin spin_fenced<3>
//: report race at=WORK,WORK
template <int bug> __global__ void spin_fenced(u32 *lock, u32 *total) {
    if (threadIdx.x != 0) return;
    while (cas(lock, 0u, 1u) != 0) {
    }
    if (bug != 1) fence<GPU>();
    *total += 1; // <- WORK
    if (bug == 3) fence<CTA>();
    else if (bug != 2) fence<GPU>();
    exchange(lock, 0u);
}
KERNELS_4(spin_fenced)

// A ticket lock. 1: the turn is waited for without an acquire; 2: passed on without a release; 3: passed on before the work; 4: tickets
// of the CTA's scope.
//: run ticket<0> grid=5 block=1
//: in next u32[1]
//: in turn u32[1]
//: in total u32[1]
//: out total u32[1] = 5
//: twin ticket<1>
//: report race missing=acquire at=WORK,WORK
//: twin ticket<2>
//: report race missing=release at=WORK,WORK
//: twin ticket<3>
//: report race at=WORK,WORK
//: twin ticket<4>
//: report race missing=scope at=TICKET,TICKET
template <int bug> __global__ void ticket(u32 *next, u32 *turn, u32 *total) {
    const u32 mine = add<RELAXED, bug == 4 ? CTA : GPU>(next, 1u); // <- TICKET
    while (load<bug == 1 ? RELAXED : ACQUIRE, GPU>(turn) != mine) {
    }
    if (bug == 3) store<RELEASE, GPU>(turn, mine + 1);
    *total += 1; // <- WORK
    if (bug != 3) store<bug == 2 ? RELAXED : RELEASE, GPU>(turn, mine + 1);
}
KERNELS_5(ticket)

// Readers and writers: the word counts readers, its highest bit is the writer's. All readers meet inside, behind the first writer
// and before the second; what they count with is relaxed. 1: readers come in without an acquire; 2: they go out without a release;
// 3: the second writer takes no lock; 4: readers write.
//: run readers_and_writers<0> grid=6 block=1
//: in lock u32[1]
//: in data u32[2]
//: in seen u32[4]
//: in phase u32[1]
//: out data u32[2] = 2 2
//: out seen u32[4] = 1*4
//: twin readers_and_writers<1>
//: report race at=READ,WRITE
//: twin readers_and_writers<2>
//: report race at=WRITE,READ
//: twin readers_and_writers<3>
//: report race
//: may race
//: twin readers_and_writers<4>
//: report race at=MEDDLE,MEDDLE
template <int bug> __global__ void readers_and_writers(u32 *lock, u32 *data, u32 *seen, u32 *phase) {
    constexpr u32 WRITER = 0x80000000;
    const u32 b = blockIdx.x;
    if (b < 2) {
        while (load<RELAXED, GPU>(phase) != b * 5) {
        }
        if (bug != 3 || b == 0)
            while (cas<ACQUIRE, GPU>(lock, 0u, WRITER) != 0) {
            }
        plain_store(&data[0], b + 1); // <- WRITE
        plain_store(&data[1], b + 1);
        if (bug != 3 || b == 0) add<RELEASE, GPU>(lock, WRITER);
        if (b == 0) add(phase, 1u);
    } else {
        while (load<RELAXED, GPU>(phase) == 0) {
        }
        for (;;) {
            const u32 now = load<RELAXED, GPU>(lock);
            if (now & WRITER) continue;
            if (cas<bug == 1 ? RELAXED : ACQUIRE, GPU>(lock, now, now + 1) == now) break;
        }
        seen[b - 2] = plain_load(&data[0]); // <- READ
        if (bug == 4) plain_store(&seen[0], b); // <- MEDDLE
        add(phase, 1u);
        while (load<RELAXED, GPU>(phase) != 5) {
        }
        add<bug == 2 ? RELAXED : RELEASE, GPU>(lock, 0xffffffffu);
    }
}
KERNELS_5(readers_and_writers)

// A lock for each vertex of a graph: an edge takes those of both ends, the lower one first. 1: that of one end only; 2: the
// second is given back before the work.
//: run vertex_locks<0> grid=4 block=32
//: in locks u32[8]
//: in degrees u32[8]
//: out degrees u32[8] = 32*8
//: twin vertex_locks<1>
//: report race
//: may race
//: twin vertex_locks<2>
//: report race
//: may race
template <int bug> __global__ void vertex_locks(u32 *locks, u32 *degrees) {
    const u32 edge = blockIdx.x * 32 + threadIdx.x, from = edge % 8, to = (edge + 1 + edge / 8 % 7) % 8;
    const u32 low = from < to ? from : to, high = from + to - low;
    bool done = false;
    while (!done) {
        if (cas<ACQUIRE, GPU>(&locks[low], 0u, 1u) != 0) continue;
        if (bug != 1 && cas<ACQUIRE, GPU>(&locks[high], 0u, 1u) != 0) {
            store<RELEASE, GPU>(&locks[low], 0u);
            continue;
        }
        if (bug == 2) store<RELEASE, GPU>(&locks[high], 0u);
        plain_store(&degrees[low], plain_load(&degrees[low]) + 1);
        plain_store(&degrees[high], plain_load(&degrees[high]) + 1);
        if (bug == 0) store<RELEASE, GPU>(&locks[high], 0u);
        store<RELEASE, GPU>(&locks[low], 0u);
        done = true;
    }
}
KERNELS_3(vertex_locks)

// A sequence lock: readers try again if a writer was there. The data are relaxed atomics, since they are read while they are
// written. The second round waits until something has been read. 1: the data are plain; 2: only the reader's are.
//: run sequence_lock<0> grid=3 block=1
//: in sequence u32[1]
//: in data u32[2]
//: in seen u32[6]
//: in reads u32[1]
//: out data u32[2] = 3 3
//: twin sequence_lock<1>
//: report race at=PLAIN_READ|PLAIN_WRITE
//: may race
//: twin sequence_lock<2>
//: report race at=PLAIN_READ|WRITE
//: may race
template <int bug> __global__ void sequence_lock(u32 *sequence, u32 *data, u32 *seen, u32 *reads) {
    if (blockIdx.x == 0) {
        for (u32 round = 1; round <= 3; round++) {
            store<RELAXED, GPU>(sequence, round * 2 - 1);
            fence<GPU>();
            if (bug == 1) {
                plain_store(&data[0], round); // <- PLAIN_WRITE
                plain_store(&data[1], round);
            } else {
                store<RELAXED, GPU>(&data[0], round); // <- WRITE
                store<RELAXED, GPU>(&data[1], round);
            }
            store<RELEASE, GPU>(sequence, round * 2);
            while (load<RELAXED, GPU>(reads) < 2) {
            }
        }
    } else
        for (;;) {
            const u32 before = load<ACQUIRE, GPU>(sequence);
            const u32 first = bug != 0 ? plain_load(&data[0]) : load<RELAXED, GPU>(&data[0]); // <- PLAIN_READ
            const u32 second = bug != 0 ? plain_load(&data[1]) : load<RELAXED, GPU>(&data[1]);
            add(reads, 1u);
            fence<GPU>();
            if (before % 2 == 0 && load<RELAXED, GPU>(sequence) == before) {
                seen[blockIdx.x * 2] = first;
                seen[blockIdx.x * 2 + 1] = second;
                break;
            }
        }
}
KERNELS_3(sequence_lock)

// A lock that is tried, and work that is put off if it is taken: who has it waits until all have tried. 1: who does not get it
// works all the same; 2: it is got by a load and a store.
//: run try_lock<0> grid=4 block=1
//: in lock u32[1]
//: in tried u32[1]
//: in total u32[2]
//: out total u32[2] = 1 3
//: twin try_lock<1>
//: report race at=WORK,WORK
//: twin try_lock<2>
//: report race at=LOOK|TAKE
//: may race
template <int bug> __global__ void try_lock(u32 *lock, u32 *tried, u32 *total) {
    bool taken;
    if (bug == 2) {
        taken = plain_load(lock) == 0; // <- LOOK
        if (taken) plain_store(lock, 1); // <- TAKE
    } else taken = cas<ACQUIRE, GPU>(lock, 0u, 1u) == 0;
    add(tried, 1u);
    if (taken || bug == 1) total[0] += 1; // <- WORK
    else add(&total[1], 1u);
    while (taken && load<RELAXED, GPU>(tried) != 4) {
    }
    if (taken) store<RELEASE, GPU>(lock, 0u);
}
KERNELS_3(try_lock)

// A lock of warps in shared memory. 1: lanes of one warp take it for all, and the others do not wait; 2: the lock is relaxed.
//: run warps_lock<0> grid=1 block=128
//: in out u32[1]
//: out out u32[1] = 4
//: twin warps_lock<1>
//: report race at=WORK,WORK
//: twin warps_lock<2>
//: report race at=WORK,WORK
template <int bug> __global__ void warps_lock(u32 *out) {
    __shared__ u32 lock, total;
    if (threadIdx.x == 0) {
        lock = 0;
        total = 0;
    }
    __syncthreads();
    if (lane() == 0)
        while (cas<bug == 2 ? RELAXED : ACQUIRE, CTA>(&lock, 0u, 1u) != 0) {
        }
    if (bug != 1) sync_warp();
    if (lane() == 1) plain_store(&total, plain_load(&total) + 1); // <- WORK
    if (bug != 1) sync_warp();
    if (lane() == 0) store<bug == 2 ? RELAXED : RELEASE, CTA>(&lock, 0u);
    __syncthreads();
    if (threadIdx.x == 0) *out = plain_load(&total);
}
KERNELS_3(warps_lock)

// A queue of waiters (Mellor-Crummey and Scott): each waits at a word of its own; the first one waits until all are in the queue. 1: the
// word is written without a release; 2: the next one is linked without one, which is no race: whoever finds that it is not the
// last has acquired the tail, and with it what all those before have stored; 3: the tail is relaxed, too.
//: run queue_lock<0> grid=4 block=1
//: in tail u32[1]
//: in next u32[5]
//: in waits u32[5]
//: in total u32[2]
//: out total u32[1] = 4
//: twin queue_lock<1>
//: report race missing=release at=WORK,WORK
//: twin queue_lock<2>
//: twin queue_lock<3>
//: report race at=HAND_OVER|WAITS
template <int bug> __global__ void queue_lock(u32 *tail, u32 *next, u32 *waits, u32 *total) {
    constexpr Order both = bug == 3 ? RELAXED : ACQ_REL;
    const u32 me = blockIdx.x + 1;
    plain_store(&waits[me], 1); // <- WAITS
    const u32 before = exchange<both, GPU>(tail, me);
    add(&total[1], 1u);
    if (before != 0) {
        store<bug >= 2 ? RELAXED : RELEASE, GPU>(&next[before], me);
        while (load<ACQUIRE, GPU>(&waits[me]) != 0) {
        }
    } else
        while (load<RELAXED, GPU>(&total[1]) != 4) {
        }
    total[0] += 1; // <- WORK
    if (cas<both, GPU>(tail, me, 0u) != me) {
        u32 after;
        do
            after = load<bug >= 2 ? RELAXED : ACQUIRE, GPU>(&next[me]);
        while (after == 0);
        store<bug == 1 ? RELAXED : RELEASE, GPU>(&waits[after], 0u); // <- HAND_OVER
    }
}
KERNELS_4(queue_lock)

// A lock for reading and one for writing are two: each side takes its own, and nothing orders the sides.
//: run two_locks<0> grid=2 block=1
//: in locks u32[2]
//: in data u32[2]
//: twin two_locks<1>
//: report race at=WORK,WORK
template <int bug> __global__ void two_locks(u32 *locks, u32 *data) {
    u32 *lock = &locks[bug == 1 ? blockIdx.x : 0];
    while (cas<ACQUIRE, GPU>(lock, 0u, 1u) != 0) {
    }
    data[0] += 1; // <- WORK
    store<RELEASE, GPU>(lock, 0u);
}
KERNELS_2(two_locks)
