// How a peer is asked. Each line of its standard input is a request:
//     run KERNEL INPUT-FILE N OUTPUT-BYTES GRID-X GRID-Y BLOCK-X BLOCK-Y
// clears the output, runs the kernel once and answers the nanoseconds that have passed, and those of processor time that all
// threads took;
//     save FILE
// writes the output of the last run and answers two zeros.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    char kernel[64], file[512];
    int n;
    size_t bytes, grid[2], block[2];
} Request;

typedef struct {
    long long passed, processor;
} Clocks;

static long long nanoseconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static Clocks now(void) {
    Clocks clocks = {nanoseconds(CLOCK_MONOTONIC), nanoseconds(CLOCK_PROCESS_CPUTIME_ID)};
    return clocks;
}

static void fail(const char *what, const char *name) {
    fprintf(stderr, "%s: %s\n", what, name);
    exit(2);
}

// A file's bytes.
static void *whole(const char *path, size_t *bytes) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) fail("cannot be opened", path);
    *bytes = (size_t)ftell(file);
    rewind(file);
    void *data = aligned_alloc(4096, (*bytes + 4095) / 4096 * 4096);
    if (!data || fread(data, 1, *bytes, file) != *bytes) fail("cannot be read", path);
    fclose(file);
    return data;
}

static void save(const char *path, const void *data, size_t bytes) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, bytes, file) != bytes || fclose(file)) fail("cannot be written", path);
}

// The next request; one to save has no kernel.
static int next(Request *request) {
    char line[1024];
    if (!fgets(line, sizeof line, stdin)) return 0;
    if (sscanf(line, "save %511s", request->file) == 1) {
        request->kernel[0] = 0;
        return 1;
    }
    if (sscanf(line, "run %63s %511s %d %zu %zu %zu %zu %zu", request->kernel, request->file, &request->n, &request->bytes,
               &request->grid[0], &request->grid[1], &request->block[0], &request->block[1]) != 8)
        fail("not a request", line);
    return 1;
}

static void answer(Clocks begin, Clocks end) {
    printf("%lld %lld\n", end.passed - begin.passed, end.processor - begin.processor);
    fflush(stdout);
}
