/* Memory and events of one process in another. The two are forked apart before either has a driver. */
#define _GNU_SOURCE
#include "driver.h"
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    char bytes[64];
} Handle;
CUresult cuIpcGetMemHandle(Handle *, CUdeviceptr);
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *, Handle, unsigned);
CUresult cuIpcCloseMemHandle(CUdeviceptr);
CUresult cuIpcGetEventHandle(Handle *, CUevent);
CUresult cuIpcOpenEventHandle(CUevent *, Handle);

typedef struct {
    Handle memory, event;
} Message;

enum { INTERPROCESS = 6, WORDS = 3000, SPIN = 3000000 };

static CUfunction step_;

static void step(CUdeviceptr at, unsigned k, unsigned spin, CUstream stream) {
    void *params[] = {&at, &k, &spin};
    OK(cuLaunchKernel(step_, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

static CUstream prepare(void) {
    CUmodule module;
    CUstream stream;
    begin();
    OK(cuModuleLoadData(&module, PTX));
    OK(cuModuleGetFunction(&step_, module, "step"));
    OK(cuStreamCreate(&stream, 1));
    return stream;
}

static int importer(int from, int to) {
    CUstream stream = prepare();
    Message message;
    CUdeviceptr words, again;
    CUevent event;
    unsigned found[2];
    TRUE(read(from, &message, sizeof message) == sizeof message);
    EXPECT(1, cuIpcOpenMemHandle_v2(&words, message.memory, 0));
    EXPECT(1, cuIpcOpenMemHandle_v2(&words, message.event, 1));
    OK(cuIpcOpenMemHandle_v2(&words, message.memory, 1));
    OK(cuIpcOpenMemHandle_v2(&again, message.memory, 1));
    TRUE(words == again);
    EXPECT(1, cuMemFree_v2(words));
    OK(cuIpcOpenEventHandle(&event, message.event));
    /* The other process's kernel comes first, though it takes long. */
    OK(cuStreamWaitEvent(stream, event, 0));
    step(words, 5, 0, stream);
    OK(cuStreamSynchronize(stream));
    OK(cuEventQuery(event));
    OK(cuMemcpyDtoH_v2(found, words, 8));
    TRUE(found[0] == 2 * (2 * 7 + 1) + 5 && found[1] == 8);
    OK(cuMemcpyDtoH_v2(found, words + 4 * (WORDS - 1), 4));
    TRUE(found[0] == 7 + WORDS - 1);
    /* And back: the event is recorded here, and waited for there. */
    step(words, 1, SPIN, stream);
    OK(cuEventRecord(event, stream));
    TRUE(write(to, "x", 1) == 1);
    TRUE(read(from, found, 1) == 1);
    OK(cuIpcCloseMemHandle(again));
    OK(cuMemcpyDtoH_v2(found, words, 4));
    TRUE(found[0] == 77);
    OK(cuIpcCloseMemHandle(words));
    EXPECT(1, cuIpcCloseMemHandle(words));
    EXPECT(1, cuMemcpyDtoH_v2(found, words, 4));
    return 0;
}

int main(void) {
    int there[2], back[2];
    TRUE(!pipe(there) && !pipe(back));
    pid_t child = fork();
    if (child == 0) _exit(importer(there[0], back[1]));
    CUstream stream = prepare();
    CUdeviceptr words, opened;
    CUevent event, timed;
    Message message;
    static unsigned values[WORDS];
    for (unsigned i = 0; i < WORDS; i++) values[i] = 7 + i;
    OK(cuMemAlloc_v2(&words, sizeof values));
    OK(cuMemcpyHtoD_v2(words, values, sizeof values));
    EXPECT(1, cuEventCreate(&event, 4));
    OK(cuEventCreate(&event, INTERPROCESS));
    OK(cuEventCreate(&timed, 0));
    EXPECT(400, cuIpcGetEventHandle(&message.event, timed));
    EXPECT(1, cuIpcGetMemHandle(&message.memory, 4096));
    OK(cuIpcGetMemHandle(&message.memory, words));
    OK(cuIpcGetEventHandle(&message.event, event));
    EXPECT(201, cuIpcOpenMemHandle_v2(&opened, message.memory, 1));
    OK(cuEventQuery(event));
    step(words, 1, SPIN, stream);
    OK(cuEventRecord(event, stream));
    TRUE(write(there[1], &message, sizeof message) == sizeof message);
    char done;
    TRUE(read(back[0], &done, 1) == 1);
    OK(cuEventSynchronize(event));
    unsigned found;
    OK(cuMemcpyDtoH_v2(&found, words, 4));
    TRUE(found == 2 * (2 * (2 * 7 + 1) + 5) + 1);
    OK(cuMemsetD32_v2(words, 77, 1));
    OK(cuCtxSynchronize());
    /* What it frees, the other one keeps. */
    OK(cuMemFree_v2(words));
    TRUE(write(there[1], "x", 1) == 1);
    int status = 1;
    TRUE(waitpid(child, &status, 0) == child && status == 0);
    puts("ipc: passed");
    return 0;
}
