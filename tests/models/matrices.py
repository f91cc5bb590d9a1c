#!/usr/bin/env python3
"""Makes file tests of `ldmatrix` and `stmatrix` of bytes and of packed elements:

    python3 tests/models/matrices.py > tests/run/matrix/bytes.ptx

A row of a matrix is 16 bytes of shared memory, whose address a lane has; here lane L has that of row L.
"""
import floats


def byte(i):
    return i * 77 + 19 & 0xff


def elements(row, packing):
    """The 16 elements of a row."""
    bits = int.from_bytes(bytes(byte(16 * row + i) for i in range(16)), "little")
    return [bits >> packing * i & (1 << packing) - 1 for i in range(16)]


def word(four):
    return int.from_bytes(bytes(four), "little")


# name, instruction, registers, what lane and register hold.
LOADS = [
    (f"{name}", f"ldmatrix.sync.aligned.m16n16.x2.trans.shared::cta.{fmt}", 4,
     lambda lane, r, p=packing: word(elements(16 * (r // 2) + lane % 4 * 4 + b, p)[lane // 4 + 8 * (r % 2)] for b in range(4)))
    for name, fmt, packing in (("squares", "b8", 8), ("squares_of_6", "b8x16.b6x16_p32", 6), ("squares_of_4", "b8x16.b4x16_p64", 4))
] + [
    (name, f"ldmatrix.sync.aligned.m8n16.x4.shared::cta.{fmt}", 4,
     lambda lane, r, p=packing: word(elements(8 * r + lane // 4, p)[lane % 4 * 4:][:4]))
    for name, fmt, packing in (("rows_of_6", "b8x16.b6x16_p32", 6), ("rows_of_4", "b8x16.b4x16_p64", 4))
]


def main():
    directives, text = [], []
    for name, instruction, registers, value in LOADS:
        words = [value(lane, r) for lane in range(32) for r in range(registers)]
        directives += [f"//: run {name} block=32", "//: in a u8[512] = for i: (i * 77 + 19) & 0xff", floats.wrapped(f"//: out d u32[{len(words)}] =", words)]
        vector = ", ".join(f"%r{i}" for i in range(registers))
        text += [f".visible .entry {name}(.param .u64 a, .param .u64 d)", "{",
                 "    .reg .b32 %lane, %at, %r<4>;", "    .reg .b64 %rd<2>;", "    .shared .align 16 .b8 rows[512];",
                 "    mov.u32 %lane, %laneid;", "    ld.param.u64 %rd0, [a];", "    mad.wide.u32 %rd0, %lane, 16, %rd0;",
                 "    ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%rd0];", "    mov.u32 %at, rows;", "    mad.lo.u32 %at, %lane, 16, %at;",
                 "    st.shared.v4.b32 [%at], {%r0, %r1, %r2, %r3};", "    bar.warp.sync -1;",
                 f"    {instruction} {{{vector}}}, [%at];",
                 "    ld.param.u64 %rd0, [d];", f"    mad.wide.u32 %rd0, %lane, {4 * registers}, %rd0;"]
        text += [f"    st.global.b32 [%rd0+{4 * i}], %r{i};" for i in range(registers)] + ["    ret;", "}", ""]
    # Stored: two rows of each lane, two bytes of each, 8 apart.
    rows = [[0] * 16 for _ in range(32)]
    for r in range(4):
        for lane in range(32):
            for b in range(4):
                rows[8 * r + lane % 4 * 2 + b % 2][lane // 4 + 8 * (b // 2)] = byte(16 * lane + 4 * r + b)
    stored = [word(row[4 * i:4 * i + 4]) for row in rows for i in range(4)]
    directives += ["//: run columns block=32", "//: in a u8[512] = for i: (i * 77 + 19) & 0xff", floats.wrapped("//: out d u32[128] =", stored)]
    text += [".visible .entry columns(.param .u64 a, .param .u64 d)", "{",
             "    .reg .b32 %lane, %at, %r<4>;", "    .reg .b64 %rd<2>;", "    .shared .align 16 .b8 rows[512];",
             "    mov.u32 %lane, %laneid;", "    ld.param.u64 %rd0, [a];", "    mad.wide.u32 %rd0, %lane, 16, %rd0;",
             "    ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%rd0];", "    mov.u32 %at, rows;", "    mad.lo.u32 %at, %lane, 16, %at;",
             "    stmatrix.sync.aligned.m16n8.x4.trans.shared::cta.b8 [%at], {%r0, %r1, %r2, %r3};", "    bar.warp.sync -1;",
             "    ld.shared.v4.b32 {%r0, %r1, %r2, %r3}, [%at];", "    ld.param.u64 %rd0, [d];", "    mad.wide.u32 %rd0, %lane, 16, %rd0;",
             "    st.global.v4.b32 [%rd0], {%r0, %r1, %r2, %r3};", "    ret;", "}"]
    print("// `ldmatrix` and `stmatrix` of bytes, and of elements that become bytes. tests/models/matrices.py made this file.\n//: device rtx5090")
    print("\n".join(directives))
    print(".version 8.8\n.target sm_120a\n.address_size 64\n")
    print("\n".join(text))


main()
