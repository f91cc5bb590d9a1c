#!/usr/bin/env python3
"""Compiles attention to PTX, without a GPU, and makes file tests of it:

    python3 tests/triton/attention.py tests/run/triton

A query has one element that is not 0, and two keys have one in the same place: the softmax gives each of them a half, and the others
less than `.f32` has. So a row of the result is half the sum of two known rows of V. The two keys are in different blocks, so that what
was summed up is scaled on the way.
"""
import pathlib
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from dots import DEVICES, bare

QUERIES, KEYS, WIDTH = 128, 128, 64


@triton.jit
def attention(q, k, v, out, keys, scale, ROWS: tl.constexpr, BLOCK: tl.constexpr, WIDTH: tl.constexpr):
    rows, columns = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, WIDTH)
    x = tl.load(q + rows[:, None] * WIDTH + columns[None, :])
    best = tl.full((ROWS,), -float("inf"), dtype=tl.float32)
    weight = tl.zeros((ROWS,), dtype=tl.float32)
    total = tl.zeros((ROWS, WIDTH), dtype=tl.float32)
    for start in range(0, keys, BLOCK):
        inner = start + tl.arange(0, BLOCK)
        scores = tl.dot(x, tl.load(k + inner[None, :] * WIDTH + columns[:, None])) * scale
        better = tl.maximum(best, tl.max(scores, 1))
        weights, shrink = tl.exp2(scores - better[:, None]), tl.exp2(best - better)
        y = tl.load(v + inner[:, None] * WIDTH + columns[None, :])
        total = tl.dot(weights.to(tl.float16), y, total * shrink[:, None])
        weight, best = weight * shrink + tl.sum(weights, 1), better
    tl.store(out + rows[:, None] * WIDTH + columns[None, :], total / weight[:, None])


def directives(shared, device):
    place = f"((i / {WIDTH} * 5 + 3) % {WIDTH})"
    value = lambda row: f"2 * (({row} * 3 + {row} / {WIDTH} * 4 + i % {WIDTH} * 5) % 8)"
    on = f"//: device {device}\n" if device else ""
    return f"""// Attention, compiled by Triton {triton.__version__}: tests/triton/attention.py made this file.
{on}//: run attention grid={QUERIES // 64} block=128 shared={shared}
//: in q f16[{QUERIES * WIDTH}] = for i: i % {WIDTH} == {place} ? 32 : 0
//: in k f16[{KEYS * WIDTH}] = for i: i % {WIDTH} == i / {WIDTH} % {WIDTH} ? 32 : 0
//: in v f16[{KEYS * WIDTH}] = for i: {value(f"(i / {WIDTH})")}
//: out half f32[{QUERIES * WIDTH}] = for i: ({value(place)} + {value(f"({place} + {WIDTH})")}) / 2
//: arg keys u32 = {KEYS}
//: arg scale f32 = 0.125
//: arg scratch u64 = 0
//: arg profile u64 = 0
"""


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    # For 10.0 it uses what `tcgen05.ld` loads before it waits, which is wrong where that is late.
    for capability in (90, 120):
        arguments = {"q": "*fp16", "k": "*fp16", "v": "*fp16", "out": "*fp32", "keys": "i32", "scale": "fp32"}
        constants = {"ROWS": 64, "BLOCK": 64, "WIDTH": WIDTH}
        source = ASTSource(
            fn=attention,
            signature=arguments | {name: "constexpr" for name in constants},
            constexprs=constants,
            attrs={(i,): [["tt.divisibility", 16]] for i in range(5)},
        )
        made = triton.compile(source, target=GPUTarget("cuda", capability, 32), options={"num_warps": 4, "num_stages": 2})
        (folder / f"attention-sm{capability}.ptx").write_text(directives(made.metadata.shared, DEVICES[capability]) + bare(made.asm["ptx"]))
