// A failed assertion ends the context: every later call says so.
// stopped: kernel holds(int)
#include "check.h"
#include <cassert>

__global__ void holds(int value) { assert(value < 3); }

int main() {
    holds<<<1, 1>>>(2);
    CALL(cudaDeviceSynchronize());
    holds<<<1, 1>>>(3);
    CLAIM(cudaDeviceSynchronize() == cudaErrorAssert);
    int *pointer;
    CLAIM(cudaMalloc(&pointer, 4) == cudaErrorAssert);
    CLAIM(cudaGetLastError() == cudaErrorAssert);
    CLAIM(cudaMalloc(&pointer, 4) == cudaErrorAssert);
    printf("%s: %s\n", cudaGetErrorName(cudaErrorAssert), cudaGetErrorString(cudaErrorAssert));
}
