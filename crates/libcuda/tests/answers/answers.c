/* What functions of CUDA answer to wrong calls, asked one by one.
 *
 *     answers LIBRARY TABLE [JOBS [continue]]
 *
 * TABLE has a line for each function of LIBRARY with arguments for a right call: `cuMemAlloc_v2(buffer, size:64)`. Other
 * lines are passed over. On standard output the same lines appear, each with a line for every condition and what the
 * function answers then: the right call in each state of the driver, and calls with one argument that is wrong. So a table
 * that was recorded is also the plan of its replay; with `continue`, only what is `unasked` in it is asked. Objects come from
 * libcuda.so.1, whichever library is asked.
 *
 * A call may end its process or never return. So calls are made in children, each of which goes on until a call has changed
 * more than it should. Written for the C calling convention of x86-64.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

typedef uint64_t Word;

enum { ARGUMENTS = 16, WORDS = 24, FUNCTIONS = 1024, FACTS = 32768, PAGE = 16384, SECONDS = 6, CHUNK = 8, MOST_SECONDS = 150 };
/* What is answered beside numbers of errors. */
enum { UNASKED = -1, MISSING = -2, UNMADE = -3, SIGNAL = -100 };

/* The state that a call is made in. */
enum State { READY, UNINITIALISED, NO_CONTEXT, DESTROYED_CONTEXT, CAPTURE_GLOBAL, CAPTURE_THREAD, CAPTURE_RELAXED, STATES };
static const char *const state_names[STATES] = {"right",          "uninitialised",  "no context",     "destroyed context",
                                                "capture global", "capture thread", "capture relaxed"};

struct function {
    char line[512], name[96];
    int count;
    char arguments[ARGUMENTS][48];
};

/* A call: a state, or an argument that is another than that of the right call. */
struct fact {
    int order, function, argument;
    enum State state;
    const char *other;
    const char *known; /* what is not asked again */
};

struct shared {
    volatile int chunk, result[FACTS], invalidated[FACTS], done[FACTS];
};

static struct function functions[FUNCTIONS];
static struct fact facts[FACTS];
static int place[FACTS]; /* of a fact in the order of the table */
static int function_count, fact_count;
static struct shared *shared;
static void *asked, *driver;

/* ---- Objects ---- */

static int failed; /* whether an object could not be made */

static void *symbol(void *library, const char *name) {
    void *found = library ? dlsym(library, name) : NULL;
    if (!found) failed = 1;
    return found;
}

/* Calls a function of the driver's to make or restore something; `words` are its arguments. */
typedef int Call(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word,
                 Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word);
static int invoke(void *function, const Word *r, const Word *s) {
    return ((Call *)function)(r[0], r[1], r[2], r[3], r[4], r[5], s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8], s[9],
                              s[10], s[11], s[12], s[13], s[14], s[15], s[16], s[17], s[18], s[19], s[20], s[21], s[22],
                              s[23]);
}
static int call_driver(const char *name, const Word *words) {
    void *function = symbol(driver, name);
    Word rest[WORDS] = {0};
    memcpy(rest, words + 6, 10 * sizeof(Word));
    return function ? invoke(function, words, rest) : MISSING;
}
#define DO(name, ...) call_driver(name, (const Word[16]){__VA_ARGS__})
#define MAKE(name, ...) ((void)(DO(name, __VA_ARGS__) && (failed = 1)))
#define AT(variable) (Word) & (variable)

static const char PTX[] = ".version 8.0\n.target sm_70\n.address_size 64\n"
                          ".visible .global .align 4 .u32 counter = 7;\n"
                          ".global .texref image;\n.global .surfref paper;\n"
                          ".visible .entry empty() { ret; }\n";

static Word primary, stream_made;

static Word zeroes(void) {
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return (Word)page;
}

/* A structure of 32-bit words. */
static Word words32(int count, const uint32_t *words) {
    Word page = zeroes();
    memcpy((void *)page, words, count * sizeof *words);
    return page;
}
#define STRUCT(...) \
    words32(sizeof((const uint32_t[]){__VA_ARGS__}) / 4, (const uint32_t[]){__VA_ARGS__})
