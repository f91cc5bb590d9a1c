// How a peer is asked. Its argument is the file of the input. Each line of its standard input names a kernel, the bytes that it writes, and the extents of its grid and
// block; it clears the output, runs the kernel once and answers the nanoseconds. A line `save FILE` writes the output of the last.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sizes.h"

#define OUTPUT (64u << 20)

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void *whole(const char *path, size_t bytes) {
    void *data = aligned_alloc(4096, bytes);
    FILE *file = fopen(path, "rb");
    if (!file || !data || fread(data, 1, bytes, file) != bytes) {
        fprintf(stderr, "%s cannot be read\n", path);
        exit(2);
    }
    fclose(file);
    return data;
}

static void save(const char *path, const void *data, size_t bytes) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, bytes, file) != bytes || fclose(file)) {
        fprintf(stderr, "%s cannot be written\n", path);
        exit(2);
    }
}

typedef struct {
    char name[64], file[512];
    size_t bytes, grid[2], block[2];
} Request;

// The next request; its name is empty if it is to save.
static int next(Request *request) {
    char line[640];
    if (!fgets(line, sizeof line, stdin)) return 0;
    memset(request->name, 0, sizeof request->name);
    if (sscanf(line, "save %511s", request->file) == 1) return 1;
    if (sscanf(line, "%63s %zu %zu %zu %zu %zu", request->name, &request->bytes, &request->grid[0], &request->grid[1],
               &request->block[0], &request->block[1]) != 6 || request->bytes > OUTPUT) {
        fprintf(stderr, "not a request: %s", line);
        exit(2);
    }
    return 1;
}

static void answer(long long nanoseconds) {
    printf("%lld\n", nanoseconds);
    fflush(stdout);
}
