// What all CTAs compute together: sums by the last block, scans that look back, tiles that are fixed up, barriers of the grid.

// The programming guide's threadFenceReduction: whoever counts in last adds up what all have stored, and resets the counter.
// 1: no fence before the counter; 2: none behind it; 3: all threads have a fence, but before the barrier, so that that of thread 0
// does not come behind what the others stored; 4: the result of the counter is told to the CTA without a barrier.
//: run last_block<0> grid=20 block=64
//: in values u32[1280] = 1*1280
//: in parts u32[1280]
//: in counter u32[1]
//: in sum u32[1]
//: out sum u32[1] = 1280
//: out counter u32[1] = 0
//: twin last_block<1>
//: report race at=READ|WRITE
//: twin last_block<2>
//: report race at=READ|WRITE
//: twin last_block<3>
//: report race at=READ|WRITE
//: twin last_block<4>
//: report race at=ASK|TELL
//: may race
//: may unwritten
template <int bug> __global__ void last_block(const u32 *values, u32 *parts, u32 *counter, u32 *sum) {
    __shared__ u32 is_last;
    const u32 t = threadIdx.x;
    parts[blockIdx.x * 64 + t] = values[blockIdx.x * 64 + t]; // <- WRITE
    if (bug == 3) fence<GPU>();
    __syncthreads();
    if (t == 0) {
        if (bug != 1 && bug != 3) fence<GPU>();
        const u32 count = increment(counter, gridDim.x - 1);
        if (bug != 2) fence<GPU>();
        plain_store(&is_last, count == gridDim.x - 1); // <- TELL
    }
    if (bug != 4) __syncthreads();
    if (!plain_load(&is_last)) return; // <- ASK
    u32 mine = 0;
    for (u32 b = 0; b < gridDim.x; b++) mine += plain_load(&parts[b * 64 + t]); // <- READ
    add(sum, mine);
}
KERNELS_5(last_block)

// The same with a counter that is an acquire and a release. 1: it is a release only; 2: an acquire only; 3: it is of the CTA;
// 4: the partial sums are read by all threads before the barrier.
//: run last_block_by_order<0> grid=6 block=32
//: in parts u32[6]
//: in counter u32[1]
//: in sums u32[32]
//: out sums u32[32] = 15*32
//: twin last_block_by_order<1>
//: report race at=READ|WRITE
//: twin last_block_by_order<2>
//: report race at=READ|WRITE
//: twin last_block_by_order<3>
//: report race missing=scope at=COUNT,COUNT
//: report race missing=scope at=READ|WRITE
//: twin last_block_by_order<4>
//: report race at=EARLY|WRITE
template <int bug> __global__ void last_block_by_order(u32 *parts, u32 *counter, u32 *sums) {
    __shared__ u32 before;
    const u32 t = threadIdx.x;
    u32 sum = 0;
    if (t == 0) {
        plain_store(&parts[blockIdx.x], blockIdx.x); // <- WRITE
        before = add<bug == 1 ? RELEASE : bug == 2 ? ACQUIRE : ACQ_REL, bug == 3 ? CTA : GPU>(counter, 1u); // <- COUNT
    }
    if (bug == 4)
        for (u32 b = 0; b < gridDim.x; b++) sum += plain_load(&parts[b]); // <- EARLY
    __syncthreads();
    if (before != gridDim.x - 1) return;
    if (bug != 4)
        for (u32 b = 0; b < gridDim.x; b++) sum += plain_load(&parts[b]); // <- READ
    sums[t] = sum;
}
KERNELS_5(last_block_by_order)

// A scan in one pass: a CTA looks back until it finds a sum of everything before, or waits. State and value are two words.
// 1: the state is stored without a release; 2: read without an acquire; 3: of the CTA's scope; 4: the value is stored behind
// the state.
//: run look_back<0> grid=8 block=32
//: in state u32[8]
//: in sums u32[8]
//: in ends u32[8]
//: out ends u32[8] = for i: (i + 1) * 32
//: twin look_back<1>
//: report race missing=release at=READ|WRITE
//: twin look_back<2>
//: report race missing=acquire at=READ|WRITE
//: twin look_back<3>
//: report race missing=scope at=WAIT|STATE
//: report race missing=scope at=READ|WRITE
//: twin look_back<4>
//: report race at=READ|LATE
template <int bug> __global__ void look_back(u32 *state, u32 *sums, u32 *ends) {
    const u32 b = blockIdx.x;
    if (threadIdx.x != 0) return;
    u32 before = 0;
    if (b > 0) {
        while (load<bug == 2 ? RELAXED : ACQUIRE, GPU>(&state[b - 1]) == 0) { // <- WAIT
        }
        before = plain_load(&sums[b - 1]); // <- READ
    }
    if (bug != 4) plain_store(&sums[b], before + 32); // <- WRITE
    store<bug == 1 ? RELAXED : RELEASE, bug == 3 ? CTA : GPU>(&state[b], 1u); // <- STATE
    if (bug == 4) plain_store(&sums[b], before + 32); // <- LATE
    ends[b] = before + 32;
}
KERNELS_5(look_back)

