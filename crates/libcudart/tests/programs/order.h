// What kernels note, one behind the other, to tell in which order they ran.
#pragma once
#include "check.h"
#include <vector>

__device__ unsigned tickets;
__device__ int order[4096];

__device__ void note(int what) { order[atomicAdd(&tickets, 1)] = what; }

// The places in the order of what was noted, and nothing more.
static std::vector<int> noted() {
    CALL(cudaDeviceSynchronize());
    unsigned count = 0, zero = 0;
    CALL(cudaMemcpyFromSymbol(&count, tickets, sizeof count));
    std::vector<int> list(count);
    CALL(cudaMemcpyFromSymbol(list.data(), order, count * sizeof(int)));
    CALL(cudaMemcpyToSymbol(tickets, &zero, sizeof zero));
    return list;
}

static int place(const std::vector<int> &list, int what) {
    int found = -1;
    for (size_t i = 0; i < list.size(); i++) {
        if (list[i] == what) {
            CLAIM(found < 0);
            found = static_cast<int>(i);
        }
    }
    CLAIM(found >= 0);
    return found;
}
