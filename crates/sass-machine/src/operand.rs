//! Operands of an instruction, as its text names them.

use crate::registers::{PT, RZ, URZ};

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

/// Which part of a register an operand names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Half {
    /// All of it.
    #[default]
    Both,
    /// `.H0_H0`: the lower half, twice.
    Low,
    /// `.H1_H1`: the upper half, twice.
    High,
    /// `.H1`: the upper half, as a number.
    Upper,
    /// `.B2`: a byte, as a number.
    Byte(u8),
}

/// What an operand names. RZ, URZ, PT and UPT are the last numbers of theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    Register {
        number: u8,
        sign: Sign,
        half: Half,
    },
    Uniform {
        number: u8,
        sign: Sign,
        half: Half,
    },
    Predicate {
        number: u8,
        negated: bool,
    },
    UniformPredicate {
        number: u8,
        negated: bool,
    },
    Immediate(u32),
    Constant {
        bank: u8,
        register: u8,
        uniform: u8,
        offset: i64,
        sign: Sign,
        half: Half,
    },
    Address {
        register: u8,
        wide: bool,
        uniform: u8,
        pair: bool,
        offset: i64,
    },
    Special(Special),
    /// A barrier of convergence.
    Convergence(u8),
    /// Four uniform registers with descriptors of matrices, or two, whose elements have the opposite sign, and which are transposed.
    Descriptors {
        number: u8,
        negated: [bool; 2],
        transposed: [bool; 2],
    },
    /// The shape of a texture, or what is asked of it.
    Shape(&'static str),
    /// What an instruction's meaning does not depend on: `PR`, a scoreboard, a policy of caching.
    Other,
}

/// Shapes of textures, and what is asked of one.
const SHAPES: [&str; 8] =
    ["1D", "2D", "3D", "ARRAY_1D", "ARRAY_2D", "CUBE", "ARRAY_CUBE", "TEX_HEADER_DIMENSION"];

/// A special register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    Tid(u8),
    Ctaid(u8),
    LaneId,
    /// The SM that the CTA is on.
    Sm,
    /// Bits 8 and up are the warp's number in its CTA.
    VirtualId,
    EqMask,
    LtMask,
    LeMask,
    GtMask,
    GeMask,
    Zero,
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
            "SR_VIRTUALSMID" => Self::Sm,
            "SR_VIRTID" => Self::VirtualId,
            "SR_EQMASK" => Self::EqMask,
            "SR_LTMASK" => Self::LtMask,
            "SR_LEMASK" => Self::LeMask,
            "SR_GTMASK" => Self::GtMask,
            "SR_GEMASK" => Self::GeMask,
            "SRZ" => Self::Zero,
            "SR_SWINHI" => Self::SharedWindow,
            "SR_CgaCtaId" => Self::ClusterRank,
            // By this number words of constant bank 0 stand lower; what it counts is not known, and here they stand where they do at 0.
            "SR_CgaSize" => Self::Zero,
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

/// `R5` and `RZ`, `UR5` and `URZ`, `P0` and `PT`: by what stands before the number, and what stands for the last.
fn numbered(text: &str, prefix: &str, last: (&str, u8)) -> Option<u8> {
    if text == last.0 {
        return Some(last.1);
    }
    text.strip_prefix(prefix)?.parse().ok()
}

fn register(text: &str) -> Option<u8> {
    numbered(text, "R", ("RZ", RZ))
}

fn uniform(text: &str) -> Option<u8> {
    numbered(text, "UR", ("URZ", URZ))
}

impl Operand {
    /// Takes away what stands in front of a register or around it.
    pub(crate) fn take_sign(&mut self) -> Sign {
        match self {
            Self::Register { sign, .. } | Self::Uniform { sign, .. } | Self::Constant { sign, .. } => {
                std::mem::take(sign)
            }
            Self::Predicate { .. }
            | Self::UniformPredicate { .. }
            | Self::Immediate(_)
            | Self::Address { .. }
            | Self::Special(_)
            | Self::Convergence(_)
            | Self::Descriptors { .. }
            | Self::Shape(_)
            | Self::Other => Sign::default(),
        }
    }

