/* Tensor maps that only devices of compute capability 10.0 and later have: swizzled atoms of more than 16 bytes, elements of less than
   a byte, pixels along W. The first device is a B200, the second an H200. */
#include "driver.h"
#include "memory.h"

CUresult cuTensorMapEncodeTiled(void *, unsigned, unsigned, void *, const uint64_t *, const uint64_t *, const unsigned *,
                                const unsigned *, unsigned, unsigned, unsigned, unsigned);
CUresult cuTensorMapEncodeIm2colWide(void *, unsigned, unsigned, void *, const uint64_t *, const uint64_t *, int, int, unsigned,
                                     unsigned, const unsigned *, unsigned, unsigned, unsigned, unsigned, unsigned);

enum { U32 = 2, PACKED_FOUR = 13, GAPS_FOUR = 14, GAPS_SIX = 15 };
enum { SWIZZLE_64 = 2, SWIZZLE_128 = 3, ATOM_32 = 4, ATOM_32_FLIP_8 = 5, ATOM_64 = 6 };
enum { WORDS = 256, BYTES = 4 * WORDS };

/* Copies what a map says, `count` bytes of it, and stores all of the tile. */
#define KERNEL(name, copy)                                                                                                     \
    ".visible .entry " name "(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 count) {\n"                          \
    "  .shared .align 1024 .b8 tile[1024]; .shared .align 8 .b64 bar;\n"                                                       \
    "  .reg .pred %p; .reg .b16 %h<2>; .reg .b32 %r<5>; .reg .b64 %d<4>;\n"                                                    \
    "  mov.b64 %d0, map; cvta.param.u64 %d0, %d0; ld.param.u64 %d1, [out]; ld.param.u32 %r0, [count];\n"                       \
    "  mov.u32 %r1, %tid.x; mov.b32 %r2, tile; mad.lo.u32 %r2, %r1, 4, %r2; st.shared.b32 [%r2], 0xeeeeeeee;\n"                \
    "  setp.eq.u32 %p, %r1, 0; @%p mbarrier.init.shared.b64 [bar], 1; fence.proxy.async; bar.sync 0; @!%p bra wait;\n"         \
    "  mbarrier.arrive.expect_tx.shared.b64 %d2, [bar], %r0; mov.b16 %h0, 2; mov.b16 %h1, 0;\n  " copy "\n"                    \
    "wait: mbarrier.try_wait.parity.shared.b64 %p, [bar], 0; @!%p bra wait;\n"                                                 \
    "  ld.shared.b32 %r3, [%r2]; mad.wide.u32 %d3, %r1, 4, %d1; st.global.b32 [%d3], %r3; ret; }\n"

static const char CODE[] = ".version 8.6\n.target sm_100a\n.address_size 64\n" KERNEL(
    "box", "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [tile], [%d0, {0, 0}], [bar];")
    KERNEL("along", "cp.async.bulk.tensor.4d.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes"
                    " [tile], [%d0, {0, 1, 2, 0}], [bar], {%h0, %h1};");

static CUmodule module;
static CUdeviceptr tensor, out;
static unsigned tile[WORDS];

static void copied(const char *kernel, void *map, unsigned count) {
    CUfunction function;
    OK(cuModuleGetFunction(&function, module, kernel));
    OK(cuLaunchKernel(function, 1, 1, 1, WORDS, 1, 1, 0, NULL, (void *[]){map, &out, &count}, NULL));
    OK(cuMemcpyDtoH_v2(tile, out, sizeof tile));
}

/* Where `cuda.h` says that a byte of a line of 128 is. */
static unsigned atom(unsigned mode, unsigned line, unsigned byte) {
    switch (mode) {
    case ATOM_32: return byte ^ (line % 4) * 32;
    case ATOM_32_FLIP_8: return byte ^ (line % 4) * 32 ^ (line % 2) * 8;
    default: return byte ^ (line % 2) * 64;
    }
}

static void boxes(void) {
    _Alignas(64) char map[128];
    uint64_t sizes[] = {32, 8}, strides[] = {128};
    unsigned extents[] = {32, 8}, steps[] = {1, 1};
    for (unsigned mode = ATOM_32; mode <= ATOM_64; mode++) {
        OK(cuTensorMapEncodeTiled(map, U32, 2, (void *)tensor, sizes, strides, extents, steps, 0, mode, 0, 0));
        copied("box", map, BYTES);
        for (unsigned line = 0; line < 8; line++)
            for (unsigned word = 0; word < 32; word++)
                TRUE(tile[line * 32 + atom(mode, line, 4 * word) / 4] == line * 32 + word);
    }
    EXPECT(1, cuTensorMapEncodeTiled(map, U32, 2, (void *)tensor, sizes, strides, extents, steps, 0, 7, 0, 0));

    /* Gaps of 8 and 4 bytes behind 8 and 12, and none. */
    struct {
        unsigned type, words, of_four;
    } kinds[] = {{PACKED_FOUR, 16, 4}, {GAPS_FOUR, 16, 2}, {GAPS_SIX, 24, 3}};
    for (unsigned i = 0; i < 3; i++) {
        uint64_t packed[] = {128, 2}, pitch[] = {4 * kinds[i].words};
        unsigned whole[] = {128, 2};
        OK(cuTensorMapEncodeTiled(map, kinds[i].type, 2, (void *)tensor, packed, pitch, whole, steps, 0, 0, 0, 0));
        copied("box", map, 8 * kinds[i].words);
        for (unsigned word = 0, next = 0; word < 8 * kinds[i].words / kinds[i].of_four; word++)
            TRUE(tile[word] == (word % 4 < kinds[i].of_four ? next++ : 0xeeeeeeee));
        unsigned half[] = {64, 2};
        if (kinds[i].type != PACKED_FOUR)
            EXPECT(1, cuTensorMapEncodeTiled(map, kinds[i].type, 2, (void *)tensor, packed, pitch, half, steps, 0, 0, 0, 0));
        EXPECT(1, cuTensorMapEncodeTiled(map, kinds[i].type, 2, (void *)tensor, packed, pitch, whole, steps, 0, 0, 0, 1));
    }
}

