/* Without a driver every function that needs one says so, and those that need none work. */
#include "compiled.h"

int cudaDriverGetVersion(int *version);
const char *cudaGetErrorName(int error);

int main(void) {
    int count, version = 1;
    void *pointer;
    CLAIM(cudaGetDeviceCount(&count) == 35);
    CLAIM(cudaMalloc(&pointer, 4) == 35 && cudaGetLastError() == 35);
    CALL(cudaDriverGetVersion(&version));
    CLAIM(version == 0);
    CALL(cudaRuntimeGetVersion(&version));
    CLAIM(version == VERSION);
    CLAIM(strcmp(cudaGetErrorName(35), "cudaErrorInsufficientDriver") == 0);
    CLAIM(strcmp(cudaGetErrorString(35), "CUDA driver version is insufficient for CUDA runtime version") == 0);
    printf("no_driver: passed\n");
    return 0;
}
