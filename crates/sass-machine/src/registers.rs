//! What a warp holds: planes of 32 lanes, uniform registers, predicates as masks, barriers of convergence.

use crate::fault::FaultKind;
use crate::lanes::spread;
use crate::operand::{Half, Operand, Sign};
use crate::step::{Input, Kind, Place, Source};
use sass::effects::Register;

/// Lanes of a warp.
pub const LANES: usize = 32;
/// A register of a warp: a word in each lane.
pub(crate) type Plane = [u32; LANES];
/// A register where vectors of the host do not lie across lines of its caches.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Row(Plane);
/// The numbers of RZ, URZ, and of PT and UPT.
pub(crate) const RZ: u8 = 255;
pub(crate) const URZ: u8 = 63;
pub(crate) const PT: u8 = 7;

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
        let mut value = [0; 8];
        let missing = || FaultKind::Address { space: "constant", address: at, bytes: u32::from(bytes) };
        let start = usize::try_from(at).map_err(|_| missing())?;
        let found = self.bank(bank).get(start..).and_then(|rest| rest.get(..usize::from(bytes)));
        value[..usize::from(bytes)].copy_from_slice(found.ok_or_else(missing)?);
        Ok(u64::from_le_bytes(value))
    }

    /// A word of a bank.
    fn word(&self, bank: u8, at: u64) -> Result<u32, FaultKind> {
        let rest = usize::try_from(at).ok().and_then(|at| self.bank(bank).get(at..));
        let word = rest.and_then(<[u8]>::first_chunk);
        let missing = FaultKind::Address { space: "constant", address: at, bytes: 4 };
        word.map(|word| u32::from_le_bytes(*word)).ok_or(missing)
    }

    fn bank(&self, bank: u8) -> &[u8] {
        match bank {
            0 => &self.launch,
            3 => &self.module,
            _ => &[],
        }
    }
}

/// Registers and predicates of a warp.
pub(crate) struct Registers {
    /// As many as the code names, and RZ behind them.
    general: Box<[Row]>,
    /// The last one is URZ.
    uniform: [u32; 64],
    /// A bit for each lane; the last one is PT.
    predicates: [u32; 8],
    /// A bit for each, of which the last is UPT.
    uniform_predicates: u8,
}

/// What a register held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Plane(Box<Plane>),
    Uniform(u32),
    Mask(u32),
    Truth(bool),
}

/// The lanes in which something holds.
fn mask(holds: impl Fn(usize) -> bool) -> u32 {
    (0..LANES).fold(0, |mask, lane| mask | u32::from(holds(lane)) << lane)
}

/// The lanes of a mask.
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| mask >> lane & 1 == 1)
}

/// All lanes with one word.
fn splat(word: u32) -> Plane {
    [word; LANES]
}

impl Registers {
    /// So many registers; those behind them read as zero.
    pub(crate) fn new(count: usize) -> Self {
        Self {
            general: vec![Row([0; LANES]); count.min(usize::from(RZ)) + 1].into_boxed_slice(),
            uniform: [0; 64],
            predicates: [0, 0, 0, 0, 0, 0, 0, u32::MAX],
            uniform_predicates: 1 << PT,
        }
    }

    /// The lanes in which a predicate is true.
    pub(crate) fn predicate(&self, number: u8) -> u32 {
        self.predicates[usize::from(number & 7)]
    }

    pub(crate) fn uniform_predicate(&self, number: u8) -> bool {
        self.uniform_predicates >> (number & 7) & 1 == 1
    }

    /// A register in all lanes.
    #[inline(always)]
    pub(crate) fn plane(&self, number: u8) -> &Plane {
        &self.general[usize::from(number).min(self.general.len() - 1)].0
    }

    pub(crate) fn uniform(&self, number: u8) -> u32 {
        self.uniform[usize::from(number & URZ)]
    }

    /// Two uniform registers from this one on.
    pub(crate) fn uniform_pair(&self, number: u8) -> u64 {
        let next = if number == URZ { URZ } else { number + 1 };
        u64::from(self.uniform(number)) | u64::from(self.uniform(next)) << 32
    }

    /// A register, or a pair from there on.
    pub(crate) fn general(&self, number: u8, wide: bool, lane: usize) -> u64 {
        let low = u64::from(self.plane(number)[lane]);
        if wide { low | u64::from(self.plane(number.saturating_add(1))[lane]) << 32 } else { low }
    }