#define LOW(word) (uint32_t)(word)
#define HIGH(word) (uint32_t)((word) >> 32)
#define PAIR(word) LOW(word), HIGH(word)

static Word nothing(void *unused) { return (void)unused, 0; }

static Word module(void) {
    Word made = 0;
    MAKE("cuModuleLoadData", AT(made), (Word)PTX);
    return made;
}
static Word of_module(const char *kind, const char *name) {
    Word made = 0;
    MAKE(kind, AT(made), module(), (Word)name);
    return made;
}
static Word library(void) {
    Word made = 0;
    MAKE("cuLibraryLoadData", AT(made), (Word)PTX);
    return made;
}
static Word kernel_of(Word library) {
    Word made = 0;
    MAKE("cuLibraryGetKernel", AT(made), library, (Word) "empty");
    return made;
}
static Word memory(void) {
    Word made = 0;
    MAKE("cuMemAlloc_v2", AT(made), 65536);
    return made;
}
static Word array(void) {
    Word made = 0;
    /* 64 by 64 bytes. */
    MAKE("cuArrayCreate_v2", AT(made), STRUCT(64, 0, 64, 0, 1, 1));
    return made;
}
static Word event(void) {
    Word made = 0;
    MAKE("cuEventCreate", AT(made), 0);
    return made;
}
static Word stream(void) {
    Word made = 0;
    MAKE("cuStreamCreate", AT(made), 1);
    return made;
}

