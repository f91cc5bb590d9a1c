/* Kernels that hang, stop and assert in contexts of their own while others run; memory that many threads use up; programs
   that are started, threads that end, and a program that ends in the middle of it. Every amount is fixed. Run with
   WARPLOOM_MEMORY=64M. */
#define _GNU_SOURCE
#include "memory.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define PER_THREAD ((CUstream)2)

enum { HANGING = 4, THREADS = 6, ROUNDS = 20, CHUNK = MIB, MOST = 64 };

static const char CODE[] =
    ".version 8.0\n.target sm_70\n.address_size 64\n"
    ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);\n"
    ".global .align 1 .b8 text[5] = {108, 105, 101, 115, 0};\n"
    /* Does not end before the program says so. */
    ".visible .entry hang(.param .u64 word) {\n"
    "  .reg .pred %p; .reg .b32 %r; .reg .b64 %d; ld.param.u64 %d, [word];\n"
    "L: ld.volatile.global.u32 %r, [%d]; setp.eq.u32 %p, %r, 0; @%p bra L; ret; }\n"
    ".visible .entry lies() {\n"
    "  .reg .b64 %d; .reg .b32 %r; mov.u64 %d, text; cvta.global.u64 %d, %d; mov.u32 %r, 7;\n"
    "  { .param .b64 m; .param .b64 f; .param .b32 l; .param .b64 n; .param .b64 s; st.param.b64 [m], %d;\n"
    "  st.param.b64 [f], %d; st.param.b32 [l], %r; st.param.b64 [n], %d; mov.u64 %d, 1; st.param.b64 [s], %d;\n"
    "  call __assertfail, (m, f, l, n, s); } ret; }\n";

static CUcontext primary;
static CUfunction step_;
static volatile unsigned *go;

static CUfunction load(const char *code, const char *name) {
    CUmodule module;
    CUfunction function;
    OK(cuModuleLoadData(&module, code));
    OK(cuModuleGetFunction(&function, module, name));
    return function;
}

static void step(CUdeviceptr at, unsigned k, CUstream stream) {
    unsigned spin = 10;
    void *params[] = {&at, &k, &spin};
    OK(cuLaunchKernel(step_, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

/* Work that must go on whatever happens elsewhere, in the default stream of each thread. */
static void *work(void *argument) {
    unsigned me = (unsigned)(uintptr_t)argument;
    OK(cuCtxSetCurrent(primary));
    for (unsigned round = 0; round < ROUNDS; round++) {
        CUdeviceptr word;
        unsigned result = me;
        OK(cuMemAlloc_v2(&word, 4));
        OK(cuMemcpyHtoDAsync_v2(word, &result, 4, PER_THREAD));
        for (unsigned k = 0; k < 8; k++) step(word, k, PER_THREAD);
        OK(cuMemcpyDtoHAsync_v2(&result, word, 4, PER_THREAD));
        OK(cuStreamSynchronize(PER_THREAD));
        /* 8 times x -> 2x + k */
        TRUE(result == 256 * me + 247);
        OK(cuMemFree_v2(word));
    }
    /* The thread ends with work in its stream. */
    CUdeviceptr word;
    OK(cuMemAlloc_v2(&word, 4));
    step(word, 1, PER_THREAD);
    return NULL;
}

/* A context of its own that asserts again and again. */
static void *lie(void *unused) {
    (void)unused;
    for (int round = 0; round < ROUNDS; round++) {
        CUcontext mine;
        OK(cuCtxCreate_v2(&mine, 0, 0));
        OK(cuLaunchKernel(load(CODE, "lies"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        EXPECT(710, cuCtxSynchronize());
        OK(cuCtxDestroy_v2(mine));
    }
    return NULL;
}

/* All memory that there is, piece by piece, while others do the same. */
static void *use_up(void *argument) {
    unsigned me = (unsigned)(uintptr_t)argument + 1, count = 0;
    CUdeviceptr pieces[MOST];
    OK(cuCtxSetCurrent(primary));
    for (int round = 0; round < 3; round++) {
        CUresult result = 0;
        for (count = 0; count < MOST; count++) {
            result = cuMemAlloc_v2(&pieces[count], CHUNK);
            if (result) break;
            OK(cuMemsetD32_v2(pieces[count], me * 1000 + count, CHUNK / 4));
        }
        TRUE(result == 2);
        for (unsigned i = 0; i < count; i++) {
            unsigned ends[2];
            OK(cuMemcpyDtoH_v2(&ends[0], pieces[i], 4));
            OK(cuMemcpyDtoH_v2(&ends[1], pieces[i] + CHUNK - 4, 4));
            TRUE(ends[0] == me * 1000 + i && ends[1] == ends[0]);
            OK(cuMemFree_v2(pieces[i]));
        }
    }
    return NULL;
}

static void *wait_for_all(void *unused) {
    (void)unused;
    cuCtxSetCurrent(primary);
    cuCtxSynchronize();
    return NULL;
}

static void run(void *(*what)(void *), unsigned threads) {
    pthread_t all[THREADS];
    for (uintptr_t i = 0; i < threads; i++) TRUE(!pthread_create(&all[i], NULL, what, (void *)i));
    for (unsigned i = 0; i < threads; i++) TRUE(!pthread_join(all[i], NULL));
}

int main(void) {
    primary = begin();
    step_ = load(PTX, "step");
    OK(cuMemAllocHost_v2((void **)&go, 4));
    *go = 0;
    /* More kernels that hang than there are processors, in contexts and streams of their own. */
    CUcontext hanging[HANGING];
    CUstream streams[HANGING];
    for (int i = 0; i < HANGING; i++) {
        void *params[] = {(void *)&go};
        OK(cuCtxCreate_v2(&hanging[i], 0, 0));
        OK(cuStreamCreate(&streams[i], 1));
        OK(cuLaunchKernel(load(CODE, "hang"), 3, 1, 1, 64, 1, 1, 0, streams[i], params, NULL));
    }
    OK(cuCtxSetCurrent(primary));
    pthread_t liar;
    TRUE(!pthread_create(&liar, NULL, lie, NULL));
    run(work, THREADS);
    TRUE(!pthread_join(liar, NULL));
    for (int i = 0; i < HANGING; i++) EXPECT(600, cuStreamQuery(streams[i]));
    TRUE(system("true") == 0);
    *go = 1;
    for (int i = 0; i < HANGING; i++) {
        OK(cuStreamSynchronize(streams[i]));
        OK(cuCtxDestroy_v2(hanging[i]));
    }
    OK(cuCtxSynchronize());

    size_t before, after, total;
    OK(cuMemGetInfo_v2(&before, &total));
    run(use_up, THREADS);
    OK(cuMemGetInfo_v2(&after, &total));
    TRUE(before == after && before < total);

    /* The program ends while a thread waits for a kernel that never ends. */
    *go = 0;
    void *params[] = {(void *)&go};
    pthread_t waiting;
    OK(cuLaunchKernel(load(CODE, "hang"), 3, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
    TRUE(!pthread_create(&waiting, NULL, wait_for_all, NULL));
    usleep(10000);
    puts("crowd: passed");
    return 0;
}
