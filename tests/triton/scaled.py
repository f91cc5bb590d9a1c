#!/usr/bin/env python3
"""Compiles `tl.dot_scaled` to PTX for Blackwell, without a GPU, and makes file tests of it:

    python3 tests/triton/scaled.py tests/run/triton

Elements of A are powers of two. Each column of B has a single 1, so that an element of C is a known element of A times the
scale factors of both, wherever the compiler has put them meanwhile.
"""
import pathlib
import sys

import triton
import triton.language as tl
from dots import bare
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

M, N, K = 128, 64, 256


@triton.jit
def scaled(
    a, a_scale, b, b_scale, c, k,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, FORMAT: tl.constexpr, PACK: tl.constexpr,
    BLOCK: tl.constexpr, FRACTIONS: tl.constexpr,
):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    inner, blocks = tl.arange(0, DEPTH // PACK), tl.arange(0, DEPTH // BLOCK)
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for start in range(0, k, DEPTH):
        left = tl.load(a + rows[:, None] * (k // PACK) + start // PACK + inner[None, :])
        right = tl.load(b + columns[None, :] * (k // PACK) + start // PACK + inner[:, None])
        left_scale = tl.load(a_scale + rows[:, None] * (k // BLOCK) + start // BLOCK + blocks[None, :])
        right_scale = tl.load(b_scale + columns[:, None] * (k // BLOCK) + start // BLOCK + blocks[None, :])
        if FRACTIONS:
            left_scale = left_scale.to(tl.float8e4nv, bitcast=True)
            right_scale = right_scale.to(tl.float8e4nv, bitcast=True)
        total = tl.dot_scaled(left, left_scale, FORMAT, right, right_scale, FORMAT, total)
    tl.store(c + rows[:, None] * COLUMNS + columns[None, :], total)


# A name; Triton's name; elements of a byte; those of a block; whether scale factors are e4m3; the code of 1, and from there to that of 2.
FORMATS = [
    ("mxfp8", "e4m3", 1, 32, False, 0x38, 8),
    ("mxfp4", "e2m1", 2, 32, False, 2, 2),
    ("nvfp4", "e2m1", 2, 16, True, 2, 2),
]


def power(row, k):
    return f"({row} * 5 + {k} * 7) % 3"


def place(column):
    return f"(({column}) * 5 + 3) % {K}"


def directives(pack, block, fractions, one, step, shared):
    width, blocks = K // pack, K // block

    def each(element):
        """A byte from a function of row and place."""
        parts = [f"({element(f'(i / {width})', f'(i % {width} * {pack} + {part})')}) * {16 ** part}" for part in range(pack)]
        return " + ".join(parts)

    a = each(lambda row, k: f"{one} + {step} * ({power(row, k)})")
    b = each(lambda column, k: f"{k} == {place(column)} ? {one} : 0")
    scale, scale_step = (0x38, 8) if fractions else (127, 1)
    row, column = f"(i / {N})", f"(i % {N})"
    there = f"({place(column)})"
    return f"""// `tl.dot_scaled`, compiled by Triton {triton.__version__}: tests/triton/scaled.py made this file.
//: device DEVICE
//: run scaled block=128 shared={shared}
//: in a u8[{M * width}] = for i: {a}
//: in a_scale u8[{M * blocks}] = for i: {scale} + {scale_step} * ((i / {blocks} + i % {blocks}) % 3)
//: in b u8[{N * width}] = for i: {b}
//: in b_scale u8[{N * blocks}] = for i: {scale} + {scale_step} * ((i / {blocks} + i % {blocks}) % 2)
//: out c f32[{M * N}] = for i: 1 << (({power(row, there)}) + ({row} + {there} / {block}) % 3 + ({column} + {there} / {block}) % 2)
//: arg k u32 = {K}
//: arg scratch u64 = 0
//: arg profile u64 = 0
"""


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    for name, format, pack, block, fractions, one, step in FORMATS:
        for capability, device in ((100, "b200"), (103, "b300"), (120, "rtx5090")):
            arguments = {"a": "*u8", "a_scale": "*u8", "b": "*u8", "b_scale": "*u8", "c": "*fp32", "k": "i32"}
            constants = {
                "ROWS": M, "COLUMNS": N, "DEPTH": 128, "FORMAT": format, "PACK": pack, "BLOCK": block, "FRACTIONS": fractions,
            }
            source = ASTSource(
                fn=scaled,
                signature=arguments | {name: "constexpr" for name in constants},
                constexprs=constants,
                attrs={(i,): [["tt.divisibility", 16]] for i in range(6)},
            )
            made = triton.compile(source, target=GPUTarget("cuda", capability, 32), options={"num_warps": 4, "num_stages": 2})
            text = directives(pack, block, fractions, one, step, made.metadata.shared).replace("DEVICE", device)
            (folder / f"scaled-{name}-sm{capability}.ptx").write_text(text + bare(made.asm["ptx"]))
