// The program's own memory, registered, used by a kernel.
#include "check.h"

__global__ void add(int *values, int term) { values[threadIdx.x] += term; }

int main() {
    int *values = static_cast<int *>(aligned_alloc(4096, 4096));
    for (int i = 0; i < 1024; i++) values[i] = i;
    CALL(cudaHostRegister(values, 4096, cudaHostRegisterMapped));
    int *device;
    CALL(cudaHostGetDevicePointer(&device, values, 0));
    add<<<1, 1024>>>(device, 5);
    CALL(cudaDeviceSynchronize());
    for (int i = 0; i < 1024; i++) CLAIM(values[i] == i + 5);
    CLAIM(cudaHostRegister(values, 4096, 0) == cudaErrorHostMemoryAlreadyRegistered);
    cudaPointerAttributes attributes;
    CALL(cudaPointerGetAttributes(&attributes, values));
    CLAIM(attributes.type == cudaMemoryTypeHost && attributes.hostPointer == values);
    CALL(cudaHostUnregister(values));
    CLAIM(cudaHostUnregister(values) == cudaErrorHostMemoryNotRegistered);
    free(values);
    printf("registered: passed\n");
}
