"""What CuPy's manual begins with, on the virtual GPU: arrays, kernels of one's own, sorting. numpy computes what to expect."""

import cupy as cp
import numpy as np
import pytest

rng = np.random.default_rng(7)


@pytest.mark.parametrize("dtype", ["i4", "i8", "f4", "f8", "c16"])
def test_elements(dtype):
    x, y = rng.integers(1, 100, 1000).astype(dtype), rng.integers(1, 100, 1000).astype(dtype)
    got = (cp.asarray(x) * cp.asarray(y) + 3 * cp.asarray(x)).get()
    np.testing.assert_array_equal(got, x * y + 3 * x)


@pytest.mark.parametrize("name", ["exp", "sin", "sqrt", "log1p", "tanh"])
def test_functions_of_mathematics(name):
    x = rng.random(500)
    np.testing.assert_allclose(getattr(cp, name)(cp.asarray(x)).get(), getattr(np, name)(x), rtol=1e-13)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_reductions(axis):
    x = rng.integers(0, 1000, (37, 53))
    there = cp.asarray(x)
    for name in ["sum", "max", "min", "argmax", "prod", "any"]:
        np.testing.assert_array_equal(getattr(there, name)(axis=axis).get(), getattr(x, name)(axis=axis), name)
    np.testing.assert_allclose(there.mean(axis=axis).get(), x.mean(axis=axis))


def test_views_and_broadcasting():
    x = np.arange(24, dtype="f4").reshape(2, 3, 4)
    there = cp.asarray(x)
    np.testing.assert_array_equal(there[::-1, 1:, ::2].get(), x[::-1, 1:, ::2])
    np.testing.assert_array_equal((there + cp.arange(4, dtype="f4")).get(), x + np.arange(4, dtype="f4"))
    np.testing.assert_array_equal(there.transpose(2, 0, 1).copy().get(), x.transpose(2, 0, 1))
    np.testing.assert_array_equal(there[there > 10].get(), x[x > 10])


def test_sorting():
    x = rng.integers(0, 10_000, 3000)
    there = cp.asarray(x)
    np.testing.assert_array_equal(cp.sort(there).get(), np.sort(x))
    np.testing.assert_array_equal(x[cp.argsort(there).get()], np.sort(x))
    np.testing.assert_array_equal(cp.unique(there).get(), np.unique(x))


def test_scans():
    x = rng.integers(0, 100, 5000)
    np.testing.assert_array_equal(cp.cumsum(cp.asarray(x)).get(), np.cumsum(x))


def test_a_raw_kernel():
    code = r"""
    extern "C" __global__ void saxpy(float a, const float *x, float *y, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) y[i] = a * x[i] + y[i];
    }"""
    kernel = cp.RawKernel(code, "saxpy")
    x, y = rng.integers(0, 50, 1000).astype("f4"), rng.integers(0, 50, 1000).astype("f4")
    out = cp.asarray(y)
    kernel((8,), (128,), (np.float32(2), cp.asarray(x), out, np.int32(x.size)))
    np.testing.assert_array_equal(out.get(), 2 * x + y)


def test_kernels_of_elements_and_reductions():
    squares = cp.ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squares")
    total = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = a", "0", "sum_of_squares")
    x, y = np.arange(100.0), np.arange(100.0)[::-1].copy()
    np.testing.assert_array_equal(squares(cp.asarray(x), cp.asarray(y)).get(), (x - y) ** 2)
    np.testing.assert_array_equal(total(cp.asarray(x)).get(), (x * x).sum())


def test_streams_events_and_memory_pools():
    stream, event = cp.cuda.Stream(), cp.cuda.Event()
    with stream:
        x = cp.arange(1000) * 2
        event.record()
    event.synchronize()
    assert event.done
    np.testing.assert_array_equal(x.get(stream=stream), np.arange(1000) * 2)
    pool = cp.get_default_memory_pool()
    assert pool.used_bytes() >= x.nbytes


def test_random_numbers():
    x = cp.random.default_rng(3).random(20_000).get()
    assert 0 <= x.min() and x.max() < 1 and abs(x.mean() - 0.5) < 0.02
