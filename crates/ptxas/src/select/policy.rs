//! Cache policies (PTX ISA, "createpolicy"), with the bits that ptxas gives them. Loads and stores that are compiled here heed none.

use super::{Done, Select};
use crate::code::Operand;
use ir::Op;
use ir::instruction::{self as i, Policy, Primary, Secondary};
use smol_str::format_smolstr;

/// Places in the upper word: the kind of a policy, the fraction of accesses in sixteenths, and of a range how large its units are,
/// which is the first and how many there are.
const KIND_AT: u32 = 20;
const FRACTION_AT: u32 = 20;
const UNIT_AT: u32 = 20;
const FIRST_AT: u32 = 12;
const COUNT_AT: u32 = 5;
const FRACTIONAL: u32 = 0x100;
const RANGE: u32 = 0x180;
/// The least unit of a range has 2^12 bytes; a range has at most so many.
const LEAST_UNIT: u32 = 12;
const MOST_UNITS: u32 = 0x7f;
const UNITS_BITS: u32 = 7;
/// What a fraction is multiplied by, to be cut off.
const SIXTEENTHS: f32 = 15.99;

/// What is done with lines, as bits of the kind.
fn properties(op: &i::Createpolicy) -> u32 {
    let primary = match op.primary {
        Primary::L2EvictUnchanged => 0x00,
        Primary::L2EvictFirst => 0x20,
        Primary::L2EvictLast => 0x40,
        Primary::L2EvictNormal => 0x60,
    };
    let secondary = match op.secondary {
        None | Some(Secondary::L2EvictUnchanged) => 0x00,
        Some(Secondary::L2EvictFirst) => 0x10,
    };
    primary | secondary
}

impl Select<'_> {
    pub(super) fn policies(&mut self, op: &Op) -> Option<Done> {
        Some(match op {
            Op::Createpolicy(op) => match op.policy {
                Policy::Fractional => self.fractional_policy(op),
                Policy::Range => self.range_policy(op),
            },
            Op::CreatepolicyCvt(op) => self.double(&op.a).map(|a| {
                let copy = self.join(Operand::part(a, 0), Operand::part(a, 1));
                self.set(op.d, copy);
            }),
            _ => return None,
        })
    }

    fn fractional_policy(&mut self, op: &i::Createpolicy) -> Done {
        let sixteenths = match &op.fraction {
            None => self.constant(0xf),
            Some(fraction) => {
                let (fraction, by) = (self.word(fraction)?, self.constant(SIXTEENTHS.to_bits()));
                let product = self.one("FMUL", vec![fraction, by]);
                let whole = self.one("F2I.U32.TRUNC.NTZ", vec![Operand::low(product)]);
                Operand::low(self.lop(Operand::low(whole), Operand::number(0xf), 0xc0))
            }
        };
        let read = vec![sixteenths, Operand::number(FRACTION_AT), Operand::zero()];
        let fraction = self.one("SHF.L.U32", read);
        let kind = (FRACTIONAL | properties(op)) << KIND_AT;
        let high = self.lop(Operand::low(fraction), Operand::number(kind), 0xfc);
        let policy = self.join(Operand::zero(), Operand::low(high));
        self.set(op.d, policy);
        Ok(())
    }

    /// A range has as many units as cover its first part, each of a power of two of bytes, of which 128 cover all of it.
    fn range_policy(&mut self, op: &i::Createpolicy) -> Done {
        let (Some(address), Some(primary), Some(total)) = (&op.a, &op.primary_size, &op.total_size) else {
            return Err("without a range".to_owned());
        };
        let place = self.place(address)?;
        let first = self.wide_address_of(&place)?;
        let (primary, total) = (self.word(primary)?, self.word(total)?);
        let empty = self.compare("ISETP.EQ.U32.AND", total.clone(), Operand::zero());
        let float = self.one("I2F.U32", vec![total]);
        let logarithm = self.one("MUFU.LG2", vec![Operand::low(float)]);
        let bits = self.one("F2I.U32.CEIL.NTZ", vec![Operand::low(logarithm)]);
        let fewer = self.add(Operand::low(bits), Operand::Text(format_smolstr!("-{UNITS_BITS:#x}")));
        let least = self.constant(LEAST_UNIT);
        let unit = self.one("VIMNMX", vec![Operand::low(fewer), least, Operand::always(true)]);
        let unit = Operand::low(unit);
        let one = self.constant(1);
        let bytes = self.one("SHF.L.U32", vec![one, unit.clone(), Operand::zero()]);
        let last = self.add(Operand::low(bytes), Operand::ones());
        let last = self.add(Operand::low(last), primary);
        let last = self.join(Operand::low(last), Operand::zero());
        let end = self.add64(first, last);
        let first = self.shift64(first, unit.clone(), false, false);
        let end = self.shift64(end, unit.clone(), false, false);
        let count = self.sum64(end, first, true);
        let most = self.constant64(MOST_UNITS.into());
        let count = self.chosen64("LT", false, count, most);
        let exponent = self.add(unit, Operand::Text(format_smolstr!("-{LEAST_UNIT:#x}")));
        let mut high = self.one("MOV", vec![Operand::number((RANGE | properties(op)) << KIND_AT)]);
        let fields = [
            (Operand::low(exponent), 0xf, UNIT_AT),
            (Operand::part(first, 0), MOST_UNITS, FIRST_AT),
            (Operand::part(count, 0), MOST_UNITS, COUNT_AT),
        ];
        for (value, mask, at) in fields {
            let field = self.lop(value, Operand::number(mask), 0xc0);
            let read = vec![Operand::low(field), Operand::number(at), Operand::zero()];
            let field = self.one("SHF.L.U32", read);
            high = self.lop(Operand::low(high), Operand::low(field), 0xfc);
        }
        // Of nothing at all no line is meant.
        let nothing = self.constant(RANGE << KIND_AT);
        let high = self.select_word(nothing, Operand::low(high), empty, false);
        let policy = self.join(Operand::zero(), Operand::low(high));
        self.set(op.d, policy);
        Ok(())
    }
}
