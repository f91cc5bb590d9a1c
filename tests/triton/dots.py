#!/usr/bin/env python3
"""Compiles `tl.dot` on every type to PTX, without a GPU, and makes file tests of it:

    python3 tests/triton/dots.py tests/run/triton

A's elements are powers of two. Each column of B has a 1 and a 2, so that an element of C is the sum of two known
elements of A, wherever the compiler has put them meanwhile.
"""
import pathlib
import re
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

M, N, K = 128, 32, 128


@triton.jit
def dot(a, b, c, n, k, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, SUM: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((ROWS, COLUMNS), dtype=SUM)
    for start in range(0, k, DEPTH):
        inner = start + tl.arange(0, DEPTH)
        x = tl.load(a + rows[:, None] * k + inner[None, :])
        y = tl.load(b + inner[:, None] * n + columns[None, :])
        total = tl.dot(x, y, total, out_dtype=SUM)
    tl.store(c + rows[:, None] * n + columns[None, :], total)


# Triton's type, the type in a test, and how the test writes 2 to the power of a number.
TYPES = [
    ("fp16", "f16", "1 << ({})"),
    ("bf16", "bf16", "1 << ({})"),
    ("fp32", "f32", "1 << ({})"),
    ("fp8e4nv", "u8", "0x38 + 8 * ({})"),
    ("fp8e5", "u8", "0x3c + 4 * ({})"),
    ("i8", "s8", "1 << ({})"),
]


def power(row, column):
    return f"({row} * 5 + {column} * 3 + {column} / 16) % 4"


# The device that a capability's kernel runs on, if not on the usual one.
DEVICES = {80: None, 90: None, 100: "b200", 120: "rtx5090"}


def directives(ty, written, shared, device):
    first, second = "(i % {n} * 3 + 1) % {k}", "(i % {n} * 5 + 7) % {k}"
    sizes = {"n": N, "k": K}
    first, second = first.format(**sizes), second.format(**sizes)
    one, two = written.format("0"), written.format("1")
    sum_type = "s32" if ty == "s8" else "f32"
    on = f"//: device {device}\n" if device else ""
    return f"""// `tl.dot`, compiled by Triton {triton.__version__}: tests/triton/dots.py made this file.
{on}//: run dot grid={M // 64},{N // 16} block=128 shared={shared}
//: in a {ty}[{M * K}] = for i: {written.format(power(f"i / {K}", f"(i % {K})"))}
//: in b {ty}[{K * N}] = for i: i / {N} == {first} ? {one} : i / {N} == {second} ? {two} : 0
//: out c {sum_type}[{M * N}] = for i: (1 << ({power(f"(i / {N})", f"({first})")}))
//|   + 2 * (1 << ({power(f"(i / {N})", f"({second})")}))
//: arg n u32 = {N}
//: arg k u32 = {K}
//: arg scratch u64 = 0
//: arg profile u64 = 0
"""


def bare(ptx):
    """Without comments and debugging information."""
    ptx = re.split(r"^\s*\.section\s", ptx, flags=re.M)[0]
    lines = (re.sub(r"\s*//.*", "", line) for line in ptx.splitlines())
    return "".join(f"{line}\n" for line in lines if line.strip() and not re.match(r"\s*(\.loc|\.file|\$L__tmp)", line))


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, ty, written in TYPES:
        for capability, device in DEVICES.items():
            if (name, capability) in (("fp8e4nv", 80), ("fp8e5", 80), ("bf16", 80)):
                continue
            arguments = {"a": f"*{name}", "b": f"*{name}", "c": "*i32" if ty == "s8" else "*fp32", "n": "i32", "k": "i32"}
            constants = {"ROWS": 64, "COLUMNS": 16, "DEPTH": 64, "SUM": tl.int32 if ty == "s8" else tl.float32}
            source = ASTSource(
                fn=dot,
                signature=arguments | {name: "constexpr" for name in constants},
                constexprs=constants,
                attrs={(i,): [["tt.divisibility", 16]] for i in range(5)},
            )
            made = triton.compile(source, target=GPUTarget("cuda", capability, 32), options={"num_warps": 4, "num_stages": 2})
            text = directives(ty, written, made.metadata.shared, device) + bare(made.asm["ptx"])
            (folder / f"dot-{name}-sm{capability}.ptx").write_text(text)
