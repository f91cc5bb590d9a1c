// Kernels written to be hard: races that look benign, synchronisation that depends on data, and code that looks racy and is not.

// All that write store the same value. Still a race by the model. 1: from several CTAs; 2: the flag `found` of a search.
//: run same_value<0> grid=2 block=32
//: in values u32[64] = for i: i % 5
//: in found u32[1]
//: out found u32[1] = 1
//: twin same_value<1>
//: report race at=STORE,STORE
//: twin same_value<2>
//: report race at=SET,SET
//: may race
template <int bug> __global__ void same_value(const u32 *values, u32 *found) {
    const u32 i = blockIdx.x * 32 + threadIdx.x;
    if (bug == 1) plain_store(found, 1); // <- STORE
    else if (values[i] == 3) {
        if (bug == 2) {
            if (plain_load(found) == 0) plain_store(found, 1); // <- SET
        } else store<RELAXED, GPU>(found, 1u);
    }
}
KERNELS_3(same_value)

// Initialised once by whoever comes first. 1: the check is plain; 2: the flag is set before what it stands for; 3: the flag is
// checked relaxed.
//: run once<0> grid=4 block=1
//: in state u32[1]
//: in table u32[4]
//: in out u32[4]
//: out out u32[4] = 8*4
//: twin once<1>
//: report race at=DONE|PLAIN
//: may race
//: twin once<2>
//: report race at=USE|FILL
//: twin once<3>
//: report race missing=acquire at=USE|FILL
template <int bug> __global__ void once(u32 *state, u32 *table, u32 *out) {
    if (cas(state, 0u, 1u) == 0) {
        if (bug == 2) store<RELEASE, GPU>(state, 2u);
        plain_store(&table[1], 8); // <- FILL
        if (bug == 1) plain_store(state, 2); // <- DONE
        else if (bug != 2) store<RELEASE, GPU>(state, 2u);
        out[blockIdx.x] = 8;
    } else {
        if (bug == 1) {
            while (*(volatile u32 *)state != 2) { // <- PLAIN
            }
        } else while (load<bug == 3 ? RELAXED : ACQUIRE, GPU>(state) != 2) {
        }
        out[blockIdx.x] = plain_load(&table[1]); // <- USE
    }
}
KERNELS_4(once)

// Bytes of one word: neighbours that do not touch. 1: one of them writes its byte by reading, changing and storing the word; 2:
// bytes of 16 bits overlap.
//: run bytes<0> grid=1 block=64
//: in bytes u8[128]
//: out bytes u8[64] = for i: i + 1
//: twin bytes<1>
//: report race at=WORD|BYTE
//: twin bytes<2>
//: report race at=HALF|BYTE
//: may race
template <int bug> __global__ void bytes(u8 *bytes) {
    const u32 t = threadIdx.x;
    asm volatile("st.u8 [%0], %1;" : : "l"(bytes + t), "r"(t + 1) : "memory"); // <- BYTE
    if (bug == 1 && t == 33) {
        u32 *word = (u32 *)bytes + 2;
        plain_store(word, plain_load(word) | 0x80); // <- WORD
    }
    if (bug == 2 && t % 2 == 1 && t < 62)
        asm volatile("st.u16 [%0], %1;" : : "l"(bytes + t + 1), "h"((unsigned short)7) : "memory"); // <- HALF
}
KERNELS_3(bytes)

// Where a thread writes is data: a permutation. 1: two numbers are the same.
//: run permutation<0> grid=2 block=32
//: in places u32[64] = for i: i * 37 % 64
//: in out u32[64]
//: out out u32[64] = for i: i * 45 % 64
//: run permutation<1> grid=2 block=32
//: in places u32[64] = for i: i * 37 % 64 - i / 63 * 27
//: in out u32[64]
//: report race at=STORE,STORE
template <int bug> __global__ void permutation(const u32 *places, u32 *out) {
    const u32 i = blockIdx.x * 32 + threadIdx.x;
    plain_store(&out[places[i]], i); // <- STORE
}
KERNELS_2(permutation)

// How often a barrier is come to depends on data that is the same for all. 1: on data that is not, though everyone comes to as many
// barriers in the end: the rounds no longer separate what they did.
//: run uneven<0> grid=1 block=64
//: in rounds u32[64] = 3*64
//: in out u32[64]
//: run uneven<1> grid=1 block=64
//: in rounds u32[64] = 2*32 3*32
//: in out u32[64]
//: report race missing=barrier at=LATE|READ
template <int bug> __global__ void uneven(const u32 *rounds, u32 *out) {
    __shared__ u32 words[64];
    const u32 t = threadIdx.x, count = rounds[t];
    u32 sum = 0;
    for (u32 k = 0; k < count; k++) {
        plain_store(&words[t], k);
        __syncthreads();
        sum += plain_load(&words[63 - t]); // <- READ
        __syncthreads();
    }
    for (u32 k = count; k < 3; k++) {
        __syncthreads();
        plain_store(&words[t], k); // <- LATE
        __syncthreads();
    }
    out[t] = sum;
}
KERNELS_2(uneven)

