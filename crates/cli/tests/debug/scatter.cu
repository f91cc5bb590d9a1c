// A wrong index: 15 should be 16, so that two threads write the same element.
__global__ void scatter(int *out, const int *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int at = i * 5 % 15;
    if (i < n) {
        int value = in[i];
        out[at] = value;
    }
}