/* A graph with a node of each kind, and what was made of it. */
static struct {
    Word graph, exec, empty, kernel, copy, fill, host, record, wait, child, allocation;
} the;
static Word kernel_params(void) {
    static Word function;
    if (!function) function = of_module("cuModuleGetFunction", "empty");
    return STRUCT(PAIR(function), 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}
static Word fill_params(Word where) { return STRUCT(PAIR(where), 64, 0, 7, 1, 16, 0, 1, 0); }
static Word host_params(void) { return STRUCT(PAIR((Word)nothing), 0, 0); }
static Word copy_params(Word from, Word to) {
    /* srcXInBytes ... srcLOD, type, host, device, array, reserved, pitch, height; the same for dst; width, height, depth. */
    return STRUCT(0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, PAIR(from), 0, 0, 0, 0, 64, 0, 1, 0, /**/
                  0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, PAIR(to), 0, 0, 0, 0, 64, 0, 1, 0, 16, 0, 1, 0, 1, 0);
}
static void graph(void) {
    Word inner = 0, from = memory();
    if (the.graph) return;
    MAKE("cuGraphCreate", AT(the.graph), 0);
    MAKE("cuGraphCreate", AT(inner), 0);
    MAKE("cuGraphAddEmptyNode", AT(the.empty), the.graph);
    MAKE("cuGraphAddKernelNode_v2", AT(the.kernel), the.graph, 0, 0, kernel_params());
    MAKE("cuGraphAddMemcpyNode", AT(the.copy), the.graph, 0, 0, copy_params(from, from + 4096), primary);
    MAKE("cuGraphAddMemsetNode", AT(the.fill), the.graph, 0, 0, fill_params(from), primary);
    MAKE("cuGraphAddHostNode", AT(the.host), the.graph, 0, 0, host_params());
    MAKE("cuGraphAddEventRecordNode", AT(the.record), the.graph, 0, 0, event());
    MAKE("cuGraphAddEventWaitNode", AT(the.wait), the.graph, 0, 0, event());
    MAKE("cuGraphAddChildGraphNode", AT(the.child), the.graph, 0, 0, inner);
    MAKE("cuGraphInstantiateWithFlags", AT(the.exec), the.graph, 0);
}
static Word node(const char *kind) {
    graph();
    return !strcmp(kind, "kernel")   ? the.kernel
           : !strcmp(kind, "copy")   ? the.copy
           : !strcmp(kind, "fill")   ? the.fill
           : !strcmp(kind, "host")   ? the.host
           : !strcmp(kind, "record") ? the.record
           : !strcmp(kind, "wait")   ? the.wait
           : !strcmp(kind, "child")  ? the.child
                                     : the.empty;
}
static Word pool_props(void) { return STRUCT(1, 0, 1, 0); }
static Word pool(void) {
    Word made = 0;
    MAKE("cuMemPoolCreate", AT(made), pool_props());
    return made;
}
static Word resource(void) { return STRUCT(0, 0, PAIR(array())); }

/* Makes an object of a kind; `gone` destroys it again. */
static Word object(const char *kind, int gone) {
    Word made = 0;
#define END(name) (gone ? (void)DO(name, made) : (void)0)
    if (!strcmp(kind, "context")) {
        if (!gone) return primary;
        Word popped;
        MAKE("cuCtxCreate_v2", AT(made), 0, 0);
        MAKE("cuCtxPopCurrent_v2", AT(popped));
        END("cuCtxDestroy_v2");
    } else if (!strcmp(kind, "stream")) {
        made = gone ? stream() : stream_made;
        END("cuStreamDestroy_v2");
    } else if (!strcmp(kind, "event")) {
        made = event();
        END("cuEventDestroy_v2");
    } else if (!strcmp(kind, "module")) {
        made = module();
        END("cuModuleUnload");
    } else if (!strcmp(kind, "function")) {
        Word owner = module();
        MAKE("cuModuleGetFunction", AT(made), owner, (Word) "empty");
        if (gone) DO("cuModuleUnload", owner);
    } else if (!strcmp(kind, "library")) {
        made = library();
        END("cuLibraryUnload");
    } else if (!strcmp(kind, "kernel")) {
        Word owner = library();
        made = kernel_of(owner);
        if (gone) DO("cuLibraryUnload", owner);
    } else if (!strcmp(kind, "graph")) {
        graph(), made = the.graph;
        if (gone) MAKE("cuGraphCreate", AT(made), 0);
        END("cuGraphDestroy");
    } else if (!strncmp(kind, "node", 4)) {
        made = node(kind[4] ? kind + 5 : "");
        if (gone) MAKE("cuGraphAddEmptyNode", AT(made), the.graph);
        END("cuGraphDestroyNode");
    } else if (!strcmp(kind, "exec")) {
        graph(), made = the.exec;
        if (gone) MAKE("cuGraphInstantiateWithFlags", AT(made), the.graph, 0);
        END("cuGraphExecDestroy");
    } else if (!strcmp(kind, "pool")) {
        made = pool();
        END("cuMemPoolDestroy");
    } else if (!strcmp(kind, "array")) {
        made = array();
        END("cuArrayDestroy");
    } else if (!strcmp(kind, "mipmapped")) {
        MAKE("cuMipmappedArrayCreate", AT(made), STRUCT(64, 0, 64, 0, 0, 0, 1, 1, 0, 0), 2);
        END("cuMipmappedArrayDestroy");
    } else if (!strcmp(kind, "texture")) {
        MAKE("cuTexObjectCreate", AT(made), resource(), zeroes(), 0);
        END("cuTexObjectDestroy");
    } else if (!strcmp(kind, "surface")) {
        Word written = 0;
        /* Width, height, depth, format, channels, flags: for surfaces. */
        MAKE("cuArray3DCreate_v2", AT(written), STRUCT(64, 0, 64, 0, 0, 0, 1, 1, 2, 0));
        MAKE("cuSurfObjectCreate", AT(made), STRUCT(0, 0, PAIR(written)));
        END("cuSurfObjectDestroy");
    } else if (!strcmp(kind, "texref")) {
        made = of_module("cuModuleGetTexRef", "image");
        if (gone) MAKE("cuTexRefCreate", AT(made));
        END("cuTexRefDestroy");
    } else if (!strcmp(kind, "surfref")) {
        made = of_module("cuModuleGetSurfRef", "paper");
    } else if (!strcmp(kind, "link")) {
        MAKE("cuLinkCreate_v2", 0, 0, 0, AT(made));
        END("cuLinkDestroy");
    } else if (!strcmp(kind, "physical")) {
        MAKE("cuMemCreate", AT(made), 2 << 20, STRUCT(1, 0, 1, 0));
        END("cuMemRelease");
    } else if (!strcmp(kind, "object")) {
        MAKE("cuUserObjectCreate", AT(made), 0, (Word)nothing, 1, 1);
        if (gone) DO("cuUserObjectRelease", made, 1);
    } else if (!strcmp(kind, "device memory")) {
        made = memory();
        END("cuMemFree_v2");
    } else if (!strcmp(kind, "host memory")) {
        MAKE("cuMemAllocHost_v2", AT(made), PAGE);
        END("cuMemFreeHost");
    } else {
        fprintf(stderr, "no object is called `%s`\n", kind);
        exit(2);
    }
    return made;
}

/* ---- Arguments ---- */

/* Kinds of arguments that are objects, which may be null or gone. */
static const char *const objects[] = {"context", "stream",    "event",   "module",  "function", "library", "kernel",
                                      "graph",   "node",      "exec",    "pool",    "array",    "mipmapped", "texture",
                                      "surface", "texref",    "surfref", "link",    "physical", "object",  "device memory",
                                      "host memory"};
static int is_object(const char *argument) {
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        size_t length = strlen(objects[i]);
        if (!strncmp(argument, objects[i], length) && (!argument[length] || argument[length] == ':')) return 1;
    }
    return 0;
}

