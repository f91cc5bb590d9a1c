//! Moves, loads, stores and addresses (PTX ISA, "Data Movement and Conversion Instructions").

use super::{Done, Refusal, Select};
use crate::code::{Operand, Reg};
use ir::Op;
use ir::instruction as i;
use ir::operand::{Address, Def, Space, Value};
use ptx::isa::{Order, Scope};
use ptx::module::{AddressBase, Symbol};
use ptx::types::{ScalarType, StateSpace, TypeKind};
use smol_str::format_smolstr;

/// The descriptor of global memory, which the prologue loads.
const DESCRIPTOR: &str = "desc[UR4]";

/// Where a memory operand leads, by the instructions that go there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Window {
    Generic,
    Global,
    Shared,
    Local,
    /// Constant bank 0 or 3.
    Constant(u8),
}

/// A memory operand: a register, or the register that is always zero, and an offset.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) window: Window,
    base: Option<Reg>,
    /// The stack pointer is the base.
    stack: bool,
    offset: i64,
}

/// The modifier of an access to several elements that are narrower than a register.
fn packed(ty: ScalarType, elements: usize) -> Option<&'static str> {
    match (elements, ty.bits(), ty.bits() as usize * elements) {
        (2.., 8 | 16, 16) => Some(".U16"),
        (2.., 8 | 16, 32) => Some(""),
        (2.., 8 | 16, 64) => Some(".64"),
        _ => None,
    }
}

impl Place {
    /// An address in shared memory.
    pub(super) fn shared(at: Reg) -> Self {
        Self { window: Window::Shared, base: Some(at), stack: false, offset: 0 }
    }

    /// A generic address.
    pub(super) fn generic(at: Reg) -> Self {
        Self::wide(Window::Generic, at)
    }

    /// A generic address, or one in global memory.
    pub(super) fn wide(window: Window, at: Reg) -> Self {
        Self { window, base: Some(at), stack: false, offset: 0 }
    }

    pub(super) fn operand(&self, more: i64) -> Operand {
        let offset = self.offset + more;
        let before = match self.window {
            Window::Generic | Window::Global => DESCRIPTOR,
            Window::Constant(0) => "c[0x0]",
            Window::Constant(_) => "c[0x3]",
            Window::Shared | Window::Local => "",
        };
        match self.base {
            Some(reg) => {
                let width = if before == DESCRIPTOR { 2 } else { 1 };
                Operand::Address { before, reg, width, beside: "", offset }
            }
            None if self.stack => Operand::in_frame(offset),
            None => Operand::Text(format_smolstr!("{before}[{offset:#x}]")),
        }
    }

    /// The register pair of an address, for instructions that take no descriptor.
    pub(super) fn bare(&self) -> Option<Operand> {
        let reg = self.base?;
        Some(Operand::Address { before: "", reg, width: 2, beside: "", offset: self.offset })
    }
}

/// How strong an access is, as a modifier.
pub(super) fn strength(order: Order, scope: Option<Scope>) -> &'static str {
    match (order, scope) {
        (Order::Weak, _) => "",
        (Order::Volatile, _) | (_, Some(Scope::Sys)) => ".STRONG.SYS",
        (_, Some(Scope::Cta)) => ".STRONG.SM",
        _ => ".STRONG.GPU",
    }
}

/// The modifier of an element's size.
fn size(ty: ScalarType, elements: usize) -> Option<&'static str> {
    Some(match (ty.bits() as usize * elements, elements, ty.kind()) {
        (8, 1, TypeKind::Signed) => ".S8",
        (8, 1, _) => ".U8",
        (16, 1, TypeKind::Signed) => ".S16",
        (16, 1, _) => ".U16",
        (32, 1, _) => "",
        (64, ..) if ty.bits() >= 32 => ".64",
        (128, ..) if ty.bits() >= 32 => ".128",
        _ => return None,
    })
}

