/* Calls when a thread's own values are gone: from its keys' destructors, from atexit, from the program's destructors. */
#include "driver.h"
#include <pthread.h>

static CUcontext context_;
static CUfunction step_;
static pthread_key_t key_;
static int right_ = 1;

#define RIGHT(call)                                                   \
    do {                                                              \
        CUresult got = (call);                                        \
        if (got) {                                                    \
            fprintf(stderr, "%d: %s is %d\n", __LINE__, #call, got); \
            right_ = 0;                                               \
        }                                                             \
    } while (0)

/* All that a program may want: memory, both default streams, streams and events of its own, kernels, capture. */
static void use(void) {
    extern CUresult cuStreamBeginCapture_v2(CUstream, int), cuStreamEndCapture(CUstream, void *);
    extern CUresult cuStreamGetCaptureInfo_v3(CUstream, int *, uint64_t *, void **, const void **, const void **, size_t *);
    extern CUresult cuGraphDestroy(void *), cuCtxPushCurrent_v2(CUcontext);
    CUcontext current;
    CUdeviceptr memory;
    CUstream stream;
    CUevent event;
    uint64_t id;
    void *graph, *growing;
    const void *nodes, *edges;
    size_t count;
    int status;
    unsigned k = 1, spin = 1, word = 3;
    RIGHT(cuCtxSetCurrent(context_));
    RIGHT(cuCtxGetCurrent(&current));
    RIGHT(current != context_);
    RIGHT(cuMemAlloc_v2(&memory, 4096));
    void *params[] = {&memory, &k, &spin};
    RIGHT(cuMemcpyHtoD_v2(memory, &word, 4));
    RIGHT(cuStreamCreate(&stream, 0));
    RIGHT(cuEventCreate(&event, 0));
    CUstream streams[] = {NULL, (CUstream)2, stream};
    for (int i = 0; i < 3; i++) {
        RIGHT(cuLaunchKernel(step_, 1, 1, 1, 1, 1, 1, 0, streams[i], params, NULL));
        RIGHT(cuEventRecord(event, streams[i]));
        RIGHT(cuEventSynchronize(event));
        RIGHT(cuEventQuery(event));
    }
    RIGHT(cuStreamBeginCapture_v2(stream, 0));
    RIGHT(cuLaunchKernel(step_, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
    RIGHT(cuStreamGetCaptureInfo_v3(stream, &status, &id, &growing, &nodes, &edges, &count));
    RIGHT(cuStreamEndCapture(stream, &graph));
    RIGHT(cuGraphDestroy(graph));
    RIGHT(cuMemcpyDtoH_v2(&word, memory, 4));
    RIGHT(word != ((3 * 2 + 1) * 2 + 1) * 2 + 1);
    RIGHT(cuEventDestroy_v2(event));
    RIGHT(cuStreamDestroy_v2(stream));
    RIGHT(cuMemFree_v2(memory));
    RIGHT(cuCtxPushCurrent_v2(context_));
    RIGHT(cuCtxPopCurrent_v2(&current));
}

static void with_key(void *unused) {
    (void)unused;
    use();
}

static void *thread(void *unused) {
    OK(cuCtxSetCurrent(context_));
    pthread_setspecific(key_, &key_);
    return unused;
}

__attribute__((destructor)) static void destructor(void) {
    use();
    if (right_) puts("last: passed");
}

int main(void) {
    CUmodule module;
    pthread_t other;
    context_ = begin();
    OK(cuModuleLoadData(&module, PTX));
    OK(cuModuleGetFunction(&step_, module, "step"));
    pthread_key_create(&key_, with_key);
    pthread_create(&other, NULL, thread, NULL);
    pthread_join(other, NULL);
    atexit(use);
    return 0;
}
