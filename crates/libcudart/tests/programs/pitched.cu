// Rows with gaps between them: allocation, copies and fills in two and three dimensions.
#include "check.h"

__global__ void number(cudaPitchedPtr memory, cudaExtent extent) {
    int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
    char *slice = static_cast<char *>(memory.ptr) + z * memory.pitch * extent.height;
    reinterpret_cast<int *>(slice + y * memory.pitch)[x] += x + 10 * y + 100 * z;
}

int main() {
    const int width = 7, height = 5, depth = 3;
    float *rows;
    size_t pitch;
    CALL(cudaMallocPitch(&rows, &pitch, width * sizeof(float), height));
    CLAIM(pitch >= width * sizeof(float) && pitch % 32 == 0);
    float in[height][width], out[height][width];
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) in[y][x] = y + x / 8.0f;
    size_t row = width * sizeof(float);
    CALL(cudaMemset2D(rows, pitch, 0xff, row, height));
    CALL(cudaMemcpy2D(rows, pitch, in, row, row, height, cudaMemcpyHostToDevice));
    CALL(cudaMemcpy2DAsync(out, row, rows, pitch, row, height, cudaMemcpyDeviceToHost, 0));
    CALL(cudaDeviceSynchronize());
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) CLAIM(out[y][x] == in[y][x]);
    CLAIM(cudaMemcpy2D(rows, pitch, in, row - 1, row, height, cudaMemcpyHostToDevice) == cudaErrorInvalidPitchValue);
    CLAIM(cudaGetLastError() == cudaErrorInvalidPitchValue);

    cudaExtent extent = make_cudaExtent(width * sizeof(int), height, depth);
    cudaPitchedPtr memory;
    CALL(cudaMalloc3D(&memory, extent));
    CLAIM(memory.xsize == extent.width && memory.ysize == height);
    CALL(cudaMemset3D(memory, 0, extent));
    number<<<depth, dim3(width, height)>>>(memory, extent);
    int box[depth][height][width];
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = memory;
    copy.dstPtr = make_cudaPitchedPtr(box, width * sizeof(int), width, height);
    copy.extent = extent;
    copy.kind = cudaMemcpyDeviceToHost;
    CALL(cudaMemcpy3D(&copy));
    for (int z = 0; z < depth; z++)
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) CLAIM(box[z][y][x] == x + 10 * y + 100 * z);
    // A part of it.
    int part[2][2][3] = {};
    copy.srcPos = make_cudaPos(2 * sizeof(int), 1, 1);
    copy.dstPtr = make_cudaPitchedPtr(part, 3 * sizeof(int), 3, 2);
    copy.extent = make_cudaExtent(3 * sizeof(int), 2, 2);
    CALL(cudaMemcpy3D(&copy));
    CLAIM(part[0][0][0] == 112 && part[1][1][2] == 224);
    printf("pitched: passed\n");
}
