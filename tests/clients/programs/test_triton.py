"""Triton's kernels on the virtual GPU: compiled by Triton, with `warploom ptxas` in the place of ptxas, and launched
through the driver API. There is no PyTorch here: memory is the driver's, and numpy computes what to expect.
"""

import ctypes

import numpy as np
import pytest
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

cuda = ctypes.CDLL("libcuda.so.1")


def check(status):
    if status:
        name = ctypes.c_char_p()
        cuda.cuGetErrorName(status, ctypes.byref(name))
        raise RuntimeError(name.value.decode())


def capability():
    """That of the device, times ten: what Triton compiles for."""
    check(cuda.cuInit(0))
    part = lambda attribute: (value := ctypes.c_int(), check(cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, 0)))[0].value
    return 10 * part(75) + part(76)


TARGET = GPUTarget("cuda", capability(), 32)


@pytest.fixture(autouse=True)
def context():
    check(cuda.cuInit(0))
    context = ctypes.c_void_p()
    check(cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0))
    yield
    check(cuda.cuCtxDestroy_v2(context))


class Array:
    """A numpy array's copy on the device."""

    def __init__(self, host):
        self.host = np.ascontiguousarray(host)
        self.address = ctypes.c_uint64()
        check(cuda.cuMemAlloc_v2(ctypes.byref(self.address), ctypes.c_size_t(self.host.nbytes)))
        check(cuda.cuMemcpyHtoD_v2(self.address, self.host.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(self.host.nbytes)))

    def __del__(self):
        cuda.cuMemFree_v2(self.address)

    def back(self):
        out = np.empty_like(self.host)
        check(cuda.cuMemcpyDtoH_v2(out.ctypes.data_as(ctypes.c_void_p), self.address, ctypes.c_size_t(out.nbytes)))
        return out


def launch(function, grid, arguments, num_warps=4, **constants):
    """Compiles for the types of the arguments, loads what ptxas' stand-in made, and runs it."""
    types = {"float32": "*fp32", "float16": "*fp16", "int32": "*i32", "uint8": "*u8"}
    names = [name for name in function.arg_names if name not in constants]
    kind = lambda a: types[a.host.dtype.name] if isinstance(a, Array) else "i32" if isinstance(a, int) else "fp32"
    signature = {name: kind(a) for name, a in zip(names, arguments)} | {name: "constexpr" for name in constants}
    signature = {name: signature[name] for name in function.arg_names}
    # Allocations are aligned, which Triton may rely on, as it does for tensors.
    aligned = [i for i, name in enumerate(function.arg_names) if signature[name].startswith("*")]
    attributes = {(i,): [["tt.divisibility", 16]] for i in aligned}
    source = ASTSource(function, signature, constexprs=constants, attrs=attributes)
    compiled = triton.compile(source, target=TARGET, options={"num_warps": num_warps})
    image = compiled.asm["cubin"]
    assert image[:4] == b"\x7fELF" and b".warploom.ptx" in image, "this was not packed by `warploom ptxas`"
    module, entry = ctypes.c_void_p(), ctypes.c_void_p()
    check(cuda.cuModuleLoadData(ctypes.byref(module), image))
    check(cuda.cuModuleGetFunction(ctypes.byref(entry), module, compiled.metadata.name.encode()))
    shared = compiled.metadata.shared
    if shared > 48 << 10:
        check(cuda.cuFuncSetAttribute(entry, 8, shared))
    values = [a.address if isinstance(a, Array) else (ctypes.c_int32 if isinstance(a, int) else ctypes.c_float)(a) for a in arguments]
    # Behind the arguments Triton has pointers to scratch memory, which these kernels do not use.
    values += [ctypes.c_uint64(0), ctypes.c_uint64(0)]
    pointers = (ctypes.c_void_p * len(values))(*[ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in values])
    x, y, z = (list(grid) + [1, 1])[:3]
    check(cuda.cuLaunchKernel(entry, x, y, z, 32 * num_warps, 1, 1, shared, None, pointers, None))
    check(cuda.cuCtxSynchronize())
    check(cuda.cuModuleUnload(module))


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


