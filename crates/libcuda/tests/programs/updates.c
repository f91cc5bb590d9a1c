/* Kernels that change kernel nodes of graphs: parameters, the grid, whether a node runs; in the graph that they are in and in others. */
#include "graph.h"

typedef union {
    char pad[64];
    struct {
        int updatable;
        uint64_t node;
    };
} Attribute;

typedef struct {
    unsigned id, pad;
    Attribute value;
} LaunchAttribute;

typedef struct {
    unsigned gx, gy, gz, bx, by, bz, shared;
    CUstream stream;
    LaunchAttribute *attributes;
    unsigned count;
} LaunchConfig;

CUresult cuLaunchKernelEx(const LaunchConfig *, CUfunction, void **, void **);
CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode, CUgraphNode);

enum { PRIORITY = 8, UPDATABLE = 13, INVALID_VALUE = 1, NOT_SUPPORTED = 801 };

/* A change, as `cudaGraphKernelNodeUpdate` has it: of the grid (1), of parameters (2), of whether it runs (3). */
typedef struct {
    uint64_t node;
    unsigned field;
    union {
        unsigned grid[3], enabled;
        struct {
            CUdeviceptr value;
            size_t offset, size;
        };
    };
} Update;
_Static_assert(sizeof(Update) == 40, "as in driver_types.h");

