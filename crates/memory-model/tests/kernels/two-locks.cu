// A transfer between two accounts, each with a lock. `wrong` takes the locks in an order that differs.
#include <cuda/atomic>
using word = cuda::atomic_ref<int, cuda::thread_scope_device>;

template <bool ORDERED> __device__ void run(int *locks, int *accounts) {
    int first = ORDERED ? 0 : blockIdx.x, second = 1 - first;
    for (int i = 0; i < 2; i++) {
        word l(locks[i == 0 ? first : second]);
        while (l.exchange(1, cuda::memory_order_acquire)) {
        }
    }
    accounts[blockIdx.x] -= 1;
    accounts[1 - blockIdx.x] += 1;
    word(locks[second]).store(0, cuda::memory_order_release);
    word(locks[first]).store(0, cuda::memory_order_release);
}

extern "C" __global__ void right(int *locks, int *accounts) { run<true>(locks, accounts); }
extern "C" __global__ void wrong(int *locks, int *accounts) { run<false>(locks, accounts); }
