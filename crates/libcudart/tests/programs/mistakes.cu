// Errors: which, when, and how long they are remembered.
// finds: out-of-bounds
// stopped: kernel store(int*)
#include "check.h"

__global__ void nothing() {}
__global__ void store(int *pointer) { *pointer = 1; }

int main() {
    CLAIM(cudaGetLastError() == cudaSuccess);
    nothing<<<1, 2048>>>();
    CLAIM(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
    CLAIM(cudaGetLastError() == cudaErrorInvalidConfiguration && cudaGetLastError() == cudaSuccess);
    nothing<<<0, 32>>>();
    CLAIM(cudaGetLastError() == cudaErrorInvalidConfiguration);
    nothing<<<1, 32, 1 << 20>>>();
    CLAIM(cudaGetLastError() == cudaErrorInvalidValue);
    void *pointer;
    CLAIM(cudaMalloc(&pointer, 1ull << 50) == cudaErrorMemoryAllocation);
    CLAIM(cudaMalloc(&pointer, 0) == cudaSuccess && pointer == nullptr);
    CLAIM(cudaFree(nullptr) == cudaSuccess);
    // The failed allocation is the last error still.
    CLAIM(cudaGetLastError() == cudaErrorMemoryAllocation);
    int local;
    CLAIM(cudaFree(&local) == cudaErrorInvalidValue);
    CLAIM(cudaMemcpy(&local, &local, 4, static_cast<cudaMemcpyKind>(9)) == cudaErrorInvalidMemcpyDirection);
    CLAIM(cudaSetDevice(99) == cudaErrorInvalidDevice);
    CLAIM(cudaLaunchKernel(reinterpret_cast<const void *>(&local), 1, 1, nullptr) == cudaErrorInvalidDeviceFunction);
    CLAIM(cudaGetLastError() == cudaErrorInvalidDeviceFunction);
    store<<<1, 1>>>(nullptr);
    CLAIM(cudaGetLastError() == cudaSuccess);
    CLAIM(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    CLAIM(cudaMalloc(&pointer, 4) == cudaErrorIllegalAddress);
    // A reset ends the context that has failed; the next call makes another.
    CALL(cudaDeviceReset());
    CLAIM(cudaGetLastError() == cudaErrorIllegalAddress);
    CALL(cudaMalloc(&pointer, 4));
    store<<<1, 1>>>(static_cast<int *>(pointer));
    CALL(cudaMemcpy(&local, pointer, 4, cudaMemcpyDeviceToHost));
    CLAIM(local == 1);
    printf("%s: %s\n", cudaGetErrorName(cudaErrorInvalidConfiguration),
           cudaGetErrorString(cudaErrorInvalidConfiguration));
    printf("%s\n", cudaGetErrorString(static_cast<cudaError_t>(12345)));
}
