#!/usr/bin/env python3
"""Writes the directives of the tests of this folder: inputs, and results by independent means (numpy, hashlib, zlib).

    python3 tests/clang/expected.py

The lines that start with `//:` or `//|` at the top of every NAME.cu are replaced.
"""
import hashlib
import pathlib
import textwrap
import zlib

import numpy as np

HERE = pathlib.Path(__file__).parent
random = np.random.RandomState(7)


def array(name, ty, values, kind):
    """A directive `kind name type[n] = values`; floating-point values as their bits."""
    values = np.asarray(values).reshape(-1)
    if ty in ("f32", "f64"):
        bits = values.astype({"f32": np.float32, "f64": np.float64}[ty])
        words = [hex(v) for v in bits.view({"f32": np.uint32, "f64": np.uint64}[ty])]
    else:
        words = [str(int(v)) for v in values]
    runs, at = [], 0
    while at < len(words):
        end = at
        while end < len(words) and words[end] == words[at]:
            end += 1
        runs.append(words[at] if end - at == 1 else f"{words[at]}*{end - at}")
        at = end
    lines = textwrap.wrap(" ".join(runs), 110)
    return f"//: {kind} {name} {ty}[{len(words)}] = " + "\n//|   ".join([lines[0]] + lines[1:])


def arg(name, ty, value):
    return f"//: arg {name} {ty} = {value}"


def reduction():
    values = random.randint(-1000, 1000, 1000)
    yield "//: run reduce grid=3 block=128"
    yield array("values", "s32", values, "in")
    yield arg("count", "s32", 1000)
    yield array("sum", "s32", [values.sum()], "out")
    yield array("extremes", "s32", [0, 0], "in")
    yield array("extremes", "s32", [values.min(), values.max()], "out")


def scan():
    values = random.randint(-50, 50, 512)
    sums = np.concatenate([np.cumsum(half) for half in np.split(values, 2)])
    for kernel in ("scan_shared", "scan_shuffled"):
        yield f"//: run {kernel} grid=2 block=256"
        yield array("in", "s32", values, "in")
        yield array("out", "s32", sums, "out")


