//! Atomic operations: lane after lane, in the order of the lanes, as the interpreter has them.
//!
//! Integers of 32 and 64 bits are updated here where all active lanes' addresses pass the test of [`super::window`]: global
//! memory by the host's atomic operations, shared memory by a load and a store, since a CTA runs on one host thread and
//! nobody else reaches its memory. All else is the machine's.

use super::Emitter;
use super::memory::{Layout, Place};
use super::text::{Kind, Text};
use super::values::Lanes;
use crate::Refusal;
use crate::class::is_signed;
use crate::sites::{Access, Action, list_bytes};
use ir::instruction::{AtomOp, Op};
use ir::operand::{Address, Def, Value};
use machine::compiled::Atomic;
use machine::memory::SpaceKind;
use ptx::module::RegId;
use ptx::types::{ScalarType, TypeKind};

/// What is done to an element.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Update {
    /// By LLVM's `atomicrmw` of this name.
    Combine(&'static str),
    CompareAndSwap,
}

/// The update of an integer.
fn update(op: &Op, ty: ScalarType) -> Option<Update> {
    let op: AtomOp = match op {
        Op::Atom(i) => i.op,
        Op::Red(i) => i.op.into(),
        _ => return Some(Update::CompareAndSwap),
    };
    let signed = is_signed(ty);
    if !matches!(ty.kind(), TypeKind::Signed | TypeKind::Unsigned | TypeKind::Untyped) {
        return None;
    }
    Some(Update::Combine(match op {
        AtomOp::Add => "add",
        AtomOp::And => "and",
        AtomOp::Or => "or",
        AtomOp::Xor => "xor",
        AtomOp::Exch => "xchg",
        AtomOp::Min if signed => "min",
        AtomOp::Max if signed => "max",
        AtomOp::Min => "umin",
        AtomOp::Max => "umax",
        _ => return None,
    }))
}

/// An update that lanes can make together: LLVM's name for the reduction, and what changes nothing.
pub(super) struct Reduction {
    how: &'static str,
    name: &'static str,
    neutral: fn(u32) -> i64,
}

/// That of LLVM's `atomicrmw` of a name.
pub(super) fn reduction(how: &'static str) -> Option<Reduction> {
    let (name, neutral): (_, fn(u32) -> i64) = match how {
        "add" | "or" | "xor" => (how, |_| 0),
        "and" => (how, |_| -1),
        "umax" => (how, |_| 0),
        "umin" => (how, |_| -1),
        "max" => ("smax", |bits| i64::MIN >> (64 - bits)),
        "min" => ("smin", |bits| i64::MAX >> (64 - bits)),
        _ => return None,
    };
    Some(Reduction { how, name, neutral })
}

