#!/usr/bin/env python3
"""Makes file tests of `tcgen05.mma`:

    python3 tests/models/tcgen05.py > tests/run/matrix/tcgen05-mma.ptx

Shared and tensor memory hold made-up bits; this model reads operands where the PTX manual says that descriptors and layouts
put them, adds up rational numbers, rounds once, and folds all of tensor memory, lane by lane, into a word each.
"""
import floats
from floats import BF16, E2M1, E2M3, E3M2, E4M3, E5M2, F16, F32, TF32, Ue4m3, Ue8m0

MASK = 0xffffffff


class Int8:
    def __init__(self, signed):
        self.signed, self.bits, self.name = signed, 8, "s8" if signed else "u8"

    def value(self, bits):
        return bits - 256 if self.signed and bits > 127 else bits


S8, U8 = Int8(True), Int8(False)
# Swizzling mode: bits of the field, bytes of a row, bytes that stay together.
MODES = {0: (16, 16), 1: (128, 32), 2: (128, 16), 4: (64, 16), 6: (32, 16)}
NARROW = {E4M3: 0, E5M2: 1, E2M3: 3, E3M2: 4, E2M1: 5}
TYPES = {"f16": {F16: 0, BF16: 1}, "tf32": {TF32: 2}, "i8": {U8: 0, S8: 1}, "f8f6f4": NARROW, "mxf8f6f4": NARROW,
         "mxf4": {E2M1: 1}, "mxf4nvf4": {E2M1: 1}}
DEPTH = {"f16": 16, "tf32": 8, "i8": 32, "f8f6f4": 32, "mxf8f6f4": 32, "mxf4": 64, "mxf4nvf4": 64}
S32 = object()


def noise(i, salt):
    """Made-up bits; the same formula stands in the test."""
    return (i * 2654435761 + salt * 40503 >> 7 ^ i * 69069 >> 3) & MASK


def noise_text(salt):
    return f"((i * 2654435761 + {salt * 40503} >> 7 ^ i * 69069 >> 3) & 0xffffffff)"


