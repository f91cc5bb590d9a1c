//! Loads and stores: what is accessed here, and what the host does.
//!
//! A row's common address costs one test ([`super::window`]) and one access; so do addresses that are one element apart, as a
//! vector. Other addresses are tested together, and gathered or scattered.

use super::Emitter;
use super::call::From;
use super::context;
use super::text::{Kind, Text};
use super::values::Lanes;
use super::window::Tested;
use crate::Refusal;
use crate::class::{Class, UNIFORM, is_signed};
use crate::linear::Linear;
use crate::llvm::has_masks;
use crate::sites::{Access, Action, Steps};
use ir::instruction::{Ld, St};
use ir::operand::{Address, Def, Space};
use machine::compiled::Source;
use machine::memory::SpaceKind;
use ptx::isa::Order as Strength;
use ptx::module::{AddressBase, VarId};
use ptx::types::StateSpace;

/// Addresses of a row, and the memory that they are in.
pub(super) struct Place {
    pub(super) space: SpaceKind,
    /// What they are counted from, in 32 or 64 bits.
    pub(super) lanes: Lanes,
    /// What is added, in 64 bits.
    pub(super) offset: i64,
    /// Bytes of a variable from there on that are valid whatever happens.
    pub(super) room: u64,
    /// What the addresses are, if they follow from thread numbers.
    pub(super) linear: Option<Linear>,
    /// What they all are in this process, if they are a variable's.
    pub(super) constant: Option<u64>,
}

/// How a row's accesses lie.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// All are the same; in local memory they are as far apart as threads.
    Common,
    /// One behind the other.
    Contiguous,
    /// One before the other.
    Reversed,
    /// Further apart, by so many bytes.
    Apart(i64),
    Scattered,
}

impl Place {
    pub(super) fn layout(&self, bytes: u32) -> Layout {
        let bytes = i64::from(bytes);
        match (&self.lanes.base, self.lanes.stride) {
            (None, _) => Layout::Scattered,
            (_, 0) => Layout::Common,
            _ if self.space == SpaceKind::Local => Layout::Scattered,
            (_, stride) if stride == bytes => Layout::Contiguous,
            (_, stride) if stride == -bytes => Layout::Reversed,
            (_, stride) if stride % bytes == 0 => Layout::Apart(stride),
            _ => Layout::Scattered,
        }
    }
}

/// One past the last byte of shared memory that a kernel's variables take, which every CTA has.
pub(super) fn shared_end(source: &Source<'_>) -> u64 {
    let variables = &source.module().variables;
    let of_cta = (0..).map(VarId).zip(variables).filter(|(_, variable)| variable.space == StateSpace::Shared);
    let ends = of_cta.filter_map(|(id, variable)| source.address_of(id)?.checked_add(variable.size));
    ends.max().unwrap_or(0)
}

