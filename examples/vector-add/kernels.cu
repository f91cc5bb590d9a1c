// Each thread adds one element. The grid is rounded up to whole blocks, so the last threads may have no element.
extern "C" __global__ void vector_add(int *sum, const int *a, const int *b, int count) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < count) {
        sum[index] = a[index] + b[index];
    }
}
