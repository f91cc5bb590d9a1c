// Where and when the CTAs of clusters begin: by the size of clusters, CTAs that an SM has room for, and CTAs of the grid. Those of a cluster stay
// for different times, so that SMs become free one after the other.
//
//     nvcc -std=c++17 -O3 -arch=sm_90 clusters.cu -o clusters
//
// It prints a line for each CTA of the second of two launches: the cluster's CTAs, the shared memory of each in KiB, CTAs of the grid, the
// CTA's number, its SM, the nanoseconds of the device when it began and ended.

#include <cstdio>
#include <cstdlib>
#include <vector>

struct Seen {
    unsigned sm;
    unsigned long long begin, end;
};

__device__ unsigned long long nanoseconds() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

__global__ void stay(Seen *seen, unsigned cluster, unsigned cycles) {
    extern __shared__ char room[];
    const unsigned long long begin = nanoseconds();
    const long long until = clock64() + cycles * (1 + blockIdx.x % cluster);
    while (clock64() < until) {
    }
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    if (threadIdx.x == 0) {
        seen[blockIdx.x] = {sm, begin, nanoseconds()};
    }
}

static void check(cudaError_t error, const char *what) {
    if (error != cudaSuccess) {
        std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
        std::exit(1);
    }
}

int main() {
    constexpr unsigned MOST = 256;
    Seen *seen;
    check(cudaMalloc(&seen, MOST * sizeof(Seen)), "memory");
    check(cudaFuncSetAttribute(stay, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10), "shared memory");
    check(cudaFuncSetAttribute(stay, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), "large clusters");
    std::printf("cluster,shared,grid,cta,sm,begin,end\n");
    for (unsigned cluster : {1, 2, 4, 8, 16}) {
        for (unsigned shared : {200, 24}) {
            for (unsigned grid : {128, 256}) {
                cudaLaunchConfig_t config = {};
                config.gridDim = grid;
                config.blockDim = 128;
                config.dynamicSmemBytes = shared << 10;
                cudaLaunchAttribute attribute;
                attribute.id = cudaLaunchAttributeClusterDimension;
                attribute.val.clusterDim = {cluster, 1, 1};
                config.attrs = &attribute;
                config.numAttrs = 1;
                for (int launch = 0; launch < 2; launch++) {
                    check(cudaLaunchKernelEx(&config, stay, seen, cluster, 10000u), "launch");
                    check(cudaDeviceSynchronize(), "run");
                }
                std::vector<Seen> all(grid);
                check(cudaMemcpy(all.data(), seen, grid * sizeof(Seen), cudaMemcpyDeviceToHost), "copy");
                unsigned long long first = ~0ull;
                for (const Seen &one : all) {
                    first = one.begin < first ? one.begin : first;
                }
                for (unsigned cta = 0; cta < grid; cta++) {
                    std::printf("%u,%u,%u,%u,%u,%llu,%llu\n", cluster, shared, grid, cta, all[cta].sm,
                                all[cta].begin - first, all[cta].end - first);
                }
            }
        }
    }
}
