//! Accesses of memory: what nobody writes, the thread's own places, and cells that all threads update in any order.
//!
//! Addresses are computed in the ways of compilers, so that engines see affine, uniform and scattered ones, and indices that
//! wrap around 32 bits on the way.

use super::Generator;
use crate::frame::{CELLS, COLUMNS, LOCAL, OPERATIONS, ROW, SECTION, SECTIONS, TABLE};
use crate::vocabulary::{guard, register};
use fastrand::Rng;

/// Types that are loaded and stored, with the registers that hold them.
const TYPES: [(&str, u32, char); 12] = [
    ("u8", 1, 'h'),
    ("s8", 1, 'r'),
    ("u16", 2, 'h'),
    ("s16", 2, 'r'),
    ("u32", 4, 'r'),
    ("b32", 4, 'r'),
    ("s32", 4, 'd'),
    ("f32", 4, 'f'),
    ("b64", 8, 'd'),
    ("s64", 8, 'd'),
    ("f64", 8, 'g'),
    ("u8", 1, 'd'),
];

/// Vectors of elements.
const VECTORS: [(&str, u32, char, usize); 4] =
    [("v2.b32", 8, 'r', 2), ("v4.f32", 16, 'f', 4), ("v2.b64", 16, 'd', 2), ("v4.u8", 4, 'h', 4)];

/// What is accessed: the type in the opcode, its bytes, and the operand.
struct Value {
    ty: &'static str,
    bytes: u32,
    operand: String,
}

fn value(random: &mut Rng) -> Value {
    if random.u32(..5) == 0 {
        let (ty, bytes, letter, count) = VECTORS[random.usize(..VECTORS.len())];
        // What is loaded twice into a register is undefined.
        let first = random.usize(..4);
        let registers: Vec<String> = (0..count).map(|i| format!("%{letter}{}", (first + i) % 4)).collect();
        return Value { ty, bytes, operand: format!("{{{}}}", registers.join(", ")) };
    }
    let (ty, bytes, letter) = TYPES[random.usize(..TYPES.len())];
    Value { ty, bytes, operand: register(letter, random) }
}

/// Sets `%i0` to an index below a power of two, of which a thread's number and less than 64 more are no more than.
fn index(below: u32, random: &mut Rng) -> String {
    let (mask, ahead) = (below - 1, random.u32(..64));
    match random.u32(..8) {
        0 | 1 => format!("add.u32 %i0, %gtid, {ahead}; and.b32 %i0, %i0, {mask};"),
        // On the way it is below zero in some lanes.
        2 => format!("add.u32 %i0, %gtid, -{ahead}; add.u32 %i0, %i0, {ahead}; and.b32 %i0, %i0, {mask};"),
        3 => format!("sub.u32 %i0, %total, %gtid; add.u32 %i0, %i0, {ahead}; and.b32 %i0, %i0, {mask};"),
        4 => format!("mul.lo.u32 %i0, %gtid, {}; and.b32 %i0, %i0, {mask};", ahead % 9),
        5 => format!(
            "add.u32 %i0, {}, {ahead}; and.b32 %i0, %i0, {mask};",
            ["%cta", "%u0", "%u1"][random.usize(..3)]
        ),
        _ => format!("and.b32 %i0, {}, {mask};", register('r', random)),
    }
}

/// Sets `%a0` to a base and `%i0` elements.
fn scaled(base: &str, bytes: u32, random: &mut Rng) -> String {
    let shift = bytes.trailing_zeros();
    let sign = ['u', 's'][random.usize(..2)];
    match random.u32(..4) {
        0 => format!("mul.wide.{sign}32 %a1, %i0, {bytes}; add.s64 %a0, {base}, %a1;"),
        1 => format!("mad.wide.{sign}32 %a0, %i0, {bytes}, {base};"),
        2 => format!("cvt.u64.{sign}32 %a1, %i0; shl.b64 %a1, %a1, {shift}; add.s64 %a0, %a1, {base};"),
        _ => format!("shl.b32 %i0, %i0, {shift}; cvt.u64.u32 %a1, %i0; add.s64 %a0, {base}, %a1;"),
    }
}