    /// Where a lane's constant stands in its bank.
    pub(crate) fn place_in_bank(&self, register: u8, uniform: u8, offset: i64, lane: usize) -> u64 {
        let index = self.general(register, false, lane) + u64::from(self.uniform(uniform));
        index.wrapping_add_signed(offset)
    }

    /// The lanes in which a source that is a predicate holds.
    #[inline(always)]
    pub(crate) fn flags(&self, source: &Source) -> u32 {
        match source.operand {
            Operand::Predicate { number, negated } => {
                self.predicate(number) ^ if negated { u32::MAX } else { 0 }
            }
            Operand::UniformPredicate { number, negated } => {
                if self.uniform_predicate(number) == negated {
                    0
                } else {
                    u32::MAX
                }
            }
            // `.SIGN`: whether a register is negative.
            Operand::Register { number, .. } => {
                let words = self.plane(number);
                mask(|lane| words[lane] >> 31 == 1)
            }
            _ => 0,
        }
    }

    /// A source of 32 bits in all lanes, most of which stand somewhere as they are.
    #[inline(always)]
    pub(crate) fn input<'a>(
        &'a self,
        input: &'a Input,
        banks: &Banks,
        active: u32,
        scratch: &'a mut Plane,
    ) -> Result<&'a Plane, FaultKind> {
        match input {
            Input::Register(number) => Ok(self.plane(*number)),
            Input::Same(words) => Ok(words),
            Input::Other(source) => self.word(source, banks, active, scratch),
        }
    }

    /// A source of 32 bits in all lanes: the register itself, or what was put into the scratch plane.
    pub(crate) fn word<'a>(
        &'a self,
        source: &Source,
        banks: &Banks,
        active: u32,
        scratch: &'a mut Plane,
    ) -> Result<&'a Plane, FaultKind> {
        let (sign, half) = match source.operand {
            Operand::Register { number, sign, half } => {
                if sign == Sign::default() && half == Half::Both {
                    return Ok(self.plane(number));
                }
                *scratch = *self.plane(number);
                (sign, half)
            }
            Operand::Uniform { number, sign, half } => {
                *scratch = splat(self.uniform(number));
                (sign, half)
            }
            Operand::Immediate(value) => {
                *scratch = splat(value);
                return Ok(scratch);
            }
            Operand::Constant { bank, register: RZ, uniform: URZ, offset, sign, half } => {
                *scratch = splat(banks.word(bank, offset as u64)?);
                (sign, half)
            }
            Operand::Constant { bank, register, uniform, offset, sign, half } => {
                for lane in lanes(active) {
                    let at = self.place_in_bank(register, uniform, offset, lane);
                    scratch[lane] = banks.word(bank, at)?;
                }
                (sign, half)
            }
            Operand::Predicate { .. } | Operand::UniformPredicate { .. } => {
                let mask = self.flags(source);
                for lane in 0..LANES {
                    scratch[lane] = spread(mask, lane) & 1;
                }
                return Ok(scratch);
            }
            Operand::Address { .. }
            | Operand::Special(_)
            | Operand::Convergence(_)
            | Operand::Descriptors { .. }
            | Operand::Shape(_)
            | Operand::Other => {
                *scratch = splat(0);
                return Ok(scratch);
            }
        };
        if half != Half::Both {
            scratch.iter_mut().for_each(|word| *word = chosen(*word, half));
        }
        if sign != Sign::default() {
            scratch.iter_mut().for_each(|word| *word = signed(u64::from(*word), source.kind, sign) as u32);
        }
        Ok(scratch)
    }

    /// A source's values in the active lanes, up to 64 bits each.
    pub(crate) fn values(
        &self,
        source: &Source,
        banks: &Banks,
        active: u32,
        values: &mut [u64; LANES],
    ) -> Result<(), FaultKind> {
        match (source.operand, source.kind) {
            (Operand::Register { number, sign, half: Half::Both }, Kind::Wide | Kind::Double) => {
                let (low, high) = (self.plane(number), self.plane(number.saturating_add(1)));
                for lane in 0..LANES {
                    values[lane] = u64::from(low[lane]) | u64::from(high[lane]) << 32;
                }
                if sign != Sign::default() {
                    values.iter_mut().for_each(|value| *value = signed(*value, source.kind, sign));
                }
            }
            // A uniform instruction has its result from the first lane, whether that is active or not.
            (Operand::Uniform { .. } | Operand::Immediate(_), Kind::Wide | Kind::Double) => {
                *values = [self.read(source, banks, 0)?; LANES];
            }
            (_, Kind::Wide | Kind::Double) => {
                for lane in lanes(active) {
                    values[lane] = self.read(source, banks, lane)?;
                }
            }
            (_, Kind::Flag) => {
                let mask = self.flags(source);
                (0..LANES).for_each(|lane| values[lane] = u64::from(spread(mask, lane) & 1));
            }
            (_, Kind::Word | Kind::Single | Kind::Packed) => {
                let mut scratch = [0; LANES];
                let words = self.word(source, banks, active, &mut scratch)?;
                (0..LANES).for_each(|lane| values[lane] = u64::from(words[lane]));
            }
        }
        Ok(())
    }

    /// A source's value in a lane, up to 64 bits.
    pub(crate) fn read(&self, source: &Source, banks: &Banks, lane: usize) -> Result<u64, FaultKind> {
        let wide = matches!(source.kind, Kind::Wide | Kind::Double);
        let (value, sign, half) = match source.operand {
            Operand::Register { number, sign, half } if source.kind != Kind::Flag => {
                (self.general(number, wide, lane), sign, half)
            }
            Operand::Uniform { number, sign, half } => {
                let pair = self.uniform_pair(number);
                (if wide { pair } else { pair & u64::from(u32::MAX) }, sign, half)
            }
            Operand::Predicate { .. } | Operand::UniformPredicate { .. } | Operand::Register { .. } => {
                return Ok(u64::from(self.flags(source) >> lane & 1));
            }
            // The word of a double that an instruction has room for is its high one.
            Operand::Immediate(value) if source.kind == Kind::Double => return Ok(u64::from(value) << 32),
            Operand::Immediate(value) => return Ok(u64::from(value)),
            Operand::Constant { bank, register, uniform, offset, sign, half } => {
                let at = self.place_in_bank(register, uniform, offset, lane);
                (banks.read(bank, at, if wide { 8 } else { 4 })?, sign, half)
            }
            Operand::Address { .. }
            | Operand::Special(_)
            | Operand::Convergence(_)
            | Operand::Descriptors { .. }
            | Operand::Shape(_)
            | Operand::Other => {
                return Ok(0);
            }
        };
        let value = if half == Half::Both { value } else { u64::from(chosen(value as u32, half)) };
        Ok(signed(value, source.kind, sign))
    }

    /// Writes a result in a lane; to a uniform register the last lane's stays.
    pub(crate) fn write(&mut self, place: Place, value: u64, lane: usize) {
        match place {
            Place::Registers(number, count) => {
                for word in 0..count.min(2) {
                    self.set_word(number.saturating_add(word), lane, (value >> (32 * word)) as u32);
                }
            }
            Place::Uniform(number, count) => {
                for word in 0..count.min(2) {
                    self.set_uniform(number.saturating_add(word), (value >> (32 * word)) as u32);
                }
            }
            Place::Predicate(number) => {
                self.set_flags(place, 1 << lane, ((value as u32) & 1) << lane, number)
            }
            Place::UniformPredicate(number) => self.set_flags(place, 1, value as u32 & 1, number),
        }
    }

    #[inline(always)]
    fn set_flags(&mut self, place: Place, active: u32, mask: u32, number: u8) {
        if number >= PT {
            return;
        }
        if let Place::UniformPredicate(_) = place {
            let bit = 1 << number;
            self.uniform_predicates = self.uniform_predicates & !bit | if mask & 1 == 1 { bit } else { 0 };
        } else {
            let lanes = &mut self.predicates[usize::from(number)];
            *lanes = *lanes & !active | mask & active;
        }
    }

    /// Writes truths of lanes to a predicate; the first lane's to a uniform one.
    #[inline(always)]
    pub(crate) fn set_mask(&mut self, place: Place, active: u32, mask: u32) {
        if let Place::Predicate(number) | Place::UniformPredicate(number) = place {
            self.set_flags(place, active, mask, number);
        }
    }

    /// A register that can be written: all but RZ.
    #[inline(always)]
    fn writable(&mut self, number: u8) -> Option<&mut Plane> {
        let (_, registers) = self.general.split_last_mut()?;
        registers.get_mut(usize::from(number)).map(|row| &mut row.0)
    }

    pub(crate) fn set_word(&mut self, number: u8, lane: usize, value: u32) {
        if let Some(register) = self.writable(number) {
            register[lane] = value;
        }
    }

    pub(crate) fn set_uniform(&mut self, number: u8, value: u32) {
        if number < URZ {
            self.uniform[usize::from(number)] = value;
        }
    }

    /// Writes the words of active lanes.
    #[inline(always)]
    pub(crate) fn set_plane(&mut self, place: Place, active: u32, words: &Plane) {
        match place {
            Place::Registers(number, _) => {
                let Some(register) = self.writable(number) else { return };
                if active == u32::MAX {
                    *register = *words;
                    return;
                }
                for lane in 0..LANES {
                    let taken = spread(active, lane);
                    register[lane] = register[lane] & !taken | words[lane] & taken;
                }
            }
            Place::Uniform(number, _) => self.set_uniform(number, words[0]),
            Place::Predicate(_) | Place::UniformPredicate(_) => {}
        }
    }

    /// Writes values of active lanes, up to 64 bits each.
    pub(crate) fn set_values(&mut self, place: Place, active: u32, values: &[u64; LANES]) {
        match place {
            Place::Registers(number, count) => {
                for word in 0..count.min(2) {
                    let Some(register) = self.writable(number.saturating_add(word)) else { return };
                    for lane in 0..LANES {
                        let taken = spread(active, lane);
                        register[lane] =
                            register[lane] & !taken | (values[lane] >> (32 * word)) as u32 & taken;
                    }
                }
            }
            Place::Uniform(number, count) => {
                for word in 0..count.min(2) {
                    self.set_uniform(number.saturating_add(word), (values[0] >> (32 * word)) as u32);
                }
            }
            Place::Predicate(number) | Place::UniformPredicate(number) if number >= PT => {}
            Place::Predicate(_) | Place::UniformPredicate(_) => {
                self.set_mask(place, active, mask(|lane| values[lane] & 1 == 1));
            }
        }
    }

    /// What a register holds.
    pub(crate) fn get(&self, register: Register) -> Value {
        match register {
            Register::Vector(number) => Value::Plane(Box::new(*self.plane(number))),
            Register::Uniform(number) => Value::Uniform(self.uniform(number)),
            Register::Predicate(number) => Value::Mask(self.predicate(number)),
            Register::UniformPredicate(number) => Value::Truth(self.uniform_predicate(number)),
        }
    }

    /// Puts back what a register held, in these lanes.
    pub(crate) fn put(&mut self, register: Register, value: &Value, lanes: u32) {
        match (register, value) {
            (Register::Vector(number), Value::Plane(words)) => {
                self.set_plane(Place::Registers(number, 1), lanes, words);
            }
            (Register::Uniform(number), Value::Uniform(word)) => self.set_uniform(number, *word),
            (Register::Predicate(number), Value::Mask(mask)) => {
                self.set_mask(Place::Predicate(number), lanes, *mask);
            }
            (Register::UniformPredicate(number), Value::Truth(truth)) => {
                self.set_mask(Place::UniformPredicate(number), 1, u32::from(*truth));
            }
            _ => {}
        }
    }
}

/// The part of a word that an operand names.
fn chosen(word: u32, half: Half) -> u32 {
    match half {
        Half::Both => word,
        Half::Low => word & 0xffff | word << 16,
        Half::High => word >> 16 | word & 0xffff_0000,
        Half::Upper => word >> 16,
        Half::Byte(number) => word >> (8 * number) & 0xff,
    }
}

/// A value with what stands in front of it.
fn signed(value: u64, kind: Kind, sign: Sign) -> u64 {
    let bit = match kind {
        Kind::Single => 1 << 31,
        Kind::Double => 1 << 63,
        Kind::Packed => 0x8000_8000,
        Kind::Word | Kind::Wide | Kind::Flag => 0,
    };
    // A NaN of double precision keeps its sign.
    if kind == Kind::Double && f64::from_bits(value).is_nan() {
        return value;
    }
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
        (true, Kind::Wide) => value.wrapping_neg(),
        (true, _) => value.wrapping_neg() & low,
    }
}
