//! Loads and stores: what is tested, what is accessed here, and what the host does.
//!
//! See [`super`] for why no access leaves the guest's memory. A row's common address costs one test and one access; so do
//! addresses that are one element apart, as a vector. Other addresses are tested together, and gathered or scattered.

use super::Emitter;
use super::context;
use super::text::Kind;
use super::values::Lanes;
use crate::Refusal;
use crate::class::{Class, UNIFORM};
use crate::sites::Action;
use ir::instruction::{Ld, Op, St};
use ir::operand::{Address, Def, Space};
use machine::memory::{PAGE, SpaceKind};
use ptx::isa::Order as Strength;
use ptx::module::AddressBase;
use ptx::types::{StateSpace, TypeKind};

/// Bytes that lanes store as a group: see [`Emitter::scatter`].
const GROUP_BYTES: u32 = 128;

/// Addresses of a row, in 64 bits, and the memory that they are in.
pub(super) struct Place {
    pub(super) space: SpaceKind,
    pub(super) address: Lanes,
}

/// How a row's addresses lie.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// All are the same.
    Common,
    /// One access behind the other.
    Contiguous,
    Scattered,
}

impl Place {
    fn layout(&self, bytes: u32) -> Layout {
        match (&self.address.base, self.address.stride) {
            // Lanes that have one address are a thread's memory apart.
            _ if self.space == SpaceKind::Local => Layout::Scattered,
            (Some(_), 0) => Layout::Common,
            (Some(_), stride) if stride == i64::from(bytes) => Layout::Contiguous,
            _ => Layout::Scattered,
        }
    }
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
        let constant = |value: u64| Lanes::uniform(64, (value as i64).to_string());
        match address.base {
            AddressBase::Absolute => Ok(Place { space: named, address: constant(address.offset as u64) }),
            AddressBase::Variable(id) => {
                let space = match self.function.module.variables[id.index()].space {
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
                Ok(Place { space, address: constant(at.wrapping_add_signed(address.offset)) })
            }
            AddressBase::Register(register) => {
                let lanes = self.register(register);
                let lanes = self.canonical(lanes);
                let mut lanes = match lanes.bits {
                    64 => lanes,
                    32 => self.widened(&lanes),
                    other => return Err(Refusal::Operand(format!("an address of {other} bits"))),
                };
                if address.offset != 0 {
                    let class = match (&lanes.base, &lanes.flag) {
                        (Some(_), None) => Class::Affine(lanes.stride),
                        (Some(_), Some(_)) => Class::Hinted(lanes.stride),
                        (None, _) => Class::Varying,
                    };
                    lanes = self.compute(class, 64, &[lanes], None, |e, kind, s| {
                        let (int, by) = (e.text.int(64, kind), e.text.constant(address.offset, 64, kind));
                        e.text.value(&format!("add {int} {}, {by}", s[0]))
                    });
                }
                Ok(Place { space: named, address: lanes })
            }
        }
    }

    /// An address of 32 bits in 64.
    fn widened(&mut self, lanes: &Lanes) -> Lanes {
        let class = match (&lanes.base, lanes.stride) {
            (Some(_), 0) => UNIFORM,
            (Some(_), stride) => Class::Hinted(stride),
            (None, _) => Class::Varying,
        };
        self.compute(class, 64, std::slice::from_ref(lanes), Some(false), |e, kind, s| {
            let (a, b) = (e.text.int(32, kind), e.text.int(64, kind));
            e.text.value(&format!("zext {a} {} to {b}", s[0]))
        })
    }