static const char CODE[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".extern .func (.param .b32 e) cudaGraphKernelNodeSetParam(.param .b64 node, .param .b64 offset, .param .b64 value,\n"
    "  .param .b64 size);\n"
    ".extern .func (.param .b32 e) cudaGraphKernelNodeSetEnabled(.param .b64 node, .param .b32 enable);\n"
    ".extern .func (.param .b32 e) cudaGraphKernelNodeSetGridDim(.param .b64 node, .param .align 4 .b8 grid[12]);\n"
    ".extern .func (.param .b32 e) cudaGraphKernelNodeUpdatesApply(.param .b64 updates, .param .b64 count);\n"
    /* p[0] grows by `step` for each block. */
    ".visible .entry adds(.param .u64 p, .param .u32 step) {\n"
    "  .reg .b32 %r; .reg .b64 %d; ld.param.u64 %d, [p]; ld.param.u32 %r, [step]; red.global.add.u32 [%d], %r; ret; }\n"
    /* Each stores what it is answered. */
    ".visible .entry sets_parameter(.param .u64 node, .param .u64 offset, .param .u64 value, .param .u64 size, .param .u64 to) {\n"
    "  .reg .b32 %r; .reg .b64 %d; .param .b64 a; .param .b64 b; .param .b64 c; .param .b64 d; .param .b32 e;\n"
    "  ld.param.u64 %d, [node]; st.param.b64 [a], %d; ld.param.u64 %d, [offset]; st.param.b64 [b], %d;\n"
    "  ld.param.u64 %d, [value]; st.param.b64 [c], %d; ld.param.u64 %d, [size]; st.param.b64 [d], %d;\n"
    "  call (e), cudaGraphKernelNodeSetParam, (a, b, c, d); ld.param.b32 %r, [e];\n"
    "  ld.param.u64 %d, [to]; st.global.u32 [%d], %r; ret; }\n"
    ".visible .entry sets_enabled(.param .u64 node, .param .u32 enable, .param .u64 to) {\n"
    "  .reg .b32 %r; .reg .b64 %d; .param .b64 a; .param .b32 b; .param .b32 e;\n"
    "  ld.param.u64 %d, [node]; st.param.b64 [a], %d; ld.param.u32 %r, [enable]; st.param.b32 [b], %r;\n"
    "  call (e), cudaGraphKernelNodeSetEnabled, (a, b); ld.param.b32 %r, [e];\n"
    "  ld.param.u64 %d, [to]; st.global.u32 [%d], %r; ret; }\n"
    ".visible .entry sets_grid(.param .u64 node, .param .u32 x, .param .u64 to) {\n"
    "  .reg .b32 %r; .reg .b64 %d; .param .b64 a; .param .align 4 .b8 g[12]; .param .b32 e;\n"
    "  ld.param.u64 %d, [node]; st.param.b64 [a], %d; ld.param.u32 %r, [x]; st.param.b32 [g], %r;\n"
    "  st.param.b32 [g+4], 1; st.param.b32 [g+8], 1;\n"
    "  call (e), cudaGraphKernelNodeSetGridDim, (a, g); ld.param.b32 %r, [e];\n"
    "  ld.param.u64 %d, [to]; st.global.u32 [%d], %r; ret; }\n"
    ".visible .entry applies(.param .u64 updates, .param .u64 count, .param .u64 to) {\n"
    "  .reg .b32 %r; .reg .b64 %d; .param .b64 a; .param .b64 b; .param .b32 e;\n"
    "  ld.param.u64 %d, [updates]; st.param.b64 [a], %d; ld.param.u64 %d, [count]; st.param.b64 [b], %d;\n"
    "  call (e), cudaGraphKernelNodeUpdatesApply, (a, b); ld.param.b32 %r, [e];\n"
    "  ld.param.u64 %d, [to]; st.global.u32 [%d], %r; ret; }\n";

static CUmodule module;
/* What `adds` has come to; what a change was answered; a value for parameters; updates. */
static CUdeviceptr sum, answer, value, updates;

static CUfunction function(const char *name) {
    CUfunction found;
    OK(cuModuleGetFunction(&found, module, name));
    return found;
}

static void launch(const char *name, void **params) {
    OK(cuLaunchKernel(function(name), 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
}

static unsigned word(CUdeviceptr at) {
    unsigned read;
    OK(cuMemcpyDtoH_v2(&read, at, 4));
    return read;
}

/* What a launch of a graph adds. */
static unsigned run(CUgraphExec exec) {
    OK(cuMemsetD32_v2(sum, 0, 1));
    OK(cuGraphLaunch(exec, NULL));
    return word(sum);
}

static unsigned set_step(uint64_t node, unsigned step, uint64_t offset, uint64_t size) {
    OK(cuMemsetD32_v2(value, step, 1));
    launch("sets_parameter", (void *[]){&node, &offset, &value, &size, &answer});
    return word(answer);
}

static unsigned set_enabled(uint64_t node, unsigned enable) {
    launch("sets_enabled", (void *[]){&node, &enable, &answer});
    return word(answer);
}

static unsigned set_grid(uint64_t node, unsigned blocks) {
    launch("sets_grid", (void *[]){&node, &blocks, &answer});
    return word(answer);
}

static unsigned apply(const Update *list, uint64_t count) {
    OK(cuMemcpyHtoD_v2(updates, list, count * sizeof *list));
    launch("applies", (void *[]){&updates, &count, &answer});
    return word(answer);
}

int main(void) {
    begin();
    OK(cuModuleLoadData(&module, CODE));
    OK(cuMemAlloc_v2(&sum, 4));
    OK(cuMemAlloc_v2(&answer, 4));
    OK(cuMemAlloc_v2(&value, 4));
    OK(cuMemAlloc_v2(&updates, 4 * sizeof(Update)));

    /* A node becomes one that kernels may change, and stays it. */
    CUgraph graph, other;
    CUgraphNode node, plain;
    CUgraphExec exec, second;
    unsigned step = 5;
    KernelParams adds = one_thread(function("adds"), (void *[]){&sum, &step});
    Attribute attribute = {.updatable = 0};
    OK(cuGraphCreate((void **)&graph, 0));
    OK(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &adds));
    OK(cuGraphAddKernelNode_v2(&plain, graph, NULL, 0, &adds));
    OK(cuGraphKernelNodeSetAttribute(node, UPDATABLE, &attribute));
    attribute.updatable = 2;
    EXPECT(INVALID_VALUE, cuGraphKernelNodeSetAttribute(node, UPDATABLE, &attribute));
    attribute.updatable = 1;
    OK(cuGraphKernelNodeSetAttribute(node, UPDATABLE, &attribute));
    uint64_t handle = attribute.node;
    TRUE(handle != 0);
    Attribute shown;
    OK(cuGraphKernelNodeGetAttribute(node, UPDATABLE, &shown));
    TRUE(shown.updatable == 1 && shown.node == handle);
    OK(cuGraphKernelNodeGetAttribute(plain, UPDATABLE, &shown));
    TRUE(shown.updatable == 0);
    attribute.updatable = 0;
    EXPECT(INVALID_VALUE, cuGraphKernelNodeSetAttribute(node, UPDATABLE, &attribute));
    attribute.node = 0;
    EXPECT(NOT_SUPPORTED, cuGraphKernelNodeSetAttribute(node, UPDATABLE, &attribute));
    EXPECT(NOT_SUPPORTED, cuGraphKernelNodeCopyAttributes(node, plain));
    EXPECT(NOT_SUPPORTED, cuGraphKernelNodeCopyAttributes(plain, node));
    EXPECT(NOT_SUPPORTED, cuGraphDestroyNode(node));
    /* There is nothing to change before there is an instance. */
    TRUE(set_enabled(handle, 0) == INVALID_VALUE);
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    EXPECT(NOT_SUPPORTED, cuGraphInstantiateWithFlags(&second, graph, 0));
    UpdateInfo info;
    EXPECT(NOT_SUPPORTED, cuGraphExecUpdate_v2(exec, graph, &info));
    TRUE(run(exec) == 10);

    /* Parameters, the grid, and whether it runs: each stays until it is changed again. */
    TRUE(set_step(handle, 100, 8, 4) == 0);
    TRUE(run(exec) == 105 && run(exec) == 105);
    TRUE(set_grid(handle, 3) == 0);
    TRUE(run(exec) == 305);
    TRUE(set_enabled(handle, 0) == 0);
    TRUE(run(exec) == 5);
    unsigned enabled = 1;
    OK(cuGraphNodeGetEnabled(exec, node, &enabled));
    /* The host tells what it has said itself, and when it says more, all is as it has said (an H200 does so). */
    TRUE(enabled == 1);
    OK(cuGraphNodeSetEnabled(exec, node, 1));
    TRUE(run(exec) == 10);
    TRUE(set_step(handle, 100, 8, 4) == 0 && set_grid(handle, 3) == 0);
    TRUE(run(exec) == 305);
    /* What cannot be changes nothing. */
    TRUE(set_step(handle, 7, 9, 4) == INVALID_VALUE);
    TRUE(set_step(handle, 7, UINT64_MAX, 4) == INVALID_VALUE);
    TRUE(set_step(handle, 7, 8, 40000) == INVALID_VALUE);
    TRUE(set_grid(handle, 0) == INVALID_VALUE);
    TRUE(run(exec) == 305);

    /* Several at once, in order, if none is refused. */
    OK(cuMemsetD32_v2(value, 20, 1));
    const Update list[] = {
        {.node = handle, .field = 1, .grid = {2, 2, 1}},
        {.node = handle, .field = 2, .value = value, .offset = 8, .size = 4},
        {.node = handle, .field = 9},
        {.node = handle, .field = 3, .enabled = 0},
    };
    TRUE(apply(list, 2) == 0);
    TRUE(run(exec) == 85);
    TRUE(apply(list, 4) == INVALID_VALUE);
    TRUE(run(exec) == 85);
    TRUE(apply(list + 3, 1) == 0);
    TRUE(run(exec) == 5);

    /* The host's word replaces what kernels have said of a launch. */
    step = 1000;
    OK(cuGraphExecKernelNodeSetParams_v2(exec, node, &adds));
    TRUE(set_enabled(handle, 1) == 0);
    TRUE(run(exec) == 1005);
    OK(cuGraphExecDestroy(exec));

    /* A captured launch; a kernel before it in the same graph decides how many blocks it has. */
    CUstream stream;
    OK(cuStreamCreate(&stream, 1));
    LaunchAttribute asked = {.id = UPDATABLE, .value = {.updatable = 1}};
    const LaunchConfig config = {1, 1, 1, 1, 1, 1, 0, stream, &asked, 1};
    step = 1;
    EXPECT(NOT_SUPPORTED, cuLaunchKernelEx(&config, adds.func, (void *[]){&sum, &step}, NULL));
    OK(cuGraphCreate((void **)&other, 0));
    OK(cuStreamBeginCaptureToGraph(stream, other, NULL, NULL, 0, 0));
    OK(cuLaunchKernelEx(&config, adds.func, (void *[]){&sum, &step}, NULL));
    OK(cuStreamEndCapture(stream, &other));
    uint64_t captured = asked.value.node;
    TRUE(captured != 0 && captured != handle);
    size_t count = 1;
    OK(cuGraphGetNodes(other, &node, &count));
    unsigned blocks = 6;
    KernelParams decides = one_thread(function("sets_grid"), (void *[]){&captured, &blocks, &answer});
    CUgraphNode first;
    OK(cuGraphAddKernelNode_v2(&first, other, NULL, 0, &decides));
    OK(cuGraphAddDependencies(other, &first, &node, 1));
    OK(cuGraphInstantiateWithFlags(&exec, other, 0));
    OK(cuGraphUpload(exec, NULL));
    TRUE(run(exec) == 6 && word(answer) == 0);

    /* A handle that names no node is an address that is not there. */
    launch("sets_enabled", (void *[]){&(uint64_t){12345 << 8}, &enabled, &answer});
    EXPECT(700, cuCtxSynchronize());
    printf("updates: passed\n");
    return 0;
}
