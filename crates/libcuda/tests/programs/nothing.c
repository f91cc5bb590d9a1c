/* Copies and fills of no bytes: whatever the addresses are, they succeed, as on an H200. */
#include "driver.h"

CUresult cuMemcpy(CUdeviceptr, CUdeviceptr, size_t);
CUresult cuMemcpyAsync(CUdeviceptr, CUdeviceptr, size_t, CUstream);
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr, CUdeviceptr, size_t, CUstream);
CUresult cuMemcpyPeer(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t);
CUresult cuMemcpyPeerAsync(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream);
CUresult cuMemsetD8Async(CUdeviceptr, unsigned char, size_t, CUstream);
CUresult cuMemsetD2D8_v2(CUdeviceptr, size_t, unsigned char, size_t, size_t);

int main(void) {
    CUdevice device;
    CUcontext context;
    CUstream stream;
    CUdeviceptr memory;
    char host[16];
    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
    OK(cuStreamCreate(&stream, 0));
    OK(cuMemAlloc_v2(&memory, sizeof host));
    CUdeviceptr places[] = {0, memory, 0x1000, memory + 8192};
    for (int i = 0; i < 4; i++) {
        CUdeviceptr at = places[i];
        OK(cuMemcpyHtoD_v2(at, host, 0));
        OK(cuMemcpyHtoD_v2(at, NULL, 0));
        OK(cuMemcpyHtoDAsync_v2(at, host, 0, stream));
        OK(cuMemcpyHtoDAsync_v2(at, NULL, 0, NULL));
        OK(cuMemcpyDtoH_v2(host, at, 0));
        OK(cuMemcpyDtoH_v2(NULL, at, 0));
        OK(cuMemcpyDtoHAsync_v2(host, at, 0, stream));
        OK(cuMemcpyDtoHAsync_v2(NULL, at, 0, NULL));
        OK(cuMemsetD8_v2(at, 1, 0));
        OK(cuMemsetD8Async(at, 1, 0, stream));
        OK(cuMemsetD2D8_v2(at, 16, 1, 4, 0));
        OK(cuMemsetD2D8_v2(at, 16, 1, 0, 4));
        for (int j = 0; j < 2; j++) {
            OK(cuMemcpyDtoD_v2(at, places[j], 0));
            OK(cuMemcpyDtoDAsync_v2(places[j], at, 0, stream));
            OK(cuMemcpy(at, places[j], 0));
            OK(cuMemcpyAsync(places[j], at, 0, stream));
            OK(cuMemcpyPeer(at, context, places[j], context, 0));
            OK(cuMemcpyPeerAsync(places[j], context, at, context, 0, stream));
        }
    }
    OK(cuCtxSynchronize());
    puts("nothing: passed");
    return 0;
}
