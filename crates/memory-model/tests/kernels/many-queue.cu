// A queue of two cells with sequence numbers, for many writers. Each of two writers puts a number, a reader takes both.
// `wrong` looks at the sequence number of a cell without acquire.
#include <cuda/atomic>
using word = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

template <cuda::memory_order LOOK> __device__ void pass(unsigned *tail, unsigned *sequence, int *cells, int *out) {
    if (blockIdx.x < 2) {
        unsigned at = word(*tail).fetch_add(1, cuda::memory_order_relaxed);
        cells[at & 1] = 1 + blockIdx.x;
        word(sequence[at & 1]).store(1, cuda::memory_order_release);
    } else {
        int sum = 0;
        for (unsigned at = 0; at < 2; at++) {
            while (word(sequence[at]).load(LOOK) == 0) {
            }
            sum += cells[at];
        }
        *out = sum;
    }
}

extern "C" __global__ void right(unsigned *tail, unsigned *sequence, int *cells, int *out) {
    pass<cuda::memory_order_acquire>(tail, sequence, cells, out);
}
extern "C" __global__ void wrong(unsigned *tail, unsigned *sequence, int *cells, int *out) {
    pass<cuda::memory_order_relaxed>(tail, sequence, cells, out);
}
