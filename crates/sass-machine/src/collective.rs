//! What the lanes of a warp that stand at one instruction do together.

use crate::fault::FaultKind;
use crate::step::Collective;
use crate::storage::{Banks, LANES, Registers};

/// The lanes of a mask.
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| mask >> lane & 1 == 1)
}

/// Carries it out for the active lanes.
pub(crate) fn perform(
    registers: &mut Registers,
    banks: &Banks,
    active: u32,
    collective: &Collective,
) -> Result<(), FaultKind> {
    match collective {
        Collective::Shuffle { mode, inside, to, sources: [value, by, bounds] } => {
            let mut found = [(0, false); LANES];
            for lane in lanes(active) {
                let by = registers.read(by, banks, lane)? as u32;
                let bounds = registers.read(bounds, banks, lane)? as u32;
                let (from, inside) = ir::shuffle::source(*mode, lane as u32, by, bounds);
                // A lane that is not here gives zero, as an H200 does for one that has exited.
                let here = active >> from & 1 == 1;
                let given = if here { registers.read(value, banks, from as usize)? } else { 0 };
                found[lane] = (given, inside);
            }
            for lane in lanes(active) {
                registers.write(*to, found[lane].0, lane);
                registers.write(*inside, u64::from(found[lane].1), lane);
            }
        }
        Collective::Vote { all, to, flag, source } => {
            let mut holds = 0;
            for lane in lanes(active) {
                holds |= (registers.read(source, banks, lane)? as u32) << lane;
            }
            let answer = if *all { holds == active } else { holds != 0 };
            for lane in lanes(active) {
                registers.write(*to, u64::from(holds), lane);
                registers.write(*flag, u64::from(answer), lane);
            }
        }
        Collective::Match { all, to, flag, source } => {
            let mut values = [0; LANES];
            for lane in lanes(active) {
                values[lane] = registers.read(source, banks, lane)?;
            }
            for lane in lanes(active) {
                let same = lanes(active).filter(|&other| values[other] == values[lane]);
                let same = same.fold(0, |mask, other| mask | 1 << other);
                let equal = same == active;
                registers.write(*to, u64::from(if *all && !equal { 0 } else { same }), lane);
                registers.write(*flag, u64::from(equal), lane);
            }
        }
        Collective::Reduce { to, source, join } => {
            let mut result: Option<u32> = None;
            for lane in lanes(active) {
                let value = registers.read(source, banks, lane)? as u32;
                result = Some(result.map_or(value, |so_far| join(so_far, value)));
            }
            if let Some(result) = result {
                lanes(active).for_each(|lane| registers.write(*to, u64::from(result), lane));
            }
        }
        Collective::Elect { flag, to } => {
            let first = active.trailing_zeros();
            for lane in lanes(active) {
                registers.write(*flag, u64::from(lane as u32 == first), lane);
                registers.write(*to, u64::from(first), lane);
            }
        }
    }
    Ok(())
}
