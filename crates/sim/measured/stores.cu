// Which stores become one write to the L2: two of a warp that each fill a half of the same sectors, by the lines that they are in, the cycles
// between them, the stores to other lines between them, how many such pairs follow one another and how many warps do the same; and
// eight stores of all CTAs of the device, to sectors of their own or all to the same.
//
//     nvcc -std=c++17 -O3 -arch=sm_90 stores.cu -o stores
//     ncu --cache-control none --csv --page raw --metrics lts__t_sectors_srcunit_tex_op_write.sum,sm__cycles_elapsed.max ./stores
//
// It prints a line for each launch, with the cycles from before the first store to behind the last one in one warp (with nothing between
// two stores 21: what the clock takes); the profiler counts the sectors and cycles of each.

#include <cstdio>
#include <cstdlib>
#include <utility>

constexpr int CTAS = 16;
constexpr int ROUNDS = 16;
/// Floats of a sector, and of what a warp has for a round.
constexpr int SECTOR = 8;
constexpr int OWN = 1 << 16;

__device__ void until(unsigned cycle) {
    while (static_cast<int>(clock() - cycle) < 0) {
    }
}

// The clocks of a GPC's SMs go together.
__device__ unsigned next_multiple(unsigned period) {
    unsigned now;
    do {
        now = clock();
    } while (now % period > period / 32);
    return now - now % period;
}

template <int OFFSET> __device__ __forceinline__ void store(float *to, unsigned value) {
    asm volatile("st.global.u32 [%0+%2], %1;" ::"l"(to), "r"(value), "n"(OFFSET) : "memory");
}

// Stores to lines 4 KiB apart, behind those of the pairs.
template <int... I> __device__ __forceinline__ void others(std::integer_sequence<int, I...>, float *to, unsigned value) {
    (store<(1 << 17) + 4096 * I>(to, value), ...);
}

template <int STEPS, int OTHERS, int OFFSET>
__device__ __forceinline__ void pair(float *half, float *other_half, unsigned value, unsigned &chain) {
    store<OFFSET>(half, value);
#pragma unroll
    for (int i = 0; i < STEPS; i++) {
        asm volatile("mad.lo.u32 %0, %0, %0, 12345;" : "+r"(chain));
    }
    others(std::make_integer_sequence<int, OTHERS>{}, half, value);
    store<OFFSET>(other_half, chain);
}

template <int STEPS, int OTHERS, int NEXT, int... I>
__device__ __forceinline__ void pairs(std::integer_sequence<int, I...>, float *half, float *other_half, unsigned value, unsigned &chain) {
    (pair<STEPS, OTHERS, NEXT * I>(half, other_half, value, chain), ...);
}

// Pairs of stores of four lanes each to sectors `stride` floats apart, a step of a chain being four cycles; a pair begins NEXT bytes behind
// the one before it.
template <int STEPS, int OTHERS, int PAIRS, int NEXT>
__global__ void __launch_bounds__(1024) halves(float *to, unsigned *distance, int sectors, int stride) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    if (lane / 4 >= sectors) {
        return;
    }
    const unsigned start = next_multiple(1 << 12) + 0x400;
    unsigned before = 0, behind = 0;
#pragma unroll 1
    for (int round = 0; round < ROUNDS; round++) {
        until(start + round * 6000);
        float *half = to + static_cast<size_t>((blockIdx.x * ROUNDS + round) * warps + warp) * OWN + lane / 4 * stride + lane % 4;
        float *other_half = half + SECTOR / 2;
        // Known before the clock is read.
        asm volatile("" : "+l"(other_half));
        unsigned chain = lane + round;
        asm volatile("mov.u32 %0, %%clock;" : "=r"(before)::"memory");
        pairs<STEPS, OTHERS, NEXT>(std::make_integer_sequence<int, PAIRS>{}, half, other_half, lane, chain);
        asm volatile("mov.u32 %0, %%clock;" : "=r"(behind)::"memory");
    }
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        *distance = behind - before;
    }
}

// Each thread writes the words of a sector one after the other, as often as told; CTAs so many floats apart.
__global__ void words(float *to, int apart, int times) {
    float *own = to + static_cast<size_t>(blockIdx.x) * apart + threadIdx.x * SECTOR;
    for (int time = 0; time < times; time++) {
#pragma unroll
        for (int word = 0; word < SECTOR; word++) {
            asm volatile("st.global.u32 [%0], %1;" ::"l"(own + word), "r"(time) : "memory");
        }
    }
}

void check(cudaError_t error) {
    if (error != cudaSuccess) {
        std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
        std::exit(1);
    }
}

float *data;
unsigned *told;

template <int STEPS, int OTHERS, int PAIRS, int NEXT> void launch(const char *probe, int warps, int sectors, int in_line) {
    const int stride = 4 / in_line * SECTOR;
    halves<STEPS, OTHERS, PAIRS, NEXT><<<CTAS, 32 * warps>>>(data, told, sectors, stride);
    unsigned distance;
    check(cudaMemcpy(&distance, told, sizeof distance, cudaMemcpyDeviceToHost));
    std::printf("%s,%d,%d,%d,%d,%d,%d,%u\n", probe, warps, sectors, in_line, STEPS, OTHERS, PAIRS, distance);
}

template <int... STEPS> void lines(std::integer_sequence<int, STEPS...>) {
    for (int in_line : {1, 2, 4}) {
        for (int sectors = in_line; sectors <= 8; sectors += in_line) {
            (launch<STEPS, 0, 1, 0>("lines", 1, sectors, in_line), ...);
        }
    }
}

template <int... OTHERS> void others(std::integer_sequence<int, OTHERS...>) {
    for (int warps : {1, 2, 3, 4, 8}) {
        for (int in_line : {1, 2, 4}) {
            (launch<0, OTHERS, 1, 0>("others", warps, 8, in_line), ...);
        }
    }
}

template <int PAIRS> void bursts() {
    for (int warps : {1, 2, 3, 4, 5, 6, 7, 8, 12, 16}) {
        launch<0, 0, PAIRS, 1024>("pairs", warps, 8, 1);
        launch<0, 0, PAIRS, 512>("pairs", warps, 8, 2);
        launch<0, 0, PAIRS, 256>("pairs", warps, 8, 4);
    }
}

int main() {
    check(cudaMalloc(&data, static_cast<size_t>(CTAS) * ROUNDS * 16 * OWN * 4));
    check(cudaMalloc(&told, sizeof *told));
    std::puts("probe,warps or CTAs,sectors,sectors in a line,steps,other stores,pairs or times,distance");
    lines(std::make_integer_sequence<int, 10>{});
    others(std::make_integer_sequence<int, 6>{});
    bursts<1>(), bursts<2>(), bursts<4>(), bursts<8>(), bursts<16>();
    for (int apart : {0, 512}) {
        for (int ctas : {132, 528}) {
            for (int times : {1, 8}) {
                words<<<ctas, 64>>>(data, apart, times);
                check(cudaDeviceSynchronize());
                std::printf("%s,%d,64,4,0,0,%d,0\n", apart == 0 ? "words of all" : "words of each", ctas, times);
            }
        }
    }
}
