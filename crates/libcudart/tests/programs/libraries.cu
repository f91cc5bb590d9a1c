// CUB: reduce, scan, sort, select.
#include "check.h"
#include <cub/cub.cuh>
#include <vector>
#include <algorithm>

template <typename F> void run(F work) {
    size_t bytes = 0;
    void *space = nullptr;
    CALL(work(space, bytes));
    CALL(cudaMalloc(&space, bytes));
    CALL(work(space, bytes));
    CALL(cudaDeviceSynchronize());
    CALL(cudaFree(space));
}

struct Even {
    __host__ __device__ bool operator()(unsigned x) const { return x % 2 == 0; }
};

int main() {
    const int count = 5000;
    std::vector<unsigned> values(count);
    unsigned state = 1;
    for (unsigned &value : values) value = (state = state * 1664525u + 1013904223u) >> 8;
    unsigned *in, *out, *found;
    CALL(cudaMallocManaged(&in, count * sizeof(unsigned)));
    CALL(cudaMallocManaged(&out, count * sizeof(unsigned)));
    CALL(cudaMallocManaged(&found, sizeof(unsigned)));
    std::copy(values.begin(), values.end(), in);

    run([&](void *space, size_t &bytes) { return cub::DeviceReduce::Sum(space, bytes, in, found, count); });
    unsigned sum = 0;
    for (unsigned value : values) sum += value;
    CLAIM(*found == sum);

    run([&](void *space, size_t &bytes) { return cub::DeviceScan::ExclusiveSum(space, bytes, in, out, count); });
    unsigned before = 0;
    for (int i = 0; i < count; before += values[i++]) CLAIM(out[i] == before);

    run([&](void *space, size_t &bytes) { return cub::DeviceRadixSort::SortKeys(space, bytes, in, out, count); });
    std::vector<unsigned> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    for (int i = 0; i < count; i++) CLAIM(out[i] == sorted[i]);

    run([&](void *space, size_t &bytes) { return cub::DeviceSelect::If(space, bytes, in, out, found, count, Even()); });
    unsigned kept = 0;
    for (unsigned value : values)
        if (value % 2 == 0) CLAIM(out[kept++] == value);
    CLAIM(*found == kept);
    printf("libraries: passed\n");
}
