/* A program that does what it is asked for: `bad` accesses, an `error` that nobody looks at, `sections` of a lock in an order that
 * hides a race, a `lock` that one of two takes, one that both take (`locked`); or `nothing`. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *ptx =
    ".version 8.6\n.target sm_90\n.address_size 64\n"
    /* Two stores behind the end. */
    ".visible .entry bad(.param .u64 out)\n{\n.reg .b64 %d;\nld.param.u64 %d, [out];\n"
    "st.global.u32 [%d+64], 1;\nst.global.u32 [%d+128], 2;\nst.global.u32 [%d], 3;\nret;\n}\n"
    /* Two CTAs write a word, the one before its section, the other one behind. */
    ".visible .entry sections(.param .u64 out)\n{\n.reg .pred %p;\n.reg .b32 %r, %c;\n.reg .b64 %d;\n"
    "ld.param.u64 %d, [out];\nmov.u32 %c, %ctaid.x;\nsetp.ne.u32 %p, %c, 0;\n@%p bra take;\nst.global.u32 [%d+8], 1;\n"
    "take:\natom.acquire.gpu.global.cas.b32 %r, [%d], 0, 1;\nsetp.ne.u32 %p, %r, 0;\n@%p bra take;\n"
    "atom.release.gpu.global.exch.b32 %r, [%d], 0;\nsetp.eq.u32 %p, %c, 0;\n@%p bra end;\nst.global.u32 [%d+8], 2;\n"
    "end:\nret;\n}\n"
    /* Two CTAs write a word, of which only the first one does so under the lock. */
    ".visible .entry lock(.param .u64 out)\n{\n.reg .pred %p;\n.reg .b32 %r, %c;\n.reg .b64 %d;\n"
    "ld.param.u64 %d, [out];\nmov.u32 %c, %ctaid.x;\n"
    "take:\natom.acquire.gpu.global.cas.b32 %r, [%d], 0, 1;\nsetp.ne.u32 %p, %r, 0;\n@%p bra take;\n"
    "setp.ne.u32 %p, %c, 0;\n@%p bra give;\nst.global.u32 [%d+8], 1;\n"
    "give:\natom.release.gpu.global.exch.b32 %r, [%d], 0;\nsetp.eq.u32 %p, %c, 0;\n@%p bra end;\nst.global.u32 [%d+8], 2;\n"
    "end:\nret;\n}\n"
    /* Both do. */
    ".visible .entry locked(.param .u64 out)\n{\n.reg .pred %p;\n.reg .b32 %r;\n.reg .b64 %d;\nld.param.u64 %d, [out];\n"
    "take:\natom.acquire.gpu.global.cas.b32 %r, [%d], 0, 1;\nsetp.ne.u32 %p, %r, 0;\n@%p bra take;\nst.global.u32 [%d+8], 1;\n"
    "atom.release.gpu.global.exch.b32 %r, [%d], 0;\nret;\n}\n";

static void *library;

/* Calls a function of the driver. */
#define CALL(name, ...) ((int (*)())dlsym(library, #name))(__VA_ARGS__)
#define MUST(name, ...)                                            \
    do {                                                           \
        int error = CALL(name, __VA_ARGS__);                       \
        if (error) {                                               \
            printf("%s: %d\n", #name, error);                      \
            exit(3);                                               \
        }                                                          \
    } while (0)

int main(int count, char **words) {
    const char *what = count > 1 ? words[1] : "nothing";
    void *context, *module, *kernel;
    uint64_t memory;
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) return 2;
    MUST(cuInit, 0);
    MUST(cuCtxCreate_v2, &context, 0, 0);
    MUST(cuMemAlloc_v2, &memory, (size_t)64);
    MUST(cuMemsetD32_v2, memory, 0, (size_t)16);
    if (!strcmp(what, "error")) CALL(cuMemFree_v2, memory + 4);
    if (strcmp(what, "error") && strcmp(what, "nothing")) {
        void *parameters[] = {&memory};
        MUST(cuModuleLoadData, &module, ptx);
        MUST(cuModuleGetFunction, &kernel, module, what);
        const int ctas = strcmp(what, "bad") ? 2 : 1;
        MUST(cuLaunchKernel, kernel, ctas, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL);
        MUST(cuCtxSynchronize);
    }
    MUST(cuMemFree_v2, memory);
    MUST(cuCtxDestroy_v2, context);
    return 0;
}
