#!/bin/sh
# Compiles every test of this folder, or those named, from NAME.cu to NAME.ptx. Needs clang 22 and no CUDA toolkit.
#     tests/clang/build.sh [NAME...]
set -eu
cd "$(dirname "$0")"
[ $# -gt 0 ] || set -- $(basename -s .cu *.cu)
for name in "$@"; do
    # Without contraction: expected values are those of the operations as they are written.
    ${CLANG:-clang-22} -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 --cuda-feature=+ptx80 -nocudainc -nocudalib \
        -fms-extensions -include device.h -O2 -ffp-contract=off -gline-directives-only -fdebug-compilation-dir=. \
        -S "$name.cu" -o "$name.ptx"
    echo "$name.ptx"
done
