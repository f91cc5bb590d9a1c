#!/usr/bin/env python3
"""Makes file tests of `cvt.rs`, stochastic rounding by given random bits:

    python3 tests/models/conversions.py > tests/run/convert/stochastic.ptx

A magnitude, in steps of the target's last bit, plus the random bits as a fraction, is cut to a whole.
"""
import floats
from floats import BF16, E2M1, E2M3, E3M2, E4M3, E5M2, F16, F32, Fraction

# The target, its random bits, the greatest finite number.
TARGETS = [("f16x2", F16, 13, 0x7bff), ("bf16x2", BF16, 16, 0x7f7f), ("e4m3x4", E4M3, 16, 0x7e), ("e5m2x4", E5M2, 16, 0x7b),
           ("e2m3x4", E2M3, 16, 0x1f), ("e3m2x4", E3M2, 16, 0x1f), ("e2m1x4", E2M1, 8, 7)]


def rounded(fmt, greatest, bits, x, random):
    value = abs(F32.value(x))
    low, high = 0, greatest + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fmt.value(middle) <= value else (low, middle)
    rest = (value - fmt.value(low)) / (fmt.value(low + 1) - fmt.value(low))
    magnitude = min(low + (rest + Fraction(random & (1 << bits) - 1, 1 << bits) >= 1), greatest)
    return magnitude | x >> 31 << fmt.bits - 1


def main():
    directives, text = [], []
    for name, fmt, bits, greatest in TARGETS:
        source = floats.seeded(name)
        count = 2 if name.endswith("x2") else 4
        # Around the format's range, its subnormals and what is too large.
        inputs = [[source.getrandbits(1) << 31 | source.randrange(max(0, 127 - fmt.bias - fmt.mantissa - 1), 129 + min(fmt.bias, 8)) << 23
                   | source.getrandbits(23) for _ in range(count)] for _ in range(32)]
        random = [source.getrandbits(32) for _ in range(32)]
        outputs = []
        for values, r in zip(inputs, random):
            if fmt is E2M1:
                own = [r >> 24, r >> 8, r >> 16, r]
            else:
                own = [r >> 16, r] if count == 2 else [r >> 16, r >> 16, r, r]
            word = 0
            for value, bits_of in zip(values, own):
                word = word << (fmt.bits if fmt.bits != 6 else 8) | rounded(fmt, greatest, bits, value, bits_of)
            outputs.append(word)
        directives += [f"//: run {name} block=32", floats.wrapped(f"//: in a u32[{32 * count}] =", [x for values in inputs for x in values]),
                       floats.wrapped("//: in r u32[32] =", random), floats.wrapped("//: out d u32[32] =", outputs)]
        result = "%h" if fmt is E2M1 else "%d"
        vector = ", ".join(f"%a{i}" for i in range(count))
        text += [f".visible .entry {name}(.param .u64 a, .param .u64 r, .param .u64 d)", "{",
                 "    .reg .b32 %lane, %d, %r;", "    .reg .b16 %h;", "    .reg .f32 %a<4>;", "    .reg .b64 %rd<2>;",
                 "    mov.u32 %lane, %laneid;", "    ld.param.u64 %rd0, [a];", f"    mad.wide.u32 %rd0, %lane, {4 * count}, %rd0;"]
        text += [f"    ld.global.f32 %a{i}, [%rd0+{4 * i}];" for i in range(count)]
        text += ["    ld.param.u64 %rd0, [r];", "    mad.wide.u32 %rd0, %lane, 4, %rd0;", "    ld.global.b32 %r, [%rd0];",
                 f"    cvt.rs.satfinite.{name}.f32 {result}, {vector if count == 2 else '{' + vector + '}'}, %r;"]
        if fmt is E2M1:
            text.append("    cvt.u32.u16 %d, %h;")
        text += ["    ld.param.u64 %rd0, [d];", "    mad.wide.u32 %rd0, %lane, 4, %rd0;", "    st.global.b32 [%rd0], %d;", "    ret;", "}", ""]
    print("// `cvt.rs`: rounding by random bits. tests/models/conversions.py made this file.\n//: device b200")
    print("\n".join(directives))
    print(".version 8.7\n.target sm_100a\n.address_size 64\n")
    print("\n".join(text))


main()
