"""The cases: every kind of texture and surface, and every instruction that reads them."""

INT = ("u8", "s8", "u16", "s16", "u32", "s32")
NORM = ("u8", "s8", "u16", "s16")
ALL = INT + ("f16", "f32")
FILTERABLE = NORM + ("f16", "f32")
D4 = "{%d0,%d1,%d2,%d3}"
COORDS = {"1d": "{%c0}", "2d": "{%c0,%c1}", "3d": "{%c0,%c1,%c2,%c2}", "a1d": "{%c3,%c0}", "a2d": "{%c3,%c0,%c1,%c1}",
          "cube": "{%c0,%c1,%c2,%c2}", "acube": "{%c3,%c0,%c1,%c2}"}
OFFSETS = {"1d": "{%c12}", "2d": "{%c12,%c13}", "3d": "{%c12,%c13,%c14,%c14}", "a1d": "{%c12}", "a2d": "{%c12,%c13}"}
GRAD = {"1d": ("{%c4}", "{%c8}"), "2d": ("{%c4,%c5}", "{%c8,%c9}"), "a1d": ("{%c4}", "{%c8}"), "a2d": ("{%c4,%c5}", "{%c8,%c9}"),
        "3d": ("{%c4,%c5,%c6,%c6}", "{%c8,%c9,%c10,%c10}"), "cube": ("{%c4,%c5,%c6,%c6}", "{%c8,%c9,%c10,%c10}"),
        "acube": ("{%c4,%c5,%c6,%c6}", "{%c8,%c9,%c10,%c10}")}
cases = []


def joined(words):
    while len(words) > 1 and words[-1] == "0":
        words = words[:-1]
    return ",".join(words)


def dims(geom):
    return {"1d": 1, "a1d": 1, "2d": 2, "a2d": 2, "3d": 3, "cube": 3, "acube": 3}[geom]


