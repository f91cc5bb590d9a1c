#!/usr/bin/env python3
"""Records what a GPU's tensor cores compute, for tests/tensor.rs to replay.

    tensor.py build DIR PTXAS             assemble a module for each configuration in DIR; report rejected ones
    tensor.py run DIR OUT [SALT [SCALE]]  run them through the CUDA driver and write OUT, the recording

The committed recording has SALT 0 and SCALE 1. Another salt gives other inputs, a greater scale more of them. With RAW
set to a prefix, all results are written to files of that prefix as well.

A configuration is named FAMILY.SHAPE.D.A.B.C, with modifiers and after a `+` variants behind. Inputs are a function of
the configuration's name, the salt, the tile (one instruction's matrices) and the position in the matrix; tensor.rs has
the same function. The kernel gets packed rows of A, columns of B and rows of C, and distributes them as the PTX manual
has it.

The recording is text, packed by gzip. Its first line is the salt; then there is one line for each configuration: its
name, the number of tiles, and for each kind of inputs the FNV-1a hash of the results and the first two of them.
"""
import ctypes, gzip, json, multiprocessing, os, re, subprocess, sys
import numpy as np

BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "f64": 64, "s8": 8, "u8": 8, "s4": 4, "u4": 4,
        "b1": 32, "f32": 32, "s32": 32}
FLOATS = {"f16": (5, 10), "bf16": (8, 7), "tf32": (8, 10), "e4m3": (4, 3), "e5m2": (5, 2), "f32": (8, 23), "f64": (11, 52)}
KINDS = 15
FNV_BASIS, FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3
PAIRS = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]