/* What is tried in the place of an argument. */
static const char *const *others(const char *argument) {
    static const char *const object[] = {"null", "gone", NULL}, *const pointer[] = {"null", NULL},
                      *const device[] = {"99", "-1", NULL}, *const size[] = {"0", NULL}, *const count[] = {"1", NULL},
                      *const flags[] = {"0x10000000", NULL}, *const choice[] = {"9999", NULL},
                      *const place[] = {"nowhere", "device 99", NULL}, *const blocks[] = {"none", NULL}, *const none[] = {NULL};
    size_t length = strcspn(argument, ":");
#define IS(name) (length == strlen(name) && !strncmp(argument, name, length))
    return is_object(argument)                                                                     ? object
           : IS("device")                                                                          ? device
           : IS("size")                                                                            ? size
           : IS("count")                                                                           ? count
           : IS("flags")                                                                           ? flags
           : IS("enum")                                                                            ? choice
           : IS("place")                                                                           ? place
           : IS("dim3")                                                                            ? blocks
           : IS("number") || IS("null") || IS("zeroes") || IS("float") || IS("extent") || IS("pitched") ? none
                                                                                                   : pointer;
}

/* The words of a call: six in registers, the others on the stack. */
struct words {
    Word in[6], on[WORDS];
    int registers, stacked;
};
static void pass(struct words *words, int count, const Word *values) {
    /* A structure of one or two words goes into registers as a whole, larger ones lie on the stack. */
    int fits = count <= 2 && words->registers + count <= 6;
    for (int i = 0; i < count; i++) *(fits ? &words->in[words->registers++] : &words->on[words->stacked++]) = values[i];
}

static void resolve(struct words *words, const char *argument, enum State state, int gone) {
    const char *detail = strchr(argument, ':');
    detail = detail ? detail + 1 : "";
    size_t length = strcspn(argument, ":");
    Word value = 0, more[8] = {0};
    if (is_object(argument)) {
        value = state == UNINITIALISED ? 0 : object(argument, gone);
    } else if (IS("zeroes")) {
        return pass(words, 8, more);
    } else if (IS("extent")) {
        return pass(words, 3, (const Word[]){16, 1, 1});
    } else if (IS("pitched")) {
        Word start = state == UNINITIALISED ? 0 : memory();
        return pass(words, 4, (const Word[]){start, 64, 64, 1});
    } else if (IS("dim3")) {
        return pass(words, 2, (const Word[]){1 | 1ull << 32, 1});
    } else if (IS("float")) {
        return;
    } else if (IS("place")) {
        value = 1;
    } else if (IS("buffer")) {
        value = zeroes();
    } else if (IS("text")) {
        value = (Word)detail;
    } else if (IS("image")) {
        value = (Word)PTX;
    } else if (IS("callback")) {
        value = (Word)nothing;
    } else if (IS("launch")) {
        value = STRUCT(1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0);
    } else if (IS("array description")) {
        value = STRUCT(64, 0, 64, 0, 1, 1);
    } else if (IS("array3d description")) {
        value = STRUCT(64, 0, 64, 0, 0, 0, 1, 1, 0, 0);
    } else if (IS("physical properties")) {
        value = STRUCT(1, 0, 1, 0);
    } else if (IS("location")) {
        value = STRUCT(1, 0);
    } else if (IS("channel")) {
        value = STRUCT(8, 0, 0, 0, 1);
    } else if (IS("pool properties")) {
        value = pool_props();
    } else if (IS("kernel parameters")) {
        value = state == UNINITIALISED ? zeroes() : kernel_params();
    } else if (IS("fill parameters")) {
        value = state == UNINITIALISED ? zeroes() : fill_params(memory());
    } else if (IS("host parameters")) {
        value = host_params();
    } else if (IS("copy parameters")) {
        value = state == UNINITIALISED ? zeroes() : copy_params(memory(), memory());
    } else if (IS("copy2d parameters")) {
        Word at = state == UNINITIALISED ? 0 : memory();
        value = STRUCT(0, 0, 0, 0, 2, 0, 0, 0, PAIR(at), 0, 0, 64, 0, 0, 0, 0, 0, 2, 0, 0, 0, PAIR(at + 4096), 0, 0, 64, 0,
                       16, 0, 1, 0);
    } else if (IS("resource")) {
        value = state == UNINITIALISED ? zeroes() : resource();
    } else if (!strcmp(detail, "image")) {
        value = sizeof PTX;
    } else if (!IS("null")) {
        value = strtoull(detail, NULL, 0);
    }
    pass(words, 1, &value);
}

