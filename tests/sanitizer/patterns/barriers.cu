// Barriers of the CTA that are missing or misplaced: what GPUVerify's suite of kernels is about.

// A tree in shared memory. 1: no barrier between the levels; 2: it comes before the sum instead of after the store, only once;
// 3: none before the first level.
//: run tree<0> grid=2 block=128
//: in values u32[256] = for i: i
//: in sums u32[2]
//: out sums u32[2] = 8128 24512
//: twin tree<1>
//: report race at=SUM,SUM
//: twin tree<2>
//: report race at=SUM,SUM
//: twin tree<3>
//: report race at=SUM|FILL
template <int bug> __global__ void tree(const u32 *values, u32 *sums) {
    __shared__ u32 part[128];
    const u32 t = threadIdx.x;
    part[t] = values[blockIdx.x * 128 + t]; // <- FILL
    if (bug != 3) __syncthreads();
    for (u32 half = 64; half > 0; half /= 2) {
        if (bug == 2 && half == 64) __syncthreads();
        if (t < half) part[t] += part[t + half]; // <- SUM
        if (bug == 0 || bug == 3) __syncthreads();
    }
    __syncthreads();
    if (t == 0) sums[blockIdx.x] = part[0];
}
KERNELS_4(tree)

// Hillis and Steele's scan in one buffer: a barrier between reading and adding, and one after it. 1: without the first; 2: without
// the second.
//: run scan<0> grid=1 block=64
//: in values u32[64] = 1*64
//: out values u32[64] = for i: i + 1
//: twin scan<1>
//: report race at=TAKE|PUT
//: twin scan<2>
//: report race at=TAKE|PUT
template <int bug> __global__ void scan(u32 *values) {
    __shared__ u32 sums[64];
    const u32 t = threadIdx.x;
    sums[t] = values[t];
    __syncthreads();
    for (u32 by = 1; by < 64; by *= 2) {
        const u32 before = t >= by ? plain_load(&sums[t - by]) : 0; // <- TAKE
        if (bug != 1) __syncthreads();
        sums[t] += before; // <- PUT
        if (bug != 2) __syncthreads();
    }
    __syncthreads();
    values[t] = sums[t];
}
KERNELS_3(scan)

// The same in two buffers: one barrier a step is enough. 1: without it; 2: both steps use one buffer.
//: run two_buffers<0> grid=1 block=64
//: in values u32[64] = 1*64
//: out values u32[64] = for i: i + 1
//: twin two_buffers<1>
//: report race at=STEP,STEP
//: twin two_buffers<2>
//: report race at=STEP,STEP
template <int bug> __global__ void two_buffers(u32 *values) {
    __shared__ u32 sums[2][64];
    const u32 t = threadIdx.x;
    u32 now = 0;
    sums[0][t] = values[t];
    __syncthreads();
    for (u32 by = 1; by < 64; by *= 2) {
        const u32 next = bug == 2 ? now : 1 - now;
        sums[next][t] = sums[now][t] + (t >= by ? sums[now][t - by] : 0); // <- STEP
        now = next;
        if (bug != 1) __syncthreads();
    }
    if (bug == 1) __syncthreads();
    values[t] = sums[now][t];
}
KERNELS_3(two_buffers)

// A product by tiles. 1: no barrier after the tiles are loaded; 2: none before they are loaded again.
//: run product<0> grid=2,2 block=8,8
//: in a u32[256] = 1*256
//: in b u32[256] = 2*256
//: in c u32[256]
//: out c u32[256] = 32*256
//: twin product<1>
//: report race at=USE|LOAD_A
//: report race at=USE|LOAD_B
//: twin product<2>
//: report race at=USE|LOAD_A
//: report race at=USE|LOAD_B
template <int bug> __global__ void product(const u32 *a, const u32 *b, u32 *c) {
    __shared__ u32 tile_a[8][8], tile_b[8][8];
    const u32 x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 8 + x, row = blockIdx.y * 8 + y;
    u32 sum = 0;
    for (u32 k = 0; k < 16; k += 8) {
        tile_a[y][x] = a[row * 16 + k + x]; // <- LOAD_A
        tile_b[y][x] = b[(k + y) * 16 + column]; // <- LOAD_B
        if (bug != 1) __syncthreads();
        for (u32 i = 0; i < 8; i++) sum += tile_a[y][i] * tile_b[i][x]; // <- USE
        if (bug != 2) __syncthreads();
    }
    c[row * 16 + column] = sum;
}
KERNELS_3(product)