class Config:
    """A configuration, from its name."""

    def __init__(self, name, scale=1):
        self.name = name
        body, *variants = name.split("+")
        parts = body.split(".")
        self.family = parts.pop(0)
        self.sparse = parts[0] == "sp"
        if self.sparse:
            parts.pop(0)
        self.shape, self.d, self.a, self.b, self.c, *self.mods = parts
        self.variants = variants
        self.m, self.n, self.k = (int(x) for x in re.split("[mnk]", self.shape)[1:])
        # Elements in a column of B and in a row of A; one of .b1 is a word.
        self.kb = self.k // 32 if self.a == "b1" else self.k
        self.ka = self.kb // 2 if self.sparse else self.kb
        self.quad = self.shape == "m8n8k4" and self.a == "f16"
        results = 2048 if self.a in FLOATS else 512
        self.tiles = KINDS * scale * max(results // (self.m * self.n) // 4 * 4, 1)

    def seed(self, salt):
        h = FNV_BASIS ^ salt
        for byte in self.name.encode():
            h = (h ^ byte) * FNV_PRIME & (1 << 64) - 1
        return h


def configurations():
    names = []
    for k in (8, 16):
        names += [f"mma.m16n8k{k}.{t}.f16.f16.{t}" for t in ("f16", "f32")]
        names += [f"mma.m16n8k{k}.f32.bf16.bf16.f32", f"mma.m16n8k{k // 2}.f32.tf32.tf32.f32"]
        names += [f"mma.sp.m16n8k{2 * k}.{t}.f16.f16.{t}" for t in ("f16", "f32")]
        names += [f"mma.sp.m16n8k{2 * k}.f32.bf16.bf16.f32", f"mma.sp.m16n8k{k}.f32.tf32.tf32.f32"]
    names += [f"mma.m8n8k4.{d}.f16.f16.{c}" for d, c in (("f16", "f16"), ("f32", "f32"), ("f32", "f16"))]
    fp8 = [(a, b) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")]
    names += [f"mma.m16n8k{k}.{t}.{a}.{b}.{t}" for k in (16, 32) for t in ("f32", "f16") for a, b in fp8]
    names += [f"mma.sp.m16n8k64.f32.{a}.{b}.f32" for a, b in fp8]
    for rnd in ("", ".rz", ".rm", ".rp"):
        names += [f"mma.{s}.f64.f64.f64.f64{rnd}" for s in ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16")]
        names += [f"wmma.m8n8k4.f64.f64.f64.f64{rnd}"]
    names += [f"wmma.m16n16k16.{d}.f16.f16.{c}" for d in ("f16", "f32") for c in ("f16", "f32")]
    names += [f"wmma.m16n16k16.{d}.f16.f16.{c}.satfinite" for d in ("f16", "f32") for c in ("f16", "f32")]
    names += [f"wmma.{s}.f32.f16.f16.f32" for s in ("m8n32k16", "m32n8k16")]
    names += ["wmma.m16n16k16.f32.bf16.bf16.f32", "wmma.m16n16k8.f32.tf32.tf32.f32"]
    for sp, f in (("", 1), ("sp.", 2)):
        names += [f"wgmma.{sp}m64n8k{16 * f}.{t}.f16.f16.{t}" for t in ("f16", "f32")]
        names += [f"wgmma.{sp}m64n8k{16 * f}.f32.bf16.bf16.f32", f"wgmma.{sp}m64n8k{8 * f}.f32.tf32.tf32.f32"]
        names += [f"wgmma.{sp}m64n8k{32 * f}.{t}.{a}.{b}.{t}" for t in ("f32", "f16") for a, b in fp8]
    for v in ("+zero-c", "+negate-a", "+negate-b", "+shared-a"):
        names += [f"wgmma.m64n8k16.{t}.f16.f16.{t}{v}" for t in ("f16", "f32")]
        names += [f"wgmma.m64n8k32.f32.e4m3.e5m2.f32{v}", f"wgmma.m64n8k8.f32.tf32.tf32.f32{v}"]
        names += [f"wgmma.m64n8k16.f32.bf16.bf16.f32{v}"]
    names += [f"wgmma.m64n256k16.{t}.f16.f16.{t}" for t in ("f16", "f32")]
    names += ["wgmma.m64n256k16.f32.bf16.bf16.f32", "wgmma.m64n256k8.f32.tf32.tf32.f32"]
    names += [f"wgmma.m64n256k32.{t}.e5m2.e4m3.{t}" for t in ("f16", "f32")] + ["wgmma.m64n256k32.s32.s8.s8.s32"]
    for a, b in (("s8", "s8"), ("u8", "u8"), ("s8", "u8"), ("u8", "s8")):
        for sat in ("", ".satfinite"):
            names += [f"mma.{s}.s32.{a}.{b}.s32{sat}" for s in ("m8n8k16", "m16n8k16", "m16n8k32")]
            names += [f"mma.sp.{s}.s32.{a}.{b}.s32{sat}" for s in ("m16n8k32", "m16n8k64")]
            names += [f"wgmma.m64n8k32.s32.{a}.{b}.s32{sat}", f"wgmma.sp.m64n8k64.s32.{a}.{b}.s32{sat}"]
            if a == b:
                names += [f"wmma.m16n16k16.s32.{a}.{b}.s32{sat}"]
    for a, b in (("s4", "s4"), ("u4", "u4"), ("s4", "u4"), ("u4", "s4")):
        for sat in ("", ".satfinite"):
            names += [f"mma.{s}.s32.{a}.{b}.s32{sat}" for s in ("m8n8k32", "m16n8k32", "m16n8k64")]
            names += [f"mma.sp.{s}.s32.{a}.{b}.s32{sat}" for s in ("m16n8k64", "m16n8k128")]
            if a == b:
                names += [f"wmma.m8n8k32.s32.{a}.{b}.s32{sat}"]
    for o in ("xor", "and"):
        names += [f"mma.{s}.s32.b1.b1.s32.{o}" for s in ("m8n8k128", "m16n8k128", "m16n8k256")]
        names += [f"wmma.m8n8k128.s32.b1.b1.s32.{o}"]
    names += ["wgmma.m64n8k256.s32.b1.b1.s32.and"]
    return [Config(n) for n in names]


# ---- inputs -----------------------------------------------------------------------------------------------------
def mix(x):
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def draw(seed, matrix, tile, index, salt):
    """64 random bits for a position; the arguments are arrays of the same shape, or scalars."""
    counter = ((tile << np.uint64(24)) | (np.uint64(matrix) << np.uint64(22)) | (np.uint64(salt) << np.uint64(20))) + index
    return mix(np.uint64(seed) + (counter + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15))


def floats(config, seed, matrix, name, tile, row, k, width):
    """Elements of a float matrix: of A (matrix 0) at (row, k), of B (1) at (column, k), of C (2) at (row, column).

    The kinds of inputs: 0 all bits; 1 all finite; 2 exponents near that of 1, 3 from a wider range; 4, 5 terms which
    nearly cancel, side by side or half of k apart; 6 subnormals; 7 half of them zeros; 8 some special values; 9 the
    largest; 10 mostly zeros, else anything finite; 11 a few large ones in A; 12 powers of two and their neighbours
    below; 13 a large product, its opposite and a small one; 14 sums of the smallest products.
    """
    e, m = FLOATS[name]
    top, bias = (1 << e) - 1, (1 << (e - 1)) - 1
    reach = (1 << FLOATS[config.a][0]) - 2
    spread = min(12, bias - 1)
    c = matrix == 2
    kind = (tile % np.uint64(KINDS)).astype(np.int64)
    width = np.uint64(width)
    source = k
    if not c:
        half = max(width // np.uint64(2), np.uint64(1))
        source = np.where(kind == 4, k & ~np.uint64(1), np.where(kind == 5, k % half, k))
    r, s = (draw(seed, matrix, tile, row * width + source, salt) for salt in (0, 1))
    own = draw(seed, matrix, tile, row * width + k, 0)
    n = lambda x: ((s >> np.uint64(8)) % np.uint64(x)).astype(np.int64)
    sign = r >> np.uint64(63)
    ones = np.uint64((1 << m) - 1)
    mantissa = r & ones
    field = ((r >> np.uint64(m)) & np.uint64(top)).astype(np.int64)
    finite = np.where(field == top, top - 1, field)
    zero = np.zeros_like(finite)
    narrow = bias - 2 + n(8) if c else bias - 1 + n(3)
    medium = bias - 30 + n(50) if c and e > 5 else 1 + n(29) if c else bias - spread + n(2 * spread + 1)
    faint = bias - 28 + n(32) if c else bias - n(3)
    tiny = n(3) if matrix == 0 else bias - n(24) if matrix == 1 else n(4) if e == 5 else bias - reach + n(reach)
    low = s & np.uint64(63)
    pick = ((s >> np.uint64(32)) % np.uint64(6)).astype(np.int64)
    special_field = np.choose(pick, [zero + top, zero + top, zero + top - 1, zero, zero, zero + bias])
    special_mantissa = np.choose(pick, [0 * ones, mantissa | np.uint64(1), ones, 0 * ones, np.uint64(1), 0 * ones])
    wide = finite if e != 8 or c else bias - 20 + n(40)
    empty = (low & np.uint64(3)) == 0 if c else (low & np.uint64(3)) != 0
    big = medium if c else np.where((low & np.uint64(7)) == 0, bias + spread, bias - n(4)) if matrix == 0 else narrow
    power = bias - 24 + n(40) if c else bias - 6 + n(13)
    least = np.where((low & np.uint64(7)) == 0, n(8), 0) if c else n(3)
    if matrix == 1:
        least = bias - 6 - n(24) if e >= 8 else np.where((low & np.uint64(1)) != 0, top - 1 - n(3), n(6))
    fields = [field, finite, narrow, medium, faint, faint, tiny, np.where(low & np.uint64(1), 0, medium),
              np.where(low == 0, special_field, medium), top - 1 - n(8) if c else top - 1 - n(3), np.where(empty, 0, wide),
              big, power, zero, least]
    lowest = np.choose(kind, fields)
    lowest = np.where((kind >= 2) & ((kind != 8) | (low != 0)), np.clip(lowest, 0, top - 1), lowest)
    mantissa = np.where((kind == 7) & ((low & np.uint64(1)) != 0), np.uint64(0), mantissa)
    mantissa = np.where((kind == 8) & (low == 0), special_mantissa, mantissa)
    mantissa = np.where((kind == 10) & empty, np.uint64(0), mantissa)
    if c:
        mantissa = np.where((kind == 14) & ((low & np.uint64(7)) != 0), np.uint64(0), mantissa)
    mantissa = np.where(kind == 12, np.where(low & np.uint64(1), ones, np.uint64(0)), mantissa)
    if not c:
        moved = source != k
        if matrix == 0:
            sign = sign ^ moved.astype(np.uint64)
        else:
            mantissa = np.where(moved, mantissa ^ (own & np.uint64(1)), mantissa)
    # Three products: a large one, its opposite, and one to see against them.
    triple = kind == 13
    if matrix == 0:
        q = draw(seed, 3, tile, row, 0)
        at = lambda shift: (q >> np.uint64(shift)) % width == k
        small = np.maximum(1, bias + spread - ((q >> np.uint64(24)) % np.uint64(30)).astype(np.int64))
        large = at(0) | at(8)
        lowest = np.where(triple, np.where(large, bias + spread, np.where(at(16), small, 0)), lowest)
        mantissa = np.where(triple & ~(at(16) & ~large), np.uint64(0), mantissa)
        sign = np.where(triple & large, at(8).astype(np.uint64), sign)
    elif matrix == 1:
        lowest = np.where(triple, bias, lowest)
        mantissa = np.where(triple, np.uint64(0), mantissa)
        sign = np.where(triple, np.uint64(0), sign)
    else:
        none = triple & ((low & np.uint64(1)) != 0)
        lowest = np.where(triple & ~none, np.clip(medium, 0, top - 1), lowest)
        mantissa = np.where(none, np.uint64(0), mantissa)
    bits = sign << np.uint64(e + m) | lowest.astype(np.uint64) << np.uint64(m) | mantissa
    # The hardware is given something in the bits of a .tf32 register that it should ignore.
    return bits << np.uint64(13) | (own >> np.uint64(32) & np.uint64(0x1FFF)) if name == "tf32" else bits


def integers(seed, matrix, name, tile, row, k, width):
    bits = BITS[name]
    mask = np.uint64((1 << bits) - 1)
    r, s = (draw(seed, matrix, tile, row * np.uint64(width) + k, salt) for salt in (0, 1))
    kind = tile % np.uint64(KINDS) % np.uint64(4)
    odd = (s & np.uint64(1)) != 0
    least = np.uint64(1 << (bits - 1) if name[0] == "s" else 0)
    most = least - np.uint64(1) & mask
    if name == "s32":
        offset = r & np.uint64(0xFFF)
        extreme, small = np.where(odd, most - offset, least + offset), r & np.uint64(0xFFFF)
    else:
        extreme, small = np.where(odd, most, least), r & np.uint64(3)
    return np.where(kind == 1, extreme, np.where(kind == 2, small, r & mask))


def pack(values, bits):
    """Elements, an array (..., k), to the bytes in which they lie one after the other."""
    if bits == 4:
        return (values[..., 0::2] | values[..., 1::2] << np.uint64(4)).astype(np.uint8)
    return values.astype(f"<u{bits // 8}")


def inputs(config, salt):
    """A, B, C of every tile."""
    seed = config.seed(salt)
    result = []
    shapes = (config.a, config.m, config.ka), (config.b, config.n, config.kb), (config.c, config.m, config.n)
    for matrix, (name, rows, width) in enumerate(shapes):
        tile, row, k = np.meshgrid(*(np.arange(x, dtype=np.uint64) for x in (config.tiles, rows, width)), indexing="ij")
        if name in FLOATS:
            values = floats(config, seed, matrix, name, tile, row, k, width)
        else:
            values = integers(seed, matrix, name, tile, row, k, width)
        result.append(np.ascontiguousarray(pack(values, BITS[name])))
    return result


def metadata(config):
    """For each tile, the word which says for all rows alike which elements a sparse A has."""
    tile = np.arange(config.tiles) // KINDS
    nibbles = [0x4, 0xE] if config.a == "tf32" else [i | j << 2 for i, j in PAIRS]
    return (np.array(nibbles, dtype=np.uint64)[tile % len(nibbles)] * np.uint64(0x11111111)).astype(np.uint32)


# ---- kernels ----------------------------------------------------------------------------------------------------
def group(prefix, count):
    return "{" + ", ".join(f"%{prefix}{i}" for i in range(count)) + "}"


def kernel(config):
    """The PTX module of a configuration: one warp (a warpgroup for wgmma) computes one tile."""
    double = config.a == "f64"
    size, reg = (8, "b64") if double else (4, "b32")
    old = config.family == "wmma" and "satfinite" in config.mods and config.d[0] == "f"
    lines = [".version 6.3\n.target sm_70" if old else ".version 8.7\n.target sm_90a", ".address_size 64",
             ".shared .align 1024 .b8 tile[16384];",
             ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd, .param .u64 pm)", "{",
             ".reg .pred %p; .reg .b32 %t, %g, %l, %w, %x, %y, %z, %e, %s; .reg .b64 %A, %B, %C, %D, %M, %q, %u, %v;",
             f".reg .{reg} %a<16>, %b<16>, %c<16>, %d<128>;"]
    lines += [f"ld.param.u64 %{x.upper()}, [p{x}]; cvta.to.global.u64 %{x.upper()}, %{x.upper()};" for x in "abcdm"]
    c_bits, d_bits = BITS[config.c], BITS[config.d]
    sizes = {"A": config.m * config.ka * BITS[config.a] // 8, "B": config.n * config.kb * BITS[config.b] // 8,
             "C": config.m * config.n * c_bits // 8, "D": config.m * config.n * d_bits // 8, "M": 4}
    lines += ["mov.u32 %t, %tid.x; mov.u32 %x, %ctaid.x; and.b32 %l, %t, 31;"]
    if config.quad:
        lines += ["shr.u32 %y, %l, 2; and.b32 %y, %y, 3; mad.lo.u32 %x, %x, 4, %y;"]
    lines += [f"mad.wide.u32 %{x}, %x, {n}, %{x};" for x, n in sizes.items()]
    if config.sparse:
        lines += ["ld.global.u32 %e, [%M];"]
    lines += (wmma if config.family == "wmma" else quad if config.quad else mma)(config, size, reg)
    return "\n".join(lines + ["ret;", "}", ""])


def modifiers(config):
    """`.satfinite`, the operation on bits and the rounding, as instructions write them."""
    pick = lambda names, suffix="": "".join(f".{x}{suffix}" for x in config.mods if x in names)
    return pick(["satfinite"]), pick(["xor", "and"], ".popc"), pick(["rz", "rm", "rp"])


def wmma(config, size, reg):
    count = lambda elements, kind: max(elements * BITS[kind] // (8 * size) // 32, 1)
    # A fragment of .f16 factors has each element twice.
    na, nb = (8, 8) if config.a == "f16" else (count(config.m * config.ka, config.a), count(config.n * config.kb, config.b))
    nc, nd = (count(config.m * config.n, kind) for kind in (config.c, config.d))
    a, b, c, d = group("a", na), group("b", nb), group("c", nc), group("d", nd)
    sat, op, rnd = modifiers(config)
    types = f"{config.d}.{config.c}" if config.a == "f16" else f"{config.d}.{config.a}.{config.b}.{config.c}"
    return [f"wmma.load.a.sync.aligned.row.{config.shape}.global.{config.a} {a}, [%A], {config.k};",
            f"wmma.load.b.sync.aligned.col.{config.shape}.global.{config.b} {b}, [%B], {config.k};",
            f"wmma.load.c.sync.aligned.row.{config.shape}.global.{config.c} {c}, [%C], {config.n};",
            f"wmma.mma{op}.sync.aligned.row.col.{config.shape}{rnd}.{types}{sat} {d}, {a}, {b}, {c};",
            f"wmma.store.d.sync.aligned.row.{config.shape}.global.{config.d} [%D], {d}, {config.n};"]


def quad(config, size, reg):
    """mma.m8n8k4 of .f16: each quad pair of the warp computes a tile of its own."""
    lines = ["and.b32 %y, %l, 3; shr.u32 %z, %l, 4; mad.lo.u32 %g, %z, 4, %y;",
             "mad.wide.u32 %A, %g, 8, %A; ld.global.v2.b32 {%a0, %a1}, [%A];",
             "mad.wide.u32 %B, %g, 8, %B; ld.global.v2.b32 {%b0, %b1}, [%B];"]

    def fragment(kind, matrix, access):
        if kind == "f16":
            return [f"mad.wide.u32 %{matrix}, %g, 16, %{matrix};", access("v4", group(matrix.lower(), 4), f"[%{matrix}]")]
        at = {i: 4 * ((i & 2) * 8 + (i & 4)) for i in (0, 2, 4, 6)}
        pair = lambda i: f"{{%{matrix.lower()}{i}, %{matrix.lower()}{i + 1}}}"
        return ["and.b32 %x, %l, 1; mad.lo.u32 %x, %z, 4, %x; and.b32 %y, %l, 2;",
                f"mad.lo.u32 %x, %x, 8, %y; mad.wide.u32 %{matrix}, %x, 4, %{matrix};",
                *(access("v2", pair(i), f"[%{matrix}+{at[i]}]") for i in at)]

    nc, nd = (4 if x == "f16" else 8 for x in (config.c, config.d))
    lines += fragment(config.c, "C", lambda v, r, p: f"ld.global.{v}.b32 {r}, {p};")
    operands = f"{group('d', nd)}, {group('a', 2)}, {group('b', 2)}, {group('c', nc)}"
    lines += [f"mma.sync.aligned.m8n8k4.row.col.{config.d}.f16.f16.{config.c} {operands};"]
    return lines + fragment(config.d, "D", lambda v, r, p: f"st.global.{v}.b32 {p}, {r};")


def mma(config, size, reg):
    warpgroup = config.family == "wgmma"
    wa, wb = (k * BITS[t] // (8 * size) for k, t in ((config.ka, config.a), (config.kb, config.b)))
    halves = 2 if config.m > 8 else 1
    na, nb = halves * wa // 4, wb // 4
    lines = ["shr.u32 %g, %l, 2; and.b32 %w, %l, 3; shr.u32 %z, %t, 5; mad.lo.u32 %g, %z, 16, %g;",
             f"mad.lo.u32 %x, %g, {wa}, %w; mad.wide.u32 %u, %x, {size}, %A;"]
    lines += [f"ld.global.{reg} %a{j}, [%u+{size * ((j % halves) * 8 * wa + j // halves * 4)}];" for j in range(na)]
    half = config.d == "f16"
    step = config.n * BITS[config.d] // 8
    lines += [f"mul.lo.u32 %x, %w, {BITS[config.d] // 4}; mad.lo.u32 %x, %g, {step}, %x; cvt.u64.u32 %q, %x;",
              "add.u64 %C, %C, %q; add.u64 %D, %D, %q;"]
    # Where in C and D, and in which registers, a thread has its two neighbouring elements of each 8 rows and columns.
    parts = [(8 * step * j + BITS[config.d] * i, i * halves + j) for i in range(config.n // 8) for j in range(halves)]
    nc = len(parts) * (1 if half else 2)
    prefix = "d" if warpgroup else "c"
    vector = lambda p, j: f"%{p}{j}" if half else f"{{%{p}{2 * j}, %{p}{2 * j + 1}}}"
    v = "" if half else ".v2"
    lines += [f"ld.global{v}.{reg} {vector(prefix, j)}, [%C+{at}];" for at, j in parts]
    sparse = ".sp::ordered_metadata" if config.sparse else ""
    sat, op, rnd = modifiers(config)
    if warpgroup:
        lines += stage("B", config.n, wb, 0) + descriptor("q", wb, 0)
        a = group("a", na)
        if "shared-a" in config.variants:
            lines += stage("A", config.m, wa, 8192) + descriptor("v", wa, 8192)
            a = "%v"
        lines += [f"setp.ne.u32 %p, {int('zero-c' not in config.variants)}, 0;",
                  "fence.proxy.async; bar.sync 0; wgmma.fence.sync.aligned;"]
        scale = ""
        if config.a in FLOATS:
            scale = f", {-1 if 'negate-a' in config.variants else 1}, {-1 if 'negate-b' in config.variants else 1}"
            if config.a in ("f16", "bf16"):
                scale += ", 0" * (2 if a == "%v" else 1)
        meta = ", %e, 0" if config.sparse else ""
        sp = ".sp" if config.sparse else ""
        name = f"wgmma.mma_async{sp}.sync.aligned.{config.shape}{sat}.{config.d}.{config.a}.{config.b}{op}"
        lines += [f"{name} {group('d', nc)}, {a}, %q{meta}, %p{scale};",
                  "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"]
    else:
        lines += [f"shr.u32 %x, %l, 2; mad.lo.u32 %x, %x, {wb}, %w; mad.wide.u32 %u, %x, {size}, %B;"]
        lines += [f"ld.global.{reg} %b{j}, [%u+{size * j * 4}];" for j in range(nb)]
        meta = ", %e, 0" if config.sparse else ""
        types = f"{config.d}.{config.a}.{config.b}.{config.c}"
        lines += [f"mma{sparse}.sync.aligned.{config.shape}.row.col{sat}{rnd}.{types}{op} "
                  f"{group('d', nc)}, {group('a', na)}, {group('b', nb)}, {group('c', nc)}{meta};"]
    return lines + [f"st.global{v}.{reg} [%D+{at}], {vector('d', j)};" for at, j in parts]


def stage(matrix, rows, words, base):
    """Copies a matrix to shared memory without swizzle: 8 rows of 16 bytes lie together."""
    lines = []
    for first in range(0, rows * words, 128):
        label = f"L{matrix}{first}"
        lines += [f"add.u32 %x, %t, {first}; setp.ge.u32 %p, %x, {rows * words}; @%p bra {label};",
                  f"mad.wide.u32 %u, %x, 4, %{matrix}; ld.global.b32 %s, [%u];",
                  f"div.u32 %y, %x, {words}; rem.u32 %x, %x, {words};",
                  "and.b32 %z, %y, 7; mul.lo.u32 %z, %z, 16;",
                  f"shr.u32 %y, %y, 3; mad.lo.u32 %z, %y, {words * 32}, %z;",
                  "shr.u32 %y, %x, 2; mad.lo.u32 %z, %y, 128, %z;",
                  "and.b32 %x, %x, 3; mad.lo.u32 %z, %x, 4, %z;",
                  f"mov.b32 %y, tile; add.u32 %z, %z, %y; st.shared.b32 [%z+{base}], %s;", f"{label}:"]
    return lines


def descriptor(register, words, base):
    """The descriptor of what `stage` wrote: 16 bytes further along k is 128 bytes on, 8 rows further 8 whole rows on."""
    return [f"mov.b32 %s, tile; add.u32 %s, %s, {base}; shr.u32 %s, %s, 4; and.b32 %s, %s, 0x3fff;",
            f"cvt.u64.u32 %{register}, %s; or.b64 %{register}, %{register}, {(2 * words) << 32 | 8 << 16};"]


def assemble(job):
    path, text, ptxas = job
    with open(path + ".ptx", "w") as f:
        f.write(text)
    done = subprocess.run([ptxas, "-arch=sm_90a", "-o", path + ".cubin", path + ".ptx"], capture_output=True, text=True)
    return done.returncode, done.stderr + done.stdout


def build(folder, ptxas):
    os.makedirs(folder, exist_ok=True)
    configs = configurations()
    with multiprocessing.Pool() as pool:
        done = pool.map(assemble, [(os.path.join(folder, c.name), kernel(c), ptxas) for c in configs])
    for c, (code, message) in zip(configs, done):
        if code:
            print("rejected:", c.name, message.splitlines()[0] if message else "")
    with open(os.path.join(folder, "configs.json"), "w") as f:
        json.dump([c.name for c, (code, _) in zip(configs, done) if code == 0], f)


# ---- run --------------------------------------------------------------------------------------------------------
def prepare(job):
    np.seterr(over="ignore")
    name, salt, scale = job
    return inputs(Config(name, scale), salt)


def run(folder, out, salt="0", scale="1"):
    names = json.load(open(os.path.join(folder, "configs.json")))
    salt, scale = int(salt), int(scale)
    with multiprocessing.Pool() as pool:
        matrices = pool.imap(prepare, [(n, salt, scale) for n in names])
        measure(folder, out, salt, [Config(n, scale) for n in names], matrices)


def measure(folder, out, salt, configs, matrices):
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name, *args):
        code = getattr(cuda, name)(*args)
        assert code == 0, (name, code)

    call("cuInit", 0)
    context = ctypes.c_void_p()
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)

    def upload(array):
        pointer = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(array.nbytes))
        call("cuMemcpyHtoD_v2", pointer, array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes))
        return pointer

    lines, blob = [f"salt {salt}"], bytearray()
    for c, (a, b, cc) in zip(configs, matrices):
        d = np.zeros((c.tiles, c.m * c.n), dtype=f"<u{BITS[c.d] // 8}")
        try:
            pointers = [upload(x) for x in (a, b, cc, d, metadata(c))]
            module, function = ctypes.c_void_p(), ctypes.c_void_p()
            call("cuModuleLoad", ctypes.byref(module), os.path.join(folder, c.name + ".cubin").encode())
            call("cuModuleGetFunction", ctypes.byref(function), module, b"k")
            args = (ctypes.c_void_p * 5)(*(ctypes.cast(ctypes.byref(x), ctypes.c_void_p) for x in pointers))
            grid = c.tiles // 4 if c.quad else c.tiles
            call("cuLaunchKernel", function, grid, 1, 1, 128 if c.family == "wgmma" else 32, 1, 1, 0, None, args, None)
            call("cuCtxSynchronize")
            call("cuMemcpyDtoH_v2", d.ctypes.data_as(ctypes.c_void_p), pointers[3], ctypes.c_size_t(d.nbytes))
        except AssertionError as failure:
            print("failed:", c.name, failure)
            call("cuDevicePrimaryCtxReset_v2", 0)
            call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
            call("cuCtxSetCurrent", context)
            continue
        for p in pointers:
            call("cuMemFree_v2", p)
        call("cuModuleUnload", module)
        lines.append(describe(c, d))
        blob += d.tobytes()
    with gzip.GzipFile(out, "wb", 9, mtime=0) as f:
        f.write("\n".join(lines).encode() + b"\n")
    prefix, part = os.environ.get("RAW"), 15 << 20
    for i in range(0, len(blob) if prefix else 0, part):
        with open(f"{prefix}.{i // part}.bin", "wb") as f:
            f.write(blob[i : i + part])
    print(len(configs), "configurations,", len(blob), "bytes of results")


def describe(c, d):
    """The line of the recording for the results of a configuration."""
    words = [c.name, str(c.tiles)]
    for kind in range(KINDS):
        results = d[kind::KINDS].reshape(-1).astype(np.uint64)
        # The results are dealt to 64 hashes, so that numpy can go on with all at once; then these are hashed.
        lanes = np.full(64, FNV_BASIS, dtype=np.uint64)
        for chunk in results.reshape(-1, 64):
            lanes = (lanes ^ chunk) * np.uint64(FNV_PRIME)
        h = FNV_BASIS
        for x in lanes:
            h = (h ^ int(x)) * FNV_PRIME & (1 << 64) - 1
        words.append(f"{h:016x}:" + ",".join(f"{int(x):x}" for x in results[:2]))
    return " ".join(words)


if __name__ == "__main__":
    np.seterr(over="ignore")
    {"build": build, "run": run}[sys.argv[1]](*sys.argv[2:])
