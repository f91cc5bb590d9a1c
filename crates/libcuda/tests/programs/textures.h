/* As much of arrays and textures as the programs here use. */
#pragma once
#include "driver.h"

typedef struct array *CUarray;
typedef struct mipmapped *CUmipmappedArray;
typedef struct texref *CUtexref;
typedef struct surfref *CUsurfref;
typedef uint64_t CUobject;

enum { U8 = 1, U32 = 3, FLOAT = 0x20, UNORM8X4 = 0xc2 };
enum { LAYERED = 1, SURFACE = 2, CUBE = 4 };
enum { HOST = 1, DEVICE = 2, ARRAY = 3 };

typedef struct {
    size_t width, height;
    int format;
    unsigned channels;
} Array2D;
typedef struct {
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
} Array3D;
typedef struct {
    size_t src_x, src_y, src_z, src_lod;
    unsigned src_type;
    const void *src_host;
    CUdeviceptr src_device;
    CUarray src_array;
    void *reserved0;
    size_t src_pitch, src_height, dst_x, dst_y, dst_z, dst_lod;
    unsigned dst_type;
    void *dst_host;
    CUdeviceptr dst_device;
    CUarray dst_array;
    void *reserved1;
    size_t dst_pitch, dst_height, width, height, depth;
} Copy3D;
typedef struct {
    int type;
    union {
        CUarray array;
        CUmipmappedArray mipmapped;
        struct {
            CUdeviceptr address;
            int format;
            unsigned channels;
            size_t bytes;
        } linear;
        struct {
            CUdeviceptr address;
            int format;
            unsigned channels;
            size_t width, height, pitch;
        } rows;
        int reserved[32];
    } of;
    unsigned flags;
} Resource;
typedef struct {
    int address[3], filter;
    unsigned flags, anisotropy;
    int mip_filter;
    float bias, least, greatest, border[4];
    int reserved[12];
} Texture;
typedef struct {
    int format;
    size_t width, height, depth;
    unsigned levels[2], layers[2], reserved[16];
} View;

CUresult cuArrayCreate_v2(CUarray *, const Array2D *);
CUresult cuArray3DCreate_v2(CUarray *, const Array3D *);
CUresult cuArrayGetDescriptor_v2(Array2D *, CUarray);
CUresult cuArray3DGetDescriptor_v2(Array3D *, CUarray);
CUresult cuArrayDestroy(CUarray);
CUresult cuMipmappedArrayCreate(CUmipmappedArray *, const Array3D *, unsigned);
CUresult cuMipmappedArrayGetLevel(CUarray *, CUmipmappedArray, unsigned);
CUresult cuMipmappedArrayDestroy(CUmipmappedArray);
CUresult cuMemcpy3D_v2(const Copy3D *);
CUresult cuMemcpy3DAsync_v2(const Copy3D *, CUstream);
CUresult cuMemcpyHtoA_v2(CUarray, size_t, const void *, size_t);
CUresult cuMemcpyHtoAAsync_v2(CUarray, size_t, const void *, size_t, CUstream);
CUresult cuMemcpyAtoH_v2(void *, CUarray, size_t, size_t);
CUresult cuMemcpyAtoA_v2(CUarray, size_t, CUarray, size_t, size_t);
CUresult cuMemcpyDtoA_v2(CUarray, size_t, CUdeviceptr, size_t);
CUresult cuMemcpyAtoD_v2(CUdeviceptr, CUarray, size_t, size_t);
CUresult cuTexObjectCreate(CUobject *, const Resource *, const Texture *, const View *);
CUresult cuTexObjectDestroy(CUobject);
CUresult cuTexObjectGetResourceDesc(Resource *, CUobject);
CUresult cuTexObjectGetTextureDesc(Texture *, CUobject);
CUresult cuTexObjectGetResourceViewDesc(View *, CUobject);
CUresult cuSurfObjectCreate(CUobject *, const Resource *);
CUresult cuSurfObjectDestroy(CUobject);
CUresult cuModuleGetTexRef(CUtexref *, CUmodule, const char *);
CUresult cuModuleGetSurfRef(CUsurfref *, CUmodule, const char *);
CUresult cuTexRefSetArray(CUtexref, CUarray, unsigned);
CUresult cuTexRefGetArray(CUarray *, CUtexref);
CUresult cuTexRefSetAddress_v2(size_t *, CUtexref, CUdeviceptr, size_t);
CUresult cuTexRefSetAddress2D_v3(CUtexref, const Array2D *, CUdeviceptr, size_t);
CUresult cuTexRefSetFormat(CUtexref, int, int);
CUresult cuTexRefGetFormat(int *, int *, CUtexref);
CUresult cuTexRefSetFilterMode(CUtexref, int);
CUresult cuTexRefSetAddressMode(CUtexref, int, int);
CUresult cuTexRefGetAddressMode(int *, CUtexref, int);
CUresult cuTexRefSetBorderColor(CUtexref, float *);
CUresult cuTexRefSetFlags(CUtexref, unsigned);
CUresult cuTexRefGetFlags(unsigned *, CUtexref);
CUresult cuSurfRefSetArray(CUsurfref, CUarray, unsigned);
CUresult cuSurfRefGetArray(CUarray *, CUsurfref);