class Matrix:
    """A descriptor of a matrix in shared memory, and where its bytes are."""

    def __init__(self, start, leading, stride, mode=0, transposed=False):
        self.start, self.leading, self.stride, self.mode, self.transposed = start, leading, stride, mode, transposed

    def descriptor(self, at):
        return at + self.start >> 4 | self.leading >> 4 << 16 | self.stride >> 4 << 32 | 1 << 46 | self.mode << 61

    def chunk(self, at, line, along, transposed):
        """The address of the 16 bytes of a line with byte `along`; of an MN-major matrix, byte `line` at place `along`."""
        width, atom = MODES[self.mode]
        if transposed:
            rows = 4 if atom == 32 else 8
            across, ks = (self.stride, self.leading) if width == 16 else (self.leading, self.stride)
            offset = along // rows * ks + along % rows * width + line // width * across + line % width
        else:
            offset = line // 8 * self.stride + line % 8 * width + along // width * self.leading + along % width
        address = at + self.start + offset
        return address ^ address // 128 % (width // atom) * atom

    def element(self, memory, at, fmt, packed, line, k):
        """The bits of an element."""
        held, width = {32: (4, 32), 16: (8, 16), 8: (16, 8), 6: (16, 6), 4: (16, 4)}[32 if fmt is TF32 else fmt.bits]
        if packed:
            held, width = 32, 4
        if self.transposed:
            address, index = self.chunk(at, line // held * 16, k, True), line % held
        else:
            address, index = self.chunk(at, line, k // held * 16, False), k % held
        bits = int.from_bytes(memory[address:address + 16], "little") >> index * width & (1 << width) - 1
        return bits >> 13 if fmt is TF32 else bits


# name, kind, M, N, A, B, D, matrix A or the column of A in tensor memory, matrix B, and what else there is
K, MN = False, True
CASES = [
    ("f16_swizzled", dict(kind="f16", m=128, n=16, a=F16, b=F16, d=F32, ma=Matrix(32, 16, 1024, 2), mb=Matrix(16384, 16, 1024, 2),
                          accumulate=True, scale_d=3, disable=[0x10, 0, 0xf0000000, 0x8001])),
    ("bf16_half", dict(kind="f16", m=64, n=24, a=BF16, b=BF16, d=F32, ma=Matrix(0, 2048, 512, 4, MN), mb=Matrix(8192, 256, 512, 6, MN),
                       lane=16, accumulate=True, negate=1)),
    ("f16_to_f16", dict(kind="f16", m=128, n=16, a=F16, b=F16, d=F16, ma=Matrix(0, 2048, 128, 0), mb=Matrix(8192, 128, 256, 0, MN))),
    ("tf32_wide_atoms", dict(kind="tf32", m=128, n=16, a=TF32, b=TF32, d=F32, ma=Matrix(0, 1024, 512, 1, MN), mb=Matrix(8192, 512, 256, 0))),
    ("e4m3_e2m1", dict(kind="f8f6f4", m=128, n=16, a=E4M3, b=E2M1, d=F32, ma=Matrix(0, 4096, 256, 6), mb=Matrix(8192, 128, 256, 0), accumulate=True)),
    ("e3m2_in_tensor_memory", dict(kind="f8f6f4", m=128, n=16, a=E3M2, b=E5M2, d=F16, ta=16, mb=Matrix(8192, 16, 512, 4))),
    ("i8_saturated", dict(kind="i8", m=128, n=16, a=S8, b=U8, d=S32, ma=Matrix(0, 16, 1024, 2), mb=Matrix(16384, 16, 256, 6), accumulate=True, saturate=True)),
    ("stationary_64", dict(kind="f16", m=64, n=64, a=F16, b=F16, d=F32, ma=Matrix(0, 1024, 128, 0), mb=Matrix(8192, 16, 256, 6), ws=True, accumulate=True,
                           zeros=1 << 39 | 2 << 40 | 3 << 48 | 1 << 8 | 1 << 32 | 2 << 56)),
    ("stationary_32", dict(kind="f8f6f4", m=32, n=64, a=E5M2, b=E2M3, d=F32, ma=Matrix(0, 512, 128, 0), mb=Matrix(8192, 1024, 128, 0), ws=True)),
    ("mxf8", dict(kind="mxf8f6f4", m=128, n=40, a=E2M3, b=E4M3, d=F32, ma=Matrix(0, 16, 256, 6), mb=Matrix(8192, 16, 256, 6), scale=1, sf=Ue8m0,
                  ids=(3, 1), accumulate=True)),
    ("mxf4", dict(kind="mxf4", m=128, n=16, a=E2M1, b=E2M1, d=F32, ma=Matrix(0, 2048, 128, 0), mb=Matrix(8192, 16, 1024, 2), scale=2, sf=Ue8m0, ids=(2, 0))),
    ("nvf4", dict(kind="mxf4nvf4", m=128, n=16, a=E2M1, b=E2M1, d=F32, ma=Matrix(64, 16, 1024, 2), mb=Matrix(16384, 16, 256, 6), scale=4, sf=Ue4m3, ids=(0, 0),
                  accumulate=True)),
    ("sparse_f16", dict(kind="f16", m=128, n=16, a=F16, b=F16, d=F32, ma=Matrix(0, 16, 256, 6), mb=Matrix(8192, 16, 512, 4), sparse=True, selector=1)),
    ("sparse_tf32", dict(kind="tf32", m=64, n=16, a=TF32, b=TF32, d=F32, ma=Matrix(0, 16, 256, 6), mb=Matrix(8192, 16, 512, 4), sparse=True, selector=0,
                         accumulate=True)),
    ("sparse_e4m3", dict(kind="f8f6f4", m=128, n=16, a=E4M3, b=E4M3, d=F32, ta=24, mb=Matrix(8192, 16, 512, 4), sparse=True)),
    ("sparse_mxf4", dict(kind="mxf4", m=128, n=16, a=E2M1, b=E2M1, d=F32, ma=Matrix(0, 16, 256, 6), mb=Matrix(8192, 16, 512, 4), sparse=True, scale=2,
                         sf=Ue8m0, ids=(0, 2))),
    ("pair_256", dict(kind="f16", m=256, n=32, a=F16, b=F16, d=F32, ma=Matrix(0, 16, 1024, 2), mb=Matrix(16384, 16, 256, 6), ctas=2, accumulate=True,
                      disable=[1, 0, 2, 0, 0, 4, 0, 8])),
    ("pair_128", dict(kind="i8", m=128, n=32, a=U8, b=S8, d=S32, ma=Matrix(0, 1024, 128, 0), mb=Matrix(8192, 16, 256, 6), ctas=2)),
    ("pair_sparse", dict(kind="f8f6f4", m=128, n=32, a=E5M2, b=E5M2, d=F32, ma=Matrix(0, 16, 256, 6), mb=Matrix(8192, 16, 512, 4), ctas=2, sparse=True)),
    ("pair_nvf4", dict(kind="mxf4nvf4", m=256, n=32, a=E2M1, b=E2M1, d=F32, ma=Matrix(0, 16, 256, 6), mb=Matrix(8192, 16, 256, 6), ctas=2, scale=4, sf=Ue4m3,
                       ids=(0, 0))),
]

COLUMNS = 64
# Where in tensor memory D is, the metadata, and the scale factors of A and B.
META, SFA, SFB = 44, 48, 56


def zero_column(zeros, column, n, parts):
    """Whether the mask has a one for a column."""
    if not zeros >> 39 & 1:
        return False
    part, inside = divmod(column, n // parts)
    skip, use = (zeros >> 40 & 255) + 1, (zeros >> 48 & 255) + 1
    pattern = [1] * skip + [0] * use if zeros >> 32 + part & 1 else [0] * use + [1] * skip
    return bool(pattern[(inside + (zeros >> 8 * part & 255)) % len(pattern)])


def image_formula(case):
    """What bytes of shared memory are: no infinities and NaNs."""
    salt = len(case["name"])
    text = noise_text(salt)
    if case["kind"] == "f16":
        return f"{text} & (i % 2 ? 0xbf : 0xff)", lambda i: noise(i, salt) & (0xbf if i % 2 else 0xff)
    if case["kind"] == "tf32":
        return f"{text} & (i % 4 == 3 ? 0xbf : 0xff)", lambda i: noise(i, salt) & (0xbf if i % 4 == 3 else 0xff)
    if case["kind"] in ("f8f6f4", "mxf8f6f4"):
        return f"{text} & 0xbb", lambda i: noise(i, salt) & 0xbb
    return f"{text} & 0xff", lambda i: noise(i, salt) & 0xff


def tensor_formula(case):
    """What words of tensor memory are, by column: D, A, metadata, scale factors."""
    salt = 100 + len(case["name"])
    column = f"i % {COLUMNS}"
    h = noise_text(salt)
    d = {F32: ("{h} & 0x83ffffff | 0x3c000000", lambda h: h & 0x83ffffff | 0x3c000000), F16: ("{h} & 0xbfff", lambda h: h & 0xbfff),
         S32: ("{h} ^ 0x7fff0000", lambda h: h ^ 0x7fff0000)}[case["d"]]
    ranges = [(META if not case.get("ta") else case["ta"], *d)]
    if case.get("ta"):
        ranges.append((META, "{h} & 0xbbbbbbbb", lambda h: h & 0xbbbbbbbb))
    if case["kind"] == "tf32":
        ranges.append((SFA, "0x44444444 ^ ({h} & 0x11111111) * 10", lambda h: 0x44444444 ^ (h & 0x11111111) * 10))
    else:
        ranges.append((SFA, "{h} & 1 ? 0x4e9d8c4e : 0xe49dc8d4", lambda h: 0x4e9d8c4e if h & 1 else 0xe49dc8d4))
    if case.get("sf") is Ue4m3:
        ranges.append((COLUMNS, "{h} & 0x77777777", lambda h: h & 0x77777777))
    else:
        ranges.append((COLUMNS, "0x7c7c7c7c + ({h} & 0x07070707)", lambda h: 0x7c7c7c7c + (h & 0x07070707)))
    text = ""
    for end, formula, _ in ranges[:-1]:
        text += f"{column} < {end} ? {formula.format(h=h)} : "
    text += ranges[-1][1].format(h=h)

    def word(i):
        for end, _, function in ranges:
            if i % COLUMNS < end:
                return function(noise(i, salt)) & MASK
    return text, word


def places(case, memory, lane, k):
    """Where along k the stored elements of the row of a lane are."""
    if not case.get("sparse"):
        return list(range(k))
    a = case["a"]
    stored = k // 2
    if case["kind"] in ("f16", "tf32"):
        column = META + case.get("selector", 0)
        halves = [memory[lane // 16 * 16 + lane % 8 + 8 * i][column] >> 16 * (lane // 8 % 2) & 0xffff for i in range(2)]
        bits = halves[0] | halves[1] << 16
    else:
        bits = memory[lane][META] | memory[lane][META + 1] << 32
    if a is TF32:
        # 0b1110 is the second of two, 0b0100 the first.
        return [2 * i + (bits >> 4 * i & 15 == 0b1110) for i in range(stored)]
    numbers = [bits >> 2 * i & 3 for i in range(32)]
    if case["kind"].startswith("mxf4"):
        return [8 * (i // 4) + 2 * numbers[i // 2] + i % 2 for i in range(stored)]
    return [4 * (i // 2) + numbers[i] for i in range(stored)]


def run(case):
    """What each CTA's tensor memory holds behind the product."""
    ctas = case.get("ctas", 1)
    size = 32768
    at = 1024
    byte, word = image_formula(case)[1], tensor_formula(case)[1]
    shared = [bytes(at) + bytes(byte(rank * size + i) for i in range(size)) for rank in range(ctas)]
    tensor = [[[word((rank * 128 + lane) * COLUMNS + c) for c in range(COLUMNS)] for lane in range(128)] for rank in range(ctas)]
    m, n, kind, a, b, d = (case[key] for key in ("m", "n", "kind", "a", "b", "d"))
    k = DEPTH[kind] * (2 if case.get("sparse") else 1)
    stored = k // 2 if case.get("sparse") else k
    packed = kind.startswith("mxf4")
    zeros = case.get("zeros", 0)
    rows_of_cta = m // ctas
    if case.get("ws"):
        shares = {32: 4, 64: 2, 128: 1}[m]
    else:
        shares = 2 if (m, ctas) == (128, 2) and not case.get("sparse") else 1
    half = shares == 1 and rows_of_cta == 64
    columns = []
    for j in range(n):
        rank, line = divmod(j, n // ctas)
        if zero_column(zeros, j, n, shares):
            columns.append([0] * k)
            continue
        line += zeros >> 56 & 63
        bits = [case["mb"].element(shared[rank], at, b, packed, line, i) for i in range(k)]
        columns.append([b.value(x) for x in bits])
    sign = -1 if case.get("negate") else 1
    for rank in range(ctas):
        before = [list(row) for row in tensor[rank]]
        for lane in range(128):
            if half:
                base = case.get("lane", 0)
                if not base <= lane % 32 < base + 16:
                    continue
                row, share = lane // 32 * 16 + lane % 32 - base, 0
            else:
                row, share = lane % (128 // shares), lane // (128 // shares)
            index = rank * 128 + lane
            if case.get("disable") and case["disable"][index // 32] >> index % 32 & 1:
                continue
            if "ta" in case:
                words = before[lane][case["ta"]:]
                width = 8
                bits = [words[i * width // 32] >> i * width % 32 & 255 for i in range(stored)]
                bits = [x >> 2 & 15 if a is E2M1 else x & (1 << a.bits) - 1 for x in bits]
            else:
                bits = [case["ma"].element(shared[rank], at, a, packed, row, i) for i in range(stored)]
            values = [sign * a.value(x) for x in bits]
            met = places(case, before, lane, k)
            for j in range(n // shares):
                column = columns[share * (n // shares) + j]
                old = before[lane][j]
                total = 0
                if case.get("accumulate"):
                    if d is S32:
                        total = old - (1 << 32) if old >> 31 else old
                    else:
                        total = d.value(old & (1 << d.bits) - 1) / 2 ** case.get("scale_d", 0)
                scale = case.get("scale", 0)
                for i, place in enumerate(met):
                    term = values[i] * column[place]
                    if scale and term:
                        block = place // (k // scale)
                        quarter = lane // 32 * 32
                        sfa = before[quarter + row % 32][SFA + row // 32] >> 8 * (case["ids"][0] + block) & 255
                        sfb = before[quarter + j % 32][SFB + j // 32] >> 8 * (case["ids"][1] + block) & 255
                        term *= case["sf"].value(sfa) * case["sf"].value(sfb)
                    total += term
                if d is S32:
                    if case.get("saturate"):
                        total = max(-1 << 31, min((1 << 31) - 1, total))
                    tensor[rank][lane][j] = total & MASK
                else:
                    tensor[rank][lane][j] = d.nearest(floats.Fraction(total))
    return [sum(word * (2 * c + 1) for c, word in enumerate(tensor[rank][lane])) & MASK for rank in range(ctas) for lane in range(128)]


def instruction(case):
    kind, d = case["kind"], case["d"]
    bits = TYPES[kind][case["a"]] << 7 | TYPES[kind][case["b"]] << 10 | case["n"] >> 3 << 17
    bits |= (1 << 2) * bool(case.get("sparse")) | case.get("negate", 0) << 13
    bits |= bool("ma" in case and case["ma"].transposed) << 15 | case["mb"].transposed << 16
    if case.get("scale"):
        sfa, sfb = case["ids"]
        return bits | sfb << 4 | (case["sf"] is Ue8m0) << 23 | case["m"] >> 7 << 27 | sfa << 29
    bits |= {F16: 0, F32: 1, S32: 2}[d] << 4 | case["m"] >> 4 << 24 | bool(case.get("saturate")) << 3
    return bits | case.get("selector", 0)


def text(case):
    ctas = case.get("ctas", 1)
    group = f".cta_group::{ctas}"
    registers = ", ".join(f"%t{i}" for i in range(COLUMNS))
    modifiers = ".ws" * bool(case.get("ws")) + ".sp" * bool(case.get("sparse")) + group + f".kind::{case['kind']}"
    operands = "[%taddr], " if not case.get("lane") else "[%daddr], "
    operands += f"[%aaddr], " if "ta" in case else "%adesc, "
    operands += "%bdesc, "
    if case.get("sparse"):
        operands += "[%meta], "
    operands += f"{instruction(case):#x}, "
    if case.get("scale"):
        modifiers += f".block_scale.scale_vec::{case['scale']}X"
        operands += "[%sfa], [%sfb], "
    if case.get("disable"):
        operands += "{" + ", ".join(f"%m{i}" for i in range(len(case["disable"]))) + "}, "
    operands += "%enable"
    if case.get("scale_d"):
        operands += f", {case['scale_d']}"
    if case.get("zeros"):
        operands += ", %zeros"
    lines = [f".visible .entry {case['name']}(.param .u64 image, .param .u64 words, .param .u64 folded)", "{",
             f"    .reg .b32 %t<{COLUMNS}>, %v<4>, %m<8>, %thread, %warp, %rank, %i, %at, %taddr, %waddr, %daddr, %aaddr, %meta, %sfa, %sfb, %fold, %dyn;",
             "    .reg .b64 %rd<4>, %adesc, %bdesc, %zeros, %address;",
             "    .reg .pred %p, %first, %leader, %enable, %done;",
             "    .shared .align 8 .b64 bar;", "    .shared .align 4 .b32 slot;",
             "    mov.u32 %thread, %tid.x;", "    shr.u32 %warp, %thread, 5;", "    mov.u32 %rank, %cluster_ctarank;",
             "    setp.eq.u32 %first, %warp, 0;", "    setp.eq.u32 %leader, %thread, 0;",
             # The image begins at the first multiple of 1024 bytes.
             "    mov.u32 %dyn, memory;", "    ld.param.u64 %rd0, [image];", "    mad.wide.u32 %rd0, %rank, 32768, %rd0;",
             "    shl.b32 %i, %thread, 4;", "COPY_%:", "    cvt.u64.u32 %rd1, %i;", "    add.u64 %rd1, %rd0, %rd1;",
             "    ld.global.v4.b32 {%v0, %v1, %v2, %v3}, [%rd1];", "    add.u32 %at, %dyn, %i;",
             "    st.shared.v4.b32 [%at], {%v0, %v1, %v2, %v3};", "    add.u32 %i, %i, 2048;", "    setp.lt.u32 %p, %i, 32768;",
             "    @%p bra COPY_%;",
             "    @%leader mbarrier.init.shared.b64 [bar], 1;",
             f"    @%first tcgen05.alloc{group}.sync.aligned.shared::cta.b32 [slot], {COLUMNS};",
             f"    @%first tcgen05.relinquish_alloc_permit{group}.sync.aligned;",
             "    bar.sync 0;", "    ld.shared.b32 %taddr, [slot];",
             "    shl.b32 %waddr, %warp, 21;", "    add.u32 %waddr, %waddr, %taddr;",
             "    ld.param.u64 %rd0, [words];", "    mad.lo.u32 %i, %rank, 128, %thread;",
             f"    mad.wide.u32 %rd0, %i, {4 * COLUMNS}, %rd0;"]
    lines += [f"    ld.global.b32 %t{i}, [%rd0+{4 * i}];" for i in range(COLUMNS)]
    lines += [f"    tcgen05.st.sync.aligned.32x32b.x{COLUMNS}.b32 [%waddr], {{{registers}}};",
              "    tcgen05.wait::st.sync.aligned;", "    fence.proxy.async.shared::cta;", "    tcgen05.fence::before_thread_sync;"]
    lines += ["    barrier.cluster.arrive;", "    barrier.cluster.wait;"] if ctas == 2 else ["    bar.sync 0;"]
    lines += ["    tcgen05.fence::after_thread_sync;", "    setp.ne.u32 %p, %thread, 0;"]
    if ctas == 2:
        lines += ["    setp.ne.or.u32 %p, %rank, 0, %p;"]
    lines += ["    @%p bra WAIT_%;",
              f"    add.u32 %aaddr, %taddr, {case.get('ta', 0)};", f"    add.u32 %daddr, %taddr, {case.get('lane', 0) << 16};",
              f"    add.u32 %meta, %taddr, {META};", f"    add.u32 %sfa, %taddr, {SFA};", f"    add.u32 %sfb, %taddr, {SFB};",
              "    cvt.u64.u32 %address, %dyn;", "    shr.u64 %address, %address, 4;"]
    for register, matrix in (("a", case.get("ma")), ("b", case["mb"])):
        if matrix:
            lines.append(f"    add.u64 %{register}desc, %address, {matrix.descriptor(0):#x};")
    lines += [f"    mov.b32 %m{i}, {mask:#x};" for i, mask in enumerate(case.get("disable", []))]
    if case.get("zeros"):
        lines.append(f"    mov.b64 %zeros, {case['zeros']:#x};")
    lines.append(f"    setp.{'eq' if case.get('accumulate') else 'ne'}.u32 %enable, 0, 0;")
    lines.append(f"    tcgen05.mma{modifiers} {operands};")
    if ctas == 2:
        lines += ["    .reg .b16 %both;", "    mov.b16 %both, 3;",
                  "    tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [bar], %both;"]
    else:
        lines.append("    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];")
    lines += ["WAIT_%:", "    mbarrier.try_wait.parity.shared.b64 %done, [bar], 0;", "    @!%done bra WAIT_%;",
              "    tcgen05.fence::after_thread_sync;",
              f"    tcgen05.ld.sync.aligned.32x32b.x{COLUMNS}.b32 {{{registers}}}, [%waddr];", "    tcgen05.wait::ld.sync.aligned;",
              "    mov.b32 %fold, 0;"]
    lines += [f"    mad.lo.u32 %fold, %t{i}, {2 * i + 1}, %fold;" for i in range(COLUMNS)]
    lines += ["    ld.param.u64 %rd0, [folded];", "    mad.wide.u32 %rd0, %i, 4, %rd0;", "    st.global.b32 [%rd0], %fold;"]
    # The count of the copy is gone.
    lines.insert(-2, "    mad.lo.u32 %i, %rank, 128, %thread;")
    lines += ["    barrier.cluster.arrive;", "    barrier.cluster.wait;"] if ctas == 2 else ["    bar.sync 0;"]
    lines += [f"    @%first tcgen05.dealloc{group}.sync.aligned.b32 %taddr, {COLUMNS};", "    ret;", "}"]
    return "\n".join(lines).replace("COPY_%", f"COPY_{case['name']}").replace("WAIT_%", f"WAIT_{case['name']}")


def main():
    cases = [dict(case, name=name) for name, case in CASES]
    print("// `tcgen05.mma` of all kinds, dense, sparse, weight-stationary, with block scaling, of a CTA and of a pair: what it leaves in")
    print("// tensor memory, each lane's 64 words folded into one. tests/models/tcgen05.py made this file.")
    print("//: device b200")
    for case in cases:
        ctas = case.get("ctas", 1)
        print(f"//: run {case['name']} grid={ctas} block=128 shared=34816{' cluster=2' if ctas == 2 else ''}")
        print(f"//: in image u8[{ctas * 32768}] = for i: {image_formula(case)[0]}")
        print(f"//: in words u32[{ctas * 128 * COLUMNS}] = for i: {tensor_formula(case)[0]}")
        print(floats.wrapped(f"//: out folded u32[{ctas * 128}] =", run(case)))
    print(".version 8.8\n.target sm_100a\n.address_size 64\n\n.extern .shared .align 1024 .b8 memory[];\n")
    print("\n\n".join(text(case) for case in cases))


main()
