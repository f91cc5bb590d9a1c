// A lock of one word, taken by exchange. `wrong_take` takes it without acquire, `wrong_give` gives it back without release.
#include <cuda/atomic>
using word = cuda::atomic_ref<int, cuda::thread_scope_device>;

template <cuda::memory_order TAKE, cuda::memory_order GIVE>
__device__ void add(int *lock, int *data) {
    word l(*lock);
    while (l.exchange(1, TAKE)) {
    }
    *data += 1;
    l.store(0, GIVE);
}

extern "C" __global__ void right(int *lock, int *data) {
    add<cuda::memory_order_acquire, cuda::memory_order_release>(lock, data);
}
extern "C" __global__ void wrong_take(int *lock, int *data) {
    add<cuda::memory_order_relaxed, cuda::memory_order_release>(lock, data);
}
extern "C" __global__ void wrong_give(int *lock, int *data) {
    add<cuda::memory_order_acquire, cuda::memory_order_relaxed>(lock, data);
}