impl Emitter<'_> {
    pub(super) fn place(&mut self, address: &Address) -> Result<Place, Refusal> {
        let named = match address.space {
            Space::Generic => SpaceKind::Generic,
            Space::Const | Space::Global => SpaceKind::Global,
            Space::Local => SpaceKind::Local,
            Space::Shared | Space::SharedCta => SpaceKind::Shared,
            Space::SharedCluster => SpaceKind::Cluster,
            Space::Param | Space::ParamEntry | Space::ParamFunc => SpaceKind::Param,
        };
        let constant = |space, value: u64, room| Place {
            space,
            lanes: Lanes::uniform(64, (value as i64).to_string()),
            offset: 0,
            room,
            linear: None,
            constant: Some(value),
        };
        match address.base {
            AddressBase::Absolute => Ok(constant(named, address.offset as u64, 0)),
            AddressBase::Variable(id) => {
                let variable = &self.function.module.variables[id.index()];
                let space = match variable.space {
                    StateSpace::Global | StateSpace::Const => SpaceKind::Global,
                    StateSpace::Shared => SpaceKind::Shared,
                    StateSpace::ParamEntry => SpaceKind::Param,
                    StateSpace::Local | StateSpace::ParamFunc => SpaceKind::Local,
                    other => return Err(Refusal::Operand(format!("a variable in {other:?} memory"))),
                };
                let missing = || Refusal::Operand("the address of a variable".to_owned());
                let at = self.source.address_of(id).ok_or_else(missing)?;
                // The parameters of a call are in local memory, whatever the instruction calls it.
                let space = match named {
                    SpaceKind::Generic => space,
                    SpaceKind::Param if space == SpaceKind::Local => space,
                    named => named,
                };
                let offset = u64::try_from(address.offset);
                let room = offset.ok().and_then(|offset| variable.size.checked_sub(offset)).unwrap_or(0);
                let at = at.wrapping_add_signed(address.offset);
                let placed = constant(space, at, room);
                Ok(match variable.space {
                    StateSpace::Global | StateSpace::Const => {
                        let at = self.global_address(id, address.offset);
                        Place { lanes: Lanes::uniform(64, at), ..placed }
                    }
                    _ => placed,
                })
            }
            AddressBase::Register(register) => {
                let lanes = self.register(register);
                let lanes = self.canonical(lanes);
                match lanes.bits {
                    32 | 64 => {
                        let linear = self.linears.of(register);
                        Ok(Place {
                            space: named,
                            lanes,
                            offset: address.offset,
                            room: 0,
                            linear,
                            constant: None,
                        })
                    }
                    other => Err(Refusal::Operand(format!("an address of {other} bits"))),
                }
            }
        }
    }

    /// An address of 32 bits in 64.
    pub(super) fn widened(&mut self, lanes: &Lanes) -> Lanes {
        if lanes.bits == 64 {
            return lanes.clone();
        }
        let class = match &lanes.base {
            Some(_) => Class::Affine(lanes.stride).widened(false),
            None => Class::Varying,
        };
        self.compute(class, 64, std::slice::from_ref(lanes), Some(false), |e, kind, s| {
            let (a, b) = (e.text.int(32, kind), e.text.int(64, kind));
            e.text.value(&format!("zext {a} {} to {b}", s[0]))
        })
    }

    /// The addresses, each in 64 bits.
    pub(super) fn addresses(&mut self, place: &Place) -> Lanes {
        let lanes = self.widened(&place.lanes);
        if place.offset == 0 {
            return lanes;
        }
        let class = match (&lanes.base, &lanes.bend) {
            (Some(_), None) => Class::Affine(lanes.stride),
            (Some(_), Some(bend)) => Class::Bent { stride: lanes.stride, more: bend.more },
            (None, _) => Class::Varying,
        };
        self.compute(class, 64, &[lanes], None, |e, kind, s| {
            let (int, by) = (e.text.int(64, kind), e.text.constant(place.offset, 64, kind));
            e.text.value(&format!("add {int} {}, {by}", s[0]))
        })
    }

    /// How the host learns of addresses: by lane 0's, or as a list.
    pub(super) fn told(&mut self, place: &Place) -> (Option<Steps>, From, Vec<Lanes>) {
        let lanes = self.addresses(place);
        let Some(address) = lanes.base.clone() else { return (None, From::nowhere(), vec![lanes]) };
        let (last, more) = match lanes.bend {
            Some(bend) => (bend.last, bend.more),
            None => ("0".to_owned(), 0),
        };
        (Some(Steps { stride: lanes.stride, more }), From { address, last }, Vec::new())
    }

    /// `ld`.
    pub(crate) fn load(&mut self, ld: &Ld) -> Result<(), Refusal> {
        let (bits, count) = (ld.ty.bits(), ld.d.len());
        if bits > 64 || !matches!(bits, 8 | 16 | 32 | 64) {
            return Err(Refusal::Instruction(format!("ld of {bits} bits")));
        }
        let bytes = bits / 8;
        let place = self.place(&ld.a)?;
        let signed = is_signed(ld.ty);
        if let Some(values) = self.parameter(&place, bits, count) {
            for (&def, value) in ld.d.iter().zip(values) {
                self.write(def, value, signed)?;
            }
            return Ok(());
        }
        let class = self.class_of_result();
        let all = bytes * count as u32;
        let (active, _) = self.active();
        let layout = place.layout(all);
        let kind = if class == UNIFORM { Kind::Scalar } else { Kind::Vector };
        let tested =
            if ld.order == Strength::Weak { self.tested(&place, layout, all, &active) } else { None };
        let Some(tested) = tested else {
            let values = self.load_by_host(&place, &active, bits, count, kind)?;
            return self.write_loaded(&ld.d, values, bits, kind, signed);
        };
        // What lanes that do not load keep is a part of the access, where there is a mask anyway.
        let is_masked = match layout {
            Layout::Contiguous => self.guard.is_some() || self.divergence.divergent[self.block],
            Layout::Common | Layout::Reversed => false,
            Layout::Apart(_) | Layout::Scattered => true,
        };
        let kept = match ld.d[..] {
            [Def(Some(register))] if is_masked && kind == Kind::Vector => self.kept(register, bits),
            _ => None,
        };
        let otherwise = kept.as_ref().map(|(_, old)| old.as_str());
        let mut values =
            self.load_near(&place, &tested, layout, (bits, count, kind), (&active, otherwise))?;
        match kept {
            Some((slot, _)) => {
                let ty = self.text.int(bits, Kind::Vector);
                self.text.line(&format!("store {ty} {}, ptr {slot}", values.remove(0)));
                Ok(())
            }
            None => self.write_loaded(&ld.d, values, bits, kind, signed),
        }
    }

    /// The elements of a row where the test holds: so many of so many bits. One of its own has in the other lanes what it is
    /// otherwise.
    fn load_near(
        &mut self,
        place: &Place,
        tested: &Tested,
        layout: Layout,
        (bits, count, kind): (u32, usize, Kind),
        (active, otherwise): (&str, Option<&str>),
    ) -> Result<Vec<String>, Refusal> {
        let (width, bytes) = (self.rows.width, bits / 8);
        let element = format!("i{bits}");
        Ok(match layout {
            Layout::Common if place.space != SpaceKind::Local => {
                let pointer = self.pointer(tested);
                let mut near = Vec::new();
                for e in 0..count as u32 {
                    let at = self.text.value(&format!("getelementptr i8, ptr {pointer}, i64 {}", e * bytes));
                    let value = self.text.value(&format!("load {element}, ptr {at}, align {bytes}"));
                    near.push(match kind {
                        Kind::Scalar => value,
                        Kind::Vector => self.text.splat(&value, &element),
                    });
                }
                near
            }
            Layout::Contiguous | Layout::Reversed => {
                let pointer = self.pointer(tested);
                let total = width as usize * count;
                let row = match self.guard.is_some() || self.divergence.divergent[self.block] {
                    true => {
                        let otherwise = otherwise.unwrap_or("zeroinitializer");
                        self.load_part(&pointer, bits, count, layout, (active, otherwise))
                    }
                    false => {
                        self.text.value(&format!("load <{total} x {element}>, ptr {pointer}, align {bytes}"))
                    }
                };
                if layout == Layout::Contiguous && count == 1 {
                    return Ok(vec![row]);
                }
                let lane = |l: usize| if layout == Layout::Reversed { width as usize - 1 - l } else { l };
                let picked = |e: usize| {
                    let places: Vec<_> =
                        (0..width as usize).map(|l| format!("i32 {}", lane(l) * count + e)).collect();
                    places.join(", ")
                };
                let pick = |e: usize| {
                    self.text.value(&format!(
                        "shufflevector <{total} x {element}> {row}, <{total} x {element}> poison, <{width} x i32> <{}>",
                        picked(e)
                    ))
                };
                (0..count).map(pick).collect()
            }
            Layout::Common | Layout::Apart(_) | Layout::Scattered => {
                let from = (place.offset, place.lanes.stride);
                self.gather(tested, from, (bits, count), (active, otherwise))?
            }
        })
    }

    /// The elements of active lanes, one behind the other.
    fn load_part(
        &mut self,
        pointer: &str,
        bits: u32,
        count: usize,
        layout: Layout,
        (active, otherwise): (&str, &str),
    ) -> String {
        let width = self.rows.width;
        let mut mask = active.to_owned();
        if layout == Layout::Reversed {
            mask = self.reversed(&mask, "i1");
        }
        if count > 1 {
            mask = self.interleaved(&vec![mask; count], "i1");
        }
        let total = width as usize * count;
        let (ty, name) = (format!("<{total} x i{bits}>"), format!("llvm.masked.load.v{total}i{bits}.p0"));
        self.intrinsic(&format!("declare {ty} @{name}(ptr, i32, <{total} x i1>, {ty})"));
        let bytes = bits / 8;
        let part =
            format!("call {ty} @{name}(ptr {pointer}, i32 {bytes}, <{total} x i1> {mask}, {ty} {otherwise})");
        if self.prefers_masks() {
            return self.text.value(&part);
        }
        let load = format!("load {ty}, ptr {pointer}, align {bytes}");
        let [(whole, all), (part, some)] = self.whole_or_part(active, [load, part], Text::value);
        self.text.value(&format!("phi {ty} [ {whole}, %{all} ], [ {part}, %{some} ]"))
    }

    /// Whether an access of some lanes is best made with a mask, also where all lanes have a part in it. Not if two numbers tell that: it takes less time
    /// than to make the mask, which is made only where some have none.
    fn prefers_masks(&self) -> bool {
        has_masks() && self.exactly_active().is_none()
    }

    /// Writes two accesses, the first for when all lanes of a mask are set, as is likely, the other for when not: what each gives,
    /// and the block that it is in.
    fn whole_or_part<R>(
        &mut self,
        mask: &str,
        accesses: [String; 2],
        write: impl Fn(&mut Text, &str) -> R,
    ) -> [(R, String); 2] {
        let [all, some, on] = [(); 3].map(|()| self.text.new_label());
        let are_all = match self.exactly_active() {
            Some(numbers) => self.all_within(&numbers),
            None => self.text.are_all(mask),
        };
        self.text.likely(&are_all, &all, &some);
        let [whole, part] = accesses;
        let written = [(all, whole), (some, part)].map(|(label, access)| {
            self.text.begin(&label);
            let result = write(&mut self.text, &access);
            self.text.jump(&on);
            (result, label)
        });
        self.text.begin(&on);
        written
    }

    /// The last lane's first.
    fn reversed(&mut self, vector: &str, element: &str) -> String {
        let width = self.rows.width;
        let places: Vec<String> = (0..width).rev().map(|l| format!("i32 {l}")).collect();
        self.text.value(&format!(
            "shufflevector <{width} x {element}> {vector}, <{width} x {element}> poison, <{width} x i32> <{}>",
            places.join(", ")
        ))
    }

    /// What stands in the kernel's parameters at a constant place.
    fn parameter(&mut self, place: &Place, bits: u32, count: usize) -> Option<Vec<Lanes>> {
        let start: u64 = match (place.space, &place.lanes.base) {
            (SpaceKind::Param, Some(base)) if place.offset == 0 => base.parse().ok()?,
            _ => return None,
        };
        let bytes = u64::from(bits / 8);
        let size = u64::from(self.source.parameter_bytes());
        let all = bytes * count as u64;
        if start.checked_add(all)? > size || !start.is_multiple_of(all) {
            return None;
        }
        let params = self.constant_field(context::PARAMS, "ptr");
        let values = (0..count as u64).map(|e| {
            let at = self.text.value(&format!("getelementptr i8, ptr {params}, i64 {}", start + e * bytes));
            let load = format!("load i{bits}, ptr {at}, align 1, !invariant.load !1");
            Lanes::uniform(bits, self.text.value(&load))
        });
        Some(values.collect())
    }

    fn load_by_host(
        &mut self,
        place: &Place,
        active: &str,
        bits: u32,
        count: usize,
        kind: Kind,
    ) -> Result<Vec<String>, Refusal> {
        let (steps, from, listed) = self.told(place);
        let window = self.window();
        let access = Access { space: place.space, bytes: bits / 8, elements: count, steps, window };
        let lists = self.host(Action::Load(access), &from, &listed, &vec![bits; count], active);
        let value = |list: Lanes| match kind {
            Kind::Vector => self.vector(&list),
            // The host gives the lanes that are not active the first active one's.
            Kind::Scalar => {
                let (ty, vector) = (self.text.int(bits, Kind::Vector), self.vector(&list));
                self.text.value(&format!("extractelement {ty} {vector}, i32 0"))
            }
        };
        Ok(lists.into_iter().map(value).collect())
    }

    /// The number of the first active lane; of some lane if there is none.
    pub(crate) fn first_lane(&mut self, active: &str) -> String {
        let bits = self.text.mask_bits(active);
        self.intrinsic("declare i32 @llvm.cttz.i32(i32, i1)");
        let first = self.text.value(&format!("call i32 @llvm.cttz.i32(i32 {bits}, i1 false)"));
        self.text.value(&format!("and i32 {first}, {}", self.rows.width - 1))
    }

    fn write_loaded(
        &mut self,
        defs: &[Def],
        values: Vec<String>,
        bits: u32,
        kind: Kind,
        signed: bool,
    ) -> Result<(), Refusal> {
        for (&def, value) in defs.iter().zip(values) {
            let lanes = match kind {
                Kind::Scalar => Lanes::uniform(bits, value),
                Kind::Vector => Lanes::varying(bits, value),
            };
            self.write(def, lanes, signed)?;
        }
        Ok(())
    }

    /// `st`.
    pub(crate) fn store(&mut self, st: &St) -> Result<(), Refusal> {
        let (bits, count) = (st.ty.bits(), st.b.len());
        if !matches!(bits, 8 | 16 | 32 | 64) {
            return Err(Refusal::Instruction(format!("st of {bits} bits")));
        }
        if st.order == Strength::Release {
            self.text.line("fence seq_cst");
        }
        let bytes = bits / 8;
        let values: Vec<Lanes> = st.b.iter().map(|value| self.read(value, bits)).collect::<Result<_, _>>()?;
        let place = self.place(&st.a)?;
        let (active, full) = self.active();
        let all = bytes * count as u32;
        let layout = place.layout(all);
        let is_common = layout == Layout::Common && place.space != SpaceKind::Local;
        let in_code = st.order == Strength::Weak && (!is_common || values.iter().all(Lanes::is_uniform));
        let tested = if in_code { self.tested(&place, layout, all, &active) } else { None };
        let Some(tested) = tested else {
            self.store_by_host(&place, &active, bits, &values);
            return Ok(());
        };
        if tested.space == SpaceKind::Local {
            self.note_local_change();
        }
        // A common element is stored if any lane is active, and they are not all.
        let skipped = (is_common && self.guard.is_some()).then(|| {
            let (any, stores, on) = (self.text.any(&active), self.text.new_label(), self.text.new_label());
            self.text.branch(&any, &stores, &on);
            self.text.begin(&stores);
            on
        });
        let element = format!("i{bits}");
        match layout {
            Layout::Common if is_common => {
                let pointer = self.pointer(&tested);
                for (e, value) in values.iter().enumerate() {
                    let value = self.of_kind(value, Kind::Scalar);
                    let at = self
                        .text
                        .value(&format!("getelementptr i8, ptr {pointer}, i64 {}", e as u32 * bytes));
                    self.text.line(&format!("store {element} {value}, ptr {at}, align {bytes}"));
                }
            }
            Layout::Contiguous => {
                let pointer = self.pointer(&tested);
                let values: Vec<String> = values.iter().map(|value| self.vector(value)).collect();
                self.store_row(&values, &pointer, bits, &active, full);
            }
            Layout::Reversed => {
                let pointer = self.pointer(&tested);
                let turned = |e: &mut Self, value: &Lanes| {
                    let vector = e.vector(value);
                    e.reversed(&vector, &element)
                };
                let values: Vec<String> = values.iter().map(|value| turned(self, value)).collect();
                let active = if full { active.clone() } else { self.reversed(&active, "i1") };
                self.store_row(&values, &pointer, bits, &active, full);
            }
            _ => {
                let first = self.scattered(&tested, place.lanes.stride);
                for (e, value) in values.iter().enumerate() {
                    let at = self.behind(&first, i64::from(e as u32 * bytes));
                    let value = self.vector(value);
                    self.scatter(&value, &at, bits, all, &active)?;
                }
            }
        }
        if let Some(on) = skipped {
            self.text.jump(&on);
            self.text.begin(&on);
        }
        Ok(())
    }

    /// Stores elements of all active lanes, one behind the other.
    fn store_row(&mut self, vectors: &[String], pointer: &str, bits: u32, active: &str, full: bool) {
        let (width, count, bytes) = (self.rows.width, vectors.len() as u32, bits / 8);
        let total = width * count;
        // Lane by lane the elements of all vectors: pairs of vectors are joined until there is one.
        let (row, mask) = match vectors {
            [one] => (one.clone(), active.to_owned()),
            many => {
                let row = self.interleaved(many, &format!("i{bits}"));
                let masks = vec![active.to_owned(); many.len()];
                (row, self.interleaved(&masks, "i1"))
            }
        };
        let ty = format!("<{total} x i{bits}>");
        let store = format!("store {ty} {row}, ptr {pointer}, align {bytes}");
        if full {
            self.text.line(&store);
            return;
        }
        let name = format!("llvm.masked.store.v{total}i{bits}.p0");
        self.intrinsic(&format!("declare void @{name}({ty}, ptr, i32, <{total} x i1>)"));
        let part =
            format!("call void @{name}({ty} {row}, ptr {pointer}, i32 {bytes}, <{total} x i1> {mask})");
        if self.prefers_masks() {
            self.text.line(&part);
            return;
        }
        self.whole_or_part(active, [store, part], Text::line);
    }

    /// Element 0 of each vector, then element 1 of each, and so on. There are 2, 4 or 8 of them.
    fn interleaved(&mut self, vectors: &[String], element: &str) -> String {
        let (mut level, mut length) = (vectors.to_vec(), self.rows.width);
        // Halves that lie far apart in the result are joined first: 0 with 2, 1 with 3; then both.
        while level.len() > 1 {
            let half = level.len() / 2;
            let places: Vec<String> =
                (0..length).flat_map(|l| [format!("i32 {l}"), format!("i32 {}", l + length)]).collect();
            let places = places.join(", ");
            level = (0..half)
                .map(|at| {
                    let (a, b) = (level[at].clone(), level[at + half].clone());
                    self.text.value(&format!(
                        "shufflevector <{length} x {element}> {a}, <{length} x {element}> {b}, <{} x i32> <{places}>",
                        2 * length
                    ))
                })
                .collect();
            length *= 2;
        }
        level.remove(0)
    }

    fn store_by_host(&mut self, place: &Place, active: &str, bits: u32, values: &[Lanes]) {
        let (steps, from, mut lists) = self.told(place);
        lists.extend_from_slice(values);
        let window = self.window();
        let access = Access { space: place.space, bytes: bits / 8, elements: values.len(), steps, window };
        self.host(Action::Store(access), &from, &lists, &[], active);
    }
}
