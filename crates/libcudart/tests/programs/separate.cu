// nvcc: -rdc=true
// Code that is compiled to be linked: the runtime hands the driver its files.
#include "check.h"

__device__ int base = 3;
__noinline__ __device__ int tenfold(int x) { return 10 * x + base; }
__global__ void use(int *out) { *out = tenfold(base); }

int main() {
    int *out;
    CALL(cudaMallocManaged(&out, sizeof(int)));
    use<<<1, 1>>>(out);
    CALL(cudaGetLastError());
    CALL(cudaDeviceSynchronize());
    CLAIM(*out == 33);
    printf("separate: passed\n");
}
