#!/usr/bin/env python3
"""Makes file tests of what moves data to and from tensor memory (`tcgen05.ld`, `.st`, `.cp`, `.shift`):

    python3 tests/models/tensor_memory.py > tests/run/matrix/tcgen05-memory.ptx

All of tensor memory is folded, lane by lane, into a word each, and so are the registers of a thread.
"""
import floats

MASK = 0xffffffff
COLUMNS = 64


def noise(i):
    return (i * 2654435761 >> 7 ^ i * 69069 >> 3) & MASK


FORMULA = "(i * 2654435761 >> 7 ^ i * 69069 >> 3) & 0xffffffff"


def fold(words):
    return sum(word * (2 * i + 1) for i, word in enumerate(words)) & MASK


def cell(shape, thread, register, half):
    """The lane and column of a register, by the manual's figures."""
    quad, group = thread % 4, thread // 4
    if shape == "32x32b":
        return thread, register
    if shape == "16x32bx2":
        return thread % 16, register + half * (thread // 16)
    if shape == "16x64b":
        return group + 8 * (quad & 1), 2 * register + (quad >> 1)
    if shape == "16x128b":
        return group + 8 * (register & 1), quad + 4 * (register >> 1)
    return group + 8 * (register >> 1 & 1), 2 * quad + (register & 1) + 8 * (register >> 2)


# name, shape, .num, registers, packed, lane of the address within a warp's, column, half
TRANSFERS = [
    ("lanes_x8", "32x32b", 8, 8, False, 0, 5, 0), ("lanes_x4_packed", "32x32b", 4, 4, True, 0, 6, 0),
    ("halves_x4", "16x32bx2", 4, 4, False, 16, 3, 9), ("pairs_x4", "16x64b", 4, 4, False, 16, 0, 0),
    ("pairs_x2_packed", "16x64b", 2, 2, True, 0, 8, 0), ("quads_x2", "16x128b", 2, 4, False, 0, 1, 0),
    ("eights_x2", "16x256b", 2, 8, False, 16, 2, 0), ("eights_x1_packed", "16x256b", 1, 4, True, 0, 4, 0),
]
# name, shape with what is multicast, rows, bytes of a row, formats, where row r goes
COPIES = [
    ("copy_128x256", "128x256b", 128, 32, "", lambda r: [r]), ("copy_128x128", "128x128b", 128, 16, "", lambda r: [r]),
    ("copy_4x256", "4x256b", 4, 32, "", lambda r: [32 * r]),
    ("copy_64_0213", "64x128b.warpx2::02_13", 64, 16, "", lambda r: [r, r + 64]),
    ("copy_64_0123", "64x128b.warpx2::01_23", 64, 16, "", lambda r: [r // 32 * 64 + r % 32, r // 32 * 64 + r % 32 + 32]),
    ("copy_32", "32x128b.warpx4", 32, 16, "", lambda r: [r + 32 * i for i in range(4)]),
    ("copy_sixes", "128x128b", 128, 16, ".b8x16.b6x16_p32", lambda r: [r]), ("copy_fours", "32x128b.warpx4", 32, 16, ".b8x16.b4x16_p64", lambda r: [r + 32 * i for i in range(4)]),
]


def begin(name, parameters):
    registers = ", ".join(f"%t{i}" for i in range(COLUMNS))
    lines = [f".visible .entry {name}({', '.join(f'.param .u64 {p}' for p in parameters)})", "{",
             f"    .reg .b32 %t<{COLUMNS}>, %r<8>, %thread, %warp, %taddr, %waddr, %fold, %at;", "    .reg .b64 %rd<2>, %desc;", "    .reg .pred %first, %done;",
             "    .shared .align 4 .b32 slot;", "    .shared .align 8 .b64 bar;", "    .shared .align 1024 .b8 image[4096];",
             "    mov.u32 %thread, %tid.x;", "    shr.u32 %warp, %thread, 5;", "    setp.eq.u32 %first, %warp, 0;",
             f"    @%first tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], {COLUMNS};",
             "    bar.sync 0;", "    ld.shared.b32 %taddr, [slot];", "    shl.b32 %waddr, %warp, 21;", "    add.u32 %waddr, %waddr, %taddr;",
             "    ld.param.u64 %rd0, [words];", f"    mad.wide.u32 %rd0, %thread, {4 * COLUMNS}, %rd0;"]
    lines += [f"    ld.global.b32 %t{i}, [%rd0+{4 * i}];" for i in range(COLUMNS)]
    lines += [f"    tcgen05.st.sync.aligned.32x32b.x{COLUMNS}.b32 [%waddr], {{{registers}}};", "    tcgen05.wait::st.sync.aligned;",
              "    tcgen05.fence::before_thread_sync;", "    bar.sync 0;", "    tcgen05.fence::after_thread_sync;"]
    return lines


def awaited(name, instruction):
    """An instruction of the tensor core, and what waits until it is done."""
    return ["    mbarrier.init.shared.b64 [bar], 1;", instruction,
            "    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];", f"WAIT_{name}:",
            "    mbarrier.try_wait.parity.shared.b64 %done, [bar], 0;", f"    @!%done bra WAIT_{name};"]


def end(everything=True, registers=0):
    """Folds all of tensor memory, or some registers, and stores the word."""
    names = [f"%r{i}" for i in range(registers)] if not everything else [f"%t{i}" for i in range(COLUMNS)]
    lines = []
    if everything:
        lines += ["    tcgen05.fence::before_thread_sync;", "    bar.sync 0;", "    tcgen05.fence::after_thread_sync;",
                  f"    tcgen05.ld.sync.aligned.32x32b.x{COLUMNS}.b32 {{{', '.join(names)}}}, [%waddr];", "    tcgen05.wait::ld.sync.aligned;"]
    lines.append("    mov.b32 %fold, 0;")
    lines += [f"    mad.lo.u32 %fold, {name}, {2 * i + 1}, %fold;" for i, name in enumerate(names)]
    return lines + ["    ld.param.u64 %rd0, [folded];", "    mad.wide.u32 %rd0, %thread, 4, %rd0;", "    st.global.b32 [%rd0], %fold;", "    bar.sync 0;",
                    f"    @%first tcgen05.dealloc.cta_group::1.sync.aligned.b32 %taddr, {COLUMNS};", "    ret;", "}", ""]


def main():
    directives, text = [], []

    def case(name, parameters, folded, lines):
        directives.append(f"//: run {name} block=128")
        sizes = {"words": f"u32[{128 * COLUMNS}]", "more": "u32[1024]", "bytes": "u8[4096]"}
        formulas = {"words": FORMULA, "more": FORMULA.replace("i *", "(i + 77) *"), "bytes": "(i * 151 + 43 ^ i >> 5) & 0xff"}
        directives.extend(f"//: in {p} {sizes[p]} = for i: {formulas[p]}" for p in parameters)
        directives.append(floats.wrapped("//: out folded u32[128] =", folded))
        text.extend(begin(name, parameters + ["folded"]) + lines)

    def memory():
        return [[noise(lane * COLUMNS + c) for c in range(COLUMNS)] for lane in range(128)]

    for name, shape, num, registers, packed, lane, column, half in TRANSFERS:
        step = 2 if packed else 1
        tensor, loaded = memory(), []
        for thread in range(128):
            words = []
            for register in range(registers):
                line, at = cell(shape, thread % 32, register, half)
                row = tensor[thread // 32 * 32 + lane + line]
                at = column + at * step
                words.append(row[at] & 0xffff | (row[at + 1] & 0xffff) << 16 if packed else row[at])
            loaded.append(fold(words))
        vector = ", ".join(f"%r{i}" for i in range(registers))
        modifier = f".{shape}.x{num}"
        offset = [f"    add.u32 %at, %waddr, {lane << 16 | column};"]
        immediate = f", {half}" if half else ""
        case(f"load_{name}", ["words"], loaded, offset + [
            f"    tcgen05.ld.sync.aligned{modifier}{'.pack::16b' * packed}.b32 {{{vector}}}, [%at]{immediate};",
            "    tcgen05.wait::ld.sync.aligned;"] + end(False, registers))
        for thread in range(128):
            for register in range(registers):
                value = noise(thread * 8 + register + 77)
                line, at = cell(shape, thread % 32, register, half)
                row = tensor[thread // 32 * 32 + lane + line]
                at = column + at * step
                if packed:
                    row[at], row[at + 1] = value & 0xffff, value >> 16
                else:
                    row[at] = value
        stores = ["    ld.param.u64 %rd0, [more];", "    mad.wide.u32 %rd0, %thread, 32, %rd0;"]
        stores += [f"    ld.global.b32 %r{i}, [%rd0+{4 * i}];" for i in range(registers)]
        case(f"store_{name}", ["words", "more"], [fold(row) for row in tensor], offset + stores + [
            f"    tcgen05.st.sync.aligned{modifier}{'.unpack::16b' * packed}.b32 [%at]{immediate}, {{{vector}}};",
            "    tcgen05.wait::st.sync.aligned;"] + end())
    for name, shape, rows, size, formats, lanes in COPIES:
        # Eight rows of 16 bytes lie together; of longer rows the second halves 2048 bytes further.
        image = [(i * 151 + 43 ^ i >> 5) & 0xff for i in range(4096)]
        tensor = memory()
        for row in range(rows):
            for half in range(size // 16):
                at = row // 8 * 128 + row % 8 * 16 + 2048 * half
                bits = int.from_bytes(bytes(image[at:at + 16]), "little")
                if "b6x16" in formats:
                    bits = sum((bits >> 6 * i & 63) << 8 * i for i in range(16))
                elif formats:
                    bits = sum((bits >> 4 * i & 15) << 8 * i + 2 for i in range(16))
                for lane in lanes(row):
                    for i in range(4):
                        tensor[lane][3 + 4 * half + i] = bits >> 32 * i & MASK
        lines = ["    ld.param.u64 %rd0, [bytes];", "    mad.wide.u32 %rd0, %thread, 32, %rd0;", "    mov.u32 %at, image;", "    mad.lo.u32 %at, %thread, 32, %at;"]
        for i in range(2):
            lines += [f"    ld.global.v4.b32 {{%r0, %r1, %r2, %r3}}, [%rd0+{16 * i}];", f"    st.shared.v4.b32 [%at+{16 * i}], {{%r0, %r1, %r2, %r3}};"]
        lines += ["    fence.proxy.async.shared::cta;", "    bar.sync 0;", "    setp.ne.u32 %first, %thread, 0;", f"    @%first bra BEHIND_{name};",
                  "    mov.u32 %at, image;", "    cvt.u64.u32 %desc, %at;", "    shr.u64 %desc, %desc, 4;",
                  f"    add.u64 %desc, %desc, {2048 >> 4 << 16 | 128 >> 4 << 32 | 1 << 46:#x};", "    add.u32 %at, %taddr, 3;",
                  *awaited(name, f"    tcgen05.cp.cta_group::1.{shape}{formats} [%at], %desc;"), f"BEHIND_{name}:",
                  "    setp.eq.u32 %first, %warp, 0;"]
        case(name, ["words", "bytes"], [fold(row) for row in tensor], lines + end())
    tensor = memory()
    for lane in range(32, 63):
        tensor[lane][16:24] = memory()[lane + 1][16:24]
    case("shifted", ["words"], [fold(row) for row in tensor], [
        "    setp.ne.u32 %first, %thread, 0;", "    @%first bra BEHIND_shifted;", f"    add.u32 %at, %taddr, {32 << 16 | 16};",
        *awaited("shifted", "    tcgen05.shift.cta_group::1.down [%at];"), "BEHIND_shifted:", "    setp.eq.u32 %first, %warp, 0;"] + end())
    print("// What moves data to and from tensor memory, each lane's 64 words or each thread's registers folded into a word.")
    print("// tests/models/tensor_memory.py made this file.\n//: device b200")
    print("\n".join(directives))
    print(".version 8.8\n.target sm_100a\n.address_size 64\n")
    print("\n".join(text))


main()