    /// Tests the access of `bytes` from a base address on, of which each part is aligned to `align`; a condition and a
    /// pointer that is only good if that holds.
    fn tested(&mut self, place: &Place, bytes: u32, align: u32) -> Option<(String, String)> {
        let base = place.address.base.clone()?;
        let low = self.text.value(&format!("and i64 {base}, {}", align - 1));
        let mut good = self.text.value(&format!("icmp eq i64 {low}, 0"));
        if let Some(flag) = &place.address.flag {
            good = self.text.value(&format!("and i1 {good}, {flag}"));
        }
        let pointer = match place.space {
            SpaceKind::Shared => {
                let start = self.source.shared_start();
                let offset = self.text.value(&format!("sub i64 {base}, {start}"));
                let size = self.constant_field(context::SHARED_BYTES, "i64");
                let end = self.text.value(&format!("add i64 {offset}, {bytes}"));
                let begins = self.text.value(&format!("icmp ult i64 {offset}, {size}"));
                let ends = self.text.value(&format!("icmp ule i64 {end}, {size}"));
                let inside = self.text.value(&format!("and i1 {begins}, {ends}"));
                good = self.text.value(&format!("and i1 {good}, {inside}"));
                let shared = self.constant_field(context::SHARED, "ptr");
                self.text.value(&format!("getelementptr i8, ptr {shared}, i64 {offset}"))
            }
            SpaceKind::Global | SpaceKind::Generic => {
                let first = self.constant_field(context::BASE, "i64");
                let size = self.constant_field(context::SIZE, "i64");
                let offset = self.text.value(&format!("sub i64 {base}, {first}"));
                let last = self.text.value(&format!("add i64 {offset}, {}", bytes - 1));
                let ends = self.text.value(&format!("icmp ult i64 {last}, {size}"));
                let begins = self.text.value(&format!("icmp ule i64 {offset}, {last}"));
                let inside = self.text.value(&format!("and i1 {begins}, {ends}"));
                // The page map is only asked of pages that there are.
                let offset = self.text.value(&format!("select i1 {inside}, i64 {offset}, i64 0"));
                let last = self.text.value(&format!("select i1 {inside}, i64 {last}, i64 0"));
                let shift = PAGE.trailing_zeros();
                let first_page = self.text.value(&format!("lshr i64 {offset}, {shift}"));
                let last_page = self.text.value(&format!("lshr i64 {last}, {shift}"));
                let in_page = self.text.value(&format!("and i64 {last}, {}", PAGE - 1));
                let valid = self.valid_bytes(&last_page);
                let ends = self.text.value(&format!("icmp ult i64 {in_page}, {valid}"));
                let valid = self.valid_bytes(&first_page);
                let whole = self.text.value(&format!("icmp eq i64 {valid}, {PAGE}"));
                let same = self.text.value(&format!("icmp eq i64 {first_page}, {last_page}"));
                let begins = self.text.value(&format!("or i1 {same}, {whole}"));
                let valid = self.text.value(&format!("and i1 {begins}, {ends}"));
                let valid = self.text.value(&format!("and i1 {valid}, {inside}"));
                good = self.text.value(&format!("and i1 {good}, {valid}"));
                self.text.value(&format!("inttoptr i64 {base} to ptr"))
            }
            SpaceKind::Cluster | SpaceKind::Local | SpaceKind::Param => return None,
        };
        Some((good, pointer))
    }

    /// The page map's entry of a page.
    fn valid_bytes(&mut self, page: &str) -> String {
        let map = self.constant_field(context::VALID, "ptr");
        let entry = self.text.value(&format!("getelementptr i16, ptr {map}, i64 {page}"));
        let bytes = self.text.value(&format!("load atomic i16, ptr {entry} monotonic, align 2"));
        self.text.value(&format!("zext i16 {bytes} to i64"))
    }

