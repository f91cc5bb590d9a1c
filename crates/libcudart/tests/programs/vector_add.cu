// The sum of two vectors: allocation, copies, a launch.
#include "check.h"
#include <vector>

__global__ void add(int *sum, const int *a, const int *b, int count) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < count) sum[i] = a[i] + b[i];
}

int main() {
    const int count = 1 << 18;
    std::vector<int> a(count), b(count), sum(count);
    for (int i = 0; i < count; i++) a[i] = i * 7, b[i] = 1000 - i;
    int *da, *db, *dsum;
    size_t bytes = count * sizeof(int);
    CALL(cudaMalloc(&da, bytes));
    CALL(cudaMalloc(&db, bytes));
    CALL(cudaMalloc(&dsum, bytes));
    CALL(cudaMemcpy(da, a.data(), bytes, cudaMemcpyHostToDevice));
    CALL(cudaMemcpy(db, b.data(), bytes, cudaMemcpyHostToDevice));
    add<<<(count + 511) / 512, 512>>>(dsum, da, db, count);
    CALL(cudaGetLastError());
    CALL(cudaMemcpy(sum.data(), dsum, bytes, cudaMemcpyDeviceToHost));
    for (int i = 0; i < count; i++) CLAIM(sum[i] == i * 6 + 1000);
    CALL(cudaFree(da));
    CALL(cudaFree(db));
    CALL(cudaFree(dsum));
    printf("vector_add: passed\n");
}
