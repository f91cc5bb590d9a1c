//! What a warp holds, and the memories that it reaches.

use crate::fault::FaultKind;
use crate::operand::{Operand, Sign};
use crate::step::{Address, Kind, Place, Source, Space};
use machine::memory::{Buffers, LOCAL_WINDOW, SHARED_WINDOW, WINDOW_SIZE};

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;
/// Bytes of local memory that a thread may have; the stack begins at its end.
pub(crate) const LOCAL: u64 = 512 << 10;

/// The two constant banks that kernels read.
pub(crate) struct Banks {
    /// Dimensions, windows, parameters.
    pub(crate) launch: Vec<u8>,
    /// The module's constants.
    pub(crate) module: Vec<u8>,
}

impl Banks {
    /// Bytes of a bank, as a number.
    pub(crate) fn read(&self, bank: u8, at: u64, bytes: u8) -> Result<u64, FaultKind> {
        let memory = match bank {
            0 => &self.launch,
            3 => &self.module,
            _ => &Vec::new(),
        };
        let mut value = [0; 8];
        let missing = || FaultKind::Address { space: "constant", address: at, bytes: u32::from(bytes) };
        let start = usize::try_from(at).map_err(|_| missing())?;
        let found = memory.get(start..).and_then(|rest| rest.get(..usize::from(bytes)));
        value[..usize::from(bytes)].copy_from_slice(found.ok_or_else(missing)?);
        Ok(u64::from_le_bytes(value))
    }
}

/// Registers, predicates and local memory of a warp's lanes.
pub(crate) struct Registers {
    general: Vec<[u32; LANES]>,
    uniform: [u32; 63],
    /// A bit for each lane.
    predicates: [u32; 7],
    /// From the end of local memory backwards: byte `LOCAL - 1` first.
    local: Vec<Vec<u8>>,
}

impl Registers {
    pub(crate) fn new() -> Self {
        Self {
            general: vec![[0; LANES]; 255],
            uniform: [0; 63],
            predicates: [0; 7],
            local: vec![Vec::new(); LANES],
        }
    }

    /// The lanes in which a predicate is true.
    pub(crate) fn predicate(&self, number: Option<u8>) -> u32 {
        number.map_or(u32::MAX, |number| self.predicates[usize::from(number)])
    }

    fn word(&self, number: Option<u8>, lane: usize) -> u32 {
        number.and_then(|number| self.general.get(usize::from(number))).map_or(0, |register| register[lane])
    }

    fn uniform(&self, number: Option<u8>) -> u32 {
        number.and_then(|number| self.uniform.get(usize::from(number))).map_or(0, |&word| word)
    }

    /// A register, or a pair from there on.
    pub(crate) fn general(&self, number: Option<u8>, wide: bool, lane: usize) -> u64 {
        let low = u64::from(self.word(number, lane));
        let next = number.and_then(|number| number.checked_add(1));
        if wide { low | u64::from(self.word(next, lane)) << 32 } else { low }
    }

    /// A source's value in a lane.
    pub(crate) fn read(&self, source: &Source, banks: &Banks, lane: usize) -> Result<u64, FaultKind> {
        let wide = matches!(source.kind, Kind::Wide | Kind::Double);
        let (value, sign) = match source.operand {
            Operand::Register { number, sign } => (self.general(number, wide, lane), sign),
            Operand::Uniform { number, sign } => {
                let next = number.and_then(|number| number.checked_add(1));
                let high = if wide { u64::from(self.uniform(next)) << 32 } else { 0 };
                (u64::from(self.uniform(number)) | high, sign)
            }
            Operand::Predicate { number, negated } => {
                return Ok(u64::from(self.predicate(number) >> lane & 1 == u32::from(!negated)));
            }
            // The word of a double that an instruction has room for is its high one.
            Operand::Immediate(value) if source.kind == Kind::Double => {
                (u64::from(value) << 32, Sign::default())
            }
            Operand::Immediate(value) => (u64::from(value), Sign::default()),
            Operand::Constant { bank, register, offset, sign } => {
                let at = self.general(register, false, lane).wrapping_add_signed(offset);
                (banks.read(bank, at, if wide { 8 } else { 4 })?, sign)
            }
            Operand::Address { .. } | Operand::Special(_) => (0, Sign::default()),
        };
        Ok(signed(value, source.kind, sign))
    }

    /// Writes a result in a lane.
    pub(crate) fn write(&mut self, place: Place, value: u64, lane: usize) {
        match place {
            Place::Registers(Some(number), count) => {
                for word in 0..count.min(2) {
                    self.set_word(number.checked_add(word), lane, (value >> (32 * word)) as u32);
                }
            }
            Place::Uniform(Some(number), count) => {
                for word in 0..count.min(2) {
                    let register = self.uniform.get_mut(usize::from(number + word));
                    register.into_iter().for_each(|it| *it = (value >> (32 * word)) as u32);
                }
            }
            Place::Predicate(Some(number)) => {
                let lanes = &mut self.predicates[usize::from(number)];
                *lanes = *lanes & !(1 << lane) | (value as u32 & 1) << lane;
            }
            Place::Registers(None, _) | Place::Uniform(None, _) | Place::Predicate(None) => {}
        }
    }

