/* Batches of copies, and tensor maps. */
#include "memory.h"

typedef struct {
    unsigned order;
    Location from, to;
    unsigned flags;
} CopyAttributes;
typedef struct {
    size_t x, y, z;
} Three;
typedef struct {
    unsigned type;
    union {
        struct {
            CUdeviceptr at;
            size_t row, height;
            Location hint;
        } memory;
        struct {
            void *array;
            Three offset;
        } array;
    };
} Operand;
typedef struct {
    Operand from, to;
    Three extent;
    unsigned order, flags;
} BatchCopy;
typedef struct {
    size_t width, height;
    unsigned format, channels;
} ArrayDescriptor;

CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *, CUdeviceptr *, size_t *, size_t, CopyAttributes *, size_t *, size_t,
                               CUstream);
CUresult cuMemcpyBatchAsync(CUdeviceptr *, CUdeviceptr *, size_t *, size_t, CopyAttributes *, size_t *, size_t, size_t *,
                            CUstream);
CUresult cuMemcpy3DBatchAsync_v2(size_t, BatchCopy *, uint64_t, CUstream);
CUresult cuMemcpy3DBatchAsync(size_t, BatchCopy *, size_t *, uint64_t, CUstream);
CUresult cuArrayCreate_v2(void **, const ArrayDescriptor *);
CUresult cuTensorMapEncodeTiled(void *, unsigned, unsigned, void *, const uint64_t *, const uint64_t *, const unsigned *,
                                const unsigned *, unsigned, unsigned, unsigned, unsigned);
CUresult cuTensorMapEncodeIm2col(void *, unsigned, unsigned, void *, const uint64_t *, const uint64_t *, const int *,
                                 const int *, unsigned, unsigned, const unsigned *, unsigned, unsigned, unsigned, unsigned);
CUresult cuTensorMapReplaceAddress(void *, void *);

/* Loads a box of a tensor, and stores what came. */
static const char BOX[] =
    ".version 8.6\n.target sm_90a\n.address_size 64\n"
    ".visible .entry box(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 x, .param .u32 y) {\n"
    "  .shared .align 128 .b8 tile[256]; .shared .align 8 .b64 bar;\n"
    "  .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %d<4>;\n"
    "  mov.b64 %d0, map; cvta.param.u64 %d0, %d0; ld.param.u64 %d1, [out]; ld.param.u32 %r0, [x]; ld.param.u32 %r1, [y];\n"
    "  mbarrier.init.shared.b64 [bar], 1; fence.proxy.async;\n"
    "  mbarrier.arrive.expect_tx.shared.b64 %d2, [bar], 256;\n"
    "  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [%d0, {%r0, %r1}], [bar];\n"
    "L: mbarrier.try_wait.parity.shared.b64 %p, [bar], 0; @!%p bra L;\n"
    "  mov.u32 %r2, 0;\n"
    "M: mov.u32 %r4, tile; add.u32 %r4, %r4, %r2; ld.shared.u32 %r3, [%r4]; cvt.u64.u32 %d3, %r2;\n"
    "  add.u64 %d3, %d3, %d1; st.global.u32 [%d3], %r3; add.u32 %r2, %r2, 4; setp.lt.u32 %p, %r2, 256; @%p bra M; ret; }\n";

enum { WIDTH = 20, ROWS = 10 };

static void copies(CUstream stream) {
    CUdeviceptr a, b;
    unsigned host[8] = {1, 2, 3, 4, 5, 6, 7, 8}, back[8] = {0};
    OK(cuMemAlloc_v2(&a, sizeof host));
    OK(cuMemAlloc_v2(&b, sizeof host));
    /* In two halves to the device, and on the device to the other place; one attribute for each kind. */
    CUdeviceptr to[] = {a, a + 16}, from[] = {(CUdeviceptr)host, (CUdeviceptr)(host + 4)};
    size_t sizes[] = {16, 16}, first[] = {0, 1}, failed = 7;
    CopyAttributes kinds[] = {{.order = 1}, {.order = 2}};
    OK(cuMemcpyBatchAsync_v2(to, from, sizes, 2, kinds, first, 2, stream));
    memset(host, 0, sizeof host);
    OK(cuMemcpyBatchAsync(&b, &a, (size_t[]){32}, 1, kinds, first, 1, &failed, stream));
    OK(cuMemcpyDtoHAsync_v2(back, b, 32, stream));
    OK(cuStreamSynchronize(stream));
    for (unsigned i = 0; i < 8; i++) TRUE(back[i] == i + 1);
    /* What is wrong with the call as a whole, and with a copy. */
    EXPECT(1, cuMemcpyBatchAsync_v2(to, from, sizes, 2, kinds, first, 2, NULL));
    EXPECT(1, cuMemcpyBatchAsync_v2(to, from, sizes, 2, kinds, (size_t[]){1}, 1, stream));
    EXPECT(1, cuMemcpyBatchAsync_v2(to, from, sizes, 2, kinds, first, 0, stream));
    EXPECT(1, cuMemcpyBatchAsync_v2(to, from, sizes, 2, &(CopyAttributes){.order = 9}, first, 1, stream));
    EXPECT(1, cuMemcpyBatchAsync(to, from, sizes, 0, kinds, first, 1, &failed, stream));
    TRUE(failed == SIZE_MAX);
    EXPECT(1, cuMemcpyBatchAsync(to, from, (size_t[]){16, 64}, 2, kinds, first, 1, &failed, stream));
    TRUE(failed == 1);
    /* Those before it are done. */
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyHtoD_v2(a, (unsigned[]){1, 2, 3, 4, 5, 6, 7, 8}, 32));

    /* The middle of an array of pairs, there and back. */
    void *array;
    OK(cuArrayCreate_v2(&array, &(ArrayDescriptor){4, 4, 0x03, 2}));
    OK(cuMemsetD32_v2(b, 0, 8));
    OK(cuCtxSynchronize());
    Operand memory = {.type = 1, .memory = {.at = a}}, other = {.type = 1, .memory = {.at = b}};
    Operand middle = {.type = 2, .array = {array, {1, 2, 0}}};
    BatchCopy there[] = {{memory, middle, {2, 2, 1}, 1, 0}, {middle, other, {1, 2, 1}, 1, 0}};
    OK(cuMemcpy3DBatchAsync_v2(2, there, 0, stream));
    OK(cuMemcpyDtoHAsync_v2(back, b, 32, stream));
    OK(cuStreamSynchronize(stream));
    /* Elements are of 8 bytes: one of each row. */
    TRUE(back[0] == 1 && back[1] == 2 && back[2] == 5 && back[3] == 6 && back[4] == 0);
    there[1].extent.x = 4;
    EXPECT(1, cuMemcpy3DBatchAsync(2, there, &failed, 0, stream));
    TRUE(failed == 1);
    /* Between pointers elements are bytes. */
    memory.memory.row = 8;
    memory.memory.height = 2;
    OK(cuMemcpy3DBatchAsync_v2(1, &(BatchCopy){memory, other, {4, 2, 2}, 3, 0}, 0, stream));
    OK(cuMemcpyDtoHAsync_v2(back, b, 16, stream));
    OK(cuStreamSynchronize(stream));
    TRUE(back[0] == 1 && back[1] == 3 && back[2] == 5 && back[3] == 7);
}