impl Select<'_> {
    pub(super) fn moves(&mut self, op: &Op) -> Option<Done> {
        Some(match op {
            Op::Mov(op) => self.mov(op),
            Op::MovPred(op) => self.copied_flag(op.a).map(|flag| self.set_flag(op.d, flag)),
            Op::MovVector(op) => self.mov_vector(op),
            Op::MovPack(op) => self.pack_registers(op),
            Op::MovUnpack(op) => self.unpack_registers(op),
            Op::Cvta(op) => self.cvta(op),
            Op::Isspacep(op) => self.isspacep(op),
            _ => return None,
        })
    }

    fn mov(&mut self, op: &i::Mov) -> Done {
        let result = match op.ty.bits() {
            128 => {
                let (from, to) = (self.quad(&op.a)?, self.temporary(4));
                for part in 0..4 {
                    let read = vec![Operand::part(from, part)];
                    self.code.push(None, "MOV", vec![Operand::part(to, part)], read);
                }
                to
            }
            64 => {
                let a = self.double(&op.a)?;
                self.join(Operand::part(a, 0), Operand::part(a, 1))
            }
            _ => {
                let a = self.word(&op.a)?;
                self.one("MOV", vec![a])
            }
        };
        self.set(op.d, result);
        Ok(())
    }

    /// Element by element; all are read before one is written.
    fn mov_vector(&mut self, op: &i::MovVector) -> Done {
        let mut copies = Vec::new();
        if let [whole] = &*op.a {
            // A word is taken apart into bytes, and behind a half there are zeros.
            let word = self.extended(whole, ScalarType::U32)?;
            let bytes = if op.ty.bits() == 32 {
                [0x4440, 0x4441, 0x4442, 0x4443]
            } else {
                [0x4410, 0x4444, 0x4444, 0x4444]
            };
            for order in bytes {
                copies.push(self.one("PRMT", vec![word.clone(), Operand::number(order), Operand::zero()]));
            }
        }
        let elements = if copies.is_empty() { &*op.a } else { &[] };
        for value in elements {
            let word = self.word(value)?;
            let copy = self.temporary(1);
            self.code.push(None, "MOV", vec![Operand::low(copy)], vec![word]);
            copies.push(copy);
        }
        for (&to, copy) in op.d.iter().zip(copies) {
            self.set(to, copy);
        }
        Ok(())
    }

    /// Values of 16 bits, two in a register, the first below.
    pub(super) fn packed_halves(&mut self, values: &[Value]) -> Result<Vec<Operand>, Refusal> {
        let elements = values.iter().map(|value| self.word(value)).collect::<Result<_, _>>()?;
        Ok(self.packed_words(elements, 16))
    }

    /// Elements of 8 or 16 bits put together, the first lowest.
    pub(super) fn packed_words(&mut self, elements: Vec<Operand>, bits: u32) -> Vec<Operand> {
        let mut words = Vec::new();
        if bits == 16 {
            for two in elements.chunks(2) {
                let high = two.get(1).cloned().unwrap_or(Operand::zero());
                let read = vec![two[0].clone(), Operand::number(0x5410), high];
                words.push(Operand::low(self.one("PRMT", read)));
            }
            return words;
        }
        for four in elements.chunks(4) {
            let mut all = Operand::zero();
            for (element, order) in four.iter().zip([0x3214, 0x3240, 0x3410, 0x4210]) {
                let read = vec![all, Operand::number(order), element.clone()];
                all = Operand::low(self.one("PRMT", read));
            }
            words.push(all);
        }
        words
    }

    /// A value of 128 bits.
    pub(super) fn quad(&mut self, value: &Value) -> Result<Reg, Refusal> {
        match *value {
            Value::Register(id) if self.type_of(id).bits() == 128 => Ok(self.home(id)),
            Value::Constant(_) | Value::Symbol { .. } => {
                let (low, all) = (self.double(value)?, self.temporary(4));
                for part in 0..4 {
                    let word = if part < 2 { Operand::part(low, part) } else { Operand::zero() };
                    self.code.push(None, "MOV", vec![Operand::part(all, part)], vec![word]);
                }
                Ok(all)
            }
            Value::Register(_) | Value::Special { .. } | Value::Unused => {
                Err("of such an operand of 128 bits".to_owned())
            }
        }
    }

    fn pack_registers(&mut self, op: &i::MovPack) -> Done {
        let each = op.ty.bits() / op.a.len() as u32;
        let mut words = Vec::new();
        match each {
            32 => {
                for value in &op.a {
                    words.push(self.word(value)?);
                }
            }
            64 => {
                for value in &op.a {
                    let both = self.double(value)?;
                    words.extend([Operand::part(both, 0), Operand::part(both, 1)]);
                }
            }
            16 => words = self.packed_halves(&op.a)?,
            8 => {
                let elements = op.a.iter().map(|value| self.word(value)).collect::<Result<_, _>>()?;
                words = self.packed_words(elements, 8);
            }
            _ => return Err("of parts of this size".to_owned()),
        }
        let width = words.len() as u8;
        let to = self.temporary(width);
        for (part, word) in words.into_iter().enumerate() {
            self.code.push(None, "MOV", vec![Operand::part(to, part as u8)], vec![word]);
        }
        self.set(op.d, to);
        Ok(())
    }

    fn unpack_registers(&mut self, op: &i::MovUnpack) -> Done {
        let each = op.ty.bits() / op.d.len() as u32;
        let width = (op.ty.bits() / 32).max(1) as u8;
        let source = match (&op.a, op.ty.bits()) {
            (Value::Register(id), 128) => self.home(*id),
            (_, 128) => return Err("of such an operand".to_owned()),
            (_, 64) => self.double(&op.a)?,
            _ => {
                let word = self.word(&op.a)?;
                self.one("MOV", vec![word])
            }
        };
        // A destination may be the source.
        let copy = self.temporary(width);
        for part in 0..width {
            self.code.push(None, "MOV", vec![Operand::part(copy, part)], vec![Operand::part(source, part)]);
        }
        for (index, &def) in op.d.iter().enumerate() {
            let bit = index as u32 * each;
            let word = Operand::part(copy, (bit / 32) as u8);
            let value = match each {
                64 => {
                    self.join(Operand::part(copy, index as u8 * 2), Operand::part(copy, index as u8 * 2 + 1))
                }
                32 => self.one("MOV", vec![word]),
                _ => self.one("SHF.R.U32.HI", vec![Operand::zero(), Operand::number(bit % 32), word]),
            };
            self.set(def, value);
        }
        Ok(())
    }

    fn cvta(&mut self, op: &i::Cvta) -> Done {
        if op.ty.bits() != 64 {
            return Err("of 32 bits".to_owned());
        }
        // Of a variable: its address is that in its own space.
        let a = self.double(&op.a)?;
        let result = match (op.space, op.to) {
            (Space::Global, _) => self.join(Operand::part(a, 0), Operand::part(a, 1)),
            (Space::Shared | Space::SharedCta | Space::SharedCluster, to) => {
                match self.target().shared_window {
                    Some(at) => {
                        let base = self.pair("LDC.64", vec![Operand::bank0(at)]);
                        self.sum64(a, base, to)
                    }
                    None if to => self.join(Operand::part(a, 0), Operand::zero()),
                    None => {
                        let high = self.one("S2R", vec![Operand::Text("SR_SWINHI".into())]);
                        self.join(Operand::part(a, 0), Operand::low(high))
                    }
                }
            }
            (Space::Local, to) => {
                let base = self.pair("LDC.64", vec![Operand::bank0(self.target().local_window)]);
                self.sum64(a, base, to)
            }
            (Space::Const, to) => {
                let base = self.pair("LDC.64", vec![Operand::bank0(self.target().constants)]);
                self.sum64(a, base, to)
            }
            (Space::Param | Space::ParamEntry, to) => {
                let base = self.generic_parameters();
                self.sum64(a, base, to)
            }
            (space @ (Space::ParamFunc | Space::Generic), _) => return Err(format!("of .{}", space.name())),
        };
        self.set(op.d, result);
        Ok(())
    }

    fn isspacep(&mut self, op: &i::Isspacep) -> Done {
        let a = self.double(&op.a)?;
        let to = match op.space {
            Space::Shared | Space::SharedCta => self.leads_to(a, "S"),
            Space::SharedCluster => self.leads_to(a, "D"),
            Space::Local => self.leads_to(a, "L"),
            Space::Const => self.is_constant_address(a),
            Space::Param | Space::ParamEntry => {
                let from = self.generic_parameters();
                let to = self.end_of_parameters(from);
                self.is_between(a, from, to)
            }
            // Constants lie there, for the hardware.
            Space::Global => {
                let (global, constant) = (self.leads_to(a, "G"), self.is_constant_address(a));
                let both = self.flag();
                let flag = |reg| Operand::Predicate(reg, false);
                self.plop(None, both, flag(global), flag(constant), 0x30);
                both
            }
            space @ (Space::Generic | Space::ParamFunc) => return Err(format!("for .{}", space.name())),
        };
        self.set_flag(op.p, to);
        Ok(())
    }

    /// The generic address of the parameters.
    fn generic_parameters(&mut self) -> Reg {
        let (at, before) = self.target().parameter_window;
        let window = self.pair("LDC.64", vec![Operand::bank0(at)]);
        match before {
            0 => window,
            _ => {
                let by = self.constant64(before.into());
                self.add64(window, by)
            }
        }
    }

    /// That of the place behind them.
    fn end_of_parameters(&mut self, from: Reg) -> Reg {
        match self.target().parameters_end {
            Some(at) => self.pair("LDC.64", vec![Operand::bank0(at)]),
            None => {
                let end = self.layout.parameters.last().map_or(0, |last| last.offset + last.size);
                let size = self.constant64(end);
                self.add64(from, size)
            }
        }
    }

    /// Whether a generic address leads to a space that the hardware knows.
    pub(super) fn leads_to(&mut self, address: Reg, space: &str) -> Reg {
        let to = self.flag();
        // Where there are no clusters, shared memory is that of the CTA.
        let space = if space == "D" && !self.target().has_ranks { "S" } else { space };
        let address = Operand::Address { before: "", reg: address, width: 2, beside: "", offset: 0 };
        let written = vec![Operand::Predicate(to, false)];
        self.code.push(None, format!("QSPC.E.{space}"), written, vec![Operand::zero(), address]);
        to
    }

    fn is_constant_address(&mut self, address: Reg) -> Reg {
        let from = self.pair("LDC.64", vec![Operand::bank0(self.target().constants)]);
        let size = self.constant64(self.layout.constant_bytes);
        let to = self.add64(from, size);
        self.is_between(address, from, to)
    }

    fn is_between(&mut self, address: Reg, from: Reg, to: Reg) -> Reg {
        let below = self.compare64("LT", false, address, to, Operand::always(false), "AND").0;
        self.compare64("GE", false, address, from, Operand::Predicate(below, false), "AND").0
    }

    /// Where a memory operand leads.
    pub(super) fn place(&mut self, address: &Address) -> Result<Place, Refusal> {
        let variable = match address.base {
            AddressBase::Variable(id) => Some((id, self.module.variables[id.index()].space)),
            AddressBase::Register(_) | AddressBase::Absolute => None,
        };
        let window = match (address.space, variable.map(|(_, space)| space)) {
            (_, Some(StateSpace::ParamEntry)) | (Space::ParamEntry, _) => Window::Constant(0),
            (_, Some(StateSpace::ParamFunc | StateSpace::Local)) | (Space::Local | Space::ParamFunc, _) => {
                Window::Local
            }
            (_, Some(StateSpace::Shared)) | (Space::Shared | Space::SharedCta, _) => Window::Shared,
            (_, Some(StateSpace::Const)) | (Space::Const, _) => Window::Constant(3),
            (_, Some(StateSpace::Global)) | (Space::Global, _) => Window::Global,
            (Space::Param, _) => self.parameters_by_address()?,
            (Space::Generic, _) => Window::Generic,
            (Space::SharedCluster, _) => return self.in_cluster(address),
        };
        let mut place = Place { window, base: None, stack: false, offset: address.offset };
        match (address.base, variable) {
            (AddressBase::Register(id), _) => {
                let reg = self.home(id);
                let wide = matches!(window, Window::Generic | Window::Global);
                let pair = self.type_of(id).bits() == 64;
                place.base = Some(match (wide, pair) {
                    (true, false) => self.join(Operand::low(reg), Operand::zero()),
                    (false, true) => self.one("MOV", vec![Operand::part(reg, 0)]),
                    _ => reg,
                });
            }
            (_, Some((id, StateSpace::Shared))) => place.base = Some(self.shared(id, 0)?),
            (_, Some((id, StateSpace::Local | StateSpace::ParamFunc))) => {
                place.stack = true;
                place.offset += self.local(id) as i64;
            }
            (_, Some((id, StateSpace::ParamEntry))) => {
                place.offset += self.layout.parameter(id).ok_or("this parameter has no place")? as i64;
            }
            (_, Some((id, StateSpace::Const))) => match self.placed_by_linker(id, 0) {
                Some(base) => place.base = Some(base),
                None => {
                    place.offset += self.layout.constant(id).ok_or("this variable has no place")? as i64;
                }
            },
            (_, Some((id, StateSpace::Global))) => place.base = Some(self.symbol(Symbol::Variable(id), 0)?),
            _ if matches!(window, Window::Generic | Window::Global) => {
                place.base = Some(self.constant64(address.offset as u64));
                place.offset = 0;
            }
            _ => {}
        }
        if window == Window::Constant(0) {
            place.offset += i64::from(self.target().parameters);
        }
        // 24 bits, or 16 in a constant bank, whose offsets have no sign.
        let fits = match window {
            Window::Constant(_) => (0..0x8000).contains(&place.offset),
            _ => (-0x80_0000..0x7f_ff00).contains(&place.offset),
        };
        if fits {
            return Ok(place);
        }
        let all = match window {
            Window::Generic | Window::Global => self.wide_address_of(&place)?,
            Window::Shared | Window::Local | Window::Constant(_) => self.address_of(&place)?,
        };
        Ok(Place { window, base: Some(all), stack: false, offset: 0 })
    }

    /// The lower 32 bits of an address with its offset: all of one in a state space.
    pub(super) fn address_of(&mut self, place: &Place) -> Result<Reg, Refusal> {
        let by = self.constant(place.offset as u32);
        Ok(match place.base {
            Some(base) if place.offset == 0 => self.one("MOV", vec![Operand::part(base, 0)]),
            Some(base) => self.add(Operand::part(base, 0), by),
            None if place.stack => self.add(Operand::Text("R1".into()), by),
            None => self.one("MOV", vec![by]),
        })
    }

    /// A global or generic address with its offset.
    pub(super) fn wide_address_of(&mut self, place: &Place) -> Result<Reg, Refusal> {
        match (place.window, place.base) {
            (Window::Generic | Window::Global, Some(base)) => {
                let by = self.constant64(place.offset as u64);
                Ok(if place.offset == 0 { base } else { self.add64(base, by) })
            }
            (window, _) => Err(format!("in {window:?} memory")),
        }
    }

    /// What a register that points to a parameter points to: in a function that is called, to its frame; in a kernel to the kernel's own
    /// parameters, unless it takes addresses of those of calls.
    fn parameters_by_address(&self) -> Result<Window, Refusal> {
        if self.inlined.len() > 1 || self.is_linked() {
            return Ok(Window::Local);
        }
        let spaces = self.at.function.body.operands.iter().filter_map(|operand| match *operand {
            ptx::module::Operand::SymbolAddress { symbol: Symbol::Variable(id), .. } => {
                Some(self.module.variables[id.index()].space)
            }
            _ => None,
        });
        let (mut own, mut of_calls) = (false, false);
        for space in spaces {
            own |= space == StateSpace::ParamEntry;
            of_calls |= space == StateSpace::ParamFunc;
        }
        match (own, of_calls) {
            (true, true) => {
                Err("by an address that may be of the kernel's parameters or of a call's".to_owned())
            }
            (false, true) => Ok(Window::Local),
            (_, false) => Ok(Window::Constant(0)),
        }
    }

    /// Where a generic address leads that is known to lead to shared memory.
    pub(super) fn within_shared(&mut self, address: Reg) -> Place {
        // Elsewhere the lower half is 0 of where shared memory begins.
        Place::shared(match self.target().shared_window {
            Some(_) => self.lop(Operand::part(address, 0), Operand::number(0xff_ffff), 0xc0),
            None => address,
        })
    }

    /// An address in the cluster's shared memory, as a generic one.
    fn in_cluster(&mut self, address: &Address) -> Result<Place, Refusal> {
        if !self.target().has_ranks {
            return Err(format!("{} has no clusters", self.target()));
        }
        let low = match address.base {
            AddressBase::Register(id) => Operand::low(self.home(id)),
            AddressBase::Variable(id) => Operand::low(self.shared(id, 0)?),
            AddressBase::Absolute => Operand::zero(),
        };
        let window = self.one("S2R", vec![Operand::Text("SR_SWINHI".into())]);
        let base = self.join(low, Operand::low(window));
        Ok(Place { window: Window::Generic, base: Some(base), stack: false, offset: address.offset })
    }

    pub(super) fn memory_access(&mut self, op: &Op) -> Option<Done> {
        Some(match op {
            Op::Ld(op) => self.load(op),
            Op::St(op) => self.store(op),
            Op::Prefetch(_) | Op::Pmevent(_) => Ok(()),
            Op::Membar(op) => {
                self.membar("SC", op.scope);
                Ok(())
            }
            // Of objects that are new, ptxas makes no instruction: the unit has them in its order.
            Op::Fence(op) if op.mbarrier_init => Ok(()),
            // What one is restricted to it may exceed.
            Op::Fence(op) => {
                self.membar(if op.order == Order::Sc { "SC" } else { "ALL" }, op.scope);
                Ok(())
            }
            _ => return None,
        })
    }

    /// A fence. What the first-level cache has is dropped for those outside of the CTA.
    pub(super) fn membar(&mut self, kind: &str, scope: Scope) {
        let level = match scope {
            Scope::Cta => "CTA",
            Scope::Cluster | Scope::Gpu => "GPU",
            Scope::Sys => "SYS",
        };
        self.effect(format!("MEMBAR.{kind}.{level}"), vec![], vec![]);
        if scope != Scope::Cta {
            self.effect("ERRBAR", vec![], vec![]);
            if self.target().has("CGAERRBAR") {
                self.effect("CGAERRBAR", vec![], vec![]);
            }
            self.effect("CCTL.IVALL", vec![], vec![]);
        }
    }

    /// What an acquiring access needs behind it.
    pub(super) fn acquired(&mut self, order: Order, scope: Option<Scope>) {
        if matches!(order, Order::Acquire | Order::AcqRel | Order::Sc) && scope != Some(Scope::Cta) {
            self.effect("CCTL.IVALL", vec![], vec![]);
        }
    }

    fn load(&mut self, op: &i::Ld) -> Done {
        let place = self.place(&op.a)?;
        let strong = strength(op.order, op.scope);
        let (name, modifiers) = match place.window {
            Window::Generic => ("LD.E", strong),
            Window::Global if op.nc => ("LDG.E", ".CONSTANT"),
            Window::Global => ("LDG.E", strong),
            Window::Shared => ("LDS", ""),
            Window::Local => ("LDL", ""),
            Window::Constant(_) => ("LDC", ""),
        };
        if matches!(place.window, Window::Constant(_)) && op.ty.bits() == 128 {
            return Err("of 128 bits from constant memory".to_owned());
        }
        let bytes = op.ty.bytes() as usize;
        if let (Some(size), false) = (packed(op.ty, op.d.len()), matches!(place.window, Window::Constant(_)))
        {
            let width = (bytes * op.d.len() / 4).max(1) as u8;
            let all = self.temporary(width);
            let to = vec![Operand::wide(all, width)];
            self.effect(format!("{name}{size}{modifiers}"), to, vec![place.operand(0)]);
            if !matches!(place.window, Window::Shared | Window::Local) {
                self.acquired(op.order, op.scope);
            }
            for (index, &def) in op.d.iter().enumerate() {
                let bit = index as u32 * op.ty.bits();
                let word = Operand::part(all, (bit / 32) as u8);
                let read = vec![Operand::zero(), Operand::number(bit % 32), word];
                let value = self.one("SHF.R.U32.HI", read);
                self.set_extended(def, value, op.ty);
            }
            return Ok(());
        }
        let whole = match place.window {
            Window::Constant(_) => None,
            _ => size(op.ty, op.d.len()),
        };
        let step = if whole.is_some() { op.d.len() } else { 1 };
        let mut loaded = Vec::new();
        for index in (0..op.d.len()).step_by(step) {
            let size = size(op.ty, step).ok_or("with elements of this size")?;
            let width = (bytes * step / 4).max(1) as u8;
            let to = self.temporary(width);
            let from = place.operand((index * bytes) as i64);
            self.effect(format!("{name}{size}{modifiers}"), vec![Operand::wide(to, width)], vec![from]);
            loaded.push(to);
        }
        if !matches!(place.window, Window::Shared | Window::Local | Window::Constant(_)) {
            self.acquired(op.order, op.scope);
        }
        let words = (op.ty.bits() / 32).max(1) as u8;
        for (index, &def) in op.d.iter().enumerate() {
            if step == 1 {
                self.set_extended(def, loaded[index], op.ty);
                continue;
            }
            let first = index as u8 * words;
            let value = match words {
                2 => self.join(Operand::part(loaded[0], first), Operand::part(loaded[0], first + 1)),
                _ => self.one("MOV", vec![Operand::part(loaded[0], first)]),
            };
            self.set_extended(def, value, op.ty);
        }
        Ok(())
    }

    fn store(&mut self, op: &i::St) -> Done {
        let place = self.place(&op.a)?;
        let strong = strength(op.order, op.scope);
        let (name, modifiers) = match place.window {
            Window::Generic => ("ST.E", strong),
            Window::Global => ("STG.E", strong),
            Window::Shared => ("STS", ""),
            Window::Local => ("STL", ""),
            Window::Constant(_) => return Err("to constant memory".to_owned()),
        };
        if matches!(op.order, Order::Release | Order::Sc) && !matches!(place.window, Window::Local) {
            self.membar("ALL", op.scope.unwrap_or(Scope::Gpu));
        }
        let bytes = op.ty.bytes() as usize;
        let mut words = Vec::new();
        for value in &op.b {
            if op.ty.bits() == 128 {
                let all = self.quad(value)?;
                words.extend((0..4).map(|part| Operand::part(all, part)));
            } else if op.ty.bits() == 64 {
                let both = self.double(value)?;
                words.extend([Operand::part(both, 0), Operand::part(both, 1)]);
            } else {
                let word = match *value {
                    Value::Register(id) if self.type_of(id).bits() == 64 => Operand::low(self.home(id)),
                    ref value => self.word(value)?,
                };
                words.push(word);
            }
        }
        if let Some(size) = packed(op.ty, op.b.len()) {
            let words = self.packed_words(words, op.ty.bits());
            let width = words.len() as u8;
            let from = self.temporary(width);
            for (part, word) in words.into_iter().enumerate() {
                self.code.push(None, "MOV", vec![Operand::part(from, part as u8)], vec![word]);
            }
            let read = vec![place.operand(0), Operand::wide(from, width)];
            self.effect(format!("{name}{size}{modifiers}"), vec![], read);
            return Ok(());
        }
        let step = if size(op.ty, op.b.len()).is_some() { op.b.len() } else { 1 };
        let each = (bytes * step / 4).max(1);
        for (index, group) in words.chunks(each).enumerate() {
            let size = size(op.ty, step).ok_or("with elements of this size")?.replace(".S", ".U");
            let value = match group {
                [word] => word.clone(),
                _ => {
                    let from = self.temporary(each as u8);
                    for (part, word) in group.iter().enumerate() {
                        self.code.push(
                            None,
                            "MOV",
                            vec![Operand::part(from, part as u8)],
                            vec![word.clone()],
                        );
                    }
                    Operand::wide(from, each as u8)
                }
            };
            let to = place.operand((index * bytes * step) as i64);
            self.effect(format!("{name}{size}{modifiers}"), vec![], vec![to, value]);
        }
        Ok(())
    }

    /// A value of an access of 32 or 64 bits, and its width.
    pub(super) fn datum(&mut self, value: &Value, ty: ScalarType) -> Result<(Reg, u8), Refusal> {
        Ok(match ty.bits() {
            128 => (self.quad(value)?, 4),
            64 => (self.double(value)?, 2),
            32 => {
                let word = self.word(value)?;
                (self.one("MOV", vec![word]), 1)
            }
            _ => return Err("of this size".to_owned()),
        })
    }

    pub(super) fn result(&mut self, def: Def, width: u8) -> Option<Reg> {
        def.0.map(|_| self.temporary(width))
    }
}
