//! A kernel for a configuration: one warp, or a warpgroup for `wgmma`, computes one tile. It gets packed rows of A, columns of B and
//! rows of C, and distributes them over lanes as the manual's figures have it.

use super::case::Case;

/// Bits of an element; of `.b1` a word is one.
fn bits(ty: &str) -> usize {
    match ty {
        "s4" | "u4" => 4,
        "e4m3" | "e5m2" | "s8" | "u8" => 8,
        "f16" | "bf16" => 16,
        "f64" => 64,
        _ => 32,
    }
}

/// `{%a0, %a1, ...}`.
fn group(register: &str, count: usize) -> String {
    let names: Vec<String> = (0..count).map(|i| format!("%{register}{i}")).collect();
    format!("{{{}}}", names.join(", "))
}

/// Elements as they lie one after the other.
fn pack(elements: &[u64], ty: &str) -> Vec<u8> {
    match bits(ty) {
        4 => elements.chunks(2).map(|pair| (pair[0] | pair[1] << 4) as u8).collect(),
        bits => {
            elements.iter().flat_map(|element| element.to_le_bytes().into_iter().take(bits / 8)).collect()
        }
    }
}

impl Case {
    /// A, B, C and the metadata of some tiles, as the kernel reads them.
    pub fn buffers(&self, tiles: usize) -> [Vec<u8>; 4] {
        let mut buffers = [const { Vec::new() }; 4];
        let [a, b, c, _] = &self.types;
        for number in 0..tiles {
            let tile = self.tile(number);
            for (buffer, (elements, ty)) in buffers.iter_mut().zip([(tile.a, a), (tile.b, b), (tile.c, c)]) {
                buffer.extend(pack(&elements, ty));
            }
            buffers[3].extend(self.metadata(number).to_le_bytes());
        }
        buffers
    }

    /// Bytes of the results of a tile.
    pub fn result_bytes(&self) -> usize {
        self.m * self.n * bits(&self.types[3]) / 8
    }

    /// The results of a tile from its bytes, row by row.
    pub fn results_of(&self, bytes: &[u8]) -> Vec<u64> {
        let element = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        bytes.chunks(bits(&self.types[3]) / 8).map(element).collect()
    }

    /// CTAs that compute so many tiles.
    pub fn grid(&self, tiles: usize) -> u32 {
        (if self.quad() { tiles / 4 } else { tiles }) as u32
    }

    /// Threads of a CTA.
    pub fn threads(&self) -> u32 {
        if self.family == "wgmma" { 128 } else { 32 }
    }

    /// `mma.m8n8k4` of `.f16`: each quad pair of the warp computes a tile of its own.
    fn quad(&self) -> bool {
        self.shape == "m8n8k4" && self.types[0] == "f16"
    }

    /// Bytes and type of the registers that fragments are in.
    fn register(&self) -> (usize, &'static str) {
        if self.types[0] == "f64" { (8, "b64") } else { (4, "b32") }
    }

    /// `.satfinite`, the operation on bits and the rounding, as instructions write them.
    fn modifier_texts(&self) -> [String; 3] {
        let pick = |names: &[&str], suffix: &str| -> String {
            let named = self.modifiers.iter().filter(|modifier| names.contains(&modifier.as_str()));
            named.map(|modifier| format!(".{modifier}{suffix}")).collect()
        };
        [pick(&["satfinite"], ""), pick(&["xor", "and"], ".popc"), pick(&["rz", "rm", "rp"], "")]
    }

