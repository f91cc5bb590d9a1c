/* The runtime when a thread's own values are gone: a program's destructors free what it had. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int cudaMalloc(void **, size_t), cudaFree(void *), cudaMemset(void *, int, size_t), cudaDeviceSynchronize(void);
int cudaMallocHost(void **, size_t), cudaFreeHost(void *), cudaGetLastError(void), cudaSetDevice(int);
int cudaStreamCreate(void **), cudaStreamDestroy(void *), cudaEventCreate(void **), cudaEventDestroy(void *);
unsigned __cudaPushCallConfiguration(unsigned long long, unsigned, unsigned long long, unsigned, size_t, void *);

static void *device_, *host_, *stream_, *event_;
static pthread_key_t key_;
static int right_ = 1;

#define RIGHT(call)                                                   \
    do {                                                              \
        int got = (call);                                             \
        if (got) {                                                    \
            fprintf(stderr, "%d: %s is %d\n", __LINE__, #call, got); \
            right_ = 0;                                               \
        }                                                             \
    } while (0)

static void use(void) {
    void *more;
    RIGHT(cudaMalloc(&more, 64));
    RIGHT(cudaMemset(more, 1, 64));
    RIGHT(cudaDeviceSynchronize());
    RIGHT(cudaFree(more));
    RIGHT(__cudaPushCallConfiguration(1ull << 32 | 1, 1, 1ull << 32 | 1, 1, 0, NULL));
    RIGHT(cudaFree((void *)16) != 1);
    RIGHT(cudaGetLastError() != 1);
    RIGHT(cudaSetDevice(0));
}

static void with_key(void *unused) {
    (void)unused;
    use();
}

static void *thread(void *unused) {
    pthread_setspecific(key_, &key_);
    /* One that uses CUDA only when it ends, and one that has used it before. */
    if (unused) use();
    return NULL;
}

__attribute__((destructor)) static void destructor(void) {
    use();
    RIGHT(cudaStreamDestroy(stream_));
    RIGHT(cudaEventDestroy(event_));
    RIGHT(cudaFreeHost(host_));
    RIGHT(cudaFree(device_));
    if (right_) puts("last: passed");
}

int main(void) {
    RIGHT(cudaMalloc(&device_, 64));
    RIGHT(cudaMallocHost(&host_, 64));
    RIGHT(cudaStreamCreate(&stream_));
    RIGHT(cudaEventCreate(&event_));
    pthread_key_create(&key_, with_key);
    for (int i = 0; i < 2; i++) {
        pthread_t other;
        pthread_create(&other, NULL, thread, i ? &key_ : NULL);
        pthread_join(other, NULL);
    }
    atexit(use);
    return 0;
}
