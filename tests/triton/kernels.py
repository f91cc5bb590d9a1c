#!/usr/bin/env python3
"""Compiles a few Triton kernels to PTX, without a GPU:

    python3 tests/triton/kernels.py FOLDER
"""
import pathlib
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def add(a, b, c, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(c + at, tl.load(a + at, mask=at < n) + tl.load(b + at, mask=at < n), mask=at < n)


@triton.jit
def softmax(out, values, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(values + row * columns + at, mask=at < columns, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out + row * columns + at, e / tl.sum(e, axis=0), mask=at < columns)


@triton.jit
def matmul(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        inner = start + tl.arange(0, K)
        x = tl.load(a + rows[:, None] * k + inner[None, :])
        y = tl.load(b + inner[:, None] * n + columns[None, :])
        total += tl.dot(x, y)
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(tl.float16))


@triton.jit
def count(values, bins, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(values + at, mask=at < n, other=0)
    tl.atomic_add(bins + value % 64, 1, mask=at < n)


@triton.jit
def twice(source, target, H: tl.constexpr, W: tl.constexpr):
    y, x = tl.program_id(1) * H, tl.program_id(0) * W
    target.store([y, x], source.load([y, x]) * 2)


@triton.jit
def add_tiles(a, b, height, width, H: tl.constexpr, W: tl.constexpr):
    source = tl.make_tensor_descriptor(a, [height, width], [width, 1], [H, W])
    target = tl.make_tensor_descriptor(b, [height, width], [width, 1], [H, W])
    y, x = tl.program_id(1) * H, tl.program_id(0) * W
    target.atomic_add([y, x], source.load([y, x]))


KERNELS = [
    (add, {"a": "*fp32", "b": "*fp32", "c": "*fp32", "n": "i32"}, {"BLOCK": 1024}),
    (softmax, {"out": "*fp32", "values": "*fp32", "columns": "i32"}, {"BLOCK": 2048}),
    (matmul, {"a": "*fp16", "b": "*fp16", "c": "*fp16", "m": "i32", "n": "i32", "k": "i32"}, {"M": 64, "N": 64, "K": 32}),
    (count, {"values": "*i32", "bins": "*i32", "n": "i32"}, {"BLOCK": 512}),
    # Tensor copies: with maps from the host, and with maps that the kernel makes.
    (twice, {"source": "tensordesc<fp32[32,32]>", "target": "tensordesc<fp32[32,32]>"}, {"H": 32, "W": 32}),
    (add_tiles, {"a": "*fp32", "b": "*fp32", "height": "i32", "width": "i32"}, {"H": 32, "W": 32}),
]

folder = pathlib.Path(sys.argv[1])
for kernel, types, constants in KERNELS:
    signature = types | {name: "constexpr" for name in constants}
    # Tensor copies exist from 90 on.
    for capability in (90, 100) if kernel in (twice, add_tiles) else (80, 90, 100):
        source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
        made = triton.compile(source, target=GPUTarget("cuda", capability, 32))
        (folder / f"{kernel.__name__}-{capability}.ptx").write_text(made.asm["ptx"])
