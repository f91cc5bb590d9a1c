// Queues, stacks and worklists.

// A ring for one producer and one consumer. 1: the head is published without a release; 2: read without an acquire; 3: places are
// given back without a release; 4: the producer waits for room without an acquire.
//: run ring<0> grid=2 block=1
//: in slots u32[4]
//: in head u32[1]
//: in tail u32[1]
//: in sum u32[1]
//: out sum u32[1] = 120
//: twin ring<1>
//: report race missing=release at=TAKE|PUT
//: twin ring<2>
//: report race missing=acquire at=TAKE|PUT
//: twin ring<3>
//: report race missing=release at=PUT|TAKE
//: twin ring<4>
//: report race missing=acquire at=PUT|TAKE
template <int bug> __global__ void ring(u32 *slots, u32 *head, u32 *tail, u32 *sum) {
    if (blockIdx.x == 0) {
        for (u32 i = 0; i < 16; i++) {
            while (i - load<bug == 4 ? RELAXED : ACQUIRE, GPU>(tail) >= 4) {
            }
            plain_store(&slots[i % 4], i); // <- PUT
            store<bug == 1 ? RELAXED : RELEASE, GPU>(head, i + 1);
        }
    } else {
        u32 total = 0;
        for (u32 i = 0; i < 16; i++) {
            while (load<bug == 2 ? RELAXED : ACQUIRE, GPU>(head) == i) {
            }
            total += plain_load(&slots[i % 4]); // <- TAKE
            store<bug == 3 ? RELAXED : RELEASE, GPU>(tail, i + 1);
        }
        *sum = total;
    }
}
KERNELS_5(ring)

// A ring for many: a ticket says which place, the place's sequence number whose turn it is. 1: the number is stored without a
// release; 2: waited for without an acquire; 3: it is stored before the value.
//: run tickets<0> grid=8 block=1
//: in slots u32[4]
//: in turns u32[4]
//: in next u32[2]
//: in sum u32[1]
//: out sum u32[1] = 10
//: twin tickets<1>
//: report race missing=release at=TAKE|PUT
//: may race missing=release
//: twin tickets<2>
//: report race missing=acquire at=TAKE|PUT
//: may race missing=acquire
//: twin tickets<3>
//: report race at=TAKE|LATE
//: may race
template <int bug> __global__ void tickets(u32 *slots, u32 *turns, u32 *next, u32 *sum) {
    if (blockIdx.x % 2 == 0) {
        const u32 ticket = add(&next[0], 1u);
        while (load<bug == 2 ? RELAXED : ACQUIRE, GPU>(&turns[ticket % 4]) != ticket / 4 * 2) {
        }
        if (bug != 3) plain_store(&slots[ticket % 4], ticket + 1); // <- PUT
        store<bug == 1 ? RELAXED : RELEASE, GPU>(&turns[ticket % 4], ticket / 4 * 2 + 1);
        if (bug == 3) plain_store(&slots[ticket % 4], ticket + 1); // <- LATE
    } else {
        const u32 ticket = add(&next[1], 1u);
        while (load<bug == 2 ? RELAXED : ACQUIRE, GPU>(&turns[ticket % 4]) != ticket / 4 * 2 + 1) {
        }
        add(sum, plain_load(&slots[ticket % 4])); // <- TAKE
        store<bug == 1 ? RELAXED : RELEASE, GPU>(&turns[ticket % 4], ticket / 4 * 2 + 2);
    }
}
KERNELS_4(tickets)

// A worklist of two sides: all CTAs take from the one and put to the other, and meet between. 1: they meet by relaxed operations; 2: the
// count of the old side is reset by a plain store before they meet.
//: run two_sides<0> grid=3 block=32
//: in items u32[256]
//: in counts u32[2] = 1 0
//: in done u32[1]
//: in counter u32[1]
//: out done u32[1] = 31
//: twin two_sides<1>
//: report race at=GET|PUT
//: may race
//: twin two_sides<2>
//: report race at=COUNT|RESET
template <int bug> __global__ void two_sides(u32 *items, u32 *counts, u32 *done, u32 *counter) {
    constexpr Order arrive = bug == 1 ? RELAXED : ACQ_REL, wait = bug == 1 ? RELAXED : ACQUIRE;
    const bool first = blockIdx.x == 0 && threadIdx.x == 0;
    for (u32 level = 0; level < 5; level++) {
        const u32 from = level % 2, to = 1 - from;
        const u32 count = load<RELAXED, GPU>(&counts[from]); // <- COUNT
        const u32 i = threadIdx.x * gridDim.x + blockIdx.x;
        if (i < count) {
            const u32 item = plain_load(&items[from * 128 + i]); // <- GET
            add(done, 1u);
            const u32 at = add(&counts[to], 2u);
            if (at + 1 < 128) {
                plain_store(&items[to * 128 + at], item * 2 + 1); // <- PUT
                plain_store(&items[to * 128 + at + 1], item * 2 + 2);
            }
        }
        if (bug == 2 && first) plain_store(&counts[from], 0); // <- RESET
        grid_sync<arrive, wait>(counter);
        if (bug != 2 && first) store<RELAXED, GPU>(&counts[from], 0u);
        grid_sync<arrive, wait>(counter);
    }
}
KERNELS_3(two_sides)

