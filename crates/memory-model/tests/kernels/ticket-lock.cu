// A lock that is given in the order in which it was asked for. `wrong` looks at whose turn it is without acquire.
#include <cuda/atomic>
using word = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

template <cuda::memory_order LOOK> __device__ void add(unsigned *lock, int *data) {
    word next(lock[0]), turn(lock[1]);
    unsigned mine = next.fetch_add(1, cuda::memory_order_relaxed);
    while (turn.load(LOOK) != mine) {
    }
    *data += 1;
    turn.store(mine + 1, cuda::memory_order_release);
}

extern "C" __global__ void right(unsigned *lock, int *data) { add<cuda::memory_order_acquire>(lock, data); }
extern "C" __global__ void wrong(unsigned *lock, int *data) { add<cuda::memory_order_relaxed>(lock, data); }
