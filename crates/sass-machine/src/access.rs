//! Accesses to memory, lane by lane.

use crate::fault::FaultKind;
use crate::memory::{self, Local, Reach};
use crate::registers::{Banks, LANES, RZ, Registers};
use crate::step::{Access, Address, Place};
use crate::touched::{Memory, Touched, Way};

/// Where an access of a lane goes.
fn address(registers: &Registers, address: &Address, lane: usize) -> u64 {
    let base = registers.general(address.register, address.wide, lane);
    let shared = if address.pair {
        registers.uniform_pair(address.uniform)
    } else {
        u64::from(registers.uniform(address.uniform))
    };
    let sum = base.wrapping_add(shared).wrapping_add_signed(address.offset);
    if address.wide || address.pair { sum } else { sum & u64::from(u32::MAX) }
}

/// A register so far behind another; RZ behind RZ.
fn nth(first: u8, by: u8) -> u8 {
    if first == RZ { RZ } else { first.saturating_add(by) }
}

/// Which lane has an element of a matrix of halves, and at which byte of its register: neighbours in a row; if the matrix is
/// transposed, in a column.
fn owner(row: usize, column: usize, transposed: bool) -> (usize, usize) {
    let (row, column) = if transposed { (column, row) } else { (row, column) };
    (row * 4 + column / 2, column % 2 * 2)
}

/// A matrix of halves in a register, transposed.
pub(crate) fn transposed(words: &[u32; LANES]) -> [u32; LANES] {
    let mut result = [0; LANES];
    for (row, column) in (0..8).flat_map(|row| (0..8).map(move |column| (row, column))) {
        let ((from, at), (to, into)) = (owner(row, column, false), owner(row, column, true));
        result[to] |= (words[from] >> (8 * at) & 0xffff) << (8 * into);
    }
    result
}

/// Says which memory the active lanes of an access touch, and where.
pub(crate) fn touches(registers: &Registers, access: &Access, active: u32, touched: &mut Touched) {
    // Eight lanes have the addresses of a matrix's rows, whichever lanes take part.
    let rows = |count: u8| u32::MAX >> (32 - 8 * u32::from(count.clamp(1, 4)));
    let (way, at, bytes, lanes) = match access {
        Access::Load { address, bytes, .. } => (Way::Load, address, *bytes, active),
        Access::Store { address, bytes, .. } => (Way::Store, address, *bytes, active),
        Access::Atomic { to, address, bytes, .. } => {
            (if *to == RZ { Way::Reduction } else { Way::Atomic }, address, *bytes, active)
        }
        Access::Exchange { address, bytes, .. } => (Way::Atomic, address, *bytes, active),
        Access::Matrices { store, count, address, .. } if active != 0 => {
            (if *store { Way::Store } else { Way::Load }, address, 16, rows(*count))
        }
        Access::Constant { register, uniform, offset, bytes, .. } => {
            touched.begin(Way::Load, Memory::Constant, *bytes, active);
            for lane in (0..LANES).filter(|lane| active >> lane & 1 == 1) {
                touched.addresses[lane] = registers.place_in_bank(*register, *uniform, *offset, lane);
            }
            return;
        }
        Access::Matrices { .. } | Access::Which { .. } => return,
    };
    touched.begin(way, Memory::Global, bytes, lanes);
    for lane in (0..LANES).filter(|lane| lanes >> lane & 1 == 1) {
        let (memory, place) = memory::place(at.space, address(registers, at, lane));
        touched.memory = memory;
        touched.addresses[lane] = place;
    }
}

