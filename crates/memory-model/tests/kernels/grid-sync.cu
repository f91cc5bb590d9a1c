// CTAs exchange numbers over a barrier of the grid. `wrong` has one of the CTA only.
#include <cooperative_groups.h>

extern "C" __global__ void right(int *x, int *y) {
    if (threadIdx.x == 0) {
        x[blockIdx.x] = 1 + blockIdx.x;
    }
    cooperative_groups::this_grid().sync();
    if (threadIdx.x == 1) {
        y[blockIdx.x] = x[1 - blockIdx.x];
    }
}
extern "C" __global__ void wrong(int *x, int *y) {
    if (threadIdx.x == 0) {
        x[blockIdx.x] = 1 + blockIdx.x;
    }
    cooperative_groups::this_thread_block().sync();
    if (threadIdx.x == 1) {
        y[blockIdx.x] = x[1 - blockIdx.x];
    }
}
