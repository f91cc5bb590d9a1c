//! The architectures whose instruction sets are known.

use std::fmt;
use std::str::FromStr;

/// An instruction set: the 128-bit words of one compute capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Arch {
    /// Turing.
    Sm75,
    /// Ampere, data centre.
    Sm80,
    /// Ampere.
    Sm86,
    /// Ada.
    Sm89,
    /// Hopper, with the instructions of sm_90a.
    Sm90,
    /// Blackwell, data centre, with the instructions of sm_100a.
    Sm100,
    /// Blackwell, with the instructions of sm_120a.
    Sm120,
}

impl Arch {
    /// All of them, oldest first.
    pub const ALL: [Arch; 7] =
        [Arch::Sm75, Arch::Sm80, Arch::Sm86, Arch::Sm89, Arch::Sm90, Arch::Sm100, Arch::Sm120];

    /// The compute capability as one number: 90 for sm_90.
    pub fn number(self) -> u32 {
        match self {
            Arch::Sm75 => 75,
            Arch::Sm80 => 80,
            Arch::Sm86 => 86,
            Arch::Sm89 => 89,
            Arch::Sm90 => 90,
            Arch::Sm100 => 100,
            Arch::Sm120 => 120,
        }
    }

    /// Whether it has an instruction, by its mnemonic without modifiers.
    pub fn has(self, mnemonic: &str) -> bool {
        self.table().forms_named(mnemonic).is_some()
    }

    /// The instruction set of a compute capability. Capabilities of one family share it: 87 has that of 86, 103 that
    /// of 100, 121 that of 120.
    pub fn from_number(number: u32) -> Option<Arch> {
        Some(match number {
            75 => Arch::Sm75,
            80 => Arch::Sm80,
            86..=88 => Arch::Sm86,
            89 => Arch::Sm89,
            90 => Arch::Sm90,
            100..=110 => Arch::Sm100,
            120 | 121 => Arch::Sm120,
            _ => return None,
        })
    }

    /// The instruction set that the `e_flags` of a cubin's ELF header name: bits 8-15 in ABI 8 (low byte 2 or 4), the low byte
    /// before.
    pub fn from_e_flags(e_flags: u32) -> Option<Arch> {
        let low = e_flags & 0xff;
        let number = if low == 2 || low == 4 { e_flags >> 8 & 0xff } else { low };
        Arch::from_number(number)
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.number())
    }
}

/// The text names no architecture that is known here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no SASS instruction set is known for `{0}`; known are sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_120"
)]
pub struct UnknownArch(pub String);

impl FromStr for Arch {
    type Err = UnknownArch;

    fn from_str(text: &str) -> Result<Arch, UnknownArch> {
        let lower = text.to_ascii_lowercase();
        let digits = lower.trim_start_matches("sm").trim_start_matches('_').trim_end_matches(['a', 'f']);
        digits.parse().ok().and_then(Arch::from_number).ok_or_else(|| UnknownArch(text.to_string()))
    }
}
