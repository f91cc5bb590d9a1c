// The kernels behind CUB's device-wide algorithms. Their host side chooses and launches them; here they are only made,
// read, checked and printed.
#include <cub/cub.cuh>

cudaError_t algorithms(void *storage, size_t &bytes, const unsigned *in, unsigned *out, const float *weights, float *sum, int count) {
    cub::DeviceReduce::Sum(storage, bytes, weights, sum, count);
    cub::DeviceReduce::Max(storage, bytes, in, out, count);
    cub::DeviceScan::ExclusiveSum(storage, bytes, in, out, count);
    cub::DeviceScan::InclusiveSum(storage, bytes, weights, sum, count);
    cub::DeviceRadixSort::SortKeys(storage, bytes, in, out, count);
    cub::DeviceRadixSort::SortPairsDescending(storage, bytes, in, out, weights, sum, count);
    cub::DeviceSelect::Unique(storage, bytes, in, out, out + count, count);
    cub::DeviceHistogram::HistogramEven(storage, bytes, in, reinterpret_cast<int *>(out), 17, 0u, 256u, count);
    return cub::DeviceRunLengthEncode::Encode(storage, bytes, in, out, out + count, out + 2 * count, count);
}