static void maps(CUstream stream) {
    _Alignas(64) char map[128];
    CUmodule module;
    CUfunction box;
    CUdeviceptr tensor, out;
    static unsigned values[ROWS][WIDTH], tile[8][8];
    for (unsigned y = 0; y < ROWS; y++)
        for (unsigned x = 0; x < WIDTH; x++) values[y][x] = 100 * y + x;
    OK(cuModuleLoadData(&module, BOX));
    OK(cuModuleGetFunction(&box, module, "box"));
    OK(cuMemAlloc_v2(&tensor, sizeof values));
    OK(cuMemAlloc_v2(&out, sizeof tile));
    OK(cuMemcpyHtoD_v2(tensor, values, sizeof values));
    uint64_t sizes[] = {WIDTH, ROWS}, strides[] = {4 * WIDTH};
    unsigned extents[] = {8, 8}, steps[] = {1, 1}, x = 16, y = 5;
    OK(cuTensorMapEncodeTiled(map, 2, 2, (void *)(tensor + 4096), sizes, strides, extents, steps, 0, 0, 0, 0));
    OK(cuTensorMapReplaceAddress(map, (void *)tensor));
    void *params[] = {map, &out, &x, &y};
    OK(cuLaunchKernel(box, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH_v2(tile, out, sizeof tile));
    /* Beyond the tensor there are zeros. */
    for (unsigned j = 0; j < 8; j++)
        for (unsigned i = 0; i < 8; i++)
            TRUE(tile[j][i] == (y + j < ROWS && x + i < WIDTH ? values[y + j][x + i] : 0));
    /* A stride that is no multiple of 16, a type of later devices, a map that is not aligned. */
    EXPECT(1, cuTensorMapEncodeTiled(map, 2, 2, (void *)tensor, sizes, (uint64_t[]){84}, extents, steps, 0, 0, 0, 0));
    EXPECT(1, cuTensorMapEncodeTiled(map, 13, 2, (void *)tensor, sizes, strides, extents, steps, 0, 0, 0, 0));
    EXPECT(1, cuTensorMapEncodeTiled(map, 2, 6, (void *)tensor, sizes, strides, extents, steps, 0, 0, 0, 0));
    /* An H200's driver does not ask for the alignment that the type has. */
    char elsewhere[200];
    OK(cuTensorMapEncodeTiled(elsewhere + 1, 2, 2, (void *)tensor, sizes, strides, extents, steps, 0, 0, 0, 0));
    EXPECT(1, cuTensorMapReplaceAddress(map, (void *)(tensor + 4)));
    uint64_t image[] = {16, 8, 8, 1}, steps_of_image[] = {32, 256, 2048};
    int lower[] = {-1, -1}, upper[] = {-1, -1};
    unsigned ones[] = {1, 1, 1, 1};
    OK(cuTensorMapEncodeIm2col(map, 6, 4, (void *)tensor, image, steps_of_image, lower, upper, 16, 32, ones, 0, 0, 0, 0));
    EXPECT(1, cuTensorMapEncodeIm2col(map, 6, 4, (void *)tensor, image, steps_of_image, lower, upper, 16, 2000, ones, 0, 0,
                                      0, 0));
}

int main(void) {
    CUstream stream;
    begin();
    OK(cuStreamCreate(&stream, 1));
    copies(stream);
    maps(stream);
    puts("batch: passed");
    return 0;
}
