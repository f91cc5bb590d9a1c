// Each of two threads says that it comes, and looks whether the other one does: never may both go in. `wrong` has a fence
// that is not sequentially consistent.
#include <cuda/atomic>
using word = cuda::atomic_ref<int, cuda::thread_scope_device>;

template <cuda::memory_order FENCE> __device__ void run(int *coming, int *inside) {
    word(coming[blockIdx.x]).store(1, cuda::memory_order_relaxed);
    cuda::atomic_thread_fence(FENCE, cuda::thread_scope_device);
    if (word(coming[1 - blockIdx.x]).load(cuda::memory_order_relaxed) == 0) {
        if (word(*inside).fetch_add(1, cuda::memory_order_relaxed) != 0) {
            __trap();
        }
    }
}

extern "C" __global__ void right(int *coming, int *inside) { run<cuda::memory_order_seq_cst>(coming, inside); }
extern "C" __global__ void wrong(int *coming, int *inside) { run<cuda::memory_order_acq_rel>(coming, inside); }