// Merrill's and Garland's: state and value in one word of 64 bits, so that relaxed accesses are enough; aggregates first,
// prefixes later. 1: the word is written by two stores of 32 bits.
//: run one_word_look_back<0> grid=8 block=32
//: in words u64[8]
//: in ends u32[8]
//: out ends u32[8] = for i: (i + 1) * 32
//: twin one_word_look_back<1>
//: report race at=WAIT|HALF
//: may race
template <int bug> __global__ void one_word_look_back(u64 *words, u32 *ends) {
    const u32 b = blockIdx.x;
    if (threadIdx.x != 0) return;
    if (bug == 1) {
        plain_store((u32 *)&words[b], 32); // <- HALF
        plain_store((u32 *)&words[b] + 1, b == 0 ? 2 : 1);
    } else store<RELAXED, GPU>(&words[b], (b == 0 ? 2ull : 1ull) << 32 | 32);
    u32 sum = 32;
    for (u32 at = b; at-- > 0;) {
        u64 word;
        do
            word = load<RELAXED, GPU>(&words[at]); // <- WAIT
        while (word >> 32 == 0);
        sum += (u32)word;
        if (word >> 32 == 2) break;
    }
    store<RELAXED, GPU>(&words[b], 2ull << 32 | sum);
    ends[b] = sum;
}
KERNELS_2(one_word_look_back)

// Stream-K: a tile of the product is begun by one CTA and finished by the next, which adds what the first has left in a
// workspace. 1: there is no barrier of the CTA before the flag; 2: the flag is not released; 3: it is not
// waited for; 4: the flag is of the CTA.
//: run fix_up<0> grid=4 block=64
//: in workspace u32[256]
//: in flags u32[4]
//: in tiles u32[128]
//: out tiles u32[128] = 3*64 7*64
//: twin fix_up<1>
//: report race at=ADD|LEAVE
//: twin fix_up<2>
//: report race at=ADD|LEAVE
//: twin fix_up<3>
//: report race at=ADD|LEAVE
//: twin fix_up<4>
//: report race missing=scope at=WAIT|FLAG
//: report race missing=scope at=ADD|LEAVE
template <int bug> __global__ void fix_up(u32 *workspace, u32 *flags, u32 *tiles) {
    const u32 t = threadIdx.x, b = blockIdx.x;
    const u32 part = b + 1;
    if (b % 2 == 0) {
        plain_store(&workspace[b * 64 + t], part); // <- LEAVE
        if (bug != 1) __syncthreads();
        if (t == 0) store<bug == 2 ? RELAXED : RELEASE, bug == 4 ? CTA : GPU>(&flags[b], 1u); // <- FLAG
    } else {
        if (t == 0 && bug != 3)
            while (load<ACQUIRE, GPU>(&flags[b - 1]) == 0) { // <- WAIT
            }
        __syncthreads();
        tiles[b / 2 * 64 + t] = part + plain_load(&workspace[(b - 1) * 64 + t]); // <- ADD
    }
}
KERNELS_5(fix_up)

// Generations between barriers of the grid. 1: a barrier of the CTA instead; 2: the barrier's counter is relaxed; 3: it is
// waited for without an acquire; 4: the second barrier is left out, so that a word is written while it is read.
//: run generations<0> grid=4 block=32
//: in words u32[128]
//: in counter u32[1]
//: out words u32[128] = for i: (i + 96) % 128
//: twin generations<1>
//: report race at=READ|FILL
//: may race
//: twin generations<2>
//: report race at=READ|FILL
//: may race
//: twin generations<3>
//: report race at=READ|FILL
//: may race
//: twin generations<4>
//: report race at=READ|STORE
template <int bug> __global__ void generations(u32 *words, u32 *counter) {
    const u32 i = blockIdx.x * 32 + threadIdx.x;
    plain_store(&words[i], i); // <- FILL
    if (bug == 1) __syncthreads();
    else grid_sync<bug == 2 ? RELAXED : ACQ_REL, bug == 3 ? RELAXED : ACQUIRE>(counter);
    const u32 other = plain_load(&words[(i + 96) % 128]); // <- READ
    if (bug == 1) __syncthreads();
    else if (bug != 4) grid_sync<bug == 2 ? RELAXED : ACQ_REL, bug == 3 ? RELAXED : ACQUIRE>(counter);
    plain_store(&words[i], other); // <- STORE
}
KERNELS_5(generations)

