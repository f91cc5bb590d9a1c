//! What the lanes of a warp that stand at one instruction do together.

use crate::fault::FaultKind;
use crate::registers::{Banks, LANES, Registers, lanes};
use crate::step::{Collective, Vote};
use crate::{access, product};

/// Carries it out for the active lanes.
pub(crate) fn perform(
    registers: &mut Registers,
    banks: &Banks,
    active: u32,
    collective: &Collective,
) -> Result<(), FaultKind> {
    match collective {
        Collective::Shuffle { mode, inside, to, sources: [value, by, bounds] } => {
            let values = registers.values(value, banks, active)?;
            let by = registers.values(by, banks, active)?;
            let bounds = registers.values(bounds, banks, active)?;
            let (mut given, mut found) = ([0; LANES], 0);
            for lane in lanes(active) {
                let (from, inside) =
                    ir::shuffle::source(*mode, lane as u32, by[lane] as u32, bounds[lane] as u32);
                // A lane that is not here gives zero, as an H200 does for one that has exited.
                given[lane] = if active >> from & 1 == 1 { values[from as usize] as u32 } else { 0 };
                found |= u32::from(inside) << lane;
            }
            registers.set_plane(*to, active, &given);
            registers.set_mask(*inside, active, found);
        }
        Collective::Vote { vote, to, flag, source } => {
            let holds = registers.flags(source) & active;
            let answer = match vote {
                Vote::Any => holds != 0,
                Vote::All => holds == active,
                Vote::Equal => holds == active || holds == 0,
            };
            registers.set_plane(*to, active, &[holds; LANES]);
            registers.set_mask(*flag, active, if answer { u32::MAX } else { 0 });
        }
        Collective::Match { all, to, flag, source } => {
            let values = registers.values(source, banks, active)?;
            let (mut masks, mut equal) = ([0; LANES], 0);
            for lane in lanes(active) {
                let same = lanes(active).filter(|&other| values[other] == values[lane]);
                let same = same.fold(0, |mask, other| mask | 1 << other);
                equal |= u32::from(same == active) << lane;
                masks[lane] = if *all && same != active { 0 } else { same };
            }
            registers.set_plane(*to, active, &masks);
            registers.set_mask(*flag, active, equal);
        }
        Collective::Reduce { to, source, join } => {
            let values = registers.values(source, banks, active)?;
            let result = lanes(active).map(|lane| values[lane] as u32).reduce(join);
            if let Some(result) = result {
                registers.set_plane(*to, active, &[result; LANES]);
            }
        }
        Collective::Elect { flag, to, source } => {
            let from = source.as_ref().map_or(active, |source| registers.flags(source) & active);
            let first = if from == 0 { 0 } else { from & from.wrapping_neg() };
            registers.set_mask(*flag, active, first);
            registers.set_plane(*to, active, &[first.trailing_zeros(); LANES]);
        }
        Collective::Transpose { to, from } => {
            let words = access::transposed(registers.plane(*from));
            registers.set_plane(*to, active, &words);
        }
        Collective::Product(product) => product::perform(registers, product),
    }
    Ok(())
}
