//! Accesses to memory, lane by lane.

use crate::cluster::Member;
use crate::fault::FaultKind;
use crate::groups::Fetched;
use crate::memory::{self, Local, Reach};
use crate::registers::{Banks, LANES, RZ, Registers, lanes};
use crate::step::{Access, Address, Datum, Place, Source, Space};
use crate::touched::{Memory, Touched, Way};
use machine::memory::SHARED_WINDOW;

/// Where an access goes, in each lane.
fn addresses(registers: &Registers, address: &Address) -> [u64; LANES] {
    let shared = if address.pair {
        registers.uniform_pair(address.uniform)
    } else {
        u64::from(registers.uniform(address.uniform))
    };
    let shared = shared.wrapping_add_signed(address.offset);
    let low = registers.plane(address.register);
    let high = registers.plane(if address.wide { address.register.saturating_add(1) } else { RZ });
    let bits = if address.wide || address.pair { u64::MAX } else { u64::from(u32::MAX) };
    let mut places = [0; LANES];
    for lane in 0..LANES {
        let base = u64::from(low[lane]) | u64::from(high[lane]) << 32;
        places[lane] = base.wrapping_add(shared) & bits;
    }
    places
}

/// A register so far behind another; RZ behind RZ.
pub(crate) fn nth(first: u8, by: u8) -> u8 {
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
pub(crate) fn touches(
    registers: &Registers,
    access: &Access,
    active: u32,
    member: Option<&Member>,
    touched: &mut Touched,
) {
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
        Access::Copy { from, bytes, flag, .. } => {
            let held = flag.as_ref().map_or(u32::MAX, |flag| registers.flags(flag));
            (Way::Load, from, *bytes, active & held)
        }
        Access::Constant { bank, register, uniform, offset, bytes, .. } => {
            touched.begin(Way::Load, Memory::Constant, u32::from(*bytes), active);
            for lane in (0..LANES).filter(|lane| active >> lane & 1 == 1) {
                let place = registers.place_in_bank(*register, *uniform, *offset, lane);
                touched.addresses[lane] = u64::from(*bank) << 32 | place & u64::from(u32::MAX);
            }
            return;
        }
        Access::Matrices { .. } | Access::Which { .. } => return,
    };
    touched.begin(way, Memory::Global, u32::from(bytes), lanes);
    let places = addresses(registers, at);
    if at.space == Space::Global {
        touched.addresses = places;
        return;
    }
    for lane in (0..LANES).filter(|lane| lanes >> lane & 1 == 1) {
        let (memory, place) = memory::place(at.space, places[lane], member);
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
    let at = match access {
        Access::Load { to, address, bytes, signed } => {
            return load(registers, local, (address, *bytes), active, reach, |registers, data| {
                place(registers, *to, (*bytes, *signed), active, data);
            });
        }
        Access::Store { address, .. }
        | Access::Atomic { address, .. }
        | Access::Exchange { address, .. }
        | Access::Matrices { address, .. }
        | Access::Which { address, .. } => address,
        // Others do these.
        Access::Copy { .. } => return Ok(()),
        Access::Constant { to, bank, register, uniform, offset, bytes, signed } => {
            let bank = |lane| {
                let at = registers.place_in_bank(*register, *uniform, *offset, lane);
                let value = banks.read(*bank, at, *bytes)?;
                Ok(if *bytes < 4 { u64::from(extended(value as u32, *bytes, *signed)) } else { value })
            };
            let mut values = [0; LANES];
            if *register == RZ || to.is_uniform() {
                values = [bank(active.trailing_zeros() as usize)?; LANES];
            } else {
                for lane in lanes(active) {
                    values[lane] = bank(lane)?;
                }
            }
            registers.set_values(*to, active, &values);
            return Ok(());
        }
    };
    let places = addresses(registers, at);
    if let Access::Matrices { store, transposed, count, register, address: at } = access {
        for matrix in 0..*count {
            for row in 0..8 {
                let place = places[usize::from(matrix) * 8 + row];
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
    if let Access::Store { from, bytes, .. } = access
        && let Some(data) = row(registers, from, (&places, *bytes), active, banks)?
        && local.store_row(reach, at.space, places[0], &data[..LANES * usize::from(*bytes)])
    {
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
            Access::Store { from, address: at, bytes } => {
                let value = datum(registers, from, banks, lane)?.to_le_bytes();
                local.store(reach, at.space, places[lane], lane, &value[..usize::from(*bytes)])?;
            }
            Access::Atomic { to, done, address: at, bytes, operands: [first, second], update } => {
                let place = places[lane];
                if let Some(done) = done {
                    let is_global = memory::is_in(Space::Global, place);
                    registers.write(Place::Predicate(*done), u64::from(is_global), lane);
                    if !is_global {
                        continue;
                    }
                }
                let mut old = [0; 16];
                let size = usize::from(*bytes);
                local.load(reach, at.space, place, lane, &mut old[..size])?;
                let old = u128::from_le_bytes(old);
                let first = datum(registers, first, banks, lane)?;
                let second = datum(registers, second, banks, lane)?;
                let new = update(old, first, second).to_le_bytes();
                local.store(reach, at.space, place, lane, &new[..size])?;
                for word in 0..bytes.div_ceil(4) {
                    registers.set_word(nth(*to, word), lane, (old >> (32 * word)) as u32);
                }
            }
            Access::Exchange { to, address: at, bytes, operands: [first, second] } => {
                let place = places[lane];
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
            Access::Load { .. } | Access::Constant { .. } | Access::Matrices { .. } | Access::Copy { .. } => {
            }
            Access::Which { flag, to, address: _, space } => {
                let place = places[lane];
                let holds = match space {
                    Some(space) => memory::is_in(*space, place),
                    // That of any CTA of the cluster.
                    None => memory::is_in(Space::Shared, place),
                };
                let own = |address| reach.member.is_none_or(|member| member.is_own(address));
                let holds = holds && (*space != Some(Space::Shared) || own(place - SHARED_WINDOW));
                registers.write(*flag, u64::from(holds), lane);
                registers.write(*to, 0, lane);
            }
        }
    }
    Ok(())
}

/// What goes to memory, in a lane.
pub(crate) fn datum(
    registers: &Registers,
    datum: &Datum,
    banks: &Banks,
    lane: usize,
) -> Result<u128, FaultKind> {
    let high = datum.high.as_ref().map_or(Ok(0), |high| registers.read(high, banks, lane))?;
    Ok(u128::from(registers.read(&datum.low, banks, lane)?) | u128::from(high) << 64)
}

/// The first half of a copy to shared memory, from one address to another: of so many bytes, zeros in lanes in which the flag does not hold.
pub(crate) fn fetch(
    registers: &Registers,
    local: &Local,
    (to, from, bytes, fills, flag): (&Address, &Address, u8, bool, Option<&Source>),
    active: u32,
    reach: &Reach<'_>,
) -> Result<Fetched, FaultKind> {
    let (places, sources) = (addresses(registers, to), addresses(registers, from));
    let held = flag.map_or(u32::MAX, |flag| registers.flags(flag));
    let mut data = [[0; 16]; LANES];
    let mut there = [0; 16];
    for lane in lanes(active) {
        // Whether there is such a place is found out at once.
        local.load(reach, to.space, places[lane], lane, &mut there[..usize::from(bytes)])?;
        if held >> lane & 1 == 1 {
            let inside = if fills { sources[lane] % u64::from(bytes) } else { 0 };
            let into = &mut data[lane][..usize::from(bytes) - inside as usize];
            if inside == 0 {
                local.load(reach, from.space, sources[lane], lane, into)?;
                continue;
            }
            for (byte, at) in into.iter_mut().zip(sources[lane] - inside..) {
                local.load(reach, from.space, at, lane, std::slice::from_mut(byte))?;
            }
        }
    }
    Ok(Fetched { lanes: active, places, bytes, data })
}

/// The second half.
pub(crate) fn put(local: &mut Local, fetched: &Fetched, reach: &mut Reach<'_>) -> Result<(), FaultKind> {
    for lane in lanes(fetched.lanes) {
        let data = &fetched.data[lane][..usize::from(fetched.bytes)];
        local.store(reach, Space::Shared, fetched.places[lane], lane, data)?;
    }
    Ok(())
}

/// Whether all lanes' places lie in a row, of so many bytes each, aligned.
fn in_a_row(places: &[u64; LANES], bytes: u8) -> bool {
    let apart = (0..LANES)
        .fold(0, |apart, lane| apart | places[lane] ^ places[0].wrapping_add(lane as u64 * u64::from(bytes)));
    apart == 0 && places[0].is_multiple_of(u64::from(bytes))
}

/// Bytes that lanes load or store, lane after lane.
type Data = [u8; LANES * 16];

/// Loads for the active lanes, and gives what was there to whoever puts it into registers: at once what lies near, else lane by lane.
fn load(
    registers: &mut Registers,
    local: &Local,
    (address, bytes): (&Address, u8),
    active: u32,
    reach: &Reach<'_>,
    put: impl FnOnce(&mut Registers, &Data),
) -> Result<(), FaultKind> {
    let places = addresses(registers, address);
    let size = usize::from(bytes);
    let mut data = [0; LANES * 16];
    let whole = active == u32::MAX && in_a_row(&places, bytes);
    if !(whole && local.load_row(reach, address.space, places[0], &mut data[..LANES * size])
        || local.load_near(reach, address.space, &places, size, active, &mut data))
    {
        for lane in lanes(active) {
            let into = &mut data[lane * size..][..size];
            local.load(reach, address.space, places[lane], lane, into)?;
        }
    }
    put(registers, &data);
    Ok(())
}

/// Puts what lanes have loaded into registers from this one on.
fn place(registers: &mut Registers, to: u8, (bytes, signed): (u8, bool), active: u32, data: &Data) {
    let size = usize::from(bytes);
    for index in 0..bytes.div_ceil(4) {
        let mut words = [0; LANES];
        for lane in 0..LANES {
            let at = lane * size + usize::from(index) * 4;
            words[lane] = match bytes {
                1 => extended(u32::from(data[at]), bytes, signed),
                2 => extended(u32::from(u16::from_le_bytes([data[at], data[at + 1]])), bytes, signed),
                _ => u32::from_le_bytes([data[at], data[at + 1], data[at + 2], data[at + 3]]),
            };
        }
        registers.set_plane(Place::Registers(nth(to, index), 1), active, &words);
    }
}

/// What all lanes store, lane after lane, if their places lie in a row.
fn row(
    registers: &Registers,
    from: &Datum,
    (places, bytes): (&[u64; LANES], u8),
    active: u32,
    banks: &Banks,
) -> Result<Option<Data>, FaultKind> {
    if active != u32::MAX || !in_a_row(places, bytes) {
        return Ok(None);
    }
    let size = usize::from(bytes);
    let mut data = [0; LANES * 16];
    let mut values = [0; LANES];
    for (source, half) in [Some(&from.low), from.high.as_ref()].into_iter().flatten().zip([0, 8]) {
        registers.values(source, banks, active, &mut values)?;
        let some = size.min(8);
        for lane in 0..LANES {
            data[lane * size + half..][..some].copy_from_slice(&values[lane].to_le_bytes()[..some]);
        }
    }
    Ok(Some(data))
}

/// A value of fewer than four bytes, extended by its sign or by zeros.
fn extended(word: u32, bytes: u8, signed: bool) -> u32 {
    match (bytes, signed) {
        (1, true) => i32::from(word as i8) as u32,
        (2, true) => i32::from(word as i16) as u32,
        _ => word,
    }
}

/// The address in one lane.
pub(crate) fn place_of(registers: &Registers, address: &Address, lane: usize) -> u64 {
    addresses(registers, address)[lane]
}
