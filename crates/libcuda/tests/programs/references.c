/* Texture and surface references: variables of a module that are bound to textures. */
#include "textures.h"

static const char CODE[] =
    ".version 8.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .texref shown;\n.visible .global .surfref drawn;\n.visible .global .u32 plain;\n"
    ".visible .entry flat(.param .f32 x, .param .f32 y, .param .u64 out) {\n"
    "  .reg .f32 %f<6>; .reg .b64 %d; ld.param.f32 %f4, [x]; ld.param.f32 %f5, [y]; ld.param.u64 %d, [out];\n"
    "  tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [shown, {%f4, %f5}]; st.global.f32 [%d], %f0; ret; }\n"
    ".visible .entry line(.param .f32 x, .param .f32 y, .param .u64 out) {\n"
    "  .reg .f32 %f<5>; .reg .b32 %r; .reg .b64 %d; ld.param.f32 %f4, [x]; ld.param.u64 %d, [out];\n"
    "  cvt.rzi.s32.f32 %r, %f4; tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [shown, {%r}]; st.global.f32 [%d], %f0; ret; }\n"
    ".visible .entry draw(.param .f32 x, .param .f32 y, .param .u64 out) {\n"
    "  .reg .f32 %f<2>; .reg .b32 %r<3>; ld.param.f32 %f0, [x]; ld.param.f32 %f1, [y];\n"
    "  cvt.rzi.s32.f32 %r0, %f0; cvt.rzi.s32.f32 %r1, %f1; shl.b32 %r0, %r0, 2; mov.b32 %r2, 0f42c80000;\n"
    "  sust.b.2d.b32.trap [drawn, {%r0, %r1}], {%r2}; ret; }\n";

static CUmodule module;
static CUdeviceptr out;

static float look(const char *name, float x, float y) {
    CUfunction f;
    float seen = -1;
    OK(cuModuleGetFunction(&f, module, name));
    void *params[] = {&x, &y, &out};
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    OK(cuMemcpyDtoH_v2(&seen, out, 4));
    return seen;
}

int main(void) {
    begin();
    OK(cuModuleLoadData(&module, CODE));
    OK(cuMemAlloc_v2(&out, 4));
    CUtexref shown, again;
    CUsurfref drawn;
    OK(cuModuleGetTexRef(&shown, module, "shown"));
    OK(cuModuleGetTexRef(&again, module, "shown"));
    TRUE(shown == again);
    EXPECT(500, cuModuleGetTexRef(&again, module, "plain"));
    EXPECT(500, cuModuleGetTexRef(&again, module, "drawn"));
    OK(cuModuleGetSurfRef(&drawn, module, "drawn"));

    float rows[3][4], ramp[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int i = 0; i < 12; i++)
        ((float *)rows)[i] = (float)i;
    Array3D shape = {4, 3, 0, FLOAT, 1, SURFACE};
    CUarray array, told;
    OK(cuArray3DCreate_v2(&array, &shape));
    CUDA_MEMCPY2D in = {.src_type = HOST, .src_host = rows, .dst_type = ARRAY, .dst_array = array, .width = 16, .height = 3};
    OK(cuMemcpy2D_v2(&in));

    EXPECT(1, cuTexRefGetArray(&told, shown));
    OK(cuTexRefSetArray(shown, array, 1));
    OK(cuTexRefGetArray(&told, shown));
    TRUE(told == array);
    TRUE(look("flat", 2.5f, 1.5f) == 6);
    OK(cuTexRefSetFilterMode(shown, 1));
    TRUE(look("flat", 2, 2) == (5 + 6 + 9 + 10) / 4.0f);
    OK(cuTexRefSetFilterMode(shown, 0));
    OK(cuTexRefSetFlags(shown, 2));
    unsigned flags;
    OK(cuTexRefGetFlags(&flags, shown));
    TRUE(flags == 2);
    TRUE(look("flat", 0.625f, 0.5f) == 6);
    float border[4] = {9, 9, 9, 9};
    OK(cuTexRefSetBorderColor(shown, border));
    OK(cuTexRefSetAddressMode(shown, 0, 3));
    int mode;
    OK(cuTexRefGetAddressMode(&mode, shown, 0));
    TRUE(mode == 3 && look("flat", 1.5f, 0.5f) == 9);
    EXPECT(1, cuTexRefSetAddressMode(shown, 3, 0));

    /* A surface of the same array. */
    OK(cuSurfRefSetArray(drawn, array, 0));
    OK(cuSurfRefGetArray(&told, drawn));
    TRUE(told == array);
    look("draw", 1, 2);
    TRUE(look("flat", 0.375f, 0.9f) == 100);

    /* Memory. */
    CUdeviceptr memory;
    size_t offset = 99;
    int format, channels;
    OK(cuMemAlloc_v2(&memory, 4096));
    OK(cuMemcpyHtoD_v2(memory, ramp, sizeof ramp));
    OK(cuTexRefSetFlags(shown, 0));
    OK(cuTexRefSetFormat(shown, FLOAT, 1));
    OK(cuTexRefGetFormat(&format, &channels, shown));
    TRUE(format == FLOAT && channels == 1);
    OK(cuTexRefSetAddress_v2(&offset, shown, memory, sizeof ramp));
    TRUE(offset == 0 && look("line", 5, 0) == 5);
    OK(cuTexRefSetAddress_v2(&offset, shown, memory + 8, 16));
    TRUE(offset == 8 && look("line", 3, 0) == 3);
    EXPECT(1, cuTexRefSetAddress_v2(NULL, shown, memory + 8, 16));
    Array2D matrix = {2, 2, FLOAT, 1};
    OK(cuMemcpyHtoD_v2(memory + 512, ramp, sizeof ramp));
    OK(cuTexRefSetAddress2D_v3(shown, &matrix, memory, 512));
    TRUE(look("flat", 1.5f, 1.5f) == 1);
    OK(cuModuleUnload(module));
    printf("references: passed\n");
    return 0;
}
