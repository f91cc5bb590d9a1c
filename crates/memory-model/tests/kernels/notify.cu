// A number passed with cuda::atomic_ref's wait and notify. `wrong` has a scope that does not include the other CTA.
#include <cuda/atomic>

template <cuda::thread_scope SCOPE> __device__ void run(int *flag, int *x, int *y) {
    cuda::atomic_ref<int, SCOPE> raised(*flag);
    if (blockIdx.x == 0) {
        *x = 7;
        raised.store(1, cuda::memory_order_release);
        raised.notify_all();
    } else {
        raised.wait(0, cuda::memory_order_acquire);
        *y = *x;
    }
}

extern "C" __global__ void right(int *flag, int *x, int *y) { run<cuda::thread_scope_device>(flag, x, y); }
extern "C" __global__ void wrong(int *flag, int *x, int *y) { run<cuda::thread_scope_block>(flag, x, y); }
