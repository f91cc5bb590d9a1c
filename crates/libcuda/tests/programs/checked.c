/* Programs for the checks; SCENARIO says which. None of them waits for its work before it ends. */
#define _POSIX_C_SOURCE 200809L
#include "graph.h"
#include <time.h>
#include <unistd.h>

static const char code[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry store(.param .u64 p, .param .u32 rounds)\n{\n"
    ".reg .u64 %d; .reg .u32 %r<3>; .reg .pred %p;\n"
    "ld.param.u64 %d, [p]; ld.param.u32 %r0, [rounds]; mov.u32 %r1, 0;\n"
    "again: add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, %r0; @%p bra again;\n"
    "st.global.u32 [%d], %r1; ret;\n}\n";

int main(void) {
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction store;
    CUdeviceptr memory;
    CUstream first, second;
    CUevent event;
    unsigned rounds = 1;
    const char *scenario = getenv("SCENARIO");
    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuCtxCreate_v2(&context, 0, device));
    OK(cuModuleLoadData(&module, code));
    OK(cuModuleGetFunction(&store, module, "store"));
    OK(cuMemAlloc_v2(&memory, 4096));
    OK(cuStreamCreate(&first, 1));
    OK(cuStreamCreate(&second, 1));
    OK(cuEventCreate(&event, 0));
    void *params[] = {&memory, &rounds};
    if (!strcmp(scenario, "pending")) {
        /* Two blocks store to one word, long after the program has ended. */
        rounds = 300000;
        OK(cuLaunchKernel(store, 2, 1, 1, 1, 1, 1, 0, first, params, NULL));
    } else if (!strcmp(scenario, "fault")) {
        memory = 0x1000;
        OK(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, first, params, NULL));
    } else if (!strncmp(scenario, "free", 4)) {
        /* What one stream uses another one frees, in no order or behind an event. */
        OK(cuMemAllocAsync(&memory, 4096, first));
        OK(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, first, params, NULL));
        if (!strcmp(scenario, "free-behind")) {
            OK(cuEventRecord(event, first));
            OK(cuStreamWaitEvent(second, event, 0));
        }
        OK(cuMemFreeAsync(memory, second));
    } else if (!strcmp(scenario, "reuse")) {
        /* The memory that the first stream has given back is the second one's, which has not waited for the first. */
        CUdeviceptr again;
        OK(cuMemAllocAsync(&memory, 4096, first));
        OK(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, first, params, NULL));
        OK(cuMemFreeAsync(memory, first));
        nanosleep(&(struct timespec){0, 300000000}, NULL);
        OK(cuMemAllocAsync(&again, 4096, second));
        TRUE(again == memory);
        OK(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, second, params, NULL));
        OK(cuMemFreeAsync(again, second));
    } else {
        /* The event is of the first launch only if it is recorded behind that, however long that has been over. */
        int early = !strcmp(scenario, "early");
        if (early)
            OK(cuEventRecord(event, first));
        OK(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, first, params, NULL));
        if (!early)
            OK(cuEventRecord(event, first));
        nanosleep(&(struct timespec){0, 200000000}, NULL);
        OK(cuStreamWaitEvent(second, event, 0));
        OK(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, second, params, NULL));
    }
    puts("checked: passed");
    fflush(stdout);
    if (!strcmp(scenario, "gone"))
        _exit(0);
    return 0;
}
