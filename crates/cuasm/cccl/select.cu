// CUB's histograms, selections, partitions, run lengths, merges and copies.
#include <cub/cub.cuh>

struct Odd {
    __host__ __device__ bool operator()(int value) const { return value & 1; }
};

void selections(int* in, int* out, int* number, unsigned char* pixels, float* samples, int count, cudaStream_t stream)
{
    size_t bytes = 0;
    cub::DeviceHistogram::HistogramEven(nullptr, bytes, samples, out, 65, 0.0f, 1.0f, count, stream);
    int* histograms[3] = {out, out, out};
    int levels[3] = {257, 257, 257};
    int lower[3] = {0, 0, 0};
    int upper[3] = {256, 256, 256};
    cub::DeviceHistogram::MultiHistogramEven<4, 3>(nullptr, bytes, pixels, histograms, levels, lower, upper, count,
                                                   stream);
    cub::DeviceSelect::If(nullptr, bytes, in, out, number, count, Odd{}, stream);
    cub::DeviceSelect::Flagged(nullptr, bytes, in, pixels, out, number, count, stream);
    cub::DeviceSelect::Unique(nullptr, bytes, in, out, number, count, stream);
    cub::DevicePartition::If(nullptr, bytes, in, out, number, count, Odd{}, stream);
    cub::DeviceRunLengthEncode::Encode(nullptr, bytes, in, out, out, number, count, stream);
    cub::DeviceMerge::MergeKeys(nullptr, bytes, in, count, out, count, out, cuda::std::less<>{}, stream);
    cub::DeviceAdjacentDifference::SubtractLeftCopy(nullptr, bytes, in, out, count, cuda::std::minus<>{}, stream);
    cub::DeviceTransform::Transform(in, out, count, Odd{}, stream);
    cub::DeviceFor::Bulk(count, [in] __device__(int at) { in[at] += at; }, stream);
}
