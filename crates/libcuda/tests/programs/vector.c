/* Memory, modules, launches: one thing after another. */
#include "driver.h"

enum { N = 1000 };

int main(void) {
    CUmodule module;
    CUfunction add;
    CUdeviceptr a, b, c;
    float x[N], y[N], z[N];
    begin();
    OK(cuModuleLoadData(&module, PTX));
    OK(cuModuleGetFunction(&add, module, "add"));
    EXPECT(500, cuModuleGetFunction(&add, module, "absent"));
    for (int i = 0; i < N; i++) x[i] = i * 0.5f, y[i] = 1000 - i;
    OK(cuMemAlloc_v2(&a, sizeof x));
    OK(cuMemAlloc_v2(&b, sizeof x));
    OK(cuMemAlloc_v2(&c, sizeof x));
    OK(cuMemcpyHtoD_v2(a, x, sizeof x));
    OK(cuMemcpyHtoD_v2(b, y, sizeof y));

    int n = N;
    void *params[] = {&a, &b, &c, &n};
    OK(cuLaunchKernel(add, (N + 127) / 128, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
    OK(cuMemcpyDtoH_v2(z, c, sizeof z));
    for (int i = 0; i < N; i++) TRUE(z[i] == x[i] + y[i]);

    /* The same through one buffer. */
    struct { CUdeviceptr a, b, c; int n; } buffer = {a, a, c, 10};
    size_t size = sizeof buffer;
    void *extra[] = {(void *)1, &buffer, (void *)2, &size, NULL};
    OK(cuMemsetD8_v2(c, 0, sizeof z));
    OK(cuLaunchKernel(add, 1, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));
    OK(cuMemcpyDtoH_v2(z, c, sizeof z));
    for (int i = 0; i < N; i++) TRUE(z[i] == (i < 10 ? 2 * x[i] : 0));
    size = 8;
    EXPECT(1, cuLaunchKernel(add, 1, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));

    size_t offset, bytes;
    OK(cuFuncGetParamInfo(add, 3, &offset, &bytes));
    TRUE(offset == 24 && bytes == 4);
    EXPECT(1, cuFuncGetParamInfo(add, 4, &offset, &bytes));
    int value;
    OK(cuFuncGetAttribute(&value, 0, add));
    TRUE(value == 1024);

    /* A variable. */
    CUdeviceptr counter;
    unsigned seven = 0;
    OK(cuModuleGetGlobal_v2(&counter, &bytes, module, "counter"));
    OK(cuMemcpyDtoH_v2(&seven, counter, 4));
    TRUE(bytes == 4 && seven == 7);

    /* Ranges, and what pointers are. */
    CUdeviceptr base;
    OK(cuMemGetAddressRange_v2(&base, &bytes, a + 100));
    TRUE(base == a && bytes == sizeof x);
    unsigned type;
    OK(cuPointerGetAttribute(&type, 2, a + 5));
    TRUE(type == 2);
    EXPECT(1, cuPointerGetAttribute(&type, 2, (CUdeviceptr)(uintptr_t)x));

    /* Memory that the program and kernels share. */
    CUdeviceptr managed;
    float *pinned;
    OK(cuMemAllocManaged(&managed, sizeof x, 1));
    OK(cuMemAllocHost_v2((void **)&pinned, sizeof x));
    for (int i = 0; i < N; i++) ((float *)managed)[i] = i, pinned[i] = 2 * i;
    CUdeviceptr pinned_address = (CUdeviceptr)(uintptr_t)pinned;
    void *shared[] = {&managed, &pinned_address, &managed, &n};
    OK(cuLaunchKernel(add, 8, 1, 1, 128, 1, 1, 0, NULL, shared, NULL));
    OK(cuCtxSynchronize());
    for (int i = 0; i < N; i++) TRUE(((float *)managed)[i] == 3 * i);
    OK(cuMemFreeHost(pinned));

    /* Rows with gaps: 3 rows of 5 bytes out of a pitched allocation. */
    CUdeviceptr image;
    size_t pitch;
    OK(cuMemAllocPitch_v2(&image, &pitch, 100, 4, 4));
    TRUE(pitch >= 100);
    OK(cuMemsetD2D16_v2(image, pitch, 0x4241, 50, 4));
    char text[3][8];
    memset(text, '.', sizeof text);
    CUDA_MEMCPY2D copy = {.src_x = 1, .src_y = 1, .src_type = 2, .src_device = image, .src_pitch = pitch,
                          .dst_type = 1, .dst_host = text, .dst_pitch = 8, .width = 5, .height = 3};
    OK(cuMemcpy2D_v2(&copy));
    TRUE(!memcmp(text, "BABAB...BABAB...BABAB...", 24));
    copy.height = 4;
    EXPECT(1, cuMemcpy2D_v2(&copy));

    /* Code that belongs to no context, and code that was linked. */
    CUlibrary library;
    CUkernel kernel;
    OK(cuLibraryLoadData(&library, PTX, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "add"));
    OK(cuLaunchKernel((CUfunction)kernel, 8, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
    OK(cuMemcpyDtoH_v2(z, c, sizeof z));
    TRUE(z[7] == x[7] + y[7]);
    OK(cuLibraryUnload(library));
    EXPECT(400, cuLaunchKernel((CUfunction)kernel, 8, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
    CUlinkState link;
    CUmodule linked;
    void *whole;
    OK(cuLinkCreate_v2(0, NULL, NULL, &link));
    OK(cuLinkAddData_v2(link, 1, (void *)PTX, sizeof PTX, "k", 0, NULL, NULL));
    OK(cuLinkComplete(link, &whole, &bytes));
    OK(cuModuleLoadData(&linked, whole));
    OK(cuLinkDestroy(link));

    OK(cuMemFree_v2(a));
    EXPECT(1, cuMemFree_v2(a));
    EXPECT(1, cuMemcpyDtoH_v2(x, a, sizeof x));
    OK(cuModuleUnload(module));
    EXPECT(400, cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    puts("vector: passed");
    return 0;
}
