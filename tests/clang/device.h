// What these tests use of CUDA C++ beyond the examples' header, spelled with clang's own builtins.
#pragma once
#include "../../examples/include/device.h"

#define __constant__ __attribute__((constant))
#define __noinline__ __attribute__((noinline))
#define FULL 0xffffffffu

typedef unsigned char u8;
typedef unsigned u32;
typedef unsigned long long u64;

struct gridDim_register {
    NODEBUG __device__ static unsigned read_x() { return __nvvm_read_ptx_sreg_nctaid_x(); }
    __declspec(property(get = read_x)) unsigned x;
};
extern const __device__ gridDim_register gridDim;

NODEBUG __device__ inline u32 global_thread() { return blockIdx.x * blockDim.x + threadIdx.x; }
NODEBUG __device__ inline int shuffle_down(int value, int by) { return __nvvm_shfl_sync_down_i32(FULL, value, by, 31); }
NODEBUG __device__ inline int shuffle_up(int value, int by) { return __nvvm_shfl_sync_up_i32(FULL, value, by, 0); }
NODEBUG __device__ inline u32 ballot(bool predicate) { return __nvvm_vote_ballot_sync(FULL, predicate); }
NODEBUG __device__ inline u32 atomic_add(u32 *cell, u32 by) { return __atomic_fetch_add(cell, by, __ATOMIC_RELAXED); }
NODEBUG __device__ inline u32 atomic_max(u32 *cell, u32 by) { return __atomic_fetch_max(cell, by, __ATOMIC_RELAXED); }