    pub(crate) fn set_word(&mut self, number: Option<u8>, lane: usize, value: u32) {
        let register = number.and_then(|number| self.general.get_mut(usize::from(number)));
        register.into_iter().for_each(|it| it[lane] = value);
    }

    /// Where an access of a lane goes.
    pub(crate) fn address(&self, address: &Address, lane: usize) -> u64 {
        let base = self.general(address.register, address.wide, lane);
        let sum = base.wrapping_add(u64::from(self.uniform(address.uniform)));
        let sum = sum.wrapping_add_signed(address.offset);
        if address.wide { sum } else { sum & u64::from(u32::MAX) }
    }
}

/// A value with what stands in front of it.
fn signed(value: u64, kind: Kind, sign: Sign) -> u64 {
    let bit = match kind {
        Kind::Single => 1 << 31,
        Kind::Double => 1 << 63,
        _ => 0,
    };
    if bit != 0 {
        let value = if sign.absolute { value & !bit } else { value };
        return if sign.negated { value ^ bit } else { value };
    }
    let low = u64::from(u32::MAX);
    let value = match (sign.inverted, kind) {
        (false, _) => value,
        (true, Kind::Wide) => !value,
        (true, _) => !value & low,
    };
    match (sign.negated, kind) {
        (false, _) => value,
        (true, Kind::Term) => (!value & low) + 1,
        (true, Kind::Wide) => value.wrapping_neg(),
        (true, _) => value.wrapping_neg() & low,
    }
}

/// The memories of a warp: the device's, the CTA's, and its lanes'.
pub(crate) struct Reach<'a> {
    pub(crate) global: &'a dyn Buffers,
    pub(crate) shared: &'a mut [u8],
}

/// A place in one of them.
enum Spot {
    Global(u64),
    Shared(u64),
    Local(u64),
}

fn spot(space: Space, address: u64) -> Spot {
    let within = |window: u64| (window..window + WINDOW_SIZE).contains(&address);
    match space {
        Space::Shared => Spot::Shared(address),
        Space::Local => Spot::Local(address),
        Space::Generic if within(SHARED_WINDOW) => Spot::Shared(address - SHARED_WINDOW),
        Space::Generic if within(LOCAL_WINDOW) => Spot::Local(address - LOCAL_WINDOW),
        Space::Generic | Space::Global => Spot::Global(address),
    }
}

fn outside(space: &'static str, address: u64, bytes: usize) -> FaultKind {
    FaultKind::Address { space, address, bytes: bytes as u32 }
}

fn aligned(address: u64, bytes: usize) -> Result<(), FaultKind> {
    if address.is_multiple_of(bytes as u64) {
        return Ok(());
    }
    Err(FaultKind::Misaligned { address, bytes: bytes as u32 })
}

impl Registers {
    /// Reads memory for a lane.
    pub(crate) fn load(
        &self,
        reach: &Reach<'_>,
        space: Space,
        address: u64,
        lane: usize,
        into: &mut [u8],
    ) -> Result<(), FaultKind> {
        aligned(address, into.len())?;
        match spot(space, address) {
            Spot::Global(at) => reach.global.read(at, into).map_err(|_| outside("global", at, into.len())),
            Spot::Shared(at) => {
                let from = usize::try_from(at).ok().and_then(|at| reach.shared.get(at..)?.get(..into.len()));
                into.copy_from_slice(from.ok_or_else(|| outside("shared", at, into.len()))?);
                Ok(())
            }
            Spot::Local(at) => {
                let end = LOCAL.checked_sub(at).ok_or_else(|| outside("local", at, into.len()))?;
                if end < into.len() as u64 {
                    return Err(outside("local", at, into.len()));
                }
                for (byte, place) in into.iter_mut().zip((0..end as usize).rev()) {
                    *byte = self.local[lane].get(place).copied().unwrap_or(0);
                }
                Ok(())
            }
        }
    }

    /// Writes memory for a lane.
    pub(crate) fn store(
        &mut self,
        reach: &mut Reach<'_>,
        space: Space,
        address: u64,
        lane: usize,
        from: &[u8],
    ) -> Result<(), FaultKind> {
        aligned(address, from.len())?;
        match spot(space, address) {
            Spot::Global(at) => reach.global.write(at, from).map_err(|_| outside("global", at, from.len())),
            Spot::Shared(at) => {
                let start = usize::try_from(at).ok();
                let into = start.and_then(|at| reach.shared.get_mut(at..)?.get_mut(..from.len()));
                into.ok_or_else(|| outside("shared", at, from.len()))?.copy_from_slice(from);
                Ok(())
            }
            Spot::Local(at) => {
                let end = LOCAL.checked_sub(at).ok_or_else(|| outside("local", at, from.len()))?;
                if end < from.len() as u64 {
                    return Err(outside("local", at, from.len()));
                }
                let memory = &mut self.local[lane];
                if memory.len() < end as usize {
                    memory.resize(end as usize, 0);
                }
                for (byte, place) in from.iter().zip((0..end as usize).rev()) {
                    memory[place] = *byte;
                }
                Ok(())
            }
        }
    }
}
