/* Kernels that say themselves that their CTAs come in clusters: each reads what its neighbour has in shared memory. */
#include "driver.h"

enum { CTAS = 8, N = 64 };

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

int main(void) {
    CUmodule module;
    CUfunction pairs, tall;
    CUdeviceptr to;
    unsigned found[CTAS * N];
    begin();
    OK(cuModuleLoadData(&module, ".version 8.0\n.target sm_90\n.address_size 64\n" KERNEL("pairs", "2, 1, 1")
                                     KERNEL("tall", "1, 2, 1")));
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
    puts("clusters: passed");
    return 0;
}