/* Puts something else into the place of an argument. */
static void resolve_other(struct words *words, const char *argument, const char *other) {
    Word value = !strcmp(other, "null")        ? 0
                 : !strcmp(other, "nowhere")   ? 0
                 : !strcmp(other, "device 99") ? 1 | 99ull << 32
                                               : strtoull(other, NULL, 0);
    if (!strcmp(other, "none")) return pass(words, 2, (const Word[]){0, 0});
    if (!strcmp(other, "gone")) return resolve(words, argument, READY, 1);
    pass(words, 1, &value);
}

/* ---- States ---- */

/* A thread whose current context is gone: another one has destroyed it. It makes the calls that it is given. */
static struct {
    Word context;
    sem_t asked, answered;
    void *function;
    struct words words;
    int result;
} orphan;

static void *live_as_orphan(void *unused) {
    MAKE("cuCtxSetCurrent", orphan.context);
    for (;;) {
        sem_post(&orphan.answered);
        sem_wait(&orphan.asked);
        orphan.result = invoke(orphan.function, orphan.words.in, orphan.words.on);
    }
    return unused;
}

static void make_orphan(void) {
    Word popped;
    pthread_t thread;
    if (orphan.context) return;
    sem_init(&orphan.asked, 0, 0);
    sem_init(&orphan.answered, 0, 0);
    MAKE("cuCtxCreate_v2", AT(orphan.context), 0, 0);
    MAKE("cuCtxPopCurrent_v2", AT(popped));
    pthread_create(&thread, NULL, live_as_orphan, NULL);
    sem_wait(&orphan.answered);
    MAKE("cuCtxDestroy_v2", orphan.context);
}

static int ask_orphan(void *function, const struct words *words) {
    orphan.function = function;
    orphan.words = *words;
    sem_post(&orphan.asked);
    sem_wait(&orphan.answered);
    return orphan.result;
}

static void enter(enum State state) {
    switch (state) {
    case NO_CONTEXT:
        MAKE("cuCtxSetCurrent", 0);
        break;
    case DESTROYED_CONTEXT:
        make_orphan();
        break;
    case CAPTURE_GLOBAL:
    case CAPTURE_THREAD:
    case CAPTURE_RELAXED:
        MAKE("cuStreamBeginCapture_v2", stream_made, state - CAPTURE_GLOBAL);
        break;
    default:
        break;
    }
}

