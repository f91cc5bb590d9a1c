/* A pool whose memory another process uses. The two are forked apart before either has a driver. */
#define _GNU_SOURCE
#include "memory.h"
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    unsigned char bytes[64];
} Exported;
CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *, void *, unsigned, uint64_t);
CUresult cuCtxPushCurrent_v2(CUcontext);
CUresult cuMemsetD32Async(CUdeviceptr, unsigned, size_t, CUstream);
CUresult cuMemPoolExportPointer(Exported *, CUdeviceptr);
CUresult cuMemPoolImportPointer(CUdeviceptr *, CUmemoryPool, Exported *);

enum { WORDS = 3000, POSIX_FILE = 1 };

static void send_file(int socket, int file) {
    char byte = 0, space[CMSG_SPACE(sizeof file)];
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof file);
    memcpy(CMSG_DATA(header), &file, sizeof file);
    TRUE(sendmsg(socket, &message, 0) == 1);
}

static int receive_file(int socket) {
    char byte, space[CMSG_SPACE(sizeof(int))];
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
    int file;
    TRUE(recvmsg(socket, &message, 0) == 1 && CMSG_FIRSTHDR(&message));
    memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof file);
    return file;
}

static void send_pool(int socket, CUmemoryPool pool) {
    int file;
    OK(cuMemPoolExportToShareableHandle(&file, pool, POSIX_FILE, 0));
    send_file(socket, file);
    close(file);
}

static void wait_for(void *open) {
    while (!*(atomic_bool *)open) sched_yield();
}

static int importer(int socket) {
    CUmemoryPool pool, wrong;
    CUdeviceptr words, again, other;
    Exported exported;
    unsigned found[2];
    uint64_t value;
    begin();
    int strange = receive_file(socket), file = receive_file(socket);
    EXPECT(1, cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)socket, POSIX_FILE, 0));
    OK(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)file, POSIX_FILE, 0));
    close(file);
    OK(cuMemPoolImportFromShareableHandle(&wrong, (void *)(intptr_t)strange, POSIX_FILE, 0));
    close(strange);
    EXPECT(1, cuMemPoolGetAttribute(pool, 5, &value));
    EXPECT(1, cuMemAllocFromPoolAsync(&other, 100, pool, NULL));
    EXPECT(1, cuMemPoolExportToShareableHandle(&file, pool, POSIX_FILE, 0));
    TRUE(read(socket, &exported, sizeof exported) == sizeof exported);
    EXPECT(1, cuMemPoolImportPointer(&words, wrong, &exported));
    OK(cuMemPoolDestroy(wrong));
    CUcontext context;
    OK(cuCtxPopCurrent_v2(&context));
    OK(cuMemPoolImportPointer(&words, pool, &exported));
    OK(cuCtxPushCurrent_v2(context));
    OK(cuMemPoolImportPointer(&again, pool, &exported));
    OK(cuMemcpyDtoH_v2(found, words + 4 * (WORDS - 2), 8));
    TRUE(found[0] == 5 && found[1] == 5);
    OK(cuMemsetD32_v2(words, 6, WORDS));
    OK(cuMemFreeAsync(words, NULL));
    OK(cuMemcpyDtoH_v2(found, again, 4));
    TRUE(found[0] == 6);
    /* Freed in one stream, while another one has work for it. */
    CUstream busy;
    atomic_bool open = false;
    OK(cuStreamCreate(&busy, 1));
    OK(cuLaunchHostFunc(busy, wait_for, &open));
    OK(cuMemsetD32Async(again, 7, WORDS, busy));
    OK(cuMemFreeAsync(again, NULL));
    OK(cuStreamSynchronize(NULL));
    open = true;
    OK(cuStreamDestroy_v2(busy));
    OK(cuCtxSynchronize());
    EXPECT(1, cuMemcpyDtoH_v2(found, again, 4));
    exported.bytes[0]++;
    EXPECT(1, cuMemPoolImportPointer(&words, pool, &exported));
    OK(cuMemPoolDestroy(pool));
    TRUE(write(socket, "x", 1) == 1);
    return 0;
}

static void exporter(int socket, unsigned place) {
    PoolProps props = {.alloc_type = 1, .handle_types = POSIX_FILE, .location = {place, 0}, .max_size = 2 * MIB};
    CUmemoryPool pool, strange;
    CUdeviceptr words;
    Exported exported;
    atomic_bool open = false;
    unsigned found = 0;
    char done;
    OK(cuMemPoolCreate(&strange, &props));
    OK(cuMemPoolCreate(&pool, &props));
    send_pool(socket, strange);
    send_pool(socket, pool);
    OK(cuMemAllocFromPoolAsync(&words, 4 * WORDS, pool, NULL));
    OK(cuMemPoolSetAccess(pool, &USABLE, 1));
    /* A pointer is exported while the stream is held up. */
    OK(cuLaunchHostFunc(NULL, wait_for, &open));
    OK(cuMemsetD32Async(words, 5, WORDS, NULL));
    CUcontext none;
    OK(cuCtxPopCurrent_v2(&none));
    OK(cuMemPoolExportPointer(&exported, words));
    OK(cuCtxPushCurrent_v2(none));
    open = true;
    OK(cuStreamSynchronize(NULL));
    TRUE(write(socket, &exported, sizeof exported) == sizeof exported);
    TRUE(read(socket, &done, 1) == 1);
    OK(cuMemcpyDtoH_v2(&found, words + 4 * (WORDS - 1), 4));
    TRUE(found == 7);
    OK(cuMemFreeAsync(words, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemPoolDestroy(pool));
    OK(cuMemPoolDestroy(strange));
}

int main(void) {
    for (unsigned place = 1; place <= 2; place++) {
        int sockets[2], status = 1;
        TRUE(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets) == 0);
        pid_t child = fork();
        if (child == 0) {
            close(sockets[0]);
            return importer(sockets[1]);
        }
        pid_t worker = fork();
        if (worker == 0) {
            /* Without the importer there is nothing to wait for. */
            close(sockets[1]);
            begin();
            exporter(sockets[0], place);
            return 0;
        }
        TRUE(waitpid(child, &status, 0) == child && status == 0);
        TRUE(waitpid(worker, &status, 0) == worker && status == 0);
        close(sockets[0]);
        close(sockets[1]);
    }
    puts("shared_pools: passed");
    return 0;
}
