"""Runs cases on the device."""
import ctypes as C
import numpy as np
import driver as cu
import numbers_of as model

ADDR = {"w": 0, "c": 1, "m": 2, "b": 3}
FLAGS = {"I": 1, "N": 2, "S": 16, "T": 32, "C": 64}
KERNELS = cu.Kernels()


def level_extent(v, level):
    return max(v >> level, 1) if v else 0


class Object:
    """The array, texture and surface of a case."""

    def __init__(self, case):
        self.case, self.keep = case, []
        self.tex = self.surf = None
        fmt, ch, geom = case["fmt"], case["ch"], case["geom"]
        w, h, d = case["w"], case["h"], case["d"]
        nbytes = cu.BYTES[fmt]
        hw_fmt = cu.FORMATS[fmt]
        self.texel = nbytes * ch
        res = cu.Resource()
        self.arrays = []
        levels = case.get("levels", 1)
        layered = geom in ("a1d", "a2d", "acube")
        flags = (1 if layered else 0) | (4 if geom in ("cube", "acube") else 0) | case.get("aflags", 0)
        if case["res"] in ("array", "mip"):
            desc = cu.Array3D(w, h, d, hw_fmt, ch, flags)
            if case["res"] == "array":
                a = C.c_void_p()
                cu.call("cuArray3DCreate_v2", C.byref(a), C.byref(desc))
                self.arrays = [a]
                self.keep.append(("cuArrayDestroy", a))
                res.type, res.data[0] = 0, a.value
            else:
                m = C.c_void_p()
                cu.call("cuMipmappedArrayCreate", C.byref(m), C.byref(desc), levels)
                self.keep.append(("cuMipmappedArrayDestroy", m))
                for level in range(levels):
                    a = C.c_void_p()
                    cu.call("cuMipmappedArrayGetLevel", C.byref(a), m, level)
                    self.arrays.append(a)
                res.type, res.data[0] = 1, m.value
            self.extents = []
            for level, a in enumerate(self.arrays):
                three = geom == "3d"
                e = (level_extent(w, level), level_extent(h, level), level_extent(d, level) if three else d)
                self.extents.append(e)
                host = np.array(model.contents(case["data"], case["dseed"], fmt, ch, e, level, nbytes))
                cu.copy3d(a, host, e[0] * self.texel, e[1], e[2], True)
        else:
            pitch = case.get("pitch", w * self.texel)
            host = np.zeros(pitch * max(h, 1), np.uint8)
            body = np.array(model.contents(case["data"], case["dseed"], fmt, ch, (w, h, 0), 0, nbytes)).reshape(max(h, 1), -1)
            host.reshape(max(h, 1), pitch)[:, :body.shape[1]] = body
            p = cu.alloc(host.nbytes)
            cu.upload(p, host)
            self.keep.append(("cuMemFree_v2", p))
            if case["res"] == "linear":
                res.type, res.data[0] = 2, p.value
                res.data[1] = hw_fmt | ch << 32
                res.data[2] = case.get("bytes", host.nbytes)
            else:
                res.type, res.data[0] = 3, p.value
                res.data[1] = hw_fmt | ch << 32
                res.data[2], res.data[3], res.data[4] = w, h, pitch
        self.res = res
        if case.get("aflags", 0) & 2:
            s = C.c_uint64()
            if case["res"] == "mip":
                r2 = cu.Resource()
                r2.type, r2.data[0] = 0, self.arrays[case.get("slevel", 0)].value
                cu.call("cuSurfObjectCreate", C.byref(s), C.byref(r2))
            else:
                cu.call("cuSurfObjectCreate", C.byref(s), C.byref(res))
            self.surf = s
            self.keep.append(("cuSurfObjectDestroy", s))
        if "addr" in case:
            t = cu.Texture()
            for k in range(3):
                t.addr[k] = ADDR[case["addr"][k]]
            t.filter = {"p": 0, "l": 1}[case["filter"]]
            t.flags = sum(FLAGS[c] for c in case.get("flags", "-").strip("-"))
            t.aniso = case.get("aniso", 0)
            t.mipf = {"p": 0, "l": 1}[case.get("mipf", "p")]
            t.bias, t.mn, t.mx = float(case.get("bias", 0)), float(case.get("mn", 0)), float(case.get("mx", 0))
            if "border" in case:
                for k, v in enumerate(case["border"].split(",")):
                    t.border[k] = int(v, 16)
            view = None
            if "view" in case:
                f = [int(x, 0) for x in case["view"].split(",")]
                view = cu.View()
                view.format, view.w, view.h, view.d, view.first_level, view.last_level, view.first_layer, view.last_layer = f
            h = C.c_uint64()
            cu.call("cuTexObjectCreate", C.byref(h), C.byref(res), C.byref(t), C.byref(view) if view else None)
            self.tex = h
            self.keep.append(("cuTexObjectDestroy", h))

    def read_back(self, level=0):
        e = self.extents[level]
        host = np.zeros(e[0] * max(e[1], 1) * max(e[2], 1) * self.texel, np.uint8)
        cu.copy3d(self.arrays[level], host, e[0] * self.texel, e[1], e[2], False)
        return host

    def close(self):
        for name, thing in reversed(self.keep):
            cu.call(name, thing)


