// CUB's device-wide sorts: radix (keys, pairs, descending, several key types), merge sort, segmented sort.
#include <cub/cub.cuh>

struct Less {
    template <typename T>
    __host__ __device__ bool operator()(T const& a, T const& b) const { return a < b; }
};

template <typename Key>
void radix(Key* in, Key* out, int* from, int* to, int count, cudaStream_t stream)
{
    size_t bytes = 0;
    cub::DeviceRadixSort::SortKeys(nullptr, bytes, in, out, count, 0, sizeof(Key) * 8, stream);
    cub::DeviceRadixSort::SortPairsDescending(nullptr, bytes, in, out, from, to, count, 0, sizeof(Key) * 8, stream);
}

void sorts(void* data, int* indices, int* offsets, int count, cudaStream_t stream)
{
    size_t bytes = 0;
    radix(static_cast<unsigned*>(data), static_cast<unsigned*>(data), indices, indices, count, stream);
    radix(static_cast<double*>(data), static_cast<double*>(data), indices, indices, count, stream);
    radix(static_cast<short*>(data), static_cast<short*>(data), indices, indices, count, stream);
    cub::DeviceMergeSort::SortPairs(nullptr, bytes, static_cast<long long*>(data), indices, count, Less{}, stream);
    cub::DeviceSegmentedSort::SortKeys(nullptr, bytes, static_cast<float*>(data), static_cast<float*>(data), count,
                                       8, offsets, offsets + 1, stream);
}
