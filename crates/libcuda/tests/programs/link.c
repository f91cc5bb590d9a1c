/* Several images become one module: symbols are found across them, and what is wrong is told. */
#include "driver.h"

#define HEAD ".version 8.0\n.target sm_70\n.address_size 64\n"

static const char USER[] = HEAD
    ".extern .global .u32 factor;\n"
    ".extern .func (.param .b32 r) scale(.param .b32 x);\n"
    ".global .u32 secret = 100;\n"
    ".visible .entry run(.param .u64 out, .param .u32 x) {\n"
    "  .reg .b64 %d; .reg .b32 %r<4>; .param .b32 a; .param .b32 b;\n"
    "  ld.param.u64 %d, [out]; ld.param.u32 %r0, [x]; st.param.b32 [a], %r0; call (b), scale, (a);\n"
    "  ld.param.b32 %r1, [b]; ld.global.u32 %r2, [secret]; add.u32 %r1, %r1, %r2;\n"
    "  ld.global.u32 %r3, [factor]; add.u32 %r1, %r1, %r3; st.global.u32 [%d], %r1; ret;\n"
    "}\n";
static const char OWNER[] = HEAD
    ".visible .global .u32 factor = 3;\n"
    ".global .u32 secret = 1000;\n"
    ".visible .func (.param .b32 r) scale(.param .b32 x) {\n"
    "  .reg .b32 %r<3>;\n"
    "  ld.param.b32 %r0, [x]; ld.global.u32 %r1, [factor]; mul.lo.u32 %r0, %r0, %r1;\n"
    "  ld.global.u32 %r2, [secret]; add.u32 %r0, %r0, %r2; st.param.b32 [r], %r0; ret;\n"
    "}\n";

static char errors[4096], information[4096];
static void *values[4];

static CUlinkState begin_link(void) {
    /* Sizes and buffers of the information log and the error log. */
    static int options[] = {3, 4, 5, 6};
    values[0] = information, values[1] = (void *)sizeof information;
    values[2] = errors, values[3] = (void *)sizeof errors;
    errors[0] = information[0] = 0;
    CUlinkState state;
    OK(cuLinkCreate_v2(4, options, values, &state));
    return state;
}

static CUresult add(CUlinkState state, const char *text, const char *name) {
    return cuLinkAddData_v2(state, 1, (void *)text, strlen(text) + 1, name, 0, NULL, NULL);
}

int main(void) {
    begin();
    void *image;
    size_t size;

    for (int turn = 0; turn < 2; turn++) {
        CUlinkState state = begin_link();
        OK(add(state, turn ? OWNER : USER, "one.ptx"));
        OK(add(state, turn ? USER : OWNER, "two.ptx"));
        OK(cuLinkComplete(state, &image, &size));
        CUmodule module;
        CUfunction run;
        CUdeviceptr out, factor;
        OK(cuModuleLoadData(&module, image));
        OK(cuLinkDestroy(state));
        OK(cuModuleGetFunction(&run, module, "run"));
        OK(cuModuleGetGlobal_v2(&factor, &size, module, "factor"));
        TRUE(size == 4);
        OK(cuMemAlloc_v2(&out, 4));
        unsigned x = 7, result = 0;
        void *params[] = {&out, &x};
        OK(cuLaunchKernel(run, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
        OK(cuMemcpyDtoH_v2(&result, out, 4));
        TRUE(result == 7 * 3 + 1000 + 100 + 3);
        OK(cuMemFree_v2(out));
        OK(cuModuleUnload(module));
    }

    /* From a file. */
    const char *path = tmpnam(NULL);
    FILE *file = fopen(path, "w");
    TRUE(file && fputs(OWNER, file) >= 0 && !fclose(file));
    CUlinkState state = begin_link();
    OK(add(state, USER, "user"));
    OK(cuLinkAddFile_v2(state, 1, path, 0, NULL, NULL));
    OK(cuLinkComplete(state, &image, &size));
    OK(cuLinkDestroy(state));
    remove(path);

    /* Options: a limit of registers, the time. */
    int more[] = {0, 2};
    void *stated[] = {(void *)24, NULL};
    CUmodule limited;
    CUfunction run;
    int registers, launchable;
    OK(cuModuleLoadDataEx(&limited, PTX, 2, more, stated));
    OK(cuModuleGetFunction(&run, limited, "add"));
    OK(cuFuncGetAttribute(&registers, 4, run));
    OK(cuFuncGetAttribute(&launchable, 0, run));
    float milliseconds;
    memcpy(&milliseconds, &stated[1], sizeof milliseconds);
    TRUE(registers > 0 && registers <= 24 && launchable == 1024 && milliseconds > 0);
    more[0] = 1000;
    EXPECT(1, cuModuleLoadDataEx(&limited, PTX, 2, more, stated));

    /* Errors are in the log, with names and lines. */
    state = begin_link();
    OK(add(state, USER, "user.ptx"));
    EXPECT(218, cuLinkComplete(state, &image, &size));
    TRUE(strstr(errors, "`scale` is not defined") && strstr(errors, "user.ptx, line 5"));
    TRUE(strstr(errors, "`factor` is not defined"));
    OK(cuLinkDestroy(state));

    state = begin_link();
    OK(add(state, OWNER, "a.ptx"));
    OK(add(state, OWNER, "b.ptx"));
    EXPECT(218, cuLinkComplete(state, &image, &size));
    TRUE(strstr(errors, "`factor` is defined twice") && strstr(errors, "b.ptx") && strstr(errors, "a.ptx"));
    OK(cuLinkDestroy(state));

    state = begin_link();
    EXPECT(218, add(state, HEAD ".entry k() { bad; }\n", "bad.ptx"));
    TRUE(strstr(errors, "bad.ptx, line 4"));
    EXPECT(301, cuLinkAddFile_v2(state, 1, "/no/such/file", 0, NULL, NULL));
    EXPECT(209, cuLinkAddData_v2(state, 0, "\x7f" "ELF", 5, "cubin", 0, NULL, NULL));
    EXPECT(200, cuLinkComplete(state, &image, &size));
    OK(cuLinkDestroy(state));
    EXPECT(400, cuLinkDestroy(state));
    printf("link: passed\n");
    return 0;
}
