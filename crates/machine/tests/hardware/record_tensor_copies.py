#!/usr/bin/env python3
"""Records what a GPU of sm_90 and its driver do for tensor maps, tensor copies and bulk reductions, for
tests/tensor_copies.rs to replay.

    record_tensor_copies.py OUT       on the GPU, through the CUDA driver; writes OUT (gzip)

A copy that faults ends the process that made it; so the cases of each kind are dealt to several processes, and a
process that died is started again behind the case that it died of. Cases come from seeded generators: every process
makes all of them and runs its own. tests/tensor_copies.rs says what the lines of the recording mean.
"""
import ctypes as C, gzip, itertools, os, random, struct, subprocess, sys, zlib
from concurrent.futures import ThreadPoolExecutor

PROCESSES = 12
SIZES = [1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4]
SPANS = [0, 32, 64, 128]
PATTERN = b"".join(((i * 0x9E3779B1) & 0xFFFFFFFF).to_bytes(4, "little") for i in range(1 << 18))
# Of each width, operands of reductions that tell roundings and NaNs apart.
VALUES = {
    16: [0, 0x8000, 1, 0x8001, 0x3FF, 0x83FF, 0x400, 0x3C00, 0xBC00, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7C01, 0xFE12,
         0x1400, 0x3F80, 0xBF80, 0x7F7F, 0x7F80, 0xFF80, 0x7F81, 0xFFC1, 0x0080, 0x007F, 0x3F81, 0x4049, 0xB333],
    32: [0, 0x80000000, 1, 0x80000001, 0x7FFFFF, 0x807FFFFF, 0x00800000, 0x80800001, 0x3F800000, 0xBF800000,
         0x34000000, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7F800001, 0xFFC12345, 0x40490FDB, 0x2B8CBCCC, 0x3F800001,
         0x00000003, 0xFFFFFFFF, 0x12345678, 0x80000002, 0x7FFFFFFF],
    64: [0, 1 << 63, 1, (1 << 63) | 1, 0xFFFFFFFFFFFFF, 0x10000000000000, 0x3FF0000000000000, 0xBFF0000000000000,
         0x3CB0000000000000, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF0000000000001,
         0x3FF0000000000001, 0x12345678, 0xFFFFFFFFFFFFFFFF],
}
BULK = [("add", t) for t in "u32 s32 u64 f32 f64 noftz.f16 noftz.bf16".split()]
BULK += [(op, t) for op in ("min", "max") for t in "u32 s32 u64 s64 f16 bf16".split()]
BULK += [("inc", "u32"), ("dec", "u32")] + [(op, t) for op in ("and", "or", "xor") for t in ("b32", "b64")]
OPS = "add min max inc dec and or xor".split()


