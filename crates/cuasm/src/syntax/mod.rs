//! Text to statements: a line is a label, a directive or an instruction.
//!
//! The parser takes any text, reports what it cannot read and goes on with the next line. Names are bytes, as in ELF
//! files; here each byte is a character of the same number, so that any name can be written, in quotes if need be.

mod expression;
mod line;
mod words;

pub(crate) use line::parse;
pub(crate) use words::{quoted, text as string};

use ptx::source::Span;

/// A directive's argument.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Argument {
    pub(crate) expression: Expression,
    pub(crate) span: Span,
}

/// A value as it is written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    /// `0x10`, `-3`.
    Number(i128),
    /// A symbol, a label, a section, or a word such as `auto`.
    Name(String),
    /// `"text"`; also a name that needs quotes.
    Text(String),
    /// `@progbits`, `@"SHT_CUDA_INFO"`.
    At(String),
    /// Terms, each with whether it is subtracted.
    Sum(Vec<(bool, Expression)>),
    /// `index@(name)`, `32@lo(name + 4)`: what comes before the parenthesis, and what is in it.
    Function(String, Box<Expression>),
}

impl Expression {
    /// The name that this is.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) | Self::Text(name) => Some(name),
            _ => None,
        }
    }
}

/// The control code of an instruction: bits 105 to 121 of its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ControlCode(pub(crate) u32);

/// An instruction's text, with places in it that only the assembler knows the values of.
#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    pub(crate) control: ControlCode,
    pub(crate) control_span: Span,
    /// From the guard to the semicolon, without it.
    pub(crate) text: String,
    /// Where the text stands.
    pub(crate) span: Span,
    /// Operands that are labels or relocations.
    pub(crate) holes: Vec<Hole>,
    /// Bits to invert in what the text encodes to: those that the text does not show.
    pub(crate) residue: u128,
    /// The whole word except for its control code, in place of a text.
    pub(crate) raw: Option<u128>,
}

/// An operand that is written as a label or a relocation.
#[derive(Clone, Debug)]
pub(crate) struct Hole {
    /// The bytes of the instruction's text that it takes.
    pub(crate) at: std::ops::Range<usize>,
    pub(crate) expression: Expression,
    pub(crate) span: Span,
}

/// What a line says.
#[derive(Clone, Debug)]
pub(crate) enum Statement {
    /// `name:`
    Label(String),
    /// `.name argument, argument`
    Directive {
        /// With its full stop.
        name: String,
        arguments: Vec<Argument>,
    },
    /// `[B------:R-:W-:-:S01] NOP ;`
    Instruction(Box<Instruction>),
}

/// A statement with its place: for a directive the directive's name.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) statement: Statement,
    pub(crate) span: Span,
}

impl ControlCode {
    const STALL: u32 = 0;
    const YIELD: u32 = 4;
    const WRITE: u32 = 5;
    const READ: u32 = 8;
    const WAIT: u32 = 11;
    /// Where it begins in an instruction word, and how many bits it has.
    pub(crate) const AT: u32 = 105;
    pub(crate) const BITS: u32 = 17;
    /// Its bits in an instruction word.
    pub(crate) const MASK: u128 = ((1 << Self::BITS) - 1) << Self::AT;

    /// The control code of a word.
    pub(crate) fn of(word: u128) -> Self {
        Self(((word & Self::MASK) >> Self::AT) as u32)
    }

    /// As bits of a word.
    pub(crate) fn bits(self) -> u128 {
        u128::from(self.0) << Self::AT
    }

    /// Cycles until the warp may issue its next instruction.
    pub(crate) fn stall(self) -> u32 {
        self.0 >> Self::STALL & 15
    }

    /// The scoreboard that is released when the result is written.
    pub(crate) fn write_scoreboard(self) -> Option<u32> {
        Some(self.0 >> Self::WRITE & 7).filter(|&scoreboard| scoreboard != 7)
    }

    /// The scoreboard that is released when the operands have been read.
    pub(crate) fn read_scoreboard(self) -> Option<u32> {
        Some(self.0 >> Self::READ & 7).filter(|&scoreboard| scoreboard != 7)
    }

    /// A bit for each scoreboard that must be at zero before the instruction issues.
    pub(crate) fn wait_mask(self) -> u32 {
        self.0 >> Self::WAIT & 63
    }
}

impl std::fmt::Display for ControlCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[B")?;
        for scoreboard in 0..6 {
            match self.wait_mask() >> scoreboard & 1 {
                0 => f.write_str("-")?,
                _ => write!(f, "{scoreboard}")?,
            }
        }
        for (letter, scoreboard) in [("R", self.0 >> Self::READ & 7), ("W", self.0 >> Self::WRITE & 7)] {
            match scoreboard {
                7 => write!(f, ":{letter}-")?,
                _ => write!(f, ":{letter}{scoreboard}")?,
            }
        }
        let yields = if self.0 >> Self::YIELD & 1 == 0 { "Y" } else { "-" };
        write!(f, ":{yields}:S{:02}]", self.stall())
    }
}

impl std::str::FromStr for ControlCode {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).ok_or("not in brackets")?;
        let fields: Vec<&str> = inner.split(':').collect();
        let [wait, read, write, yields, stall] = fields[..] else {
            return Err("there are five fields between colons");
        };
        let mask = wait.strip_prefix('B').filter(|mask| mask.len() == 6).ok_or("the first field is `B------`")?;
        let mut code = 0;
        for (scoreboard, letter) in mask.bytes().enumerate() {
            if usize::from(letter) == usize::from(b'0') + scoreboard {
                code |= 1 << (Self::WAIT as usize + scoreboard);
            } else if letter != b'-' {
                return Err("each place after `B` holds its own number, from 0 to 5, or `-`");
            }
        }
        let scoreboard = |field: &str, letter: char| match field.strip_prefix(letter)?.as_bytes() {
            [b'-'] => Some(7),
            [digit @ b'0'..=b'6'] => Some(u32::from(digit - b'0')),
            _ => None,
        };
        code |= scoreboard(read, 'R').ok_or("the second field is `R-` or `R0` to `R6`")? << Self::READ;
        code |= scoreboard(write, 'W').ok_or("the third field is `W-` or `W0` to `W6`")? << Self::WRITE;
        match yields {
            "-" => code |= 1 << Self::YIELD,
            "Y" => {}
            _ => return Err("the fourth field is `Y` or `-`"),
        }
        let digits = stall.strip_prefix('S').filter(|digits| matches!(digits.len(), 1 | 2));
        let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        let cycles = digits.and_then(|digits| digits.parse().ok()).filter(|&cycles: &u32| cycles < 16);
        Ok(Self(code | cycles.ok_or("the last field is `S00` to `S15`")? << Self::STALL))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_codes_read_back() {
        for bits in 0..1 << ControlCode::BITS {
            let code = ControlCode(bits);
            assert_eq!(code.to_string().parse(), Ok(code), "{code}");
        }
        assert_eq!(ControlCode(0b000100_111_000_1_0001).to_string(), "[B--2---:R-:W0:-:S01]");
        for wrong in ["[]", "[B--1---:R-:W-:-:S01]", "[B------:R-:W-:-:S16]", "[B------:R8:W-:-:S01]"] {
            assert!(wrong.parse::<ControlCode>().is_err(), "{wrong}");
        }
    }
}
