// CUB's reductions and scans: whole, by segments, by key, with indices.
#include <cub/cub.cuh>

template <typename T>
void all(T* in, T* out, int* keys, int* offsets, int count, cudaStream_t stream)
{
    size_t bytes = 0;
    cub::DeviceReduce::Sum(nullptr, bytes, in, out, count, stream);
    cub::DeviceReduce::Max(nullptr, bytes, in, out, count, stream);
    cub::DeviceScan::InclusiveSum(nullptr, bytes, in, out, count, stream);
    cub::DeviceScan::ExclusiveSum(nullptr, bytes, in, out, count, stream);
    cub::DeviceScan::InclusiveSumByKey(nullptr, bytes, keys, in, out, count, cuda::std::equal_to<>{}, stream);
    cub::DeviceSegmentedReduce::Sum(nullptr, bytes, in, out, 8, offsets, offsets + 1, stream);
    cub::DeviceReduce::ReduceByKey(nullptr, bytes, keys, keys, in, out, offsets, cuda::std::plus<>{}, count, stream);
}

void scans(void* data, int* keys, int* offsets, int count, cudaStream_t stream)
{
    all(static_cast<int*>(data), static_cast<int*>(data), keys, offsets, count, stream);
    all(static_cast<float*>(data), static_cast<float*>(data), keys, offsets, count, stream);
    all(static_cast<double*>(data), static_cast<double*>(data), keys, offsets, count, stream);
    size_t bytes = 0;
    cub::DeviceReduce::ArgMin(nullptr, bytes, static_cast<float*>(data), static_cast<float*>(data), keys, count, stream);
}
