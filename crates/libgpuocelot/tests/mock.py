"""Calls the library as tinygrad's mock of CUDA does, with a table of buffers where that one has it."""

import ctypes
import os
import sys
import types

library = ctypes.CDLL(os.path.join(sys.argv[1], "libgpuocelot.so"))
library.ptx_run.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p)] + 7 * [ctypes.c_int]
mock = types.ModuleType("test.mockgpu.cuda.cuda")
mock.cuda_state = types.SimpleNamespace(memory={})
sys.modules[mock.__name__] = mock


def allocate(size):
    view = memoryview(bytearray(size))
    address = ctypes.addressof(ctypes.c_char.from_buffer(view))
    mock.cuda_state.memory[address] = view
    return address, view


def run(to, source, blocks):
    arguments = (ctypes.c_void_p * 3)(to, source, 3)
    return library.ptx_run(os.environ["SCALE"].encode(), 3, arguments, 16, 1, 1, blocks, 1, 1, 0)


# Buffers of all sizes: in Python's own pools, in the heap, with mappings of their own; 16 elements that a block uses are free in each.
for size in (128, 4096, 1 << 20):
    (to, written), (source, given) = allocate(size), allocate(size)
    given.cast("I")[0] = 7
    assert run(to, source, 2) == 0
    assert written.cast("I")[:32].tolist() == [21] + list(range(1, 32))
    # A pointer into a buffer.
    assert run(to + size - 64, source, 1) == 0
    assert written.cast("I")[size // 4 - 16:].tolist() == [21] + list(range(1, 16))
    # One element behind its end, and one before its start.
    before = bytes(given)
    assert run(to + size - 60, source, 1) == 700
    assert run(to - 4, source, 1) == 700
    assert bytes(given) == before
    # No buffer at all.
    assert run(id(mock), source, 1) == 700
    assert run(to, source, 2) == 0
print("mock: passed")
