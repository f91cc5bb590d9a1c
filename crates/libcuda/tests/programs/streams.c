/* Order: streams, events, default streams. Every kernel doubles a number and adds its own, so that only one order of
   them gives the result. */
#define _POSIX_C_SOURCE 200809L
#include "driver.h"
#include <time.h>

enum { LONG = 300000 };

static CUfunction step_, empty_;
static CUdeviceptr word;

static void step(unsigned k, unsigned spin, CUstream stream) {
    void *params[] = {&word, &k, &spin};
    OK(cuLaunchKernel(step_, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

static unsigned read_word(void) {
    unsigned value;
    OK(cuMemcpyDtoH_v2(&value, word, 4));
    return value;
}

static void note(void *order) {
    strcat(order, "h");
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(void) {
    CUmodule module;
    CUstream a, b, free_stream;
    CUevent start, end, never;
    begin();
    OK(cuModuleLoadData(&module, PTX));
    OK(cuModuleGetFunction(&step_, module, "step"));
    OK(cuModuleGetFunction(&empty_, module, "empty"));
    OK(cuMemAlloc_v2(&word, 4));
    OK(cuStreamCreate(&a, 0));
    OK(cuStreamCreate(&b, 0));
    OK(cuStreamCreate(&free_stream, 1));
    OK(cuEventCreate(&start, 0));
    OK(cuEventCreate(&end, 0));
    OK(cuEventCreate(&never, 0));

    /* An event of the whole context: behind all work of all streams, and before all later work. */
    CUcontext context;
    CUdeviceptr other;
    CUstream later;
    OK(cuCtxGetCurrent(&context));
    OK(cuMemAlloc_v2(&other, 4));
    OK(cuMemsetD32_v2(word, 0, 1));
    OK(cuMemsetD32_v2(other, 0, 1));
    OK(cuCtxSynchronize());
    step(1, LONG, free_stream);
    OK(cuCtxRecordEvent(context, end));
    EXPECT(600, cuEventQuery(end));
    OK(cuCtxWaitEvent(context, end));
    OK(cuMemcpyDtoDAsync_v2(other, word, 4, a));
    OK(cuStreamSynchronize(a));
    OK(cuEventQuery(end));
    unsigned copied;
    OK(cuMemcpyDtoH_v2(&copied, other, 4));
    TRUE(copied == 1);
    step(2, LONG, free_stream);
    OK(cuCtxRecordEvent(context, end));
    OK(cuCtxWaitEvent(context, end));
    OK(cuStreamCreate(&later, 1));
    step(3, 1, later);
    OK(cuStreamSynchronize(later));
    TRUE(read_word() == 11);
    OK(cuStreamDestroy_v2(later));

    /* A launch returns before the kernel is done; queries say so; events measure it. */
    OK(cuMemsetD32_v2(word, 0, 1));
    OK(cuEventRecord(start, a));
    step(1, LONG, a);
    OK(cuEventRecord(end, a));
    EXPECT(600, cuStreamQuery(a));
    EXPECT(600, cuEventQuery(end));
    OK(cuEventSynchronize(end));
    OK(cuStreamQuery(a));
    float time;
    OK(cuEventElapsedTime_v2(&time, start, end));
    TRUE(time > 0.01);
    OK(cuEventQuery(never));
    EXPECT(400, cuEventElapsedTime_v2(&time, start, never));

    /* b waits for the event that a reaches late. */
    OK(cuMemsetD32_v2(word, 0, 1));
    step(1, LONG, a);
    OK(cuEventRecord(end, a));
    OK(cuStreamWaitEvent(b, end, 0));
    step(2, 1, b);
    OK(cuStreamSynchronize(b));
    TRUE(read_word() == 4);

    /* The legacy default stream waits for a, and b waits for it. */
    OK(cuMemsetD32_v2(word, 0, 1));
    step(1, LONG, a);
    step(2, LONG, NULL);
    step(3, 1, b);
    TRUE(read_word() == 11);

    /* A non-blocking stream does not wait for it. */
    OK(cuMemsetD32_v2(word, 0, 1));
    OK(cuCtxSynchronize());
    step(1, 20 * LONG, NULL);
    OK(cuLaunchKernel(empty_, 1, 1, 1, 1, 1, 1, 0, free_stream, NULL, NULL));
    OK(cuStreamSynchronize(free_stream));
    EXPECT(600, cuStreamQuery(NULL));
    OK(cuCtxSynchronize());
    OK(cuStreamQuery(NULL));

    /* The program's functions run in order, and see what came before. */
    char order[8] = "";
    step(1, LONG, a);
    OK(cuLaunchHostFunc(a, note, order));
    OK(cuLaunchHostFunc(a, note, order));
    OK(cuStreamSynchronize(a));
    TRUE(!strcmp(order, "hh"));

    /* An asynchronous copy takes the program's bytes as they are when it is called. */
    unsigned value = 5, back = 0;
    step(1, LONG, a);
    OK(cuMemcpyHtoDAsync_v2(word, &value, 4, a));
    value = 6;
    step(1, 1, a);
    OK(cuMemcpyDtoHAsync_v2(&back, word, 4, a));
    OK(cuStreamSynchronize(a));
    TRUE(back == 11);

    /* What was submitted to a stream still runs when it is destroyed. */
    OK(cuMemsetD32_v2(word, 1, 1));
    OK(cuCtxSynchronize());
    step(1, LONG, free_stream);
    step(1, 1, free_stream);
    OK(cuStreamDestroy_v2(free_stream));
    EXPECT(400, cuStreamSynchronize(free_stream));
    OK(cuCtxSynchronize());
    TRUE(read_word() == 7);

    for (int i = 0; i < 1000; i++) OK(cuLaunchKernel(empty_, 1, 1, 1, 1, 1, 1, 0, a, NULL, NULL));
    OK(cuCtxSynchronize());
    enum { COUNT = 1000 };
    double began = now();
    for (int i = 0; i < COUNT; i++) OK(cuLaunchKernel(empty_, 1, 1, 1, 1, 1, 1, 0, a, NULL, NULL));
    double submitted = now();
    OK(cuStreamSynchronize(a));
    double done = now();
    fprintf(stderr, "an empty launch: %.2f us to submit, %.2f us in all\n", (submitted - began) / COUNT * 1e6,
            (done - began) / COUNT * 1e6);
    puts("streams: passed");
    return 0;
}
