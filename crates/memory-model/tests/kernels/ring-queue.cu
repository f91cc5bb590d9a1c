// A ring of two slots with one writer and one reader. `wrong_order` publishes a slot before it is filled, `wrong_full` does
// not wait for the reader.
#include <cuda/atomic>
using word = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

template <bool EARLY, bool BLIND> __device__ void pass(unsigned *ends, int *slots, int *out) {
    word head(ends[0]), tail(ends[1]);
    if (blockIdx.x == 0) {
        for (unsigned i = 0; i < 3; i++) {
            while (!BLIND && i - tail.load(cuda::memory_order_acquire) == 2) {
            }
            if (EARLY) {
                head.store(i + 1, cuda::memory_order_release);
            }
            slots[i % 2] = 10 + i;
            if (!EARLY) {
                head.store(i + 1, cuda::memory_order_release);
            }
        }
    } else {
        int sum = 0;
        for (unsigned i = 0; i < 3; i++) {
            while (head.load(cuda::memory_order_acquire) == i) {
            }
            sum += slots[i % 2];
            tail.store(i + 1, cuda::memory_order_release);
        }
        *out = sum;
    }
}

extern "C" __global__ void right(unsigned *ends, int *slots, int *out) { pass<false, false>(ends, slots, out); }
extern "C" __global__ void wrong_order(unsigned *ends, int *slots, int *out) { pass<true, false>(ends, slots, out); }
extern "C" __global__ void wrong_full(unsigned *ends, int *slots, int *out) { pass<false, true>(ends, slots, out); }
