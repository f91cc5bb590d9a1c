// nvcc: -rdc=true
// Kernels that launch kernels: a quicksort whose every step launches the next two, each into a stream of its own.
#include "check.h"
#include <algorithm>
#include <vector>

constexpr int COUNT = 5000;
// Below this a thread sorts alone.
constexpr int SMALL = 24;

__device__ int steps;

__device__ void insertion_sort(int *data, int count) {
    for (int i = 1; i < count; i++) {
        int value = data[i], at = i;
        for (; at > 0 && data[at - 1] > value; at--) data[at] = data[at - 1];
        data[at] = value;
    }
}

// Sorts what is between `first` and `last`, both included.
__global__ void sort(int *data, int first, int last) {
    atomicAdd(&steps, 1);
    if (last - first < SMALL) {
        insertion_sort(data + first, last - first + 1);
        return;
    }
    int pivot = data[first + (last - first) / 2], low = first, high = last;
    while (low <= high) {
        while (data[low] < pivot) low++;
        while (data[high] > pivot) high--;
        if (low <= high) {
            int value = data[low];
            data[low++] = data[high];
            data[high--] = value;
        }
    }
    if (first < high) {
        cudaStream_t left;
        cudaStreamCreateWithFlags(&left, cudaStreamNonBlocking);
        sort<<<1, 1, 0, left>>>(data, first, high);
        cudaStreamDestroy(left);
    }
    if (low < last) {
        cudaStream_t right;
        cudaStreamCreateWithFlags(&right, cudaStreamNonBlocking);
        sort<<<1, 1, 0, right>>>(data, low, last);
        cudaStreamDestroy(right);
    }
    if (cudaGetLastError() != cudaSuccess) __trap();
}

// What comes behind in the host's stream comes behind all that the kernel before has led to.
__global__ void check(const int *data, int *disorder) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 < COUNT && data[i] > data[i + 1]) atomicAdd(disorder, 1);
}

int main() {
    std::vector<int> numbers(COUNT), sorted(COUNT);
    unsigned state = 12345;
    for (int &number : numbers) number = (state = state * 1664525 + 1013904223) >> 12;
    int *data, *disorder, count = -1;
    CALL(cudaMalloc(&data, COUNT * sizeof(int)));
    CALL(cudaMalloc(&disorder, sizeof(int)));
    CALL(cudaMemset(disorder, 0, sizeof(int)));
    CALL(cudaMemcpy(data, numbers.data(), COUNT * sizeof(int), cudaMemcpyHostToDevice));
    sort<<<1, 1>>>(data, 0, COUNT - 1);
    CALL(cudaGetLastError());
    check<<<(COUNT + 255) / 256, 256>>>(data, disorder);
    CALL(cudaDeviceSynchronize());
    CALL(cudaMemcpy(&count, disorder, sizeof count, cudaMemcpyDeviceToHost));
    CLAIM(count == 0);
    CALL(cudaMemcpy(sorted.data(), data, COUNT * sizeof(int), cudaMemcpyDeviceToHost));
    std::sort(numbers.begin(), numbers.end());
    CLAIM(sorted == numbers);
    CALL(cudaMemcpyFromSymbol(&count, steps, sizeof count));
    CLAIM(count > COUNT / SMALL);
    printf("quicksort: passed\n");
}