# ---- kernels ----------------------------------------------------------------------------------------------------
def kernel(name, from_input, instruction):
    fill = "mov.b32 %v, 0xeeeeeeee;"
    if from_input:
        fill = "cvt.u64.u32 %x, %i; add.u64 %x, %x, %input; ld.global.b32 %v, [%x];"
    return f"""
.visible .entry {name}(.param .align 64 .b8 map[128], .param .b64 arguments, .param .b64 output, .param .b64 input,
    .param .b32 place, .param .b32 dump, .param .b32 bytes, .param .b64 global)
{{
    .shared .align 8 .b64 bar;
    .reg .pred %p, %q; .reg .b64 %map, %arguments, %output, %input, %global, %x, %now, %then, %token;
    .reg .b32 %i, %v, %place, %dump, %bytes, %tile, %bar, %n, %c<5>; .reg .b16 %o<3>;
    mov.b64 %map, map; cvta.param.u64 %map, %map;
    ld.param.b64 %arguments, [arguments]; ld.param.b64 %output, [output]; ld.param.b64 %input, [input];
    ld.param.b32 %place, [place]; ld.param.b32 %dump, [dump]; ld.param.b32 %bytes, [bytes];
    ld.param.b64 %global, [global];
    ld.global.b32 %c0, [%arguments]; ld.global.b32 %c1, [%arguments+4]; ld.global.b32 %c2, [%arguments+8];
    ld.global.b32 %c3, [%arguments+12]; ld.global.b32 %c4, [%arguments+16];
    ld.global.b16 %o0, [%arguments+20]; ld.global.b16 %o1, [%arguments+22]; ld.global.b16 %o2, [%arguments+24];
    mov.b32 %bar, bar; mov.b32 %tile, memory; mov.u32 %i, %tid.x; shl.b32 %i, %i, 2;
fill:
    setp.ge.u32 %p, %i, %dump; @%p bra filled;
    {fill}
    add.u32 %n, %tile, %i; st.shared.b32 [%n], %v; add.u32 %i, %i, 128; bra fill;
filled:
    add.u32 %place, %tile, %place; mov.u32 %i, %tid.x; setp.ne.u32 %p, %i, 0;
    @!%p mbarrier.init.shared.b64 [%bar], 1;
    fence.proxy.async; fence.mbarrier_init.release.cluster; bar.sync 0; @%p bra copied;
    {instruction}
copied:
    mov.u64 %then, %globaltimer;
wait:
    nanosleep.u32 1000; mov.u64 %now, %globaltimer; sub.u64 %now, %now, %then; setp.lt.u64 %q, %now, 30000;
    @%q bra wait;
    bar.sync 0; shl.b32 %i, %i, 2;
copy:
    setp.ge.u32 %q, %i, %dump; @%q bra done;
    add.u32 %n, %tile, %i; ld.shared.b32 %v, [%n];
    cvt.u64.u32 %x, %i; add.u64 %x, %x, %output; st.global.b32 [%x+16], %v; add.u32 %i, %i, 128; bra copy;
done:
    @%p ret;
    mbarrier.arrive.expect_tx.shared.b64 %token, [%bar], %bytes;
    mbarrier.test_wait.parity.shared.b64 %q, [%bar], 0;
    selp.b32 %v, 1, 0, %q; st.global.b32 [%output], %v;
    ret;
}}
"""