    /// The operand that a text names, or `None` if it is one that nothing here executes.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(rest) = text.strip_prefix("desc[") {
            // Alone it is a policy of caching.
            return match rest.split_once(']')?.1 {
                "" => Some(Self::Other),
                address => Self::address(address),
            };
        }
        if text.starts_with('[') {
            return Self::address(text);
        }
        if let Some(special) = Special::parse(text) {
            return Some(Self::Special(special));
        }
        if let Some(number) = text.strip_prefix('B').and_then(|rest| rest.parse().ok()) {
            return Some(Self::Convergence(number));
        }
        if let Some(rest) = text.strip_prefix("gdesc[") {
            let (register, signs) = rest.split_once(']')?;
            let (mut negated, mut transposed) = ([false; 2], [false; 2]);
            for sign in signs.split('.').skip(1) {
                match sign {
                    "negA" => negated[0] = true,
                    "negB" => negated[1] = true,
                    "tnspA" => transposed[0] = true,
                    "tnspB" => transposed[1] = true,
                    _ => return None,
                }
            }
            return uniform(register).map(|number| Self::Descriptors { number, negated, transposed });
        }
        if let Some(shape) = SHAPES.iter().find(|&&shape| shape == text) {
            return Some(Self::Shape(shape));
        }
        if ["PR", "UPR"].contains(&text) || text.starts_with("SB") || text.starts_with("gsb") {
            return Some(Self::Other);
        }
        let (negated, bare) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
        if let Some(number) = numbered(bare, "P", ("PT", PT)) {
            return Some(Self::Predicate { number, negated });
        }
        if let Some(number) = numbered(bare, "UP", ("UPT", PT)) {
            return Some(Self::UniformPredicate { number, negated });
        }
        // A number keeps its own sign.
        if let Some(value) = number(text) {
            return Some(Self::Immediate(value as u32));
        }
        let mut sign = Sign::default();
        let mut bare = text;
        for (mark, flag) in [('-', &mut sign.negated), ('~', &mut sign.inverted)] {
            if let Some(rest) = bare.strip_prefix(mark) {
                (*flag, bare) = (true, rest);
            }
        }
        let mut half = Half::Both;
        loop {
            // `.ROW` and `.COL` say what the instruction's other operands say already, `.SIGN`, `.24` and `.28` what its name does.
            let (rest, suffix) = match bare.rsplit_once('.') {
                Some((rest, suffix)) if !suffix.ends_with(']') => (rest, suffix),
                _ => break,
            };
            match suffix {
                "H0_H0" => half = Half::Low,
                "H1_H1" => half = Half::High,
                "H1" => half = Half::Upper,
                "B0" | "B1" | "B2" | "B3" => half = Half::Byte(suffix.as_bytes()[1] - b'0'),
                "reuse" | "ROW" | "COL" | "SIGN" | "24" | "28" => {}
                _ => return None,
            }
            bare = rest;
        }
        if let Some(inside) = bare.strip_prefix('|').and_then(|rest| rest.strip_suffix('|')) {
            (sign.absolute, bare) = (true, inside);
        }
        if let Some(rest) = bare.strip_prefix("c[") {
            let (bank, place) = rest.split_once("][")?;
            let place = Self::address(&format!("[{place}"))?;
            let Self::Address { register, wide: false, uniform, offset, .. } = place else { return None };
            return Some(Self::Constant { bank: number(bank)? as u8, register, uniform, offset, sign, half });
        }
        if let Some(number) = uniform(bare) {
            return Some(Self::Uniform { number, sign, half });
        }
        register(bare).map(|number| Self::Register { number, sign, half })
    }

    /// `[R2.64+UR4+0x8]`, `[R2.U32+UR4]`.
    fn address(text: &str) -> Option<Self> {
        let inside = text.strip_prefix('[')?.strip_suffix(']')?;
        let (mut base, mut wide, mut pair, mut shared, mut offset) = (RZ, false, false, URZ, 0);
        for part in inside.split('+') {
            if let Some(value) = number(part) {
                offset += value;
            } else if let Some(number) = uniform(part) {
                shared = number;
            } else if let Some(number) = part.strip_suffix(".64").and_then(uniform) {
                (shared, pair) = (number, true);
            } else {
                let name = part.strip_suffix(".64");
                (wide, pair) = (wide || name.is_some(), pair || part.ends_with(".U32"));
                base = register(name.or_else(|| part.strip_suffix(".U32")).unwrap_or(part))?;
            }
        }
        Some(Self::Address { register: base, wide, uniform: shared, pair: pair || wide, offset })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_as_they_are_printed() {
        let plain = Sign::default();
        let parse = |text| Operand::parse(text).expect(text);
        let register = |number, sign, half| Operand::Register { number, sign, half };
        assert_eq!(parse("RZ"), register(RZ, plain, Half::Both));
        assert_eq!(
            parse("-|R7|.reuse"),
            register(7, Sign { negated: true, absolute: true, ..plain }, Half::Both)
        );
        assert_eq!(parse("R4.H0_H0"), register(4, plain, Half::Low));
        assert_eq!(parse("|R4|.H1_H1"), register(4, Sign { absolute: true, ..plain }, Half::High));
        assert_eq!(
            parse("desc[UR4][R2.64+-0x8]"),
            Operand::Address { register: 2, wide: true, uniform: URZ, pair: true, offset: -8 }
        );
        assert_eq!(
            parse("[R28+UR6+0x8]"),
            Operand::Address { register: 28, wide: false, uniform: 6, pair: false, offset: 8 }
        );
        assert_eq!(
            parse("c[0x3][R24+0x10]"),
            Operand::Constant {
                bank: 3,
                register: 24,
                uniform: URZ,
                offset: 16,
                sign: plain,
                half: Half::Both
            }
        );
        assert_eq!(parse("!PT"), Operand::Predicate { number: PT, negated: true });
        assert_eq!(parse("!UP1"), Operand::UniformPredicate { number: 1, negated: true });
        assert_eq!(parse("-0x2"), Operand::Immediate(0xffff_fffe));
        assert_eq!(parse("B3"), Operand::Convergence(3));
        assert_eq!(Operand::parse("R4.XYZ"), None);
    }
}
