/* Arrays, copies from and to them, textures and surfaces. */
#include "textures.h"

/* Each kernel has a handle, where to look, and where to write; one thread. */
#define LOOK(name, instruction)                                                        \
    ".visible .entry " name "(.param .u64 t, .param .f32 x, .param .f32 y, .param .f32 z, .param .u64 out) {\n" \
    "  .reg .f32 %f<8>; .reg .b32 %r<4>; .reg .b64 %d<2>; ld.param.u64 %d0, [t]; ld.param.u64 %d1, [out];\n"    \
    "  ld.param.f32 %f4, [x]; ld.param.f32 %f5, [y]; ld.param.f32 %f6, [z];\n"                          \
    "  cvt.rzi.s32.f32 %r0, %f4; cvt.rzi.s32.f32 %r1, %f5; cvt.rzi.s32.f32 %r2, %f6;\n"                 \
    "  " instruction "\n"                                                                               \
    "  st.global.v4.f32 [%d1], {%f0, %f1, %f2, %f3}; ret; }\n"
static const char CODE[] =
    ".version 8.0\n.target sm_70\n.address_size 64\n"
    LOOK("flat", "tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d0, {%f4, %f5}];")
    LOOK("line", "tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%d0, {%r0}];")
    LOOK("level", "tex.level.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d0, {%f4, %f5}], %f6;")
    LOOK("layer", "tex.a2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d0, {%r2, %f4, %f5, %f5}];")
    LOOK("deep", "tex.3d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d0, {%f4, %f5, %f6, %f6}];")
    LOOK("cube", "tex.cube.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d0, {%f4, %f5, %f6, %f6}];")
    LOOK("gradient", "mov.f32 %f2, 0f3c800000; mov.f32 %f3, 0f00000000;\n"
                     "  tex.grad.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d0, {%f4, %f5}], {%f6, %f3}, {%f3, %f2};")
    /* A texel of a surface is doubled. */
    LOOK("twice", "shl.b32 %r0, %r0, 2; suld.b.2d.b32.trap {%r3}, [%d0, {%r0, %r1}]; mov.b32 %f0, %r3;\n"
                      "  add.f32 %f0, %f0, %f0; mov.b32 %r3, %f0; sust.b.2d.b32.trap [%d0, {%r0, %r1}], {%r3};");

static CUmodule module;
static CUdeviceptr out;
static float seen[4];

static CUresult look(const char *name, CUobject object, float x, float y, float z) {
    CUfunction f;
    OK(cuModuleGetFunction(&f, module, name));
    void *params[] = {&object, &x, &y, &z, &out};
    CUresult result = cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
    return result ? result : cuMemcpyDtoH_v2(seen, out, sizeof seen);
}

static const Texture PLAIN = {.address = {1, 1, 1}, .greatest = 10};

