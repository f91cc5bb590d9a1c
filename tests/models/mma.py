#!/usr/bin/env python3
"""Makes file tests of `mma` and `mma.sp` with formats of at most 8 bits and with block scaling:

    python3 tests/models/mma.py > tests/run/matrix/mma-scaled.ptx

Fragments and scale factors are where the PTX manual puts them ("Matrix Fragments for mma.m16n8k32", "... for
mma.m16n8k64", "... for sparse mma.m16n8k64", "... for sparse mma.m16n8k128", "Block Scaling for mma.sync"); D is the sum of
rational numbers, rounded once.
"""
import floats
from floats import E2M1, E2M3, E3M2, E4M3, E5M2, F16, F32, Ue4m3, Ue8m0

CASES = [
    # name, sparse, kind, scale_vec, A, B, accumulator, scale, {byte-id-a, thread-id-a}, {byte-id-b, thread-id-b}
    ("mxf8_e4m3_e2m1", False, "mxf8f6f4", 1, E4M3, E2M1, F32, Ue8m0, (2, 1), (1, 3)),
    ("mxf6_e3m2_e2m3", False, "mxf8f6f4", 1, E3M2, E2M3, F32, Ue8m0, (0, 0), (3, 2)),
    ("mxf4_2x", False, "mxf4", 2, E2M1, E2M1, F32, Ue8m0, (2, 0), (0, 1)),
    ("nvf4_2x", False, "mxf4nvf4", 2, E2M1, E2M1, F32, Ue8m0, (0, 1), (2, 0)),
    ("nvf4_4x", False, "mxf4nvf4", 4, E2M1, E2M1, F32, Ue4m3, (0, 1), (0, 2)),
    ("sparse_e2m3_e5m2", True, "f8f6f4", 0, E2M3, E5M2, F32, None, None, None),
    ("sparse_e4m3_e3m2_f16", True, "f8f6f4", 0, E4M3, E3M2, F16, None, None, None),
    ("sparse_mxf4_is_f8", True, "mxf4", 0, E5M2, E4M3, F32, None, None, None),
    ("sparse_e4m3_f16", True, None, 0, E4M3, E5M2, F16, None, None, None),
    ("sparse_mxf8_e2m1_e5m2", True, "mxf8f6f4", 1, E2M1, E5M2, F32, Ue8m0, (3, 0), (2, 1)),
    ("sparse_mxf4_2x", True, "mxf4", 2, E2M1, E2M1, F32, Ue8m0, (0, 0), (2, 3)),
    ("sparse_nvf4_4x", True, "mxf4nvf4", 4, E2M1, E2M1, F32, Ue4m3, (0, 0), (0, 1)),
]


def is_packed(kind, scale):
    """Whether two elements share a byte."""
    return kind in ("mxf4", "mxf4nvf4") and scale > 0


def container(fmt, bits, packed, source):
    """An element as it is in a register: four bits in the middle of a byte, six at its end, what pads them random."""
    if packed or fmt.bits == 8:
        return bits
    pad = source.getrandbits(8)
    mask, shift = (0x3c, 2) if fmt.bits == 4 else (0x3f, 0)
    return pad & ~mask & 0xff | bits << shift


def registers(element, lanes_have, per_register, registers, width):
    """Words lane by lane; `element(lane, i)` are the bits of the i-th element that a lane has."""
    words = []
    for lane in range(32):
        for register in range(registers):
            word = 0
            for j in range(per_register):
                word |= element(lane, register * per_register + j) << j * width
            words.append(word)
    return words