def test_vector_add():
    random = np.random.default_rng(1)
    x, y = random.random(1000, np.float32), random.random(1000, np.float32)
    out = Array(np.zeros(1000, np.float32))
    launch(add, [4], [Array(x), Array(y), out, 1000], BLOCK=256)
    np.testing.assert_array_equal(out.back(), x + y)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.load(x + tl.program_id(0) * columns + at, mask=at < columns, other=-float("inf"))
    power = tl.exp(row - tl.max(row, axis=0))
    tl.store(out + tl.program_id(0) * columns + at, power / tl.sum(power, axis=0), mask=at < columns)


def test_softmax():
    x = np.random.default_rng(2).standard_normal((7, 781), np.float32)
    out = Array(np.zeros_like(x))
    launch(softmax, [7], [Array(x), out, 781], BLOCK=1024)
    power = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(out.back(), power / power.sum(1, keepdims=True), rtol=1e-5)


@triton.jit
def layer_norm(x, weight, bias, out, columns, epsilon, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < columns
    row = tl.load(x + tl.program_id(0) * columns + at, mask=inside, other=0.0)
    mean = tl.sum(row, axis=0) / columns
    centred = tl.where(inside, row - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / columns + epsilon)
    value = centred * scale * tl.load(weight + at, mask=inside) + tl.load(bias + at, mask=inside)
    tl.store(out + tl.program_id(0) * columns + at, value, mask=inside)


def test_layer_norm():
    random = np.random.default_rng(3)
    x = random.standard_normal((5, 300), np.float32)
    weight, bias = random.random(300, np.float32), random.random(300, np.float32)
    out = Array(np.zeros_like(x))
    launch(layer_norm, [5], [Array(x), Array(weight), Array(bias), out, 300, 1e-5], BLOCK=512)
    mean, variance = x.mean(1, keepdims=True), x.var(1, keepdims=True)
    np.testing.assert_allclose(out.back(), (x - mean) / np.sqrt(variance + 1e-5) * weight + bias, rtol=1e-4, atol=1e-5)


@triton.jit
def matmul(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    sum = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        left = tl.load(a + rows[:, None] * k + (start + inner)[None, :])
        right = tl.load(b + (start + inner)[:, None] * n + columns[None, :])
        sum = tl.dot(left, right, sum)
    tl.store(c + rows[:, None] * n + columns[None, :], sum.to(tl.float16))


@pytest.mark.parametrize("num_warps", [4, 8])
def test_matmul(num_warps):
    random = np.random.default_rng(4)
    a, b = (random.standard_normal(shape, np.float32).astype(np.float16) for shape in [(128, 96), (96, 128)])
    c = Array(np.zeros((128, 128), np.float16))
    launch(matmul, [2, 2], [Array(a), Array(b), c, 128, 128, 96], num_warps, M=64, N=64, K=32)
    np.testing.assert_allclose(c.back(), a.astype(np.float32) @ b.astype(np.float32), rtol=1e-2, atol=1e-2)


@triton.jit
def attention(q, k, v, out, length, scale, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    depth = tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + depth[None, :])
    most = tl.full((M,), -float("inf"), tl.float32)
    total = tl.zeros((M,), tl.float32)
    sum = tl.zeros((M, D), tl.float32)
    for start in range(0, length, N):
        columns = start + tl.arange(0, N)
        key = tl.load(k + columns[None, :] * D + depth[:, None])
        score = tl.dot(query, key) * scale
        larger = tl.maximum(most, tl.max(score, 1))
        power = tl.exp(score - larger[:, None])
        fade = tl.exp(most - larger)
        value = tl.load(v + columns[:, None] * D + depth[None, :])
        sum = tl.dot(power.to(tl.float16), value, sum * fade[:, None])
        total = total * fade + tl.sum(power, 1)
        most = larger
    tl.store(out + rows[:, None] * D + depth[None, :], (sum / total[:, None]).to(tl.float16))


def test_attention():
    random = np.random.default_rng(5)
    q, k, v = (random.standard_normal((128, 64), np.float32).astype(np.float16) for _ in range(3))
    out = Array(np.zeros((128, 64), np.float16))
    launch(attention, [2], [Array(q), Array(k), Array(v), out, 128, 0.125], D=64, M=64, N=64)
    score = q.astype(np.float32) @ k.astype(np.float32).T * 0.125
    power = np.exp(score - score.max(1, keepdims=True))
    expected = power / power.sum(1, keepdims=True) @ v.astype(np.float32)
    np.testing.assert_allclose(out.back(), expected, rtol=2e-2, atol=2e-3)


# What the codes of narrow floats stand for, by the definitions of the OCP's formats for microscaling.
def decode(codes, exponent_bits, mantissa_bits):
    bias = (1 << (exponent_bits - 1)) - 1
    sign = np.where(codes >> (exponent_bits + mantissa_bits) & 1, -1.0, 1.0)
    exponent = (codes >> mantissa_bits & (1 << exponent_bits) - 1).astype(np.int64)
    mantissa = (codes & (1 << mantissa_bits) - 1) / (1 << mantissa_bits)
    return sign * np.where(exponent == 0, mantissa * 2.0 ** (1 - bias), (1 + mantissa) * 2.0 ** (exponent - bias))


@triton.jit
def scaled(
    a, a_scale, b, b_scale, c, k,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, FORMAT: tl.constexpr, PACK: tl.constexpr, BLOCK: tl.constexpr,
    FRACTIONS: tl.constexpr,
):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    inner, blocks = tl.arange(0, K // PACK), tl.arange(0, K // BLOCK)
    sum = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        left = tl.load(a + rows[:, None] * (k // PACK) + start // PACK + inner[None, :])
        right = tl.load(b + columns[None, :] * (k // PACK) + start // PACK + inner[:, None])
        left_scale = tl.load(a_scale + rows[:, None] * (k // BLOCK) + start // BLOCK + blocks[None, :])
        right_scale = tl.load(b_scale + columns[:, None] * (k // BLOCK) + start // BLOCK + blocks[None, :])
        if FRACTIONS:
            left_scale = left_scale.to(tl.float8e4nv, bitcast=True)
            right_scale = right_scale.to(tl.float8e4nv, bitcast=True)
        sum = tl.dot_scaled(left, left_scale, FORMAT, right, right_scale, FORMAT, sum)
    tl.store(c + rows[:, None] * N + columns[None, :], sum)


# A format's name in Triton, its bits of exponent and mantissa, elements of a byte, those that have a scale together, and
# whether scales are `e4m3` and not powers of two.
FORMATS = {
    "mxfp8-e4m3": ("e4m3", 4, 3, 1, 32, False),
    "mxfp8-e5m2": ("e5m2", 5, 2, 1, 32, False),
    "mxfp4": ("e2m1", 2, 1, 2, 32, False),
    "nvfp4": ("e2m1", 2, 1, 2, 16, True),
}


@pytest.mark.skipif(TARGET.arch < 100, reason="Triton scales 16-bit floats there")
@pytest.mark.parametrize("name", FORMATS)
def test_dot_scaled(name):
    format, exponent_bits, mantissa_bits, pack, block, fractions = FORMATS[name]
    random = np.random.default_rng(6)
    m, n, k = 128, 64, 256

    def factor(rows):
        codes = random.integers(0, 1 << (1 + exponent_bits + mantissa_bits), (rows, k), np.uint8)
        # Neither infinities nor NaNs.
        highest = (1 << exponent_bits) - 1
        if exponent_bits > 2:
            codes = np.where((codes >> mantissa_bits & highest) == highest, codes ^ 1 << mantissa_bits, codes).astype(np.uint8)
        scales = random.integers(0x30, 0x40, (rows, k // block), np.uint8) if fractions else random.integers(125, 130, (rows, k // block), np.uint8)
        factors = decode(scales, 4, 3) if fractions else 2.0 ** (scales.astype(np.int64) - 127)
        values = decode(codes, exponent_bits, mantissa_bits) * np.repeat(factors, block, axis=1)
        packed = codes if pack == 1 else codes[:, 0::2] | codes[:, 1::2] << 4
        return Array(packed), Array(scales), values

    (a, a_scale, left), (b, b_scale, right) = factor(m), factor(n)
    c = Array(np.zeros((m, n), np.float32))
    launch(
        scaled, [1], [a, a_scale, b, b_scale, c, k], M=m, N=n, K=128, FORMAT=format, PACK=pack, BLOCK=block, FRACTIONS=fractions
    )
    # The exact sum is far from any that has lost an element: its parts are added in 32 bits.
    np.testing.assert_allclose(c.back(), left @ right.T, rtol=1e-5, atol=1e-5 * np.abs(left @ right.T).max())
