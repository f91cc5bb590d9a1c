// Runs kernels of cubins on a GPU, each as a line of a list says, and prints what they leave in memory.
//
//   cc -O2 -o run run.c -ldl && ./run LIST [INPUT]
//
// A line of the list: NAME FILE KERNEL THREADS WORDS REPEATS. The kernel has two parameters: the address of WORDS 32-bit
// words that are zero, where it leaves its results, and the address of 4096 words of input, where word i is 1000 + i, or those of the
// file INPUT. It has 16 KiB of shared memory.
// It runs REPEATS times; what differs between repeats is printed. Output: `NAME ok WORD...`, `NAME unstable WORD...`, or
// `NAME error CALL CODE`, `NAME hangs`.
//
// A wrong encoding may hang or destroy the context. So the kernels run in a child process, which is killed and started
// anew behind a kernel that does not come back.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINES = 4096, INPUT = 4096, MOST_WORDS = 4096, START_MS = 20000, KERNEL_MS = 3000 };

struct line { char name[64], file[128], kernel[64]; int threads, words, repeats; };
static struct line lines[LINES];
static int count;
static uint32_t input[INPUT];

typedef void *handle;
static int (*init)(unsigned), (*device_get)(int *, int), (*retain)(handle *, int), (*set_current)(handle),
    (*load)(handle *, const char *), (*function)(handle *, handle, const char *), (*unload)(handle),
    (*allocate)(uint64_t *, size_t), (*fill)(uint64_t, unsigned char, size_t),
    (*upload)(uint64_t, const void *, size_t), (*download)(void *, uint64_t, size_t), (*synchronize)(void),
    (*launch)(handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void **, void **);

static void *entry(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (!found) { fprintf(stderr, "no %s\n", name); exit(2); }
    return found;
}

#define TRY(what, call) do { int code = (call); if (code) { failed = what; failed_code = code; goto end; } } while (0)

static void child(int from, int pipe_out) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) { fprintf(stderr, "no driver\n"); exit(2); }
    init = entry(library, "cuInit"); device_get = entry(library, "cuDeviceGet");
    retain = entry(library, "cuDevicePrimaryCtxRetain"); set_current = entry(library, "cuCtxSetCurrent");
    load = entry(library, "cuModuleLoad"); function = entry(library, "cuModuleGetFunction");
    unload = entry(library, "cuModuleUnload"); allocate = entry(library, "cuMemAlloc_v2");
    fill = entry(library, "cuMemsetD8_v2"); upload = entry(library, "cuMemcpyHtoD_v2");
    download = entry(library, "cuMemcpyDtoH_v2"); synchronize = entry(library, "cuCtxSynchronize");
    launch = entry(library, "cuLaunchKernel");
    const char *failed = 0; int failed_code = 0, i = from;
    int device; handle context; uint64_t out = 0, in = 0;
    static uint32_t words[MOST_WORDS], again[MOST_WORDS];
    TRY("cuInit", init(0));
    TRY("cuDeviceGet", device_get(&device, 0));
    TRY("cuDevicePrimaryCtxRetain", retain(&context, device));
    TRY("cuCtxSetCurrent", set_current(context));
    TRY("cuMemAlloc", allocate(&out, sizeof words));
    TRY("cuMemAlloc", allocate(&in, sizeof input));
    TRY("cuMemcpyHtoD", upload(in, input, sizeof input));
    for (; i < count; i++) {
        struct line *line = &lines[i];
        // The parent counts these bytes: one begins a line, one ends it.
        if (write(pipe_out, "b", 1) != 1) exit(3);
        handle module = 0, kernel; int unstable = 0;
        void *arguments[] = { &out, &in };
        failed = 0;
        TRY("cuModuleLoad", load(&module, line->file));
        TRY("cuModuleGetFunction", function(&kernel, module, line->kernel));
        for (int r = 0; r < line->repeats; r++) {
            TRY("cuMemset", fill(out, 0, sizeof words));
            TRY("cuLaunchKernel", launch(kernel, 1, 1, 1, line->threads, 1, 1, 16384, 0, arguments, 0));
            TRY("cuCtxSynchronize", synchronize());
            TRY("cuMemcpyDtoH", download(again, out, line->words * 4));
            if (r && memcmp(words, again, line->words * 4)) unstable = 1;
            memcpy(words, again, line->words * 4);
        }
        printf("%s %s", line->name, unstable ? "unstable" : "ok");
        for (int w = 0; w < line->words; w++) printf(" %x", words[w]);
        printf("\n");
        unload(module);
    end:
        if (failed) {
            printf("%s error %s %d\n", i < count ? lines[i].name : "-", failed, failed_code);
        }
        fflush(stdout);
        if (write(pipe_out, "e", 1) != 1) exit(3);
        // Most errors of a launch are the context's end.
        if (failed && strcmp(failed, "cuModuleLoad") && strcmp(failed, "cuModuleGetFunction")) exit(1);
        if (failed && !out) exit(2);
    }
    exit(0);
}

int main(int argc, char **argv) {
    FILE *list = argc > 1 ? fopen(argv[1], "r") : 0;
    if (!list) { fprintf(stderr, "run LIST [INPUT]\n"); return 2; }
    for (int i = 0; i < INPUT; i++) input[i] = 1000 + i;
    if (argc > 2) {
        FILE *file = fopen(argv[2], "rb");
        if (!file || !fread(input, 4, INPUT, file)) { fprintf(stderr, "no input\n"); return 2; }
        fclose(file);
    }
    while (count < LINES) {
        struct line *l = &lines[count];
        if (fscanf(list, "%63s %127s %63s %d %d %d", l->name, l->file, l->kernel, &l->threads, &l->words, &l->repeats) != 6)
            break;
        if (l->words > MOST_WORDS) return 2;
        count++;
    }
    int next = 0, starts = 0;
    while (next < count && starts++ < 400) {
        int ends[2];
        if (pipe(ends)) return 2;
        fflush(stdout);
        pid_t pid = fork();
        if (!pid) { close(ends[0]); child(next, ends[1]); }
        close(ends[1]);
        int begun = 0, first = next;
        for (;;) {
            struct pollfd poll_for = { ends[0], POLLIN, 0 };
            int ready = poll(&poll_for, 1, begun || next > first ? KERNEL_MS : START_MS);
            char byte;
            if (ready <= 0) {
                printf("%s hangs\n", lines[next].name);
                kill(pid, SIGKILL);
                next++;
                break;
            }
            if (read(ends[0], &byte, 1) != 1) {
                // Died in the middle of a line, or behind one.
                if (begun) { printf("%s dies\n", lines[next].name); next++; }
                break;
            }
            begun = byte == 'b';
            if (byte == 'e') next++;
        }
        close(ends[0]);
        int status;
        waitpid(pid, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 2) return 2;
    }
    return 0;
}
