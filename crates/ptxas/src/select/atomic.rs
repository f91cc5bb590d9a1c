//! Atomics (PTX ISA, "atom", "red").

use super::memory::{Place, Window, strength};
use super::multimem::float_kind;
use super::{Done, Refusal, Select};
use crate::code::{Operand, Reg};
use ir::Op;
use ir::instruction as i;
use ir::operand::{Address, Def, Value};
use ptx::isa::{Order, Scope};
use ptx::types::{ScalarType, TypeKind};

/// What is done to the old value, and how strong.
struct Update {
    name: &'static str,
    ty: ScalarType,
    order: Order,
    scope: Scope,
}

impl Select<'_> {
    pub(super) fn atomics(&mut self, op: &Op) -> Option<Done> {
        Some(match op {
            Op::Atom(op) if op.ty.bits() == 16 => {
                self.add_halfword(op.ty, (op.order, op.scope), op.d, &op.a, &op.b)
            }
            Op::Red(op) if op.ty.bits() == 16 => {
                self.add_halfword(op.ty, (op.order, op.scope), Def(None), &op.a, &op.b)
            }
            Op::AtomCas(op) if op.ty.bits() == 16 => self.swap_halfword(op),
            Op::Atom(op) => {
                let name = upper(op.op.modifier().text());
                self.update(&Update { name, ty: op.ty, order: op.order, scope: op.scope }, op.d, &op.a, &op.b)
            }
            Op::Red(op) => {
                let name = upper(op.op.modifier().text());
                self.update(
                    &Update { name, ty: op.ty, order: op.order, scope: op.scope },
                    Def(None),
                    &op.a,
                    &op.b,
                )
            }
            Op::AtomCas(op) => self.compare_and_swap(op),
            Op::AtomVector(op) => {
                self.update_vector((op.op, op.ty), (op.order, op.scope), Some(&op.d), &op.a, &op.b)
            }
            Op::RedVector(op) => self.update_vector((op.op, op.ty), (op.order, op.scope), None, &op.a, &op.b),
            _ => return None,
        })
    }

    pub(super) fn released(&mut self, order: Order, scope: Scope) {
        if matches!(order, Order::Release | Order::AcqRel | Order::Sc) {
            self.membar(if order == Order::Sc { "SC" } else { "ALL" }, scope);
        }
    }

    fn update(&mut self, update: &Update, d: Def, a: &Address, b: &Value) -> Done {
        let ty = update.ty;
        let place = self.place(a)?;
        let (value, width) = self.datum(b, ty)?;
        let integer = ty.kind() != TypeKind::Float;
        let arithmetic = matches!(update.name, "ADD" | "MIN" | "MAX");
        let kind = match (ty, ty.kind()) {
            (ScalarType::F32, _) => ".F32.FTZ.RN",
            (ScalarType::F64, _) => ".F64.RN",
            (ScalarType::F16x2, _) => ".F16x2.RN",
            (ScalarType::Bf16x2, _) => ".BF16x2.RN",
            (ScalarType::S64, _) if arithmetic && update.name != "ADD" => ".S64",
            (ScalarType::S32, _) if arithmetic && update.name != "ADD" => ".S32",
            (_, _) if width == 4 => ".128",
            (_, _) if width == 2 => ".64",
            _ => "",
        };
        self.released(update.order, update.scope);
        let simple = integer && width == 1 || update.name == "EXCH";
        let result = match place.window {
            Window::Global => {
                let to = self.result(d, width);
                let name =
                    format!("ATOMG.E.{}{kind}{}", update.name, strength(Order::Relaxed, Some(update.scope)));
                self.atomic(
                    name,
                    to.map(|to| (to, width)),
                    true,
                    vec![place.operand(0), Operand::wide(value, width)],
                );
                to
            }
            Window::Generic if simple && width == 1 => {
                let to = self.result(d, width);
                let name =
                    format!("ATOM.E.{}{kind}{}", update.name, strength(Order::Relaxed, Some(update.scope)));
                self.atomic(
                    name,
                    to.map(|to| (to, width)),
                    true,
                    vec![place.operand(0), Operand::wide(value, width)],
                );
                to
            }
            Window::Generic => {
                let name =
                    format!("ATOM.E.{}{kind}{}", update.name, strength(Order::Relaxed, Some(update.scope)));
                let new = |this: &mut Self, old| match update.name {
                    "EXCH" => Ok(value),
                    _ => this.updated(update, old, value),
                };
                let read = vec![place.operand(0), Operand::wide(value, width)];
                Some(self.where_it_leads(&place, width, (name, read), new)?)
            }
            Window::Shared if simple => {
                let to = self.result(d, width);
                let name = format!("ATOMS.{}{kind}", update.name);
                self.atomic(
                    name,
                    to.map(|to| (to, width)),
                    false,
                    vec![place.operand(0), Operand::wide(value, width)],
                );
                to
            }
            Window::Shared => {
                Some(self.by_swapping(&place, width, |this, old| this.updated(update, old, value))?)
            }
            window => return Err(format!("with this type in {window:?} memory")),
        };
        self.acquired(update.order, Some(update.scope));
        if let Some(result) = result {
            self.set(d, result);
        }
        Ok(())
    }

    fn atomic(&mut self, name: String, to: Option<(Reg, u8)>, predicate: bool, read: Vec<Operand>) {
        let result = to.map_or(Operand::zero(), |(to, width)| Operand::wide(to, width));
        let written = if predicate { vec![Operand::always(false), result] } else { vec![result] };
        self.effect(name, written, read);
    }

    /// An update at a generic address. The unit for global memory says whether the address was its own; shared memory has another way,
    /// and local memory is the thread's own. In shared memory of another CTA it ends in a trap.
    fn where_it_leads(
        &mut self,
        place: &Place,
        width: u8,
        (name, read): (String, Vec<Operand>),
        new: impl Fn(&mut Self, Reg) -> Result<Reg, Refusal>,
    ) -> Result<Reg, Refusal> {
        let result = self.temporary(width);
        for part in 0..width {
            self.code.push(None, "MOV", vec![Operand::part(result, part)], vec![Operand::zero()]);
        }
        let size = size_of(width);
        self.behind_guard(|this| {
            let (end, other) = (this.code.label(), this.code.label());
            let done = this.flag();
            let written = vec![Operand::Predicate(done, false), Operand::wide(result, width)];
            this.code.push(None, name, written, read);
            this.branch(Some((done, false)), end);
            let at = this.wide_address_of(place)?;
            let shared = this.leads_to(at, "S");
            this.branch(Some((shared, true)), other);
            let inside = this.within_shared(at);
            let found = this.by_swapping(&inside, width, &new)?;
            for part in 0..width {
                let read = vec![Operand::part(found, part)];
                this.code.push(None, "MOV", vec![Operand::part(result, part)], read);
            }
            this.branch(None, end);
            this.code.place(other);
            let remote = this.leads_to(at, "D");
            this.code.push(Some((remote, false)), "BPT.TRAP", vec![], vec![Operand::number(1)]);
            let own = Place::generic(at);
            let written = vec![Operand::wide(result, width)];
            this.code.push(None, format!("LD.E{size}"), written, vec![own.operand(0)]);
            let value = new(this, result)?;
            let read = vec![own.operand(0), Operand::wide(value, width)];
            this.code.push(None, format!("ST.E{size}"), vec![], read);
            this.code.place(end);
            Ok(())
        })?;
        Ok(result)
    }

    /// Shared memory has no such unit: the new value is swapped in until no other thread has come between.
    fn by_swapping(
        &mut self,
        place: &Place,
        width: u8,
        new: impl Fn(&mut Self, Reg) -> Result<Reg, Refusal>,
    ) -> Result<Reg, Refusal> {
        let (skip, head) = (self.code.label(), self.code.label());
        let result = self.temporary(width);
        for part in 0..width {
            self.code.push(None, "MOV", vec![Operand::part(result, part)], vec![Operand::zero()]);
        }
        if let Some((guard, not)) = self.guard {
            self.branch(Some((guard, !not)), skip);
        }
        let size = size_of(width);
        let load = |this: &mut Self, to: Reg| {
            this.code.push(
                None,
                format!("LDS{size}"),
                vec![Operand::wide(to, width)],
                vec![place.operand(0)],
            );
        };
        load(self, result);
        self.code.place(head);
        let new = new(self, result)?;
        let before = self.temporary(width);
        let read = vec![place.operand(0), Operand::wide(result, width), Operand::wide(new, width)];
        self.code.push(None, format!("ATOMS.CAS{size}"), vec![Operand::wide(before, width)], read);
        let same = self.same_words(before, result, width);
        for part in 0..width {
            self.code.push(None, "MOV", vec![Operand::part(result, part)], vec![Operand::part(before, part)]);
        }
        self.branch(Some((same, true)), head);
        self.code.place(skip);
        Ok(result)
    }

    /// Whether two values of so many words are the same.
    fn same_words(&mut self, a: Reg, b: Reg, width: u8) -> Reg {
        let mut so_far = Operand::always(false);
        let mut same = None;
        for part in 0..width {
            let to = self.flag();
            let written = vec![Operand::Predicate(to, false), Operand::always(false)];
            let read = vec![Operand::part(a, part), Operand::part(b, part), so_far];
            self.code.push(None, "ISETP.EQ.U32.AND", written, read);
            so_far = Operand::Predicate(to, false);
            same = Some(to);
        }
        same.unwrap_or_else(|| self.flag())
    }

    fn updated(&mut self, update: &Update, old: Reg, value: Reg) -> Result<Reg, Refusal> {
        let signed = update.ty.kind() == TypeKind::Signed;
        let bits = |this: &mut Self, table| {
            let low = this.lop(Operand::part(old, 0), Operand::part(value, 0), table);
            let high = this.lop(Operand::part(old, 1), Operand::part(value, 1), table);
            this.join(Operand::low(low), Operand::low(high))
        };
        Ok(match (update.name, update.ty) {
            ("ADD", ScalarType::F32) => self.one("FADD", vec![Operand::low(old), Operand::low(value)]),
            ("ADD", ScalarType::F64) => {
                // Of two NaNs that of the value stays.
                self.pair("DADD", vec![Operand::wide(value, 2), Operand::wide(old, 2)])
            }
            ("ADD", ScalarType::F16x2) => self.one("HADD2", vec![Operand::low(old), Operand::low(value)]),
            ("ADD", ScalarType::Bf16x2) => {
                self.one("HADD2.BF16_V2", vec![Operand::low(old), Operand::low(value)])
            }
            ("ADD", _) => self.add64(old, value),
            ("MIN" | "MAX", _) if update.ty.bits() == 64 => {
                let less = self.compare64("LT", signed, old, value, Operand::always(false), "AND").0;
                self.select_double(old, value, less, update.name == "MAX")
            }
            ("AND", _) => bits(self, 0xc0),
            ("OR", _) => bits(self, 0xfc),
            ("XOR", _) => bits(self, 0x3c),
            _ => return Err("in shared memory".to_owned()),
        })
    }

    fn compare_and_swap(&mut self, op: &i::AtomCas) -> Done {
        let place = self.place(&op.a)?;
        let ((b, width), (c, _)) = (self.datum(&op.b, op.ty)?, self.datum(&op.c, op.ty)?);
        self.released(op.order, op.scope);
        let size = size_of(width);
        let to = self.result(op.d, width);
        let strong = strength(Order::Relaxed, Some(op.scope));
        let values = [Operand::wide(b, width), Operand::wide(c, width)];
        let bare = place.bare();
        let (name, predicate, address) = match (place.window, bare) {
            (Window::Global, Some(address)) => (format!("ATOMG.E.CAS{size}{strong}"), true, address),
            (Window::Generic, Some(address)) if width == 1 => (format!("ATOM.E.CAS{strong}"), true, address),
            (Window::Generic, Some(address)) => {
                let name = format!("ATOM.E.CAS{size}{strong}");
                let read = std::iter::once(address).chain(values).collect();
                let new = |this: &mut Self, old| {
                    let same = this.same_words(old, b, width);
                    let to = this.temporary(width);
                    for part in 0..width {
                        let both = [Operand::part(c, part), Operand::part(old, part)];
                        let read = both.into_iter().chain([Operand::Predicate(same, false)]).collect();
                        this.code.push(None, "SEL", vec![Operand::part(to, part)], read);
                    }
                    Ok(to)
                };
                let found = self.where_it_leads(&place, width, (name, read), new)?;
                self.acquired(op.order, Some(op.scope));
                self.set(op.d, found);
                return Ok(());
            }
            (Window::Shared, _) => (format!("ATOMS.CAS{size}"), false, place.operand(0)),
            (window, _) => return Err(format!("with this type in {window:?} memory")),
        };
        let read = std::iter::once(address).chain(values).collect();
        self.atomic(name, to.map(|to| (to, width)), predicate, read);
        self.acquired(op.order, Some(op.scope));
        if let Some(to) = to {
            self.set(op.d, to);
        }
        Ok(())
    }
}

