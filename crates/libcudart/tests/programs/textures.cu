// Arrays, a texture object and a surface object.
#include "check.h"

__global__ void sample(cudaTextureObject_t texture, float *out) {
    int x = threadIdx.x, y = threadIdx.y;
    out[y * 4 + x] = tex2D<float>(texture, x + 0.5f, y + 0.5f);
    if (x == 0 && y == 0) out[16] = tex2D<float>(texture, 1.0f, 0.5f);
}

__global__ void write(cudaSurfaceObject_t surface) {
    surf2Dwrite(float(threadIdx.x + 100), surface, threadIdx.x * 4, 3);
}

int main() {
    cudaChannelFormatDesc channel = cudaCreateChannelDesc<float>();
    CLAIM(channel.x == 32 && channel.y == 0 && channel.f == cudaChannelFormatKindFloat);
    cudaArray_t array;
    CALL(cudaMallocArray(&array, &channel, 4, 4, cudaArraySurfaceLoadStore));
    float texels[4][4], *out;
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 4; x++) texels[y][x] = 10 * y + x;
    CALL(cudaMemcpy2DToArray(array, 0, 0, texels, 16, 16, 4, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaSurfaceObject_t surface;
    CALL(cudaCreateSurfaceObject(&surface, &resource));
    write<<<1, 4>>>(surface);
    cudaTextureDesc wanted = {};
    wanted.addressMode[0] = wanted.addressMode[1] = cudaAddressModeClamp;
    wanted.filterMode = cudaFilterModeLinear;
    cudaTextureObject_t texture;
    CALL(cudaCreateTextureObject(&texture, &resource, &wanted, nullptr));
    CALL(cudaMallocManaged(&out, 17 * sizeof(float)));
    sample<<<1, dim3(4, 4)>>>(texture, out);
    CALL(cudaDeviceSynchronize());
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 4; x++) CLAIM(out[y * 4 + x] == (y == 3 ? 100 + x : 10 * y + x));
    CLAIM(out[16] == 0.5f);
    CALL(cudaDestroyTextureObject(texture));
    CALL(cudaDestroySurfaceObject(surface));
    CALL(cudaFreeArray(array));
    printf("textures: passed\n");
}
