// A list of nodes to which two threads add theirs; a third takes all. `wrong` takes them without acquire.
#include <cuda/atomic>
struct node {
    node *next;
    long value;
};
using word = cuda::atomic_ref<node *, cuda::thread_scope_device>;

template <cuda::memory_order TAKE> __device__ void run(node **top, node *nodes, long *out) {
    word list(*top);
    if (blockIdx.x < 2) {
        node *mine = nodes + blockIdx.x;
        mine->value = 1 + blockIdx.x;
        node *old = list.load(cuda::memory_order_relaxed);
        do {
            mine->next = old;
        } while (!list.compare_exchange_strong(old, mine, cuda::memory_order_release, cuda::memory_order_relaxed));
    } else {
        long sum = 0;
        for (node *at = list.exchange(nullptr, TAKE); at; at = at->next) {
            sum += at->value;
        }
        *out = sum;
    }
}

extern "C" __global__ void right(node **top, node *nodes, long *out) { run<cuda::memory_order_acquire>(top, nodes, out); }
extern "C" __global__ void wrong(node **top, node *nodes, long *out) { run<cuda::memory_order_relaxed>(top, nodes, out); }