    /// Tests the scattered accesses of the active lanes, of which each is aligned to its `bytes`: a condition, and pointers
    /// that are only good if it holds, or where a lane is not active.
    pub(super) fn tested_lanes(
        &mut self,
        place: &Place,
        bytes: u32,
        active: &str,
    ) -> Option<(String, String)> {
        let (v, width) = (Kind::Vector, self.rows.width);
        let (int, bit) = (self.text.int(64, v), self.text.int(1, v));
        let addresses = self.vector(&place.address);
        let (outside, pointers) = match place.space {
            SpaceKind::Shared => {
                let start = self.text.constant(i64::from(self.source.shared_start()), 64, v);
                let offsets = self.text.value(&format!("sub {int} {addresses}, {start}"));
                let size = self.constant_field(context::SHARED_BYTES, "i64");
                let outside = self.outside(&offsets, bytes, &size);
                let shared = self.constant_field(context::SHARED, "ptr");
                (outside, self.text.value(&format!("getelementptr i8, ptr {shared}, {int} {offsets}")))
            }
            SpaceKind::Global | SpaceKind::Generic => {
                let first = self.constant_field(context::BASE, "i64");
                let first = self.text.splat(&first, "i64");
                let offsets = self.text.value(&format!("sub {int} {addresses}, {first}"));
                let size = self.constant_field(context::SIZE, "i64");
                let outside = self.outside(&offsets, bytes, &size);
                // The page map is only asked of pages that there are. Being aligned, an access is in one page.
                let asked = self.text.value(&format!("xor {bit} {outside}, {}", self.text.all()));
                let asked = self.text.value(&format!("and {bit} {asked}, {active}"));
                let invalid = self.invalid_lanes(&offsets, bytes, &asked);
                let outside = self.text.value(&format!("or {bit} {outside}, {invalid}"));
                (outside, self.text.value(&format!("inttoptr {int} {addresses} to <{width} x ptr>")))
            }
            SpaceKind::Local => {
                let size = self.constant_field(context::LOCAL_BYTES, "i64");
                let outside = self.outside(&addresses, bytes, &size);
                let apart = self.text.splat(&size, "i64");
                let lanes = self.text.list(64, |l| l);
                let first = self.text.value(&format!("mul {int} {apart}, {lanes}"));
                let offsets = self.text.value(&format!("add {int} {first}, {addresses}"));
                let rows = self.constant_field(context::LOCAL, "ptr");
                let row = self.text.value(&format!("getelementptr ptr, ptr {rows}, i32 %row"));
                // Without local memory there are no rows to point to, and every access is outside.
                let some = self.text.value(&format!("icmp ne i64 {size}, 0"));
                let row = self.text.value(&format!("select i1 {some}, ptr {row}, ptr %ctx"));
                let row = self.text.value(&format!("load ptr, ptr {row}"));
                (outside, self.text.value(&format!("getelementptr i8, ptr {row}, {int} {offsets}")))
            }
            SpaceKind::Cluster | SpaceKind::Param => return None,
        };
        let (mask, zero) = (self.text.constant(i64::from(bytes) - 1, 64, v), self.text.constant(0, 64, v));
        let low = self.text.value(&format!("and {int} {addresses}, {mask}"));
        let crooked = self.text.value(&format!("icmp ne {int} {low}, {zero}"));
        let bad = self.text.value(&format!("or {bit} {outside}, {crooked}"));
        let bad = self.text.value(&format!("and {bit} {bad}, {active}"));
        let some = self.text.any(&bad);
        Some((self.text.value(&format!("xor i1 {some}, true")), pointers))
    }

    /// The lanes whose accesses from an offset on are not below a size.
    fn outside(&mut self, offsets: &str, bytes: u32, size: &str) -> String {
        let v = Kind::Vector;
        let (int, bit) = (self.text.int(64, v), self.text.int(1, v));
        let size = self.text.splat(size, "i64");
        let length = self.text.constant(i64::from(bytes), 64, v);
        let ends = self.text.value(&format!("add {int} {offsets}, {length}"));
        let begin = self.text.value(&format!("icmp uge {int} {offsets}, {size}"));
        let end = self.text.value(&format!("icmp ugt {int} {ends}, {size}"));
        self.text.value(&format!("or {bit} {begin}, {end}"))
    }

