// Addresses and contents: bounds, alignment, memory that nobody has written, memory that was given back.

// A grid that is larger than the array. 1: the guard is missing; 2: it lets the first one behind the end pass.
//: run guard<0> grid=3 block=32
//: in words u32[80]
//: out words u32[80] = 1*80
//: twin guard<1>
//: fault illegal-address
//: report out-of-bounds at=STORE
//: twin guard<2>
//: fault illegal-address
//: report out-of-bounds at=STORE
template <int bug> __global__ void guard(u32 *words) {
    const u32 i = blockIdx.x * 32 + threadIdx.x;
    if (bug == 1 || i < (bug == 2 ? 81 : 80)) plain_store(&words[i], 1); // <- STORE
}
KERNELS_3(guard)

// Neighbours on both sides. 1: the first thread reads before the array; 2: the last one behind it.
//: run sides<0> grid=1 block=64
//: in from u32[64] = 1*64
//: in to u32[64]
//: out to u32[64] = 1 2*62 1
//: twin sides<1>
//: fault illegal-address
//: report out-of-bounds at=LEFT
//: twin sides<2>
//: fault illegal-address
//: report out-of-bounds at=RIGHT
template <int bug> __global__ void sides(const u32 *from, u32 *to) {
    const int i = threadIdx.x;
    const u32 left = bug == 1 || i > 0 ? plain_load(&from[i - 1]) : 0; // <- LEFT
    const u32 right = bug == 2 || i < 63 ? plain_load(&from[i + 1]) : 0; // <- RIGHT
    to[i] = left + right;
}
KERNELS_3(sides)