// Items are taken by many from a list that one CTA has filled. 1: the count is told before the items are there; 2: items are
// taken by a plain counter.
//: run list<0> grid=4 block=32
//: in items u32[64]
//: in count u32[1]
//: in next u32[1]
//: in sum u32[1]
//: out sum u32[1] = 2016
//: twin list<1>
//: report race at=TAKE|PUT
//: may race
//: twin list<2>
//: report race at=STEP|LOOK
//: may race
template <int bug> __global__ void list(u32 *items, u32 *count, u32 *next, u32 *sum) {
    const u32 t = threadIdx.x;
    if (blockIdx.x == 0) {
        if (bug == 1 && t == 0) store<RELEASE, GPU>(count, 64u);
        plain_store(&items[t], t); // <- PUT
        plain_store(&items[t + 32], t + 32);
        __syncthreads();
        if (bug != 1 && t == 0) store<RELEASE, GPU>(count, 64u);
    } else {
        while (load<ACQUIRE, GPU>(count) == 0) {
        }
        for (;;) {
            u32 i;
            if (bug == 2) {
                i = plain_load(next); // <- LOOK
                plain_store(next, i + 1); // <- STEP
            } else i = add(next, 1u);
            if (i >= 64) break;
            add(sum, plain_load(&items[i])); // <- TAKE
        }
    }
}
KERNELS_3(list)

// A stack of nodes by compare-and-swap, with a count in the top's upper half against ABA. The nodes are pushed by some, popped by others. 1: the push
// is relaxed; 2: the pop is; 3: the links are plain, though whoever fails to pop has read one.
//: run stack<0> grid=4 block=1
//: in top u64[1]
//: in nodes u32[8]
//: in values u32[8]
//: in sum u32[2]
//: out sum u32[1] = 30
//: twin stack<1>
//: report race missing=release at=VALUE|FILL
//: twin stack<2>
//: report race missing=acquire at=VALUE|FILL
//: twin stack<3>
//: report race at=LINK|NEXT
template <int bug> __global__ void stack(u64 *top, u32 *nodes, u32 *values, u32 *sum) {
    const u32 b = blockIdx.x;
    if (b < 2) {
        for (u32 i = 1; i <= 2; i++) {
            const u32 node = b * 2 + i;
            plain_store(&values[node], node * 3); // <- FILL
            u64 old = load<RELAXED, GPU>(top), before;
            do {
                before = old;
                if (bug == 3) plain_store(&nodes[node], (u32)before); // <- LINK
                else store<RELAXED, GPU>(&nodes[node], (u32)before);
                old = cas<bug == 1 ? RELAXED : RELEASE, GPU>(top, before, ((before >> 32) + 1) << 32 | node);
            } while (old != before);
        }
    } else {
        for (u32 taken = 0; taken < 2;) {
            const u64 now = load<RELAXED, GPU>(top);
            const u32 node = (u32)now;
            if (node == 0) continue;
            const u32 next = bug == 3 ? plain_load(&nodes[node]) : load<RELAXED, GPU>(&nodes[node]); // <- NEXT
            if (cas<bug == 2 ? RELAXED : ACQUIRE, GPU>(top, now, ((now >> 32) + 1) << 32 | next) != now) continue;
            add(sum, plain_load(&values[node])); // <- VALUE
            taken++;
        }
    }
}
KERNELS_4(stack)

// The owner pushes and pops at the bottom of its deque, a thief takes from the top. 1: the bottom is published relaxed; 2: the owner
// publishes it first and stores the item behind it.
//: run deque<0> grid=3 block=1
//: in items u32[16]
//: in bottom u32[1]
//: in top u32[1]
//: in sum u32[1]
//: out sum u32[1] = 136
//: twin deque<1>
//: report race missing=release at=STEAL|PUSH
//: twin deque<2>
//: report race at=STEAL|LATE
template <int bug> __global__ void deque(u32 *items, u32 *bottom, u32 *top, u32 *sum) {
    if (blockIdx.x == 0) {
        for (u32 i = 0; i < 16; i++) {
            if (bug != 2) plain_store(&items[i], i + 1); // <- PUSH
            store<bug == 1 ? RELAXED : RELEASE, GPU>(bottom, i + 1);
            if (bug == 2) plain_store(&items[i], i + 1); // <- LATE
        }
    } else
        for (;;) {
            const u32 first = load<RELAXED, GPU>(top);
            if (first == 16) break;
            if (first >= load<ACQUIRE, GPU>(bottom)) continue;
            const u32 item = plain_load(&items[first]); // <- STEAL
            if (cas(top, first, first + 1) == first) add(sum, item);
        }
}
KERNELS_3(deque)

// CTAs that stay and do every fourth piece of the work; a counter of what is done tells who is last and adds up. 1: the counter is
// relaxed; 2: the result is stored behind it; 3: nothing is released, and the last one alone has a fence.
//: run persistent<0> grid=4 block=32
//: in finished u32[1]
//: in results u32[16]
//: in sum u32[1]
//: out sum u32[1] = 120
//: twin persistent<1>
//: report race at=SUM|RESULT
//: twin persistent<2>
//: report race at=SUM|LATE
//: twin persistent<3>
//: report race missing=release at=SUM|RESULT
template <int bug> __global__ void persistent(u32 *finished, u32 *results, u32 *sum) {
    if (threadIdx.x != 0) return;
    for (u32 mine = blockIdx.x; mine < 16; mine += gridDim.x) {
        if (bug != 2) plain_store(&results[mine], mine); // <- RESULT
        const u32 before = add<bug == 1 ? RELAXED : bug == 3 ? ACQUIRE : ACQ_REL, GPU>(finished, 1u);
        if (bug == 3 && before == 15) fence<GPU>();
        if (bug == 2) plain_store(&results[mine], mine); // <- LATE
        if (before == 15) {
            u32 total = 0;
            for (u32 i = 0; i < 16; i++) total += plain_load(&results[i]); // <- SUM
            *sum = total;
        }
    }
}
KERNELS_4(persistent)
