//! Operands of an instruction, as its text names them.

/// What stands in front of an operand, or around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sign {
    /// `-`.
    pub(crate) negated: bool,
    /// `~`.
    pub(crate) inverted: bool,
    /// `|R1|`.
    pub(crate) absolute: bool,
}

/// What an operand names. RZ and URZ are registers without a number, PT and UPT a predicate without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    Register { number: Option<u8>, sign: Sign },
    Uniform { number: Option<u8>, sign: Sign },
    Predicate { number: Option<u8>, negated: bool },
    Immediate(u32),
    Constant { bank: u8, register: Option<u8>, offset: i64, sign: Sign },
    Address { register: Option<u8>, wide: bool, uniform: Option<u8>, offset: i64 },
    Special(Special),
}

/// A special register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    Tid(u8),
    Ctaid(u8),
    LaneId,
    /// Bits 8 and up are the warp's number in its CTA.
    VirtualId,
    EqMask,
    LtMask,
    LeMask,
    GtMask,
    GeMask,
    /// The high word of generic addresses of shared memory.
    SharedWindow,
    /// The CTA's rank in its cluster.
    ClusterRank,
    Clock,
    GlobalTimer,
}

impl Special {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "SR_TID.X" => Self::Tid(0),
            "SR_TID.Y" => Self::Tid(1),
            "SR_TID.Z" => Self::Tid(2),
            "SR_CTAID.X" => Self::Ctaid(0),
            "SR_CTAID.Y" => Self::Ctaid(1),
            "SR_CTAID.Z" => Self::Ctaid(2),
            "SR_LANEID" => Self::LaneId,
            "SR_VIRTID" => Self::VirtualId,
            "SR_EQMASK" => Self::EqMask,
            "SR_LTMASK" => Self::LtMask,
            "SR_LEMASK" => Self::LeMask,
            "SR_GTMASK" => Self::GtMask,
            "SR_GEMASK" => Self::GeMask,
            "SR_SWINHI" => Self::SharedWindow,
            "SR_CgaCtaId" => Self::ClusterRank,
            "SR_CLOCKLO" => Self::Clock,
            "SR_GLOBALTIMERLO" => Self::GlobalTimer,
            _ => return None,
        })
    }
}

/// A number as nvdisasm prints it.
fn number(text: &str) -> Option<i64> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let value = match digits.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if negative { -value } else { value })
}

/// `R5` and `RZ`, `UR5` and `URZ`, `P0` and `PT`: by what stands before the number, and what stands for none.
fn numbered(text: &str, prefix: &str, none: &str) -> Option<Option<u8>> {
    if text == none {
        return Some(None);
    }
    text.strip_prefix(prefix)?.parse().ok().map(Some)
}

fn register(text: &str) -> Option<Option<u8>> {
    numbered(text, "R", "RZ")
}

fn uniform(text: &str) -> Option<Option<u8>> {
    numbered(text, "UR", "URZ")
}

impl Operand {
    /// The operand that a text names, or `None` if it is one that nothing here executes.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(rest) = text.strip_prefix("desc[") {
            return Self::address(rest.split_once(']')?.1);
        }
        if text.starts_with('[') {
            return Self::address(text);
        }
        if let Some(special) = Special::parse(text) {
            return Some(Self::Special(special));
        }
        let (negated, bare) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
        if let Some(number) = numbered(bare, "P", "PT").or_else(|| (bare == "UPT").then_some(None)) {
            return Some(Self::Predicate { number, negated });
        }
        let mut sign = Sign::default();
        let mut bare = text.strip_suffix(".reuse").unwrap_or(text);
        // A number keeps its own sign.
        if let Some(value) = number(bare) {
            return Some(Self::Immediate(value as u32));
        }
        for (mark, flag) in [('-', &mut sign.negated), ('~', &mut sign.inverted)] {
            if let Some(rest) = bare.strip_prefix(mark) {
                (*flag, bare) = (true, rest);
            }
        }
        if let Some(inside) = bare.strip_prefix('|').and_then(|rest| rest.strip_suffix('|')) {
            (sign.absolute, bare) = (true, inside);
        }
        if let Some(rest) = bare.strip_prefix("c[") {
            let (bank, place) = rest.split_once("][")?;
            let place = Self::address(&format!("[{place}"))?;
            let Self::Address { register, wide: false, uniform: None, offset } = place else { return None };
            return Some(Self::Constant { bank: number(bank)? as u8, register, offset, sign });
        }
        if let Some(number) = uniform(bare) {
            return Some(Self::Uniform { number, sign });
        }
        register(bare).map(|number| Self::Register { number, sign })
    }

    /// `[R2.64+UR4+0x8]`.
    fn address(text: &str) -> Option<Self> {
        let inside = text.strip_prefix('[')?.strip_suffix(']')?;
        let (mut base, mut wide, mut shared, mut offset) = (None, false, None, 0);
        for part in inside.split('+') {
            if let Some(value) = number(part) {
                offset += value;
            } else if let Some(number) = uniform(part) {
                shared = number;
            } else {
                let (name, width) = part.strip_suffix(".64").map_or((part, false), |name| (name, true));
                (base, wide) = (register(name)?, width);
            }
        }
        Some(Self::Address { register: base, wide, uniform: shared, offset })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_as_they_are_printed() {
        let plain = Sign::default();
        let parse = |text| Operand::parse(text).expect(text);
        assert_eq!(parse("RZ"), Operand::Register { number: None, sign: plain });
        assert_eq!(
            parse("-|R7|.reuse"),
            Operand::Register { number: Some(7), sign: Sign { negated: true, absolute: true, ..plain } }
        );
        assert_eq!(
            parse("desc[UR4][R2.64+-0x8]"),
            Operand::Address { register: Some(2), wide: true, uniform: None, offset: -8 }
        );
        assert_eq!(
            parse("c[0x3][R24+0x10]"),
            Operand::Constant { bank: 3, register: Some(24), offset: 16, sign: plain }
        );
        assert_eq!(parse("!PT"), Operand::Predicate { number: None, negated: true });
        assert_eq!(parse("-0x2"), Operand::Immediate(0xffff_fffe));
        assert_eq!(Operand::parse("R4.H0_H0"), None);
    }
}
