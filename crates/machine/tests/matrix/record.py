#!/usr/bin/env python3
"""Runs the kernels that tests/matrix.rs wrote on the GPU, through the CUDA driver.

    record.py DIR    reads cases.txt, inputs.bin, cases.cubin; writes sm_90.txt and outputs.bin
"""
import ctypes, os, sys, zlib

folder = sys.argv[1]
cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *args):
    code = getattr(cuda, name)(*args)
    if code:
        raise SystemExit(f"{name}: error {code}")


def allocate(size):
    pointer = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
    return pointer


context, module = ctypes.c_void_p(), ctypes.c_void_p()
call("cuInit", 0)
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call("cuCtxSetCurrent", context)
call("cuModuleLoad", ctypes.byref(module), os.path.join(folder, "cases.cubin").encode())
with open(os.path.join(folder, "inputs.bin"), "rb") as file:
    inputs = file.read()
recording, outputs, at = [], [], 0
for index, line in enumerate(open(os.path.join(folder, "cases.txt"))):
    threads, trials, size_in, size_out, name = line.rstrip("\n").split(" ", 4)
    threads, trials, size_in, size_out = int(threads), int(trials), int(size_in), int(size_out)
    source, target = allocate(trials * size_in), allocate(trials * size_out)
    call("cuMemcpyHtoD_v2", source, inputs[at : at + trials * size_in], ctypes.c_size_t(trials * size_in))
    call("cuMemsetD8_v2", target, 0, ctypes.c_size_t(trials * size_out))
    at += trials * size_in
    function = ctypes.c_void_p()
    call("cuModuleGetFunction", ctypes.byref(function), module, f"k{index}".encode())
    arguments = (ctypes.c_void_p * 2)(*(ctypes.cast(ctypes.byref(x), ctypes.c_void_p) for x in (source, target)))
    call("cuLaunchKernel", function, trials, 1, 1, threads, 1, 1, 0, None, arguments, None)
    code = cuda.cuCtxSynchronize()
    if code:
        raise SystemExit(f"{name}: error {code}")
    output = ctypes.create_string_buffer(trials * size_out)
    call("cuMemcpyDtoH_v2", output, target, ctypes.c_size_t(trials * size_out))
    call("cuMemFree_v2", source)
    call("cuMemFree_v2", target)
    outputs.append(output.raw)
    sums = (zlib.crc32(output.raw[i * size_out : (i + 1) * size_out]) for i in range(trials))
    recording.append(f"{name}: {' '.join(f'{s:08x}' for s in sums)}\n")
with open(os.path.join(folder, "sm_90.txt"), "w") as file:
    file.writelines(recording)
with open(os.path.join(folder, "outputs.bin"), "wb") as file:
    file.write(b"".join(outputs))
