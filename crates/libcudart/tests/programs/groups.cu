// Cooperative groups: tiles, coalesced threads, a block's barrier.
#include "check.h"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

__global__ void sums(int *out, int *prefixes, int *odd) {
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    int rank = block.thread_rank();
    int sum = cg::reduce(tile, rank, cg::plus<int>());
    if (tile.thread_rank() == 0) out[rank / 8] = sum;
    prefixes[rank] = cg::inclusive_scan(tile, 1);
    if (rank % 2) {
        auto some = cg::coalesced_threads();
        if (some.thread_rank() == 0) atomicAdd(odd, some.size());
    }
    block.sync();
}

int main() {
    int *memory;
    CALL(cudaMallocManaged(&memory, 1024 * sizeof(int)));
    memory[512] = 0;
    sums<<<1, 128>>>(memory, memory + 256, memory + 512);
    CALL(cudaDeviceSynchronize());
    for (int t = 0; t < 16; t++) CLAIM(memory[t] == 8 * (8 * t) + 28);
    for (int i = 0; i < 128; i++) CLAIM(memory[256 + i] == i % 8 + 1);
    CLAIM(memory[512] == 64);
    printf("groups: passed\n");
}
