/* Mistakes: the program's are errors, the kernel's end its context, and neither ends the process. */
#include "driver.h"

static CUfunction load(const char *name) {
    CUmodule module;
    CUfunction function;
    OK(cuModuleLoadData(&module, PTX));
    OK(cuModuleGetFunction(&function, module, name));
    return function;
}

int main(void) {
    CUdeviceptr p;
    CUcontext context;
    EXPECT(3, cuCtxSynchronize());
    EXPECT(3, cuMemAlloc_v2(&p, 4));
    EXPECT(1, cuInit(1));
    OK(cuInit(0));
    EXPECT(201, cuMemAlloc_v2(&p, 4));
    EXPECT(101, cuDevicePrimaryCtxRetain(&context, 99));
    context = begin();

    /* Arguments. */
    EXPECT(1, cuMemAlloc_v2(NULL, 4));
    EXPECT(1, cuMemAlloc_v2(&p, 0));
    EXPECT(2, cuMemAlloc_v2(&p, (size_t)1 << 60));
    EXPECT(1, cuMemFree_v2(12345));
    OK(cuMemFree_v2(0));
    EXPECT(400, cuModuleUnload((CUmodule)0x1234560));
    EXPECT(400, cuStreamSynchronize((CUstream)0xdeadbee0));
    EXPECT(400, cuLaunchKernel((CUfunction)"not a function", 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    EXPECT(201, cuCtxSetCurrent((CUcontext)0x77));
    int value;
    EXPECT(1, cuDeviceGetAttribute(&value, 0, 0));
    EXPECT(1, cuDeviceGetAttribute(&value, -5, 0));
    EXPECT(1, cuDeviceGetAttribute(NULL, 1, 0));

    /* Code. */
    CUmodule module;
    char log[4096] = "";
    int options[] = {5, 6};
    void *values[] = {log, (void *)sizeof log};
    EXPECT(218, cuModuleLoadDataEx(&module, ".version 8.0\n.target sm_70\n.address_size 64\n.entry k() { bad; }\n", 2,
                                   options, values));
    TRUE(strstr(log, "line 4") && strlen(log) == (size_t)values[1]);
    EXPECT(209, cuModuleLoadData(&module, "\x7f" "ELF"));
    EXPECT(1, cuModuleLoadData(&module, NULL));

    /* Launches. */
    CUfunction empty = load("empty"), shared = load("shared"), add = load("add");
    EXPECT(1, cuLaunchKernel(empty, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    EXPECT(1, cuLaunchKernel(empty, 1, 1, 1, 1025, 1, 1, 0, NULL, NULL, NULL));
    EXPECT(1, cuLaunchKernel(empty, 1, 1, 1, 1024, 2, 1, 0, NULL, NULL, NULL));
    EXPECT(1, cuLaunchKernel(empty, 1, 70000, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    EXPECT(1, cuLaunchKernel(shared, 1, 1, 1, 1, 1, 1, 48 << 10, NULL, NULL, NULL));
    EXPECT(1, cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    EXPECT(720, cuLaunchCooperativeKernel(empty, 100000, 1, 1, 1024, 1, 1, 0, NULL, NULL));
    OK(cuFuncGetAttribute(&value, 1, shared));
    TRUE(value == 1024);
    OK(cuMemAlloc_v2(&p, 4));
    void *params[] = {&p};
    EXPECT(1, cuLaunchKernel(shared, 1, 1, 1, 1, 1, 1, 100 << 10, NULL, params, NULL));
    OK(cuFuncSetAttribute(shared, 8, 100 << 10));
    OK(cuLaunchKernel(shared, 1, 1, 1, 1, 1, 1, 100 << 10, NULL, params, NULL));
    unsigned three = 0;
    OK(cuMemcpyDtoH_v2(&three, p, 4));
    TRUE(three == 3);

    /* A wild pointer: an error from then on, until the context is made anew. */
    CUdeviceptr wild = 0x1000;
    void *bad[] = {&wild};
    CUstream stream;
    OK(cuStreamCreate(&stream, 0));
    OK(cuLaunchKernel(shared, 1, 1, 1, 1, 1, 1, 0, stream, bad, NULL));
    EXPECT(700, cuStreamSynchronize(stream));
    EXPECT(700, cuCtxSynchronize());
    EXPECT(700, cuMemAlloc_v2(&p, 4));
    EXPECT(700, cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuDevicePrimaryCtxReset_v2(0));
    EXPECT(709, cuCtxSetCurrent(context));
    begin();
    EXPECT(400, cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuMemAlloc_v2(&p, 4));

    /* Another context fails without this one. */
    CUcontext other, mine;
    OK(cuCtxGetCurrent(&mine));
    OK(cuCtxCreate_v2(&other, 0, 0));
    OK(cuLaunchKernel(load("trap_now"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    EXPECT(719, cuCtxSynchronize());
    OK(cuCtxDestroy_v2(other));
    CUcontext now;
    OK(cuCtxGetCurrent(&now));
    TRUE(now == mine);
    OK(cuLaunchKernel(load("empty"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuCtxSynchronize());
    puts("faults: passed");
    return 0;
}
