/* Functions from before CUDA 4.0: launches that are put together call by call, contexts whose users are counted. */
#include "driver.h"

CUresult cuCtxAttach(CUcontext *, unsigned);
CUresult cuCtxDetach(CUcontext);
CUresult cuFuncSetBlockShape(CUfunction, int, int, int);
CUresult cuFuncSetSharedSize(CUfunction, unsigned);
CUresult cuParamSetSize(CUfunction, unsigned);
CUresult cuParamSeti(CUfunction, int, unsigned);
CUresult cuParamSetf(CUfunction, int, float);
CUresult cuParamSetv(CUfunction, int, void *, unsigned);
CUresult cuLaunch(CUfunction);
CUresult cuLaunchGrid(CUfunction, int, int);
CUresult cuLaunchGridAsync(CUfunction, int, int, CUstream);

static float c_[64];

static void launches(CUmodule module) {
    CUfunction add, step;
    CUdeviceptr a, b, c;
    CUstream stream;
    unsigned word = 5;
    float x[64], y[64];
    OK(cuModuleGetFunction(&add, module, "add"));
    OK(cuModuleGetFunction(&step, module, "step"));
    OK(cuMemAlloc_v2(&a, sizeof x));
    OK(cuMemAlloc_v2(&b, sizeof x));
    OK(cuMemAlloc_v2(&c, sizeof x));
    for (int i = 0; i < 64; i++) x[i] = i, y[i] = 100 * i;
    OK(cuMemcpyHtoD_v2(a, x, sizeof x));
    OK(cuMemcpyHtoD_v2(b, y, sizeof y));

    /* A grid of four blocks. */
    OK(cuFuncSetBlockShape(add, 16, 1, 1));
    OK(cuFuncSetSharedSize(add, 0));
    OK(cuParamSetv(add, 0, &a, 8));
    OK(cuParamSetv(add, 8, &b, 8));
    OK(cuParamSetv(add, 16, &c, 8));
    OK(cuParamSeti(add, 24, 64));
    OK(cuParamSetSize(add, 28));
    OK(cuLaunchGrid(add, 4, 1));
    OK(cuMemcpyDtoH_v2(c_, c, sizeof c_));
    for (int i = 0; i < 64; i++) TRUE(c_[i] == 101 * i);

    /* What was said stays for the next launch; here it is one block, then one in a stream. */
    OK(cuMemcpyHtoD_v2(c, &word, 4));
    OK(cuFuncSetBlockShape(step, 1, 1, 1));
    OK(cuParamSetv(step, 0, &c, 8));
    OK(cuParamSeti(step, 8, 1));
    OK(cuParamSeti(step, 12, 1));
    OK(cuParamSetSize(step, 16));
    OK(cuLaunch(step));
    OK(cuStreamCreate(&stream, 0));
    OK(cuParamSeti(step, 8, 2));
    OK(cuLaunchGridAsync(step, 1, 1, stream));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH_v2(&word, c, 4));
    TRUE(word == (5 * 2 + 1) * 2 + 2);

    EXPECT(1, cuFuncSetBlockShape(step, 0, 1, 1));
    EXPECT(1, cuFuncSetBlockShape(step, 1, -1, 1));
    EXPECT(1, cuFuncSetBlockShape(step, 2048, 1, 1));
    EXPECT(1, cuParamSetv(step, -1, &c, 8));
    EXPECT(1, cuParamSetv(step, 0, NULL, 8));
    EXPECT(1, cuParamSeti(step, 1 << 20, 8));
    EXPECT(1, cuParamSetSize(step, 1 << 20));
    EXPECT(1, cuLaunchGrid(step, 0, 1));
    EXPECT(400, cuLaunch(NULL));
}

int main(void) {
    CUcontext primary = begin(), context, same;
    CUmodule module;
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&module, PTX));
    launches(module);

    OK(cuCtxAttach(&same, 0));
    TRUE(same == context);
    OK(cuCtxDetach(context));
    OK(cuCtxGetCurrent(&same));
    TRUE(same == context);
    OK(cuCtxDetach(context));
    OK(cuCtxGetCurrent(&same));
    TRUE(same == primary);
    EXPECT(1, cuCtxAttach(NULL, 0));
    EXPECT(201, cuCtxDetach(context));
    puts("older: passed");
    return 0;
}