// Many CTAs read a word, meet, and one writes it. 1: the writer does not wait; 2: one of the readers reads again behind it.
//: run many_readers<0> grid=9 block=32
//: in word u32[1] = 3
//: in counter u32[1]
//: in got u32[9]
//: out word u32[1] = 4
//: out got u32[9] = 3*9
//: twin many_readers<1>
//: report race at=WRITE|READ
//: twin many_readers<2>
//: report race at=BEHIND|AGAIN
template <int bug> __global__ void many_readers(u32 *word, u32 *counter, u32 *got) {
    const u32 seen = plain_load(word); // <- READ
    if (threadIdx.x == 0) got[blockIdx.x] = seen;
    if (bug == 1) {
        if (blockIdx.x == 5 && threadIdx.x == 0) plain_store(word, 4); // <- WRITE
        return;
    }
    grid_sync(counter);
    if (blockIdx.x == 5 && threadIdx.x == 0) plain_store(word, 4); // <- BEHIND
    if (bug == 2 && blockIdx.x == 6 && threadIdx.x == 0) got[6] = plain_load(word); // <- AGAIN
}
KERNELS_3(many_readers)

// A histogram of the device. 1: counted by loads and stores; 2: the CTA's own bins are added by plain sums at the end.
//: run histogram<0> grid=3 block=64
//: in values u32[192] = for i: i % 16
//: in bins u32[16]
//: out bins u32[16] = 12*16
//: twin histogram<1>
//: report race at=PLAIN,PLAIN
//: twin histogram<2>
//: report race at=FLUSH,FLUSH
template <int bug> __global__ void histogram(const u32 *values, u32 *bins) {
    __shared__ u32 own[16];
    const u32 t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (t < 16) own[t] = 0;
    __syncthreads();
    if (bug == 1) {
        bins[values[i]]++; // <- PLAIN
        return;
    }
    add<RELAXED, CTA>(&own[values[i]], 1u);
    __syncthreads();
    if (t < 16 && bug == 2) bins[t] += own[t]; // <- FLUSH
    if (t < 16 && bug != 2) add(&bins[t], own[t]);
}
KERNELS_3(histogram)

// Compaction over the grid: a place by an atomic, and who needs the total waits for the end of the launch. 1: the place is read
// and then added; 2: the total is read while others still add.
//: run compaction<0> grid=3 block=32
//: in values u32[96] = for i: i
//: in kept u32[96]
//: in total u32[2]
//: out total u32[2] = 32 0
//: twin compaction<1>
//: report race at=PUT|LOOK
//: may race
//: twin compaction<2>
//: report race at=TAKE|EARLY
template <int bug> __global__ void compaction(const u32 *values, u32 *kept, u32 *total) {
    const u32 i = blockIdx.x * 32 + threadIdx.x;
    if (values[i] % 3 == 0) {
        u32 place;
        if (bug == 1) {
            place = plain_load(total); // <- LOOK
            plain_store(total, place + 1); // <- PUT
        } else place = add(total, 1u); // <- TAKE
        if (place < 96) kept[place] = i;
    }
    if (bug == 2 && i == 0) total[1] = plain_load(total); // <- EARLY
}
KERNELS_3(compaction)

// A barrier of the grid by phases, as a library would have it: the last to come turns the sense. 1: the turn is waited for
// without an acquire; 2: the sense is turned without a release; 3: the sense is of the CTA.
//: run senses<0> grid=4 block=1
//: in words u32[4]
//: in counter u32[1]
//: in sense u32[1]
//: in sums u32[4]
//: out sums u32[4] = 20*4
//: twin senses<1>
//: report race missing=acquire at=READ|WRITE
//: may race
//: twin senses<2>
//: report race at=READ|WRITE
//: may race
//: twin senses<3>
//: report race missing=scope at=WAIT|TURN
//: may race
template <int bug> __global__ void senses(u32 *words, u32 *counter, u32 *sense, u32 *sums) {
    u32 sum = 0;
    for (u32 round = 1; round <= 2; round++) {
        plain_store(&words[blockIdx.x], round * round); // <- WRITE
        for (u32 half = 0; half < 2; half++) {
            const u32 turn = round * 2 + half - 1;
            if (add<ACQ_REL, GPU>(counter, 1u) == gridDim.x - 1) {
                plain_store(counter, 0);
                store<bug == 2 ? RELAXED : RELEASE, bug == 3 ? CTA : GPU>(sense, turn); // <- TURN
            } else
                while (load<bug == 1 ? RELAXED : ACQUIRE, GPU>(sense) < turn) { // <- WAIT
                }
            if (half == 0)
                for (u32 b = 0; b < gridDim.x; b++) sum += plain_load(&words[b]); // <- READ
        }
    }
    sums[blockIdx.x] = sum;
}
KERNELS_4(senses)
