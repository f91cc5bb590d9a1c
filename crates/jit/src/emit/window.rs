//! The tests that stand before accesses: see [`super`] for why no access leaves the guest's memory.
//!
//! Each access has a **window** ([`Window`]): bytes that are known to be valid, around the place where its row was last. An
//! access is tested by one comparison. What it is compared with says where the last access may begin that ends in the window; the distance
//! from the window's start is rotated, so that bits below the alignment make it large.
//!
//! Accesses of a stretch at constant distances from one register are a **group** with one test for all, from the lowest byte to
//! the highest.
//!
//! Where a test fails, the host makes the access, and moves the window there. That is rare, so a **stretch** of instructions with accesses is
//! written twice: once for tests that hold, as one piece of text that is only left where one fails, and once for the rest of the way from
//! there on, with the host's accesses alone. So what follows an access need not care for how it was made.

use super::Emitter;
use super::context;
use super::memory::{Layout, Place};
use super::scattered::Pieces;
use super::text::Kind;
use super::values::Scaled;
use crate::Refusal;
use crate::context::Window;
use ir::instruction::Op;
use ir::operand::Space;
use machine::memory::SpaceKind;
use ptx::isa::{Flow, Order};
use ptx::module::{AddressBase, RegId};
use std::collections::HashMap;
use std::mem::offset_of;
use std::ops::Range;

/// What the window of an access must hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) space: SpaceKind,
    /// Bytes from the address that is tested on.
    pub(crate) bytes: u64,
    pub(crate) align: u32,
}

/// Instructions of a block that are written twice if there are accesses among them: see the module.
#[derive(Debug, Default)]
pub(crate) struct Stretch {
    instructions: Range<u32>,
    groups: Vec<Group>,
    /// Which group an access belongs to.
    group_of: HashMap<u32, usize>,
    /// Accesses with a test, and their windows.
    exits: Vec<u32>,
    window_of: HashMap<u32, u32>,
    /// Scattered elements that are loaded together.
    pub(super) pieces: Pieces,
    /// Whether this is the text for where a test has failed.
    is_far: bool,
}

impl Stretch {
    pub(super) fn instructions(&self) -> Range<u32> {
        self.instructions.clone()
    }

    /// Takes back what an access has noted whose text is not used.
    pub(super) fn forget(&mut self, index: u32) {
        self.window_of.remove(&index);
        self.pieces.forget(index);
        // If it was the access that has tested its group, the next one tests it.
        if self.exits.last() == Some(&index) {
            self.exits.pop();
            if let Some(&group) = self.group_of.get(&index) {
                self.groups[group].tested = None;
            }
        }
    }
}

/// Instructions without an access between two that belong to one stretch, at most: they are written twice.
const GAP: u32 = 16;

/// Where the text goes on if the test of an access fails.
fn far(index: u32) -> String {
    format!("far{index}")
}

/// Accesses that are tested as one.
#[derive(Clone, Debug)]
struct Group {
    /// The lowest byte, and one past the highest, counted from the register in lane 0.
    low: i64,
    end: i64,
    align: u32,
    /// The first access's distance from the register, and bits in which others differ from it.
    first: i64,
    apart: i64,
    /// The test, once it has been written.
    tested: Option<Tested>,
}

/// Bytes of a group, at most: what lies between its accesses is tested, too.
const GROUP: i64 = 1 << 14;

impl Group {
    /// Takes in an access; `false` if it does not fit.
    fn takes(&mut self, offset: i64, low: i64, end: i64, align: u32) -> bool {
        let apart = self.apart | (offset - self.first);
        let align = self.align.max(align);
        let (low, end) = (self.low.min(low), self.end.max(end));
        let fits = apart & i64::from(align - 1) == 0 && end - low <= GROUP;
        if fits {
            (self.low, self.end, self.align, self.apart) = (low, end, align, apart);
        }
        fits
    }
}

