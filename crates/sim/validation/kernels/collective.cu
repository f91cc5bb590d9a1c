// After the patterns of CUB: warps and CTAs that reduce, scan, rank and select together.

// Sums of 1,024 elements by a CTA of 256: four elements a thread, warps by shuffles, the CTA through shared memory.
extern "C" __global__ void block_reduce(const int *in, int *out) {
    __shared__ int sums[8];
    const uint4 own = reinterpret_cast<const uint4 *>(in)[thread_id()];
    int sum = warp_sum((int)(own.x + own.y + own.z + own.w));
    if (lane_id() == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int warp = 1; warp < 8; ++warp) sum += sums[warp];
        out[blockIdx.x] = sum;
    }
}

// The sum of n elements: CTAs stride along the grid, and each adds its own.
extern "C" __global__ void device_reduce(const uint4 *in, u32 *out, int n) {
    __shared__ int sums[8];
    int sum = 0;
    for (int i = thread_id(); i < n / 4; i += gridDim.x * blockDim.x) sum += in[i].x + in[i].y + in[i].z + in[i].w;
    sum = warp_sum(sum);
    if (lane_id() == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = warp_sum(lane_id() < 8 ? sums[lane_id()] : 0);
        if (lane_id() == 0) atomic_add(out, sum);
    }
}

// A sum for each segment of 64 elements, a warp each.
extern "C" __global__ void segmented_reduce(const float *in, float *out) {
    int segment = thread_id() / 32;
    float sum = warp_sum(in[segment * 64 + lane_id()] + in[segment * 64 + 32 + lane_id()]);
    if (lane_id() == 0) out[segment] = sum;
}

// Running sums over 2,048 elements by a CTA of 256: eight in a row a thread, brought there through shared memory.
extern "C" __global__ void block_scan(const int *in, int *out) {
    __shared__ int items[2048 + 64], sums[8];
    int t = threadIdx.x, begin = blockIdx.x * 2048;
    for (int i = t; i < 2048; i += 256) items[i + i / 32] = in[begin + i];
    __syncthreads();
    int own[8], sum = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) own[i] = sum += items[t * 8 + i + (t * 8 + i) / 32];
    int below = warp_scan(sum);
    if (lane_id() == 31) sums[t / 32] = below;
    __syncthreads();
    int before = below - sum;
    for (int warp = 0; warp < t / 32; ++warp) before += sums[warp];
#pragma unroll
    for (int i = 0; i < 8; ++i) items[t * 8 + i + (t * 8 + i) / 32] = own[i] + before;
    __syncthreads();
    for (int i = t; i < 2048; i += 256) out[begin + i] = items[i + i / 32];
}

// Running sums over all elements in one pass: a CTA waits for the sum of the one before it. `states` has zeros before.
extern "C" __global__ void chained_scan(const int *in, int *out, u64 *states) {
    __shared__ int sums[8], before;
    int t = threadIdx.x, own = in[thread_id()], sum = warp_scan(own);
    if (lane_id() == 31) sums[t / 32] = sum;
    __syncthreads();
    for (int warp = 0; warp < t / 32; ++warp) sum += sums[warp];
    if (t == 255) {
        u64 state = 1ull << 32;
        while (blockIdx.x > 0 && !(state = __atomic_load_n(&states[blockIdx.x - 1], __ATOMIC_RELAXED))) {}
        before = (int)state;
        __atomic_store_n(&states[blockIdx.x], 1ull << 32 | (u32)(before + sum), __ATOMIC_RELAXED);
    }
    __syncthreads();
    out[thread_id()] = sum + before;
}

// How often each byte of the keys has each value: 256 counters in shared memory for each of four digits.
extern "C" __global__ void radix_histogram(const u32 *keys, u32 *counts, int n) {
    __shared__ u32 own[4][256];
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) own[i / 256][i % 256] = 0;
    __syncthreads();
    for (int i = thread_id(); i < n; i += gridDim.x * blockDim.x) {
        u32 key = keys[i];
        for (int digit = 0; digit < 4; ++digit) atomic_add(&own[digit][key >> 8 * digit & 255], 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) atomic_add(&counts[i], own[i / 256][i % 256]);
}

// The place of each key among those of its CTA by the lowest five bits: lanes of one digit find one another.
extern "C" __global__ void radix_rank(const u32 *keys, u32 *ranks) {
    __shared__ u32 counts[8][32];
    int lane = lane_id(), warp = threadIdx.x / 32;
    u32 digit = keys[thread_id()] & 31, same = FULL;
    counts[warp][lane] = 0;
    for (int bit = 0; bit < 5; ++bit) {
        u32 with = ballot(digit >> bit & 1);
        same &= digit >> bit & 1 ? with : ~with;
    }
    u32 below = __builtin_popcount(same & ((1u << lane) - 1));
    if (below == 0) counts[warp][digit] = __builtin_popcount(same);
    __syncthreads();
    if (warp == 0) {
        u32 all = 0;
        for (int of = 0; of < 8; ++of) all += counts[of][lane];
        u32 begin = warp_scan(all) - all;
        for (int of = 0; of < 8; ++of) {
            u32 count = counts[of][lane];
            counts[of][lane] = begin;
            begin += count;
        }
    }
    __syncthreads();
    ranks[thread_id()] = counts[warp][digit] + below;
}

// Keeps the odd elements: places by a counter that a lane of each warp advances.
extern "C" __global__ void select_if(const u32 *in, u32 *out, u32 *count) {
    u32 own = in[thread_id()], kept = ballot(own & 1), begin = 0;
    if (lane_id() == 0) begin = atomic_add(count, __builtin_popcount(kept));
    begin = shuffle(begin, 0);
    if (own & 1) out[begin + __builtin_popcount(kept & ((1u << lane_id()) - 1))] = own;
}

// Where each needle would stand in a sorted list.
extern "C" __global__ void lower_bound(const u32 *sorted, const u32 *needles, u32 *places, int length) {
    u32 needle = needles[thread_id()], low = 0, high = length;
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (sorted[middle] < needle) low = middle + 1;
        else high = middle;
    }
    places[thread_id()] = low;
}

// Neighbours change places until the CTA's 256 elements are in order.
extern "C" __global__ void odd_even_sort(const u32 *in, u32 *out) {
    __shared__ u32 keys[256];
    int t = threadIdx.x;
    keys[t] = in[thread_id()];
    for (int round = 0; round < 64; ++round) {
        __syncthreads();
        int left = 2 * (t % 128) + round % 2;
        if (t < 128 && left < 255 && keys[left] > keys[left + 1]) {
            u32 key = keys[left];
            keys[left] = keys[left + 1];
            keys[left + 1] = key;
        }
    }
    __syncthreads();
    out[thread_id()] = keys[t];
}

// Counts of elements by value, in global memory alone.
extern "C" __global__ void global_histogram(const u32 *in, u32 *counts, u32 bins) {
    atomic_add(&counts[in[thread_id()] % bins], 1);
}

// Puts keys into an open table of a power of two of places, which holds zeros before.
extern "C" __global__ void hash_insert(const u32 *keys, u32 *table, u32 places) {
    u32 key = keys[thread_id()] | 1, at = key * 2654435761u & (places - 1);
    for (;;) {
        u32 there = 0;
        if (__atomic_compare_exchange_n(&table[at], &there, key, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) || there == key) return;
        at = (at + 1) & (places - 1);
    }
}
