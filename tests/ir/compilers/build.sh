#!/bin/sh
# Compiles kernels.cu by nvcc 13 and clang 22, and two kernels by Triton 3.9, to PTX. No GPU is needed.
#     NVCC=/path/to/nvcc TRITON=/path/to/python tests/ir/compilers/build.sh
set -eu
cd "$(dirname "$0")"
# Lines and debug information have nothing to do with what is tested.
bare() { grep -v -e '^[[:space:]]*\.loc' -e '^[[:space:]]*\.file' -e '^[[:space:]]*// ' -e '^//' | sed '/\.section/,$d'; }
"${NVCC:-nvcc}" -ptx -arch=sm_80 kernels.cu -o - | bare > nvcc.ptx
"${CLANG:-clang-22}" -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 --cuda-feature=+ptx80 -nocudainc -nocudalib \
    -fms-extensions -O2 -S kernels.cu -o - | bare > clang.ptx
folder=$(mktemp -d)
"${TRITON:-python3}" ../../triton/kernels.py "$folder"
bare < "$folder/add-80.ptx" > triton-add.ptx
bare < "$folder/softmax-80.ptx" > triton-softmax.ptx
rm -r "$folder"