/// A test that has been written.
#[derive(Clone, Debug)]
pub(super) struct Tested {
    /// Whether it holds.
    good: String,
    pub(super) window: u32,
    pub(super) space: SpaceKind,
    at: At,
    /// Whether it holds of all accesses of its group.
    pub(super) is_of_group: bool,
}

impl Tested {
    /// Whether lanes are known to lie a step apart.
    pub(super) fn is_row(&self) -> bool {
        matches!(self.at, At::Row(_))
    }
}

/// What is accessed if the test holds.
#[derive(Clone, Debug)]
enum At {
    /// So many bytes behind the start of the window, in shared and local memory; else the address.
    Row(String),
    /// In 32 bits for each lane: bytes behind the start of the window.
    Lanes(String),
    /// In 32 bits for each lane: how many times so many bytes behind a pointer.
    Elements { first: String, numbers: String, bytes: i64 },
}

/// Places of lanes: each by a number, in 32 bits without a sign, of how many times so many bytes, a power of two, it is behind a pointer.
#[derive(Clone, Debug)]
pub(super) struct Scattered {
    pub(super) first: String,
    pub(super) numbers: String,
    pub(super) bytes: i64,
}

impl Emitter<'_> {
    /// Where a field of a window is.
    pub(super) fn window_place(&mut self, window: u32, field: usize) -> String {
        let windows = self.constant_field(context::WINDOWS, "ptr");
        let at = size_of::<Window>() * window as usize + field;
        self.text.value(&format!("getelementptr i8, ptr {windows}, i64 {at}"))
    }

    fn window_field(&mut self, window: u32, field: usize, changes: bool) -> String {
        let place = self.window_place(window, field);
        let invariant = if changes { "" } else { ", !invariant.load !1" };
        self.text.value(&format!("load i64, ptr {place}{invariant}"))
    }

    fn add_window(&mut self, space: SpaceKind, bytes: u64, align: u32) -> u32 {
        self.windows.push(Span { space, bytes, align });
        self.windows.len() as u32 - 1
    }

    /// Tests an access of the active lanes, each aligned to its own bytes, and leaves the stretch where it fails. `None` where the
    /// access is the host's.
    pub(super) fn tested(&mut self, place: &Place, layout: Layout, all: u32, active: &str) -> Option<Tested> {
        if layout == Layout::Common
            && let Some(tested) = self.inside(place, all)
        {
            return Some(tested);
        }
        if let Some(tested) = self.always_inside(place, layout, all) {
            return Some(tested);
        }
        if self.stretch.is_far || matches!(place.space, SpaceKind::Cluster | SpaceKind::Param) {
            return None;
        }
        // What lanes have in common can be known of one read and not of another.
        let base = place.lanes.base.as_ref().filter(|_| layout != Layout::Scattered);
        let is_alike = |tested: &Tested| matches!(tested.at, At::Row(_)) == base.is_some();
        let group = self.stretch.group_of.get(&self.index).copied();
        let group = group.filter(|&group| self.stretch.groups[group].tested.as_ref().is_none_or(is_alike));
        let test = |e: &mut Self, low: i64, bytes: u64, align: u32| match base {
            Some(base) => e.tested_row(place, base, low, bytes, align, active),
            None => match e.tested_elements(place, low, bytes, align, active) {
                Some(tested) => tested,
                None => e.tested_lanes(place, low, bytes, align, active),
            },
        };
        let (tested, is_known) = match group {
            None => (test(self, place.offset, all.into(), all), false),
            Some(group) => {
                let Group { low, end, align, ref tested, .. } = self.stretch.groups[group];
                let (tested, is_known) = match tested {
                    Some(tested) => (tested.clone(), true),
                    None => {
                        let tested = test(self, low, (end - low) as u64, align);
                        (Tested { is_of_group: true, ..tested }, false)
                    }
                };
                self.stretch.groups[group].tested = Some(tested.clone());
                (self.farther(tested, place.offset - low), is_known)
            }
        };
        self.stretch.window_of.insert(self.index, tested.window);
        if !is_known {
            let on = self.text.new_label();
            self.text.likely(&tested.good, &on, &far(self.index));
            self.text.begin(&on);
            self.stretch.exits.push(self.index);
            self.fetch_ahead(&tested, self.windows[tested.window as usize].bytes);
        }
        Some(tested)
    }

    /// What is so many bytes behind what was tested.
    fn farther(&mut self, tested: Tested, by: i64) -> Tested {
        let at = match &tested.at {
            at if by == 0 => at.clone(),
            At::Row(at) => At::Row(self.text.value(&format!("add i64 {at}, {by}"))),
            At::Lanes(offsets) => {
                let (word, by) = (self.text.int(32, Kind::Vector), self.text.constant(by, 32, Kind::Vector));
                At::Lanes(self.text.value(&format!("add {word} {offsets}, {by}")))
            }
            At::Elements { first, numbers, bytes } => {
                let first = self.text.value(&format!("getelementptr i8, ptr {first}, i64 {by}"));
                At::Elements { first, numbers: numbers.clone(), bytes: *bytes }
            }
        };
        Tested { at, ..tested }
    }

    /// An access at a constant place in a variable, which needs no test: variables of the module are valid while its kernels run,
    /// those in shared memory are what every CTA has of it.
    fn inside(&self, place: &Place, all: u32) -> Option<Tested> {
        let constant = place.constant?;
        let at = match place.space {
            SpaceKind::Shared => constant.checked_sub(self.source.shared_start().into())?.to_string(),
            SpaceKind::Global => place.lanes.base.clone()?,
            _ => return None,
        };
        let fits = place.room >= u64::from(all) && constant.is_multiple_of(u64::from(all));
        fits.then(|| Tested {
            good: "true".to_owned(),
            window: 0,
            space: place.space,
            at: At::Row(at),
            is_of_group: false,
        })
    }

    /// An access of shared memory whose addresses follow from thread numbers: whatever they are in a block, it is inside of what variables
    /// take there, which every CTA has.
    fn always_inside(&mut self, place: &Place, layout: Layout, all: u32) -> Option<Tested> {
        let (linear, base) = place.linear.zip(place.lanes.base.as_ref())?;
        let (start, align) = (i64::from(self.source.shared_start()), i64::from(all));
        let is_aligned = linear.is_multiple_of(align) && place.offset & (align - 1) == 0;
        let known = layout != Layout::Scattered && layout == place.layout(all);
        if place.space != SpaceKind::Shared || !known || !is_aligned {
            return None;
        }
        // A row with a mask accesses nothing for the lanes that are not active; else all of it does.
        let is_masked = layout != Layout::Common && self.divergence.divergent[self.block];
        let threads = if is_masked { self.linears.threads(self.block) } else { self.bounds.rows(self.block) };
        let range = linear.range(threads);
        let first = range.start().checked_add(place.offset)?;
        let end = range.end().checked_add(place.offset)?.checked_add(align)?;
        if first < start || u64::try_from(end).ok()? > self.shared_end {
            return None;
        }
        let wide = match place.lanes.bits {
            64 => base.clone(),
            // Where the first lane is not active, it may be less than zero there.
            _ => self.text.value(&format!("sext i32 {base} to i64")),
        };
        let far = place.lanes.stride * i64::from(self.rows.width - 1);
        let by = place.offset + far.min(0) - start;
        let at = At::Row(self.text.value(&format!("add i64 {wide}, {by}")));
        Some(Tested { good: "true".to_owned(), window: 0, space: place.space, at, is_of_group: false })
    }

    /// The window that the host moves to the current access.
    pub(super) fn window(&self) -> Option<u32> {
        self.stretch.window_of.get(&self.index).copied()
    }

    /// Writes the current stretch once more, for where a test fails.
    pub(super) fn write_far(&mut self) -> Result<(), Refusal> {
        let exits = std::mem::take(&mut self.stretch.exits);
        let Some(&first) = exits.first() else { return Ok(()) };
        self.stretch.is_far = true;
        let on = self.text.new_label();
        self.text.jump(&on);
        for index in first..self.stretch.instructions.end {
            if exits.contains(&index) {
                if index != first {
                    self.text.jump(&far(index));
                }
                self.text.begin(&far(index));
            }
            self.one(index)?;
        }
        self.text.jump(&on);
        self.text.begin(&on);
        Ok(())
    }

    /// The instructions of a block in stretches: from an access to the last one that is not far behind, or without any.
    pub(super) fn stretches(&self, instructions: Range<u32>) -> Vec<Stretch> {
        let mut ends: Vec<u32> = Vec::new();
        let mut open: Option<u32> = None;
        for index in instructions.clone() {
            let Some(instruction) = self.function.instruction(index) else { continue };
            let is_access =
                matches!(instruction.op, Op::Ld(_) | Op::St(_) | Op::Atom(_) | Op::AtomCas(_) | Op::Red(_));
            let waits = instruction.op.effects().barrier.is_some();
            match open {
                Some(last) if waits || is_access && index - last > GAP => {
                    ends.push(last + 1);
                    open = None;
                }
                _ => {}
            }
            if is_access {
                if open.is_none() {
                    ends.push(index);
                }
                open = Some(index);
            }
        }
        ends.extend(open.map(|last| last + 1));
        ends.push(instructions.end);
        let mut from = instructions.start;
        let mut stretches = Vec::new();
        for end in ends {
            if end > from {
                stretches.push(self.stretch_of(from..end));
            }
            from = end;
        }
        stretches
    }

    /// A stretch with its groups.
    fn stretch_of(&self, instructions: Range<u32>) -> Stretch {
        let mut stretch = Stretch { instructions: instructions.clone(), ..Stretch::default() };
        let mut open: HashMap<(Space, RegId), usize> = HashMap::new();
        for index in instructions.clone() {
            let Some(instruction) = self.function.instruction(index) else { continue };
            let (address, bytes, weak) = match &instruction.op {
                Op::Ld(ld) => (Some(&ld.a), ld.ty.bits() / 8 * ld.d.len() as u32, ld.order == Order::Weak),
                Op::St(st) => (Some(&st.a), st.ty.bits() / 8 * st.b.len() as u32, st.order == Order::Weak),
                _ => (None, 0, false),
            };
            if let Some(address) = address.filter(|_| weak && instruction.guard.is_none() && bytes != 0)
                && let AddressBase::Register(register) = address.base
                && address.offset.unsigned_abs() < 1 << 30
            {
                let (low, end) = (address.offset, address.offset + i64::from(bytes));
                let known = open.get(&(address.space, register)).copied();
                match known.filter(|&group| stretch.groups[group].takes(address.offset, low, end, bytes)) {
                    Some(group) => {
                        stretch.group_of.insert(index, group);
                    }
                    None => {
                        let first = address.offset;
                        open.insert((address.space, register), stretch.groups.len());
                        stretch.group_of.insert(index, stretch.groups.len());
                        stretch.groups.push(Group { low, end, align: bytes, first, apart: 0, tested: None });
                    }
                }
            }
            // What is called may free memory, and behind a barrier nothing is left of the test.
            let goes_on =
                instruction.op.effects().flow == Flow::Next && instruction.op.effects().barrier.is_none();
            if !goes_on {
                open.clear();
            }
            instruction.registers(&mut |written, access| {
                if access != ir::Access::Read {
                    open.retain(|&(_, register), _| register != written);
                }
            });
        }
        let known = instructions.filter_map(|index| Some((index, self.function.instruction(index)?)));
        stretch.pieces = Pieces::of(known, &stretch.group_of);
        stretch
    }

    /// Tests so many bytes from a place on, counted from the base, and what is as far from the other lanes' addresses: all of
    /// them, or from the first to the last active lane where the others may be anywhere.
    fn tested_row(
        &mut self,
        place: &Place,
        base: &str,
        low: i64,
        bytes: u64,
        align: u32,
        active: &str,
    ) -> Tested {
        let (space, stride) = (place.space, place.lanes.stride);
        let far = stride * i64::from(self.rows.width - 1);
        let is_part = stride != 0 && (self.guard.is_some() || self.divergence.divergent[self.block]);
        let span = if is_part { bytes } else { bytes + far.unsigned_abs() };
        let window = self.add_window(space, span, align);
        let start = match space {
            SpaceKind::Shared => i64::from(self.source.shared_start()),
            _ => 0,
        };
        let wide = match place.lanes.bits {
            64 => base.to_owned(),
            _ => self.text.value(&format!("zext i32 {base} to i64")),
        };
        // In 32 bits no lane wraps before it is outside, as all windows are below.
        let low = match low.wrapping_add(far.min(0)).wrapping_sub(start) {
            0 => wide,
            by => self.text.value(&format!("add i64 {wide}, {by}")),
        };
        let is_fixed = matches!(space, SpaceKind::Shared | SpaceKind::Local);
        let distance = match is_fixed {
            true => low.clone(),
            false => {
                let first = self.window_field(window, offset_of!(Window, first), true);
                self.text.value(&format!("sub i64 {low}, {first}"))
            }
        };
        let limit = self.window_field(window, offset_of!(Window, limit), !is_fixed);
        let ends = match is_part {
            false => vec![distance],
            true => self
                .active_ends(active)
                .map(|lane| {
                    let step = self.text.value(&format!("mul i64 {lane}, {stride}"));
                    let from = self.text.value(&format!("add i64 {distance}, {step}"));
                    self.text.value(&format!("sub i64 {from}, {}", far.min(0)))
                })
                .to_vec(),
        };
        let inside = |e: &mut Self, distance: &String| {
            let rotated = e.rotated(distance, 64, align, Kind::Scalar);
            e.text.value(&format!("icmp ult i64 {rotated}, {limit}"))
        };
        let mut tests: Vec<String> = ends.iter().map(|distance| inside(self, distance)).collect();
        let both = |a: String, b: String| format!("and i1 {a}, {b}");
        if let Some(bend) = &place.lanes.bend {
            let last = bend.last.clone();
            tests.push(self.text.value(&format!("icmp uge i32 {last}, {}", self.rows.width - 1)));
        }
        let mut good = tests.remove(0);
        for test in tests {
            good = self.text.value(&both(good, test));
        }
        if is_part && self.guard.is_some() {
            let any = self.text.any(active);
            let none = self.text.value(&format!("xor i1 {any}, true"));
            good = self.text.value(&format!("or i1 {good}, {none}"));
        }
        Tested { good, window, space, at: At::Row(low), is_of_group: false }
    }

    /// The numbers of the first and of the last active lane, in 64 bits; of some lanes if there is none.
    fn active_ends(&mut self, active: &str) -> [String; 2] {
        let bits = self.text.mask_bits(active);
        ["cttz", "ctlz"].map(|name| {
            self.intrinsic(&format!("declare i32 @llvm.{name}.i32(i32, i1)"));
            let count = self.text.value(&format!("call i32 @llvm.{name}.i32(i32 {bits}, i1 false)"));
            let lane = match name {
                "cttz" => count,
                _ => self.text.value(&format!("sub i32 31, {count}")),
            };
            let lane = self.text.value(&format!("and i32 {lane}, 31"));
            self.text.value(&format!("zext i32 {lane} to i64"))
        })
    }

    /// Tests in each active lane so many bytes from a place on, counted from its register.
    fn tested_lanes(&mut self, place: &Place, low: i64, bytes: u64, align: u32, active: &str) -> Tested {
        let (v, space) = (Kind::Vector, place.space);
        let start = match space {
            SpaceKind::Shared => i64::from(self.source.shared_start()),
            _ => 0,
        };
        // In shared memory, bytes behind its start. Of an offset that leads on, the register is tested for a span longer by
        // that: a sum of 32 bits could wrap into the window.
        let by = low.wrapping_sub(start);
        let before = i64::from(i32::MIN)..=0;
        let behind = 1..=i64::from(i32::MAX);
        let is_fixed = matches!(space, SpaceKind::Shared | SpaceKind::Local);
        let is_narrow = is_fixed
            && place.lanes.bits == 32
            && (before.contains(&by) || behind.contains(&by) && by % i64::from(align) == 0);
        let bits = if is_narrow { 32 } else { 64 };
        let int = self.text.int(bits, v);
        let add = |e: &mut Self, vector: &str, by: i64| match by {
            0 => vector.to_owned(),
            by => {
                let by = e.text.constant(by, bits, v);
                e.text.value(&format!("add {int} {vector}, {by}"))
            }
        };
        let register = match is_narrow {
            true => self.vector(&place.lanes),
            false => {
                let wide = self.widened(&place.lanes);
                self.vector(&wide)
            }
        };
        let distance = add(self, &register, by);
        let is_longer = is_narrow && by > 0;
        let span = bytes + if is_longer { by as u64 } else { 0 };
        let window = self.add_window(space, span, align);
        let distance = match is_fixed {
            true => distance,
            false => {
                let first = self.window_field(window, offset_of!(Window, first), true);
                let first = self.text.splat(&first, "i64");
                self.text.value(&format!("sub {int} {distance}, {first}"))
            }
        };
        let tested = if is_longer { register } else { distance.clone() };
        let rotated = self.rotated(&tested, bits, align, v);
        let mut limit = self.window_field(window, offset_of!(Window, limit), !is_fixed);
        if is_narrow {
            limit = self.text.value(&format!("trunc i64 {limit} to i32"));
        }
        let limit = self.text.splat(&limit, &format!("i{bits}"));
        let good = self.no_lane_beyond(&rotated, &limit, bits, active);
        let offsets = match is_narrow {
            true => distance,
            false => {
                let word = self.text.int(32, v);
                self.text.value(&format!("trunc {int} {distance} to {word}"))
            }
        };
        Tested { good, window, space, at: At::Lanes(offsets), is_of_group: false }
    }

    /// Whether numbers of all active lanes are below a limit, in so many bits.
    fn no_lane_beyond(&mut self, numbers: &str, limit: &str, bits: u32, active: &str) -> String {
        let (int, bit) = (self.text.int(bits, Kind::Vector), self.text.int(1, Kind::Vector));
        let mut outside = self.text.value(&format!("icmp uge {int} {numbers}, {limit}"));
        if !self.all_execute() {
            outside = self.text.value(&format!("and {bit} {outside}, {active}"));
        }
        let any = self.text.any(&outside);
        self.text.value(&format!("xor i1 {any}, true"))
    }

    /// The same as [`Self::tested_lanes`] by the index of a scaled address: where the row's base is, the index must lie between two numbers,
    /// which are found with scalars. `None` where addresses are not such, or each thread has memory of its own.
    ///
    /// The distance of the base from the window is one of less than 2^62, so that no sum below leaves 64 bits, and a multiple of the
    /// alignment, as the scale is: with both in units of it, `0 <= distance + scale * index < limit` is what is asked.
    fn tested_elements(
        &mut self,
        place: &Place,
        low: i64,
        bytes: u64,
        align: u32,
        active: &str,
    ) -> Option<Tested> {
        const FAR: i64 = 1 << 62;
        let Scaled { base, index, scale, signed } = place.lanes.scaled.clone()?;
        let (space, unit) = (place.space, i64::from(align));
        let scale_in_units = scale / unit;
        let fits = scale % unit == 0 && u64::try_from(scale_in_units).is_ok_and(u64::is_power_of_two);
        if !fits || space == SpaceKind::Local {
            return None;
        }
        let window = self.add_window(space, bytes, align);
        let is_fixed = space == SpaceKind::Shared;
        let start = match is_fixed {
            true => self.source.shared_start().to_string(),
            false => self.window_field(window, offset_of!(Window, first), true),
        };
        let limit = self.window_field(window, offset_of!(Window, limit), !is_fixed);
        let value = |e: &mut Self, text: String| e.text.value(&text);
        let address = value(self, format!("add i64 {base}, {low}"));
        let distance = value(self, format!("sub i64 {address}, {start}"));
        let moved = value(self, format!("add i64 {distance}, {FAR}"));
        let is_near = value(self, format!("icmp sge i64 {moved}, 0"));
        let rest = value(self, format!("and i64 {distance}, {}", unit - 1));
        let is_aligned = value(self, format!("icmp eq i64 {rest}, 0"));
        let distance = value(self, format!("ashr i64 {distance}, {}", align.trailing_zeros()));
        // The first index that is not before the window, and the first behind it, among those that there are.
        let (least, most) = match signed {
            true => (i64::from(i32::MIN), i64::from(i32::MAX)),
            false => (0, i64::from(u32::MAX)),
        };
        let steps = scale_in_units.trailing_zeros();
        let index_of = |e: &mut Self, far: String| {
            let up = value(e, format!("add i64 {far}, {}", scale_in_units - 1));
            let number = value(e, format!("ashr i64 {up}, {steps}"));
            e.clamped(&number, least..=most)
        };
        let before = value(self, format!("sub i64 0, {distance}"));
        let begin = index_of(self, before);
        let behind = value(self, format!("sub i64 {limit}, {distance}"));
        let end = index_of(self, behind);
        // Numbers counted from there on have no sign.
        let count = value(self, format!("sub i64 {end}, {begin}"));
        let count = self.clamped(&count, 0..=i32::MAX.into());
        let [count, from] = [count, begin.clone()].map(|number| {
            let number = self.text.value(&format!("trunc i64 {number} to i32"));
            self.text.splat(&number, "i32")
        });
        let word = self.text.int(32, Kind::Vector);
        let numbers = value(self, format!("sub {word} {index}, {from}"));
        let inside = self.no_lane_beyond(&numbers, &count, 32, active);
        let good = value(self, format!("and i1 {is_near}, {is_aligned}"));
        let good = value(self, format!("and i1 {good}, {inside}"));
        let skipped = value(self, format!("mul i64 {begin}, {scale}"));
        let first = value(self, format!("add i64 {address}, {skipped}"));
        let first = match space {
            SpaceKind::Shared => {
                let shared = self.constant_field(context::SHARED, "ptr");
                let behind = value(self, format!("sub i64 {first}, {start}"));
                value(self, format!("getelementptr i8, ptr {shared}, i64 {behind}"))
            }
            _ => self.in_host(window, &first),
        };
        let at = At::Elements { first, numbers, bytes: scale };
        Some(Tested { good, window, space, at, is_of_group: false })
    }

    /// A distance whose bits below the alignment are on top.
    fn rotated(&mut self, distance: &str, bits: u32, align: u32, kind: Kind) -> String {
        if align == 1 {
            return distance.to_owned();
        }
        let (int, name) = (self.text.int(bits, kind), self.text.suffix(&format!("i{bits}"), kind));
        self.intrinsic(&format!("declare {int} @llvm.fshr.{name}({int}, {int}, {int})"));
        let by = self.text.constant(i64::from(align.trailing_zeros()), bits, kind);
        self.text
            .value(&format!("call {int} @llvm.fshr.{name}({int} {distance}, {int} {distance}, {int} {by})"))
    }

    /// Where the lowest element of a row is, or where lanes `stride` apart are: only good where the test holds.
    pub(super) fn pointer(&mut self, tested: &Tested) -> String {
        let At::Row(at) = &tested.at else { return String::new() };
        match tested.space {
            SpaceKind::Shared => {
                let shared = self.constant_field(context::SHARED, "ptr");
                self.text.value(&format!("getelementptr i8, ptr {shared}, i64 {at}"))
            }
            SpaceKind::Generic => self.in_host(tested.window, at),
            _ => self.text.value(&format!("inttoptr i64 {at} to ptr")),
        }
    }

    /// Where the elements of all lanes are: only good where the test holds, in active lanes.
    pub(super) fn scattered(&mut self, tested: &Tested, stride: i64) -> Scattered {
        let word = self.text.int(32, Kind::Vector);
        let (first, numbers, bytes) = match (&tested.at, tested.space) {
            (At::Row(at), SpaceKind::Local) => {
                let (row, firsts) = self.local_memory();
                let row = self.text.value(&format!("getelementptr i8, ptr {row}, i64 {at}"));
                (row, firsts, 1)
            }
            (At::Lanes(offsets), SpaceKind::Local) => {
                let (row, firsts) = self.local_memory();
                let at = self.text.value(&format!("add {word} {firsts}, {offsets}"));
                (row, at, 1)
            }
            (At::Row(_), _) => {
                let low = self.pointer(tested);
                // The lowest is the last lane's where they go down.
                let far = (stride * i64::from(self.rows.width - 1)).min(0);
                (low, self.text.list(32, |l| l * stride - far), 1)
            }
            (At::Lanes(offsets), space) => {
                let first = match space {
                    SpaceKind::Shared => self.constant_field(context::SHARED, "ptr"),
                    _ => {
                        let first = self.window_field(tested.window, offset_of!(Window, first), true);
                        self.in_host(tested.window, &first)
                    }
                };
                (first, offsets.clone(), 1)
            }
            (At::Elements { first, numbers, bytes }, _) => (first.clone(), numbers.clone(), *bytes),
        };
        Scattered { first, numbers, bytes }
    }

    /// The same as a vector of pointers.
    pub(super) fn pointers(&mut self, Scattered { first, numbers, bytes }: &Scattered) -> String {
        let word = self.text.int(32, Kind::Vector);
        self.text.value(&format!("getelementptr [{bytes} x i8], ptr {first}, {word} {numbers}"))
    }

    /// Where an address of a window is in the host.
    fn in_host(&mut self, window: u32, address: &str) -> String {
        let to_host = self.window_field(window, offset_of!(Window, to_host), true);
        let address = self.text.value(&format!("add i64 {address}, {to_host}"));
        self.text.value(&format!("inttoptr i64 {address} to ptr"))
    }

    /// Tells the host that the row's local memory is not what it was.
    pub(super) fn note_local_change(&mut self) {
        let changed = self.constant_field(context::LOCAL_CHANGED, "ptr");
        let place = self.text.value(&format!("getelementptr i8, ptr {changed}, i32 %row"));
        self.text.line(&format!("store i8 1, ptr {place}"));
    }

    /// Where the local memory of the row's first thread is, and how far from there each lane's.
    fn local_memory(&mut self) -> (String, String) {
        let row = self.constant_field(context::LOCAL, "ptr");
        let row = self.text.value(&format!("getelementptr ptr, ptr {row}, i32 %row"));
        let row = self.text.value(&format!("load ptr, ptr {row}, !invariant.load !1"));
        let size = self.constant_field(context::LOCAL_BYTES, "i64");
        let size = self.text.value(&format!("trunc i64 {size} to i32"));
        let size = self.text.splat(&size, "i32");
        let (word, lanes) = (self.text.int(32, Kind::Vector), self.text.list(32, |l| l));
        let firsts = self.text.value(&format!("mul {word} {size}, {lanes}"));
        (row, firsts)
    }
}