impl Emitter<'_> {
    /// `atom`, `atom.cas`, `red`.
    pub(crate) fn atomic(&mut self, op: &Op) -> Result<(), Refusal> {
        let (address, ty, d, b, c): (&Address, ScalarType, Def, &Value, Option<&Value>) = match op {
            Op::Atom(i) => (&i.a, i.ty, i.d, &i.b, None),
            Op::AtomCas(i) => (&i.a, i.ty, i.d, &i.b, Some(&i.c)),
            Op::Red(i) => (&i.a, i.ty, Def(None), &i.b, None),
            _ => return Err(self.unsupported()),
        };
        let place = self.place(address)?;
        let atomic = match op {
            Op::Atom(i) => Atomic::new(i.op, ty, place.space),
            Op::Red(i) => Atomic::new(i.op.into(), ty, place.space),
            _ => Atomic::compare_and_swap(ty.bits(), place.space),
        };
        let atomic = atomic.ok_or_else(|| self.unsupported())?;
        let b = self.read(b, ty.bits())?;
        let c = c.map(|c| self.read(c, ty.bits())).transpose()?.unwrap_or_else(|| b.clone());
        let (active, _) = self.active();
        let near = update(op, ty).filter(|_| matches!(ty.bits(), 32 | 64));
        let all = ty.bits() / 8;
        let is_near = near.is_some()
            && matches!(place.space, SpaceKind::Shared | SpaceKind::Global | SpaceKind::Generic);
        let d = Def(d.0.filter(|&register| self.is_read(register)));
        if let (Some(Update::Combine(how)), None, Layout::Common, true) =
            (near, d.0, place.layout(all), is_near)
            && let Some(reduction) = reduction(how)
        {
            return self.update_for_all(&place, ty, atomic, reduction, [b, c], &active);
        }
        let tested = match is_near {
            true => self.tested(&place, Layout::Scattered, all, &active),
            false => None,
        };
        let old = match (near, tested) {
            (Some(near), Some(tested)) => {
                let at = self.scattered(&tested, 0);
                let pointers = self.pointers(&at);
                let reach = if place.space == SpaceKind::Shared { Reach::Alone } else { Reach::All };
                let near = Near { update: near, bits: ty.bits(), reach, has_result: d.0.is_some() };
                self.update_lanes(near, &pointers, [&b, &c], &active)
            }
            _ => self.update_by_host(&place, ty, atomic, [b, c], &active),
        };
        self.write(d, old, false)
    }

    /// Updates one element by what all active lanes have, where nobody asks what was there.
    fn update_for_all(
        &mut self,
        place: &Place,
        ty: ScalarType,
        atomic: Atomic,
        reduction: Reduction,
        [b, c]: [Lanes; 2],
        active: &str,
    ) -> Result<(), Refusal> {
        let bits = ty.bits();
        let Some(tested) = self.tested(place, Layout::Common, bits / 8, active) else {
            self.update_by_host(place, ty, atomic, [b, c], active);
            return Ok(());
        };
        let vector = self.vector(&b);
        let all = self.reduced(&reduction, &vector, bits, active);
        let pointer = self.pointer(&tested);
        let update = Update::Combine(reduction.how);
        match place.space {
            SpaceKind::Shared => update_alone(&mut self.text, update, bits, &pointer, [&all, &all]),
            _ => update_at_once(&mut self.text, update, bits, &pointer, [&all, &all]),
        };
        Ok(())
    }

    /// What the active lanes of a vector have together.
    pub(super) fn reduced(&mut self, reduction: &Reduction, vector: &str, bits: u32, active: &str) -> String {
        let (int, bit) = (self.text.int(bits, Kind::Vector), self.text.int(1, Kind::Vector));
        let neutral = self.text.constant((reduction.neutral)(bits), bits, Kind::Vector);
        let vector = self.text.value(&format!("select {bit} {active}, {int} {vector}, {int} {neutral}"));
        let suffix = self.text.suffix(&format!("i{bits}"), Kind::Vector);
        let name = format!("llvm.vector.reduce.{}.{suffix}", reduction.name);
        self.intrinsic(&format!("declare i{bits} @{name}({int})"));
        self.text.value(&format!("call i{bits} @{name}({int} {vector})"))
    }

    /// Whether some instruction reads a register.
    fn is_read(&self, register: RegId) -> bool {
        self.function.instructions.iter().flatten().any(|instruction| {
            let mut reads = false;
            instruction.registers(&mut |other, access| {
                reads |= other == register && access != ir::Access::Write;
            });
            reads
        })
    }

    /// What was there, from the machine.
    fn update_by_host(
        &mut self,
        place: &Place,
        ty: ScalarType,
        atomic: Atomic,
        operands: [Lanes; 2],
        active: &str,
    ) -> Lanes {
        let (steps, from, mut lists) = self.told(place);
        lists.extend(operands);
        let window = self.window();
        let access = Access { space: place.space, bytes: ty.bits() / 8, elements: 1, steps, window };
        self.host(Action::Update { access, atomic }, &from, &lists, &[ty.bits()], active).remove(0)
    }

    /// Updates elements at tested places; what was there, if anybody asks.
    fn update_lanes(&mut self, near: Near, pointers: &str, operands: [&Lanes; 2], active: &str) -> Lanes {
        let width = self.rows.width;
        let places = near.lists(width).map(|at| self.list(at));
        self.arguments = self.arguments.max(near.lists(width)[3] + list_bytes(near.bits, width));
        self.text.line(&format!("store <{width} x ptr> {pointers}, ptr {}, align 64", places[0]));
        let count = if near.update == Update::CompareAndSwap { 2 } else { 1 };
        for (value, place) in operands.into_iter().zip(&places[1..]).take(count) {
            self.store_list(value, place);
        }
        let lanes = self.text.mask_bits(active);
        self.text.line(&format!("call void @{}(ptr %args, i32 {lanes})", near.name()));
        self.updates.insert(near);
        match near.has_result {
            true => self.load_list(near.bits, &places[3]),
            false => Lanes::varying(near.bits, "poison"),
        }
    }
}

/// An update of tested elements: a function of the text, which goes from lane to lane.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Near {
    update: Update,
    bits: u32,
    reach: Reach,
    has_result: bool,
}

/// Who else may update an element.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    /// Nobody.
    Alone,
    All,
}

impl Near {
    fn name(self) -> String {
        let how = match self.update {
            Update::Combine(how) => how,
            Update::CompareAndSwap => "cas",
        };
        let reach = if self.reach == Reach::Alone { ".alone" } else { "" };
        let result = if self.has_result { "" } else { ".void" };
        format!("update.{how}.{}{reach}{result}", self.bits)
    }

