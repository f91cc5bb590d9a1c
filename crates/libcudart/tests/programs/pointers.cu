// What cudaPointerGetAttributes says of each kind of memory.
#include "check.h"

static const char *name(cudaMemoryType type) {
    switch (type) {
    case cudaMemoryTypeUnregistered: return "unregistered";
    case cudaMemoryTypeHost: return "host";
    case cudaMemoryTypeDevice: return "device";
    case cudaMemoryTypeManaged: return "managed";
    }
    return "?";
}

static void show(const char *what, void *pointer) {
    cudaPointerAttributes attributes;
    CALL(cudaPointerGetAttributes(&attributes, pointer));
    printf("%s: %s, host %s, device %s\n", what, name(attributes.type),
           attributes.hostPointer == pointer ? "same" : attributes.hostPointer ? "other" : "none",
           attributes.devicePointer == pointer ? "same" : attributes.devicePointer ? "other" : "none");
}

int main() {
    void *pointer = malloc(4096);
    show("malloc", pointer);
    free(pointer);
    CALL(cudaMalloc(&pointer, 4096));
    show("cudaMalloc", pointer);
    CALL(cudaFree(pointer));
    CALL(cudaMallocHost(&pointer, 4096));
    show("cudaMallocHost", pointer);
    CALL(cudaFreeHost(pointer));
    CALL(cudaMallocManaged(&pointer, 4096));
    show("cudaMallocManaged", pointer);
    CALL(cudaFree(pointer));
}
