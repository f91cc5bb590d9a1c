//! The frame of a function: which plane, scalar or predicate each register lives in, and what instructions need besides.

use super::layout::{Layout, is_entry};
use crate::image::places::{Home, Places};
use crate::image::{Code, OWN_SCALARS, ZERO};
use crate::lanes::{FileSizes, PlaneId, PredicateId, ScalarId};
use ir::{BlockId, Cfg, Interval, Liveness, allocate_slots};
use ptx::module::{Param, RegId};
use ptx::types::ScalarType;
use std::collections::HashMap;

/// Predicates of a frame besides the registers: one that nobody reads, the carry bit, the constants false and true, a
/// scalar as a predicate.
const OWN_PREDICATES: u32 = 5;

/// The least that a call takes of the stack, so that endless recursion ends.
const CALL_FRAME: u32 = 16;

/// The intervals of registers that keep their values from where they are first written to the end of the function.
fn kept(function: &ir::Function<'_>, mut intervals: Vec<Option<Interval>>) -> Vec<Option<Interval>> {
    let last = function.body.instructions.len().saturating_sub(1) as u32;
    for index in 0..=last {
        function.registers(index, &mut |register, _| {
            let interval = intervals[register.index()].get_or_insert(Interval { start: index, end: last });
            interval.end = last;
        });
    }
    intervals
}

/// Register classes for slot allocation.
const CLASSES: usize = 5;

fn class(ty: ScalarType) -> usize {
    match ty.bits() {
        1 => 3,
        8 | 16 => 0,
        32 => 1,
        64 => 2,
        _ => 4,
    }
}

/// Planes for one instruction's temporaries, counted by width.
#[derive(Clone, Copy, Debug, Default)]
struct Temporaries {
    h: u32,
    w: u32,
    d: u32,
}

/// The scalars of a frame.
struct Scalars {
    /// What each starts as: constants keep it, the others are computed.
    start: Vec<u64>,
    constant_of: HashMap<u64, ScalarId>,
    /// Those that start as addresses of shared memory, by offset in the CTA's.
    shared_of: HashMap<u64, ScalarId>,
}

impl Default for Scalars {
    fn default() -> Self {
        Self {
            start: vec![0; OWN_SCALARS],
            constant_of: HashMap::from([(0, ZERO)]),
            shared_of: HashMap::new(),
        }
    }
}

/// See the module.
pub(crate) struct Frame {
    warps: u32,
    homes: Vec<Home>,
    /// The instructions at which each register is alive.
    alive: Vec<Option<Interval>>,
    /// Planes of registers that are live where the function begins.
    exposed: Vec<PlaneId>,
    scalars: Scalars,
    /// First plane of each width behind the registers, and how many predicates there are.
    registers: FileSizes,
    temporaries: Temporaries,
    most_temporaries: Temporaries,
}

impl Frame {
    /// A frame in which registers that are `scalar` are so, and nobody reads the others: to ask decoders what they can do.
    pub(super) fn draft(warps: usize, scalar: &[bool]) -> Self {
        Self {
            warps: warps as u32,
            homes: scalar.iter().map(|&is| if is { Home::Scalar(ZERO) } else { Home::Unused }).collect(),
            alive: Vec::new(),
            exposed: Vec::new(),
            scalars: Scalars::default(),
            registers: FileSizes { p: OWN_PREDICATES, ..FileSizes::default() },
            temporaries: Temporaries::default(),
            most_temporaries: Temporaries::default(),
        }
    }

    /// Gives every register its home: scalars where they can be, slots of planes for the rest.
    pub(super) fn new(
        warps: usize,
        function: &ir::Function<'_>,
        cfg: &Cfg,
        scalar: &[bool],
        keeps: bool,
    ) -> Self {
        let mut frame = Self::draft(warps, &[]);
        let liveness = Liveness::new(function, cfg);
        let intervals = match keeps {
            false => liveness.intervals(),
            true => kept(function, liveness.intervals()),
        };
        let body = function.body;
        let class_of = |r: RegId| (!scalar[r.index()]).then(|| class(body.registers[r.index()].ty));
        let slots = allocate_slots(body, &intervals, class_of, CLASSES);
        let warps = frame.warps;
        let counts = &slots.counts;
        for (index, register) in body.registers.iter().enumerate() {
            let home = match slots.slot[index] {
                _ if scalar[index] => Home::Scalar(frame.new_scalar()),
                None => Home::Unused,
                Some(slot) => match class(register.ty) {
                    0 => Home::Plane(PlaneId::new(16, slot * warps)),
                    1 => Home::Plane(PlaneId::new(32, slot * warps)),
                    2 => Home::Plane(PlaneId::new(64, slot * warps)),
                    3 => Home::Predicate(PredicateId::new(slot * warps)),
                    _ => {
                        let low = counts[2] + 2 * slot;
                        Home::Pair([low, low + 1].map(|slot| PlaneId::new(64, slot * warps)))
                    }
                },
            };
            frame.homes.push(home);
        }
        frame.registers = FileSizes {
            h: counts[0],
            w: counts[1],
            d: counts[2] + 2 * counts[4],
            p: counts[3] + OWN_PREDICATES,
        };
        frame.alive = intervals;
        let live_in = cfg.blocks.first().map(|_| liveness.live_in(BlockId(0)));
        let all = (0..body.registers.len() as u32).map(RegId).filter(|_| keeps);
        for register in live_in.into_iter().flatten().chain(all) {
            match frame.homes[register.index()] {
                Home::Plane(plane) => frame.exposed.push(plane),
                Home::Pair(pair) => frame.exposed.extend(pair),
                Home::Scalar(_) | Home::Predicate(_) | Home::Unused => {}
            }
        }
        frame
    }

