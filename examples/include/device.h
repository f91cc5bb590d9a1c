// The little of CUDA C++ that the kernels of these examples use, spelled with clang's own builtins, so that clang alone
// compiles them: no CUDA toolkit is needed. Names and meanings are those of the CUDA C++ programming guide;
// __syncthreads() is a builtin already. Nothing here has line numbers of its own (NODEBUG): an instruction belongs to
// the line of the kernel that asked for it.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define NODEBUG __attribute__((nodebug))

// Special registers: a read of threadIdx.x becomes a read of %tid.x, and so on.
#define SPECIAL_REGISTER(name, ptx)                                                              \
    struct name##_register {                                                                     \
        NODEBUG __device__ static unsigned read_x() { return __nvvm_read_ptx_sreg_##ptx##_x(); } \
        NODEBUG __device__ static unsigned read_y() { return __nvvm_read_ptx_sreg_##ptx##_y(); } \
        NODEBUG __device__ static unsigned read_z() { return __nvvm_read_ptx_sreg_##ptx##_z(); } \
        __declspec(property(get = read_x)) unsigned x;                                           \
        __declspec(property(get = read_y)) unsigned y;                                           \
        __declspec(property(get = read_z)) unsigned z;                                           \
    };                                                                                           \
    extern const __device__ name##_register name;
SPECIAL_REGISTER(threadIdx, tid)
SPECIAL_REGISTER(blockIdx, ctaid)
SPECIAL_REGISTER(blockDim, ntid)
#undef SPECIAL_REGISTER

// The value held by the lane whose number differs in the bits of `lane_mask`; the lanes of `members` take part.
NODEBUG __device__ inline float __shfl_xor_sync(unsigned members, float value, int lane_mask) {
    return __nvvm_shfl_sync_bfly_f32(members, value, lane_mask, 31);
}

NODEBUG __device__ inline float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
NODEBUG __device__ inline float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }

// e to the x by way of the hardware's approximate power of two.
NODEBUG __device__ inline float __expf(float x) { return __nvvm_ex2_approx_f(x * 1.44269504f); }
