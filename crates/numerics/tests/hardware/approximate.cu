// Records what a GPU computes for the approximate functions. Needs a GPU and nvcc:
//
//     nvcc -O2 -arch=sm_90 approximate.cu -o approximate
//     ./approximate fingerprints | gzip -9n > approximate.gz   for tests/fingerprints.rs and `cargo xtask fingerprints`
//     ./approximate ranges DIR                                 for `cargo xtask tables DIR`
//
// fingerprints.rs describes the fingerprints, xtask/src/tables.rs the ranges.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

static void check(cudaError_t code) {
    if (code != cudaSuccess) {
        fprintf(stderr, "%s\n", cudaGetErrorString(code));
        exit(1);
    }
}

__device__ uint64_t mix(uint64_t v) {
    v += 0x9e3779b97f4a7c15;
    v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9;
    v = (v ^ v >> 27) * 0x94d049bb133111eb;
    return v ^ v >> 31;
}

// One struct an instruction: `at` gives its result for an index, `hash` what is summed up.
#define SINGLE(NAME, PTX)                                                                   \
    struct NAME {                                                                           \
        static __device__ uint32_t at(uint32_t x) {                                         \
            float y;                                                                        \
            asm volatile(PTX " %0, %1;" : "=f"(y) : "f"(__uint_as_float(x)));               \
            return __float_as_uint(y);                                                      \
        }                                                                                   \
        static __device__ uint64_t hash(uint32_t i) { return (uint64_t)i << 32 | at(i); }   \
    };
#define HALF(NAME, PTX)                                                                     \
    struct NAME {                                                                           \
        static __device__ uint64_t hash(uint32_t i) {                                       \
            uint16_t y;                                                                     \
            asm volatile(PTX " %0, %1;" : "=h"(y) : "h"((uint16_t)i));                      \
            return (uint64_t)i << 32 | y;                                                   \
        }                                                                                   \
    };
#define UPPER_WORD(NAME, PTX)                                                               \
    struct NAME {                                                                           \
        static __device__ uint64_t hash(uint32_t i) {                                       \
            double y;                                                                       \
            asm volatile(PTX " %0, %1;" : "=d"(y) : "d"(__hiloint2double(i, 0)));           \
            return (uint64_t)i << 32 | (uint32_t)(__double2hiint(y) ^ __double2loint(y));   \
        }                                                                                   \
    };
#define QUOTIENT(NAME, PTX)                                                                 \
    struct NAME {                                                                           \
        static __device__ uint64_t hash(uint32_t i) {                                       \
            uint64_t bits = mix(i);                                                         \
            uint32_t a = bits, b = bits >> 32;                                              \
            uint32_t exponent = ((a >> 23 & 255) + (b >> 23 & 31) - 16) & 255;              \
            if (i & 1) b = (b & 0x807fffff) | exponent << 23;                               \
            float y;                                                                        \
            asm volatile(PTX " %0, %1, %2;" : "=f"(y) : "f"(__uint_as_float(a)), "f"(__uint_as_float(b))); \
            return (uint64_t)i << 32 | __float_as_uint(y);                                  \
        }                                                                                   \
    };

