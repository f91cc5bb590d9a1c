// Lanes of a warp: they run apart, and only __syncwarp orders what they do to memory.

// The last levels of a reduction as programs before Volta had them. 1: nothing between the levels; 2: volatile accesses alone,
// which are relaxed: the sum may be wrong, but that is no race by the model; 3: a barrier of the lower half only, while all lanes take part.
//: run last_levels<0> grid=1 block=32
//: in values u32[64] = for i: i
//: in sum u32[1]
//: out sum u32[1] = 2016
//: twin last_levels<1>
//: report race missing=warp-sync at=LEVEL,LEVEL
//: twin last_levels<2>
//: twin last_levels<3>
//: report race missing=warp-sync at=LEVEL,LEVEL
template <int bug> __global__ void last_levels(const u32 *values, u32 *sum) {
    __shared__ u32 part[64];
    volatile u32 *loose = part;
    const u32 t = threadIdx.x;
    part[t] = values[t];
    part[t + 32] = values[t + 32];
    sync_warp();
    for (u32 by = 32; by > 0; by /= 2) {
        if (bug == 2) {
            if (t < by) loose[t] = loose[t] + loose[t + by];
        } else if (t < by) part[t] += part[t + by]; // <- LEVEL
        if (bug == 0) sync_warp();
        if (bug == 3 && t < 8) sync_warp(0xff);
    }
    if (t == 0) *sum = part[0];
}
KERNELS_4(last_levels)

// Shuffles carry registers, so that nothing is shared. 1: the word that is shuffled is stored for the others to read, and the
// shuffle taken for a barrier; 2: a vote is; 3: a match is.
//: run no_barrier<0> grid=1 block=32
//: in out u32[32]
//: out out u32[32] = for i: i ^ 1
//: twin no_barrier<1>
//: report race missing=warp-sync at=READ|WRITE
//: twin no_barrier<2>
//: report race missing=warp-sync at=READ|WRITE
//: twin no_barrier<3>
//: report race missing=warp-sync at=READ|WRITE
template <int bug> __global__ void no_barrier(u32 *out) {
    __shared__ u32 word[32];
    const u32 t = threadIdx.x;
    if (bug == 0) {
        out[t] = shuffle_xor(t, 1);
        return;
    }
    u32 extra = 0;
    word[t] = t; // <- WRITE
    if (bug == 1) extra = shuffle_xor(t, 1) & 64;
    if (bug == 2) extra = ballot(t > 64);
    if (bug == 3) extra = match_any(t) & 0;
    out[t] = plain_load(&word[t ^ 1]) + extra; // <- READ
}
KERNELS_4(no_barrier)

// A leader takes places for its whole warp. 1: it tells them through memory without a barrier; 2: the barrier stands before
// the store.
//: run leader<0> grid=2 block=64
//: in next u32[1]
//: in taken u32[128]
//: out next u32[1] = 128
//: out taken u32[128] = 1*128
//: twin leader<1>
//: report race missing=warp-sync at=TAKE|TELL
//: may unwritten
//: twin leader<2>
//: report race missing=warp-sync at=TAKE|TELL
//: may unwritten
template <int bug> __global__ void leader(u32 *next, u32 *taken) {
    __shared__ u32 base[2];
    if (bug == 2) sync_warp();
    if (lane() == 0) base[warp()] = add(next, 32u); // <- TELL
    if (bug == 0) sync_warp();
    const u32 place = plain_load(&base[warp()]) + lane(); // <- TAKE
    if (place < 128) add(&taken[place], 1u);
}
KERNELS_3(leader)

