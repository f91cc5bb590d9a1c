//! Atomic operations: lane after lane, in the order of the lanes, as the interpreter has them.
//!
//! Integers of 32 and 64 bits are updated here where all active lanes' addresses pass the test of [`super::memory`]: global
//! memory by the host's atomic operations, shared memory by a load and a store, since a CTA runs on one host thread and
//! nobody else reaches its memory. All else is the machine's.

use super::Emitter;
use super::memory::Place;
use super::values::Lanes;
use crate::Refusal;
use crate::sites::Action;
use ir::instruction::{AtomOp, Op};
use ir::operand::{Address, Def, Value};
use machine::compiled::Atomic;
use machine::memory::SpaceKind;
use ptx::types::{ScalarType, TypeKind};

/// What is done to an element.
#[derive(Clone, Copy)]
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
    let signed = ty.kind() == TypeKind::Signed;
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
        let b = self.list_of(&b);
        let c = match c {
            Some(c) => {
                let c = self.read(c, ty.bits())?;
                self.list_of(&c)
            }
            None => b.clone(),
        };
        let (active, _) = self.active();
        let update = update(op, ty).filter(|_| matches!(ty.bits(), 32 | 64));
        let test = match (update, place.space) {
            (Some(update), SpaceKind::Shared | SpaceKind::Global | SpaceKind::Generic) => {
                let test = self.tested_lanes(&place, ty.bits() / 8, &active);
                test.map(|(good, pointers)| (update, good, pointers))
            }
            _ => None,
        };
        let old = match test {
            None => self.update_by_host(&place, ty, atomic, [b, c], &active),
            Some((update, good, pointers)) => {
                let (fast, slow, on) = (self.text.new_label(), self.text.new_label(), self.text.new_label());
                self.text.likely(&good, &fast, &slow);
                self.text.begin(&fast);
                let is_shared = place.space == SpaceKind::Shared;
                let near = self.update_lanes(update, ty.bits(), is_shared, [&pointers, &b, &c], &active);
                let near_label = self.text.label.clone();
                self.text.jump(&on);
                self.text.begin(&slow);
                let far = self.update_by_host(&place, ty, atomic, [b, c], &active);
                let far_label = self.text.label.clone();
                self.text.jump(&on);
                self.text.begin(&on);
                let list = self.text.int(64, super::text::Kind::Vector);
                self.text.value(&format!("phi {list} [ {near}, %{near_label} ], [ {far}, %{far_label} ]"))
            }
        };
        let old = Lanes::varying(64, old);
        let old = self.resized(old, ty.bits(), false);
        self.write(d, old, false)
    }

    /// What was there, from the machine.
    fn update_by_host(
        &mut self,
        place: &Place,
        ty: ScalarType,
        atomic: Atomic,
        [b, c]: [String; 2],
        active: &str,
    ) -> String {
        let addresses = self.vector(&place.address);
        let action = Action::Update { space: place.space, bytes: ty.bits() / 8, atomic };
        self.host(action, &[addresses, b, c], 1, active).remove(0)
    }

    /// Updates elements at tested places; what was there.
    fn update_lanes(
        &mut self,
        update: Update,
        bits: u32,
        is_shared: bool,
        [pointers, b, c]: [&str; 3],
        active: &str,
    ) -> String {
        let width = self.rows.width;
        let list = self.text.int(64, super::text::Kind::Vector);
        self.lists = self.lists.max(4);
        let places: Vec<String> = (0..4)
            .map(|at| self.text.value(&format!("getelementptr i64, ptr %args, i32 {}", at * width)))
            .collect();
        self.text.line(&format!("store <{width} x ptr> {pointers}, ptr {}, align 64", places[0]));
        for (value, place) in [(b, &places[1]), (c, &places[2])] {
            self.text.line(&format!("store {list} {value}, ptr {place}, align 64"));
        }
        let lanes = self.text.mask_bits(active);
        self.intrinsic("declare i32 @llvm.cttz.i32(i32, i1)");
        let (before, head) = (self.text.new_label(), self.text.new_label());
        let (body, done) = (self.text.new_label(), self.text.new_label());
        self.text.jump(&before);
        self.text.begin(&before);
        self.text.jump(&head);
        self.text.begin(&head);
        let (rest, next) = (format!("%rest.{head}"), format!("%next.{head}"));
        self.text.line(&format!("{rest} = phi i32 [ {lanes}, %{before} ], [ {next}, %{body} ]"));
        let some = self.text.value(&format!("icmp ne i32 {rest}, 0"));
        self.text.branch(&some, &body, &done);
        self.text.begin(&body);
        let lane = self.text.value(&format!("call i32 @llvm.cttz.i32(i32 {rest}, i1 false)"));
        let at: Vec<String> = places
            .iter()
            .map(|place| self.text.value(&format!("getelementptr i64, ptr {place}, i32 {lane}")))
            .collect();
        let pointer = self.text.value(&format!("load ptr, ptr {}", at[0]));
        let [b, c] = [1, 2].map(|n: usize| self.text.value(&format!("load i{bits}, ptr {}", at[n])));
        let old = match is_shared {
            true => self.update_alone(update, bits, &pointer, [&b, &c]),
            false => self.update_at_once(update, bits, &pointer, [&b, &c]),
        };
        let old = match bits {
            64 => old,
            _ => self.text.value(&format!("zext i{bits} {old} to i64")),
        };
        self.text.line(&format!("store i64 {old}, ptr {}", at[3]));
        let less = self.text.value(&format!("sub i32 {rest}, 1"));
        self.text.line(&format!("{next} = and i32 {rest}, {less}"));
        self.text.jump(&head);
        self.text.begin(&done);
        self.text.value(&format!("load {list}, ptr {}, align 64", places[3]))
    }

    /// Of an element that nobody else reaches.
    fn update_alone(&mut self, update: Update, bits: u32, pointer: &str, [b, c]: [&str; 2]) -> String {
        let int = format!("i{bits}");
        let old = self.text.value(&format!("load {int}, ptr {pointer}"));
        let chosen = |e: &mut Self, condition: &str| {
            let first = e.text.value(&format!("icmp {condition} {int} {old}, {b}"));
            e.text.value(&format!("select i1 {first}, {int} {old}, {int} {b}"))
        };
        let new = match update {
            Update::CompareAndSwap => {
                let same = self.text.value(&format!("icmp eq {int} {old}, {b}"));
                self.text.value(&format!("select i1 {same}, {int} {c}, {int} {old}"))
            }
            Update::Combine("xchg") => b.to_owned(),
            Update::Combine("min") => chosen(self, "slt"),
            Update::Combine("max") => chosen(self, "sgt"),
            Update::Combine("umin") => chosen(self, "ult"),
            Update::Combine("umax") => chosen(self, "ugt"),
            Update::Combine(how) => self.text.value(&format!("{how} {int} {old}, {b}")),
        };
        self.text.line(&format!("store {int} {new}, ptr {pointer}"));
        old
    }

    /// Of an element that others may update, too.
    fn update_at_once(&mut self, update: Update, bits: u32, pointer: &str, [b, c]: [&str; 2]) -> String {
        match update {
            Update::Combine(how) => {
                self.text.value(&format!("atomicrmw {how} ptr {pointer}, i{bits} {b} seq_cst"))
            }
            Update::CompareAndSwap => {
                let pair = self
                    .text
                    .value(&format!("cmpxchg ptr {pointer}, i{bits} {b}, i{bits} {c} seq_cst seq_cst"));
                self.text.value(&format!("extractvalue {{ i{bits}, i1 }} {pair}, 0"))
            }
        }
    }
}
