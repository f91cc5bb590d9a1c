// CUB's device-wide algorithms, judged by the host's own.
#include "check.h"
#include <algorithm>
#include <cub/cub.cuh>
#include <numeric>
#include <vector>

template <class T> struct Buffer {
    T *data = nullptr;
    size_t count;
    explicit Buffer(size_t count) : count(count) { CALL(cudaMalloc(&data, count * sizeof(T))); }
    explicit Buffer(const std::vector<T> &from) : Buffer(from.size()) {
        CALL(cudaMemcpy(data, from.data(), count * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~Buffer() { cudaFree(data); }
    std::vector<T> back(size_t some) const {
        std::vector<T> to(some);
        CALL(cudaMemcpy(to.data(), data, some * sizeof(T), cudaMemcpyDeviceToHost));
        return to;
    }
};

// Each algorithm is asked twice: for the bytes that it needs, and to work.
template <class Algorithm> void run(Algorithm algorithm) {
    size_t bytes = 0;
    CALL(algorithm(nullptr, bytes));
    Buffer<char> storage(bytes);
    CALL(algorithm(storage.data, bytes));
    CALL(cudaDeviceSynchronize());
}

int main() {
    const int count = 20011;
    std::vector<unsigned> keys(count), values(count), runs(count);
    unsigned state = 12345;
    for (int i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        keys[i] = state >> 4;
        values[i] = i;
        runs[i] = (i / 7) % 50;
    }
    Buffer<unsigned> in(keys), payload(values), repeated(runs), out(count), other(count), lengths(count);
    Buffer<int> number(1), bins(16);

    run([&](void *s, size_t &b) { return cub::DeviceReduce::Sum(s, b, in.data, out.data, count); });
    CLAIM(out.back(1)[0] == std::accumulate(keys.begin(), keys.end(), 0u));
    run([&](void *s, size_t &b) { return cub::DeviceReduce::Max(s, b, in.data, out.data, count); });
    CLAIM(out.back(1)[0] == *std::max_element(keys.begin(), keys.end()));

    run([&](void *s, size_t &b) { return cub::DeviceScan::InclusiveSum(s, b, in.data, out.data, count); });
    std::vector<unsigned> sums(count);
    std::partial_sum(keys.begin(), keys.end(), sums.begin());
    CLAIM(out.back(count) == sums);

    run([&](void *s, size_t &b) {
        return cub::DeviceRadixSort::SortPairs(s, b, in.data, out.data, payload.data, other.data, count);
    });
    std::vector<unsigned> order(values);
    std::stable_sort(order.begin(), order.end(), [&](unsigned a, unsigned b) { return keys[a] < keys[b]; });
    CLAIM(other.back(count) == order);

    run([&](void *s, size_t &b) {
        return cub::DeviceSelect::Unique(s, b, repeated.data, out.data, number.data, count);
    });
    std::vector<unsigned> unique(runs);
    unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
    CLAIM(number.back(1)[0] == (int)unique.size() && out.back(unique.size()) == unique);

    run([&](void *s, size_t &b) {
        return cub::DeviceRunLengthEncode::Encode(s, b, repeated.data, out.data, lengths.data, number.data, count);
    });
    CLAIM(number.back(1)[0] == (int)unique.size() && out.back(unique.size()) == unique);
    CLAIM(lengths.back(1)[0] == 7u);

    run([&](void *s, size_t &b) {
        return cub::DeviceHistogram::HistogramEven(s, b, repeated.data, bins.data, 17, 0u, 64u, count);
    });
    std::vector<int> counts(16);
    for (unsigned value : runs) counts[value / 4]++;
    CLAIM(bins.back(16) == counts);
    puts("cub_device: passed");
    return 0;
}