def case(name, sparse, kind, scale, a_fmt, b_fmt, sum_fmt, scale_fmt, of_a, of_b):
    source = floats.seeded(name)
    packed = is_packed(kind, scale)
    width, held = (4, 8) if packed else (8, 4)
    stored = 64 if packed else 32
    k = 2 * stored if sparse else stored
    a = [[a_fmt.random(source) for _ in range(stored)] for _ in range(16)]
    b = [[b_fmt.random(source) for _ in range(k)] for _ in range(8)]
    c = [[sum_fmt.random(source, sum_fmt.bias - 8, sum_fmt.bias + 8) for _ in range(8)] for _ in range(16)]
    # Where along k the stored elements of a row are.
    pairs = [floats.metadata(source, stored // (4 if packed else 2)) for _ in range(16)]
    places = []
    for row in pairs:
        if packed:
            places.append([8 * group + 2 * kept + j for group, two in enumerate(row) for kept in two for j in range(2)])
        else:
            places.append([4 * group + kept for group, two in enumerate(row) for kept in two])
    if not sparse:
        places = [list(range(k))] * 16
    scales = [[[scale_fmt.random(source) for _ in range(scale)] for _ in range(lines)] if scale else None for lines in (16, 8)]
    d = []
    for i in range(16):
        row = []
        for j in range(8):
            total = sum_fmt.value(c[i][j])
            for s, place in enumerate(places[i]):
                term = a_fmt.value(a[i][s]) * b_fmt.value(b[j][place])
                if scale:
                    block = place // (k // scale)
                    term *= scale_fmt.value(scales[0][i][block]) * scale_fmt.value(scales[1][j][block])
                total += term
            row.append(sum_fmt.nearest(total))
        d.append(row)

    def of_factor_a(lane, i):
        group, tig = lane // 4, lane % 4
        row = group + 8 * (i // held % 2)
        return container(a_fmt, a[row][tig * held + i % held + 4 * held * (i // (2 * held))], packed, source)

    def of_factor_b(lane, i):
        group, tig = lane // 4, lane % 4
        return container(b_fmt, b[group][tig * held + i % held + 4 * held * (i // held)], packed, source)

    def of_sum(matrix):
        if sum_fmt is F16:
            return registers(lambda lane, i: matrix[lane // 4 + 8 * (i // 2)][lane % 4 * 2 + i % 2], 4, 2, 2, 16)
        return registers(lambda lane, i: matrix[lane // 4 + 8 * (i // 2)][lane % 4 * 2 + i % 2], 4, 1, 4, 32)

    b_registers, c_registers = (4 if sparse else 2), (2 if sum_fmt is F16 else 4)
    arrays = [
        ("a", 4, registers(of_factor_a, 4 * held, held, 4, width)),
        ("b", b_registers, registers(of_factor_b, b_registers * held, held, b_registers, width)),
        ("c", c_registers, of_sum(c)),
    ]
    operands, selectors = "", []
    if sparse:
        # Two words of a row are in the lanes 0 and 2 of its quad, those of the row 8 below in 1 and 3.
        words = [0] * 32
        for row, two in enumerate(pairs):
            bits = sum(number << 2 * i for i, number in enumerate(n for pair in two for n in pair))
            for word in range(2):
                words[row % 8 * 4 + 2 * word + row // 8] = bits >> 32 * word & 0xffffffff
        arrays.append(("e", 1, words))
        operands += ", %e0, 0"
    if scale:
        for which, rows, (byte, thread) in (("sa", 16, of_a), ("sb", 8, of_b)):
            words = [source.getrandbits(32) for _ in range(32)]
            for line in range(rows):
                lane = line % 8 * 4 + (2 * thread + line // 8 if rows == 16 else thread)
                for i in range(scale):
                    at = 8 * (byte + i)
                    words[lane] = words[lane] & ~(0xff << at) | scales[rows == 8][line][i] << at
            arrays.append((which, 1, words))
            # With braces around one of them, as CUTLASS has both.
            factors = f"{{%{which}0}}" if which == "sb" else f"%{which}0"
            operands += f", {factors}, {{%s{len(selectors)}, %s{len(selectors) + 1}}}"
            selectors += [byte, thread]
    shape = f"m16n8k{k}"
    modifiers = ".sp::ordered_metadata" if sparse else ""
    modifiers += f".sync.aligned.{shape}.row.col"
    modifiers += f".kind::{kind}" if kind else ""
    modifiers += f".block_scale.scale_vec::{scale}X" if scale else ""
    modifiers += f".{sum_fmt.name}.{a_fmt.name}.{b_fmt.name}.{sum_fmt.name}"
    modifiers += f".{scale_fmt.name}" if scale else ""
    directives = [f"//: run {name} block=32"]
    directives += [floats.wrapped(f"//: in {array} u32[{len(words)}] =", words) for array, _, words in arrays]
    directives.append(floats.wrapped(f"//: out d u32[{32 * c_registers}] =", of_sum(d)))
    text = [f".visible .entry {name}({', '.join(f'.param .u64 {array}' for array, _, _ in arrays)}, .param .u64 d)", "{"]
    text.append(f"    .reg .b32 %lane, {', '.join(f'%{array}<{count}>' for array, count, _ in arrays)};")
    text.append("    .reg .b64 %rd<2>;")
    text.append("    mov.u32 %lane, %laneid;")
    if selectors:
        text.append(f"    .reg .b16 %s<{len(selectors)}>;")
    text += [f"    mov.b16 %s{i}, {selector};" for i, selector in enumerate(selectors)]
    for array, count, _ in arrays:
        text.append(f"    ld.param.u64 %rd0, [{array}];")
        text.append(f"    mad.wide.u32 %rd1, %lane, {4 * count}, %rd0;")
        text += [f"    ld.global.b32 %{array}{i}, [%rd1+{4 * i}];" for i in range(count)]
    vector = lambda array, count: "{" + ", ".join(f"%{array}{i}" for i in range(count)) + "}"
    text.append(f"    mma{modifiers}")
    text.append(f"        {vector('c', c_registers)}, {vector('a', 4)}, {vector('b', b_registers)}, {vector('c', c_registers)}{operands};")
    text.append("    ld.param.u64 %rd0, [d];")
    text.append(f"    mad.wide.u32 %rd1, %lane, {4 * c_registers}, %rd0;")
    text += [f"    st.global.b32 [%rd1+{4 * i}], %c{i};" for i in range(c_registers)]
    text += ["    ret;", "}"]
    return "\n".join(directives), "\n".join(text)


def main():
    made = [case(*each) for each in CASES]
    print("// `mma` and `mma.sp` of floats of at most 8 bits, with and without block scaling: tests/models/mma.py made this file.")
    print("//: device rtx5090")
    print("\n".join(directives for directives, _ in made))
    print(".version 8.8\n.target sm_120a\n.address_size 64\n")
    print("\n\n".join(text for _, text in made))


main()
