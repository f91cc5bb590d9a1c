//: run sums grid=2 block=128
//: out d s32[4] = 130816 8128 642816 8256
//: run scans block=128
//: out inclusive s32[512] = for i: (i + 1) * (i + 2) / 2
//: out greatest s32[128] = -1 0 37 74 111*7 114*7 117*7 120*7 123*7 126*45 127*44
//: run sorts block=128
//: out keys u32[512] = 0..512
//: out values u32[512] = for i: (i + 495) * 99 % 512
//: run warp_sums block=96
//: out d s32[3] = 496 1520 2544
//: run warp_scans block=64
//: out d s32[64] = for i: (i % 32 + 1) * (i % 32 + 2) / 2
//: run histogram block=128
//: out bins u32[8] = 64*8
//: run heads block=128
//: out flags s32[128] = for i: i % 5 == 0
//: run transposes block=64
//: in from u32[256] = 0..256
//: out to u32[256] = for i: 2 * i + i % 4

// Building blocks of CUB, which real kernels are made of: each with an answer that is known.
#include <cub/cub.cuh>

extern "C" __global__ void sums(int *d) {
    typedef cub::BlockReduce<int, 128> Shuffles;
    typedef cub::BlockReduce<int, 128, cub::BLOCK_REDUCE_RAKING> Raking;
    __shared__ typename Shuffles::TempStorage a;
    __shared__ typename Raking::TempStorage b;
    int items[4];
    for (int k = 0; k < 4; k++) items[k] = threadIdx.x * 4 + k + blockIdx.x * 1000;
    int all = Shuffles(a).Sum(items);
    int threads = Raking(b).Sum(int(threadIdx.x + blockIdx.x));
    if (threadIdx.x == 0) {
        d[2 * blockIdx.x] = all;
        d[2 * blockIdx.x + 1] = threads;
    }
}

struct Larger {
    __device__ int operator()(int a, int b) const { return a > b ? a : b; }
};

extern "C" __global__ void scans(int *inclusive, int *greatest) {
    typedef cub::BlockScan<int, 128> Raking;
    typedef cub::BlockScan<int, 128, cub::BLOCK_SCAN_WARP_SCANS> Warps;
    __shared__ typename Raking::TempStorage a;
    __shared__ typename Warps::TempStorage b;
    int items[4];
    for (int k = 0; k < 4; k++) items[k] = threadIdx.x * 4 + k + 1;
    Raking(a).InclusiveSum(items, items);
    for (int k = 0; k < 4; k++) inclusive[threadIdx.x * 4 + k] = items[k];
    int before;
    Warps(b).ExclusiveScan(int(threadIdx.x * 37 % 128), before, -1, Larger());
    greatest[threadIdx.x] = before;
}

extern "C" __global__ void sorts(unsigned *keys, unsigned *values) {
    typedef cub::BlockRadixSort<unsigned, 128, 4, unsigned> Sort;
    __shared__ typename Sort::TempStorage storage;
    unsigned key[4], value[4];
    for (int k = 0; k < 4; k++) {
        value[k] = threadIdx.x * 4 + k;
        key[k] = (value[k] * 331 + 17) % 512;
    }
    Sort(storage).Sort(key, value);
    for (int k = 0; k < 4; k++) {
        keys[threadIdx.x * 4 + k] = key[k];
        values[threadIdx.x * 4 + k] = value[k];
    }
}

extern "C" __global__ void warp_sums(int *d) {
    typedef cub::WarpReduce<int> Warp;
    __shared__ typename Warp::TempStorage storage[3];
    int warp = threadIdx.x / 32;
    int sum = Warp(storage[warp]).Sum(int(threadIdx.x));
    if (threadIdx.x % 32 == 0) d[warp] = sum;
}

extern "C" __global__ void warp_scans(int *d) {
    typedef cub::WarpScan<int> Warp;
    __shared__ typename Warp::TempStorage storage[2];
    int sum;
    Warp(storage[threadIdx.x / 32]).InclusiveSum(int(threadIdx.x % 32 + 1), sum);
    d[threadIdx.x] = sum;
}

extern "C" __global__ void histogram(unsigned *bins) {
    typedef cub::BlockHistogram<unsigned char, 128, 4, 8> Histogram;
    __shared__ typename Histogram::TempStorage storage;
    __shared__ unsigned counts[8];
    unsigned char items[4];
    for (int k = 0; k < 4; k++) items[k] = (threadIdx.x * 4 + k) % 8;
    Histogram(storage).Histogram(items, counts);
    __syncthreads();
    if (threadIdx.x < 8) bins[threadIdx.x] = counts[threadIdx.x];
}

struct Differ {
    __device__ bool operator()(int a, int b) const { return a != b; }
};

extern "C" __global__ void heads(int *flags) {
    typedef cub::BlockDiscontinuity<int, 128> Discontinuity;
    __shared__ typename Discontinuity::TempStorage storage;
    int item[1] = {int(threadIdx.x / 5)}, flag[1];
    Discontinuity(storage).FlagHeads(flag, item, Differ());
    flags[threadIdx.x] = flag[0];
}

extern "C" __global__ void transposes(unsigned *from, unsigned *to) {
    typedef cub::BlockLoad<unsigned, 64, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE> Load;
    typedef cub::BlockStore<unsigned, 64, 4, cub::BLOCK_STORE_TRANSPOSE> Store;
    __shared__ typename Load::TempStorage a;
    __shared__ typename Store::TempStorage b;
    unsigned items[4];
    Load(a).Load(from, items);
    for (int k = 0; k < 4; k++) items[k] = 2 * items[k] + k;
    Store(b).Store(to, items);
}