/// Carries it out for the active lanes.
pub(crate) fn perform(
    registers: &mut Registers,
    local: &mut Local,
    access: &Access,
    active: u32,
    banks: &Banks,
    reach: &mut Reach<'_>,
) -> Result<(), FaultKind> {
    if let Access::Matrices { store, transposed, count, register, address: at } = access {
        for matrix in 0..*count {
            for row in 0..8 {
                let place = address(registers, at, usize::from(matrix) * 8 + row);
                let mut halves = [0; 16];
                if *store {
                    for (column, half) in halves.chunks_exact_mut(2).enumerate() {
                        let word = registers.plane(nth(*register, matrix))[owner(row, column, *transposed).0];
                        half.copy_from_slice(&word.to_le_bytes()[owner(row, column, *transposed).1..][..2]);
                    }
                    local.store(reach, at.space, place, 0, &halves)?;
                    continue;
                }
                local.load(reach, at.space, place, 0, &mut halves)?;
                for (column, half) in halves.chunks_exact(2).enumerate() {
                    let (lane, byte) = owner(row, column, *transposed);
                    let register = nth(*register, matrix);
                    let mut word = registers.plane(register)[lane].to_le_bytes();
                    word[byte..byte + 2].copy_from_slice(half);
                    registers.set_word(register, lane, u32::from_le_bytes(word));
                }
            }
        }
        return Ok(());
    }
    // Of lanes that store to one place, the first wins, as on an H200.
    let backwards = matches!(access, Access::Store { .. });
    for index in 0..LANES {
        let lane = if backwards { LANES - 1 - index } else { index };
        if active >> lane & 1 == 0 {
            continue;
        }
        match access {
            Access::Load { to, address: at, bytes, signed } => {
                let place = address(registers, at, lane);
                let mut value = [0; 16];
                let into = &mut value[..usize::from(*bytes)];
                local.load(reach, at.space, place, lane, into)?;
                let (words, _) = value.as_chunks::<4>();
                let first = extended(u32::from_le_bytes(words[0]), *bytes, *signed);
                let words = words.iter().map(|&word| u32::from_le_bytes(word)).skip(1);
                for (index, word) in (0..bytes.div_ceil(4)).zip(std::iter::once(first).chain(words)) {
                    registers.set_word(nth(*to, index), lane, word);
                }
            }
            Access::Store { from, second, address: at, bytes } => {
                let place = address(registers, at, lane);
                let mut value = [0; 16];
                value[..8].copy_from_slice(&registers.read(from, banks, lane)?.to_le_bytes());
                if let Some(second) = second {
                    value[8..].copy_from_slice(&registers.read(second, banks, lane)?.to_le_bytes());
                }
                local.store(reach, at.space, place, lane, &value[..usize::from(*bytes)])?;
            }
            Access::Atomic { to, address: at, bytes, operands: [first, second], update } => {
                let place = address(registers, at, lane);
                let mut old = [0; 8];
                let size = usize::from(*bytes);
                local.load(reach, at.space, place, lane, &mut old[..size])?;
                let old = u64::from_le_bytes(old);
                let first = registers.read(first, banks, lane)?;
                let second = registers.read(second, banks, lane)?;
                let new = update(old, first, second).to_le_bytes();
                local.store(reach, at.space, place, lane, &new[..size])?;
                registers.write(Place::Registers(*to, bytes.div_ceil(4)), old, lane);
            }
            Access::Constant { to, bank, register, uniform, offset, bytes, signed } => {
                let at = registers.place_in_bank(*register, *uniform, *offset, lane);
                let value = banks.read(*bank, at, *bytes)?;
                let value =
                    if *bytes < 4 { u64::from(extended(value as u32, *bytes, *signed)) } else { value };
                registers.write(*to, value, lane);
                if to.is_uniform() {
                    return Ok(());
                }
            }
            Access::Exchange { to, address: at, bytes, operands: [first, second] } => {
                let place = address(registers, at, lane);
                let mut old = [0; 8];
                let size = usize::from(*bytes);
                local.load(reach, at.space, place, lane, &mut old[..size])?;
                let same = u64::from_le_bytes(old) == registers.read(first, banks, lane)?;
                if same {
                    let new = registers.read(second, banks, lane)?.to_le_bytes();
                    local.store(reach, at.space, place, lane, &new[..size])?;
                }
                registers.set_word(*to, lane, u32::from(same));
            }
            // It was done for all lanes together.
            Access::Matrices { .. } => {}
            Access::Which { flag, to, address: at, space } => {
                let place = address(registers, at, lane);
                registers.write(
                    *flag,
                    u64::from(space.is_some_and(|space| memory::is_in(space, place))),
                    lane,
                );
                registers.write(*to, 0, lane);
            }
        }
    }
    Ok(())
}

/// A value of fewer than four bytes, extended by its sign or by zeros.
fn extended(word: u32, bytes: u8, signed: bool) -> u32 {
    match (bytes, signed) {
        (1, true) => i32::from(word as i8) as u32,
        (2, true) => i32::from(word as i16) as u32,
        _ => word,
    }
}
