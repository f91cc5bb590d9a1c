// A cooperative launch whose blocks wait for one another.
#include "check.h"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void relay(int *values, int rounds) {
    cg::grid_group grid = cg::this_grid();
    int i = grid.thread_rank(), count = grid.size();
    for (int round = 0; round < rounds; round++) {
        int next = values[(i + 1) % count];
        grid.sync();
        values[i] = next;
        grid.sync();
    }
}

int main() {
    const int blocks = 4, threads = 64;
    int count = blocks * threads, rounds = 5, *values;
    CALL(cudaMallocManaged(&values, count * sizeof(int)));
    for (int i = 0; i < count; i++) values[i] = i;
    void *arguments[] = {&values, &rounds};
    CALL(cudaLaunchCooperativeKernel(relay, blocks, threads, arguments));
    CALL(cudaDeviceSynchronize());
    for (int i = 0; i < count; i++) CLAIM(values[i] == (i + 5) % count);
    int many = 1 << 20;
    CLAIM(cudaLaunchCooperativeKernel(relay, many, threads, arguments) == cudaErrorCooperativeLaunchTooLarge);
    printf("grid_sync: passed\n");
}