def kernel(case):
    """The PTX of a case: 16 words in, 5 words out, for each thread."""
    op = case["op"]
    parts = op.split(".")
    form = parts[0]
    body = case["args"].replace("~", " ")
    pre = post = ""
    return f""".version 9.0
.target sm_90
.address_size 64
{case.get("scope", "").replace("~", " ")}
.visible .entry k(.param .b64 tex, .param .b64 surf, .param .b64 in, .param .b64 out, .param .b32 n, .param .b32 step)
{{
.reg .b64 %t, %s, %a, %o, %w<8>; .reg .b32 %c<16>, %d<8>, %i, %n, %m; .reg .b16 %h<8>; .reg .pred %p, %q;
ld.param.b64 %t, [tex]; ld.param.b64 %s, [surf];
ld.param.b32 %n, [n]; ld.param.b32 %m, [step];
mov.u32 %i, %ctaid.x; mov.u32 %d0, %tid.x; mad.lo.u32 %i, %i, 128, %d0;
loop:
setp.ge.u32 %p, %i, %n; @%p ret;
ld.param.b64 %a, [in]; mad.wide.u32 %a, %i, 64, %a;
ld.param.b64 %o, [out]; mad.wide.u32 %o, %i, 20, %o;
ld.global.v4.b32 {{%c0,%c1,%c2,%c3}}, [%a]; ld.global.v4.b32 {{%c4,%c5,%c6,%c7}}, [%a+16];
ld.global.v4.b32 {{%c8,%c9,%c10,%c11}}, [%a+32]; ld.global.v4.b32 {{%c12,%c13,%c14,%c15}}, [%a+48];
mov.b32 %d0, 0; mov.b32 %d1, 0; mov.b32 %d2, 0; mov.b32 %d3, 0; mov.b32 %d4, 0;
mov.b64 %w0, {{%c8,%c9}}; mov.b64 %w1, {{%c10,%c11}};
cvt.u16.u32 %h0, %c8; cvt.u16.u32 %h1, %c9; cvt.u16.u32 %h2, %c10; cvt.u16.u32 %h3, %c11;
setp.ne.u32 %q, 0, 0;
{op} {body};
{POST[case.get("dst", "w")]}
selp.b32 %d4, 1, 0, %q;
st.global.b32 [%o], %d0; st.global.b32 [%o+4], %d1; st.global.b32 [%o+8], %d2; st.global.b32 [%o+12], %d3;
st.global.b32 [%o+16], %d4;
add.u32 %i, %i, %m; setp.ne.u32 %p, %m, 0; @%p bra loop;
ret;
}}
"""


# How results in other registers come to the words.
POST = {"w": "", "h4": "cvt.u32.u16 %d0, %h0; cvt.u32.u16 %d1, %h1; cvt.u32.u16 %d2, %h2; cvt.u32.u16 %d3, %h3;",
        "d2": "mov.b64 {%d0,%d1}, %w0; mov.b64 {%d2,%d3}, %w1;"}


def run(case, obj=None, words=None):
    """The results of a case: words a thread."""
    own = obj is None
    obj = obj or Object(case)
    try:
        words = model.coordinates(case) if words is None else words
        n = len(words)
        a, o = cu.alloc(n * 64), cu.alloc(n * 20)
        cu.upload(a, words)
        out = np.zeros((n, 5), np.uint32)
        cu.upload(o, out)
        _, f = KERNELS.get(kernel(case))
        serial = case.get("serial", 0)
        cu.launch(f, 1 if serial else (n + 127) // 128, 1 if serial else 128, obj.tex or C.c_uint64(0),
                  obj.surf or C.c_uint64(0), a, o, C.c_uint(n), C.c_uint(1 if serial else 0))
        cu.download(o, out)
        cu.free(a)
        cu.free(o)
        if serial:
            back = obj.read_back(case.get("slevel", 0))
            back = np.concatenate([back, np.zeros(-len(back) % 4, np.uint8)]).view(np.uint32)
            return np.concatenate([out.reshape(-1), back])
        return out.reshape(-1)
    finally:
        if own:
            obj.close()