// A scan of the warp in shared memory. 1: reading and writing are one statement, with a barrier after it.
//: run warp_scan<0> grid=1 block=64
//: in values u32[64] = 1*64
//: out values u32[64] = for i: i % 32 + 1
//: twin warp_scan<1>
//: report race missing=warp-sync at=STEP,STEP
template <int bug> __global__ void warp_scan(u32 *values) {
    __shared__ u32 sums[64];
    const u32 t = threadIdx.x, l = lane();
    sums[t] = values[t];
    sync_warp();
    for (u32 by = 1; by < 32; by *= 2) {
        if (bug == 1) {
            if (l >= by) sums[t] += sums[t - by]; // <- STEP
        } else {
            const u32 before = l >= by ? sums[t - by] : 0;
            sync_warp();
            sums[t] += before;
        }
        sync_warp();
    }
    values[t] = sums[t];
}
KERNELS_2(warp_scan)

// A transposition of 4 by 8 by each warp. 1: without a barrier; 2: with one of half a warp each.
//: run turned<0> grid=1 block=64
//: in from u32[64] = for i: i
//: in to u32[64]
//: out to u32[64] = for i: i / 32 * 32 + i % 4 * 8 + i % 32 / 4
//: twin turned<1>
//: report race missing=warp-sync at=READ|WRITE
//: twin turned<2>
//: report race missing=warp-sync at=READ|WRITE
template <int bug> __global__ void turned(const u32 *from, u32 *to) {
    __shared__ u32 tile[64];
    const u32 t = threadIdx.x, l = lane();
    tile[t] = from[t]; // <- WRITE
    if (bug == 0) sync_warp();
    if (bug == 2) {
        if (l < 16) sync_warp(0x0000ffff);
        else sync_warp(0xffff0000);
    }
    to[t] = tile[t - l + l % 4 * 8 + l / 4]; // <- READ
}
KERNELS_3(turned)

// Two sides of a branch talk to one another. 1: no barrier where they meet; 2: the reading side runs inside of its branch.
//: run sides<0> grid=1 block=32
//: in out u32[32]
//: out out u32[32] = for i: i ^ 16
//: twin sides<1>
//: report race missing=warp-sync
//: may unwritten
//: twin sides<2>
//: report race missing=warp-sync at=INSIDE|LOW
//: may unwritten
template <int bug> __global__ void sides(u32 *out) {
    __shared__ u32 word[32];
    const u32 t = threadIdx.x;
    if (t < 16) plain_store(&word[t], t); // <- LOW
    else {
        plain_store(&word[t], t);
        if (bug == 2) out[t] = plain_load(&word[t - 16]); // <- INSIDE
    }
    if (bug == 0) sync_warp();
    if (bug != 2) out[t] = plain_load(&word[t ^ 16]);
}
KERNELS_3(sides)

// All lanes store to one word. 1: different values; 2: the same value; 3: of two warps, behind a barrier of each.
//: run one_word<0> grid=1 block=64
//: in out u32[4]
//: out out u32[2] = 7 7
//: twin one_word<1>
//: report race missing=same-instruction at=DIFFERENT,DIFFERENT
//: may race missing=barrier at=DIFFERENT,DIFFERENT
//: twin one_word<2>
//: report race missing=same-instruction at=SAME,SAME
//: may race missing=barrier at=SAME,SAME
//: twin one_word<3>
//: report race missing=barrier at=FIRST,FIRST
template <int bug> __global__ void one_word(u32 *out) {
    if (bug == 0 && lane() == 0) out[warp()] = 7;
    if (bug == 1) out[0] = threadIdx.x; // <- DIFFERENT
    if (bug == 2) out[0] = 7; // <- SAME
    sync_warp();
    if (bug == 3 && lane() == 0) out[0] = warp(); // <- FIRST
}
KERNELS_4(one_word)