// A transposed tile. 1: no barrier; 2: a barrier of the warp's lanes only.
//: run transposed<0> grid=1 block=16,16
//: in from u32[256] = for i: i
//: in to u32[256]
//: out to u32[256] = for i: i % 16 * 16 + i / 16
//: twin transposed<1>
//: report race at=READ|WRITE
//: twin transposed<2>
//: report race at=READ|WRITE
template <int bug> __global__ void transposed(const u32 *from, u32 *to) {
    __shared__ u32 tile[16][17];
    const u32 x = threadIdx.x, y = threadIdx.y;
    tile[y][x] = from[y * 16 + x]; // <- WRITE
    if (bug == 2) sync_warp();
    else if (bug != 1) __syncthreads();
    to[y * 16 + x] = tile[x][y]; // <- READ
}
KERNELS_3(transposed)

// Odd-even sorting. 1: no barrier after the odd step; 2: none at all, and pairs overlap.
//: run odd_even<0> grid=1 block=32
//: in values u32[64] = for i: 63 - i
//: out values u32[64] = for i: i
//: twin odd_even<1>
//: report race missing=warp-sync
//: twin odd_even<2>
//: report race missing=warp-sync
template <int bug> __global__ void odd_even(u32 *values) {
    const u32 t = threadIdx.x;
    for (u32 round = 0; round < 64; round++) {
        const u32 at = t * 2 + round % 2;
        if (at + 1 < 64) {
            const u32 low = values[at], high = values[at + 1];
            if (low > high) {
                values[at] = high;
                values[at + 1] = low;
            }
        }
        if (bug == 0 || (bug == 1 && round % 2 == 0)) __syncthreads();
    }
}
KERNELS_3(odd_even)

// Bitonic sorting. 1: the barrier is only in the outer loop.
//: run bitonic<0> grid=1 block=128
//: in values u32[128] = for i: 127 - i
//: out values u32[128] = for i: i
//: twin bitonic<1>
//: report race at=SWAP|LOOK
//: may race
template <int bug> __global__ void bitonic(u32 *values) {
    __shared__ u32 s[128];
    const u32 t = threadIdx.x;
    s[t] = values[t];
    __syncthreads();
    for (u32 size = 2; size <= 128; size *= 2) {
        for (u32 by = size / 2; by > 0; by /= 2) {
            const u32 other = t ^ by;
            if (other > t) {
                const u32 mine = plain_load(&s[t]), theirs = plain_load(&s[other]); // <- LOOK
                if ((mine > theirs) == ((t & size) == 0)) {
                    plain_store(&s[t], theirs); // <- SWAP
                    plain_store(&s[other], mine);
                }
            }
            if (bug != 1) __syncthreads();
        }
        __syncthreads();
    }
    values[t] = s[t];
}
KERNELS_2(bitonic)

// Bins in shared memory. 1: counted before all are zero; 2: written out before all is counted; 3: counted without atomics.
//: run bins<0> grid=1 block=128
//: in values u32[128] = for i: i * 7 % 32
//: in counts u32[32]
//: out counts u32[32] = 4*32
//: twin bins<1>
//: report race at=COUNT|ZERO
//: twin bins<2>
//: report race at=RESULT|COUNT
//: twin bins<3>
//: report race at=PLAIN,PLAIN
template <int bug> __global__ void bins(const u32 *values, u32 *counts) {
    __shared__ u32 bin[32];
    const u32 t = threadIdx.x;
    if (t < 32) bin[t] = 0; // <- ZERO
    if (bug != 1) __syncthreads();
    if (bug == 3) bin[values[t]]++; // <- PLAIN
    else add<RELAXED, CTA>(&bin[values[t]], 1u); // <- COUNT
    if (bug != 2) __syncthreads();
    if (t < 32) counts[t] = bin[t]; // <- RESULT
}
KERNELS_4(bins)