// Four words at once. 1: from an address that is a multiple of four bytes only; 2: the last four reach over the end.
//: run vectors<0> grid=1 block=16
//: in from u32[66]
//: in to u32[64]
//: twin vectors<1>
//: fault misaligned-address
//: report misaligned at=LOAD
//: twin vectors<2>
//: fault illegal-address
//: report out-of-bounds at=LOAD
template <int bug> __global__ void vectors(const u32 *from, u32 *to) {
    const u32 *at = from + threadIdx.x * 4 + (bug == 1 ? 1 : bug == 2 ? 4 : 0);
    u32 a, b, c, d;
    asm volatile("ld.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(at) : "memory"); // <- LOAD
    to[threadIdx.x] = a + b + c + d;
}
KERNELS_3(vectors)

// An index that comes from memory. 1: it is not checked, and one is too large; 2: it is checked as a signed number, and one is
// negative.
//: run gathered<0> grid=1 block=32
//: in index u32[32] = 3*30 40 0xffffffff
//: in from u32[32] = 7*32
//: in to u32[32]
//: out to u32[32] = 7*30 0 0
//: twin gathered<1>
//: fault illegal-address
//: report out-of-bounds at=LOAD
//: twin gathered<2>
//: fault illegal-address
//: report out-of-bounds at=LOAD
template <int bug> __global__ void gathered(const u32 *index, const u32 *from, u32 *to) {
    const int i = index[threadIdx.x];
    const bool inside = bug == 1 ? i < 41 && i >= 0 : bug == 2 ? i < 32 : (u32)i < 32;
    to[threadIdx.x] = inside ? plain_load(&from[i]) : 0; // <- LOAD
}
KERNELS_3(gathered)

// Shared memory. 1: some words are never written; 2: they are written by the branch that nobody takes; 3: only zeroed for half of the CTA.
//: run unwritten<0> grid=1 block=64
//: in values u32[64] = 1*64
//: in out u32[64]
//: out out u32[64] = 1*64
//: twin unwritten<1>
//: report unwritten at=READ
//: twin unwritten<2>
//: report unwritten at=READ
//: twin unwritten<3>
//: report unwritten at=READ
template <int bug> __global__ void unwritten(const u32 *values, u32 *out) {
    __shared__ u32 words[65];
    const u32 t = threadIdx.x;
    if (bug == 0 || bug == 1 || (bug == 2 && values[t] == 0) || (bug == 3 && t < 32)) plain_store(&words[t], 1);
    __syncthreads();
    out[t] = plain_load(&words[bug == 1 ? t + 1 : t]); // <- READ
}
KERNELS_4(unwritten)

// Dynamic shared memory of 256 bytes. 1: used as 260.
//: run dynamic<0> grid=1 block=65 shared=260
//: in out u32[65]
//: run dynamic<1> grid=1 block=65 shared=256
//: in out u32[65]
//: fault illegal-address
//: report out-of-bounds at=STORE
extern __shared__ u32 dynamic_words[];
template <int bug> __global__ void dynamic(u32 *out) {
    plain_store(&dynamic_words[threadIdx.x], 5); // <- STORE
    out[threadIdx.x] = plain_load(&dynamic_words[threadIdx.x]);
}
KERNELS_2(dynamic)

// A fresh allocation. 1: read where nobody has written; 2: a structure of which a byte is left out; 3: counted in without being zeroed.
//: run fresh_memory<0> grid=1 block=32
//: in words u32[64]
//: fresh 0 256
//: in out u32[32]
//: twin fresh_memory<1>
//: report unwritten at=READ
//: twin fresh_memory<2>
//: report unwritten at=READ
//: twin fresh_memory<3>
//: report unwritten at=COUNT
template <int bug> __global__ void fresh_memory(u32 *words, u32 *out) {
    const u32 t = threadIdx.x;
    if (bug == 2) {
        volatile u8 *bytes = (u8 *)&words[t];
        bytes[0] = 1;
        bytes[1] = 2;
        bytes[3] = 4;
    } else plain_store(&words[t], t);
    if (bug == 3) add(&words[32 + t], 1u); // <- COUNT
    out[t] = plain_load(&words[bug == 1 ? t + 32 : t]); // <- READ
}
KERNELS_4(fresh_memory)

// One buffer used for two things in turn. 1: without a barrier between them; 2: the second use reads words that only the first wrote,
// as if they were its own.
//: run reused<0> grid=1 block=64
//: in out u32[64]
//: out out u32[64] = for i: 63 - i + 2 * i
//: twin reused<1>
//: report race missing=barrier at=SECOND|FIRST_READ
//: twin reused<2>
//: report race missing=barrier at=SECOND_READ|SECOND
template <int bug> __global__ void reused(u32 *out) {
    __shared__ u32 words[64];
    const u32 t = threadIdx.x;
    plain_store(&words[t], t);
    __syncthreads();
    const u32 first = plain_load(&words[63 - t]); // <- FIRST_READ
    if (bug != 1) __syncthreads();
    plain_store(&words[bug == 2 ? 63 - t : t], 2 * t); // <- SECOND
    out[t] = first + plain_load(&words[t]); // <- SECOND_READ
}
KERNELS_3(reused)

// Threads write structures of 12 bytes side by side. 1: each writes 16; 2: each writes its neighbour's last byte.
//: run structures<0> grid=1 block=64
//: in bytes u32[200]
//: twin structures<1>
//: report race at=STORE|FOURTH
//: may race
//: twin structures<2>
//: report race at=BYTE|STORE
//: may race
template <int bug> __global__ void structures(u32 *bytes) {
    u32 *mine = bytes + threadIdx.x * 3;
    plain_store(&mine[0], 1); // <- STORE
    plain_store(&mine[1], 2);
    plain_store(&mine[2], 3);
    if (bug == 1) plain_store(&mine[3], 4); // <- FOURTH
    if (bug == 2) ((volatile u8 *)mine)[12] = 9; // <- BYTE
}
KERNELS_3(structures)

// Two-dimensional tiles with a pitch. 1: the pitch is taken for the width.
//: run pitch<0> grid=1 block=8,8
//: in words u32[80]
//: twin pitch<1>
//: report race at=STORE,STORE
template <int bug> __global__ void pitch(u32 *words) {
    plain_store(&words[threadIdx.y * (bug == 1 ? 7 : 10) + threadIdx.x], 1); // <- STORE
}
KERNELS_2(pitch)