// Atomics of one warp aggregated by activemask: the lanes that happen to run together. 1: the leader is taken to be lane 0 of
// the mask, which tells the others through shared memory without a barrier.
//: run aggregated<0> grid=1 block=64
//: in next u32[1]
//: in odd u32[64]
//: out next u32[1] = 32
//: twin aggregated<1>
//: report race missing=warp-sync at=READ|TELL
//: may race
//: may unwritten
template <int bug> __global__ void aggregated(u32 *next, u32 *odd) {
    __shared__ u32 base[2];
    const u32 t = threadIdx.x;
    if (t % 2) {
        if (bug == 1) {
            const u32 mask = 0xaaaaaaaa, first = first_lane(mask);
            if (lane() == first) plain_store(&base[warp()], add(next, 16u)); // <- TELL
            odd[(plain_load(&base[warp()]) + lane() / 2) % 64] = t; // <- READ
        } else {
            const u32 mask = active_mask(), first = first_lane(mask);
            u32 place = 0;
            if (lane() == first) place = add(next, (u32)__builtin_popcount(mask));
            place = __nvvm_shfl_sync_idx_i32(mask, place, first, 31);
            odd[place + __builtin_popcount(mask & ((1u << lane()) - 1))] = t;
        }
    }
}
KERNELS_2(aggregated)

// A message from lane to lane by a flag in shared memory: acquire and release order lanes as they do any threads. 1: the flag is
// volatile and no more; 2: there is a fence on the reader's side only.
//: run flag<0> grid=1 block=32
//: in out u32[1]
//: out out u32[1] = 3
//: twin flag<1>
//: report race at=READ|WRITE
//: twin flag<2>
//: report race at=READ|WRITE
template <int bug> __global__ void flag(u32 *out) {
    __shared__ u32 data, ready;
    if (threadIdx.x == 0) store<RELAXED, CTA>(&ready, 0u);
    sync_warp();
    if (threadIdx.x == 0) {
        plain_store(&data, 3); // <- WRITE
        store<bug == 0 ? RELEASE : RELAXED, CTA>(&ready, 1u);
    } else if (threadIdx.x == 1) {
        while (load<bug == 1 ? RELAXED : ACQUIRE, CTA>(&ready) == 0) {
        }
        *out = plain_load(&data); // <- READ
    }
}
KERNELS_3(flag)

// Compaction by ballot: every lane knows its place. 1: the offset of the next warp is read before the barrier of the CTA.
//: run compacted<0> grid=1 block=128
//: in values u32[128] = for i: i
//: in kept u32[64]
//: out kept u32[64] = for i: i * 2
//: twin compacted<1>
//: report race missing=barrier at=READ|COUNT
//: may unwritten at=READ
template <int bug> __global__ void compacted(const u32 *values, u32 *kept) {
    __shared__ u32 counts[4];
    const u32 t = threadIdx.x, value = values[t], mask = ballot(value % 2 == 0);
    if (lane() == 0) counts[warp()] = __builtin_popcount(mask); // <- COUNT
    if (bug == 0) __syncthreads();
    u32 place = __builtin_popcount(mask & ((1u << lane()) - 1));
    for (u32 w = 0; w < warp(); w++) place += plain_load(&counts[w]); // <- READ
    if (value % 2 == 0 && place < 64) kept[place] = value;
}
KERNELS_2(compacted)

// Bits of one word, set by the lanes. 1: or of a loaded word; 2: bytes of it, each lane its own byte, but of the neighbour's
// word too.
//: run bits<0> grid=1 block=32
//: in out u32[8]
//: out out u32[1] = 0xffffffff
//: twin bits<1>
//: report race missing=same-instruction at=OR,OR
//: may race missing=warp-sync at=OR,OR
//: twin bits<2>
//: report race at=WORD|BYTE
template <int bug> __global__ void bits(u32 *out) {
    const u32 t = threadIdx.x;
    if (bug == 0) or_bits(out, 1u << t);
    if (bug == 1) plain_store(out, plain_load(out) | 1u << t); // <- OR
    if (bug == 2) {
        ((volatile u8 *)out)[t] = t; // <- BYTE
        if (t == 5) plain_store(&out[0], 1); // <- WORD
    }
}
KERNELS_3(bits)
