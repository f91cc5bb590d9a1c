/* What goes on beside threads: kernels that say themselves that their CTAs come in clusters, and read what the neighbour has in shared
   memory; a copy of a part of a tensor; an arrival when a thread's copies are done. */
#include "driver.h"

CUresult cuTensorMapEncodeTiled(void *, unsigned, unsigned, void *, const uint64_t *, const uint64_t *, const unsigned *,
                                const unsigned *, unsigned, unsigned, unsigned, unsigned);

enum { CTAS = 8, N = 64, WIDTH = 64, U32 = 2 };

#define KERNEL(name, cluster)                                     \
    ".visible .entry " name "(.param .u64 to)\n"                  \
    ".reqnctapercluster " cluster "\n"                            \
    "{\n"                                                         \
    "  .reg .b32 %r<12>; .reg .b64 %d<4>;\n"                      \
    "  .shared .align 4 .b32 own[64];\n"                          \
    "  mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x;\n"             \
    "  mov.u32 %r2, %ctaid.y; mov.u32 %r3, %nctaid.x;\n"          \
    "  mad.lo.u32 %r1, %r2, %r3, %r1;\n"                          \
    "  mad.lo.u32 %r2, %r1, 64, %r0;\n"                           \
    "  mov.u32 %r3, own; mad.lo.u32 %r3, %r0, 4, %r3;\n"          \
    "  st.shared.u32 [%r3], %r2;\n"                               \
    "  barrier.cluster.arrive; barrier.cluster.wait;\n"           \
    "  mov.u32 %r4, %cluster_ctarank; xor.b32 %r4, %r4, 1;\n"     \
    "  mapa.shared::cluster.u32 %r5, %r3, %r4;\n"                 \
    "  ld.shared::cluster.u32 %r6, [%r5];\n"                      \
    "  barrier.cluster.arrive; barrier.cluster.wait;\n"           \
    "  ld.param.u64 %d0, [to]; mad.wide.u32 %d1, %r2, 4, %d0;\n"  \
    "  st.global.u32 [%d1], %r6;\n"                               \
    "  ret;\n"                                                    \
    "}\n"

/* Stores a box of 32 by 8 words from (16, 4) on. */
static const char BOX[] =
    ".visible .entry box(.param .align 64 .b8 map[128], .param .u64 to) {\n"
    "  .shared .align 128 .b8 tile[1024]; .shared .align 8 .b64 bar;\n"
    "  .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %d<4>;\n"
    "  mov.b64 %d0, map; cvta.param.u64 %d0, %d0; ld.param.u64 %d1, [to];\n"
    "  mov.u32 %r1, %tid.x; mov.b32 %r2, tile; mad.lo.u32 %r2, %r1, 4, %r2;\n"
    "  setp.eq.u32 %p, %r1, 0; @%p mbarrier.init.shared.b64 [bar], 1; fence.proxy.async; bar.sync 0; @!%p bra wait;\n"
    "  mbarrier.arrive.expect_tx.shared.b64 %d2, [bar], 1024;\n"
    "  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [%d0, {16, 4}], [bar];\n"
    "wait: mbarrier.try_wait.parity.shared.b64 %p, [bar], 0; @!%p bra wait;\n"
    "  ld.shared.b32 %r3, [%r2]; mad.wide.u32 %d3, %r1, 4, %d1; st.global.b32 [%d3], %r3; ret; }\n";

/* Copies a word of each thread, and waits for all of them by an object that 256 threads arrive at. */
static const char ARRIVE[] =
    ".visible .entry arrive(.param .u64 from, .param .u64 to) {\n"
    "  .shared .align 128 .b8 tile[1024]; .shared .align 8 .b64 bar;\n"
    "  .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %d<4>;\n"
    "  ld.param.u64 %d0, [from]; ld.param.u64 %d1, [to]; mov.u32 %r1, %tid.x; mov.b32 %r2, tile;\n"
    "  xor.b32 %r0, %r1, 255; mad.lo.u32 %r3, %r0, 4, %r2; mad.lo.u32 %r2, %r1, 4, %r2;\n"
    "  setp.eq.u32 %p, %r1, 0; @%p mbarrier.init.shared.b64 [bar], 256; bar.sync 0;\n"
    "  mad.wide.u32 %d0, %r1, 4, %d0; cp.async.ca.shared.global [%r2], [%d0], 4;\n"
    "  cp.async.mbarrier.arrive.noinc.shared.b64 [bar];\n"
    "wait: mbarrier.try_wait.parity.shared.b64 %p, [bar], 0; @!%p bra wait;\n"
    "  ld.shared.b32 %r4, [%r3]; mad.wide.u32 %d3, %r1, 4, %d1; st.global.b32 [%d3], %r4; ret; }\n";

static void pieces(CUmodule module) {
    CUfunction function;
    CUdeviceptr from, to;
    static unsigned words[WIDTH * WIDTH], found[256];
    _Alignas(64) char map[128];
    uint64_t sizes[] = {WIDTH, WIDTH}, strides[] = {4 * WIDTH};
    unsigned extents[] = {32, 8}, steps[] = {1, 1};
    for (unsigned i = 0; i < WIDTH * WIDTH; i++) words[i] = 3 * i + 1;
    OK(cuMemAlloc_v2(&from, sizeof words));
    OK(cuMemAlloc_v2(&to, sizeof found));
    OK(cuMemcpyHtoD_v2(from, words, sizeof words));
    OK(cuTensorMapEncodeTiled(map, U32, 2, (void *)from, sizes, strides, extents, steps, 0, 0, 0, 0));
    OK(cuModuleGetFunction(&function, module, "box"));
    OK(cuLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0, NULL, (void *[]){map, &to}, NULL));
    OK(cuMemcpyDtoH_v2(found, to, sizeof found));
    for (unsigned i = 0; i < 256; i++) TRUE(found[i] == words[(4 + i / 32) * WIDTH + 16 + i % 32]);
    OK(cuModuleGetFunction(&function, module, "arrive"));
    OK(cuLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0, NULL, (void *[]){&from, &to}, NULL));
    OK(cuMemcpyDtoH_v2(found, to, sizeof found));
    for (unsigned i = 0; i < 256; i++) TRUE(found[i] == words[255 - i]);
}

int main(void) {
    CUmodule module;
    CUfunction pairs, tall;
    CUdeviceptr to;
    unsigned found[CTAS * N];
    begin();
    static char text[8192];
    snprintf(text, sizeof text, "%s%s%s",
             ".version 8.0\n.target sm_90\n.address_size 64\n" KERNEL("pairs", "2, 1, 1") KERNEL("tall", "1, 2, 1"), BOX, ARRIVE);
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&pairs, module, "pairs"));
    OK(cuModuleGetFunction(&tall, module, "tall"));
    OK(cuMemAlloc_v2(&to, sizeof found));
    void *params[] = {&to};
    OK(cuLaunchKernel(pairs, CTAS, 1, 1, N, 1, 1, 0, NULL, params, NULL));
    OK(cuMemcpyDtoH_v2(found, to, sizeof found));
    for (unsigned i = 0; i < CTAS * N; i++) TRUE(found[i] == (i ^ N));
    OK(cuLaunchKernel(tall, 2, CTAS / 2, 1, N, 1, 1, 0, NULL, params, NULL));
    OK(cuMemcpyDtoH_v2(found, to, sizeof found));
    for (unsigned i = 0; i < CTAS * N; i++) TRUE(found[i] == (i ^ 2 * N));
    pieces(module);
    puts("modelled: passed");
    return 0;
}
