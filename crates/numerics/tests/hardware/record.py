#!/usr/bin/env python3
"""Records what a GPU computes for single PTX instructions, for tests/hardware.rs to replay.

    record.py build DIR [PTXAS]   write the module and its inputs to DIR; with PTXAS, leave out what it rejects
    record.py run DIR OUT         run every instruction on the GPU through the CUDA driver, write OUT (gzip)

With EXHAUSTIVE=1 in the environment, instructions with one 16-bit operand run over all values.

The recording is text. `inputs NAME` begins a set of operands: one line a tuple, in hexadecimal. `op NAME SET DIGITS`
is followed by one line: the result of every tuple of the set, DIGITS hexadecimal digits each. The name of an op is the
instruction without operands; `+` marks what is observed besides the plain result.
"""
import ctypes, gzip, itertools, json, os, random, struct, subprocess, sys

EXHAUSTIVE = os.environ.get("EXHAUSTIVE") == "1"
RNDS = ["rn", "rz", "rm", "rp"]
CMPS = "eq ne lt le gt ge equ neu ltu leu gtu geu num nan".split()
INTS = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"]


# ---- inputs -----------------------------------------------------------------------------------------------------
def signed(values, sign):
    return [v for x in values for v in (x, x | sign)]


def f32(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def f64(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


F32_CORE = signed([0, 1, 0x7FFFFF, 0x800000, 0x3F800000, 0x3F7FFFFF, 0x7F7FFFFF, 0x7F800000], 1 << 31) + [
    0x7FC00000, 0x7F800001, 0xFFC12345, 0x7FFFFFFF, 0x3FC00001, 0x4B7FFFFF]
F32_MORE = F32_CORE + signed(
    [2, 0x400000, 0x800001, 0xFFFFFF, 0x1000000, 0x33000000, 0x33000001, 0x33800000, 0x34000000, 0x38000000,
     0x387FE000, 0x387FF000, 0x38800000, 0x477FE000, 0x477FEFFF, 0x477FF000, 0x47800000, 0x3F000000, 0x3EFFFFFF,
     0x3FC00000, 0x40200000, 0x3F800001, 0x40000000, 0x42FE0000, 0x42FF0000, 0x43000000, 0x437F0000, 0x437F8000,
     0x43E00000, 0x43E80000, 0x43E80001, 0x43F00000, 0x47600000, 0x47680000, 0x47700000, 0x46FFFE00, 0x47000000,
     0x477FFF00, 0x4B000000, 0x4AFFFFFF, 0x4F000000, 0x4EFFFFFF, 0x4F800000, 0x4F7FFFFF, 0x5F000000, 0x5EFFFFFF,
     0x5F800000, 0x7E800000, 0x7E800001, 0x7F000000, 0x7F000001, 0x7F7F0000, 0x7F7F8000, 0x7F7FFFFF, 0x7F7FF000,
     0x7F7FE000, 0x00008000, 0x00008001, 0x00001000, 0x00018000, 0x3F801000, 0x3F803000, 0x3F801001, 0x3C000000,
     0x3B000000, 0x3A800000, 0x3A800001, 0x37000000, 0x37800000, 0x36FFFFFF, 0x40490FDB, 0x3FC90FDB, 0x42B17218,
     0x42FC0000, 0xC2FC0000 & 0x7FFFFFFF, 0x43150000, 0x43160000, 0x47C35000, 0x4C000000, 0x501502F9], 1 << 31) + [
    0xFF800001, 0xFFFFFFFF, 0x7FA00000, 0x7FBFFFFF]
F64_CORE = signed([0, 1, 0xFFFFFFFFFFFFF, 0x10000000000000, f64(1.0), 0x3FEFFFFFFFFFFFFF, 0x7FEFFFFFFFFFFFFF,
                   0x7FF0000000000000], 1 << 63) + [
    0x7FF8000000000000, 0x7FF0000000000001, 0xFFF8123456789ABC, 0x7FFFFFFFFFFFFFFF, 0xFFF4000100020003, f64(1.5) + 1]
F64_MORE = F64_CORE + signed(
    [2, 0x8000000000000, 0x10000000000001, f64(0.5), f64(1.5), f64(2.5), f64(0.49999999999999994), f64(127.5),
     f64(128), f64(255.5), f64(32767.5), f64(65535.5), f64(2**31), f64(2**31 - 0.5), f64(2**32), f64(2**32 - 0.5),
     f64(2**63), f64(2**63) - 1, f64(2**64), f64(2**64) - 1, f64(3.4028234663852886e38), f64(3.4028235677973366e38),
     f64(3.4028235677973366e38) - 1, f64(2**128), f64(2.0**-126), f64(2.0**-126) - 1, f64(2.0**-149), f64(2.0**-150),
     f64(2.0**-150) + 1, f64(2.0**-151), f64(65504), f64(65519.99), f64(65520), f64(2.0**-24), f64(2.0**-25),
     f64(2.0**-25) + 1, f64(2.0**-14), f64(2.0**-14) - 1, f64(3.0), f64(1e300), f64(1e-300), 0x7FE0000000000000,
     0x7FD0000000000000, 0x0010000080000000, f64(2.0**-133), f64(2.0**-134), f64(2.0**-134) + 1, f64(1 + 2.0**-8),
     f64(1 + 2.0**-24), f64(1 + 3 * 2.0**-24), f64(1 + 2.0**-24) + 1, f64(1 + 2.0**-11)], 1 << 63) + [
    0xFFFFFFFFFFFFFFFF, 0x7FF4000000000000, 0x7FF00000ABCDEF01, 0xFFF0000000000001]
F16_CORE = signed([0, 1, 0x3FF, 0x400, 0x3C00, 0x3BFF, 0x7BFF, 0x7C00], 1 << 15) + [
    0x7E00, 0x7C01, 0xFE12, 0x7FFF, 0xFFFF, 0x3E01]
BF16_CORE = signed([0, 1, 0x7F, 0x80, 0x3F80, 0x3F7F, 0x7F7F, 0x7F80], 1 << 15) + [
    0x7FC0, 0x7F81, 0xFFC2, 0x7FFF, 0xFFFF, 0x3FC1]
FLOATS = {"f32": (F32_CORE, F32_MORE, 8, 23), "f64": (F64_CORE, F64_MORE, 11, 52), "f16": (F16_CORE, F16_CORE, 5, 10),
          "bf16": (BF16_CORE, BF16_CORE, 8, 7)}


def int_edges(bits):
    top = (1 << bits) - 1
    edges = [0, 1, 2, 3, top, top - 1, top >> 1, (top >> 1) + 1, (top >> 1) + 2, 0x55 * (top // 255), 7, 31, 32, 63, 64]
    edges += [127, 128, 129, 255]
    if bits > 8:
        edges += [256, 0x7FFF, 0x8000, 0x8001, 0xFFFF, 0xFF80, 0xFF7F, 2048, 2049, 65504, 65519, 65520]
    if bits > 16:
        edges += [0x10000, 0x7FFFFF, 0x800000, 0xFFFFFF, 0x1000000, 0x1000001, 0x1000003, 0xFFFF8000, 0xFFFF7FFF,
                  0x12345678, 0x7FFFFF80, 0x7FFFFFBF, 0x7FFFFFC0, 0xFFFFFF7F, 0xFFFFFF80]
    if bits > 32:
        edges += [0x80000000, 0xFFFFFFFF, 0x100000000, 0xFFFFFFFF80000000, 0xFFFFFFFF7FFFFFFF, 1 << 53, (1 << 53) + 1,
                  (1 << 53) + 3, (1 << 54) + 2, (1 << 62) + 1, 0x7FFFFFFFFFFFFC00, 0x7FFFFFFFFFFFFDFF,
                  0xFFFFFFFFFFFFFBFF, 0xFFFFFFFFFFFFFC00, 0x8000008000000000, 0x8000008000000001, 0x123456789ABCDEF0]
    return list(dict.fromkeys(e & top for e in edges))


def random_value(rng, kind):
    """A bit pattern of any exponent, or one near 1.0, where operands meet."""
    if kind in FLOATS:
        _, _, e, m = FLOATS[kind]
        bits = rng.getrandbits(e + m + 1)
        if rng.random() < 0.6:
            exponent = (1 << (e - 1)) - 1 + rng.randint(-6, 6)
            bits = rng.getrandbits(1) << (e + m) | exponent << m | rng.getrandbits(m)
        if rng.random() < 0.2:
            bits &= ~((1 << (m // 2)) - 1)
        return bits
    bits = int(kind[1:])
    return rng.getrandbits(bits) >> (rng.randrange(bits) if rng.random() < 0.5 else 0)


def tuples(kinds, edges, count, seed):
    rng = random.Random(seed)
    rows = list(itertools.product(*edges))
    rows += [tuple(random_value(rng, k) for k in kinds) for _ in range(count)]
    return rows


SETS = {}
for kind, (core, more, e, m) in FLOATS.items():
    bits = e + m + 1
    if bits == 16:
        # Every value on request; a thinned set is what the repository keeps.
        SETS[kind] = [(x,) for x in range(1 << 16)] if EXHAUSTIVE else tuples([kind], [core], 500, kind)
    else:
        SETS[kind] = tuples([kind], [more], 200, kind)
        if kind == "f32":
            # The approximate functions over their working ranges.
            rng = random.Random("approx")
            SETS["f32approx"] = [(x,) for x in more] + [
                (rng.getrandbits(31) | rng.getrandbits(1) << 31,) for _ in range(300)] + [
                (f32(rng.uniform(-8, 8)),) for _ in range(300)] + [(f32(rng.uniform(-160, 160)),) for _ in range(200)]
    SETS[kind + "2"] = tuples([kind] * 2, [core] * 2, 250, kind)
    some = core[:1] + core[2:3] + core[4:7] + core[8:9] + core[10:15] + core[16:18] + core[20:22]
    SETS[kind + "3"] = tuples([kind] * 3, [some] * 3, 500, kind)
for bits in (8, 16, 32, 64):
    kind = f"b{bits}"
    edges = int_edges(bits)
    SETS[kind] = tuples([kind], [edges], 60, kind)
    if bits > 8:
        few = edges[:9] + edges[10:14] + edges[-4:]
        SETS[kind + "2"] = tuples([kind] * 2, [few] * 2, 150, kind)
        SETS[kind + "3"] = tuples([kind] * 3, [edges[:8] + edges[-1:]] * 3, 300, kind)
        amounts = [0, 1, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 128, 255, 256, 257, 0x80000001, 0xFFFFFFFF]
        SETS[kind + "shift"] = tuples([kind, "b32"], [edges[:8] + [0x9ABC], amounts], 60, kind)
        if bits > 16:
            places = [0, 1, 5, 31, 32, 33, 40, 63, 64, 200, 255, 256, 258]
            SETS[kind + "field"] = tuples([kind, "b32", "b32"], [[edges[5], (1 << bits) - 1, edges[-1]], places, places], 60, kind)
            SETS[kind + "insert"] = tuples([kind, kind, "b32", "b32"], [[edges[-1]], [0, (1 << bits) - 1], places, places], 60, kind)
SETS["funnel"] = tuples(["b32"] * 3, [[0x89ABCDEF], [0x12345678], [0, 1, 8, 31, 32, 33, 40, 64, 255, 0xFFFFFFFF]], 60, 1)
SETS["permute"] = tuples(["b32"] * 3, [[0x83828180, 0x04030201], [0x17F6E5D4], [0, 1, 2, 3, 0x3210, 0x7654, 0xBA98, 0xFEDC, 0xFFFF3210, 0x8080]], 100, 2)
SETS["fns"] = tuples(["b32"] * 3, [[0, 0xAAAAAAAA, 0xFFFFFFFF, 0x80000001], [0, 2, 3, 30, 31],
                                  [x & 0xFFFFFFFF for x in (0, 1, -1, 2, -2, 5, 32, -32, 33, 0x7FFFFFFF, -0x80000000)]], 0, 3)
SETS["fp8x2"] = [(x | (x ^ 0x55) << 8,) for x in range(256)]
SETS["f16x2"] = [(x | ((x * 40503 + 77) & 0xFFFF) << 16,) for x in range(0, 1 << 16, 5 if EXHAUSTIVE else 97)]
SETS["f32pair"] = tuples(["f32"] * 2, [F32_MORE, [f32(1.0)]], 300, 4)
SETS["sat3"] = tuples(["b32"] * 3, [int_edges(32)[:16], int_edges(32)[:16], [0, 0x89ABCDEF]], 60, 5)


def near_one(bits, count, seed):
    """Pairs of significands in [1, 2) whose product lies within a few last places of 2: at the bottom of a binade."""
    rng = random.Random(seed)
    pairs = []
    while len(pairs) < count:
        m = rng.getrandbits(bits) | 1 << bits
        n = (2 << 2 * bits) // m + rng.randint(-1, 1)
        if 1 << bits <= n < 2 << bits:
            pairs.append((m & (1 << bits) - 1, n & (1 << bits) - 1))
    return pairs


def tiny_products(e, m, count):
    """Factors whose product is about the least normal value; the first operand takes either sign."""
    bias = (1 << (e - 1)) - 1
    rng = random.Random(m)
    rows = []
    for a, b in near_one(m, count, e):
        x = rng.randint(1, bias - 2)
        rows.append((rng.getrandbits(1) << (e + m) | x << m | a, (bias - x) << m | b))
    return rows


SETS["f32tiny"] = tiny_products(8, 23, 600)
SETS["f16tiny"] = tiny_products(5, 10, 300)
SETS["f32tiny3"] = [(a, b, c) for a, b in tiny_products(8, 23, 300) for c in (0, 1 << 31)] + [
    ((a & 0x80000000) | ((a >> 23 & 0xFF) + 1) << 23 | a & 0x7FFFFF, b, (~a & 0x80000000) | 0x800000 | random.Random(a).getrandbits(2))
    for a, b in tiny_products(8, 23, 300)]
SETS["f16tiny3"] = [(a, b, 0) for a, b in tiny_products(5, 10, 300)]
SETS["f32quotient"] = [(rng_a, b) for k in range(300) for rng in [random.Random(k)]
                       for b in [(rng.randint(150, 250) << 23) | rng.getrandbits(23)]
                       for rng_a in [((b >> 23) - 126 << 23 | b & 0x7FFFFF) - rng.randint(0, 2)]]
SETS["f64tiny"] = [(s << 63 | f64(2.0**-126) + d,) for s in (0, 1) for d in
                   [-1, -2, 1 - 2**28, -2**28, -2**28 - 1, -2**27, -2**27 - 1, 1 - 2**27, -2**29, -2**29 - 1, 1 - 2**29, -2**30, 0]]
SETS["oob"] = [(x, b, c) for x in range(0x7C01, 0x8000) for b, c in ((0x3C00, 0x3C00),)] + [
    (x | 0x8000, b, c) for x in range(0x7C01, 0x8000, 1) for b, c in ((0x3C00, 0x3C00),)] if EXHAUSTIVE else [
    (x, y, 0x3C00) for x in (0xFFFF, 0x7FFF, 0xFDFF, 0x7DFF, 0x3C00) for y in (0xFFFF, 0x7FFF, 0xFDFF, 0x7DFF, 0x3C00)]
LARGE = [0, 1, 5, 63, 64, 256, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFC1, 0xFFFFFFFE, 0xFFFFFFFF]
SETS["b64fieldlarge"] = tuples([], [[0x8000000000000001, 0x123456789ABCDEF0], LARGE, LARGE], 0, 6)
SETS["b64insertlarge"] = tuples([], [[0x123456789ABCDEF1], [0xFFFFFFFFFFFFFFFF], LARGE, LARGE], 0, 7)
SETS["b32fieldlarge"] = tuples([], [[0x80000001, 0x12345678], LARGE, LARGE], 0, 8)
for kind in ("f16", "bf16"):
    core = FLOATS[kind][0]
    rng = random.Random(kind + "x2")
    pair = lambda: rng.choice(core + [rng.getrandbits(16)]) | rng.choice(core + [rng.getrandbits(16)]) << 16
    SETS[kind + "x2_1"] = [(pair(),) for _ in range(200)]
    SETS[kind + "x2_2"] = [(pair(), pair()) for _ in range(300)]
    SETS[kind + "x2_3"] = [(pair(), pair(), pair()) for _ in range(300)]

# ---- instructions -----------------------------------------------------------------------------------------------
OPS = []  # name, set, destination bits, source bits, body


def op(name, inputs, dst, srcs, body=None):
    if body is None:
        body = name + " %d, " + ", ".join("%" + "abce"[i] for i in range(len(srcs))) + ";"
    OPS.append((name, inputs, dst, srcs, body))


def bits_of(t):
    return {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}.get(t) or max(16, int(t[1:]))


for t in ("f32", "f64"):
    b = bits_of(t)
    ftzs = ["", ".ftz"] if t == "f32" else [""]
    sats = ["", ".sat"] if t == "f32" else [""]
    for ftz in ftzs:
        for i in ("neg", "abs"):
            op(f"{i}{ftz}.{t}", t, b, [b])
        for r in RNDS:
            for i in ("sqrt", "rcp"):
                op(f"{i}.{r}{ftz}.{t}", t, b, [b])
            op(f"div.{r}{ftz}.{t}", t + "2", b, [b] * 2)
            for sat in sats:
                for i in ("add", "sub", "mul"):
                    op(f"{i}.{r}{ftz}{sat}.{t}", t + "2", b, [b] * 2)
                op(f"fma.{r}{ftz}{sat}.{t}", t + "3", b, [b] * 3)
        for c in CMPS:
            op(f"setp.{c}{ftz}.{t}", t + "2", 32, [b] * 2, f"setp.{c}{ftz}.{t} %p, %a, %b; selp.b32 %d, 1, 0, %p;")
        op(f"set.lt{ftz}.f32.{t}", t + "2", 32, [b] * 2)
        op(f"set.neu{ftz}.s32.{t}", t + "2", 32, [b] * 2)
        for i in ("min", "max"):
            for nan in ["", ".NaN"] if t == "f32" else [""]:
                for x in ["", ".xorsign.abs"] if t == "f32" else [""]:
                    op(f"{i}{ftz}{nan}{x}.{t}", t + "2", b, [b] * 2)
    op(f"copysign.{t}", t + "2", b, [b] * 2)
    for p in "finite infinite number notanumber normal subnormal".split():
        op(f"testp.{p}.{t}", t, 32, [b], f"testp.{p}.{t} %p, %a; selp.b32 %d, 1, 0, %p;")
for ftz in ("", ".ftz"):
    for i in "rcp sqrt rsqrt sin cos lg2 ex2".split():
        op(f"{i}.approx{ftz}.f32", "f32approx", 32, [32])
    op(f"div.approx{ftz}.f32", "f322", 32, [32] * 2)
    op(f"div.full{ftz}.f32", "f322", 32, [32] * 2)
    op(f"slct{ftz}.b32.f32", "f323", 32, [32] * 3)
op("tanh.approx.f32", "f32approx", 32, [32])
op("rsqrt.approx.f64", "f64", 64, [64])
for i in ("rcp", "rsqrt"):
    op(f"{i}.approx.ftz.f64", "f64", 64, [64])

for t in ("f16", "bf16"):
    ftzs = ["", ".ftz"] if t == "f16" else [""]
    for ftz in ftzs:
        for i in ("neg", "abs"):
            op(f"{i}{ftz}.{t}", t, 16, [16])
        for c in CMPS:
            op(f"setp.{c}{ftz}.{t}", t + "2", 32, [16] * 2, f"setp.{c}{ftz}.{t} %p, %a, %b; selp.b32 %d, 1, 0, %p;")
        op(f"set.lt{ftz}.{t}.{t}", t + "2", 16, [16] * 2)
        for sat in ["", ".sat"] if t == "f16" else [""]:
            for i in ("add", "sub", "mul"):
                for r in ("", ".rn"):
                    op(f"{i}{r}{ftz}{sat}.{t}", t + "2", 16, [16] * 2)
            op(f"fma.rn{ftz}{sat}.{t}", t + "3", 16, [16] * 3)
        op(f"fma.rn{ftz}.relu.{t}", t + "3", 16, [16] * 3)
        for relu in ("", ".relu"):
            op(f"fma.rn.oob{relu}.{t}", t + "3", 16, [16] * 3)
        for i in ("min", "max"):
            for nan in ("", ".NaN"):
                for x in ("", ".xorsign.abs"):
                    op(f"{i}{ftz}{nan}{x}.{t}", t + "2", 16, [16] * 2)
    op(f"tanh.approx.{t}", t, 16, [16])
    op("ex2.approx.f16" if t == "f16" else "ex2.approx.ftz.bf16", t, 16, [16])


def cvt(mods, d, s, inputs=None):
    op(f"cvt{mods}.{d}.{s}", inputs or (("b" + s[1:]) if s in INTS else s), bits_of(d), [bits_of(s)])


for s in ("f32", "f64", "f16", "bf16"):
    for d in INTS:
        for r in ("rni", "rzi", "rmi", "rpi"):
            cvt(f".{r}", d, s)
        if s == "f32":
            cvt(".rzi.ftz", d, s)
            cvt(".rpi.ftz", d, s)
    for d in ("f32", "f64", "f16", "bf16"):
        narrowing = bits_of(d) < bits_of(s) or {d, s} == {"f16", "bf16"}
        for r in [f".{x}" for x in RNDS] if narrowing else [".rni", ".rzi", ".rmi", ".rpi", ""] if d == s else [""]:
            for ftz in ("", ".ftz"):
                for sat in ("", ".sat"):
                    cvt(r + ftz + sat, d, s)
for s in INTS:
    for d in INTS:
        cvt("", d, s)
        cvt(".sat", d, s)
    for d in ("f32", "f64", "f16", "bf16"):
        for r in RNDS:
            cvt("." + r, d, s)
for d in ("f16", "bf16"):
    for r in ("rn", "rz"):
        for mods in (".relu", ".satfinite", ".relu.satfinite"):
            cvt(f".{r}{mods}", d, "f32")
        op(f"cvt.{r}.{d}x2.f32", "f32pair", 32, [32] * 2)
for mods in ("rna", "rna.satfinite", "rn", "rz", "rn.relu", "rz.satfinite", "rn.satfinite.relu"):
    op(f"cvt.{mods}.tf32.f32", "f32", 32, [32])
for f in ("e4m3x2", "e5m2x2"):
    for relu in ("", ".relu"):
        op(f"cvt.rn.satfinite{relu}.{f}.f32", "f32pair", 16, [32] * 2)
        op(f"cvt.rn.satfinite{relu}.{f}.f16x2", "f16x2", 16, [32])
        op(f"cvt.rn{relu}.f16x2.{f}", "fp8x2", 32, [16])
for d in ("u16", "s16"):
    op(f"cvt.pack.sat.{d}.s32", "b322", 32, [32] * 2)
for d in ("u8", "s8", "u4", "s4", "u2", "s2"):
    op(f"cvt.pack.sat.{d}.s32.b32", "sat3", 32, [32] * 3)

for b in (16, 32, 64):
    for t in (f"u{b}", f"s{b}"):
        for i in ("div", "rem", "min", "max", "mul.lo", "mul.hi", "add", "sub"):
            op(f"{i}.{t}", f"b{b}2", b, [b] * 2)
        for i in ("mad.lo", "mad.hi", "sad"):
            op(f"{i}.{t}", f"b{b}3", b, [b] * 3)
        if b < 64:
            op(f"mul.wide.{t}", f"b{b}2", 2 * b, [b] * 2)
        op(f"shr.{t}", f"b{b}shift", b, [b, 32])
        for c in ("lt", "le", "gt", "ge"):
            op(f"setp.{c}.{t}", f"b{b}2", 32, [b] * 2, f"setp.{c}.{t} %p, %a, %b; selp.b32 %d, 1, 0, %p;")
        if b > 16:
            op(f"bfe.{t}", f"b{b}field", b, [b, 32, 32])
            op(f"bfind.{t}", f"b{b}", 32, [b])
            op(f"bfind.shiftamt.{t}", f"b{b}", 32, [b])
            # The carry out is read back by addc (a borrow by subc) of zeros.
            for cc, carry in (("add.cc", "addc"), ("sub.cc", "subc"), ("sub.cc", "addc"), ("add.cc", "subc")):
                op(f"{cc}+{carry}.{t}", f"b{b}2", b, [b] * 2, f"{cc}.{t} %x, %a, %b; {carry}.{t} %d, 0, 0;")
            for i in ("mad.lo.cc", "mad.hi.cc"):
                op(f"{i}+addc.{t}", f"b{b}3", b, [b] * 3, f"{i}.{t} %x, %a, %b, %c; addc.{t} %d, 0, 0;")
    op(f"abs.s{b}", f"b{b}", b, [b])
    op(f"neg.s{b}", f"b{b}", b, [b])
    op(f"shl.b{b}", f"b{b}shift", b, [b, 32])
    op(f"cnot.b{b}", f"b{b}", b, [b])
    if b > 16:
        op(f"bfi.b{b}", f"b{b}insert", b, [b, b, 32, 32])
        for i in ("popc", "clz"):
            op(f"{i}.b{b}", f"b{b}", 32, [b])
        op(f"brev.b{b}", f"b{b}", b, [b])
for t in ("u32", "s32"):
    for i in ("mul24.lo", "mul24.hi"):
        op(f"{i}.{t}", "b322", 32, [32] * 2)
    for i in ("mad24.lo", "mad24.hi"):
        op(f"{i}.{t}", "b323", 32, [32] * 3)
    for m in ("clamp", "wrap"):
        op(f"szext.{m}.{t}", "b32shift", 32, [32] * 2)
    for u in ("u32", "s32"):
        op(f"dp4a.{t}.{u}", "b323", 32, [32] * 3)
        for h in ("lo", "hi"):
            op(f"dp2a.{h}.{t}.{u}", "b323", 32, [32] * 3)
for m in ("clamp", "wrap"):
    op(f"bmsk.{m}.b32", "b32shift", 32, [32] * 2)
    for d in "lr":
        op(f"shf.{d}.{m}.b32", "funnel", 32, [32] * 3)
for i in ("add", "sub"):
    op(f"{i}.sat.s32", "b322", 32, [32] * 2)
for i in ("mad.hi.sat.s32", "mad24.hi.sat.s32"):
    op(i, "b323", 32, [32] * 3)
for i in ("min", "max"):
    op(f"{i}.relu.s32", "b322", 32, [32] * 2)
    op(f"{i}.relu.s16x2", "b322", 32, [32] * 2)
for i in ("add", "min", "max"):
    for t in ("u16x2", "s16x2"):
        op(f"{i}.{t}", "b322", 32, [32] * 2)
op("fns.b32", "fns", 32, [32] * 3)
op("prmt.b32", "permute", 32, [32] * 3)
for m in "f4e b4e rc8 ecl ecr rc16".split():
    op(f"prmt.b32.{m}", "permute", 32, [32] * 3)

# Some instructions again, on sets made for them.
for r in RNDS:
    for sat in ("", ".sat"):
        op(f"mul.{r}.ftz{sat}.f32", "f32tiny", 32, [32] * 2)
        op(f"fma.{r}.ftz{sat}.f32", "f32tiny3", 32, [32] * 3)
    op(f"mul.{r}.f32", "f32tiny", 32, [32] * 2)
    op(f"fma.{r}.f32", "f32tiny3", 32, [32] * 3)
    op(f"div.{r}.ftz.f32", "f32quotient", 32, [32] * 2)
    op(f"div.{r}.f32", "f32quotient", 32, [32] * 2)
    op(f"cvt.{r}.ftz.f32.f64", "f64tiny", 32, [64])
op("mul.ftz.f16", "f16tiny", 16, [16] * 2)
op("fma.rn.ftz.f16", "f16tiny3", 16, [16] * 3)
op("mul.f16", "f16tiny", 16, [16] * 2)
for t in ("f16", "bf16"):
    op(f"fma.rn.oob.{t}", "oob", 16, [16] * 3)
op("bfe.u64", "b64fieldlarge", 64, [64, 32, 32])
op("bfe.s64", "b64fieldlarge", 64, [64, 32, 32])
op("bfi.b64", "b64insertlarge", 64, [64, 64, 32, 32])
op("bfe.u32", "b32fieldlarge", 32, [32] * 3)
op("bfe.s32", "b32fieldlarge", 32, [32] * 3)
for t in ("f16x2", "bf16x2"):
    for i in ("neg", "abs"):
        op(f"{i}.{t}", t + "_1", 32, [32])
    op(f"tanh.approx.{t}", t + "_1", 32, [32])
    op("ex2.approx.f16x2" if t == "f16x2" else "ex2.approx.ftz.bf16x2", t + "_1", 32, [32])
    for i in ("add", "sub", "mul", "min", "max", "min.NaN", "max.xorsign.abs"):
        op(f"{i}.{t}", t + "_2", 32, [32] * 2)
    op(f"fma.rn.{t}", t + "_3", 32, [32] * 3)
    op(f"fma.rn.relu.{t}", t + "_3", 32, [32] * 3)
    op(f"set.ltu.{t}.{t}", t + "_2", 32, [32] * 2)
    op(f"cvt.rz.relu.satfinite.{t}.f32", "f32pair", 32, [32] * 2)


# ---- module -----------------------------------------------------------------------------------------------------
def kernel(index, entry):
    _, _, dst, srcs, body = entry
    text = f".visible .entry k{index}(.param .u64 pi, .param .u64 po, .param .u32 pn)\n{{\n"
    text += ".reg .pred %p, %q; .reg .u32 %i, %n, %t; .reg .u64 %pi, %po, %w;\n"
    text += f".reg .b{dst} %d; .reg .b{srcs[0]} %x;\n"
    text += "".join(f".reg .b{b} %{r};" for r, b in zip("abce", srcs)) + "\n"
    text += "ld.param.u64 %pi, [pi]; ld.param.u64 %po, [po]; ld.param.u32 %n, [pn];\n"
    text += "mov.u32 %i, %ctaid.x; mov.u32 %t, %tid.x; mad.lo.u32 %i, %i, 256, %t;\n"
    text += "setp.ge.u32 %q, %i, %n; @%q ret;\n"
    text += f"mad.wide.u32 %pi, %i, {8 * len(srcs)}, %pi; mad.wide.u32 %po, %i, 8, %po;\n"
    for k, (r, b) in enumerate(zip("abce", srcs)):
        text += f"ld.global.u64 %w, [%pi+{8 * k}]; " + (f"mov.b64 %{r}, %w;\n" if b == 64 else f"cvt.u{b}.u64 %{r}, %w;\n")
    text += body + "\n"
    text += "mov.b64 %w, %d;\n" if dst == 64 else f"cvt.u64.u{dst} %w, %d;\n"
    return text + "st.global.u64 [%po], %w; ret;\n}\n"


HEADER = ".version 8.6\n.target sm_90\n.address_size 64\n"


def accepted(path, ptxas, ops):
    with open(path, "w") as f:
        f.write(HEADER + "".join(kernel(i, o) for i, o in enumerate(ops)))
    done = subprocess.run([ptxas, "-arch=sm_90", "-o", path.replace(".ptx", ".cubin"), path], capture_output=True, text=True)
    return done.returncode == 0, done.stderr


def build(folder, ptxas=None):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "ops.ptx")
    ops, rejected = list(OPS), []
    if ptxas:
        def split(some):
            if accepted(path, ptxas, some)[0]:
                return some
            if len(some) == 1:
                rejected.append(some[0][0])
                return []
            half = len(some) // 2
            return split(some[:half]) + split(some[half:])
        ops = [o for k in range(0, len(ops), 16) for o in split(ops[k : k + 16])]
        ok, message = accepted(path, ptxas, ops)
        assert ok, message
    with open(os.path.join(folder, "ops.json"), "w") as f:
        json.dump([o[:4] for o in ops], f)
    print(len(ops), "instructions; rejected:", " ".join(rejected))


# ---- run --------------------------------------------------------------------------------------------------------
def run(folder, out):
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name, *args):
        code = getattr(cuda, name)(*args)
        assert code == 0, (name, code)

    call("cuInit", 0)
    context, module, u64 = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    call("cuModuleLoad", ctypes.byref(module), os.path.join(folder, "ops.cubin").encode())
    ops = json.load(open(os.path.join(folder, "ops.json")))
    pointers = {}
    result = u64()
    call("cuMemAlloc_v2", ctypes.byref(result), 8 * max(len(s) for s in SETS.values()))
    lines = []
    for name in dict.fromkeys(o[1] for o in ops):
        rows = SETS[name]
        flat = [x for row in rows for x in row]
        pointers[name] = u64()
        call("cuMemAlloc_v2", ctypes.byref(pointers[name]), 8 * len(flat))
        call("cuMemcpyHtoD_v2", pointers[name], (u64 * len(flat))(*flat), ctypes.c_size_t(8 * len(flat)))
        lines.append(f"inputs {name}")
        lines += [" ".join(f"{x:x}" for x in row) for row in rows]
    for index, (name, inputs, dst, srcs) in enumerate(ops):
        n = len(SETS[inputs])
        function = ctypes.c_void_p()
        call("cuModuleGetFunction", ctypes.byref(function), module, f"k{index}".encode())
        count = ctypes.c_uint32(n)
        args = (ctypes.c_void_p * 3)(*(ctypes.cast(ctypes.byref(x), ctypes.c_void_p) for x in (pointers[inputs], result, count)))
        call("cuLaunchKernel", function, (n + 255) // 256, 1, 1, 256, 1, 1, 0, None, args, None)
        call("cuCtxSynchronize")
        values = (u64 * n)()
        call("cuMemcpyDtoH_v2", values, result, ctypes.c_size_t(8 * n))
        lines.append(f"op {name} {inputs} {dst // 4}")
        lines.append("".join(f"{v:0{dst // 4}x}" for v in values))
    with gzip.GzipFile(out, "wb", 9, mtime=0) as f:
        f.write("\n".join(lines).encode() + b"\n")
    print(len(ops), "instructions recorded,", os.path.getsize(out), "bytes")


if __name__ == "__main__":
    if sys.argv[1] == "build":
        build(*sys.argv[2:])
    else:
        run(*sys.argv[2:])
