//! Integer division, which the hardware lacks.

use super::{Done, Select};
use crate::code::{Operand, Reg};
use ir::operand::{Def, Value};
use ptx::types::{ScalarType, TypeKind};

/// Added to the bits of the reciprocal, so that it is not above the true one when it is scaled by 2^32.
const SCALE: u32 = 0x0fff_fffe;

impl Select<'_> {
    pub(super) fn divide(&mut self, ty: ScalarType, d: Def, a: &Value, b: &Value, remainder: bool) -> Done {
        let signed = ty.kind() == TypeKind::Signed;
        let result = if ty.bits() == 64 {
            let (a, b) = (self.double(a)?, self.double(b)?);
            self.divide64(a, b, signed, remainder)
        } else {
            let (a, b) = (self.extended(a, ty)?, self.extended(b, ty)?);
            self.divide32(a, b, signed, remainder)
        };
        self.set(d, result);
        Ok(())
    }

    /// A reciprocal by the special function unit, one Newton step, and two corrections.
    fn divide32(&mut self, a: Operand, b: Operand, signed: bool, remainder: bool) -> Reg {
        let (n, m) = match signed {
            true => (
                Operand::low(self.one("IABS", vec![a.clone()])),
                Operand::low(self.one("IABS", vec![b.clone()])),
            ),
            false => (a.clone(), b.clone()),
        };
        let float = self.one("I2F.U32.RP", vec![m.clone()]);
        let reciprocal = self.one("MUFU.RCP", vec![Operand::low(float)]);
        let scaled = self.add(Operand::low(reciprocal), Operand::number(SCALE));
        let guess = self.one("F2I.FTZ.U32.TRUNC.NTZ", vec![Operand::low(scaled)]);
        let minus = self.add(Operand::low(guess).signed("-"), Operand::zero());
        let error = self.mad(Operand::low(minus), m.clone(), Operand::zero());
        let above = self.join(Operand::zero(), Operand::low(guess));
        let better =
            self.one("IMAD.HI.U32", vec![Operand::low(guess), Operand::low(error), Operand::wide(above, 2)]);
        let mut quotient = self.one("IMAD.HI.U32", vec![Operand::low(better), n.clone(), Operand::zero()]);
        let less = self.add(Operand::low(quotient).signed("-"), Operand::zero());
        let mut rest = self.mad(Operand::low(less), m.clone(), n);
        for _ in 0..2 {
            let over = self.compare("ISETP.GE.U32.AND", Operand::low(rest), m.clone());
            let lower = self.add(Operand::low(rest), m.clone().signed("-"));
            let higher = self.add(Operand::low(quotient), Operand::number(1));
            rest = self.select_word(Operand::low(lower), Operand::low(rest), over, false);
            quotient = self.select_word(Operand::low(higher), Operand::low(quotient), over, false);
        }
        let found = if remainder { rest } else { quotient };
        let found = if signed {
            // A remainder has the dividend's sign.
            let sign = if remainder { a } else { Operand::low(self.lop(a, b.clone(), 0x3c)) };
            let negative = self.compare("ISETP.LT.AND", sign, Operand::zero());
            let minus = self.add(Operand::low(found).signed("-"), Operand::zero());
            self.select_word(Operand::low(minus), Operand::low(found), negative, false)
        } else {
            found
        };
        let nothing = self.compare("ISETP.EQ.U32.AND", b, Operand::zero());
        let ones = self.one("MOV", vec![Operand::number(u32::MAX)]);
        self.select_word(Operand::low(ones), Operand::low(found), nothing, false)
    }

    /// Bit by bit.
    fn divide64(&mut self, a: Reg, b: Reg, signed: bool, remainder: bool) -> Reg {
        let (n, m) = if signed { (self.magnitude64(a), self.magnitude64(b)) } else { (a, b) };
        let (quotient, rest) = self.divide_bits(n, m);
        let found = if remainder { rest } else { quotient };
        if !signed {
            return if remainder { self.unless_zero(found, b) } else { found };
        }
        let sign = match remainder {
            true => Operand::part(a, 1),
            false => Operand::low(self.lop(Operand::part(a, 1), Operand::part(b, 1), 0x3c)),
        };
        let negative = self.compare("ISETP.LT.AND", sign, Operand::zero());
        let zero = self.constant64(0);
        let minus = self.sum64(zero, found, true);
        let signed = self.select_double(minus, found, negative, false);
        self.unless_zero(signed, b)
    }

    /// Without a divisor all bits are set, whatever the signs.
    fn unless_zero(&mut self, found: Reg, b: Reg) -> Reg {
        let nothing = self.constant64(0);
        let none = self.compare64("EQ", false, b, nothing, Operand::always(false), "AND").0;
        let ones = self.constant64(u64::MAX);
        self.select_double(ones, found, none, false)
    }

    /// The quotient and remainder of unsigned numbers: 64 rounds, each of which shifts a bit of the dividend into the rest.
    fn divide_bits(&mut self, n: Reg, m: Reg) -> (Reg, Reg) {
        let state = self.join(Operand::part(n, 0), Operand::part(n, 1));
        let rest = self.join(Operand::zero(), Operand::zero());
        let count = self.one("MOV", vec![Operand::number(64)]);
        let head = self.code.label();
        self.code.place(head);
        let lost = self.compare("ISETP.LT.AND", Operand::part(rest, 1), Operand::zero());
        let by = Operand::number(1);
        let high = self.one("SHF.L.U64.HI", vec![Operand::part(rest, 0), by.clone(), Operand::part(rest, 1)]);
        let low =
            self.one("SHF.L.W.U32.HI", vec![Operand::part(state, 1), by.clone(), Operand::part(rest, 0)]);
        let shifted = self.join(Operand::low(low), Operand::low(high));
        let moved = self.shift64(state, by, true, false);
        let fits = self.compare64("GE", false, shifted, m, Operand::always(false), "AND").0;
        let takes = self.flag();
        self.plop(None, takes, Operand::Predicate(fits, false), Operand::Predicate(lost, false), 0xfc);
        let less = self.sum64(shifted, m, true);
        let next = self.select_double(less, shifted, takes, false);
        let one = self.constant(1);
        let bit = self.select_word(one, Operand::zero(), takes, false);
        let filled = self.lop(Operand::part(moved, 0), Operand::low(bit), 0xfc);
        for (to, low, high) in [
            (rest, Operand::part(next, 0), Operand::part(next, 1)),
            (state, Operand::low(filled), Operand::part(moved, 1)),
        ] {
            self.code.push(None, "MOV", vec![Operand::part(to, 0)], vec![low]);
            self.code.push(None, "MOV", vec![Operand::part(to, 1)], vec![high]);
        }
        self.code.push(
            None,
            "IADD3",
            vec![Operand::low(count)],
            vec![Operand::low(count), Operand::ones(), Operand::zero()],
        );
        let more = self.compare("ISETP.NE.U32.AND", Operand::low(count), Operand::zero());
        self.branch(Some((more, false)), head);
        (state, rest)
    }
}
