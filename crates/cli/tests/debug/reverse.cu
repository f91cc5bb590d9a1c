// A missing barrier: a thread reads what a thread of another warp may not have written yet.
__global__ void reverse(int *data) {
    __shared__ int tile[64];
    int i = threadIdx.x;
    tile[i] = data[i];
    int other = tile[63 - i];
    data[i] = other;
}
