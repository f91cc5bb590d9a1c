// Irregular codes on a graph in compressed rows: the six patterns of Indigo (conditional edge and vertex, pull, push, populate
// worklist, path compression) and traversals, each with mistakes of its kinds: an atomic that is none, a bound, a guard, a barrier.
//
// The graph is a ring of 32 vertices with chords: vertex v has edges to v + 1 and v + 9; rows[v] = 2 v.

// Conditional edge: an edge counts if its ends have a certain relation. 1: counted without an atomic; 2: the last row's end is read
// behind the array; 3: the count is of the CTA's scope.
//: run conditional_edge<0> grid=2 block=16
//: in rows u32[33] = for i: i * 2
//: in edges u32[64] = for i: (i / 2 + 1 + i % 2 * 8) % 32
//: in count u32[1]
//: out count u32[1] = 54
//: twin conditional_edge<1>
//: report race at=PLAIN,PLAIN
//: may race
//: twin conditional_edge<2>
//: fault illegal-address
//: report out-of-bounds at=ROW
//: twin conditional_edge<3>
//: report race missing=scope at=ADD,ADD
template <int bug> __global__ void conditional_edge(const u32 *rows, const u32 *edges, u32 *count) {
    const u32 v = blockIdx.x * 16 + threadIdx.x;
    const u32 end = plain_load(&rows[bug == 2 ? v + 2 : v + 1]); // <- ROW
    for (u32 e = rows[v]; e < (bug == 2 ? rows[v] : end); e++)
        if (edges[e] > v) {
            if (bug == 1) plain_store(count, plain_load(count) + 1); // <- PLAIN
            else add<RELAXED, bug == 3 ? CTA : GPU>(count, 1u); // <- ADD
        }
}
KERNELS_4(conditional_edge)

// Conditional vertex: the largest value of the neighbours, then of all. 1: compared and stored without an atomic; 2: the guard
// `if it is larger than what is there` reads plainly what others change by atomics; 3: the same guard, by a relaxed load: no race.
//: run conditional_vertex<0> grid=2 block=16
//: in edges u32[64] = for i: (i / 2 + 1 + i % 2 * 8) % 32
//: in values u32[32] = for i: i * 5 % 32
//: in most u32[1]
//: out most u32[1] = 31
//: twin conditional_vertex<1>
//: report race at=STORE|LOOK
//: may race
//: twin conditional_vertex<2>
//: report race at=MAX|GUARD
//: twin conditional_vertex<3>
//: out most u32[1] = 31
template <int bug> __global__ void conditional_vertex(const u32 *edges, const u32 *values, u32 *most) {
    const u32 v = blockIdx.x * 16 + threadIdx.x;
    u32 mine = 0;
    for (u32 e = v * 2; e < v * 2 + 2; e++) mine = values[edges[e]] > mine ? values[edges[e]] : mine;
    if (bug == 1) {
        if (plain_load(most) < mine) // <- LOOK
            plain_store(most, mine); // <- STORE
        return;
    }
    if (bug == 2 && plain_load(most) >= mine) return; // <- GUARD
    if (bug == 3 && load<RELAXED, GPU>(most) >= mine) return;
    max(most, mine); // <- MAX
}
KERNELS_4(conditional_vertex)

// Pull: a vertex gathers from its neighbours into its own word. 1: into the array that it reads; 2: the next round begins without
// a barrier of the grid.
//: run pull<0> grid=2 block=16
//: in edges u32[64] = for i: (i / 2 + 1 + i % 2 * 8) % 32
//: in now u32[32] = 1*32
//: in next u32[32]
//: in counter u32[1]
//: out now u32[32] = 4*32
//: twin pull<1>
//: report race at=STORE|GATHER
//: twin pull<2>
//: report race at=STORE|GATHER
template <int bug> __global__ void pull(const u32 *edges, u32 *now, u32 *next, u32 *counter) {
    const u32 v = blockIdx.x * 16 + threadIdx.x;
    for (u32 round = 0; round < 2; round++) {
        u32 *from = round == 0 || bug == 1 ? now : next, *to = round == 1 || bug == 1 ? now : next;
        u32 sum = 0;
        for (u32 e = v * 2; e < v * 2 + 2; e++) sum += plain_load(&from[edges[e]]); // <- GATHER
        plain_store(&to[v], sum); // <- STORE
        if (bug != 2) grid_sync(counter);
    }
}
KERNELS_3(pull)

