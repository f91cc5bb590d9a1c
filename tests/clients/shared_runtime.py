"""A plugin for cuda.core's tests: the few functions of the CUDA runtime that cuda.core calls are those of our libcudart.

`cuda.bindings.runtime` has NVIDIA's runtime linked statically, which works with NVIDIA's driver only. A program that links
it so must be linked anew with ours; this does the same for a Python module.
"""

import ctypes
import os

from cuda.bindings import runtime

_library = ctypes.CDLL("libcudart.so.13")


def _call(name, *arguments):
    return runtime.cudaError_t(getattr(_library, name)(*arguments))


def _number(name, *arguments):
    value = ctypes.c_int()
    return _call(name, ctypes.byref(value), *arguments), value.value


def _bus_id(length, device):
    text = ctypes.create_string_buffer(length)
    return _call("cudaDeviceGetPCIBusId", text, length, device), text.value


runtime.cudaDeviceSynchronize = lambda: (_call("cudaDeviceSynchronize"),)
runtime.cudaDeviceGetPCIBusId = _bus_id
runtime.cudaGetDeviceCount = lambda: _number("cudaGetDeviceCount")
runtime.cudaGetDevice = lambda: _number("cudaGetDevice")
runtime.cudaDeviceGetAttribute = lambda attribute, device: _number("cudaDeviceGetAttribute", int(attribute), device)
# For the processes that tests begin (sitecustomize.py).
os.environ["WARPLOOM_PLUGINS"] = __name__