/* Restores what calls may change; whether it could be. */
static int leave(enum State state) {
    Word current = 0, graph = 0, mode = 0;
    if (state == UNINITIALISED) return DO("cuDeviceGetCount", AT(current)) == 3;
    if (state >= CAPTURE_GLOBAL) DO("cuStreamEndCapture", stream_made, AT(graph));
    if (state == DESTROYED_CONTEXT) {
        ask_orphan(symbol(driver, "cuCtxGetCurrent"), &(struct words){.in = {AT(current)}});
        if (current != orphan.context) return 0;
    }
    DO("cuThreadExchangeStreamCaptureMode", AT(mode));
    void *forget = dlsym(asked, "cudaGetLastError");
    if (forget) ((int (*)(void))forget)();
    /* One context and nothing below it. */
    for (int depth = 0; depth < 8 && !DO("cuCtxPopCurrent_v2", AT(current)); depth++) {}
    if (DO("cuCtxSetCurrent", primary)) return 0;
    return DO("cuCtxSynchronize") == 0;
}

/* Makes a call; whether more can be made. */
static int ask(int number) {
    const struct fact *fact = &facts[number];
    const struct function *function = &functions[fact->function];
    struct words words = {0};
    void *address = symbol(asked, function->name);
    if (!address) {
        shared->result[number] = MISSING;
        return 1;
    }
    failed = 0;
    memset(&the, 0, sizeof the);
    stream_made = fact->state == UNINITIALISED ? 0 : stream();
    for (int i = 0; i < function->count; i++) {
        if (i == fact->argument) {
            resolve_other(&words, function->arguments[i], fact->other);
        } else {
            resolve(&words, function->arguments[i], fact->state, 0);
        }
    }
    enter(fact->state);
    if (failed) {
        shared->result[number] = UNMADE;
        return fact->state != UNINITIALISED && leave(fact->state);
    }
    alarm(SECONDS);
    int result =
        fact->state == DESTROYED_CONTEXT ? ask_orphan(address, &words) : invoke(address, words.in, words.on);
    alarm(0);
    shared->result[number] = result;
    if (fact->state >= CAPTURE_GLOBAL) {
        Word status = 0;
        DO("cuStreamIsCapturing", stream_made, AT(status));
        shared->invalidated[number] = (int)status == 2;
    }
    return leave(fact->state);
}

/* ---- Children ---- */

static const char *library_name;

static void child(int first, int end) {
    driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    asked = dlopen(library_name, RTLD_NOW | RTLD_GLOBAL);
    if (!driver || !asked) {
        fprintf(stderr, "%s\n", dlerror());
        _exit(2);
    }
    if (facts[first].state != UNINITIALISED) {
        MAKE("cuInit", 0);
        MAKE("cuDevicePrimaryCtxRetain", AT(primary), 0);
        MAKE("cuCtxSetCurrent", primary);
        /* The runtime takes the context that is there when it is first called. */
        int (*begin)(void *) = (int (*)(void *))dlsym(asked, "cudaFree");
        if (begin) begin(NULL);
    }
    for (int i = first; i < end; i++) {
        shared->done[i] = 1;
        if (!facts[i].known && !ask(i)) _exit(0);
    }
    _exit(0);
}

/* Asks a range of facts that begin with a library that is initialised, or not. */
static void ask_all(int first, int end) {
    while (first < end && facts[first].known) first++;
    while (first < end) {
        pid_t pid = fork();
        int status = 0;
        if (pid == 0) child(first, end);
        waitpid(pid, &status, 0);
        int last = first;
        if (!shared->done[first]) return;
        while (last < end && shared->done[last]) last++;
        if (WIFSIGNALED(status) && shared->result[last - 1] == UNASKED) {
            shared->result[last - 1] = SIGNAL - WTERMSIG(status);
        }
        first = last;
        while (first < end && facts[first].known) first++;
    }
}

/* A thread becomes an orphan for good. */
static int turn(enum State state) { return state == UNINITIALISED ? 0 : state == DESTROYED_CONTEXT ? 2 : 1; }

static int by_chunk(const void *a, const void *b) {
    const struct fact *x = a, *y = b;
    int chunk = x->function / CHUNK - y->function / CHUNK;
    int state = turn(x->state) - turn(y->state);
    return chunk ? chunk : state ? state : x->order - y->order;
}