def tex(group, geom, size, fmt="f32", ch=1, res="array", data="real", addr="ccc", filt="p", flags="-", ctype="f32", dtype=None,
        mip="", offsets=None, compare=None, pred=False, words=None, n=512, comp=None, **more):
    if dtype is None:
        dtype = "f32" if fmt in ("f16", "f32") or "x" in fmt else ("f32" if "I" not in flags and fmt in NORM else "u32")
    w, h, d = (tuple(size) + (0, 0))[:3]
    seed = len(cases) + 1
    c = dict(group=group, res=res, geom=geom, w=w, h=h, d=d, fmt=fmt, ch=ch, data=data, dseed=more.pop("dseed", seed), addr=addr,
             filter=filt, flags=flags)
    c.update(more)
    vec = {"f16x2": "v2"}.get(dtype, "v4")
    if comp:
        op = f"tld4.{comp}.{geom}.v4.{dtype}.f32"
    else:
        op = f"tex{'.' + mip if mip else ''}.{geom}.{vec}.{dtype}.{ctype}"
    d = {"f16": "{%h0,%h1,%h2,%h3}", "f16x2": "{%d0,%d1}"}.get(dtype, D4)
    if dtype == "f16":
        c["dst"] = "h4"
    args = d + ("|%q" if pred else "") + f",[%t,{COORDS[geom]}]"
    if mip == "level":
        args += ",%c4"
    if mip == "grad":
        args += ",%s,%s" % GRAD[geom]
    if offsets:
        args += "," + OFFSETS[geom]
    if compare:
        args += ",%c15"
    if words is None:
        e = [w, h, max(size[2], 1) if len(size) > 2 else 1]
        ws = []
        for k in range(3):
            if k >= dims(geom):
                ws.append("0")
            elif geom in ("cube", "acube"):
                ws.append("f-1.5:1.5:4")
            elif ctype == "s32":
                ws.append(f"i{-e[k]}:{2 * e[k]}")
            elif "N" in flags:
                ws.append(f"f-1.5:2.5:{e[k]}")
            else:
                ws.append(f"f{-1.5 * e[k]}:{2.5 * e[k]}:1")
        words = ws
        layers = {"a1d": c["d"], "a2d": c["d"], "acube": max(c["d"] // 6, 1)}.get(geom, 0)
        words.append(f"i-1:{layers + 1}" if layers else "0")
        words = words + ["0"] * 12
    words = list(words) + ["0"] * (16 - len(words))
    if mip == "level" and words[4] == "0":
        words[4] = "f-2:9:256"
    if offsets:
        words[12:15] = [offsets] * 3
    if compare:
        words[15] = compare
    c.update(op=op, args=args, words=joined(words), n=n, cseed=seed)
    cases.append(c)


def formats():
    for fmt in ALL:
        for ch in (1, 2, 4):
            size = (13, 7)
            if fmt in NORM:
                tex("format", "2d", size, fmt, ch, data="bits", n=192)
                tex("format", "2d", size, fmt, ch, data="bits", addr="bbb", border="3f000000,3f400000,bf000000,40400000", n=192)
            if fmt in INT:
                tex("format", "2d", size, fmt, ch, data="bits", flags="I", n=192)
                tex("format", "2d", size, fmt, ch, data="bits", flags="I", addr="bbb", border="3f000000,3f800000,bf800000,00000005", n=192)
                tex("format", "2d", size, fmt, ch, data="bits", flags="I", ctype="s32", n=192)
            else:
                tex("format", "2d", size, fmt, ch, data="bits", n=192)
                tex("format", "2d", size, fmt, ch, data="bits", addr="bbb", border="3f000000,3f8ccccd,bf800000,7f7fffff", n=192)
            tex("format", "2d", size, fmt, ch, data="bits", ctype="s32", n=192)
            tex("format", "2d", size, fmt, ch, data="bits", ctype="s32", addr="bbb", border="3f000000,3f8ccccd,bf800000,42c80000", n=192)
    for fmt, ch, flags in (("u8", 4, "-"), ("s16", 4, "-"), ("s16", 4, "I"), ("u32", 4, "I"), ("s32", 4, "I"), ("f16", 4, "-"), ("f32", 4, "-"), ("u8", 4, "I"), ("s8", 4, "I"), ("u16", 4, "I")):
        for dtype in ("u32", "s32", "f32", "f16", "f16x2"):
            tex("dtype", "2d", (13, 7), fmt, ch, data="bits", flags=flags, dtype=dtype, n=192)
    for fmt, ch in (("u8", 4), ("u16", 4), ("f16", 4), ("f32", 4)):
        for dtype in ("f16", "f16x2", "u32"):
            tex("dtype", "2d", (13, 7), fmt, ch, filt="l", data="real", dtype=dtype, n=256)
    for fmt in ("u8x1", "u8x2", "u8x4", "u16x1", "u16x2", "u16x4", "s8x1", "s8x2", "s8x4", "s16x1", "s16x2", "s16x4"):
        name = {"u": "unorm", "s": "snorm"}[fmt[0]] + fmt[1:]
        tex("format", "2d", (13, 7), name, int(fmt[-1]), data="bits", n=128, dtype="f32")
    for flags in ("S", "NS"):
        for filt in "pl":
            tex("srgb", "2d", (16, 16), "u8", 4, data="bits", filt=filt, flags=flags, n=1024)
            tex("srgb", "2d", (16, 16), "u8", 1, data="bits", filt=filt, flags=flags, n=512)
            tex("srgb", "2d", (16, 16), "u8", 2, data="bits", filt=filt, flags=flags, n=256)
    tex("srgb", "2d", (16, 16), "u16", 4, data="bits", flags="S", n=256)
    tex("srgb", "2d", (16, 16), "u8", 4, data="bits", flags="SI", n=256)
    tex("srgb", "2d", (16, 16), "u8", 4, data="bits", flags="S", addr="bbb", border="3f000000,3f400000,bf000000,40400000", n=256)
    for fmt in ("u8", "s8"):
        tex("whole", "1d", (256,), fmt, 1, data="iota", dseed=0, ctype="s32", words=["t1:256:1:0"], n=256)
    tex("whole", "1d", (256,), "u8", 4, data="iota", dseed=0, flags="S", words=["u0:256"], n=2048)
    for fmt in ("u16", "s16", "f16"):
        tex("whole", "1d", (65536,), fmt, 1, data="iota", dseed=0, ctype="s32", words=["t1:65536:1:0"], n=65536)
    tex("whole", "1d", (65536,), "f16", 1, data="iota", dseed=0, ctype="s32", dtype="f16", words=["t1:65536:1:0"], n=65536)
    tex("whole", "1d", (65536,), "u16", 1, data="iota", dseed=0, ctype="s32", dtype="f16", words=["t1:65536:1:0"], n=65536)
    tex("whole", "2d", (64, 64), "f32", 1, data="bits", ctype="s32", dtype="f16", words=["t1:64:1:0", "t64:64:1:0"], n=4096)
    tex("whole", "2d", (64, 64), "f32", 1, data="real", ctype="s32", dtype="f16x2", words=["t1:64:1:0", "t64:64:1:0"], n=4096)


def addressing():
    for a in "wcmb":
        for norm in "-N":
            for w in (1, 2, 3, 8, 13, 100, 1024, 4099, 65536):
                tex("address", "1d", (w,), "u32", 1, data="bits", addr=a * 3, flags="I" + norm.strip("-"), n=1024, border="3f800000,0,0,0")
                tex("address", "1d", (w,), "f32", 1, data="real", addr=a * 3, filt="l", flags=norm, n=2048, border="3f400000,0,0,0")
            tex("address", "1d", (13,), "u32", 1, data="bits", addr=a * 3, flags="I" + norm.strip("-"), ctype="s32", n=512)
            tex("address", "1d", (13,), "f32", 1, data="real", addr=a * 3, filt="l", flags=norm, ctype="s32", n=512)
    for addr in ("www", "ccc", "mmm", "bbb", "wcb", "bmw", "cbm"):
        for norm in "-N":
            for filt in "pl":
                for geom, size in (("2d", (13, 7)), ("2d", (16, 16)), ("3d", (5, 6, 7)), ("a1d", (13, 0, 5)), ("a2d", (13, 7, 3)), ("2d", (255, 3)), ("3d", (4, 4, 4))):
                    tex("address", geom, size, "f32", 2 if geom == "2d" else 1, data="real", addr=addr, filt=filt, flags=norm, n=640, border="3f400000,bf200000,0,0")
            for geom, size in (("2d", (13, 7)), ("3d", (5, 6, 7)), ("a1d", (13, 0, 5)), ("a2d", (13, 7, 3))):
                tex("address", geom, size, "u32", 1, data="bits", addr=addr, ctype="s32", flags="I" + norm.strip("-"), n=256, border="3f400000,bf200000,0,0")
    for seam in ("N", "NC"):
        for filt in "pl":
            for geom, w, d in (("cube", 8, 6), ("cube", 5, 6), ("acube", 4, 18), ("cube", 1, 6), ("cube", 64, 6)):
                for addr in ("ccc", "www", "bbb", "mmm"):
                    tex("cube", geom, (w, w, d), "f32", 1, data="real", addr=addr, filt=filt, flags=seam, n=1024, border="3f400000,0,0,0")
                if geom == "cube":
                    for ramp in ("rampx", "rampy"):
                        tex("cube", geom, (w, w, d), "f32", 1, data=ramp, addr="ccc", filt=filt, flags=seam, n=1024)
    tex("cube", "cube", (8, 8, 6), "f32", 1, data="real", filt="l", flags="-", n=512)
    tex("cube", "cube", (64, 64, 6), "f32", 1, data="rampx", filt="l", flags="N", n=8192, words=["u-1:1"] * 3)
    tex("cube", "cube", (64, 64, 6), "f32", 1, data="rampy", filt="l", flags="N", n=8192, words=["u-1:1"] * 3)


def filtering():
    for fmt in FILTERABLE:
        for ch in (1, 2, 4):
            for geom, size in (("1d", (64,)), ("2d", (16, 16)), ("3d", (8, 8, 8))):
                for norm in "-N":
                    tex("filter", geom, size, fmt, ch, data="real" if fmt[0] == "f" else "bits", addr="www" if norm == "N" else "ccc", filt="l", flags=norm, n=768)
    for fmt in ("f16", "f32"):
        for geom, size in (("1d", (64,)), ("2d", (16, 16)), ("3d", (8, 8, 8))):
            tex("filter-bits", geom, size, fmt, 4, data="bits", filt="l", n=2048)
    for fmt in ("u8", "u16", "s8", "s16", "f16", "f32"):
        tex("weights", "1d", (8,), fmt, 1, data="hot", dseed=3, filt="l", words=["u2:5.5"], n=2048)
        tex("weights", "2d", (4, 4), fmt, 1, data="hot", dseed=5, filt="l", words=["u0:3", "u0:3"], n=6000)
        tex("weights", "3d", (3, 3, 3), fmt, 1, data="hot", dseed=13, filt="l", words=["u0:3", "u0:3", "u0:3"], n=6000)
        tex("blend", "1d", (256,), fmt, 1, data="real" if fmt[0] == "f" else "bits", filt="l", words=["u0:256"], n=16000)
        tex("blend", "2d", (64, 64), fmt, 1, data="real" if fmt[0] == "f" else "bits", filt="l", words=["u0:64", "u0:64"], n=16000)
        tex("blend", "3d", (16, 16, 16), fmt, 1, data="real" if fmt[0] == "f" else "bits", filt="l", words=["u0:16"] * 3, n=16000)


def mipmaps():
    B = dict(res="mip", levels=7)
    for geom, size in (("1d", (64,)), ("2d", (64, 64)), ("3d", (64, 64, 64)), ("a1d", (64, 0, 3)), ("a2d", (64, 64, 3)), ("cube", (64, 64, 6)), ("acube", (64, 64, 12)), ("2d", (77, 41))):
        for mipf in "pl":
            for filt in "pl":
                for mip in ("level", "grad", "base", ""):
                    g = ["f-4:4:64"] * 3 if geom[-1] == "e" else ["f-0.5:0.5:64"] * 3
                    ws = ["f-1:1:64" if geom[-1] == "e" else "f-0.5:1.5:64"] * 3 + ["j0:2" if geom[0] == "a" else "0"]
                    ws = ws + (["f-2:9:256"] if mip == "level" else g) + (["0"] * 4 if mip == "level" else ["0"] + g)
                    tex("mip", geom, size, "f32", 1, data="real", filt=filt, flags="N", mip=mip, mipf=mipf, mx=20, words=ws, n=640, **(B if min(size[:1]) == 64 else dict(res="mip", levels=5)))
    for bias, mn, mx in ((0, 0, 20), (0.5, 0, 20), (-1.25, 0, 20), (0.1, 0, 20), (0, 1.3, 20), (0, 0, 2.7), (0, 1.1, 1.9), (17, 0, 20), (-17, 0, 20), (0, 3, 2), (0.3, 2.5, 4.25), (0, -1, 3), (0.00390625, 0, 20), (0.001953125, 0, 20), (0, 0.001953125, 20)):
        for mipf in "pl":
            tex("lod", "1d", (64,), "f32", 1, data="level", filt="p", flags="N", mip="level", mipf=mipf, bias=bias, mn=mn, mx=mx, n=768, words=["u0:1", "0", "0", "0", "f-2:9:256"], **B)
            tex("lod", "2d", (64, 64), "f32", 1, data="level", filt="p", flags="N", mip="grad", mipf=mipf, bias=bias, mn=mn, mx=mx, n=768, words=["u0:1", "u0:1", "0", "0"] + ["f-0.3:0.3:64"] * 2 + ["0", "0"] + ["f-0.3:0.3:64"] * 2, **B)
            tex("lod", "2d", (64, 64), "f32", 1, data="level", filt="p", flags="N", mip="base", mipf=mipf, bias=bias, mn=mn, mx=mx, n=32, words=["u0:1", "u0:1"], **B)
            tex("lod", "2d", (64, 64), "f32", 1, data="level", filt="p", flags="N", mip="", mipf=mipf, bias=bias, mn=mn, mx=mx, n=32, words=["u0:1", "u0:1"], **B)
    for fmt in ("u8", "f16", "u16"):
        for filt in "pl":
            for flags in ("N", "NT"):
                tex("trilinear", "2d", (64, 64), fmt, 2, data="bits" if fmt[0] == "u" else "real", filt=filt, flags=flags, mip="level", mipf="l", mx=20, n=2048, words=["u0:1", "u0:1", "0", "0", "u0:7"], **B)
    tex("trilinear", "2d", (64, 64), "f32", 1, data="real", filt="l", flags="NT", mip="level", mipf="l", mx=20, n=4096, words=["u0:1", "u0:1", "0", "0", "u0:7"], **B)
    tex("trilinear", "2d", (64, 64), "f32", 1, data="real", filt="l", flags="N", mip="level", mipf="l", mx=20, n=4096, words=["u0:1", "u0:1", "0", "0", "u0:7"], **B)
    for geom, size in (("1d", (64,)), ("2d", (64, 32)), ("3d", (64, 32, 16))):
        k = dims(geom)
        for only in range(k):
            for which in (4, 8):
                ws = ["u0:1"] * k + ["0"] * (16 - k)
                ws[which + only] = "f-0.5:0.5:64"
                tex("grad", geom, size, "f32", 1, data="level", filt="p", flags="N", mip="grad", mipf="l", mx=20, n=2048, words=ws, res="mip", levels=5)
        ws = ["u0:1"] * k + ["0"] * (4 - k) + ["u-0.2:0.2"] * k + ["0"] * (4 - k) + ["u-0.2:0.2"] * k
        tex("grad", geom, size, "f32", 1, data="level", filt="p", flags="N", mip="grad", mipf="l", mx=20, n=4096, words=ws, res="mip", levels=5)
        ws = ["u0:1"] * k + ["0"] * (4 - k) + ["u-0.2:0.2"] * k
        tex("grad", geom, size, "f32", 1, data="level", filt="p", flags="N", mip="grad", mipf="l", mx=20, n=4096, words=ws, res="mip", levels=5)
    for axis in range(3):
        ws = ["c3f800000" if k == axis else "0" for k in range(3)] + ["0"] * 13
        for which in range(3):
            w2 = list(ws)
            w2[4 + which] = "u-2:2"
            tex("grad", "cube", (64, 64, 6), "f32", 1, data="level", filt="p", flags="N", mip="grad", mipf="l", mx=20, n=512, words=w2, res="mip", levels=7)
    tex("grad", "cube", (64, 64, 6), "f32", 1, data="level", filt="p", flags="N", mip="grad", mipf="l", mx=20, n=4096, words=["u-1:1"] * 3 + ["0"] + ["u-0.2:0.2"] * 3 + ["0"] + ["u-0.2:0.2"] * 3, res="mip", levels=7)
    for mipf in "pl":
        tex("lod-unnorm", "2d", (64, 64), "f32", 1, data="level", filt="l", flags="-", mip="level", mipf=mipf, mx=20, n=256, words=["u0:64", "u0:64", "0", "0", "u-1:8"], **B)
    for aniso in (1, 2, 4, 16):
        tex("aniso", "2d", (64, 64), "f32", 1, data="real", filt="l", flags="N", mip="grad", mipf="l", mx=20, aniso=aniso, n=1024, words=["u0:1", "u0:1", "0", "0"] + ["u-0.3:0.3"] * 2 + ["0", "0"] + ["u-0.3:0.3"] * 2, **B)
        tex("aniso", "2d", (64, 64), "f32", 1, data="level", filt="l", flags="N", mip="grad", mipf="l", mx=20, aniso=aniso, n=1024, words=["u0:1", "u0:1", "0", "0"] + ["u-0.3:0.3"] * 2 + ["0", "0"] + ["u-0.3:0.3"] * 2, **B)
        tex("aniso", "2d", (64, 64), "f32", 1, data="real", filt="l", flags="N", mip="", mipf="l", mx=20, aniso=aniso, n=256, words=["u0:1", "u0:1"], **B)


def gather():
    for comp in "rgba":
        for fmt, ch in (("f32", 4), ("u8", 4), ("u8", 1), ("u16", 2), ("f16", 4)):
            tex("gather", "2d", (13, 7), fmt, ch, data="real" if fmt[0] == "f" else "bits", addr="wcc", flags="N", comp=comp, aflags=8, n=256, pred=comp == "g")
        tex("gather", "2d", (13, 7), "u32", 4, data="bits", addr="ccc", flags="I", comp=comp, aflags=8, n=256)
    for addr in ("www", "ccc", "mmm", "bbb"):
        for norm in "-N":
            for filt in "pl":
                tex("gather", "2d", (13, 7), "f32", 1, data="real", addr=addr, filt=filt, flags=norm, comp="r", aflags=8, n=512, border="3f400000,0,0,0")
            tex("gather", "2d", (13, 7), "f32", 1, data="real", addr=addr, flags=norm, comp="r", aflags=8, n=512, border="3f400000,0,0,0", offsets="i-9:9")
    tex("gather", "2d", (64, 64), "f32", 1, data="rampx", flags="-", comp="r", aflags=8, n=4096, words=["f-2:66:1", "f-2:66:1"])
    tex("gather", "2d", (100, 100), "f32", 1, data="rampx", flags="N", comp="r", aflags=8, n=4096, words=["f-0.2:1.2:100", "f-0.2:1.2:100"])
    for filt in "pl":
        tex("gather", "a2d", (13, 7, 3), "f32", 1, data="real", filt=filt, comp="r", n=512)
        tex("gather", "cube", (8, 8, 6), "f32", 1, data="real", filt=filt, flags="N", comp="r", n=1024)
        tex("gather", "cube", (8, 8, 6), "f32", 1, data="real", filt=filt, flags="NC", comp="r", n=1024)
        tex("gather", "acube", (8, 8, 12), "f32", 1, data="real", filt=filt, flags="N", comp="r", n=512)
    tex("gather", "2d", (13, 7), "f32", 1, data="real", comp="r", aflags=8, compare="u-4:4", n=512)
    tex("gather", "2d", (13, 7), "s8", 4, data="bits", comp="b", aflags=8, n=256)


def offsets():
    for geom, size in (("1d", (13,)), ("2d", (13, 7)), ("3d", (5, 6, 7)), ("a1d", (13, 0, 3)), ("a2d", (13, 7, 3))):
        for addr in ("www", "ccc", "mmm", "bbb"):
            for norm in "-N":
                for filt in "pl":
                    tex("offset", geom, size, "f32", 1, data="real", addr=addr, filt=filt, flags=norm, offsets="i-8:8" if filt == "p" else "j-8:8", n=384, border="3f400000,0,0,0")
        tex("offset", geom, size, "f32", 1, data="real", addr="ccc", ctype="s32", offsets="i-8:8", n=384)
        tex("offset", geom, size, "f32", 1, data="real", addr="bbb", ctype="s32", offsets="j-8:8", n=384, border="3f400000,0,0,0")
    tex("offset", "2d", (64, 64), "f32", 1, data="real", flags="N", filt="l", mip="level", mipf="l", mx=20, offsets="j-8:8", res="mip", levels=6, words=["u0:1", "u0:1", "0", "0", "u0:5"])
    for geom, size in (("1d", (64,)), ("2d", (13, 7)), ("a1d", (13, 0, 3)), ("a2d", (13, 7, 3)), ("cube", (8, 8, 6)), ("acube", (8, 8, 12))):
        for filt in "pl":
            tex("compare", geom, size, "f32", 1, data="real", flags="N", filt=filt, compare="u-4:4", n=384)
    for fmt, ch in (("u8", 1), ("u16", 1), ("f32", 4), ("f16", 1)):
        tex("compare", "2d", (13, 7), fmt, ch, data="real" if fmt[0] == "f" else "bits", flags="N", filt="l", compare="u0:1", n=256)
    for fmt in ("u16", "f32", "u32"):
        tex("compare-depth", "2d", (16, 16), fmt, 1, data="real" if fmt[0] == "f" else "bits", flags="N", filt="l", compare="u0:1", n=256, aflags=0x10)
        tex("compare-depth", "2d", (16, 16), fmt, 1, data="real" if fmt[0] == "f" else "bits", flags="N", filt="l", n=256, aflags=0x10, dtype="f32")


def linear():
    for fmt in ALL:
        for ch in (1, 2, 4):
            tex("linear", "1d", (100,), fmt, ch, res="linear", data="bits", flags="I" if fmt in ("u32", "s32") else "-", ctype="s32", n=192)
    tex("linear", "1d", (100,), "u8", 4, res="linear", data="bits", flags="I", ctype="s32", n=192)
    tex("linear", "1d", (100,), "u32", 1, res="linear", data="bits", flags="I", ctype="s32", n=192, bytes=398)
    for a in "wcmb":
        tex("linear", "1d", (100,), "f32", 1, res="linear", data="real", ctype="s32", addr=a * 3, border="3f400000,3f400000,3f400000,3f400000", n=192)
        tex("linear", "1d", (100,), "f32", 1, res="linear", data="real", ctype="f32", addr=a * 3, border="3f400000,3f400000,3f400000,3f400000", n=192)
        tex("linear", "1d", (100,), "f32", 1, res="linear", data="real", ctype="f32", addr=a * 3, flags="N", filt="l", n=192)
    tex("linear", "1d", (100,), "f32", 1, res="linear", data="real", ctype="s32", offsets="i-8:8", n=192)
    for fmt, ch in (("f32", 1), ("u8", 4), ("f16", 2), ("u16", 1), ("u32", 2)):
        for filt in "pl":
            for addr in ("www", "ccc", "mmm", "bbb"):
                for norm in "-N":
                    if fmt == "u32" and filt == "l":
                        continue
                    tex("pitch", "2d", (30, 7), fmt, ch, res="pitch", pitch=256, data="real" if fmt[0] == "f" else "bits", addr=addr, filt=filt, flags=("I" if fmt == "u32" else "-") + norm.strip("-"), n=256, border="3f400000,bf200000,0,0")
    tex("pitch", "2d", (30, 7), "f32", 1, res="pitch", pitch=256, data="real", ctype="s32", n=192)


def views():
    # format, width, height, depth, first and last level, first and last layer
    tex("view", "2d", (16, 16), "u32", 1, data="bits", view="0x03,16,16,0,0,0,0,0", dtype="u32", flags="I", n=192)
    tex("view", "2d", (16, 16), "u32", 1, data="bits", view="0x01,64,16,0,0,0,0,0", dtype="u32", flags="I", n=192)
    for v, d in ((0x0c, "u32"), (0x0e, "u32"), (0x12, "f32"), (0x15, "f32"), (0x18, "f32"), (0x05, "u32"), (0x08, "u32"), (0x10, "u32"), (0x19, "u32"), (0x11, "u32")):
        tex("view", "2d", (16, 16), "u32", 1, data="bits", view=f"{v:#x},16,16,0,0,0,0,0", dtype=d, n=192)
    for v in range(1, 0x23):
        tex("view-try", "2d", (16, 16), "u8", 4, data="bits", view=f"{v:#x},16,16,0,0,0,0,0", dtype="u32", n=64)
    for lo, hi in ((0, 3), (1, 4), (2, 2), (3, 6)):
        tex("view", "2d", (64, 64), "f32", 1, res="mip", levels=7, data="level", flags="N", mip="level", mipf="l", mx=20, view=f"0x20,64,64,0,{lo},{hi},0,0", words=["u0:1", "u0:1", "0", "0", "u-1:8"], n=256)
        tex("view", "2d", (64, 64), "f32", 1, res="mip", levels=7, data="real", flags="-", ctype="s32", mipf="p", mx=20, view=f"0x16,64,64,0,{lo},{hi},0,0", words=["i-10:100", "i-10:100"], n=256)
    for v in (0x16, 0x20):
        tex("view", "a2d", (13, 7, 6), "f32", 1, data="real", view=f"{v:#x},13,7,3,0,0,2,4", n=192)


def queries():
    names = ("width", "height", "depth", "channel_data_type", "channel_order", "normalized_coords", "array_size", "num_mipmap_levels",
             "num_samples", "force_unnormalized_coords", "filter_mode", "addr_mode_0", "addr_mode_1", "addr_mode_2")
    def q(case, op, args, words="c0"):
        c = dict(cases[-1])
        cases.pop()
        c.update(group="query", op=op, args=args, words=words, n=1)
        cases.append(c)
    shapes = (("1d", (13,), "array", 1), ("2d", (13, 7), "array", 1), ("3d", (5, 6, 7), "array", 1), ("a1d", (13, 0, 5), "array", 1),
              ("a2d", (13, 7, 3), "array", 1), ("cube", (8, 8, 6), "array", 1), ("acube", (8, 8, 18), "array", 1),
              ("2d", (64, 32), "mip", 5), ("1d", (100,), "linear", 1), ("2d", (30, 7), "pitch", 1))
    for geom, size, res, levels in shapes:
        for name in names:
            more = dict(pitch=256) if res == "pitch" else {}
            tex("query", geom, size, "f32", 2, res=res, levels=levels, data="real", flags="N" if geom != "1d" else "-", addr="wmb" if "e" not in geom else "ccc", filt="l", **more)
            q(None, f"txq.{name}.b32", "%d0,[%t]")
    for fmt in ALL + ("unorm8x4", "snorm16x2"):
        for ch in (1, 2, 4):
            if "x" in fmt and int(fmt[-1]) != ch:
                continue
            for name in ("channel_data_type", "channel_order"):
                tex("query", "2d", (13, 7), fmt, ch, data="bits", flags="I" if fmt in INT else "-")
                q(None, f"txq.{name}.b32", "%d0,[%t]")
    for name in ("width", "height", "depth"):
        for lod in (0, 1, 3, 4, 5, 0xffffffff):
            tex("query", "2d", (64, 32), "f32", 1, res="mip", levels=5, data="real", flags="N")
            q(None, f"txq.level.{name}.b32", "%d0,[%t],%c0", f"c{lod:x}")
            tex("query", "3d", (64, 32, 16), "f32", 1, res="mip", levels=5, data="real", flags="N")
            q(None, f"txq.level.{name}.b32", "%d0,[%t],%c0", f"c{lod:x}")
    for geom, size, res, levels in shapes[:7]:
        for name in ("width", "height", "depth", "channel_data_type", "channel_order", "array_size", "memory_layout"):
            surf("query", geom, size, "f32", 2, f"suq.{name}.b32", "%d0,[%s]", ["0"], n=1)
    for fmt in ALL:
        for ch in (1, 2, 4):
            for name in ("channel_data_type", "channel_order"):
                surf("query", "2d", (13, 7), fmt, ch, f"suq.{name}.b32", "%d0,[%s]", ["0"], n=1)


def surf(group, geom, size, fmt, ch, op, args, words, n=256, **more):
    w, h, d = (tuple(size) + (0, 0))[:3]
    seed = len(cases) + 1
    c = dict(group=group, res="array", geom=geom, w=w, h=h, d=d, fmt=fmt, ch=ch, data="bits", dseed=seed, aflags=2)
    c.update(more)
    words = list(words) + ["0"] * (16 - len(words))
    c.update(op=op, args=args, words=joined(words), n=n, cseed=seed)
    cases.append(c)


SB = {"u8": 1, "s8": 1, "u16": 2, "s16": 2, "f16": 2, "u32": 4, "s32": 4, "f32": 4}
DST = {1: ("%d0", "{%d0,%d1}", "{%d0,%d1,%d2,%d3}"), 2: ("%h0", "{%h0,%h1}", "{%h0,%h1,%h2,%h3}"), 8: ("%w0", "{%w0,%w1}", None)}


def surfaces():
    geoms = (("1d", (13,)), ("2d", (13, 7)), ("3d", (5, 6, 7)), ("a1d", (13, 0, 3)), ("a2d", (13, 7, 3)))
    for clamp in ("clamp", "zero"):
        for geom, size in geoms:
            e = [size[0], size[1] if len(size) > 1 else 1, size[2] if len(size) > 2 else 1]
            for fmt, ch in (("u8", 1), ("u8", 4), ("u16", 1), ("f32", 1), ("u32", 2), ("f32", 4), ("u16", 4), ("s8", 2)):
                texel = SB[fmt] * ch
                for vec, bits in ((1, 8), (1, 16), (1, 32), (1, 64), (2, 8), (2, 16), (2, 32), (2, 64), (4, 8), (4, 16), (4, 32)):
                    size_b = vec * bits // 8
                    if geom not in ("2d", "a2d") and size_b != texel:
                        continue
                    if size_b > 16 or (size_b != texel and clamp == "clamp" and fmt != "u8"):
                        continue
                    kind = {8: 2, 16: 2, 32: 1, 64: 8}[bits]
                    dst = DST[kind][{1: 0, 2: 1, 4: 2}[vec]]
                    v = {1: "", 2: ".v2", 4: ".v4"}[vec]
                    # Byte offsets: aligned to the access.
                    span = e[0] * texel // size_b
                    ws = [f"t1:{3 * span + 3}:{size_b}:{-(span + 1) * size_b}", f"t3:{3 * e[1]}:1:{-e[1]}" if geom in ("2d", "3d", "a2d") else "0",
                          f"t7:{3 * e[2]}:1:{-e[2]}" if geom == "3d" else "0", f"t5:{e[2] + 2}:1:-1" if geom[0] == "a" else "0"]
                    post = {2: "h4", 1: "w", 8: "d2"}[kind]
                    surf("suld", geom, size, fmt, ch, f"suld.b.{geom}{v}.b{bits}.{clamp}", f"{dst},[%s,{COORDS[geom]}]", ws, n=192, dst=post)
                    ws = ws + ["0"] * 4 + ["r"] * 4
                    surf("sust", geom, size, fmt, ch, f"sust.b.{geom}{v}.b{bits}.{clamp}", f"[%s,{COORDS[geom]}],{dst}", ws, n=96, dst="w", serial=1)
    for geom, size in geoms[:3]:
        e = [size[0], size[1] if len(size) > 1 else 1, size[2] if len(size) > 2 else 1]
        ws = [f"t1:{3 * e[0]}:1:{-e[0]}", f"t3:{3 * e[1]}:1:{-e[1]}" if geom != "1d" else "0", f"t7:{3 * e[2]}:1:{-e[2]}" if geom == "3d" else "0", "0"]
        for fmt in ALL + ("unorm8x4", "snorm8x4", "unorm16x2", "snorm16x1"):
            for ch in (1, 2, 4):
                if "x" in fmt and int(fmt[-1]) != ch:
                    continue
                for clamp in ("clamp", "zero"):
                    for vec in (1, 2, 4):
                        if vec != ch and (fmt not in ("u8", "f32") or geom != "2d"):
                            continue
                        v = {1: "", 2: ".v2", 4: ".v4"}[vec]
                        src = {1: "%c8", 2: "{%c8,%c9}", 4: "{%c8,%c9,%c10,%c11}"}[vec]
                        for rec in ("r", "f-2:2:1"):
                            surf("sust.p", geom, size, fmt, ch, f"sust.p.{geom}{v}.b32.{clamp}", f"[%s,{COORDS[geom]}],{src}", ws + ["0"] * 4 + [rec] * 4, n=128, serial=1)
        for clamp in ("clamp", "zero"):
            for fmt, ch in (("u32", 1), ("s32", 1), ("f32", 1), ("u32", 2), ("s32", 2), ("u8", 4)):
                for op in ("add", "min", "max", "and", "or"):
                    texel = SB[fmt] * ch
                    for ty in ("u32", "s32", "u64", "s64", "b32"):
                        if (ty == "b32") != (op in ("and", "or")) or (op == "add" and ty == "s64"):
                            continue
                        bytes_ = 8 if "64" in ty else 4
                        if geom != "2d" and bytes_ != texel:
                            continue
                        span = e[0] * texel // bytes_
                        wb = [f"t1:{3 * span}:{bytes_}:{-span * bytes_}"] + ws[1:]
                        surf("sured", geom, size, fmt, ch, f"sured.b.{op}.{geom}.{ty}.{clamp}", f"[%s,{COORDS[geom]}],{'%w0' if bytes_ == 8 else '%c8'}", wb + ["0"] * 4 + ["r"] * 2, n=96, serial=1)
                    for ty in ("b32", "b64"):
                        if ty == "b64" and op not in ("min", "max"):
                            continue
                        surf("sured.p", geom, size, fmt, ch, f"sured.p.{op}.{geom}.{ty}.{clamp}", f"[%s,{COORDS[geom]}],{'%w0' if ty == 'b64' else '%c8'}", ws + ["0"] * 4 + ["r"] * 2, n=96, serial=1)


def independent():
    tex("handles", "2d", (13, 7), "f32", 1, data="real", flags="N", filt="l", pred=True)
    for args in ("{%d0,%d1,%d2,%d3},[%t,%t,{%c0,%c1}]",):
        c = dict(cases[-1])
        c.update(args=args)
        cases.append(c)


def volumes():
    for size in ((16, 16, 16), (32, 32, 32), (5, 6, 7), (100, 3, 50), (2, 2, 2)):
        for norm, addr in (("-", "ccc"), ("N", "ccc"), ("N", "www")):
            tex("volume", "3d", size, "u8", 1, data="bits", addr=addr, filt="l", flags=norm,
                words=["u-0.1:1.1" if norm == "N" else f"u0:{e}" for e in size], n=4096)
    for fmt, ch in (("u8", 2), ("u8", 4), ("s8", 1), ("s8", 4), ("u16", 1), ("s16", 1), ("unorm8x1", 1), ("unorm8x4", 4), ("snorm8x4", 4)):
        tex("volume", "3d", (16, 16, 16), fmt, ch, data="bits", filt="l", flags="N", addr="mmm", words=["u-0.5:1.5"] * 3, n=4096)
    for dtype in ("f16", "f16x2"):
        tex("volume", "3d", (16, 16, 16), "u8", 4, data="bits", filt="l", dtype=dtype, words=["u0:16"] * 3, n=4096)
    for fmt in ("u8", "u16", "s8", "s16"):
        for mip in ("", "level"):
            tex("volume", "3d", (32, 32, 32), fmt, 1, data="bits", filt="l", flags="N", mip=mip, mipf="l", mx=20,
                words=["u0:1"] * 3 + ["0", "u0:5"], n=4096, res="mip", levels=6)
    for fmt in ("f16", "f32"):
        tex("volume", "3d", (16, 16, 16), fmt, 1, data="wide", filt="l", words=["u0:16"] * 3, n=8192)


def footprints():
    level = dict(fmt="f32", ch=1, data="level", filt="p", flags="N", mip="grad", mipf="l", mx=20, res="mip")
    wide, near, far = "e-7:0", "u0.25:1", "u-100:100"
    for size in (3, 5, 7, 33, 77, 100, 127, 1000, 4099):
        bits = size.bit_length()
        tex("footprint", "1d", (size,), words=["u0:1", "0", "0", "0", f"e{-bits}:0", "0", "0", "0", f"e{-bits}:0"], n=8192, levels=bits, **level)
    for size in ((64, 64), (77, 41), (3, 1000), (65, 127)):
        tex("footprint", "2d", size, words=["u0:1"] * 2 + ["0"] * 2 + [wide] * 2 + ["0"] * 2 + [wide] * 2, n=16384,
            levels=max(size).bit_length(), **level)
    for size in ((64, 64, 64), (64, 32, 16), (77, 41, 20)):
        for where in ("0", near, far):
            tex("footprint", "3d", size, words=[where] * 3 + ["0"] + [wide] * 3 + ["0"] + [wide] * 3, n=8192, levels=7, **level)
    for where in (["c3f800000", "0", "0"], ["c3f800000", "u-0.5:0.5", "u-0.5:0.5"], ["u-1:1"] * 3):
        for g in (["e-8:-1", "0", "0"], ["0", "e-8:-1", "0"], ["e-9:-2"] * 3):
            tex("footprint", "cube", (64, 64, 6), words=where + ["0"] + g + ["0"] + ["e-9:-2"] * 3, n=8192, levels=7, **level)
    for offsets, compare in (("i-8:8", None), (None, "u-1:1"), ("i-8:8", "u-1:1")):
        for geom, size in (("1d", (64,)), ("2d", (64, 64)), ("a1d", (64, 0, 3)), ("a2d", (64, 64, 3))):
            k = dims(geom)
            tex("footprint", geom, size, words=[far] * k + ["0"] * (4 - k) + [wide] * k + ["0"] * (4 - k) + [wide] * k, n=4096,
                offsets=offsets, compare=compare, levels=7, **level)


def integer_levels():
    for geom, size in (("1d", (64,)), ("2d", (64, 32)), ("3d", (32, 16, 8)), ("a1d", (64, 0, 3)), ("a2d", (64, 32, 3))):
        extents = list(size[:dims(geom)])
        layer = ["0"] * (3 - dims(geom)) + ["i-1:4" if geom[0] == "a" else "0"]
        wild, inside = [f"i-2:{e + 2}" for e in extents] + layer, [f"j0:{max(e // 4, 1)}" for e in extents] + layer
        mip = dict(mip="level", ctype="s32", res="mip", levels=5)
        for words in (wild, inside):
            for flags, addr in (("-", "ccc"), ("N", "www"), ("N", "bbb")):
                tex("integer-level", geom, size, data="real", flags=flags, addr=addr, mx=20, border="3f400000,0,0,0", words=words + ["i-2:7"], n=512, **mip)
            tex("integer-level", geom, size, data="real", flags="N", mx=2, mn=1, bias=1, mipf="l", filt="l", words=words + ["i-2:7"], n=512, **mip)
            tex("integer-level", geom, size, data="real", flags="N", mx=20, offsets="i-9:9", words=words + ["j0:6"], n=512, **mip)
            tex("integer-level", geom, size, data="real", words=words + ["i-2:7"], n=256, mip="level", ctype="s32")
        for fmt, ch, flags, dtype in (("u8", 4, "-", None), ("u16", 2, "I", None), ("f16", 1, "-", "f16x2")):
            tex("integer-level", geom, size, fmt, ch, data="bits" if fmt[0] == "u" else "real", flags=flags, dtype=dtype, mx=20,
                words=inside + ["j-1:6"], n=256, **mip)
    tex("integer-level", "1d", (64,), data="real", res="linear", mip="level", ctype="s32", words=["i-2:66", "0", "0", "0", "i-2:7"], n=256)
    tex("integer-level", "2d", (64, 32), data="real", res="pitch", pitch=256, mip="level", ctype="s32",
        words=["i-2:66", "i-2:34", "0", "0", "i-2:7"], n=256)
    for levels in ("1,3", "2,2"):
        tex("integer-level", "2d", (64, 32), data="real", mx=20, view=f"0x16,64,32,0,{levels},0,0", words=["j0:16", "j0:8", "0", "0", "j-1:6"], n=256,
            mip="level", ctype="s32", res="mip", levels=5)
    for geom, size in (("cube", (5, 5, 6)),):
        for data, filt in (("iota", "p"), ("rampx", "l"), ("rampy", "l")):
            tex("cube-special", geom, size, data=data, dseed=0, filt=filt, flags="N", words=["x1", "x32", "x1024"], n=32768)
        for span in ("e-127:-100", "e-127:-126", "e-126:128", "e124:129"):
            tex("cube-special", geom, size, data="iota", dseed=0, flags="N", words=[span] * 3, n=4096)


def anisotropy():
    """Probes along the longer axis of the footprint: where they lie, what they weigh, of which level they are."""
    here, none = ["u0:1", "u0:1", "0", "0"], ["0", "0"]
    wide = here + ["e-6:0"] * 2 + none + ["e-6:0"] * 2
    across, along = here + ["e-6:0", "0"] + none + ["0", "e-6:0"], here + ["e-6:0"] * 2
    flat = here + ["e-5:-2", "e-14:-6"] + none + ["e-14:-6", "e-7:-5"]
    steep = here + ["e-14:-6", "e-5:-2"] + none + ["e-7:-5", "e-14:-6"]
    near = here + ["e-10:-5"] * 2 + none + ["e-10:-5"] * 2
    one = dict(data="real", filt="l", mip="grad", addr="www")
    all_levels = dict(one, mipf="l", mx=20, res="mip", levels=7)

    def ask(words, size=(64, 64), geom="2d", flags="NT", aniso=16, n=512, exact=True, **more):
        exact &= more["mip"] != "grad" or more.get("mipf") != "l"
        tex("anisotropy" if exact else "anisotropy-inexact", geom, size, flags=flags, aniso=aniso, words=words, n=n, **more)

    for words in (wide, flat, steep, near, across, along):
        ask(words, n=1024, **one)
    for aniso in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17, 32):
        ask(wide, aniso=aniso, n=256, **one)
    for flags in ("NT", "N"):
        for aniso in (2, 3, 4, 6, 8, 16):
            ask(wide, flags=flags, aniso=aniso, **all_levels)
            ask(wide, flags=flags, aniso=aniso, **dict(all_levels, mipf="p"))
            ask(here + ["u-1:7"], flags=flags, aniso=aniso, **dict(all_levels, mip="level"))
        for aniso in (4, 16):
            ask(wide, flags=flags, aniso=aniso, **dict(all_levels, filt="p"))
            ask(wide, flags=flags, aniso=aniso, **dict(all_levels, mipf="p", filt="p"))
            ask(here, flags=flags, aniso=aniso, n=256, **dict(all_levels, mip=""))
            ask(wide, flags=flags, aniso=aniso, **dict(all_levels, bias=1.25))
            ask(wide, flags=flags, aniso=aniso, **dict(all_levels, bias=-0.75))
            ask(wide, flags=flags, aniso=aniso, **dict(all_levels, mn=1.5, mx=3.25))
            ask(wide, size=(77, 41), flags=flags, aniso=aniso, **all_levels)
            ask(wide, flags=flags, aniso=aniso, **dict(all_levels, data="level"))
    for fmt, ch in (("u8", 1), ("u8", 4), ("s8", 2), ("u16", 1), ("s16", 1), ("f16", 2), ("unorm8x4", 4), ("snorm16x2", 2)):
        ask(wide, fmt=fmt, ch=ch, exact=fmt != "s8", **dict(one, data="real" if fmt == "f16" else "bits"))
        ask(wide, fmt=fmt, ch=ch, **dict(all_levels, data="real" if fmt == "f16" else "bits"))
    ask(wide, fmt="u8", ch=4, flags="NTS", **dict(one, data="bits"))
    ask(wide, fmt="u8", ch=4, flags="NTI", dtype="u32", exact=False, **dict(one, data="bits", filt="p"))
    ask(wide, fmt="u8", ch=4, dtype="f16x2", **dict(one, data="bits"))
    for fmt in ("f16", "f32"):
        ask(wide, fmt=fmt, **dict(one, data="wide"))
    for addr in ("ccc", "mmm", "bbb", "wcw"):
        for words in (wide, ["f-1.5:2.5:64"] * 2 + none + wide[4:]):
            ask(words, border="3f400000,bf200000,0,0", **dict(one, addr=addr))
    ask(["u0:64"] * 2 + none + ["e0:6"] * 2 + none + ["e0:6"] * 2, flags="T", **dict(one, addr="ccc"))
    ask(wide, offsets="i-8:8", **one)
    ask(wide, compare="u-1:1", **one)
    ask(here + ["x1", "x32", "0", "0", "x3", "x96"], exact=False, **one)
    ask(["u0:1", "0", "0", "0", "e-6:0", "0", "0", "0", "e-6:0"], geom="1d", size=(64,), **one)
    ask(["u0:1", "0", "0", "0", "e-6:0", "0", "0", "0", "e-6:0"], geom="1d", size=(64,), **all_levels)
    ask(["u0:1", "0", "0", "j0:3", "e-6:0", "0", "0", "0", "e-6:0"], geom="a1d", size=(64, 0, 3), **one)
    ask(here[:3] + ["j0:3"] + wide[4:], geom="a2d", size=(64, 64, 3), **one)
    ask(["u0:1"] * 3 + ["0"] + ["e-6:0"] * 3 + ["0"] + ["e-6:0"] * 3, geom="3d", size=(64, 64, 64), **one)
    ask(["u0:1"] * 3 + ["0"] + ["e-6:0"] * 3 + ["0"] + ["e-6:0"] * 3, geom="3d", size=(64, 64, 64), **dict(all_levels, data="level"))
    for data in ("real", "level"):
        ask(["u-1:1"] * 3 + ["0"] + ["e-8:-1"] * 3 + ["0"] + ["e-8:-1"] * 3, geom="cube", size=(64, 64, 6), exact=False,
            **dict(all_levels, data=data, addr="ccc"))
    ask(here, comp="r", aflags=8, n=256, **dict(one, mip=""))


for make in (formats, addressing, filtering, mipmaps, gather, offsets, linear, views, queries, surfaces, independent, volumes, footprints,
             integer_levels, anisotropy):
    make()
