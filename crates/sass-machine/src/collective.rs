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
            let (mut first, mut second, mut third) = ([0; LANES], [0; LANES], [0; LANES]);
            let values = registers.word(value, banks, active, &mut first)?;
            let by = registers.word(by, banks, active, &mut second)?;
            let bounds = registers.word(bounds, banks, active, &mut third)?;
            let (mut given, mut found) = ([0; LANES], 0);
            for lane in lanes(active) {
                let (from, inside) = ir::shuffle::source(*mode, lane as u32, by[lane], bounds[lane]);
                // A lane that is not here gives zero, as an H200 does for one that has exited.
                given[lane] = if active >> from & 1 == 1 { values[from as usize] } else { 0 };
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
            let mut values = [0; LANES];
            registers.values(source, banks, active, &mut values)?;
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
        Collective::Reduce { to, source, join, twice } => {
            let mut scratch = [0; LANES];
            let words = registers.word(source, banks, active, &mut scratch)?;
            let each = lanes(active).map(|lane| words[lane]);
            let result = each.map(|word| if *twice { join(word, word) } else { word }).reduce(join);
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