static void work(void) {
    int chunk;
    while ((chunk = __sync_fetch_and_add(&shared->chunk, 1)) * CHUNK < function_count) {
        int first = 0, middle, end;
        while (first < fact_count && facts[first].function / CHUNK < chunk) first++;
        for (end = first; end < fact_count && facts[end].function / CHUNK == chunk; end++) {}
        for (middle = first; middle < end && facts[middle].state == UNINITIALISED; middle++) {}
        ask_all(first, middle);
        ask_all(middle, end);
    }
}

/* ---- Table ---- */

static void add(int function, enum State state, int argument, const char *other) {
    facts[fact_count] = (struct fact){fact_count, function, argument, state, other, NULL};
    fact_count++;
}

/* How a fact is called in a table. */
static const char *condition(const struct fact *fact) {
    static char text[64];
    if (fact->argument < 0) return state_names[fact->state];
    snprintf(text, sizeof text, "%d %s", fact->argument + 1, fact->other);
    return text;
}

/* Keeps an answer that stands in the table. */
static void keep(char *line) {
    char *answer = strstr(line, " = ");
    if (!answer || !strncmp(answer, " = unasked", 10)) return;
    *answer = 0;
    for (int i = fact_count - 1; i >= 0 && facts[i].function == function_count - 1; i--) {
        if (!strcmp(condition(&facts[i]), line + 4)) facts[i].known = strdup(answer + 3);
    }
}

static void read_table(const char *path, int continued) {
    char line[1024];
    FILE *file = fopen(path, "r");
    if (!file) exit(2);
    while (fgets(line, sizeof line, file)) {
        char *open = strchr(line, '('), *close = strrchr(line, ')');
        if (line[0] == ' ' && continued) keep(line);
        if (line[0] == ' ' || line[0] == '#' || !open || !close) continue;
        struct function *function = &functions[function_count];
        close[1] = 0;
        strcpy(function->line, line);
        *close = 0, *open = 0;
        strcpy(function->name, line);
        for (char *part = strtok(open + 1, ","); part; part = strtok(NULL, ",")) {
            while (*part == ' ') part++;
            strcpy(function->arguments[function->count++], part);
        }
        add(function_count, UNINITIALISED, -1, NULL);
        for (int state = READY; state < STATES; state++) {
            if (state != UNINITIALISED) add(function_count, state, -1, NULL);
        }
        for (int i = 0; i < function->count; i++) {
            for (const char *const *other = others(function->arguments[i]); *other; other++) {
                add(function_count, READY, i, *other);
            }
        }
        function_count++;
    }
    fclose(file);
    qsort(facts, fact_count, sizeof *facts, by_chunk);
}

static void print(int number) {
    const struct fact *fact = &facts[number];
    int result = shared->result[number];
    printf("    %s = ", condition(fact));
    if (fact->known) {
        printf("%s", fact->known);
        return;
    }
    if (result == SIGNAL - SIGALRM) {
        printf("never");
    } else if (result <= SIGNAL) {
        printf("signal %d", SIGNAL - result);
    } else if (result == MISSING) {
        printf("missing");
    } else if (result == UNMADE) {
        printf("unmade");
    } else if (result == UNASKED) {
        printf("unasked");
    } else {
        printf("%d%s", result, shared->invalidated[number] ? " invalidated" : "");
    }
    printf("\n");
}

int main(int count, char **arguments) {
    if (count < 3) return 2;
    int jobs = count > 3 ? atoi(arguments[3]) : 1;
    library_name = arguments[1];
    read_table(arguments[2], count > 4);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < FACTS; i++) shared->result[i] = UNASKED;
    setpgid(0, 0);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    for (int i = 0; i < jobs; i++) {
        if (fork() == 0) {
            work();
            _exit(0);
        }
    }
    for (int tenths = 0; waitpid(-1, NULL, WNOHANG) >= 0 && tenths < 10 * MOST_SECONDS; tenths++) usleep(100000);
    /* What has not ended by now does not count. */
    signal(SIGTERM, SIG_IGN);
    kill(0, SIGTERM);
    for (int i = 0; i < fact_count; i++) place[facts[i].order] = i;
    for (int i = 0, function = -1; i < fact_count; i++) {
        if (facts[place[i]].function != function) printf("%s\n", functions[++function].line);
        print(place[i]);
    }
    return 0;
}