    /// The lanes, of those that are asked about, whose pages have fewer valid bytes than an access needs. Entries of the
    /// page map are read in pairs, as there are gathers of 32 bits.
    fn invalid_lanes(&mut self, offsets: &str, bytes: u32, asked: &str) -> String {
        let (v, width) = (Kind::Vector, self.rows.width);
        let (int, word, bit) = (self.text.int(64, v), self.text.int(32, v), self.text.int(1, v));
        let constant = |e: &Self, value: u64, bits| e.text.constant(value as i64, bits, v);
        let shift = constant(self, u64::from(PAGE.trailing_zeros()) + 1, 64);
        let pair = self.text.value(&format!("lshr {int} {offsets}, {shift}"));
        let map = self.constant_field(context::VALID, "ptr");
        let at = self.text.value(&format!("getelementptr i32, ptr {map}, {int} {pair}"));
        let name = format!("llvm.masked.gather.v{width}i32.v{width}p0");
        self.intrinsic(&format!("declare {word} @{name}(<{width} x ptr>, i32, {bit}, {word})"));
        let pairs = self.text.value(&format!(
            "call {word} @{name}(<{width} x ptr> {at}, i32 4, {bit} {asked}, {word} zeroinitializer)"
        ));
        let low = self.text.value(&format!("trunc {int} {offsets} to {word}"));
        let (by, sixteen) =
            (constant(self, u64::from(PAGE.trailing_zeros()) - 4, 32), constant(self, 16, 32));
        let upper = self.text.value(&format!("lshr {word} {low}, {by}"));
        let upper = self.text.value(&format!("and {word} {upper}, {sixteen}"));
        let valid = self.text.value(&format!("lshr {word} {pairs}, {upper}"));
        let (entry, in_page) = (constant(self, 0xffff, 32), constant(self, PAGE - 1, 32));
        let valid = self.text.value(&format!("and {word} {valid}, {entry}"));
        let from = self.text.value(&format!("and {word} {low}, {in_page}"));
        let length = constant(self, u64::from(bytes), 32);
        let end = self.text.value(&format!("add {word} {from}, {length}"));
        self.text.value(&format!("icmp ugt {word} {end}, {valid}"))
    }

    /// Tests lanes at addresses that are some other distance apart, as one if they are near one another.
    fn tested_scattered(&mut self, place: &Place, bytes: u32, active: &str) -> Option<(String, String)> {
        let stride = u32::try_from(place.address.stride).unwrap_or(0);
        let span = u64::from(stride) * u64::from(self.rows.width - 1) + u64::from(bytes);
        if place.space == SpaceKind::Local
            || place.address.base.is_none()
            || stride == 0
            || !stride.is_multiple_of(bytes)
            || span > PAGE
        {
            return self.tested_lanes(place, bytes, active);
        }
        let (good, pointer) = self.tested(place, span as u32, bytes)?;
        let steps = self.text.list(64, |l| l * i64::from(stride));
        let int = self.text.int(64, Kind::Vector);
        Some((good, self.text.value(&format!("getelementptr i8, ptr {pointer}, {int} {steps}"))))
    }