def histogram():
    values = (random.normal(128, 40, 2000)).clip(0, 255).astype(np.uint8)
    yield "//: run histogram grid=4 block=96"
    yield array("bytes", "u8", values, "in")
    yield arg("count", "u32", 2000)
    yield array("bins", "u32", np.bincount(values // 16, minlength=16), "out")


def sort():
    keys = random.randint(0, 2**32, 512, dtype=np.uint64)
    yield "//: run bitonic block=256"
    yield array("keys", "u32", keys, "in")
    yield array("keys", "u32", np.sort(keys), "out")
    rows = random.randint(-99, 99, (40, 20))
    yield "//: run sort_rows block=40"
    yield array("rows", "s32", rows, "in")
    yield array("rows", "s32", np.sort(rows, axis=1), "out")


def transpose():
    matrix = np.arange(21 * 37).reshape(21, 37) * 7 + 1
    yield "//: run transpose grid=3,2 block=16,16"
    yield array("in", "u32", matrix, "in")
    yield array("out", "u32", matrix.T, "out")
    yield arg("rows", "s32", 21)
    yield arg("columns", "s32", 37)


def matmul():
    a, b = random.randint(-9, 9, (2, 13, 13)).astype(np.float64)
    yield "//: run matmul grid=2,2 block=8,8"
    yield array("a", "f64", a, "in")
    yield array("b", "f64", b, "in")
    yield array("c", "f64", a @ b, "out")
    yield arg("n", "s32", 13)


def mandelbrot():
    f = np.float32
    steps = np.zeros((24, 32), int)
    for y in range(24):
        for x in range(32):
            cr, ci = f(-2) + f(x) * f(0.09375), f(-1.125) + f(y) * f(0.09375)
            r, i, n = f(0), f(0), 0
            while n < 100 and r * r + i * i <= f(4):
                r, i, n = r * r - i * i + cr, f(2) * r * i + ci, n + 1
            steps[y, x] = n
    yield "//: run mandelbrot grid=2,6 block=16,4"
    yield array("steps", "u32", steps, "out")
    yield arg("left", "f32", -2)
    yield arg("top", "f32", -1.125)
    yield arg("step", "f32", 0.09375)


def nbody():
    f = np.float32
    bodies = random.uniform(-1, 1, (64, 4)).astype(f)
    bodies[:, 3] = np.abs(bodies[:, 3])
    velocities = random.uniform(-0.1, 0.1, (64, 3)).astype(f)
    yield "//: run nbody block=64"
    yield array("bodies", "f32", bodies, "in")
    yield array("velocities", "f32", velocities, "in")
    for _ in range(2):
        pull = np.zeros((64, 3), f)
        for j in range(64):
            d = bodies[j, :3] - bodies[:, :3]
            square = d[:, 0] * d[:, 0] + d[:, 1] * d[:, 1] + d[:, 2] * d[:, 2] + f(0.5)
            pull = pull + d * (bodies[j, 3] / (square * np.sqrt(square)))[:, None]
        velocities = velocities + pull * f(0.125)
        bodies[:, :3] = bodies[:, :3] + velocities * f(0.125)
    assert bodies.dtype == velocities.dtype == f
    yield array("bodies", "f32", bodies, "out")
    yield array("velocities", "f32", velocities, "out")


def spmv():
    rows = 50
    lengths = random.randint(0, 7, rows)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    columns = random.randint(0, rows, starts[-1])
    values, x = random.uniform(-1, 1, starts[-1]), random.uniform(-1, 1, rows)
    y = []
    for row in range(rows):
        total = 0.0
        for k in range(starts[row], starts[row + 1]):
            total += values[k] * x[columns[k]]
        y.append(total)
    yield "//: run by_thread grid=2 block=32"
    yield array("starts", "u32", starts, "in")
    yield array("columns", "u32", columns, "in")
    yield array("values", "f64", values, "in")
    yield array("x", "f64", x, "in")
    yield array("y", "f64", y, "out")
    yield arg("rows", "u32", rows)


def strings():
    text = "".join(f"{i}={i**3}".ljust(16, ".") for i in range(40))
    yield "//: run cubes block=40"
    yield array("text", "u8", list(text.encode()), "out")
    words = b"data flow is the tree of a program that nobody has to draw "
    turned = b"".join(word[::-1] + b" " for word in words.split())
    yield "//: run reverse_words block=32"
    yield array("text", "u8", list(words), "in")
    yield array("text", "u8", list(turned), "out")
    yield arg("length", "u32", len(words))


def interpret(program, i):
    wrap = lambda value: (value + 2**31) % 2**32 - 2**31
    a, b, at = i, 1, 0
    while True:
        code = program[at]
        at += 1
        if code == 0:
            return a
        if code == 1:
            a = wrap(a + b)
        elif code == 2:
            b = wrap(b * 3)
        elif code == 3:
            a ^= b
        elif code == 4:
            b -= 1
            at = program[at] if b > 0 else at + 1
        elif code == 5:
            a, b = b, a
        elif code == 6:
            b = program[at]
            at += 1
        elif code == 7:
            a = wrap(a << 1)
        else:
            return -1


def ackermann(m, n):
    if m == 0:
        return n + 1
    return ackermann(m - 1, 1 if n == 0 else ackermann(m, n - 1))


def calls():
    yield "//: run recursion block=36"
    yield array("out", "u32", [ackermann(i % 3, i // 3 % 4) for i in range(36)], "out")
    a, b = random.randint(-100, 100, (2, 80))
    functions = [np.add, np.subtract, np.multiply, np.maximum]
    yield "//: run pointers grid=2 block=40"
    yield array("a", "s32", a, "in")
    yield array("b", "s32", b, "in")
    yield array("out", "s32", [functions[i % 4](a[i], b[i]) for i in range(80)], "out")
    sums = []
    for i in range(40):
        note = [(k + 1) ^ 9 for k in range(8)]
        sums += [7 + i * (i + 1), (i + 1) * 7, note[i % 8]]
    yield "//: run structures block=40"
    yield array("out", "s64", sums, "out")
    programs = [
        [6, 10, 1, 4, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [6, 5, 2, 5, 7, 5, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [6, 200, 1, 3, 7, 4, 2, 9, 0, 0, 0, 0, 0, 0, 0, 0],
    ]
    yield "//: run interpreter block=48"
    yield array("programs", "u8", programs, "in")
    yield array("out", "s32", [interpret(programs[i % 3], i) for i in range(48)], "out")


def digests():
    data = random.randint(0, 256, 40 * 24).astype(np.uint8)
    yield "//: run crc32 block=40"
    yield array("bytes", "u8", data, "in")
    yield arg("length", "u32", 24)
    yield array("out", "u32", [zlib.crc32(row.tobytes()) for row in data.reshape(40, 24)], "out")
    hashes = b"".join(hashlib.sha256(bytes(range(i, 2 * i))).digest() for i in range(50))
    yield "//: run sha256 block=50"
    yield array("out", "u32", np.frombuffer(hashes, ">u4"), "out")


for test in (reduction, scan, histogram, sort, transpose, matmul, mandelbrot, nbody, spmv, strings, calls, digests):
    path = HERE / f"{test.__name__}.cu"
    # A seed for each test, so that a new test changes no other.
    random.seed(zlib.crc32(test.__name__.encode()))
    plain = [line for line in path.read_text().splitlines() if not line.startswith(("//:", "//|"))]
    path.write_text("\n".join(list(test()) + [line for line in plain]) + "\n")