    /// Where the lists of pointers, operands and results are.
    fn lists(self, width: u32) -> [usize; 4] {
        let first = list_bytes(64, width);
        let each = list_bytes(self.bits, width);
        [0, first, first + each, first + 2 * each]
    }

    /// Its definition: lane after lane. Where nobody else reaches the elements, that is short enough to be written out for the case
    /// that all lanes take part.
    pub(super) fn definition(self, width: u32) -> String {
        let mut text = Text::new(width);
        text.begin("entry");
        if self.reach == Reach::Alone {
            text.line(&format!("%all = icmp eq i32 %lanes, {}", (u64::MAX >> (64 - width)) as u32 as i32));
            text.branch("%all", "whole", "some");
            text.begin("whole");
            (0..width).for_each(|lane| self.update(&mut text, width, &lane.to_string()));
            text.line("ret void");
        } else {
            text.jump("some");
        }
        text.begin("some");
        text.jump("head");
        text.begin("head");
        text.line("%rest = phi i32 [ %lanes, %some ], [ %next, %body ]");
        text.line("%is.some = icmp ne i32 %rest, 0");
        text.branch("%is.some", "body", "done");
        text.begin("body");
        text.line("%lane = call i32 @llvm.cttz.i32(i32 %rest, i1 true)");
        self.update(&mut text, width, "%lane");
        text.line("%less = sub i32 %rest, 1");
        text.line("%next = and i32 %rest, %less");
        text.jump("head");
        text.begin("done");
        text.line("ret void");
        format!(
            "define internal void @{}(ptr %args, i32 %lanes) noinline {{\n{}}}\n",
            self.name(),
            text.lines
        )
    }

    /// A lane's part of it.
    fn update(self, text: &mut Text, width: u32, lane: &str) {
        let (bits, lists) = (self.bits, self.lists(width));
        let place = |text: &mut Text, list: usize, ty: &str| {
            let first = text.value(&format!("getelementptr i8, ptr %args, i64 {}", lists[list]));
            text.value(&format!("getelementptr {ty}, ptr {first}, i32 {lane}"))
        };
        let at = place(text, 0, "ptr");
        let pointer = text.value(&format!("load ptr, ptr {at}"));
        let [b, c] = [1, 2].map(|list| {
            let at = place(text, list, &format!("i{bits}"));
            text.value(&format!("load i{bits}, ptr {at}"))
        });
        let old = match self.reach {
            Reach::Alone => update_alone(text, self.update, bits, &pointer, [&b, &c]),
            Reach::All => update_at_once(text, self.update, bits, &pointer, [&b, &c]),
        };
        if self.has_result {
            let at = place(text, 3, &format!("i{bits}"));
            text.line(&format!("store i{bits} {old}, ptr {at}"));
        }
    }
}

/// Of an element that nobody else reaches.
fn update_alone(text: &mut Text, update: Update, bits: u32, pointer: &str, [b, c]: [&str; 2]) -> String {
    let int = format!("i{bits}");
    let old = text.value(&format!("load {int}, ptr {pointer}"));
    let chosen = |text: &mut Text, condition: &str| {
        let first = text.value(&format!("icmp {condition} {int} {old}, {b}"));
        text.value(&format!("select i1 {first}, {int} {old}, {int} {b}"))
    };
    let new = match update {
        Update::CompareAndSwap => {
            let same = text.value(&format!("icmp eq {int} {old}, {b}"));
            text.value(&format!("select i1 {same}, {int} {c}, {int} {old}"))
        }
        Update::Combine("xchg") => b.to_owned(),
        Update::Combine("min") => chosen(text, "slt"),
        Update::Combine("max") => chosen(text, "sgt"),
        Update::Combine("umin") => chosen(text, "ult"),
        Update::Combine("umax") => chosen(text, "ugt"),
        Update::Combine(how) => text.value(&format!("{how} {int} {old}, {b}")),
    };
    text.line(&format!("store {int} {new}, ptr {pointer}"));
    old
}

/// Of an element that others may update, too.
fn update_at_once(text: &mut Text, update: Update, bits: u32, pointer: &str, [b, c]: [&str; 2]) -> String {
    match update {
        Update::Combine(how) => text.value(&format!("atomicrmw {how} ptr {pointer}, i{bits} {b} seq_cst")),
        Update::CompareAndSwap => {
            let pair =
                text.value(&format!("cmpxchg ptr {pointer}, i{bits} {b}, i{bits} {c} seq_cst seq_cst"));
            text.value(&format!("extractvalue {{ i{bits}, i1 }} {pair}, 0"))
        }
    }
}
