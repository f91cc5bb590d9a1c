/* What a thread can do that has no current context, with what others have made: as recorded on an H200. */
#include "driver.h"
#include <pthread.h>

CUresult cuStreamBeginCapture_v2(CUstream, int);
CUresult cuStreamEndCapture(CUstream, void **);
CUresult cuMemAllocAsync(CUdeviceptr *, size_t, CUstream);
CUresult cuMemsetD8Async(CUdeviceptr, unsigned char, size_t, CUstream);
CUresult cuMemcpyAsync(CUdeviceptr, CUdeviceptr, size_t, CUstream);

static CUfunction empty_;
static CUmodule module_, spare_;
static CUstream stream_;
static CUevent event_;
static CUdeviceptr memory_;
static void *host_;

static void *thread(void *unused) {
    CUdeviceptr more;
    CUevent another;
    float time = 1;
    int value;
    unsigned word = 0;
    OK(cuEventRecord(event_, stream_));
    OK(cuEventSynchronize(event_));
    OK(cuEventQuery(event_));
    OK(cuEventElapsedTime_v2(&time, event_, event_));
    TRUE(time == 0);
    OK(cuStreamSynchronize(stream_));
    OK(cuStreamQuery(stream_));
    OK(cuStreamWaitEvent(stream_, event_, 0));
    OK(cuLaunchKernel(empty_, 1, 1, 1, 1, 1, 1, 0, stream_, NULL, NULL));
    OK(cuMemsetD8Async(memory_, 1, 4, stream_));
    OK(cuMemcpyAsync(memory_ + 4, memory_, 4, stream_));
    OK(cuFuncGetAttribute(&value, 0, empty_));
    OK(cuFuncSetAttribute(empty_, 9, -1));
    OK(cuPointerGetAttribute(&value, 2, memory_));
    OK(cuMemAllocAsync(&more, 64, stream_));
    OK(cuStreamBeginCapture_v2(stream_, 0));
    OK(cuLaunchKernel(empty_, 1, 1, 1, 1, 1, 1, 0, stream_, NULL, NULL));
    OK(cuStreamEndCapture(stream_, NULL));

    EXPECT(201, cuEventRecord(event_, NULL));
    EXPECT(201, cuLaunchKernel(empty_, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    EXPECT(201, cuMemcpyHtoD_v2(memory_, &word, 4));
    EXPECT(201, cuEventCreate(&another, 0));

    OK(cuStreamDestroy_v2(stream_));
    OK(cuEventDestroy_v2(event_));
    OK(cuMemFreeHost(host_));
    OK(cuMemFree_v2(memory_));
    OK(cuModuleUnload(spare_));
    return unused;
}

int main(void) {
    pthread_t other;
    begin();
    OK(cuModuleLoadData(&module_, PTX));
    OK(cuModuleLoadData(&spare_, PTX));
    OK(cuModuleGetFunction(&empty_, module_, "empty"));
    OK(cuStreamCreate(&stream_, 0));
    OK(cuEventCreate(&event_, 0));
    OK(cuMemAlloc_v2(&memory_, 64));
    OK(cuMemAllocHost_v2(&host_, 64));
    pthread_create(&other, NULL, thread, NULL);
    pthread_join(other, NULL);
    EXPECT(1, cuMemFree_v2(memory_));
    EXPECT(400, cuModuleUnload(spare_));
    puts("no_context: passed");
    return 0;
}