// Two fences of sequential consistency and relaxed accesses (Dekker): who sees the other's flag unset goes in. Both may see it set, and
// then neither does.
//: run dekker<0> grid=2 block=1
//: in flags u32[2]
//: in data u32[1]
template <int bug> __global__ void dekker(u32 *flags, u32 *data) {
    const u32 me = blockIdx.x;
    store<RELAXED, GPU>(&flags[me], 1u);
    asm volatile("fence.sc.gpu;" : : : "memory");
    if (load<RELAXED, GPU>(&flags[1 - me]) == 0) plain_store(data, plain_load(data) + 1);
}
KERNEL(dekker, 0)

// A release that many additions follow: what reads the last of them still reads from it. 1: a plain relaxed store breaks
// the chain.
//: run release_sequence<0> grid=4 block=1
//: in flag u32[1]
//: in data u32[1]
//: in got u32[1]
//: out got u32[1] = 6
//: twin release_sequence<1>
//: report race at=READ|WRITE
template <int bug> __global__ void release_sequence(u32 *flag, u32 *data, u32 *got) {
    const u32 b = blockIdx.x;
    if (b == 0) {
        plain_store(data, 6); // <- WRITE
        store<RELEASE, GPU>(flag, 1u);
    } else if (b < 3) {
        while (load<RELAXED, GPU>(flag) != b) {
        }
        if (bug == 1) store<RELAXED, GPU>(flag, b + 1);
        else add<RELAXED, GPU>(flag, 1u);
    } else {
        while (load<ACQUIRE, GPU>(flag) != 3) {
        }
        *got = plain_load(data); // <- READ
    }
}
KERNELS_2(release_sequence)

// A pointer is published, and what it leads to is read. 1: it is published relaxed: that the address comes from it orders nothing.
//: run published<0> grid=2 block=1
//: in cell u64[1]
//: in node u32[4]
//: in got u32[1]
//: out got u32[1] = 13
//: twin published<1>
//: report race at=READ|WRITE
template <int bug> __global__ void published(u64 *cell, u32 *node, u32 *got) {
    if (blockIdx.x == 0) {
        plain_store(&node[2], 13); // <- WRITE
        store<bug == 1 ? RELAXED : RELEASE, GPU>(cell, (u64)node);
    } else {
        u64 at;
        do
            at = load<bug == 1 ? RELAXED : ACQUIRE, GPU>(cell);
        while (at == 0);
        *got = plain_load((u32 *)at + 2); // <- READ
    }
}
KERNELS_2(published)

// A block of 16 bytes by one thread, words of it by others. 1: the reader's word is behind the first: one byte is enough; 2: they are
// atomics of 32 bits on what was stored by one of 64.
//: run mixed<0> grid=2 block=32
//: in words u32[256]
//: in counter u32[1]
//: in got u32[1]
//: twin mixed<1>
//: report race at=READ|STORE
//: twin mixed<2>
//: report race at=SMALL|LARGE
template <int bug> __global__ void mixed(u32 *words, u32 *counter, u32 *got) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        if (bug == 2) store<RELAXED, GPU>((u64 *)words, 5ull); // <- LARGE
        else asm volatile("st.v4.u32 [%0], {%1, %1, %1, %1};" : : "l"(words), "r"(5) : "memory"); // <- STORE
    } else {
        if (bug == 0) *got = plain_load(&words[4]);
        if (bug == 1) *got = plain_load(&words[3]); // <- READ
        if (bug == 2) add(&words[1], 1u); // <- SMALL
    }
}
KERNELS_3(mixed)

// A block that is given back to a free list and taken by another CTA. 1: given back without a release; 2: used once more behind it.
//: run recycled<0> grid=2 block=1
//: in owner u32[1]
//: in block u32[4]
//: twin recycled<1>
//: report race at=SECOND|FIRST
//: twin recycled<2>
//: report race at=SECOND|LATE
template <int bug> __global__ void recycled(u32 *owner, u32 *block) {
    if (blockIdx.x == 0) {
        plain_store(&block[0], 1); // <- FIRST
        store<bug == 1 ? RELAXED : RELEASE, GPU>(owner, 1u);
        if (bug == 2) plain_store(&block[0], 2); // <- LATE
    } else {
        while (cas<ACQUIRE, GPU>(owner, 1u, 2u) != 1) {
        }
        plain_store(&block[0], 3); // <- SECOND
    }
}
KERNELS_3(recycled)

