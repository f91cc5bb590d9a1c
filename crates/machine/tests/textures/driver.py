"""The parts of the CUDA driver interface that make textures and surfaces, by ctypes."""
import ctypes as C
import numpy as np

cu = None
FORMATS = {"u8": 1, "u16": 2, "u32": 3, "s8": 8, "s16": 9, "s32": 10, "f16": 16, "f32": 32,
           "unorm8x1": 0xc0, "unorm8x2": 0xc1, "unorm8x4": 0xc2, "unorm16x1": 0xc3, "unorm16x2": 0xc4, "unorm16x4": 0xc5,
           "snorm8x1": 0xc6, "snorm8x2": 0xc7, "snorm8x4": 0xc8, "snorm16x1": 0xc9, "snorm16x2": 0xca, "snorm16x4": 0xcb}
BYTES = {"u8": 1, "u16": 2, "u32": 4, "s8": 1, "s16": 2, "s32": 4, "f16": 2, "f32": 4}
for _k in list(FORMATS):
    if _k not in BYTES:
        BYTES[_k] = 1 if "8x" in _k else 2


class Error(Exception):
    pass


def call(name, *args):
    code = getattr(cu, name)(*args)
    if code:
        text = C.c_char_p()
        cu.cuGetErrorName(code, C.byref(text))
        raise Error(f"{name}: {text.value.decode() if text.value else code}")


class Array3D(C.Structure):
    _fields_ = [("w", C.c_size_t), ("h", C.c_size_t), ("d", C.c_size_t), ("format", C.c_int), ("channels", C.c_uint),
                ("flags", C.c_uint)]


class Copy3D(C.Structure):
    _fields_ = [(p + n, t) for p in ("src", "dst") for n, t in (
        ("X", C.c_size_t), ("Y", C.c_size_t), ("Z", C.c_size_t), ("LOD", C.c_size_t), ("Type", C.c_int),
        ("Host", C.c_void_p), ("Device", C.c_uint64), ("Array", C.c_void_p), ("Reserved", C.c_void_p),
        ("Pitch", C.c_size_t), ("Height", C.c_size_t))] + [
        ("Width", C.c_size_t), ("HeightN", C.c_size_t), ("Depth", C.c_size_t)]


class Resource(C.Structure):
    _fields_ = [("type", C.c_int), ("data", C.c_uint64 * 16), ("flags", C.c_uint)]


class Texture(C.Structure):
    _fields_ = [("addr", C.c_int * 3), ("filter", C.c_int), ("flags", C.c_uint), ("aniso", C.c_uint), ("mipf", C.c_int),
                ("bias", C.c_float), ("mn", C.c_float), ("mx", C.c_float), ("border", C.c_uint * 4),
                ("reserved", C.c_int * 12)]


class View(C.Structure):
    _fields_ = [("format", C.c_int), ("w", C.c_size_t), ("h", C.c_size_t), ("d", C.c_size_t), ("first_level", C.c_uint),
                ("last_level", C.c_uint), ("first_layer", C.c_uint), ("last_layer", C.c_uint),
                ("reserved", C.c_uint * 16)]


def start():
    global cu
    cu = C.CDLL("libcuda.so.1")
    call("cuInit", 0)
    device = C.c_int()
    call("cuDeviceGet", C.byref(device), 0)
    context = C.c_void_p()
    call("cuDevicePrimaryCtxRetain", C.byref(context), device)
    call("cuCtxSetCurrent", context)
    version = C.c_int()
    call("cuDriverGetVersion", C.byref(version))
    name = C.create_string_buffer(100)
    call("cuDeviceGetName", name, 100, device)
    return f"{name.value.decode()}, driver {version.value}"


def alloc(n):
    p = C.c_uint64()
    call("cuMemAlloc_v2", C.byref(p), C.c_size_t(max(n, 16)))
    return p


def upload(p, a):
    a = np.ascontiguousarray(a)
    call("cuMemcpyHtoD_v2", p, a.ctypes.data_as(C.c_void_p), C.c_size_t(a.nbytes))


def download(p, a):
    call("cuMemcpyDtoH_v2", a.ctypes.data_as(C.c_void_p), p, C.c_size_t(a.nbytes))


def free(p):
    call("cuMemFree_v2", p)


def copy3d(array, host, width, height, depth, to_array):
    c = Copy3D()
    a, b = ("dst", "src") if to_array else ("src", "dst")
    setattr(c, a + "Type", 3)
    setattr(c, a + "Array", array)
    setattr(c, b + "Type", 1)
    setattr(c, b + "Host", host.ctypes.data)
    setattr(c, b + "Pitch", width)
    setattr(c, b + "Height", height)
    c.Width, c.HeightN, c.Depth = width, max(height, 1), max(depth, 1)
    call("cuMemcpy3D_v2", C.byref(c))


class Kernels:
    def __init__(self):
        self.known = {}

    def get(self, ptx, name="k"):
        if ptx not in self.known:
            module, f = C.c_void_p(), C.c_void_p()
            log = C.create_string_buffer(4096)
            options = (C.c_int * 2)(5, 6)
            values = (C.c_void_p * 2)(C.cast(log, C.c_void_p), 4096)
            try:
                call("cuModuleLoadDataEx", C.byref(module), ptx.encode() + b"\0", 2, options, values)
            except Error as e:
                raise Error(f"{e}: {log.value.decode()[:300]}")
            call("cuModuleGetFunction", C.byref(f), module, name.encode())
            self.known[ptx] = (module, f)
        return self.known[ptx]


def launch(f, blocks, threads, *args):
    holders = [C.c_uint64(a.value) if isinstance(a, C.c_uint64) else a for a in args]
    pointers = (C.c_void_p * len(holders))(*[C.addressof(h) for h in holders])
    call("cuLaunchKernel", f, blocks, 1, 1, threads, 1, 1, 0, None, pointers, None)
    call("cuCtxSynchronize")
