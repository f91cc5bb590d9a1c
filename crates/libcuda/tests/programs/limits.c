/* What functions and devices allow: attributes, occupancy, and launches that are judged by them. */
#include "driver.h"

CUresult cuOccupancyMaxPotentialBlockSize(int *, int *, CUfunction, size_t (*)(int), size_t, int);
CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *, CUfunction, int, int);

static const char CODE[] =
    ".version 8.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry plain() { ret; }\n"
    ".visible .entry bounded() .maxntid 128, 2, 1 { ret; }\n"
    ".visible .entry crowded() .maxntid 256 .minnctapersm 4 { ret; }\n"
    ".visible .entry shared() { .shared .b8 s[40000]; .reg .b32 %r; ld.shared.u32 %r, [s]; ret; }\n";

/* A kernel with 200 values that are alive together. */
static CUmodule load(const char *directive) {
    static char text[32768];
    char *at = text;
    at += sprintf(at, ".version 8.0\n.target sm_70\n.address_size 64\n"
                      ".visible .entry wide(.param .u64 p) %s { .reg .b32 %%r<201>; .reg .b64 %%d;\n"
                      "  ld.param.u64 %%d, [p];\n", directive);
    for (int i = 0; i < 200; i++)
        at += sprintf(at, "  ld.volatile.global.u32 %%r%d, [%%d+%d];\n", i, 4 * i);
    for (int i = 0; i < 200; i++)
        at += sprintf(at, "  st.volatile.global.u32 [%%d+%d], %%r%d;\n", 4 * (199 - i), i);
    sprintf(at, "  ret; }\n");
    CUmodule module;
    OK(cuModuleLoadData(&module, text));
    return module;
}

static int attribute(CUfunction f, int which) {
    int value;
    OK(cuFuncGetAttribute(&value, which, f));
    return value;
}

int main(void) {
    begin();
    CUmodule module;
    CUfunction plain, bounded, crowded, shared, wide;
    OK(cuModuleLoadData(&module, CODE));
    OK(cuModuleGetFunction(&plain, module, "plain"));
    OK(cuModuleGetFunction(&bounded, module, "bounded"));
    OK(cuModuleGetFunction(&crowded, module, "crowded"));
    OK(cuModuleGetFunction(&shared, module, "shared"));
    int blocks;

    /* Threads, as on an H200: 2048 on a multiprocessor, 32 blocks. */
    TRUE(attribute(plain, 0) == 1024 && attribute(bounded, 0) == 256);
    int sizes[][2] = {{32, 32}, {64, 32}, {96, 21}, {128, 16}, {1000, 2}, {1024, 2}};
    for (int i = 0; i < 6; i++) {
        OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, sizes[i][0], 0));
        TRUE(blocks == sizes[i][1]);
    }
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, 512, 0));
    TRUE(blocks == 0);
    EXPECT(1, cuLaunchKernel(bounded, 1, 1, 1, 512, 1, 1, 0, NULL, NULL, NULL));

    /* Shared memory: 228 KiB, of which each block takes its own and 1 KiB for the system. */
    TRUE(attribute(shared, 1) == 40000);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, shared, 32, 0));
    TRUE(blocks == 228 * 1024 / (40064 + 1024));
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, 32, 48 << 10));
    TRUE(blocks == 4);
    size_t free_shared;
    OK(cuOccupancyAvailableDynamicSMemPerBlock(&free_shared, plain, 6, 32));
    TRUE(free_shared == (38 - 1) << 10);
    /* No more than the function may have. */
    OK(cuOccupancyAvailableDynamicSMemPerBlock(&free_shared, plain, 4, 32));
    TRUE(free_shared == 48 << 10);
    int grid, size;
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &size, plain, NULL, 0, 0));
    TRUE(size == 1024 && grid == 2 * 132);

    /* Registers: a kernel that says how many it may have is judged by them. */
    OK(cuModuleGetFunction(&wide, load(".maxnreg 255"), "wide"));
    int registers = attribute(wide, 4);
    TRUE(registers >= 200 && registers <= 255);
    TRUE(attribute(wide, 0) == 256);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, wide, 256, 0));
    TRUE(blocks == 1);
    CUdeviceptr p;
    OK(cuMemAlloc_v2(&p, 800));
    void *params[] = {&p};
    EXPECT(701, cuLaunchKernel(wide, 1, 1, 1, 512, 1, 1, 0, NULL, params, NULL));
    OK(cuLaunchKernel(wide, 1, 1, 1, 256, 1, 1, 0, NULL, params, NULL));
    OK(cuModuleGetFunction(&wide, load(".maxnreg 128"), "wide"));
    TRUE(attribute(wide, 4) == 128 && attribute(wide, 0) == 512);
    /* One that does not gets as many as let its largest block run. */
    OK(cuModuleGetFunction(&wide, load(""), "wide"));
    TRUE(attribute(wide, 4) == 64 && attribute(wide, 0) == 1024);
    OK(cuModuleGetFunction(&wide, load(".maxntid 256 .minnctapersm 4"), "wide"));
    TRUE(attribute(wide, 4) == 64 && attribute(wide, 0) == 256);

    /* Setting attributes. */
    OK(cuFuncSetAttribute(plain, 8, 227 << 10));
    TRUE(attribute(plain, 8) == 227 << 10);
    EXPECT(1, cuFuncSetAttribute(plain, 8, 228 << 10));
    EXPECT(1, cuFuncSetAttribute(shared, 8, 227 << 10));
    OK(cuFuncSetAttribute(plain, 9, 50));
    TRUE(attribute(plain, 9) == 50);
    EXPECT(1, cuFuncSetAttribute(plain, 9, 101));
    EXPECT(1, cuFuncSetAttribute(plain, 0, 10));

    /* Devices, by CUDA's table of technical specifications: every attribute has a value. */
    int value, limits[][2] = {{1, 1024},  {5, 0x7fffffff}, {8, 48 << 10},   {12, 65536},  {16, 132},    {21, 131072},
                              {24, 16384}, {39, 2048},     {52, 32768},     {75, 9},      {81, 228 << 10}, {97, 227 << 10},
                              {106, 32},  {108, 60 * 1024 * 640}, {111, 1024}};
    for (int i = 0; i < (int)(sizeof limits / sizeof *limits); i++) {
        OK(cuDeviceGetAttribute(&value, limits[i][0], 0));
        if (value != limits[i][1])
            fprintf(stderr, "attribute %d: %d\n", limits[i][0], value);
        TRUE(value == limits[i][1]);
    }
    for (int i = 1; i < 148; i++)
        OK(cuDeviceGetAttribute(&value, i, 0));
    printf("limits: passed\n");
    return 0;
}