// A stencil of five points from a tile with a halo. 1: threads of the halo write it after the barrier; 2: the halo is not
// waited for by anyone.
//: run stencil<0> grid=2 block=64
//: in from u32[132] = 1*132
//: in to u32[128]
//: out to u32[128] = 5*128
//: twin stencil<1>
//: report race at=HALO|SUM
//: may unwritten at=SUM
//: twin stencil<2>
//: report race at=SUM|TILE
//: may race at=SUM|HALO
//: may race missing=warp-sync
//: may unwritten at=SUM
template <int bug> __global__ void stencil(const u32 *from, u32 *to) {
    __shared__ u32 tile[68];
    const u32 t = threadIdx.x, i = blockIdx.x * 64 + t;
    tile[t] = from[i]; // <- TILE
    if (bug == 1) __syncthreads();
    if (t < 4) tile[64 + t] = from[i + 64]; // <- HALO
    if (bug == 0) __syncthreads();
    to[i] = tile[t] + tile[t + 1] + tile[t + 2] + tile[t + 3] + tile[t + 4]; // <- SUM
}
KERNELS_3(stencil)

// Half of the warps produce, half consume, by barriers with numbers, two for what is full and two for what is free. 1: nobody
// waits for the producers; 2: the second round does not wait for the first to be read.
//: run roles<0> grid=1 block=128
//: in out u32[64]
//: out out u32[64] = for i: 6 + 4 * (63 - i)
//: twin roles<1>
//: report race at=READ|WRITE
//: may unwritten at=READ
//: twin roles<2>
//: report race at=READ|WRITE
template <int bug> __global__ void roles(u32 *out) {
    __shared__ u32 buffer[64];
    const u32 t = threadIdx.x % 64;
    if (threadIdx.x < 64) {
        for (u32 round = 0; round < 4; round++) {
            if (round > (bug == 2 ? 1 : 0)) named_sync(3 + round % 2, 128);
            buffer[t] = t + round; // <- WRITE
            named_arrive(1 + round % 2, bug == 1 ? 64 : 128);
        }
    } else {
        u32 sum = 0;
        for (u32 round = 0; round < 4; round++) {
            if (bug == 1) named_sync(5, 64);
            else named_sync(1 + round % 2, 128);
            sum += buffer[63 - t]; // <- READ
            if (round < 3 && !(bug == 2 && round == 0)) named_arrive(4 - round % 2, 128);
        }
        out[t] = sum;
    }
}
KERNELS_3(roles)

// Rotation in place. 1: reads and writes without a barrier between them; 2: the barrier is in a branch that only some warps
// take, another one serves the rest.
//: run rotation<0> grid=1 block=96
//: in values u32[96] = for i: i
//: out values u32[96] = for i: (i + 1) % 96
//: twin rotation<1>
//: report race missing=barrier at=READ|WRITE
//: may race missing=warp-sync at=READ|WRITE
//: twin rotation<2>
//: report race at=READ|WRITE
template <int bug> __global__ void rotation(u32 *values) {
    const u32 t = threadIdx.x;
    const u32 next = values[(t + 1) % 96]; // <- READ
    if (bug == 2) {
        if (warp() < 1) named_sync(1, 32);
        else named_sync(2, 64);
    } else if (bug != 1) __syncthreads();
    values[t] = next; // <- WRITE
}
KERNELS_3(rotation)

// A barrier in divergent code. 1: only the even lanes come to it, the odd ones come to another; 2: half of the last warp has
// left before it.
//: run divergent<0> grid=1 block=64
//: in out u32[64]
//: twin divergent<1>
//: report barrier-divergent
//: twin divergent<2>
//: report barrier-exited
template <int bug> __global__ void divergent(u32 *out) {
    const u32 t = threadIdx.x;
    if (bug == 2 && t >= 32) return;
    if (bug == 1) {
        if (t % 2) {
            out[t] = 1;
            asm volatile("barrier.sync 0;" : : : "memory");
        } else {
            asm volatile("barrier.sync 0;" : : : "memory");
            out[t] = 2;
        }
    } else __syncthreads();
    out[t] += 1;
}
KERNELS_3(divergent)