static void pixels(void) {
    _Alignas(64) char map[128];
    /* Two images of 3 rows of 5 pixels of 16 channels. */
    uint64_t sizes[] = {16, 5, 3, 2}, strides[] = {64, 320, 960};
    unsigned steps[] = {1, 1, 1, 1};
    void *at = (void *)tensor;
    OK(cuTensorMapEncodeIm2colWide(map, U32, 4, at, sizes, strides, 0, -2, 16, 4, steps, 0, 0, SWIZZLE_64, 0, 0));
    copied("along", map, 6 * 64);
    /* The box ends two pixels before the image does; behind four pixels there are two more, whatever the box. */
    unsigned w[] = {1, 2, 0, 1, 2, 3}, n[] = {0, 0, 1, 1, 1, 1};
    for (unsigned i = 0; i < 6; i++)
        for (unsigned c = 0; c < 16; c++)
            TRUE(tile[i * 16 + (c ^ i / 2 % 4 * 4)] == ((n[i] * 3 + 2) * 5 + w[i]) * 16 + c);
    /* The pixels that are asked for do not count where 128 are taken. */
    uint64_t line[] = {4, 64, 2}, pitch[] = {16, 1024};
    OK(cuTensorMapEncodeIm2colWide(map, U32, 3, at, line, pitch, -32768, 32767, 4, 5000, steps, 0, 1, SWIZZLE_64, 0, 0));
    EXPECT(1, cuTensorMapEncodeIm2colWide(map, U32, 3, at, line, pitch, 0, 0, 4, 5000, steps, 0, 0, SWIZZLE_64, 0, 0));
    /* No such mode, swizzle modes that it does not have, corners that leave nothing, two dimensions. */
    EXPECT(1, cuTensorMapEncodeIm2colWide(map, U32, 4, at, sizes, strides, 0, -2, 16, 4, steps, 0, 2, SWIZZLE_64, 0, 0));
    EXPECT(1, cuTensorMapEncodeIm2colWide(map, U32, 4, at, sizes, strides, 0, -2, 8, 4, steps, 0, 0, 0, 0, 0));
    EXPECT(1, cuTensorMapEncodeIm2colWide(map, U32, 4, at, sizes, strides, 0, -2, 16, 4, steps, 0, 0, ATOM_64, 0, 0));
    EXPECT(1, cuTensorMapEncodeIm2colWide(map, U32, 4, at, sizes, strides, 3, -2, 16, 4, steps, 0, 0, SWIZZLE_64, 0, 0));
    EXPECT(1, cuTensorMapEncodeIm2colWide(map, U32, 2, at, sizes, strides, 0, 0, 16, 4, steps, 0, 0, SWIZZLE_64, 0, 0));
}

static void of_older_devices(void) {
    _Alignas(64) char map[128];
    uint64_t sizes[] = {32, 8, 4}, strides[] = {128, 1024};
    unsigned extents[] = {32, 8, 4}, steps[] = {1, 1, 1};
    OK(cuTensorMapEncodeTiled(map, U32, 2, (void *)256, sizes, strides, extents, steps, 0, SWIZZLE_128, 0, 0));
    for (unsigned mode = ATOM_32; mode <= ATOM_64; mode++)
        EXPECT(1, cuTensorMapEncodeTiled(map, U32, 2, (void *)256, sizes, strides, extents, steps, 0, mode, 0, 0));
    EXPECT(1, cuTensorMapEncodeTiled(map, PACKED_FOUR, 2, (void *)256, sizes, strides, extents, steps, 0, 0, 0, 0));
    EXPECT(1, cuTensorMapEncodeIm2colWide(map, U32, 3, (void *)256, sizes, strides, 0, 0, 16, 4, steps, 0, 0, SWIZZLE_64, 0, 0));
}

int main(void) {
    static unsigned values[2 * WORDS];
    CUcontext context;
    CUdevice other;
    begin();
    for (unsigned i = 0; i < 2 * WORDS; i++) values[i] = i;
    OK(cuModuleLoadData(&module, CODE));
    OK(cuMemAlloc_v2(&tensor, sizeof values));
    OK(cuMemAlloc_v2(&out, sizeof tile));
    OK(cuMemcpyHtoD_v2(tensor, values, sizeof values));
    boxes();
    pixels();
    OK(cuDeviceGet(&other, 1));
    OK(cuCtxCreate_v2(&context, 0, other));
    of_older_devices();
    puts("tensor_maps: passed");
    return 0;
}