    /// `ld`.
    pub(crate) fn load(&mut self, op: &Op, ld: &Ld) -> Result<(), Refusal> {
        let (bits, count) = (ld.ty.bits(), ld.d.len());
        if bits > 64 || !matches!(bits, 8 | 16 | 32 | 64) {
            return Err(Refusal::Instruction(format!("ld of {bits} bits")));
        }
        let bytes = bits / 8;
        let place = self.place(&ld.a)?;
        let signed = ld.ty.kind() == TypeKind::Signed;
        if let Some(values) = self.parameter(&place, bits, count) {
            for (&def, value) in ld.d.iter().zip(values) {
                self.write(def, value, signed)?;
            }
            return Ok(());
        }
        let class = self.class_of_result(op);
        let all = bytes * count as u32;
        let (active, _) = self.active();
        let weak = ld.order == Strength::Weak;
        let layout = place.layout(all);
        let kind = if class == UNIFORM { Kind::Scalar } else { Kind::Vector };
        let width = self.rows.width;
        let test = match layout {
            _ if !weak => None,
            Layout::Common => self.tested(&place, all, all),
            Layout::Contiguous => self.tested(&place, all * width, all),
            Layout::Scattered => self.tested_scattered(&place, all, &active),
        };
        let Some((good, pointer)) = test else {
            let values = self.load_by_host(&place, &active, bits, count, kind)?;
            return self.write_loaded(&ld.d, values, bits, kind, signed);
        };
        let (fast, slow, on) = (self.text.new_label(), self.text.new_label(), self.text.new_label());
        self.text.likely(&good, &fast, &slow);
        self.text.begin(&fast);
        let element = format!("i{bits}");
        let mut near = Vec::new();
        match layout {
            Layout::Common => {
                for e in 0..count {
                    let at = self
                        .text
                        .value(&format!("getelementptr i8, ptr {pointer}, i64 {}", e as u32 * bytes));
                    let value = self.text.value(&format!("load {element}, ptr {at}, align {bytes}"));
                    near.push(match kind {
                        Kind::Scalar => value,
                        Kind::Vector => self.text.splat(&value, &element),
                    });
                }
            }
            Layout::Contiguous => {
                let total = width as usize * count;
                let row =
                    self.text.value(&format!("load <{total} x {element}>, ptr {pointer}, align {bytes}"));
                for e in 0..count {
                    near.push(match count {
                        1 => row.clone(),
                        _ => {
                            let picked: Vec<_> =
                                (0..width as usize).map(|l| format!("i32 {}", l * count + e)).collect();
                            self.text.value(&format!(
                                "shufflevector <{total} x {element}> {row}, <{total} x {element}> poison, <{width} x i32> <{}>",
                                picked.join(", ")
                            ))
                        }
                    });
                }
            }
            Layout::Scattered => {
                let (ty, bit) = (self.text.int(bits, Kind::Vector), self.text.int(1, Kind::Vector));
                let name = format!("llvm.masked.gather.v{width}{element}.v{width}p0");
                self.intrinsic(&format!("declare {ty} @{name}(<{width} x ptr>, i32, {bit}, {ty})"));
                for e in 0..count as u32 {
                    let at = self
                        .text
                        .value(&format!("getelementptr i8, <{width} x ptr> {pointer}, i64 {}", e * bytes));
                    near.push(self.text.value(&format!(
                        "call {ty} @{name}(<{width} x ptr> {at}, i32 {bytes}, {bit} {active}, {ty} zeroinitializer)"
                    )));
                }
            }
        }
        let near_label = self.text.label.clone();
        self.text.jump(&on);
        self.text.begin(&slow);
        let far = self.load_by_host(&place, &active, bits, count, kind)?;
        let far_label = self.text.label.clone();
        self.text.jump(&on);
        self.text.begin(&on);
        let ty = self.text.int(bits, kind);
        let values = near
            .iter()
            .zip(&far)
            .map(|(a, b)| self.text.value(&format!("phi {ty} [ {a}, %{near_label} ], [ {b}, %{far_label} ]")))
            .collect();
        self.write_loaded(&ld.d, values, bits, kind, signed)
    }

