// A pair of words that is written under a sequence number and read until it is whole. `wrong` does not look whether the
// number was even.
#include <cuda/atomic>
using word = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

template <bool EVEN> __device__ void run(unsigned *number, unsigned *pair, unsigned *out) {
    word sequence(*number), a(pair[0]), b(pair[1]);
    if (blockIdx.x == 0) {
        sequence.store(1, cuda::memory_order_relaxed);
        cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
        a.store(5, cuda::memory_order_relaxed);
        b.store(5, cuda::memory_order_relaxed);
        sequence.store(2, cuda::memory_order_release);
    } else {
        unsigned before, x, y, after;
        do {
            before = sequence.load(cuda::memory_order_acquire);
            x = a.load(cuda::memory_order_relaxed);
            y = b.load(cuda::memory_order_relaxed);
            cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
            after = sequence.load(cuda::memory_order_relaxed);
        } while ((EVEN && before % 2) || before != after);
        if (x != y) {
            __trap();
        }
        *out = x;
    }
}

extern "C" __global__ void right(unsigned *number, unsigned *pair, unsigned *out) { run<true>(number, pair, out); }
extern "C" __global__ void wrong(unsigned *number, unsigned *pair, unsigned *out) { run<false>(number, pair, out); }