    /// Where a register lives.
    pub(crate) fn home(&self, register: RegId) -> Home {
        self.homes[register.index()]
    }

    /// The next instruction begins: temporaries are free.
    pub(super) fn begin_instruction(&mut self) {
        self.temporaries = Temporaries::default();
    }

    /// A new scalar.
    pub(crate) fn new_scalar(&mut self) -> ScalarId {
        self.scalars.start.push(0);
        ScalarId::new(self.scalars.start.len() as u32 - 1)
    }

    fn scalar_from(&mut self, start: u64) -> ScalarId {
        let scalar = self.new_scalar();
        self.scalars.start[scalar.index()] = start;
        scalar
    }

    /// The scalar that holds a constant.
    pub(crate) fn constant(&mut self, value: u64) -> ScalarId {
        if let Some(&scalar) = self.scalars.constant_of.get(&value) {
            return scalar;
        }
        let scalar = self.scalar_from(value);
        self.scalars.constant_of.insert(value, scalar);
        scalar
    }

    /// The scalar that holds the address of a byte of the CTA's shared memory.
    pub(crate) fn shared_address(&mut self, offset: u64) -> ScalarId {
        if let Some(&scalar) = self.scalars.shared_of.get(&offset) {
            return scalar;
        }
        let scalar = self.scalar_from(offset);
        self.scalars.shared_of.insert(offset, scalar);
        scalar
    }

    /// A plane of `bits` that lives for this instruction.
    pub(crate) fn temporary(&mut self, bits: u32) -> PlaneId {
        let (count, most, base) = match bits {
            16 => (&mut self.temporaries.h, &mut self.most_temporaries.h, self.registers.h),
            32 => (&mut self.temporaries.w, &mut self.most_temporaries.w, self.registers.w),
            _ => (&mut self.temporaries.d, &mut self.most_temporaries.d, self.registers.d),
        };
        let index = (base + *count) * self.warps;
        *count += 1;
        *most = (*most).max(*count);
        PlaneId::new(bits, index)
    }

    fn own_predicate(&self, which: u32) -> PredicateId {
        PredicateId::new((self.registers.p - OWN_PREDICATES + which) * self.warps)
    }

    /// The predicate for results that nobody reads.
    pub(crate) fn scratch_predicate(&self) -> PredicateId {
        self.own_predicate(0)
    }

    /// The carry bit `CC.CF`.
    pub(crate) fn carry(&self) -> PredicateId {
        self.own_predicate(1)
    }

    /// The predicate for a constant, which is set where it is needed.
    pub(crate) fn constant_predicate(&self, value: bool) -> PredicateId {
        self.own_predicate(2 + u32::from(value))
    }

    /// The predicate for a scalar, which is set where it is needed.
    pub(crate) fn predicate_of_scalar(&self) -> PredicateId {
        self.own_predicate(4)
    }

    /// The function with its frame, when all of it is decoded.
    pub(super) fn finish(
        self,
        function: &ir::Function<'_>,
        layout: &Layout,
        entry: u32,
        blocks: Vec<u32>,
    ) -> Code {
        let ir::Function { module, id, declaration, .. } = *function;
        let is_entry = is_entry(module, id);
        let formals = |params: &[Param]| match is_entry {
            true => Vec::new(),
            false => params.iter().flat_map(|p| self.formal(module, function, layout, p)).collect(),
        };
        let constants = self.scalars.constant_of.iter().map(|(&value, &scalar)| (scalar, value));
        Code {
            entry,
            blocks,
            sizes: FileSizes {
                h: self.registers.h + self.most_temporaries.h,
                w: self.registers.w + self.most_temporaries.w,
                d: self.registers.d + self.most_temporaries.d,
                p: self.registers.p,
            },
            params: formals(&declaration.params),
            variadic: matches!(declaration.params.last(), Some(Param::Memory(id))
                if module.variables[id.index()].unsized_array),
            returns: formals(&declaration.returns),
            places: Places::new(&self.homes, &self.alive, constants),
            exposed: self.exposed,
            scalars: self.scalars.start,
            shared_addresses: self.scalars.shared_of.into_values().collect(),
            frame: layout.frame(id).max(if is_entry { 0 } else { CALL_FRAME }),
        }
    }
}
