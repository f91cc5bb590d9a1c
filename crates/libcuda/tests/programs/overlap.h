/* Launches that may begin before what is before them has ended. */
#pragma once
#include "driver.h"

typedef struct {
    int id;
    char pad[4];
    union {
        char all[64];
        int number;
    } value;
} Attribute;
typedef struct {
    unsigned gx, gy, gz, bx, by, bz, shared;
    CUstream stream;
    Attribute *attributes;
    unsigned count;
} Config;
enum { PROGRAMMATIC_STREAM_SERIALIZATION = 6 };
CUresult cuLaunchKernelEx(const Config *, CUfunction, void **, void **);

static void launch(CUfunction f, unsigned blocks, CUstream stream, int overlaps, void **params) {
    Attribute attribute = {.id = PROGRAMMATIC_STREAM_SERIALIZATION, .value.number = overlaps};
    Config config = {blocks, 1, 1, 1, 1, 1, 0, stream, &attribute, 1};
    OK(cuLaunchKernelEx(&config, f, params, NULL));
}