// Words by turns of even and odd rounds, with one barrier a round: who is a round ahead writes the other half. 1: three rounds share two
// halves, so that a fast warp writes what a slow one still reads.
//: run parity<0> grid=1 block=64
//: in out u32[64]
//: out out u32[64] = 15*64
//: twin parity<1>
//: report race missing=barrier at=STORE|READ
//: may race
template <int bug> __global__ void parity(u32 *out) {
    __shared__ u32 words[2][64];
    const u32 t = threadIdx.x;
    u32 sum = 0;
    for (u32 k = 0; k < 6; k++) {
        const u32 half = bug == 1 ? k / 2 % 2 : k % 2;
        plain_store(&words[half][t], k); // <- STORE
        __syncthreads();
        sum += plain_load(&words[half][63 - t]); // <- READ
    }
    out[t] = sum;
}
KERNELS_2(parity)

// A broadcast word that thread 0 of each warp writes for its own warp. 1: a warp reads that of the one beside it.
//: run own_word<0> grid=1 block=128
//: in out u32[128]
//: out out u32[128] = for i: i / 32
//: twin own_word<1>
//: report race missing=barrier at=READ|STORE
//: may unwritten
template <int bug> __global__ void own_word(u32 *out) {
    __shared__ u32 words[4];
    const u32 w = warp();
    if (lane() == 0) plain_store(&words[w], w); // <- STORE
    sync_warp();
    out[threadIdx.x] = plain_load(&words[bug == 1 ? (w + 1) % 4 : w]); // <- READ
}
KERNELS_2(own_word)

// What is read is thrown away. 1: it is a race all the same.
//: run ignored<0> grid=2 block=1
//: in words u32[2]
//: twin ignored<1>
//: report race at=READ|WRITE
template <int bug> __global__ void ignored(u32 *words) {
    if (blockIdx.x == 0) plain_store(&words[0], 1); // <- WRITE
    else plain_load(&words[bug == 1 ? 0 : 1]); // <- READ
}
KERNELS_2(ignored)

// Counters of two scopes side by side: the CTA's own is narrow, the sum of all is wide, and the barrier between them is the CTA's. 1: the
// wide one is read by the CTA that came first to the end.
//: run side_by_side<0> grid=3 block=32
//: in counts u32[4]
//: in out u32[3]
//: out counts u32[4] = 32 32 32 96
//: out out u32[3] = 32*3
//: twin side_by_side<1>
//: report race at=TOTAL|LOOK
template <int bug> __global__ void side_by_side(u32 *counts, u32 *out) {
    add<RELAXED, CTA>(&counts[blockIdx.x], 1u);
    add<RELAXED, GPU>(&counts[3], 1u); // <- TOTAL
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = plain_load(&counts[bug == 1 ? 3 : blockIdx.x]); // <- LOOK
}
KERNELS_2(side_by_side)

// A spin in one warp on what another warp of the CTA stores. 1: the flag is a plain store, seen by volatile loads.
//: run spin_in_block<0> grid=1 block=64
//: in out u32[1]
//: out out u32[1] = 17
//: twin spin_in_block<1>
//: report race at=POLL|FLAG
//: report race at=READ|WRITE
template <int bug> __global__ void spin_in_block(u32 *out) {
    __shared__ u32 data, flag;
    if (threadIdx.x == 0) store<RELAXED, CTA>(&flag, 0u);
    __syncthreads();
    if (threadIdx.x == 0) {
        plain_store(&data, 17); // <- WRITE
        if (bug == 1) plain_store(&flag, 1); // <- FLAG
        else store<RELEASE, CTA>(&flag, 1u);
    } else if (threadIdx.x == 32) {
        if (bug == 1) while (*(volatile u32 *)&flag == 0) { // <- POLL
        } else while (load<ACQUIRE, CTA>(&flag) == 0) {
        }
        *out = plain_load(&data); // <- READ
    }
}
KERNELS_2(spin_in_block)

// A chain of barriers and messages: the word goes from a thread to its CTA, to another CTA, to that one's threads. 1: the last barrier
// is one of the first warp; 2: the first barrier is missing.
//: run chain<0> grid=2 block=64
//: in data u32[64]
//: in flag u32[1]
//: in out u32[64]
//: out out u32[64] = for i: 63 - i
//: twin chain<1>
//: report race at=READ|WRITE
//: twin chain<2>
//: report race at=READ|WRITE
template <int bug> __global__ void chain(u32 *data, u32 *flag, u32 *out) {
    const u32 t = threadIdx.x;
    if (blockIdx.x == 0) {
        plain_store(&data[t], t); // <- WRITE
        if (bug != 2) __syncthreads();
        if (t == 0) store<RELEASE, GPU>(flag, 1u);
    } else {
        if (t == 0)
            while (load<ACQUIRE, GPU>(flag) == 0) {
            }
        if (bug == 1) sync_warp();
        else __syncthreads();
        out[t] = plain_load(&data[63 - t]); // <- READ
    }
}
KERNELS_3(chain)
