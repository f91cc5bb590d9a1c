#!/bin/sh
# Compiles every file of this folder, or those named, from NAME.cu to NAME.ptx. Needs clang 22 and no CUDA toolkit.
#     tests/sanitizer/patterns/build.sh [NAME...]
set -eu
cd "$(dirname "$0")"
[ $# -gt 0 ] || set -- $(basename -s .cu *.cu)
for name in "$@"; do
    # A loop is as long as its source, and a load as wide: what is read stays easy to compare with what was written.
    ${CLANG:-clang-22} -x cuda --cuda-device-only --cuda-gpu-arch=sm_90 --cuda-feature=+ptx86 -nocudainc -nocudalib \
        -fms-extensions -std=c++17 -include device.h -O1 -fno-unroll-loops -fno-vectorize -fno-slp-vectorize \
        -gline-directives-only -fdebug-compilation-dir=. -S "$name.cu" -o "$name.ptx"
    # The columns and names behind `.loc` are half of the file.
    sed -i -E 's/[[:space:]]*\/\/ ([A-Za-z_./-]*:[0-9]+:[0-9]+.*|%bb.*|=>.*|@.*|-- .*)$//; /^[[:space:]]*$/d; /^[[:space:]]*\/\/ (demoted|begin inline asm|end inline asm|\.globl)/d' "$name.ptx"
    echo "$name.ptx"
done
