// To which sub-core the warps of CTAs go: of the warps of one SM the number of their place, whose last two bits are the sub-core's, and how
// long each takes for multiplications that a sub-core's pipe does at most one warp's of in two cycles. All begin at one time.
//
//     nvcc -std=c++17 -O3 -arch=sm_90 warps.cu -o warps && ./warps > h100/warps.csv

#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int SMS = 132;
constexpr int ROUNDS = 1024;
constexpr int CHAINS = 8;

struct Told {
    unsigned sm, place, cycles;
};

__device__ unsigned long long nanoseconds() {
    unsigned long long time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
}

__global__ void soon(unsigned long long *start) {
    *start = nanoseconds() + 200000;
}

__global__ void multiply(Told *told, float *out, const unsigned long long *start) {
    Told own;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(own.sm));
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(own.place));
    float chains[CHAINS];
#pragma unroll
    for (int i = 0; i < CHAINS; i++) {
        chains[i] = threadIdx.x + i;
    }
    while (nanoseconds() < *start) {
    }
    const unsigned begun = clock();
#pragma unroll 1
    for (int round = 0; round < ROUNDS; round++) {
#pragma unroll
        for (int i = 0; i < CHAINS; i++) {
            chains[i] = chains[i] * 1.0001f + 0.5f;
        }
    }
    own.cycles = clock() - begun;
    float sum = 0;
    for (float chain : chains) {
        sum += chain;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
    if (threadIdx.x % 32 == 0) {
        told[(blockIdx.x * blockDim.x + threadIdx.x) / 32] = own;
    }
}

void check(cudaError_t error) {
    if (error != cudaSuccess) {
        std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
        std::exit(1);
    }
}

int main() {
    Told *told;
    float *out;
    unsigned long long *start;
    check(cudaMalloc(&told, 1 << 20));
    check(cudaMalloc(&out, 1 << 24));
    check(cudaMalloc(&start, sizeof *start));
    std::puts("warps of a CTA,CTAs of an SM,CTA,warp,place,cycles");
    for (int warps : {1, 2, 3, 4, 5, 6, 7}) {
        for (int ctas : {1, 2, 3, 4, 6}) {
            soon<<<1, 1>>>(start);
            multiply<<<SMS * ctas, 32 * warps>>>(told, out, start);
            std::vector<Told> host(SMS * ctas * warps);
            check(cudaMemcpy(host.data(), told, host.size() * sizeof(Told), cudaMemcpyDeviceToHost));
            for (size_t i = 0; i < host.size(); i++) {
                if (host[i].sm == 0) {
                    std::printf("%d,%d,%zu,%zu,%u,%u\n", warps, ctas, i / warps, i % warps, host[i].place, host[i].cycles);
                }
            }
        }
    }
}
