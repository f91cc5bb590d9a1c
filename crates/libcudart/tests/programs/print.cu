// printf on the device: formats, strings, order within a thread.
#include "check.h"

__global__ void speak(const char *, double value) {
    if (threadIdx.x == 1) {
        printf("block %d of %d: %s %5.2f %08x\n", blockIdx.x, gridDim.x, "said", value, 0xbeef);
        printf("%c%c %lld%%\n", 'o', 'k', -1234567890123LL);
    }
}

int main() {
    speak<<<1, 32>>>("", 2.5);
    CALL(cudaDeviceSynchronize());
}
