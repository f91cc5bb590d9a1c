//! Atomics (PTX ISA, "atom", "red").

use super::memory::{Place, Window, strength};
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
            _ => return None,
        })
    }

    fn released(&mut self, order: Order, scope: Scope) {
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
            Window::Shared => Some(self.by_swapping(update, &place, value, width)?),
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

    /// Shared memory has no such unit: the new value is swapped in until no other thread has come between.
    fn by_swapping(&mut self, update: &Update, place: &Place, value: Reg, width: u8) -> Result<Reg, Refusal> {
        let (skip, head) = (self.code.label(), self.code.label());
        let result = self.temporary(width);
        for part in 0..width {
            self.code.push(None, "MOV", vec![Operand::part(result, part)], vec![Operand::zero()]);
        }
        if let Some((guard, not)) = self.guard {
            self.branch(Some((guard, !not)), skip);
        }
        let size = if width == 2 { ".64" } else { "" };
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
        let new = self.updated(update, result, value)?;
        let before = self.temporary(width);
        let read = vec![place.operand(0), Operand::wide(result, width), Operand::wide(new, width)];
        self.code.push(None, format!("ATOMS.CAS{size}"), vec![Operand::wide(before, width)], read);
        let other = match width {
            2 => self.compare64("NE", false, before, result, Operand::always(false), "AND").0,
            _ => self.compare("ISETP.NE.U32.AND", Operand::low(before), Operand::low(result)),
        };
        for part in 0..width {
            self.code.push(None, "MOV", vec![Operand::part(result, part)], vec![Operand::part(before, part)]);
        }
        self.branch(Some((other, false)), head);
        self.code.place(skip);
        Ok(result)
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
                self.pair("DADD", vec![Operand::wide(old, 2), Operand::wide(value, 2)])
            }
            ("ADD", ScalarType::F16x2) => self.one("HADD2", vec![Operand::low(old), Operand::low(value)]),
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
        let size = if width == 2 { ".64" } else { "" };
        let to = self.result(op.d, width);
        let strong = strength(Order::Relaxed, Some(op.scope));
        let values = [Operand::wide(b, width), Operand::wide(c, width)];
        let bare = place.bare();
        let (name, predicate, address) = match (place.window, bare) {
            (Window::Global, Some(address)) => (format!("ATOMG.E.CAS{size}{strong}"), true, address),
            (Window::Generic, Some(address)) if width == 1 => (format!("ATOM.E.CAS{strong}"), true, address),
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
