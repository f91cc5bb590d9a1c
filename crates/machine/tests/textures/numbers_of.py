"""Cases as text, and the numbers that they name: contents of textures and coordinates."""
import numpy as np

U = np.uint64
SPECIAL_F = np.array([0x00000000, 0x80000000, 0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000, 0xc0000000,
                      0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0x00000001, 0x80000001, 0x00800000,
                      0x4b000000, 0xcb000000, 0x4b800000, 0x4f000000, 0xcf000000, 0x4e800000, 0xce800000, 0x7f7fffff,
                      0xff7fffff, 0x3effffff, 0x3f7fffff, 0xb3000000, 0x33000000, 0x46fffe00, 0xc6fffe00, 0x47800000],
                     dtype=np.uint32)
SPECIAL_I = np.array([0, 0xffffffff, 1, 0x7fffffff, 0x80000000, 0x10000, 0xffff0000, 0x7fff], dtype=np.uint32)


def mix(x):
    with np.errstate(over="ignore"):
        z = (np.asarray(x, dtype=U) + U(1)) * U(0x9E3779B97F4A7C15)
        z = (z ^ (z >> U(30))) * U(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> U(27))) * U(0x94D049BB133111EB)
        return z ^ (z >> U(31))


def digest(words):
    words = np.asarray(words, dtype=np.uint32).reshape(-1)
    with np.errstate(over="ignore"):
        return int(np.add.reduce(mix(words.astype(U) + (np.arange(words.size, dtype=U) << U(32))), dtype=U))


def float_bits(v):
    with np.errstate(over="ignore"):
        return np.asarray(v, dtype=np.float64).astype(np.float32).view(np.uint32)


