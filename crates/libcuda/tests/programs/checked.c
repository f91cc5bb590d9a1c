/* Programs for the checks; SCENARIO says which. None of them waits for its work before it ends. */
#define _POSIX_C_SOURCE 200809L
#include "overlap.h"
#include "textures.h"
#include <time.h>
#include <unistd.h>

static const char code[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry store(.param .u64 p, .param .u32 rounds)\n{\n"
    ".reg .u64 %d; .reg .u32 %r<3>; .reg .pred %p;\n"
    "ld.param.u64 %d, [p]; ld.param.u32 %r0, [rounds]; mov.u32 %r1, 0;\n"
    "again: add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, %r0; @%p bra again;\n"
    "st.global.u32 [%d], %r1; ret;\n}\n"
    /* Lets the kernel behind it begin, and only then stores; or stores alone. */
    ".visible .entry lets(.param .u64 p)\n{\n.reg .u64 %d; ld.param.u64 %d, [p];\n"
    "griddepcontrol.launch_dependents; st.global.u32 [%d], 1; ret;\n}\n"
    ".visible .entry stores(.param .u64 p)\n{\n.reg .u64 %d; ld.param.u64 %d, [p]; st.global.u32 [%d], 1; ret;\n}\n"
    /* Reads before it waits, or behind that. */
    ".visible .entry hasty(.param .u64 p)\n{\n.reg .u64 %d; .reg .u32 %r; ld.param.u64 %d, [p];\n"
    "ld.global.u32 %r, [%d]; griddepcontrol.wait; st.global.u32 [%d+64], %r; ret;\n}\n"
    ".visible .entry patient(.param .u64 p)\n{\n.reg .u64 %d; .reg .u32 %r; ld.param.u64 %d, [p];\n"
    "griddepcontrol.wait; ld.global.u32 %r, [%d]; st.global.u32 [%d+64], %r; ret;\n}\n"
    /* Looks a texel up, behind a store to it or alone. */
    ".visible .entry stores_and_looks(.param .u64 p, .param .u64 t)\n{\n.reg .u64 %d<2>; .reg .u32 %r<5>;\n"
    "ld.param.u64 %d0, [p]; ld.param.u64 %d1, [t]; st.global.u32 [%d0], 1; bar.sync 0; mov.u32 %r0, 0;\n"
    "tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%d1, {%r0}]; st.global.u32 [%d0+64], %r1; ret;\n}\n"
    ".visible .entry looks(.param .u64 p, .param .u64 t)\n{\n.reg .u64 %d<2>; .reg .u32 %r<5>;\n"
    "ld.param.u64 %d0, [p]; ld.param.u64 %d1, [t]; mov.u32 %r0, 0;\n"
    "tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%d1, {%r0}]; st.global.u32 [%d0+64], %r1; ret;\n}\n"
    /* Says that it has begun, and goes on until the program says so: by plain accesses, or by strong ones. */
    ".visible .entry listens(.param .u64 p)\n{\n.reg .u64 %d; .reg .u32 %r; .reg .pred %p; ld.param.u64 %d, [p];\n"
    "st.global.u32 [%d+64], 1;\n"
    "again: ld.global.u32 %r, [%d]; setp.eq.u32 %p, %r, 0; @%p bra again; ret;\n}\n"
    ".visible .entry understands(.param .u64 p)\n{\n.reg .u64 %d; .reg .u32 %r; .reg .pred %p; ld.param.u64 %d, [p];\n"
    "st.volatile.global.u32 [%d+64], 1;\n"
    "again: ld.acquire.sys.global.u32 %r, [%d]; setp.eq.u32 %p, %r, 0; @%p bra again; ret;\n}\n";

static CUfunction function(CUmodule module, const char *name) {
    CUfunction found;
    OK(cuModuleGetFunction(&found, module, name));
    return found;
}

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
    } else if (!strncmp(scenario, "dependent", 9)) {
        /* The second kernel may begin before the first has ended. */
        int alone = !strcmp(scenario, "dependent-alone"), waits = !strcmp(scenario, "dependent-waits");
        launch(function(module, alone ? "stores" : "lets"), 1, first, 0, params);
        launch(function(module, waits ? "patient" : "hasty"), 1, first, 1, params);
    } else if (!strncmp(scenario, "texture", 7)) {
        CUobject texture;
        Resource words = {.type = 2, .of.linear = {memory, U32, 1, 16}};
        Texture plain = {.flags = 1};
        OK(cuTexObjectCreate(&texture, &words, &plain, NULL));
        void *both[] = {&memory, &texture};
        int behind = !strcmp(scenario, "texture-behind");
        if (behind)
            OK(cuLaunchKernel(function(module, "stores"), 1, 1, 1, 1, 1, 1, 0, first, params, NULL));
        CUfunction looks = function(module, behind ? "looks" : "stores_and_looks");
        OK(cuLaunchKernel(looks, 1, 1, 1, 1, 1, 1, 0, first, both, NULL));
    } else if (!strncmp(scenario, "host", 4)) {
        /* The program writes to what a kernel reads. */
        int strong = !strcmp(scenario, "host-strong");
        OK(cuMemAllocManaged(&memory, 4096, 1));
        volatile unsigned *words = (volatile unsigned *)memory;
        words[0] = 0;
        words[16] = 0;
        OK(cuLaunchKernel(function(module, strong ? "understands" : "listens"), 1, 1, 1, 1, 1, 1, 0, first, params,
                          NULL));
        while (words[16] == 0)
            nanosleep(&(struct timespec){0, 1000000}, NULL);
        words[0] = 1;
        OK(cuStreamSynchronize(first));
        words[0] = 2;
        /* What is written between kernels is known to the next one. */
        OK(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, first, params, NULL));
    } else if (!strncmp(scenario, "copy", 4)) {
        /* What a kernel writes to memory of the program is copied. */
        unsigned word;
        void *registered = calloc(2, 65536);
        if (!strncmp(scenario, "copy-managed", 12)) {
            OK(cuMemAllocManaged(&memory, 4096, 1));
        } else {
            OK(cuMemHostRegister_v2(registered, 65536, 0));
            memory = (CUdeviceptr)registered;
        }
        OK(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, first, params, NULL));
        if (strstr(scenario, "behind"))
            OK(cuStreamSynchronize(first));
        else
            nanosleep(&(struct timespec){0, 200000000}, NULL);
        if (!strncmp(scenario, "copy-managed", 12)) {
            OK(cuMemcpyDtoH_v2(&word, memory, 4));
        } else {
            CUdeviceptr copied;
            OK(cuMemAlloc_v2(&copied, 4096));
            OK(cuMemcpyHtoDAsync_v2(copied, registered, 4, second));
            OK(cuStreamSynchronize(second));
        }
    } else if (!strncmp(scenario, "pool", 4)) {
        /* Memory that a pool keeps is used behind its freeing, in order; or something else is. */
        CUdeviceptr other;
        OK(cuMemAllocAsync(&memory, 4096, first));
        OK(cuMemAllocAsync(&other, 4096, first));
        OK(cuMemFreeAsync(memory, first));
        memory = strcmp(scenario, "pool-other") ? memory : other;
        OK(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, first, params, NULL));
        OK(cuStreamSynchronize(first));
        OK(cuMemFreeAsync(other, first));
    } else if (!strcmp(scenario, "used-beside-free")) {
        /* The first stream uses what the second one has freed, long ago, in no order. */
        OK(cuMemAllocAsync(&memory, 4096, second));
        OK(cuMemFreeAsync(memory, second));
        nanosleep(&(struct timespec){0, 200000000}, NULL);
        OK(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, first, params, NULL));
    } else if (!strncmp(scenario, "error", 5)) {
        /* A call fails. The program goes on, or asks why. */
        const char *name;
        CUresult result = cuMemFree_v2(1234);
        if (!strcmp(scenario, "error-asked"))
            OK(cuGetErrorName(result, &name));
        OK(cuCtxSynchronize());
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