SINGLE(Rcp, "rcp.approx.f32") SINGLE(RcpFtz, "rcp.approx.ftz.f32")
SINGLE(Sqrt, "sqrt.approx.f32") SINGLE(SqrtFtz, "sqrt.approx.ftz.f32")
SINGLE(Rsqrt, "rsqrt.approx.f32") SINGLE(RsqrtFtz, "rsqrt.approx.ftz.f32")
SINGLE(Sin, "sin.approx.f32") SINGLE(SinFtz, "sin.approx.ftz.f32")
SINGLE(Cos, "cos.approx.f32") SINGLE(CosFtz, "cos.approx.ftz.f32")
SINGLE(Lg2, "lg2.approx.f32") SINGLE(Lg2Ftz, "lg2.approx.ftz.f32")
SINGLE(Ex2, "ex2.approx.f32") SINGLE(Ex2Ftz, "ex2.approx.ftz.f32")
SINGLE(Tanh, "tanh.approx.f32")
SINGLE(RcpRn, "rcp.rn.f32") SINGLE(SqrtRn, "sqrt.rn.f32") SINGLE(RcpRz, "rcp.rz.ftz.f32") SINGLE(SqrtRp, "sqrt.rp.f32")
UPPER_WORD(Rcp64, "rcp.approx.ftz.f64") UPPER_WORD(Rsqrt64, "rsqrt.approx.ftz.f64")
QUOTIENT(Div, "div.approx.f32") QUOTIENT(DivFtz, "div.approx.ftz.f32")
QUOTIENT(DivFull, "div.full.f32") QUOTIENT(DivFullFtz, "div.full.ftz.f32")
HALF(TanhF16, "tanh.approx.f16") HALF(TanhBf16, "tanh.approx.bf16")
HALF(Ex2F16, "ex2.approx.f16") HALF(Ex2Bf16, "ex2.approx.ftz.bf16")

struct RsqrtF64 {
    static __device__ uint64_t hash(uint32_t i) {
        uint64_t bits = mix(i);
        double y;
        asm volatile("rsqrt.approx.f64 %0, %1;" : "=d"(y) : "d"(__longlong_as_double(i & 7 ? bits & ~0ull >> 1 : bits)));
        return mix(i) ^ (uint64_t)__double_as_longlong(y);
    }
};

// A warp sums up 1024 indices, the least chunk, before it adds to memory.
template <class F> __global__ void sum(unsigned long long *chunks, uint64_t n, int chunk_bits) {
    uint64_t warps = (uint64_t)gridDim.x * blockDim.x / 32;
    uint64_t warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    for (uint64_t first = warp * 1024; first < n; first += warps * 1024) {
        uint64_t part = 0;
        for (int k = threadIdx.x % 32; k < 1024; k += 32) part += mix(F::hash(first + k));
        for (int lanes = 16; lanes; lanes /= 2) part += __shfl_down_sync(~0u, part, lanes);
        if (threadIdx.x % 32 == 0) atomicAdd(&chunks[first >> chunk_bits], (unsigned long long)part);
    }
}

template <class F> void line(const char *name, int bits, int chunk_bits) {
    uint64_t *device;
    std::vector<uint64_t> chunks(1ull << (bits - chunk_bits));
    check(cudaMalloc(&device, 8 * chunks.size()));
    check(cudaMemset(device, 0, 8 * chunks.size()));
    sum<F><<<4096, 256>>>((unsigned long long *)device, 1ull << bits, chunk_bits);
    check(cudaMemcpy(chunks.data(), device, 8 * chunks.size(), cudaMemcpyDeviceToHost));
    check(cudaFree(device));
    printf("%s %d", name, chunk_bits);
    for (uint64_t chunk : chunks) printf(" %016llx", (unsigned long long)chunk);
    printf("\n");
}