int main(void) {
    begin();
    OK(cuModuleLoadData(&module, CODE));
    OK(cuMemAlloc_v2(&out, sizeof seen));

    /* Two dimensions, with gaps between the rows of the program. */
    float rows[3][6];
    for (int y = 0; y < 3; y++)
        for (int x = 0; x < 6; x++)
            rows[y][x] = (float)(10 * y + x);
    CUarray array, other;
    Array2D flat = {4, 3, FLOAT, 1}, told;
    OK(cuArrayCreate_v2(&array, &flat));
    OK(cuArrayGetDescriptor_v2(&told, array));
    TRUE(told.width == 4 && told.height == 3 && told.format == FLOAT && told.channels == 1);
    CUDA_MEMCPY2D in = {.src_type = HOST, .src_host = rows, .src_pitch = sizeof rows[0], .dst_type = ARRAY,
                        .dst_array = array, .width = 16, .height = 3};
    OK(cuMemcpy2D_v2(&in));
    Resource resource = {.type = 0, .of.array = array};
    CUobject texture, smooth;
    OK(cuTexObjectCreate(&texture, &resource, &PLAIN, NULL));
    OK(look("flat", texture, 2.5f, 1.5f, 0));
    TRUE(seen[0] == 12);
    Texture linear = PLAIN;
    linear.filter = 1;
    OK(cuTexObjectCreate(&smooth, &resource, &linear, NULL));
    OK(look("flat", smooth, 2, 2, 0));
    TRUE(seen[0] == (11 + 12 + 21 + 22) / 4.0f);
    Texture normalized = PLAIN;
    normalized.flags = 2, normalized.address[0] = 0;
    CUobject wrapped;
    OK(cuTexObjectCreate(&wrapped, &resource, &normalized, NULL));
    OK(look("flat", wrapped, 1.0f + 0.625f, 0.5f, 0));
    TRUE(seen[0] == 12);
    Resource back;
    Texture how;
    View view;
    OK(cuTexObjectGetResourceDesc(&back, wrapped));
    OK(cuTexObjectGetTextureDesc(&how, wrapped));
    TRUE(back.of.array == array && how.flags == 2 && how.address[0] == 0 && how.address[1] == 1);
    OK(cuTexObjectGetResourceViewDesc(&view, wrapped));
    OK(cuTexObjectDestroy(wrapped));
    EXPECT(1, cuTexObjectDestroy(wrapped));
    EXPECT(719, look("flat", wrapped, 0, 0, 0));
    OK(cuDevicePrimaryCtxReset_v2(0));
    begin();
    OK(cuModuleLoadData(&module, CODE));
    OK(cuMemAlloc_v2(&out, sizeof seen));
    EXPECT(400, cuArrayDestroy(array));

    /* Parts of arrays, to memory and to another array. */
    OK(cuArrayCreate_v2(&array, &flat));
    OK(cuArrayCreate_v2(&other, &flat));
    in.dst_array = array;
    OK(cuMemcpy2D_v2(&in));
    CUDA_MEMCPY2D across = {.src_type = ARRAY, .src_array = array, .src_x = 4, .src_y = 1, .dst_type = ARRAY,
                            .dst_array = other, .dst_x = 8, .dst_y = 0, .width = 8, .height = 2};
    OK(cuMemcpy2D_v2(&across));
    float got[3][4] = {0};
    CUDA_MEMCPY2D home = {.src_type = ARRAY, .src_array = other, .dst_type = HOST, .dst_host = got, .width = 16, .height = 3};
    OK(cuMemcpy2D_v2(&home));
    TRUE(got[0][1] == 0 && got[0][2] == 11 && got[0][3] == 12 && got[1][2] == 21 && got[1][3] == 22 && got[2][3] == 0);
    across.dst_y = 2;
    EXPECT(1, cuMemcpy2D_v2(&across));
    across.dst_y = 0, across.width = 6;
    EXPECT(1, cuMemcpy2D_v2(&across));

    /* One dimension. */
    Array2D thin = {8, 0, FLOAT, 1};
    CUarray line, line2;
    OK(cuArrayCreate_v2(&line, &thin));
    OK(cuArrayCreate_v2(&line2, &thin));
    float ramp[8] = {0, 1, 2, 3, 4, 5, 6, 7}, half[4] = {0};
    OK(cuMemcpyHtoA_v2(line, 0, ramp, sizeof ramp));
    OK(cuMemcpyAtoA_v2(line2, 16, line, 8, 16));
    OK(cuMemcpyAtoH_v2(half, line2, 12, 16));
    TRUE(half[0] == 0 && half[1] == 2 && half[2] == 3 && half[3] == 4);
    OK(cuMemcpyAtoD_v2(out, line, 16, 16));
    OK(cuMemcpyDtoA_v2(line2, 0, out, 16));
    OK(cuMemcpyAtoH_v2(half, line2, 0, 16));
    TRUE(half[0] == 4 && half[3] == 7);
    EXPECT(1, cuMemcpyAtoH_v2(half, line2, 24, 16));
    OK(cuArrayDestroy(line2));
    EXPECT(400, cuMemcpyAtoH_v2(half, line2, 0, 16));

    /* Surfaces change what textures show; an H200 makes one of an array that was not made for them, too. */
    Resource flat_resource = {.type = 0, .of.array = array};
    CUobject surface;
    OK(cuSurfObjectCreate(&surface, &flat_resource));
    OK(cuSurfObjectDestroy(surface));
    Array3D drawn = {4, 3, 0, FLOAT, 1, SURFACE}, told3;
    CUarray canvas;
    OK(cuArray3DCreate_v2(&canvas, &drawn));
    OK(cuArray3DGetDescriptor_v2(&told3, canvas));
    TRUE(told3.depth == 0 && told3.flags == SURFACE);
    in.dst_array = canvas;
    OK(cuMemcpy2D_v2(&in));
    Resource canvas_resource = {.type = 0, .of.array = canvas};
    OK(cuSurfObjectCreate(&surface, &canvas_resource));
    OK(cuTexObjectCreate(&texture, &canvas_resource, &PLAIN, NULL));
    OK(look("twice", surface, 3, 2, 0));
    OK(look("flat", texture, 3.5f, 2.5f, 0));
    TRUE(seen[0] == 46);
    OK(cuSurfObjectDestroy(surface));

    /* Layers, slices and faces, copied as boxes, in a stream's order. */
    CUstream stream;
    OK(cuStreamCreate(&stream, 0));
    float box[6][2][2];
    for (int i = 0; i < 24; i++)
        ((float *)box)[i] = (float)i;
    struct {
        unsigned flags, depth;
        const char *kernel;
        float x, y, z, expected;
    } boxes[] = {
        {LAYERED, 3, "layer", 1.5f, 0.5f, 2, 9},
        {0, 3, "deep", 0.5f, 1.5f, 1.5f, 6},
        {CUBE, 6, "cube", -1, 0.5f, 0.5f, 5},
    };
    for (int i = 0; i < 3; i++) {
        Array3D shape = {2, 2, boxes[i].depth, FLOAT, 1, boxes[i].flags};
        CUarray made;
        OK(cuArray3DCreate_v2(&made, &shape));
        Copy3D fill = {.src_type = HOST, .src_host = box, .src_pitch = 8, .src_height = 2, .dst_type = ARRAY,
                       .dst_array = made, .width = 8, .height = 2, .depth = boxes[i].depth};
        OK(cuMemcpy3DAsync_v2(&fill, stream));
        OK(cuStreamSynchronize(stream));
        Resource of = {.type = 0, .of.array = made};
        OK(cuTexObjectCreate(&texture, &of, &PLAIN, NULL));
        OK(look(boxes[i].kernel, texture, boxes[i].x, boxes[i].y, boxes[i].z));
        if (seen[0] != boxes[i].expected)
            fprintf(stderr, "%s: %g\n", boxes[i].kernel, seen[0]);
        TRUE(seen[0] == boxes[i].expected);
        fill.depth++;
        EXPECT(1, cuMemcpy3DAsync_v2(&fill, stream));
        OK(cuArrayDestroy(made));
    }
    Array3D uneven = {2, 3, 6, FLOAT, 1, CUBE};
    EXPECT(1, cuArray3DCreate_v2(&canvas, &uneven));
    uneven.flags = 0x40;
    EXPECT(801, cuArray3DCreate_v2(&canvas, &uneven));
    uneven.flags = 0, uneven.channels = 3;
    EXPECT(1, cuArray3DCreate_v2(&canvas, &uneven));

    /* Mip levels: arrays of their own, and one texture. */
    Array3D pyramid = {8, 8, 0, FLOAT, 1, SURFACE};
    CUmipmappedArray mips;
    CUarray level;
    OK(cuMipmappedArrayCreate(&mips, &pyramid, 3));
    for (unsigned i = 0; i < 3; i++) {
        float texels[64];
        size_t side = 8u >> i;
        for (size_t t = 0; t < side * side; t++)
            texels[t] = (float)(100 * i + t);
        OK(cuMipmappedArrayGetLevel(&level, mips, i));
        OK(cuArrayGetDescriptor_v2(&told, level));
        TRUE(told.width == side && told.height == side);
        CUDA_MEMCPY2D put = {.src_type = HOST, .src_host = texels, .dst_type = ARRAY, .dst_array = level,
                             .width = side * 4, .height = side};
        OK(cuMemcpy2D_v2(&put));
        EXPECT(1, cuArrayDestroy(level));
    }
    EXPECT(1, cuMipmappedArrayGetLevel(&level, mips, 3));
    Resource all = {.type = 1, .of.mipmapped = mips};
    Texture unit = normalized;
    unit.address[0] = 1;
    OK(cuTexObjectCreate(&texture, &all, &unit, NULL));
    OK(look("level", texture, 0.9f, 0.1f, 1));
    TRUE(seen[0] == 103);
    OK(look("level", texture, 0.9f, 0.9f, 2));
    TRUE(seen[0] == 203);
    /* A view of the later levels alone; one level by itself; its surface. */
    View later = {.levels = {1, 2}};
    CUobject shifted;
    OK(cuTexObjectCreate(&shifted, &all, &unit, &later));
    OK(look("level", shifted, 0.9f, 0.1f, 0));
    TRUE(seen[0] == 103);
    OK(cuTexObjectGetResourceViewDesc(&view, shifted));
    TRUE(view.levels[0] == 1 && view.levels[1] == 2);
    later.levels[1] = 3;
    EXPECT(1, cuTexObjectCreate(&shifted, &all, &unit, &later));
    OK(cuMipmappedArrayGetLevel(&level, mips, 1));
    Resource one = {.type = 0, .of.array = level};
    OK(cuTexObjectCreate(&texture, &one, &PLAIN, NULL));
    OK(look("flat", texture, 2.5f, 1.5f, 0));
    TRUE(seen[0] == 106);
    OK(cuSurfObjectCreate(&surface, &one));
    OK(look("twice", surface, 2, 1, 0));
    OK(look("flat", texture, 2.5f, 1.5f, 0));
    TRUE(seen[0] == 212);
    OK(cuMipmappedArrayDestroy(mips));
    EXPECT(400, cuMipmappedArrayGetLevel(&level, mips, 0));

    /* A footprint of 5/2 by 1 texels on a column of ones: an H200 reads four places, or one. */
    Array2D board = {64, 64, FLOAT, 1};
    static float column[64][64];
    for (int y = 0; y < 64; y++)
        column[y][32] = 1;
    OK(cuArrayCreate_v2(&other, &board));
    CUDA_MEMCPY2D draw = {.src_type = HOST, .src_host = column, .dst_type = ARRAY, .dst_array = other, .width = 256,
                          .height = 64};
    OK(cuMemcpy2D_v2(&draw));
    Resource drawn_surface = {.type = 0, .of.array = other};
    Texture anisotropic = {.address = {1, 1, 1}, .filter = 1, .flags = 2, .anisotropy = 16}, isotropic = anisotropic;
    isotropic.anisotropy = 1;
    OK(cuTexObjectCreate(&texture, &drawn_surface, &anisotropic, NULL));
    OK(look("gradient", texture, 32.5f / 64, 0.5f, 2.5f / 64));
    TRUE(seen[0] == 204 / 512.0f);
    OK(look("gradient", texture, 34 / 64.0f, 0.5f, 2.5f / 64));
    TRUE(seen[0] == 52 / 512.0f);
    OK(cuTexObjectCreate(&texture, &drawn_surface, &isotropic, NULL));
    OK(look("gradient", texture, 32.5f / 64, 0.5f, 2.5f / 64));
    TRUE(seen[0] == 1);

    /* Memory: in a row, in rows, and of the program where it is page-locked. */
    float *pinned;
    OK(cuMemAllocHost_v2((void **)&pinned, sizeof ramp));
    memcpy(pinned, ramp, sizeof ramp);
    Resource row = {.type = 2, .of.linear = {(CUdeviceptr)pinned, FLOAT, 1, sizeof ramp}};
    OK(cuTexObjectCreate(&texture, &row, &PLAIN, NULL));
    OK(look("line", texture, 6, 0, 0));
    TRUE(seen[0] == 6);
    CUdeviceptr pitched;
    size_t pitch;
    OK(cuMemAllocPitch_v2(&pitched, &pitch, 16, 3, 4));
    CUDA_MEMCPY2D down = {.src_type = ARRAY, .src_array = array, .dst_type = DEVICE, .dst_device = pitched,
                          .dst_pitch = pitch, .width = 16, .height = 3};
    OK(cuMemcpy2D_v2(&down));
    Resource matrix = {.type = 3, .of.rows = {pitched, FLOAT, 1, 4, 3, pitch}};
    OK(cuTexObjectCreate(&texture, &matrix, &PLAIN, NULL));
    OK(look("flat", texture, 1.5f, 2.5f, 0));
    TRUE(seen[0] == 21);
    row.of.linear.bytes = 1 << 20;
    EXPECT(1, cuTexObjectCreate(&texture, &row, &PLAIN, NULL));

    /* Formats: fractions, by the sampler or by themselves; a view with another format. */
    unsigned char bytes[4] = {255, 0, 51, 102};
    int formats[] = {U8, UNORM8X4};
    for (int i = 0; i < 2; i++) {
        Array2D pixel = {1, 1, formats[i], 4};
        CUarray pixels;
        OK(cuArrayCreate_v2(&pixels, &pixel));
        CUDA_MEMCPY2D put = {.src_type = HOST, .src_host = bytes, .dst_type = ARRAY, .dst_array = pixels,
                             .width = 4, .height = 1};
        OK(cuMemcpy2D_v2(&put));
        OK(cuArrayGetDescriptor_v2(&told, pixels));
        TRUE(told.format == formats[i] && told.channels == 4);
        Resource of = {.type = 0, .of.array = pixels};
        OK(cuTexObjectCreate(&texture, &of, &PLAIN, NULL));
        OK(look("flat", texture, 0.5f, 0.5f, 0));
        TRUE(seen[0] == 1 && seen[1] == 0 && seen[2] > 0.1999f && seen[2] < 0.2001f);
        View as_word = {.format = 13};
        OK(cuTexObjectCreate(&texture, &of, &PLAIN, &as_word));
        OK(look("flat", texture, 0.5f, 0.5f, 0));
        TRUE(memcmp(seen, bytes, 4) == 0);
    }
    printf("textures: passed\n");
    return 0;
}
