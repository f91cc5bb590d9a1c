//: run dynamic grid=2 block=64 shared=256
//: out d s32[128] = for i: i / 64 * 64 + 63 - i % 64
//: run half_sums block=32
//: out d f32[32] = for i: 3 * i + 1
//: run double_math block=32
//: out d f64[32] = for i: 2 * i + 3
//: run divisions block=40
//: in a s64[40] = for i: (i - 20) * 123456789012345
//: in b s64[40] = for i: i % 2 == 0 ? i + 1 : 0 - i * 1000003
//: out q s64[40] = for i: (i - 20) * 123456789012345 / (i % 2 == 0 ? i + 1 : 0 - i * 1000003)
//: out r s64[40] = for i: (i - 20) * 123456789012345 % (i % 2 == 0 ? i + 1 : 0 - i * 1000003)
//: run tiles block=64
//: out d s32[64] = for i: (i / 8 * 8) * 8 + 28
//: run prints block=2
//: printf-line "thread 0: 0.500000 zero"
//: printf-line "thread 1: 1.500000 one"
//: run virtual_calls block=32
//: out d s32[32] = for i: i % 2 == 0 ? i * i : 4 * i
//: run fails block=40
//: fault assert thread=39,0,0 "assertion `threadIdx.x < 39` failed"
//: run allocates block=32
//: out d s32[32] = for i: i * (i + 1) / 2

// Things of the language and its library that nvcc turns into calls, tables and inline code of its own.
#include <cassert>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
#include <cuda_fp16.h>

extern "C" __global__ void dynamic(int *d) {
    extern __shared__ int s[];
    s[threadIdx.x] = blockIdx.x * 64 + threadIdx.x;
    __syncthreads();
    d[blockIdx.x * 64 + threadIdx.x] = s[63 - threadIdx.x];
}

extern "C" __global__ void half_sums(float *d) {
    __half x = __int2half_rn(threadIdx.x);
    __half2 pair = __halves2half2(x, __hadd(x, x));
    __half2 sum = __hadd2(pair, __floats2half2_rn(1.0f, 0.0f));
    d[threadIdx.x] = __low2float(sum) + __high2float(sum);
}

extern "C" __global__ void double_math(double *d) {
    double x = threadIdx.x;
    d[threadIdx.x] = sqrt(x * x) + floor(x + 0.5) + fabs(-3.0) + fma(x, 0.0, 0.0);
}

extern "C" __global__ void divisions(const long long *a, const long long *b, long long *q, long long *r) {
    q[threadIdx.x] = a[threadIdx.x] / b[threadIdx.x];
    r[threadIdx.x] = a[threadIdx.x] % b[threadIdx.x];
}

extern "C" __global__ void tiles(int *d) {
    namespace cg = cooperative_groups;
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    d[threadIdx.x] = cg::reduce(tile, int(threadIdx.x), cg::plus<int>());
}

extern "C" __global__ void prints() {
    printf("thread %d: %f %s\n", threadIdx.x, threadIdx.x + 0.5, threadIdx.x == 0 ? "zero" : "one");
}

struct Shape {
    __device__ virtual int area(int side) const = 0;
};
struct Square : Shape {
    __device__ int area(int side) const override { return side * side; }
};
struct Frame : Shape {
    __device__ int area(int side) const override { return 4 * side; }
};
extern "C" __global__ void virtual_calls(int *d) {
    Square square;
    Frame frame;
    const Shape *shape = threadIdx.x % 2 == 0 ? static_cast<const Shape *>(&square) : &frame;
    d[threadIdx.x] = shape->area(threadIdx.x);
}

extern "C" __global__ void fails() { assert(threadIdx.x < 39); }

extern "C" __global__ void allocates(int *d) {
    int n = threadIdx.x + 1;
    int *list = new int[n];
    for (int i = 0; i < n; i++) list[i] = i;
    int sum = 0;
    for (int i = 0; i < n; i++) sum += list[i];
    delete[] list;
    d[threadIdx.x] = sum;
}