    /// The module. Its kernel `k` has the addresses of A, B, C, D and the metadata as parameters.
    pub fn module(&self) -> String {
        let [a, b, c, d] = self.types.each_ref().map(|ty| bits(ty));
        // The floating-point `wmma` with `.satfinite` left the language after 6.3.
        let removed =
            self.family == "wmma" && self.types[3].starts_with('f') && !self.modifier_texts()[0].is_empty();
        let target = match removed {
            true => ".version 6.3\n.target sm_70",
            false => ".version 8.7\n.target sm_90a",
        };
        let register = self.register().1;
        let mut text = format!(
            "{target}
.address_size 64
.shared .align 1024 .b8 tile[16384];
.visible .entry k(.param .u64 pA, .param .u64 pB, .param .u64 pC, .param .u64 pD, .param .u64 pM)
{{
.reg .pred %p; .reg .b32 %t, %g, %l, %w, %x, %y, %z, %e, %s; .reg .b64 %A, %B, %C, %D, %M, %q, %u, %v;
.reg .{register} %a<16>, %b<16>, %c<16>, %d<128>;
mov.u32 %t, %tid.x; mov.u32 %x, %ctaid.x; and.b32 %l, %t, 31;
"
        );
        if self.quad() {
            text += "shr.u32 %y, %l, 2; and.b32 %y, %y, 3; mad.lo.u32 %x, %x, 4, %y;\n";
        }
        let sizes = [
            ("A", self.m * self.ka * a / 8),
            ("B", self.n * self.kb * b / 8),
            ("C", self.m * self.n * c / 8),
            ("D", self.m * self.n * d / 8),
            ("M", 4),
        ];
        for (matrix, bytes) in sizes {
            text += &format!(
                "ld.param.u64 %{matrix}, [p{matrix}]; cvta.to.global.u64 %{matrix}, %{matrix}; \
                 mad.wide.u32 %{matrix}, %x, {bytes}, %{matrix};\n"
            );
        }
        if self.sparse() {
            text += "ld.global.u32 %e, [%M];\n";
        }
        text += &match self.family.as_str() {
            "wmma" => self.wmma(),
            _ if self.quad() => self.quad_pairs(),
            _ => self.fragments(),
        };
        text + "ret;\n}\n"
    }

    fn wmma(&self) -> String {
        let Self { shape, m, n, k, ka, kb, .. } = self;
        let [ta, tb, tc, td] = &self.types;
        let bytes = self.register().0;
        let count = |elements: usize, ty: &str| (elements * bits(ty) / (8 * bytes) / 32).max(1);
        // A fragment of .f16 factors has each element twice.
        let (na, nb) = match ta.as_str() {
            "f16" => (8, 8),
            _ => (count(m * ka, ta), count(n * kb, tb)),
        };
        let (a, b) = (group("a", na), group("b", nb));
        let (c, d) = (group("c", count(m * n, tc)), group("d", count(m * n, td)));
        let [satfinite, operation, rounding] = self.modifier_texts();
        let types = match ta.as_str() {
            "f16" => format!("{td}.{tc}"),
            _ => format!("{td}.{ta}.{tb}.{tc}"),
        };
        format!(
            "wmma.load.a.sync.aligned.row.{shape}.global.{ta} {a}, [%A], {k};
wmma.load.b.sync.aligned.col.{shape}.global.{tb} {b}, [%B], {k};
wmma.load.c.sync.aligned.row.{shape}.global.{tc} {c}, [%C], {n};
wmma.mma{operation}.sync.aligned.row.col.{shape}{rounding}.{types}{satfinite} {d}, {a}, {b}, {c};
wmma.store.d.sync.aligned.row.{shape}.global.{td} [%D], {d}, {n};
"
        )
    }

    fn quad_pairs(&self) -> String {
        let [_, _, tc, td] = &self.types;
        let mut text = "and.b32 %y, %l, 3; shr.u32 %z, %l, 4; mad.lo.u32 %g, %z, 4, %y;
mad.wide.u32 %A, %g, 8, %A; ld.global.v2.b32 {%a0, %a1}, [%A];
mad.wide.u32 %B, %g, 8, %B; ld.global.v2.b32 {%b0, %b1}, [%B];
"
        .to_owned();
        let registers = |ty: &str| if ty == "f16" { 4 } else { 8 };
        // Where a lane's elements begin, and each access: its vector, registers and address.
        let fragment = |ty: &str, matrix: &str, access: &dyn Fn(&str, &str, &str) -> String| {
            let name = matrix.to_lowercase();
            if ty == "f16" {
                let all = access("v4", &group(&name, 4), &format!("[%{matrix}]"));
                return format!("mad.wide.u32 %{matrix}, %g, 16, %{matrix};\n{all}");
            }
            let pairs = [0, 2, 4, 6].map(|i: usize| {
                let pair = format!("{{%{name}{i}, %{name}{}}}", i + 1);
                access("v2", &pair, &format!("[%{matrix}+{}]", 4 * ((i & 2) * 8 + (i & 4))))
            });
            format!(
                "and.b32 %x, %l, 1; mad.lo.u32 %x, %z, 4, %x; and.b32 %y, %l, 2;
mad.lo.u32 %x, %x, 8, %y; mad.wide.u32 %{matrix}, %x, 4, %{matrix};\n{}",
                pairs.concat()
            )
        };
        text += &fragment(tc, "C", &|vector, list, at| format!("ld.global.{vector}.b32 {list}, {at};\n"));
        let (d, c) = (group("d", registers(td)), group("c", registers(tc)));
        let (a, b) = (group("a", 2), group("b", 2));
        text += &format!("mma.sync.aligned.m8n8k4.row.col.{td}.f16.f16.{tc} {d}, {a}, {b}, {c};\n");
        text + &fragment(td, "D", &|vector, list, at| format!("st.global.{vector}.b32 {at}, {list};\n"))
    }

    /// `mma` and `wgmma`.
    fn fragments(&self) -> String {
        let Self { shape, m, n, ka, kb, .. } = self;
        let [ta, tb, tc, td] = &self.types;
        let (bytes, register) = self.register();
        let warpgroup = self.family == "wgmma";
        let (wa, wb) = (ka * bits(ta) / (8 * bytes), kb * bits(tb) / (8 * bytes));
        let halves = if *m > 8 { 2 } else { 1 };
        let (na, nb) = (halves * wa / 4, wb / 4);
        let mut text = format!(
            "shr.u32 %g, %l, 2; and.b32 %w, %l, 3; shr.u32 %z, %t, 5; mad.lo.u32 %g, %z, 16, %g;
mad.lo.u32 %x, %g, {wa}, %w; mad.wide.u32 %u, %x, {bytes}, %A;\n"
        );
        for j in 0..na {
            let at = bytes * ((j % halves) * 8 * wa + j / halves * 4);
            text += &format!("ld.global.{register} %a{j}, [%u+{at}];\n");
        }
        let half = td == "f16";
        let step = n * bits(td) / 8;
        text += &format!(
            "mul.lo.u32 %x, %w, {}; mad.lo.u32 %x, %g, {step}, %x; cvt.u64.u32 %q, %x;
add.u64 %C, %C, %q; add.u64 %D, %D, %q;\n",
            bits(td) / 4
        );
        // Where in C and D, and in which registers, a lane has its two neighbouring elements of each 8 rows and columns.
        let parts: Vec<(usize, usize)> = (0..n / 8)
            .flat_map(|i| (0..halves).map(move |j| (8 * step * j + bits(td) * i, i * halves + j)))
            .collect();
        let nc = parts.len() * if half { 1 } else { 2 };
        let (vector, access) = if half { ("", 1) } else { (".v2", 2) };
        let list = |name: &str, j: usize| match access {
            1 => format!("%{name}{j}"),
            _ => format!("{{%{name}{}, %{name}{}}}", 2 * j, 2 * j + 1),
        };
        // `wgmma` adds to what it writes.
        let added = if warpgroup { "d" } else { "c" };
        for &(at, j) in &parts {
            text += &format!("ld.global{vector}.{register} {}, [%C+{at}];\n", list(added, j));
        }
        let [satfinite, operation, rounding] = self.modifier_texts();
        let metadata = if self.sparse() { ", %e, 0" } else { "" };
        let d = group("d", nc);
        if warpgroup {
            text += &self.stage("B", *n, wb, 0);
            text += &descriptor("q", wb, 0);
            let mut a = group("a", na);
            if self.variant == "shared-a" {
                text += &self.stage("A", *m, wa, 8192);
                text += &descriptor("v", wa, 8192);
                a = "%v".to_owned();
            }
            let scale = |variant| if self.variant == variant { -1 } else { 1 };
            let mut scales = String::new();
            if super::case::layout(ta).is_some() {
                scales = format!(", {}, {}", scale("negate-a"), scale("negate-b"));
                if matches!(ta.as_str(), "f16" | "bf16") {
                    // Whether B, and an A in shared memory, are transposed.
                    scales += if a == "%v" { ", 0, 0" } else { ", 0" };
                }
            }
            text += &format!(
                "setp.ne.u32 %p, {}, 0;
fence.proxy.async; bar.sync 0; wgmma.fence.sync.aligned;
wgmma.mma_async{}.sync.aligned.{shape}{satfinite}.{td}.{ta}.{tb}{operation} {d}, {a}, %q{metadata}, %p{scales};
wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n",
                u8::from(self.variant != "zero-c"),
                if self.sparse() { ".sp" } else { "" },
            );
        } else {
            text += &format!(
                "shr.u32 %x, %l, 2; mad.lo.u32 %x, %x, {wb}, %w; mad.wide.u32 %u, %x, {bytes}, %B;\n"
            );
            for j in 0..nb {
                text += &format!("ld.global.{register} %b{j}, [%u+{}];\n", bytes * j * 4);
            }
            let sparse = if self.sparse() { ".sp::ordered_metadata" } else { "" };
            let (a, b, c) = (group("a", na), group("b", nb), group("c", nc));
            text += &format!(
                "mma{sparse}.sync.aligned.{shape}.row.col{satfinite}{rounding}.{td}.{ta}.{tb}.{tc}{operation} \
                 {d}, {a}, {b}, {c}{metadata};\n"
            );
        }
        for &(at, j) in &parts {
            text += &format!("st.global{vector}.{register} [%D+{at}], {};\n", list("d", j));
        }
        text
    }

    /// Copies a matrix to shared memory without swizzle: 8 rows of 16 bytes lie together.
    fn stage(&self, matrix: &str, rows: usize, words: usize, base: usize) -> String {
        let all = rows * words;
        let threads = self.threads() as usize;
        let mut text = String::new();
        for first in (0..all).step_by(threads) {
            text += &format!(
                "add.u32 %x, %t, {first}; setp.ge.u32 %p, %x, {all}; @%p bra L{matrix}{first};
mad.wide.u32 %u, %x, 4, %{matrix}; ld.global.b32 %s, [%u];
div.u32 %y, %x, {words}; rem.u32 %x, %x, {words};
and.b32 %z, %y, 7; mul.lo.u32 %z, %z, 16;
shr.u32 %y, %y, 3; mad.lo.u32 %z, %y, {eight_rows}, %z;
shr.u32 %y, %x, 2; mad.lo.u32 %z, %y, 128, %z;
and.b32 %x, %x, 3; mad.lo.u32 %z, %x, 4, %z;
mov.b32 %y, tile; add.u32 %z, %z, %y; st.shared.b32 [%z+{base}], %s;
L{matrix}{first}:\n",
                eight_rows = words * 32
            );
        }
        text
    }
}

/// The descriptor of what `stage` wrote: 16 bytes further along k is 128 bytes on, 8 rows further 8 whole rows on.
fn descriptor(register: &str, words: usize, base: usize) -> String {
    let offsets = (2 * words) << 32 | 8 << 16;
    format!(
        "mov.b32 %s, tile; add.u32 %s, %s, {base}; shr.u32 %s, %s, 4; and.b32 %s, %s, 0x3fff;
cvt.u64.u32 %{register}, %s; or.b64 %{register}, %{register}, {offsets};\n"
    )
}
