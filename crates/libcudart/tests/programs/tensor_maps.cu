// nvcc: -gencode arch=compute_100a,code=compute_100a
// Tensor maps of devices of compute capability 10.0, made by the driver for kernels of CUDA C++: boxes with larger swizzled atoms, pixels
// along W of a convolution.
#include "check.h"
#include <cuda.h>

constexpr unsigned WORDS = 256;

// Copies what a map says, `bytes` of it, and stores all of the tile.
template <bool ALONG_W>
__global__ void copy(const __grid_constant__ CUtensorMap map, unsigned bytes, unsigned *out) {
#if __CUDA_ARCH__ >= 1000
    __shared__ alignas(1024) unsigned tile[WORDS];
    __shared__ alignas(8) unsigned long long barrier;
    const unsigned at = unsigned(__cvta_generic_to_shared(tile)), object = unsigned(__cvta_generic_to_shared(&barrier));
    tile[threadIdx.x] = ~0u;
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(object) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(object), "r"(bytes) : "memory");
        if (ALONG_W)
            asm volatile("cp.async.bulk.tensor.4d.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes"
                         " [%0], [%1, {0, 1, 2, 0}], [%2], {%3, %4};" ::"r"(at), "l"(&map), "r"(object), "h"(short(2)), "h"(short(0))
                         : "memory");
        else
            asm volatile("cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {0, 0}], [%2];" ::"r"(at),
                         "l"(&map), "r"(object)
                         : "memory");
    }
    asm volatile("{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n@!done bra again;\n}" ::"r"(object)
                 : "memory");
    out[threadIdx.x] = tile[threadIdx.x];
#endif
}

template <class Function> Function driver(const char *name, unsigned version) {
    void *entry = nullptr;
    cudaDriverEntryPointQueryResult found;
    CALL(cudaGetDriverEntryPointByVersion(name, &entry, version, cudaEnableDefault, &found));
    CLAIM(found == cudaDriverEntryPointSuccess && entry != nullptr);
    return reinterpret_cast<Function>(entry);
}

int main() {
    CLAIM(setenv("WARPLOOM_DEVICES", "b200", 1) == 0);
    unsigned *tensor, *out, tile[WORDS], values[2 * WORDS];
    for (unsigned i = 0; i < 2 * WORDS; i++) values[i] = i;
    CALL(cudaMalloc(&tensor, sizeof values));
    CALL(cudaMalloc(&out, sizeof tile));
    CALL(cudaMemcpy(tensor, values, sizeof values, cudaMemcpyHostToDevice));
    auto tiled = driver<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled", 12000);
    auto along_w = driver<decltype(&cuTensorMapEncodeIm2colWide)>("cuTensorMapEncodeIm2colWide", 12080);
    CUtensorMap map;
    const cuuint32_t ones[] = {1, 1, 1, 1};

    struct {
        CUtensorMapSwizzle mode;
        unsigned atom, flips;
    } modes[] = {{CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B, 32, 0},
                 {CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B, 32, 8},
                 {CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B, 64, 0}};
    for (auto [mode, atom, flips] : modes) {
        const cuuint64_t sizes[] = {32, 8}, strides[] = {128};
        const cuuint32_t box[] = {32, 8};
        CLAIM(tiled(&map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, tensor, sizes, strides, box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE, mode,
                    CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS);
        copy<false><<<1, WORDS>>>(map, 4 * WORDS, out);
        CALL(cudaMemcpy(tile, out, sizeof tile, cudaMemcpyDeviceToHost));
        for (unsigned line = 0; line < 8; line++)
            for (unsigned word = 0; word < 32; word++) {
                unsigned byte = 4 * word / atom * atom, rest = 4 * word % atom;
                byte ^= line % (128 / atom) * atom;
                CLAIM(tile[line * 32 + (byte + (rest ^ line % 2 * flips)) / 4] == line * 32 + word);
            }
    }

    // Two images of 3 rows of 5 pixels of 16 channels; the box ends two pixels before the image does.
    const cuuint64_t sizes[] = {16, 5, 3, 2}, strides[] = {64, 320, 960};
    CLAIM(along_w(&map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, tensor, sizes, strides, 0, -2, 16, 4, ones, CU_TENSOR_MAP_INTERLEAVE_NONE,
                  CU_TENSOR_MAP_IM2COL_WIDE_MODE_W, CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS);
    copy<true><<<1, WORDS>>>(map, 6 * 64, out);
    CALL(cudaMemcpy(tile, out, sizeof tile, cudaMemcpyDeviceToHost));
    const unsigned w[] = {1, 2, 0, 1, 2, 3}, n[] = {0, 0, 1, 1, 1, 1};
    for (unsigned i = 0; i < 6; i++)
        for (unsigned c = 0; c < 16; c++) CLAIM(tile[i * 16 + (c ^ i / 2 % 4 * 4)] == ((n[i] * 3 + 2) * 5 + w[i]) * 16 + c);
    printf("tensor_maps: passed\n");
}
