/* What a compiler's output has for the runtime: a fat binary in its wrapper, and the functions that it calls. */
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { unsigned x, y, z; } dim3;
typedef void *stream_t;

void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *function, char *device, const char *name, int limit, void *,
                            void *, void *, void *, int *);
void __cudaRegisterVar(void **handle, char *shadow, char *address, const char *name, int, size_t size, int, int);
void __cudaRegisterManagedVar(void **handle, void **pointer, char *address, const char *name, int, size_t size, int, int);
char __cudaInitModule(void **handle);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream);
int __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
int __cudaGetKernel(void **kernel, const void *function);
int __cudaLaunchKernel(void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared, stream_t stream);
int __cudaLaunchKernel_ptsz(void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared, stream_t stream);
int cudaMalloc(void **pointer, size_t bytes);
int cudaFree(void *pointer);
int cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
int cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, int kind);
int cudaDeviceSynchronize(void);
int cudaGetLastError(void);
int cudaRuntimeGetVersion(int *version);
int cudaGetDeviceCount(int *count);
const char *cudaGetErrorString(int error);

#define CALL(expression)                                                                                               \
    do {                                                                                                               \
        int result_ = (expression);                                                                                    \
        if (result_ != 0) {                                                                                            \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #expression, cudaGetErrorString(result_));                   \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

#define CLAIM(expression)                                                                                              \
    do {                                                                                                               \
        if (!(expression)) {                                                                                           \
            printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #expression);                                            \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* The wrapper that is registered. */
struct wrapper {
    uint32_t magic, version;
    const void *container;
    void *none;
};

/* A container with one entry. */
struct container {
    uint32_t magic;
    uint16_t version, header;
    uint64_t bytes;
    uint16_t kind, one;
    uint32_t entry_header;
    uint64_t payload_bytes;
    uint32_t packed, unused, minor_major, architecture, name, name_bytes;
    uint64_t flags, zero, unpacked;
    char payload[8192];
};

enum { PTX = 1, ELF = 2 };

/* Packs code for one architecture as the compiler does. */
static inline struct wrapper pack(struct container *into, int kind, unsigned architecture, const char *code) {
    memset(into, 0, sizeof *into);
    into->magic = 0xba55ed50, into->version = 1, into->header = 16;
    into->kind = kind, into->one = 0x101, into->entry_header = 64;
    into->payload_bytes = (strlen(code) + 8) / 8 * 8;
    into->architecture = architecture;
    into->bytes = into->entry_header + into->payload_bytes;
    strcpy(into->payload, code);
    struct wrapper wrapper = {0x466243b1, 1, into, NULL};
    return wrapper;
}