def kernels():
    text = [".version 8.6\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 memory[];\n"]
    group = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
    for rank in range(1, 6):
        at = "[%map, {" + ", ".join(f"%c{i}" for i in range(rank)) + "}]"
        load = "mbarrier::complete_tx::bytes [%place]"
        to = f"bulk_group {at}, [%place]; {group}"
        one = f"cp.async.bulk.tensor.{rank}d"
        text.append(kernel(f"load_tiled_{rank}", False, f"{one}.shared::cluster.global.tile.{load}, {at}, [%bar];"))
        text.append(kernel(f"store_tiled_{rank}", True, f"{one}.global.shared::cta.tile.{to}"))
        if rank >= 3:
            offsets = "{" + ", ".join(f"%o{i}" for i in range(rank - 2)) + "}"
            text.append(kernel(f"load_im2col_{rank}", False,
                               f"{one}.shared::cluster.global.im2col.{load}, {at}, [%bar], {offsets};"))
            text.append(kernel(f"store_im2col_{rank}", True, f"{one}.global.shared::cta.im2col_no_offs.{to}"))
        if rank == 2:
            for op in OPS:
                text.append(kernel(f"reduce_{op}", True, f"cp.reduce.async.bulk.tensor.2d.global.shared::cta.{op}.tile.{to}"))
    for op, ty in BULK:
        text.append(kernel(f"bulk_{op}_{ty.replace('.', '_')}", True,
                           f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{op}.{ty} [%global], [%place], %dump; {group}"))
    return "".join(text)


# ---- the driver -------------------------------------------------------------------------------------------------
class Fault(Exception):
    """An illegal instruction (True) or another fault (False)."""


class Gpu:
    def __init__(self):
        self.cuda = C.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device, context, module = C.c_int(), C.c_void_p(), C.c_void_p()
        self.call("cuDeviceGet", C.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", C.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.call("cuModuleLoadData", C.byref(module), kernels().encode() + b"\0")
        self.module, self.functions = module, {}
        self.input, self.output, self.region, self.arguments = (self.allocate(n) for n in (1 << 20, 1 << 20, 1 << 20, 4096))
        self.write(self.input, PATTERN)

    def call(self, name, *arguments):
        error = getattr(self.cuda, name)(*arguments)
        if error:
            raise Fault(error == 715)

    def allocate(self, count):
        address = C.c_uint64()
        self.call("cuMemAlloc_v2", C.byref(address), C.c_size_t(count))
        return address.value

    def write(self, address, data):
        self.call("cuMemcpyHtoD_v2", C.c_uint64(address), data, C.c_size_t(len(data)))

    def read(self, address, count):
        data = C.create_string_buffer(count)
        self.call("cuMemcpyDtoH_v2", data, C.c_uint64(address), C.c_size_t(count))
        return data.raw

    def run(self, name, tensor_map, coordinates, place, dump, offsets=(), count=0, shared=0, source=None):
        data = struct.pack("<5i3H", *coordinates, *[0] * (5 - len(coordinates)), *offsets, *[0] * (3 - len(offsets)))
        self.write(self.arguments, data)
        if name not in self.functions:
            function = C.c_void_p()
            self.call("cuModuleGetFunction", C.byref(function), self.module, name.encode())
            self.cuda.cuFuncSetAttribute(function, 8, C.c_int(200 << 10))
            self.functions[name] = function
        values = [C.create_string_buffer(tensor_map, 128), C.c_uint64(self.arguments), C.c_uint64(self.output),
                  C.c_uint64(source or self.input), C.c_uint32(place), C.c_uint32(dump), C.c_uint32(count),
                  C.c_uint64(self.region)]
        pointers = (C.c_void_p * len(values))(*[C.cast(C.byref(v), C.c_void_p) for v in values])
        self.call("cuLaunchKernel", self.functions[name], 1, 1, 1, 32, 1, 1, max(shared, dump + 1024, 4096), None, pointers, None)
        self.call("cuCtxSynchronize")

    def encode(self, a, base):
        """The map of arguments `a` for an address that counts from `base`, or None."""
        room = C.create_string_buffer(192)
        tensor_map = (C.c_char * 128).from_buffer(room, -C.addressof(room) % 64)
        of = lambda kind, values: (kind * max(1, len(values)))(*values)
        head = [tensor_map, C.c_int(a["type"]), C.c_uint32(len(a["sizes"])), C.c_void_p((base + a["address"]) % 2**64),
                of(C.c_uint64, a["sizes"]), of(C.c_uint64, a["strides"])]
        tail = [of(C.c_uint32, a["steps"])] + [C.c_int(a[k]) for k in ("interleave", "swizzle", "promotion", "fill")]
        if "box" in a:
            error = self.cuda.cuTensorMapEncodeTiled(*head, of(C.c_uint32, a["box"]), *tail)
        else:
            error = self.cuda.cuTensorMapEncodeIm2col(*head, of(C.c_int, a["lower"]), of(C.c_int, a["upper"]),
                                                      C.c_uint32(a["channels"]), C.c_uint32(a["pixels"]), *tail)
        return None if error else bytes(tensor_map)


# ---- cases ------------------------------------------------------------------------------------------------------
def listed(values):
    return ",".join(map(str, values)) if values else "-"


def words(a):
    mode = "tiled" if "box" in a else "im2col"
    head = f"{mode} {a['type']} {a['address']} {listed(a['sizes'])} {listed(a['strides'])} {listed(a['steps'])} "
    head += " ".join(str(a[k]) for k in ("interleave", "swizzle", "promotion", "fill"))
    if "box" in a:
        return f"{head} {listed(a['box'])}"
    return f"{head} {listed(a['lower'])} {listed(a['upper'])} {a['channels']} {a['pixels']}"


def strides_of(r, sizes, size, interleave):
    granule = 32 if interleave == 2 else 16
    strides, row = [], 16 * interleave if interleave else sizes[0] * size
    for extent in sizes[1:]:
        strides.append(-(-row // granule) * granule + r.choice([0, 0, granule, 2 * granule]))
        row = strides[-1] * extent
    return strides, row


def arguments(r, sizes, strides, ty, interleave, swizzle, address, **more):
    steps = [r.choice([1, 1, 1, r.randint(1, 4)]) for _ in sizes]
    return dict(type=ty, address=address, sizes=sizes, strides=strides, steps=steps, interleave=interleave,
                swizzle=swizzle, promotion=0, fill=r.choice([0, 1]) if ty >= 6 else 0, **more)


def tile(r, interleave, address):
    """A random map of a small tensor and coordinates near it."""
    while True:
        rank, ty = r.choice([1, 2, 2, 3, 3, 4, 5]), r.randint(0, 12)
        if interleave and rank < 3:
            continue
        size, swizzle = SIZES[ty], r.choice([0, 1, 2, 3]) if interleave < 2 else 1
        box = [r.choice([r.randint(1, 6), r.randint(1, 24)]) for _ in range(rank)]
        if interleave:
            box[0] = r.choice([16 // size, 32 // size, 64 // size])
        else:
            box[0] = r.randint(1, (SPANS[swizzle] or 256) // 16) * 16 // size
        sizes = [r.randint(1, 80)] + [r.randint(1, 40) for _ in range(rank - 1)]
        strides, end = strides_of(r, sizes, size, interleave)
        a = arguments(r, sizes, strides, ty, interleave, swizzle, address, box=box)
        if transferred(a) > 4096 or end > 30000 or box[0] > 256:
            continue
        at = [r.choice([0, r.randint(-b - 2, n + 3), r.randint(0, n)]) for b, n in zip(box, sizes)]
        if not interleave and r.random() > 0.02:
            at[0] = at[0] * size // 16 * 16 // size
        return a, at


def column(r, interleave, address, lowest, highest):
    """A random map for im2col mode, and a position in its bounding box."""
    while True:
        rank, ty = r.randint(3, 5), r.randint(0, 12)
        size, swizzle, spatial = SIZES[ty], r.choice([0, 1, 2, 3]) if interleave < 2 else 1, rank - 2
        channels = r.choice([16, 32]) * max(1, interleave) // size
        if not interleave:
            channels = r.randint(1, (SPANS[swizzle] or 256) // 16) * 16 // size
        sizes = [r.randint(1, 48)] + [r.randint(1, 9) for _ in range(spatial)] + [r.randint(1, 3)]
        if interleave:
            sizes = sizes[1:-1] + [r.randint(1, 9), sizes[-1]]
        strides, end = strides_of(r, sizes, size, interleave)
        lower = [r.randint(lowest, 2) for _ in range(spatial)]
        upper = [r.randint(-3, highest) for _ in range(spatial)]
        pixels, first = r.randint(1, 64), 0 if interleave else 1
        ends = [sizes[first + k] + upper[k] - 1 for k in range(spatial)]
        if end > 30000 or channels * pixels * size > 4096 or channels > 256 or any(e < l for l, e in zip(lower, ends)):
            continue
        a = arguments(r, sizes, strides, ty, interleave, swizzle, address, lower=lower, upper=upper, channels=channels,
                      pixels=pixels)
        wide = 1 if r.random() < 0.03 else 0
        inner = [r.randint(l - wide, e + wide) for l, e in zip(lower, ends)]
        outer = r.choice([0, 0, r.randint(-4, sizes[0])])
        at = [outer * size // 16 * 16 // size] + inner if not interleave else inner + [r.randint(0, sizes[-2])]
        return a, at + [r.randint(0, sizes[-1] - 1)]


def transferred(a):
    """The bytes that a copy counts: whole boxes, of which dimension 0 has no steps, and slices are 16 or 32 bytes."""
    if "pixels" in a:
        return a["channels"] * SIZES[a["type"]] * a["pixels"]
    runs = [-(-b // s) for b, s in zip(a["box"], a["steps"])]
    if not a["interleave"]:
        runs[0] = a["box"][0]
    count = SIZES[a["type"]]
    for n in runs:
        count *= n
    return count


def loads(gpu):
    r = random.Random(1)
    for number in range(3500):
        interleave = r.choice([0, 0, 0, 1, 2])
        if number % 3:
            (a, at), offsets = tile(r, interleave, 65536), []
        else:
            a, at = column(r, interleave, 65536, -3, 2)
            offsets = [r.choice([0, r.randint(0, 3)]) for _ in at[2:]]
        place = r.choice([0, 0, 128, 256, 384, 1024])
        yield lambda: load(gpu, a, at, offsets, place)


def load(gpu, a, at, offsets, place):
    tensor_map, count = gpu.encode(a, gpu.input), transferred(a)
    if tensor_map is None:
        return None
    dump = (place + min(count * 2, 8192) + 256 + 127) // 128 * 128
    name = f"load_{'tiled' if 'box' in a else 'im2col'}_{len(at)}"
    line = f"load {words(a)} : {listed(at)} {listed(offsets)} {place} {count} = "

    def end():
        gpu.run(name, tensor_map, at, place, dump, offsets, count, 100 << 10)
        data = gpu.read(gpu.output, 16 + dump)
        return f"{data[0]} {dump} {zlib.crc32(data[16:]):08x}"
    return line, end


def stores(gpu):
    r = random.Random(3)
    for number in range(900):
        interleave = r.choice([0, 0, 0, 1, 2])
        place = r.choice([0, 0, 128, 1024])
        if number % 4:
            a, at = tile(r, interleave, 16384)
        else:
            a, at = column(r, interleave, 16384, r.choice([0, 0, -1]), r.choice([0, 0, 1]))
            place = 0
        if r.random() > 0.03:
            at = [abs(c) for c in at]
        a["fill"] = 0
        yield lambda: store(gpu, a, at, place)


def store(gpu, a, at, place):
    tensor_map = gpu.encode(a, gpu.region)
    rows = transferred(a) // (a["box"][0] * SIZES[a["type"]]) if "box" in a and not a["interleave"] else 0
    if tensor_map is None or rows * SPANS[a["swizzle"]] > 4096:
        return None
    mode = "tiled" if "box" in a else "im2col"

    def end():
        gpu.write(gpu.region, b"\x11" * 65536)
        gpu.run(f"store_{mode}_{len(at)}", tensor_map, at, place, place + 4096 if mode == "tiled" else 8192)
        return f"{zlib.crc32(gpu.read(gpu.region, 65536)):08x}"
    return f"store {words(a)} : {listed(at)} {place} = ", end


def reductions(gpu):
    todo = [("tensor", op, ty) for op in OPS for ty in range(13)] + [("bulk", op, ty) for op, ty in BULK]
    for kind, op, ty in todo:
        yield lambda: reduction(gpu, kind, op, ty)


def reduction(gpu, kind, op, ty):
    size = SIZES[ty] if kind == "tensor" else int(ty.split(".")[-1].lstrip("abcdefghijklmnopqrstuvwxyz")) // 8
    values = VALUES[max(16, size * 8)]
    n = len(values)
    take = lambda pick: b"".join((values[pick(i)] % 256**size).to_bytes(size, "little") for i in range(4096 // size))
    row = 128 // size
    a = dict(type=ty, address=0, sizes=[row, 32], strides=[128], steps=[1, 1], interleave=0, swizzle=0, promotion=0,
             fill=0, box=[row, 32])

    def end():
        gpu.write(gpu.region, take(lambda i: i // n % n))
        source = gpu.output + (1 << 19)
        gpu.write(source, take(lambda i: i % n))
        if kind == "tensor":
            gpu.run(f"reduce_{op}", gpu.encode(a, gpu.region), [0, 0], 0, 4096, source=source)
        else:
            gpu.run(f"bulk_{op}_{ty.replace('.', '_')}", bytes(128), [], 0, 4096, source=source)
        return gpu.read(gpu.region, min(4096, n * n * size)).hex()
    name = f"tensor {op} {ty}" if kind == "tensor" else f"bulk {op}.{ty} -"
    return f"reduce {name} = ", end


def encodings(gpu):
    """Maps of arguments one of which changes at a time, and of random ones, most of them legal."""
    tiled = dict(type=7, address=0x7F0012345600, sizes=[100, 50, 20, 9, 8], strides=[1024, 65536, 1 << 20, 1 << 24],
                 steps=[1] * 5, interleave=0, swizzle=0, promotion=0, fill=0, box=[16, 8, 2, 2, 2])
    pixels = dict(type=6, address=0x7F0012345600, sizes=[64, 17, 13, 3], strides=[128, 2176, 28288], steps=[1] * 4,
                  interleave=0, swizzle=0, promotion=0, fill=0, lower=[-1, -2], upper=[-3, -4], channels=64, pixels=100)
    powers = [1 << k for k in range(64)]
    some = {"type": range(13), "address": [0] + powers + [p | 1 << 46 for p in powers], "interleave": range(3),
            "swizzle": range(4), "promotion": range(4), "fill": range(2), "channels": list(range(70)) + [128, 255, 256, 257],
            "pixels": [0, 1, 2, 255, 256, 1023, 1024, 1025], "sizes": [0, 1, 2, 255] + powers[8:34] + [2**32 - 1, 2**32 + 1],
            "strides": [0, 8, 16, 48] + powers[5:42] + [2**40 - 16], "steps": range(10),
            "box": list(range(18)) + [31, 32, 64, 127, 128, 255, 256, 257],
            "lower": range(-130, 131, 5), "upper": range(-130, 131, 5)}
    cases = []
    for base in (tiled, pixels):
        for key, values in some.items():
            if key not in base:
                continue
            lists = isinstance(base[key], list)
            for value, index in itertools.product(values, range(len(base[key])) if lists else [0]):
                changed = base[key][:index] + [value] + base[key][index + 1:] if lists else value
                cases.append({**base, key: changed})
        for a, b in itertools.combinations(("type", "interleave", "swizzle", "fill"), 2):
            cases += [{**base, a: x, b: y} for x, y in itertools.product(some[a], some[b])]
    for rank in range(6):
        cases.append({**tiled, "sizes": [16] * rank, "strides": [1024] * max(0, rank - 1), "box": [4] * rank, "steps": [1] * rank})
    r = random.Random(5)
    for number in range(4000):
        rank, ty, interleave = r.randint(1, 5), r.randint(0, 12), r.choice([0, 0, 0, 1, 2])
        granule = r.choice([4, 5, 5])
        a = dict(type=ty, address=r.getrandbits(45) << granule,
                 sizes=[r.choice([r.randint(1, 300), r.getrandbits(32) + 1]) for _ in range(rank)],
                 strides=[r.getrandbits(r.randint(1, 34)) << granule for _ in range(rank - 1)],
                 steps=[r.choice([1, 1, r.randint(1, 8)]) for _ in range(rank)], interleave=interleave,
                 swizzle=r.choice([0, 1, 2, 3, 3]), promotion=r.randint(0, 3), fill=r.choice([0, 0, 1]))
        if number % 3 or rank < 3:
            a["box"] = [r.choice([r.randint(1, 256), 16, 32, 64]) for _ in range(rank)]
        else:
            most = [0, 0, 0, 200, 20, 15][rank]
            for key in ("lower", "upper"):
                a[key] = [r.randint(-most, most) for _ in range(rank - 2)]
            a["channels"], a["pixels"] = r.choice([r.randint(1, 256), 16, 32, 64]), r.randint(1, 1024)
        cases.append(a)
    for a in cases:
        yield lambda: (f"encode {words(a)} = ", lambda: (gpu.encode(a, 0) or b"").hex().rstrip("0") or "refused")


# ---- processes --------------------------------------------------------------------------------------------------
KINDS = {"encode": encodings, "load": loads, "store": stores, "reduce": reductions}


def part(kind, own, skip):
    """Runs the cases of one process from number `skip` on; after a fault it prints where to go on, and ends."""
    gpu = Gpu()
    for number, make in enumerate(KINDS[kind](gpu)):
        case = make() if number % PROCESSES == own and number >= skip else None
        if case is None:
            continue
        line, end = case
        try:
            print(line + end())
        except Fault as fault:
            if fault.args[0]:
                print(line + "illegal")
            print("again", number + 1, flush=True)
            os._exit(0)
    sys.stdout.flush()
    os._exit(0)


def all_parts(kind, own):
    lines, skip = [], 0
    while skip is not None:
        command = [sys.executable, __file__, "--part", kind, str(own), str(skip)]
        text = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
        skip = int(text.pop().split()[1]) if text and text[-1].startswith("again") else None
        lines += text
    return lines


def main():
    if sys.argv[1] == "--part":
        part(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    lines = [f"values {bits} {','.join(f'{v:x}' for v in values)}" for bits, values in VALUES.items()]
    with ThreadPoolExecutor(PROCESSES) as pool:
        for kind in KINDS:
            for some in pool.map(lambda own: all_parts(kind, own), range(PROCESSES)):
                lines += some
    with gzip.open(sys.argv[1], "wt") as out:
        out.write("\n".join(lines) + "\n")


main()
