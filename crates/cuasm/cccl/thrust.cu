// Thrust's algorithms on device vectors.
#include <thrust/device_vector.h>
#include <thrust/adjacent_difference.h>
#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/gather.h>
#include <thrust/inner_product.h>
#include <thrust/merge.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/unique.h>

struct Square {
    __host__ __device__ float operator()(float x) const { return x * x; }
};

float algorithms(thrust::device_vector<float>& a, thrust::device_vector<float>& b, thrust::device_vector<int>& keys)
{
    thrust::sort(a.begin(), a.end());
    thrust::sort_by_key(keys.begin(), keys.end(), b.begin());
    thrust::stable_sort(a.begin(), a.end(), thrust::greater<float>());
    thrust::transform(a.begin(), a.end(), b.begin(), Square{});
    thrust::inclusive_scan(a.begin(), a.end(), b.begin());
    thrust::exclusive_scan_by_key(keys.begin(), keys.end(), a.begin(), b.begin());
    auto end = thrust::unique(keys.begin(), keys.end());
    thrust::merge(a.begin(), a.end(), b.begin(), b.end(), a.begin());
    thrust::set_intersection(a.begin(), a.end(), b.begin(), b.end(), a.begin());
    thrust::lower_bound(a.begin(), a.end(), b.begin(), b.end(), keys.begin());
    thrust::adjacent_difference(a.begin(), a.end(), b.begin());
    thrust::gather(keys.begin(), end, a.begin(), b.begin());
    return thrust::reduce(a.begin(), a.end(), 0.0f, thrust::plus<float>())
        + thrust::inner_product(a.begin(), a.end(), b.begin(), 0.0f);
}
