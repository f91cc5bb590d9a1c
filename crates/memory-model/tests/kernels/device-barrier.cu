// CTAs exchange numbers over a cuda::barrier in global memory. `wrong` has one that expects three.
#include <cuda/barrier>
using barrier = cuda::barrier<cuda::thread_scope_device>;
__device__ barrier of_two(2);
__device__ barrier of_three(3);

__device__ void run(barrier &meet, int *x, int *y) {
    x[blockIdx.x] = 1 + blockIdx.x;
    meet.arrive_and_wait();
    y[blockIdx.x] = x[1 - blockIdx.x];
}

extern "C" __global__ void right(int *x, int *y) { run(of_two, x, y); }
extern "C" __global__ void wrong(int *x, int *y) { run(of_three, x, y); }
