/* Virtual memory: addresses, memory and access by themselves; memory that two processes share. */
#define _GNU_SOURCE
#include "memory.h"
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static CUfunction step_;

static CUresult step(CUdeviceptr at) {
    unsigned k = 1, spin = 1;
    void *params[] = {&at, &k, &spin};
    OK(cuLaunchKernel(step_, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    return cuCtxSynchronize();
}

/* Sends an open file to another process, or takes one. */
static int pass(int socket, int file, int send) {
    char byte = 0, space[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
    struct cmsghdr *control = CMSG_FIRSTHDR(&message);
    control->cmsg_level = SOL_SOCKET, control->cmsg_type = SCM_RIGHTS, control->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(control), &file, sizeof file);
    TRUE((send ? sendmsg(socket, &message, 0) : recvmsg(socket, &message, 0)) == 1);
    memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof file);
    return file;
}

/* The other process: doubles the word that it finds and adds one. */
static int other(int socket) {
    CUmodule module;
    uint64_t memory;
    CUdeviceptr at;
    begin();
    OK(cuModuleLoadData(&module, PTX));
    OK(cuModuleGetFunction(&step_, module, "step"));
    int file = pass(socket, -1, 0);
    OK(cuMemImportFromShareableHandle(&memory, (void *)(intptr_t)file, 1));
    OK(cuMemAddressReserve(&at, UNIT, 0, 0, 0));
    OK(cuMemMap(at, UNIT, 0, memory, 0));
    OK(cuMemSetAccess(at, UNIT, &USABLE, 1));
    OK(step(at + 64));
    return 0;
}

/* What is said of a pointer into mapped memory, as on an H200: its range are the reserved addresses. */
static void pointers(CUdeviceptr start, size_t bytes, CUdeviceptr reserved, size_t all) {
    enum { MEMORY_TYPE = 2, DEVICE_POINTER, HOST_POINTER, ORDINAL = 9, START = 11, SIZE, MAPPED, ACCESS = 16, BLOCK_SIZE = 18, BLOCK };
    int type = 0, ordinal = 7, mapped = 0, access = 0;
    CUdeviceptr address = 0, host = 0, first = 0;
    size_t size = 0;
    OK(cuPointerGetAttribute(&type, MEMORY_TYPE, start + 8));
    OK(cuPointerGetAttribute(&address, DEVICE_POINTER, start + 8));
    EXPECT(1, cuPointerGetAttribute(&host, HOST_POINTER, start + 8));
    OK(cuPointerGetAttribute(&ordinal, ORDINAL, start + 8));
    OK(cuPointerGetAttribute(&first, START, start + 8));
    OK(cuPointerGetAttribute(&size, SIZE, start + 8));
    OK(cuPointerGetAttribute(&mapped, MAPPED, start + 8));
    OK(cuPointerGetAttribute(&access, ACCESS, start + 8));
    TRUE(type == 2 && address == start + 8 && ordinal == 0 && first == reserved && size == all);
    TRUE(mapped == 1 && access == 3);
    OK(cuPointerGetAttribute(&first, BLOCK, start + 8));
    OK(cuPointerGetAttribute(&size, BLOCK_SIZE, start + 8));
    TRUE(first == start && size == bytes);

    int which[] = {MEMORY_TYPE, START};
    void *values[] = {&type, &first};
    type = 0, first = 0;
    OK(cuPointerGetAttributes(2, which, values, start + 8));
    TRUE(type == 2 && first == reserved);
}

int main(void) {
    int sockets[2];
    TRUE(!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
    pid_t child = fork();
    if (child == 0) return other(sockets[1]);

    CUmodule module;
    CUdeviceptr range;
    uint64_t a, b, again, flags = 9;
    size_t unit = 0, before, after, total;
    begin();
    OK(cuModuleLoadData(&module, PTX));
    OK(cuModuleGetFunction(&step_, module, "step"));
    OK(cuMemGetAllocationGranularity(&unit, &ON_DEVICE, 0));
    TRUE(unit == UNIT);
    OK(cuMemAddressReserve(&range, 4 * UNIT, 0, 0, 0));
    TRUE(range % UNIT == 0);
    EXPECT(1, cuMemAddressReserve(&range, UNIT + 1, 0, 0, 0));
    EXPECT(1, cuMemAddressReserve(&range, UNIT, 3, 0, 0));
    OK(cuMemGetInfo_v2(&before, &total));
    EXPECT(1, cuMemCreate(&a, UNIT / 2, &ON_DEVICE, 0));
    EXPECT(2, cuMemCreate(&a, (size_t)1 << 50, &ON_DEVICE, 0));
    OK(cuMemCreate(&a, UNIT, &ON_DEVICE, 0));
    OK(cuMemCreate(&b, UNIT, &SHARED, 0));
    OK(cuMemGetInfo_v2(&after, &total));
    TRUE(before - after == 2 * UNIT);

    /* The same memory at two addresses; another one between them. */
    OK(cuMemMap(range, UNIT, 0, a, 0));
    OK(cuMemMap(range + UNIT, UNIT, 0, b, 0));
    OK(cuMemMap(range + 2 * UNIT, UNIT, 0, a, 0));
    EXPECT(1, cuMemMap(range, UNIT, 0, b, 0));
    EXPECT(1, cuMemMap(range + 4 * UNIT, UNIT, 0, b, 0));
    EXPECT(1, cuMemsetD8_v2(range, 1, 4));
    OK(cuMemGetAccess(&flags, &USABLE.location, range));
    TRUE(flags == 0);
    EXPECT(1, cuMemSetAccess(range, 4 * UNIT, &USABLE, 1));
    OK(cuMemSetAccess(range, 3 * UNIT, &USABLE, 1));
    OK(cuMemGetAccess(&flags, &USABLE.location, range + UNIT + 5));
    TRUE(flags == 3);
    pointers(range + UNIT, UNIT, range, 4 * UNIT);
    OK(cuMemsetD8_v2(range, 0, 3 * UNIT));
    OK(step(range + 8));
    unsigned value = 0;
    OK(cuMemcpyDtoH_v2(&value, range + 2 * UNIT + 8, 4));
    TRUE(value == 1);
    /* One fill and one copy over the border of two mappings. */
    unsigned char bytes[8] = {0};
    OK(cuMemsetD8_v2(range + UNIT - 4, 7, 8));
    OK(cuMemcpyDtoH_v2(bytes, range + UNIT - 4, 8));
    TRUE(bytes[0] == 7 && bytes[7] == 7);
    OK(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(range + UNIT + 4)));
    TRUE(again == b);
    OK(cuMemRelease(b));

    /* Another process works on it. */
    int file = -1, status = 1;
    EXPECT(1, cuMemExportToShareableHandle(&file, a, 1, 0));
    OK(cuMemExportToShareableHandle(&file, b, 1, 0));
    OK(cuMemsetD32_v2(range + UNIT + 64, 20, 1));
    OK(cuCtxSynchronize());
    pass(sockets[0], file, 1);
    TRUE(waitpid(child, &status, 0) == child && status == 0);
    OK(cuMemcpyDtoH_v2(&value, range + UNIT + 64, 4));
    TRUE(value == 41);

    /* Mappings keep memory whose handle is gone. */
    OK(cuMemRelease(a));
    EXPECT(1, cuMemRelease(a));
    EXPECT(1, cuMemAddressFree(range, 4 * UNIT));
    EXPECT(1, cuMemUnmap(range, UNIT / 2));
    OK(cuMemUnmap(range + 2 * UNIT, UNIT));
    OK(cuMemcpyDtoH_v2(&value, range + 8, 4));
    TRUE(value == 1);
    OK(cuMemSetAccess(range, UNIT, &CLOSED, 1));
    EXPECT(1, cuMemcpyDtoH_v2(&value, range + 8, 4));
    OK(cuMemUnmap(range, 2 * UNIT));
    OK(cuMemRelease(b));
    OK(cuMemGetInfo_v2(&after, &total));
    TRUE(before == after);
    OK(cuMemAddressFree(range, 4 * UNIT));
    EXPECT(1, cuIpcGetMemHandle(bytes, range));

    /* A kernel that uses what is no longer mapped faults. */
    EXPECT(700, step(range + 8));
    puts("virtual: passed");
    return 0;
}
