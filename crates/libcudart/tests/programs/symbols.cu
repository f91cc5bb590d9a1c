// Variables of the device, by their shadows on the host.
#include "check.h"

__constant__ float coefficients[4];
__device__ int total = 5;
static __device__ int hidden[2] = {3, 4};

__global__ void use(float *out) {
    int i = threadIdx.x;
    out[i] = coefficients[i] * 2;
    if (i == 0) total += hidden[0] * hidden[1];
}

int main() {
    float values[4] = {1, 2, 4, 8}, got[4], *out;
    CALL(cudaMemcpyToSymbol(coefficients, values, sizeof values));
    float nine = 9;
    CALL(cudaMemcpyToSymbol(coefficients, &nine, sizeof nine, 2 * sizeof(float)));
    int six = 6;
    CALL(cudaMemcpyToSymbolAsync(hidden, &six, sizeof six, sizeof(int), cudaMemcpyHostToDevice, 0));
    CALL(cudaMalloc(&out, sizeof got));
    use<<<1, 4>>>(out);
    CALL(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    CLAIM(got[0] == 2 && got[1] == 4 && got[2] == 18 && got[3] == 16);
    int sum;
    CALL(cudaMemcpyFromSymbol(&sum, total, sizeof sum));
    CLAIM(sum == 5 + 3 * 6);
    size_t bytes;
    void *address;
    CALL(cudaGetSymbolSize(&bytes, coefficients));
    CALL(cudaGetSymbolAddress(&address, total));
    CLAIM(bytes == 16 && address != nullptr);
    CALL(cudaMemset(address, 0, sizeof(int)));
    CALL(cudaMemcpyFromSymbol(&sum, total, sizeof sum));
    CLAIM(sum == 0);
    CLAIM(cudaMemcpyToSymbol(total, values, 8) == cudaErrorInvalidValue);
    CLAIM(cudaGetSymbolSize(&bytes, reinterpret_cast<const void *>(&sum)) == cudaErrorInvalidSymbol);
    printf("symbols: passed\n");
}