// Push: a vertex adds to its neighbours. 1: without atomics; 2: the neighbour's number is not checked against the size; 3: the
// results are read without a barrier.
//: run push<0> grid=2 block=16
//: in edges u32[64] = for i: (i / 2 + 1 + i % 2 * 8) % 32
//: in sums u32[32]
//: in counter u32[1]
//: in total u32[1]
//: out sums u32[32] = 2*32
//: out total u32[1] = 64
//: twin push<1>
//: report race at=PLAIN,PLAIN
//: may race
//: twin push<2>
//: fault illegal-address
//: report out-of-bounds at=BEHIND
//: twin push<3>
//: report race at=ADD|READ
template <int bug> __global__ void push(const u32 *edges, u32 *sums, u32 *counter, u32 *total) {
    const u32 v = blockIdx.x * 16 + threadIdx.x;
    for (u32 e = v * 2; e < v * 2 + 2; e++) {
        if (bug == 1) plain_store(&sums[edges[e]], plain_load(&sums[edges[e]]) + 1); // <- PLAIN
        else if (bug == 2) add(&sums[v + 1 + e % 2 * 8], 1u); // <- BEHIND
        else add(&sums[edges[e]], 1u); // <- ADD
    }
    if (bug != 3) grid_sync(counter);
    add(total, plain_load(&sums[v])); // <- READ
}
KERNELS_4(push)

// Populating a worklist: vertices that fit are listed. 1: the place is no atomic; 2: the list is read by the next phase without a barrier; 3: a list that
// is too short by one.
//: run populate<0> grid=2 block=16
//: in values u32[32] = for i: i
//: in list u32[16]
//: in size u32[1]
//: in counter u32[1]
//: in sum u32[1]
//: out sum u32[1] = 240
//: twin populate<1>
//: report race at=PLAIN,PLAIN
//: may race
//: twin populate<2>
//: report race at=PUT|READ
//: twin populate<3>
//: fault illegal-address
//: report out-of-bounds at=PUT
template <int bug> __global__ void populate(const u32 *values, u32 *list, u32 *size, u32 *counter, u32 *sum) {
    const u32 v = blockIdx.x * 16 + threadIdx.x;
    if (values[v] % 2 == 0) {
        u32 place;
        if (bug == 1) {
            place = plain_load(size), plain_store(size, place + 1); // <- PLAIN
            place %= 16;
        } else place = add(size, 1u);
        plain_store(&list[bug == 3 ? place + 1 : place], v); // <- PUT
    }
    if (bug != 2) grid_sync(counter);
    if (v < 16) add(sum, plain_load(&list[v])); // <- READ
}
KERNELS_4(populate)

// Path compression of disjoint sets: parents are read and shortened by all. 1: the reads are plain; 2: the shortening is; 3: a link
// is made by a plain store if the root looks like one.
//: run compression<0> grid=2 block=16
//: in parents u32[32] = for i: i
//: out parents u32[2] = 0 _
//: twin compression<1>
//: report race at=LINK|FIND
//: may race
//: twin compression<2>
//: report race at=FIND|SHORTEN
//: may race
//: twin compression<3>
//: report race at=FIND|PLAIN
//: may race
template <int bug> __global__ void compression(u32 *parents) {
    const u32 v = blockIdx.x * 16 + threadIdx.x;
    u32 a = v, b = (v + 9) % 32;
    for (u32 tries = 0; tries < 64; tries++) {
        for (u32 side = 0; side < 2; side++) {
            u32 at = side ? a : b;
            for (;;) {
                const u32 up = bug == 1 ? plain_load(&parents[at]) : load<RELAXED, GPU>(&parents[at]); // <- FIND
                if (up == at) break;
                const u32 over = load<RELAXED, GPU>(&parents[up]);
                if (bug == 2) plain_store(&parents[at], over); // <- SHORTEN
                else if (bug == 0) cas(&parents[at], up, over);
                at = up;
            }
            if (side) a = at;
            else b = at;
        }
        if (a == b) break;
        const u32 low = a < b ? a : b, high = a < b ? b : a;
        if (bug == 3) plain_store(&parents[high], low); // <- PLAIN
        else if (cas(&parents[high], high, low) == high) break; // <- LINK
    }
}
KERNELS_4(compression)

// Breadth-first search by levels. 1: levels are stored plainly, all with the same value, while others look at them: the famous benign race;
// 2: the flag that something changed is set plainly by all; 3: a vertex reads its own level
// plainly.
//: run levels<0> grid=2 block=16
//: in edges u32[64] = for i: (i / 2 + 1 + i % 2 * 8) % 32
//: in level u32[32] = 0 99*31
//: in changed u32[12]
//: in counter u32[1]
//: twin levels<1>
//: report race at=SAME|LOOK
//: may race
//: twin levels<2>
//: report race at=FLAG,FLAG
//: may race
//: twin levels<3>
//: report race at=STEP|WHERE
template <int bug> __global__ void levels(const u32 *edges, u32 *level, u32 *changed, u32 *counter) {
    const u32 v = blockIdx.x * 16 + threadIdx.x;
    for (u32 now = 0; now < 10; now++) {
        const u32 mine = bug == 3 ? plain_load(&level[v]) : load<RELAXED, GPU>(&level[v]); // <- WHERE
        if (mine == now)
            for (u32 e = v * 2; e < v * 2 + 2; e++) {
                if (bug == 1) {
                    if (plain_load(&level[edges[e]]) == 99) // <- LOOK
                        plain_store(&level[edges[e]], now + 1); // <- SAME
                } else if (cas(&level[edges[e]], 99u, now + 1) == 99) { // <- STEP
                    if (bug == 2) plain_store(&changed[0], 1); // <- FLAG
                    else store<RELAXED, GPU>(&changed[now], 1u);
                }
            }
        grid_sync(counter);
    }
}
KERNELS_4(levels)

