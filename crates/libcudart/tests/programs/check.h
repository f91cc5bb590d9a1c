// What all programs here share: a call that must succeed, a claim that must hold, and the line that says so.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CALL(...)                                                                                                     \
    do {                                                                                                              \
        cudaError_t result_ = (__VA_ARGS__);                                                                          \
        if (result_ != cudaSuccess) {                                                                                 \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #__VA_ARGS__, cudaGetErrorString(result_));                 \
            exit(1);                                                                                                  \
        }                                                                                                             \
    } while (0)

#define CLAIM(...)                                                                                                    \
    do {                                                                                                              \
        if (!(__VA_ARGS__)) {                                                                                         \
            printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #__VA_ARGS__);                                          \
            exit(1);                                                                                                  \
        }                                                                                                             \
    } while (0)
