/* Does what nvcc's output does: registers a fat binary, its kernel and variables, and launches. */
#include "compiled.h"

static const char code[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                           ".const .align 4 .u32 factor = 1;\n"
                           ".global .attribute(.managed) .align 4 .u32 count = 3;\n"
                           ".visible .entry scale(.param .u64 to, .param .u32 term) {\n"
                           "  .reg .b32 %r<7>; .reg .b64 %rd<5>;\n"
                           "  ld.param.u64 %rd1, [to]; ld.param.u32 %r1, [term];\n"
                           "  mov.u32 %r2, %tid.x; mul.wide.u32 %rd2, %r2, 4; add.s64 %rd3, %rd1, %rd2;\n"
                           "  ld.const.u32 %r3, [factor]; mad.lo.s32 %r4, %r2, %r3, %r1; st.global.u32 [%rd3], %r4;\n"
                           "  atom.global.add.u32 %r5, [count], 1;\n"
                           "  ret;\n}\n";

static struct container container;
static struct wrapper wrapper;
static void **handle;
static int factor;   /* The variable's shadow. */
static int *count;   /* Where the managed variable is. */

/* The function that stands for the kernel; a launch calls it. */
static void scale(int *to, int term) {
    void *arguments[] = {&to, &term};
    dim3 grid, block;
    size_t shared;
    stream_t stream;
    void *kernel;
    CALL(__cudaGetKernel(&kernel, (const void *)scale));
    CALL(__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
    (void)__cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

__attribute__((constructor)) static void start(void) {
    wrapper = pack(&container, PTX, 80, code);
    handle = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(handle, (const char *)scale, "scale", "scale", -1, 0, 0, 0, 0, 0);
    __cudaRegisterVar(handle, (char *)&factor, "factor", "factor", 0, 4, 1, 0);
    __cudaRegisterManagedVar(handle, (void **)&count, "count", "count", 0, 4, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
}

int main(void) {
    int *memory, host[32], seven = 7, version;
    dim3 one = {1, 1, 1}, warp = {32, 1, 1};
    CALL(cudaRuntimeGetVersion(&version));
    CLAIM(version == VERSION);
    CLAIM(__cudaInitModule(handle) == 1 && *count == 3);
    CALL(cudaMalloc((void **)&memory, sizeof host));
    CALL(cudaMemcpyToSymbol(&factor, &seven, sizeof seven, 0, 1));
    CALL(__cudaPushCallConfiguration(one, warp, 0, NULL));
    scale(memory, 5);
    CALL(cudaGetLastError());
    CALL(cudaMemcpy(host, memory, sizeof host, 2));
    for (int i = 0; i < 32; i++) CLAIM(host[i] == 7 * i + 5);
    CALL(cudaDeviceSynchronize());
    CLAIM(*count == 35);

    /* The same kernel on the thread's own default stream, and one launch within another's arguments. */
    void *kernel, *arguments[] = {&memory, &seven};
    CALL(__cudaGetKernel(&kernel, (const void *)scale));
    CALL(__cudaLaunchKernel_ptsz(kernel, one, warp, arguments, 0, NULL));
    CALL(cudaDeviceSynchronize());
    CALL(__cudaPushCallConfiguration(one, warp, 0, NULL));
    CALL(__cudaPushCallConfiguration(warp, one, 9, (void *)2));
    dim3 grid, block;
    size_t shared;
    stream_t stream;
    CALL(__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
    CLAIM(grid.x == 32 && block.x == 1 && shared == 9 && stream == (void *)2);
    scale(memory, 1);
    CLAIM(__cudaPopCallConfiguration(&grid, &block, &shared, &stream) == 52);
    CLAIM(cudaGetLastError() == 52);
    CALL(cudaMemcpy(host, memory, sizeof host, 2));
    CLAIM(host[31] == 7 * 31 + 1 && *count == 99);
    CALL(cudaFree(memory));
    __cudaUnregisterFatBinary(handle);
    CLAIM(__cudaLaunchKernel(kernel, one, warp, arguments, 0, NULL) == 98);
    printf("launch: passed\n");
    return 0;
}