// Shortest paths by relaxing edges as often as it takes: distances are atomics everywhere. 1: the source's is read plainly.
//: run shortest<0> grid=2 block=16
//: in edges u32[64] = for i: (i / 2 + 1 + i % 2 * 8) % 32
//: in distance u32[32] = 0 1000*31
//: in counter u32[1]
//: twin shortest<1>
//: report race at=LOWER|SOURCE
template <int bug> __global__ void shortest(const u32 *edges, u32 *distance, u32 *counter) {
    const u32 v = blockIdx.x * 16 + threadIdx.x;
    for (u32 round = 0; round < 4; round++) {
        const u32 mine = bug == 1 ? plain_load(&distance[v]) : load<RELAXED, GPU>(&distance[v]); // <- SOURCE
        for (u32 e = v * 2; e < v * 2 + 2; e++) min(&distance[edges[e]], mine + 1 + e % 2); // <- LOWER
    }
}
KERNELS_2(shortest)

// Colouring by priorities: a vertex waits until its neighbours of higher priority are coloured. 1: colours are told relaxed, with
// data behind them; 2: colours are plain.
//: run colouring<0> grid=2 block=16
//: in edges u32[64] = for i: (i / 2 + 1 + i % 2 * 8) % 32
//: in colours u32[32]
//: in weights u32[32]
//: twin colouring<1>
//: report race at=USE|WEIGHT
//: twin colouring<2>
//: report race at=LOOK|COLOUR
//: may race
template <int bug> __global__ void colouring(const u32 *edges, u32 *colours, u32 *weights) {
    const u32 v = blockIdx.x * 16 + threadIdx.x;
    u32 sum = 1;
    for (u32 e = v * 2; e < v * 2 + 2; e++) {
        const u32 other = edges[e];
        if (other < v) {
            if (bug == 2) while (*(volatile u32 *)&colours[other] == 0) {
            } else while (load<bug == 1 ? RELAXED : ACQUIRE, GPU>(&colours[other]) == 0) {
            }
            if (bug == 2) sum += plain_load(&colours[other]); // <- LOOK
            else sum += plain_load(&weights[other]); // <- USE
        }
    }
    plain_store(&weights[v], sum); // <- WEIGHT
    if (bug == 2) plain_store(&colours[v], sum); // <- COLOUR
    else store<bug == 1 ? RELAXED : RELEASE, GPU>(&colours[v], sum);
}
KERNELS_3(colouring)

// Ranks: what flows along edges is gathered by a warp for each row, and summed in shared memory. 1: the sum is read by lane 0 without
// a barrier of the warp; 2: rows share a word.
//: run ranks<0> grid=2 block=64
//: in values u32[128] = 1*128
//: in rows u32[4]
//: out rows u32[4] = 32*4
//: twin ranks<1>
//: report race missing=warp-sync at=SUM|PART
//: may unwritten
//: twin ranks<2>
//: report race at=ROW,ROW
template <int bug> __global__ void ranks(const u32 *values, u32 *rows) {
    __shared__ u32 part[64];
    const u32 t = threadIdx.x, row = blockIdx.x * 2 + warp();
    plain_store(&part[t], values[blockIdx.x * 64 + t]); // <- PART
    if (bug != 1) sync_warp();
    if (lane() == 0) {
        u32 sum = 0;
        for (u32 i = 0; i < 32; i++) sum += plain_load(&part[t + i]); // <- SUM
        rows[bug == 2 ? row / 2 : row] = sum; // <- ROW
    }
}
KERNELS_3(ranks)

// Triangles, each counted at its vertices. 1: the count of a vertex is plain, and only its owner adds to it, but the owner is wrong
// for every ninth edge.
//: run triangles<0> grid=2 block=32
//: in edges u32[64] = for i: (i / 2 + 1 + i % 2 * 8) % 32
//: in counts u32[64]
//: twin triangles<1>
//: report race at=ADD,ADD
template <int bug> __global__ void triangles(const u32 *edges, u32 *counts) {
    const u32 e = blockIdx.x * 32 + threadIdx.x;
    const u32 owner = bug == 1 && e % 9 == 8 ? edges[e] : e;
    counts[owner] += edges[e]; // <- ADD
}
KERNELS_2(triangles)
