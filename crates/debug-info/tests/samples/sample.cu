// What the tests of debug information compile: nvcc and clang made the PTX files beside it (README.md).
struct Pair { int a; float b; short c[3]; };
enum Kind { Small, Large = 7 };
struct Bits { unsigned low : 3; int high : 5; };
typedef const float *Input;
__constant__ int table[4] = {1, 2, 3, 4};
__device__ Pair pairs[8];

__device__ __noinline__ int foo(int i, int j) { return i + j; }

__device__ inline int scaled(int value, int by) {
    int product = value * by;
    return product + table[by & 3];
}

template <typename T> __global__ void smooth(T *out, Input in, int n) {
    __shared__ T tile[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? in[i] : T(0);
    __syncthreads();
    T sum = 0;
    for (int k = -1; k <= 1; ++k) {
        int at = (int)threadIdx.x + k;
        if (at >= 0 && at < (int)blockDim.x) sum += tile[at];
    }
    Pair pair = {i, (float)sum, {1, 2, 3}};
    Kind kind = i > 3 ? Large : Small;
    Bits bits = {5u, -2};
    pairs[i & 7] = pair;
    if (i < n) out[i] = sum + (T)scaled(foo(i, (int)kind), 2) + (T)bits.high;
}
template __global__ void smooth<float>(float *, Input, int);

__global__ void test(int *p) { *p = foo(1, 2); }
