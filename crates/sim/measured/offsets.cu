// Which reads become one request to the L2: SMs that ask at a distance of cycles which is the same for all of their lines.
//
//     nvcc -std=c++17 -O3 -arch=sm_90 offsets.cu -o offsets
//     ncu --cache-control none --csv --page raw --metrics lts__t_sectors_srcunit_tex_op_read.sum ./offsets
//
// It prints a line for each launch, with the distance that there was; the profiler counts the sectors of each.

#include <cstdio>
#include <cstdlib>

constexpr int LINES = 48;

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

// Lines of the L2 that SM 0 of the first GPC asks for, and the others which are chosen of those that got CTAs behind it, one after the other
// and `skew` cycles apart; the loop takes the same time for each line, and the first rounds bring its code.
__global__ void __launch_bounds__(32) reads(const float *lines, unsigned *begun, int second, int third, int skew) {
    extern __shared__ float whole_sm[];
    const int rank = blockIdx.x;
    if (rank != 0 && rank != second && rank != third) {
        return;
    }
    const int place = rank == 0 ? 0 : rank == second ? 1 : 2;
    const unsigned start = next_multiple(1 << 16) + 0x800 + skew * place;
    unsigned x = threadIdx.x;
    float sum = 0;
    for (int pass = 0; pass < 2; pass++) {
        until(start + pass * 30000);
        const unsigned now = clock();
        const float *from = lines + pass * (1 << 16) + threadIdx.x;
#pragma unroll 1
        for (int line = 0; line < (pass ? LINES : 2); line++) {
            const float value = __ldcg(from + line * 256);
#pragma unroll
            for (int i = 0; i < 180; i++) {
                x = x * 1664525u + 1013904223u;
            }
            sum += value;
        }
        if (pass && threadIdx.x == 0) {
            begun[place] = now;
        }
    }
    if (sum != 0 || x == 77777 || whole_sm == nullptr) {
        begun[3] = 1;
    }
}

void check(cudaError_t error) {
    if (error != cudaSuccess) {
        std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
        std::exit(1);
    }
}

float *data;
unsigned *told, host[4];

void tell() {
    check(cudaDeviceSynchronize());
    check(cudaMemcpy(host, told, sizeof host, cudaMemcpyDeviceToHost));
}

void read(int second, int third, int skew) {
    reads<<<132, 32, 200 << 10>>>(data, told, second, third, skew);
    tell();
    std::printf("reads,%d,%d,%d,%d,%d\n", second, third, skew, host[1] - host[0], third ? host[2] - host[0] : 0);
}

int main() {
    check(cudaMalloc(&data, 256 << 20));
    check(cudaMalloc(&told, sizeof host));
    check(cudaMemset(data, 0, 4 << 20));
    check(cudaFuncSetAttribute(reads, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
    std::puts("probe,second SM,third SM,skew,distance,distance of the third");
    for (int second : {1, 2, 5, 8, 12}) {
        for (int skew = 0; skew <= 140; skew += 5) {
            read(second, 0, skew);
        }
    }
    for (int skew = 0; skew <= 70; skew += 5) {
        read(2, 4, skew);
    }
}