static void fingerprints() {
    line<Rcp>("rcp.approx.f32", 32, 22), line<RcpFtz>("rcp.approx.ftz.f32", 32, 22);
    line<Sqrt>("sqrt.approx.f32", 32, 22), line<SqrtFtz>("sqrt.approx.ftz.f32", 32, 22);
    line<Rsqrt>("rsqrt.approx.f32", 32, 22), line<RsqrtFtz>("rsqrt.approx.ftz.f32", 32, 22);
    line<Sin>("sin.approx.f32", 32, 22), line<SinFtz>("sin.approx.ftz.f32", 32, 22);
    line<Cos>("cos.approx.f32", 32, 22), line<CosFtz>("cos.approx.ftz.f32", 32, 22);
    line<Lg2>("lg2.approx.f32", 32, 22), line<Lg2Ftz>("lg2.approx.ftz.f32", 32, 22);
    line<Ex2>("ex2.approx.f32", 32, 22), line<Ex2Ftz>("ex2.approx.ftz.f32", 32, 22);
    line<Tanh>("tanh.approx.f32", 32, 22);
    line<RcpRn>("rcp.rn.f32", 32, 22), line<SqrtRn>("sqrt.rn.f32", 32, 22);
    line<RcpRz>("rcp.rz.ftz.f32", 32, 22), line<SqrtRp>("sqrt.rp.f32", 32, 22);
    line<Rcp64>("rcp.approx.ftz.f64", 32, 22), line<Rsqrt64>("rsqrt.approx.ftz.f64", 32, 22);
    line<RsqrtF64>("rsqrt.approx.f64", 26, 20);
    line<Div>("div.approx.f32", 28, 20), line<DivFtz>("div.approx.ftz.f32", 28, 20);
    line<DivFull>("div.full.f32", 28, 20), line<DivFullFtz>("div.full.ftz.f32", 28, 20);
    line<TanhF16>("tanh.approx.f16", 16, 10), line<TanhBf16>("tanh.approx.bf16", 16, 10);
    line<Ex2F16>("ex2.approx.f16", 16, 10), line<Ex2Bf16>("ex2.approx.ftz.bf16", 16, 10);
}

template <class F> __global__ void results(uint32_t *out, uint32_t first, uint32_t n) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = F::at(first + i);
}

// The sine of every 2^-25 of a turn in a quarter turn: of an angle that the instruction's multiplication takes there.
__global__ void quarter_turn(uint32_t *out) {
    uint32_t argument = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t near = __float_as_uint((float)((argument + 0.5) / (1 << 25) * 6.283185307179586));
    for (uint32_t x = near - 4; x != near + 5; x++) {
        float turns = __fmul_rz(__uint_as_float(x), __uint_as_float(0x3e22f983));
        if ((uint32_t)(turns * (1 << 25)) == argument) out[argument] = SinFtz::at(x);
    }
}

static void save(const std::string &folder, const char *name, const uint32_t *device, size_t n) {
    std::vector<uint32_t> host(n);
    check(cudaMemcpy(host.data(), device, 4 * n, cudaMemcpyDeviceToHost));
    FILE *file = fopen((folder + "/" + name + ".u32").c_str(), "wb");
    if (!file || fwrite(host.data(), 4, n, file) != n || fclose(file) != 0) {
        perror(name);
        exit(1);
    }
}

template <class F> void range(const std::string &folder, const char *name, uint32_t *device, uint32_t first, uint32_t n) {
    results<F><<<n / 256, 256>>>(device, first, n);
    save(folder, name, device, n);
}

static void ranges(const std::string &folder) {
    const uint32_t binade = 1 << 23;
    uint32_t *device;
    check(cudaMalloc(&device, (size_t)4 * 11 * binade));
    range<RcpFtz>(folder, "rcp", device, 0x3f800000, binade);
    range<RsqrtFtz>(folder, "rsqrt", device, 0x3f800000, 2 * binade);
    range<SqrtFtz>(folder, "sqrt", device, 0x3f800000, 2 * binade);
    range<Lg2Ftz>(folder, "lg2", device, 0x3f000000, 2 * binade);
    range<Ex2Ftz>(folder, "ex2", device, 0x3f800000, binade);
    range<Tanh>(folder, "tanh", device, 0x3b800000, 11 * binade);
    quarter_turn<<<binade / 256, 256>>>(device);
    save(folder, "sin", device, binade);
}

int main(int n, char **arguments) {
    if (n == 2 && !strcmp(arguments[1], "fingerprints")) return fingerprints(), 0;
    if (n == 3 && !strcmp(arguments[1], "ranges")) return ranges(arguments[2]), 0;
    fprintf(stderr, "usage: approximate fingerprints | approximate ranges DIR\n");
    return 2;
}
