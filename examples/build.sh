#!/bin/sh
# Compiles kernels.cu of every example, or of the examples named, to kernels.ptx. Needs clang 22 and no CUDA toolkit.
#     examples/build.sh [vector-add] [matmul] [image-classifier]
set -eu
cd "$(dirname "$0")"
[ $# -gt 0 ] || set -- vector-add matmul image-classifier
for example; do
    (
        cd "$example"
        # -gline-directives-only leaves .file and .loc lines, by which a fault in the PTX names its line of kernels.cu.
        ${CLANG:-clang-22} -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 --cuda-feature=+ptx80 -nocudainc -nocudalib \
            -fms-extensions -include ../include/device.h -O2 -gline-directives-only -fdebug-compilation-dir=. \
            -S kernels.cu -o kernels.ptx
    )
    echo "$example/kernels.ptx"
done