def word(recipe, seed, k, n):
    """The words of operand `k` for `n` threads."""
    i = np.arange(n, dtype=U)
    h = mix((U(seed) << U(32)) + i * U(16) + U(k))
    kind, rest = recipe[0], recipe[1:].split(":")
    if kind == "0":
        return np.zeros(n, np.uint32)
    if kind == "c":
        return np.full(n, int(rest[0], 16), np.uint32)
    if kind == "t":
        div, mod, mul, add = map(int, rest)
        return (((np.arange(n) // div) % mod) * mul + add).astype(np.int64).astype(np.uint32)
    if kind == "r":
        return (h >> U(32)).astype(np.uint32)
    if kind == "x":
        return SPECIAL_F[np.arange(n) // int(rest[0]) % 32]
    sel = (h & U(15)).astype(int)
    unit = (h >> U(11)).astype(np.float64) * 2.0 ** -53
    low = (h >> U(4))
    if kind == "i":
        lo, hi = int(rest[0]), int(rest[1])
        out = (lo + np.floor(unit * (hi - lo)).astype(np.int64)).astype(np.uint32)
        out = np.where(sel == 13, (h >> U(32)).astype(np.uint32), out)
        out = np.where(sel == 14, SPECIAL_I[(low & U(7)).astype(int)], out)
        edge = np.where((low & U(1)) == 0, lo, hi) + ((h >> U(5)) & U(1)).astype(np.int64)
        return np.where(sel == 15, edge.astype(np.uint32), out).astype(np.uint32)
    if kind == "j":
        lo, hi = int(rest[0]), int(rest[1])
        return (lo + np.floor(unit * (hi - lo)).astype(np.int64)).astype(np.uint32)
    lo, hi = float(rest[0]), float(rest[1])
    if kind == "e":
        exponent = (127 + lo + np.floor(unit * (hi - lo))).astype(np.uint32)
        sign = ((h >> U(23)) & U(1)).astype(np.uint32)
        return sign << np.uint32(31) | exponent << np.uint32(23) | (h & U(0x7fffff)).astype(np.uint32)
    v = lo + unit * (hi - lo)
    out = float_bits(v)
    if kind == "u":
        return out
    assert kind == "f", recipe
    texels = float(rest[2])
    ulps = (low & U(7)).astype(np.uint32) - np.uint32(3)
    out = np.where((sel == 9) | (sel == 10), float_bits(np.floor(v * texels * 512) / (512 * texels)) + ulps, out)
    out = np.where(sel == 11, SPECIAL_F[(low & U(31)).astype(int)], out)
    out = np.where(sel == 12, (h >> U(32)).astype(np.uint32), out)
    spread = ((low & U(1)) << U(31)) | ((U(107) + ((h >> U(5)) & U(63))) << U(23)) | ((h >> U(41)) & U(0x7fffff))
    out = np.where(sel == 13, spread.astype(np.uint32), out)
    out = np.where(sel == 14, float_bits(np.floor(v)) + ulps, out)
    out = np.where(sel == 15, float_bits((np.floor(v * texels) + 0.5) / texels) + ulps, out)
    return out.astype(np.uint32)


def coordinates(case):
    """The 16 words of every thread."""
    n, seed = case["n"], case["cseed"]
    words = case["words"].split(",")
    words += ["0"] * (16 - len(words))
    return np.stack([word(r, seed, k, n) for k, r in enumerate(words)], axis=1)


def contents(mode, seed, fmt, ch, extents, level, nbytes):
    """The bytes of one level: `extents` are width, height, depth (or layers) in texels."""
    w, h, d = [max(e, 1) for e in extents]
    count = w * h * d * ch
    size = count * nbytes
    i = np.arange(count)
    texel, c = i // ch, i % ch
    if mode in ("bits", "real", "wide"):
        words = mix((U(seed + level) << U(32)) + np.arange((size + 7) // 8, dtype=U))
        raw = words.view(np.uint8)[:size]
        if mode == "bits" or fmt not in ("f16", "f32"):
            return raw
        if mode == "wide" and fmt == "f16":
            v = raw.view(np.uint16)
            return np.where(v >> np.uint16(10) & np.uint16(31) == 31, np.uint16(0), v).view(np.uint8)
        if mode == "wide":
            v = raw.view(np.uint32)
            w = v & np.uint32(0x807fffff) | (np.uint32(112) + (v >> np.uint32(23) & np.uint32(31))) << np.uint32(23)
            return np.where(v >> np.uint32(28) & np.uint32(3) == 0, np.uint32(0), w).view(np.uint8)
        if fmt == "f16":
            v = raw.view(np.uint16)
            return ((v & np.uint16(0x83ff)) | ((np.uint16(11) + ((v >> np.uint16(10)) & np.uint16(3))) << np.uint16(10))).view(np.uint8)
        v = raw.view(np.uint32)
        return ((v & np.uint32(0x807fffff)) | ((np.uint32(122) + ((v >> np.uint32(23)) & np.uint32(7))) << np.uint32(23))).view(np.uint8)
    kind = {"f16": np.float16, "f32": np.float32, "u8": np.uint8, "s8": np.uint8, "u16": np.uint16, "s16": np.uint16,
            "u32": np.uint32, "s32": np.uint32}.get(fmt, np.uint8 if nbytes == 1 else np.uint16)
    if mode == "iota":
        kind = {1: np.uint8, 2: np.uint16, 4: np.uint32}[nbytes]
        return (texel + c * seed).astype(np.int64).astype(kind).view(np.uint8)
    x, y, z = texel % w, texel // w % h, texel // (w * h)
    if mode == "rampx":
        v = x + 64 * z if d > 1 else x
    elif mode == "rampy":
        v = y + 64 * z if d > 1 else y
    elif mode == "rampz":
        v = z
    elif mode == "level":
        v = np.full(count, level)
    elif mode == "hot":
        v = (texel == seed) * (1 if fmt in ("f16", "f32") else (1 << (8 * nbytes)) - 1)
    else:
        raise ValueError(mode)
    return v.astype(kind).view(np.uint8)


def text(case):
    return " ".join(f"{k}={v}" for k, v in case.items())