impl Generator {
    /// A load or a store.
    pub(super) fn access(&mut self) -> String {
        let (shared, local) = (self.kinds.shared, self.kinds.local);
        let random = &mut self.random;
        let guard = guard(random);
        let value = value(random);
        let Value { ty, bytes, operand } = &value;
        let space = match random.u32(..10) {
            0..4 => {
                let section = random.u32(..SECTIONS.len() as u32) * SECTION;
                let (index, scaled) = (index(SECTION / bytes, random), scaled("%input", *bytes, random));
                let how = ["global", "global.nc", "global"][random.usize(..3)];
                return format!("{index}\n{scaled}\n{guard}ld.{how}.{ty} {operand}, [%a0+{section}];");
            }
            4 if *bytes <= 8 => {
                let (index, scaled) = (index(TABLE / bytes, random), scaled("%a2", *bytes, random));
                return format!(
                    "{index}\nmov.u64 %a2, table;\n{scaled}\n{guard}ld.const.{ty} {operand}, [%a0];"
                );
            }
            // Words of neighbours are neighbours: wider places would overlap.
            5 | 6 if shared && *bytes <= 8 => "shared",
            7 if local => "local",
            _ => "global",
        };
        let place = match space {
            "shared" => self.own_in_shared(),
            "local" => {
                format!(
                    "{}\nmov.u64 %a2, stack;\n{}",
                    index(LOCAL / bytes, random),
                    scaled("%a2", *bytes, random)
                )
            }
            _ => self.own_in_global(*bytes),
        };
        let random = &mut self.random;
        let how = match (space, random.u32(..12)) {
            ("global", 0) => "volatile.global.",
            ("global", 1) => "",
            ("shared", 0) => "volatile.shared.",
            ("shared", _) => "shared.",
            ("local", _) => "local.",
            _ => "global.",
        };
        if random.bool() {
            format!("{place}\n{guard}ld.{how}{ty} {operand}, [%a0];")
        } else {
            format!("{place}\n{guard}st.{how}{ty} [%a0], {operand};")
        }
    }

    /// Sets `%a0` to a place of the thread in shared memory, of up to eight bytes.
    fn own_in_shared(&mut self) -> String {
        let half = self.random.u32(..2) * self.threads * 8;
        format!(
            "mov.u64 %a0, own; mul.wide.u32 %a1, %thread, 8; add.s64 %a0, %a0, %a1; add.s64 %a0, %a0, {half};"
        )
    }

    /// Sets `%a0` to a place of the thread in global memory.
    fn own_in_global(&mut self, bytes: u32) -> String {
        let random = &mut self.random;
        if bytes <= 8 && random.bool() {
            let column = random.u32(..COLUMNS);
            return format!("mad.lo.u32 %i0, %total, {column}, %gtid;\n{}", scaled("%columns", 8, random));
        }
        let (index, scaled) = (index(ROW / bytes, random), scaled("%a2", bytes, random));
        format!("{index}\nmad.wide.u32 %a2, %gtid, {ROW}, %rows;\n{scaled}")
    }

    /// An operation on a cell that all threads update, whose result nobody uses.
    pub(super) fn common_cell(&mut self) -> String {
        let shared = self.kinds.shared && self.random.bool();
        let random = &mut self.random;
        let guard = guard(random);
        let number = random.usize(..OPERATIONS.len());
        let operation = OPERATIONS[number];
        let wide = operation.ends_with("64");
        let source = register(if wide { 'd' } else { 'r' }, random);
        let index = match random.u32(..3) {
            0 => format!("mov.u32 %i0, {};", random.u32(..CELLS)),
            1 => format!("and.b32 %i0, %thread, {};", CELLS - 1),
            _ => format!("and.b32 %i0, {}, {};", register('r', random), CELLS - 1),
        };
        let (space, base, setup) =
            if shared { ("shared", "%a2", "mov.u64 %a2, shared_cells;\n") } else { ("global", "%cells", "") };
        let address = format!("{setup}{index}\n{}", scaled(base, 8, random));
        let offset = number as u32 * CELLS * 8;
        let sink = if wide { "%wide" } else { "%sink" };
        if random.bool() {
            format!("{address}\n{guard}red.{space}.{operation} [%a0+{offset}], {source};")
        } else {
            format!("{address}\n{guard}atom.{space}.{operation} {sink}, [%a0+{offset}], {source};")
        }
    }

    /// An atomic operation on a place of the thread's own, with its result.
    pub(super) fn own_cell(&mut self) -> String {
        const ALL: [(&str, char, u32); 16] = [
            ("add.u32", 'r', 1),
            ("add.f32", 'f', 1),
            ("add.f64", 'g', 1),
            ("add.u64", 'd', 1),
            ("exch.b32", 'r', 1),
            ("exch.b64", 'd', 1),
            ("cas.b32", 'r', 2),
            ("cas.b64", 'd', 2),
            ("inc.u32", 'r', 1),
            ("dec.u32", 'r', 1),
            ("min.s32", 'r', 1),
            ("max.u32", 'r', 1),
            ("min.u64", 'd', 1),
            ("max.s64", 'd', 1),
            ("and.b32", 'r', 1),
            ("xor.b64", 'd', 1),
        ];
        let (operation, letter, count) = ALL[self.random.usize(..ALL.len())];
        let place = self.own_in_global(if matches!(letter, 'r' | 'f') { 4 } else { 8 });
        let random = &mut self.random;
        let sources: Vec<String> = (0..count).map(|_| register(letter, random)).collect();
        let (guard, space) = (guard(random), ["global.", ""][random.usize(..2)]);
        let result = register(letter, random);
        format!("{place}\n{guard}atom.{space}{operation} {result}, [%a0], {};", sources.join(", "))
    }
}
