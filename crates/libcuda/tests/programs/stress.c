/* Many threads on one context, with streams, graphs and pools under load; faults of another context meanwhile; a fork; and
   in the end work in flight. Every amount is fixed. */
#define _GNU_SOURCE
#include "memory.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, ROUNDS = 30, WORDS = 64 };

static CUcontext context;
static CUfunction step_;

static void step(CUdeviceptr at, unsigned k, unsigned spin, CUstream stream) {
    void *params[] = {&at, &k, &spin};
    OK(cuLaunchKernel(step_, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

static void *work(void *argument) {
    unsigned me = (unsigned)(uintptr_t)argument;
    CUstream a, b;
    CUevent event;
    OK(cuCtxSetCurrent(context));
    OK(cuStreamCreate(&a, me % 2));
    OK(cuStreamCreate(&b, 1));
    OK(cuEventCreate(&event, 0));
    for (unsigned round = 0; round < ROUNDS; round++) {
        CUdeviceptr words;
        unsigned result[WORDS];
        OK(cuMemAllocAsync(&words, sizeof result, a));
        /* Two streams take turns; only their order gives the result. */
        CUgraph graph;
        CUgraphExec exec;
        OK(cuStreamBeginCapture_v2(a, 1));
        step(words, 1, 10, a);
        OK(cuEventRecord(event, a));
        OK(cuStreamWaitEvent(b, event, 0));
        step(words, 2, 10, b);
        step(words + 4, me, 10, a);
        OK(cuEventRecord(event, b));
        OK(cuStreamWaitEvent(a, event, 0));
        step(words, 3, 10, a);
        OK(cuStreamEndCapture(a, &graph));
        OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
        OK(cuGraphDestroy(graph));
        memset(result, 0, sizeof result);
        OK(cuMemcpyHtoDAsync_v2(words, result, sizeof result, a));
        OK(cuGraphLaunch(exec, a));
        OK(cuEventRecord(event, a));
        OK(cuStreamWaitEvent(b, event, 0));
        OK(cuGraphLaunch(exec, b));
        OK(cuEventRecord(event, b));
        OK(cuStreamWaitEvent(a, event, 0));
        OK(cuMemcpyDtoHAsync_v2(result, words, sizeof result, a));
        OK(cuMemFreeAsync(words, a));
        OK(cuStreamSynchronize(a));
        /* x -> 8x + 11, twice; y -> 2y + me, twice. */
        TRUE(result[0] == 99 && result[1] == 3 * me && result[2] == 0);
        OK(cuGraphExecDestroy(exec));
    }
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
    OK(cuEventDestroy_v2(event));
    return NULL;
}

/* A context of its own that faults again and again. */
static void *fail(void *unused) {
    (void)unused;
    for (int round = 0; round < ROUNDS; round++) {
        CUcontext mine;
        CUmodule module;
        CUfunction function;
        CUdeviceptr p;
        OK(cuCtxCreate_v2(&mine, 0, 0));
        OK(cuModuleLoadData(&module, PTX));
        OK(cuModuleGetFunction(&function, module, round % 2 ? "trap_now" : "step"));
        CUdeviceptr wild = 64;
        unsigned one = 1;
        void *params[] = {&wild, &one, &one};
        OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
        EXPECT(round % 2 ? 719 : 700, cuCtxSynchronize());
        EXPECT(round % 2 ? 719 : 700, cuMemAlloc_v2(&p, 4));
        OK(cuCtxDestroy_v2(mine));
    }
    return NULL;
}

int main(void) {
    CUmodule module;
    context = begin();
    OK(cuModuleLoadData(&module, PTX));
    OK(cuModuleGetFunction(&step_, module, "step"));
    pthread_t threads[THREADS], failing;
    TRUE(!pthread_create(&failing, NULL, fail, NULL));
    for (uintptr_t i = 0; i < THREADS; i++) TRUE(!pthread_create(&threads[i], NULL, work, (void *)i));
    for (int i = 0; i < THREADS; i++) TRUE(!pthread_join(threads[i], NULL));
    TRUE(!pthread_join(failing, NULL));
    OK(cuCtxSynchronize());

    /* A process that was forked off has no driver: an error, and nothing hangs. */
    pid_t child = fork();
    if (child == 0) {
        CUdeviceptr p;
        int count;
        EXPECT(3, cuMemAlloc_v2(&p, 4));
        EXPECT(3, cuCtxSynchronize());
        EXPECT(3, cuInit(0));
        EXPECT(3, cuDeviceGetCount(&count));
        _exit(0);
    }
    int status = 1;
    TRUE(waitpid(child, &status, 0) == child && status == 0);
    OK(cuCtxSynchronize());

    /* The program ends while a kernel runs that would take hours, others wait for it, and a stream waits for ever. */
    CUdeviceptr word;
    CUstream stream;
    OK(cuMemAlloc_v2(&word, 4));
    OK(cuStreamCreate(&stream, 1));
    step(word, 1, 0xffffffff, stream);
    step(word, 1, 1, stream);
    OK(cuStreamCreate(&stream, 1));
    OK(cuStreamWaitValue32_v2(stream, word, 12345, 1));
    puts("stress: passed");
    return 0;
}
