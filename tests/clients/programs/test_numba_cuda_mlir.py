"""Kernels that numba-cuda-mlir compiles, on the virtual GPU; numpy computes what to expect."""

import math

import numpy as np
import pytest
from numba_cuda_mlir import cuda


@cuda.jit
def add(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


@cuda.jit
def scaled_sine(x, factor, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = factor * math.sin(x[i])


@cuda.jit
def block_sums(x, out):
    buffer = cuda.shared.array(128, np.float32)
    lane = cuda.threadIdx.x
    buffer[lane] = x[cuda.grid(1)]
    cuda.syncthreads()
    step = 64
    while step > 0:
        if lane < step:
            buffer[lane] += buffer[lane + step]
        cuda.syncthreads()
        step //= 2
    if lane == 0:
        out[cuda.blockIdx.x] = buffer[0]


@cuda.jit
def histogram(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out, x[i], 1)


@cuda.jit
def transpose(x, out):
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        out[j, i] = x[i, j]


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_elements(dtype):
    x, y = np.arange(1000, dtype=dtype), np.arange(1000, dtype=dtype)[::-1].copy()
    out = cuda.device_array_like(x)
    add[8, 128](cuda.to_device(x), cuda.to_device(y), out)
    np.testing.assert_array_equal(out.copy_to_host(), x + y)


def test_functions_of_mathematics():
    x = np.linspace(-3, 3, 500)
    out = cuda.device_array_like(x)
    scaled_sine[4, 128](cuda.to_device(x), 2.5, out)
    np.testing.assert_allclose(out.copy_to_host(), 2.5 * np.sin(x), rtol=1e-14, atol=1e-15)


def test_shared_memory_and_barriers():
    x = np.random.default_rng(1).integers(0, 100, 16 * 128).astype(np.float32)
    out = cuda.device_array(16, np.float32)
    block_sums[16, 128](cuda.to_device(x), out)
    np.testing.assert_array_equal(out.copy_to_host(), x.reshape(16, 128).sum(axis=1))


def test_atomics():
    x = np.random.default_rng(2).integers(0, 10, 5000).astype(np.int64)
    out = cuda.to_device(np.zeros(10, np.int64))
    histogram[40, 128](cuda.to_device(x), out)
    np.testing.assert_array_equal(out.copy_to_host(), np.bincount(x, minlength=10))


def test_two_dimensions():
    x = np.arange(37 * 53, dtype=np.float32).reshape(37, 53)
    out = cuda.device_array((53, 37), np.float32)
    transpose[(3, 4), (16, 16)](cuda.to_device(x), out)
    np.testing.assert_array_equal(out.copy_to_host(), x.T)


def test_streams_and_events():
    stream, start, end = cuda.stream(), cuda.event(), cuda.event()
    x = np.arange(256, dtype=np.int32)
    start.record(stream)
    there = cuda.to_device(x, stream=stream)
    out = cuda.device_array_like(x, stream=stream)
    add[2, 128, stream](there, there, out)
    end.record(stream)
    end.synchronize()
    np.testing.assert_array_equal(out.copy_to_host(stream=stream), 2 * x)
    assert cuda.event_elapsed_time(start, end) >= 0
