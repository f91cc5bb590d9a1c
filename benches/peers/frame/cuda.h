// What the kernels use of CUDA C++, so that clang compiles them without NVIDIA's headers. nvcc knows all of it.
#pragma once

#ifndef __NVCC__
#include "../../../examples/include/device.h"

#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))

NODEBUG __device__ inline int atomicAdd(int *place, int value) { return __nvvm_atom_add_gen_i(place, value); }
NODEBUG __device__ inline float rsqrtf(float x) { return __nvvm_rsqrt_approx_f(x); }
NODEBUG __device__ inline float sqrtf(float x) { return __nvvm_sqrt_rn_f(x); }
NODEBUG __device__ inline float fabsf(float x) { return __builtin_fabsf(x); }
NODEBUG __device__ inline double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }

// By way of the hardware's approximations.
NODEBUG __device__ inline float __logf(float x) { return __nvvm_lg2_approx_f(x) * 0.693147181f; }
NODEBUG __device__ inline float __sinf(float x) { return __nvvm_sin_approx_f(x); }
NODEBUG __device__ inline float __cosf(float x) { return __nvvm_cos_approx_f(x); }

NODEBUG __device__ inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
    return __nvvm_prmt(low, high, selector);
}
NODEBUG __device__ inline int __dp4a(int a, int b, int sum) {
    asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(a), "r"(b));
    return sum;
}
#endif