    /// What stands in the kernel's parameters at a constant place.
    fn parameter(&mut self, place: &Place, bits: u32, count: usize) -> Option<Vec<Lanes>> {
        let start: u64 = match (place.space, &place.address.base) {
            (SpaceKind::Param, Some(base)) => base.parse().ok()?,
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
        let action = Action::Load { space: place.space, bytes: bits / 8, elements: count };
        let addresses = self.vector(&place.address);
        let lists = self.host(action, &[addresses], count, active);
        let wide = self.text.int(64, Kind::Vector);
        let narrow = self.text.int(bits, kind);
        Ok(lists
            .into_iter()
            .map(|list| {
                let value = match kind {
                    Kind::Vector => list,
                    Kind::Scalar => {
                        let first = self.first_lane(active);
                        self.text.value(&format!("extractelement {wide} {list}, i32 {first}"))
                    }
                };
                let from = self.text.int(64, kind);
                if bits == 64 { value } else { self.text.value(&format!("trunc {from} {value} to {narrow}")) }
            })
            .collect())
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
        let width = self.rows.width;
        let layout = place.layout(all);
        let test = match layout {
            _ if st.order != Strength::Weak => None,
            Layout::Common if values.iter().all(Lanes::is_uniform) => {
                let test = self.tested(&place, all, all);
                test.map(|(good, pointer)| match self.guard.is_some() {
                    false => (good, pointer),
                    true => {
                        let any = self.text.any(&active);
                        (self.text.value(&format!("and i1 {good}, {any}")), pointer)
                    }
                })
            }
            Layout::Common => None,
            Layout::Contiguous => self.tested(&place, all * width, all),
            Layout::Scattered => self.tested_scattered(&place, all, &active),
        };
        let Some((good, pointer)) = test else {
            self.store_by_host(&place, &active, bits, &values);
            return Ok(());
        };
        let (fast, slow, on) = (self.text.new_label(), self.text.new_label(), self.text.new_label());
        self.text.likely(&good, &fast, &slow);
        self.text.begin(&fast);
        let element = format!("i{bits}");
        match layout {
            Layout::Common => {
                for (e, value) in values.iter().enumerate() {
                    let value = self.of_kind(value, Kind::Scalar);
                    let at = self
                        .text
                        .value(&format!("getelementptr i8, ptr {pointer}, i64 {}", e as u32 * bytes));
                    self.text.line(&format!("store {element} {value}, ptr {at}, align {bytes}"));
                }
            }
            Layout::Contiguous => self.store_row(&values, &pointer, bits, &active, full),
            Layout::Scattered => {
                for (e, value) in values.iter().enumerate() {
                    let at = self.text.value(&format!(
                        "getelementptr i8, <{width} x ptr> {pointer}, i64 {}",
                        e as u32 * bytes
                    ));
                    let value = self.vector(value);
                    self.scatter(&value, &at, bits, all, &active);
                }
            }
        }
        self.text.jump(&on);
        self.text.begin(&slow);
        self.store_by_host(&place, &active, bits, &values);
        self.text.jump(&on);
        self.text.begin(&on);
        Ok(())
    }

    /// Stores elements of all active lanes, one behind the other.
    fn store_row(&mut self, values: &[Lanes], pointer: &str, bits: u32, active: &str, full: bool) {
        let (width, count, bytes) = (self.rows.width, values.len() as u32, bits / 8);
        let total = width * count;
        let vectors: Vec<String> = values.iter().map(|value| self.vector(value)).collect();
        // Lane by lane the elements of all vectors: pairs of vectors are joined until there is one.
        let (row, mask) = match vectors.as_slice() {
            [one] => (one.clone(), active.to_owned()),
            many => {
                let row = self.interleaved(many, &format!("i{bits}"));
                let masks = vec![active.to_owned(); many.len()];
                (row, self.interleaved(&masks, "i1"))
            }
        };
        let ty = format!("<{total} x i{bits}>");
        if full {
            self.text.line(&format!("store {ty} {row}, ptr {pointer}, align {bytes}"));
            return;
        }
        let name = format!("llvm.masked.store.v{total}i{bits}.p0");
        self.intrinsic(&format!("declare void @{name}({ty}, ptr, i32, <{total} x i1>)"));
        self.text.line(&format!(
            "call void @{name}({ty} {row}, ptr {pointer}, i32 {bytes}, <{total} x i1> {mask})"
        ));
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

    /// Stores scattered elements so that where lanes meet, the one wins that wins on a GPU: the text's order is that of
    /// the lanes, the last one winning, so each group of lanes is turned round.
    /// Groups are the smaller the more bytes a lane stores.
    fn scatter(&mut self, value: &str, pointers: &str, bits: u32, all: u32, active: &str) {
        let width = self.rows.width;
        let group = if all <= 4 { 32 } else { (GROUP_BYTES / all).max(1) }.min(width);
        let places: Vec<String> = (0..width).map(|l| format!("i32 {}", l ^ (group - 1))).collect();
        let places = places.join(", ");
        let turned = |e: &mut Self, vector: &str, element: &str| {
            e.text.value(&format!(
                "shufflevector <{width} x {element}> {vector}, <{width} x {element}> poison, <{width} x i32> <{places}>"
            ))
        };
        let element = format!("i{bits}");
        let value = turned(self, value, &element);
        let pointers = turned(self, pointers, "ptr");
        let mask = turned(self, active, "i1");
        let name = format!("llvm.masked.scatter.v{width}{element}.v{width}p0");
        self.intrinsic(&format!(
            "declare void @{name}(<{width} x {element}>, <{width} x ptr>, i32, <{width} x i1>)"
        ));
        self.text.line(&format!(
            "call void @{name}(<{width} x {element}> {value}, <{width} x ptr> {pointers}, i32 {}, <{width} x i1> {mask})",
            bits / 8
        ));
    }

    fn store_by_host(&mut self, place: &Place, active: &str, bits: u32, values: &[Lanes]) {
        let action = Action::Store { space: place.space, bytes: bits / 8, elements: values.len() };
        let mut lists = vec![self.vector(&place.address)];
        for value in values {
            lists.push(self.list_of(value));
        }
        self.host(action, &lists, 0, active);
    }
}
