// Memory and variables that host and device share under one address.
#include "check.h"

__managed__ int counters[4] = {1, 2, 3, 4};
__managed__ float scale = 0.5f;

__global__ void twice(int *values, int count) {
    int i = threadIdx.x;
    if (i < count) values[i] *= 2;
}

__global__ void scaled(float *out) {
    out[threadIdx.x] = counters[threadIdx.x] * scale;
    counters[threadIdx.x] += 100;
}

int main() {
    CLAIM(counters[2] == 3);
    int *values;
    CALL(cudaMallocManaged(&values, 64 * sizeof(int)));
    for (int i = 0; i < 64; i++) values[i] = i;
    CALL(cudaMemPrefetchAsync(values, 64 * sizeof(int), {cudaMemLocationTypeDevice, 0}, 0, 0));
    twice<<<1, 64>>>(values, 64);
    CALL(cudaDeviceSynchronize());
    for (int i = 0; i < 64; i++) CLAIM(values[i] == 2 * i);

    scale = 2.0f;
    float *out;
    CALL(cudaMallocManaged(&out, 4 * sizeof(float)));
    scaled<<<1, 4>>>(out);
    CALL(cudaDeviceSynchronize());
    for (int i = 0; i < 4; i++) CLAIM(out[i] == 2.0f * (i + 1) && counters[i] == i + 101);
    CALL(cudaFree(values));
    CALL(cudaFree(out));
    printf("managed: passed\n");
}
