// Properties of the device, its limits, and the driver's entry points.
#include "check.h"
#include <cstring>
#include <cuda.h>

int main() {
    int count, device, version, runtime;
    CALL(cudaGetDeviceCount(&count));
    CALL(cudaGetDevice(&device));
    CALL(cudaDriverGetVersion(&version));
    CALL(cudaRuntimeGetVersion(&runtime));
    CLAIM(count == 1 && device == 0 && version >= runtime && runtime == CUDART_VERSION);
    cudaDeviceProp properties;
    memset(&properties, 0xa5, sizeof properties);
    CALL(cudaGetDeviceProperties(&properties, 0));
    printf("%s %d.%d\n", properties.name, properties.major, properties.minor);
    printf("%d multiprocessors, warps of %d\n", properties.multiProcessorCount, properties.warpSize);
    printf("blocks of %d threads, %d x %d x %d\n", properties.maxThreadsPerBlock, properties.maxThreadsDim[0],
           properties.maxThreadsDim[1], properties.maxThreadsDim[2]);
    printf("%zu bytes shared, %zu by choice\n", properties.sharedMemPerBlock, properties.sharedMemPerBlockOptin);
    CLAIM(properties.clusterLaunch == 1 && properties.cooperativeLaunch == 1 && properties.unifiedAddressing == 1);
    int value;
    CALL(cudaDeviceGetAttribute(&value, cudaDevAttrMaxRegistersPerBlock, 0));
    CLAIM(value == properties.regsPerBlock && value == 65536);
    size_t free, total;
    CALL(cudaMemGetInfo(&free, &total));
    CLAIM(free <= total && total == properties.totalGlobalMem);
    char bus[32];
    CALL(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
    CALL(cudaDeviceGetByPCIBusId(&device, bus));
    CLAIM(device == 0);

    // The stream of the one API is the stream of the other.
    cudaDriverEntryPointQueryResult found;
    void *entry = nullptr;
    CALL(cudaGetDriverEntryPointByVersion("cuStreamGetId", &entry, 12000, cudaEnableDefault, &found));
    CLAIM(found == cudaDriverEntryPointSuccess && entry != nullptr);
    cudaStream_t stream;
    CALL(cudaStreamCreate(&stream));
    unsigned long long id, same;
    CALL(cudaStreamGetId(stream, &id));
    CLAIM(reinterpret_cast<CUresult (*)(CUstream, unsigned long long *)>(entry)(stream, &same) == CUDA_SUCCESS);
    CLAIM(id == same);
    CALL(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &entry, 12000, cudaEnableDefault, &found));
    CLAIM(found == cudaDriverEntryPointSymbolNotFound && entry == nullptr);
    printf("devices: passed\n");
}