impl Select<'_> {
    /// Sums and extremes of several floats at once, in global memory.
    fn update_vector(
        &mut self,
        (op, ty): (i::MultimemLoadNarrowOp, ScalarType),
        (order, scope): (Order, Scope),
        d: Option<&[Def]>,
        a: &Address,
        b: &[Value],
    ) -> Done {
        let what = match op {
            i::MultimemLoadNarrowOp::Add => "ADD",
            i::MultimemLoadNarrowOp::Min => "MIN",
            i::MultimemLoadNarrowOp::Max => "MAX",
        };
        let place = self.place(a)?;
        if !matches!(place.window, Window::Global | Window::Generic) {
            return Err(format!("in {:?} memory", place.window));
        }
        let (value, width) = self.elements(b, ty)?;
        let kind = float_kind(ty, width)?;
        let ftz = if ty == ScalarType::F32 { ".FTZ" } else { "" };
        self.released(order, scope);
        let to = self.temporary(width);
        let name = format!("ATOMG.E.{what}.{kind}{ftz}.RN{}", strength(Order::Relaxed, Some(scope)));
        let read = vec![place.operand(0), Operand::wide(value, width)];
        self.atomic(name, Some((to, width)), true, read);
        self.acquired(order, Some(scope));
        self.give_elements(d.unwrap_or_default(), ty, to);
        Ok(())
    }

    /// Values in registers that follow one another, those of 16 bits two in each.
    pub(super) fn elements(&mut self, values: &[Value], ty: ScalarType) -> Result<(Reg, u8), Refusal> {
        let mut words = Vec::new();
        match ty.bits() {
            16 => words = self.packed_halves(values)?,
            64 => {
                for value in values {
                    let both = self.double(value)?;
                    words.extend([Operand::part(both, 0), Operand::part(both, 1)]);
                }
            }
            _ => words = values.iter().map(|value| self.word(value)).collect::<Result<_, _>>()?,
        }
        let width = words.len() as u8;
        let all = self.temporary(width);
        for (part, word) in (0..).zip(words) {
            self.code.push(None, "MOV", vec![Operand::part(all, part)], vec![word]);
        }
        Ok((all, width))
    }

    /// Gives out what stands in registers so.
    pub(super) fn give_elements(&mut self, d: &[Def], ty: ScalarType, from: Reg) {
        for (index, &def) in (0..).zip(d) {
            let bit = index * ty.bits();
            let word = Operand::part(from, (bit / 32) as u8);
            let value = match (ty.bits(), bit % 32) {
                (64, _) => self.join(word, Operand::part(from, (bit / 32) as u8 + 1)),
                (_, 0) => self.one("MOV", vec![word]),
                (_, by) => self.one("SHF.R.U32.HI", vec![Operand::zero(), Operand::number(by), word]),
            };
            self.set(def, value);
        }
    }
}

/// The modifier of so many words.
fn size_of(width: u8) -> &'static str {
    match width {
        4 => ".128",
        2 => ".64",
        _ => "",
    }
}

/// The operation in nvdisasm's spelling.
fn upper(name: &str) -> &'static str {
    match name {
        ".and" => "AND",
        ".dec" => "DEC",
        ".exch" => "EXCH",
        ".inc" => "INC",
        ".max" => "MAX",
        ".min" => "MIN",
        ".or" => "OR",
        ".xor" => "XOR",
        _ => "ADD",
    }
}
