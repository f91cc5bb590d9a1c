//! The name of an instruction, with what scheduling and the walks over code ask of it again and again.

use smol_str::SmolStr;
use std::ops::Deref;

/// What a mnemonic is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Computed by a pipe. Comparisons and moves belong to the integer pipe; pairs of halves, and what packs them, have one of their own.
    Pipe(Pipe),
    /// A product of matrices.
    Matrices,
    /// Variable, with a result that depends on registers alone.
    Unit,
    Load,
    Atomic,
    Store,
    /// What a lane is given by another one. Where lanes meet for it, what they wait for in front and behind keeps its place.
    Shuffle,
    /// Copies by threads, and objects in shared memory. They keep their order among all others.
    Aside,
    /// They hold the first scoreboard until the copies before them are done.
    Group,
    /// They read no register and write none: lanes of a warp, or warps, wait for one another.
    Meeting,
    /// Control goes to its target.
    Branch,
    /// Control goes nowhere that is known.
    End,
    /// A function is called.
    Call,
    #[default]
    Other,
}

/// Which instructions forward results to one another sooner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pipe {
    Integer,
    Products,
    /// 32-bit factors to 64 bits, whose halves come at different times.
    Wide,
    Halves,
    Doubles,
    /// What loads uniform registers, and what computes them.
    UniformLoad,
    Uniform,
    /// Products of matrices, and the cycles that ptxas leaves until another pipe reads one.
    Matrices(u8),
}

impl Kind {
    fn of(name: &str, head: &str) -> Self {
        // Bytes, as a comparison of strings asks each name of the same length.
        match head.as_bytes() {
            b"IADD3" | b"LOP3" | b"SHF" | b"MOV" | b"SEL" | b"VIMNMX" | b"VIADDMNMX" | b"PRMT" | b"LEA"
            | b"IABS" | b"SGXT" | b"FMNMX" | b"FSEL" | b"ISETP" | b"FSETP" | b"HSETP2" | b"PLOP3"
            | b"I2FP" | b"BMSK" | b"I2IP" | b"VABSDIFF" | b"VABSDIFF4" => Self::Pipe(Pipe::Integer),
            b"IMAD" if name.starts_with("IMAD.WIDE") => Self::Pipe(Pipe::Wide),
            b"IMAD" | b"IDP" | b"FADD" | b"FMUL" | b"FFMA" | b"VIADD" => Self::Pipe(Pipe::Products),
            b"HADD2" | b"HMUL2" | b"HFMA2" | b"HMNMX2" | b"F2FP" => Self::Pipe(Pipe::Halves),
            b"DADD" | b"DMUL" | b"DFMA" | b"DSETP" => Self::Pipe(Pipe::Doubles),
            b"ULDC" | b"UMOV" => Self::Pipe(Pipe::UniformLoad),
            b"UIADD3" | b"UIMAD" | b"USHF" | b"ULEA" | b"ULOP3" => Self::Pipe(Pipe::Uniform),
            b"HMMA" | b"IMMA" | b"BMMA" => Self::Matrices,
            b"DMMA" | b"LDC" | b"LDCU" | b"MUFU" | b"POPC" | b"FLO" | b"BREV" | b"I2F" | b"F2I" | b"F2F"
            | b"FRND" | b"FCHK" | b"S2R" | b"S2UR" => Self::Unit,
            b"LDG" | b"LD" | b"LDS" | b"LDL" | b"LDSM" | b"LDGMC" => Self::Load,
            b"ATOM" | b"ATOMG" | b"ATOMS" | b"RED" | b"REDG" => Self::Atomic,
            b"STG" | b"ST" | b"STS" | b"STL" => Self::Store,
            b"SHFL" => Self::Shuffle,
            b"LDGSTS" | b"SYNCS" => Self::Aside,
            b"LDGDEPBAR" | b"UTMACMDFLUSH" => Self::Group,
            b"WARPSYNC" | b"BAR" | b"YIELD" | b"NOP" | b"BSSY" | b"BSYNC" | b"DEPBAR" => Self::Meeting,
            b"BRA" => Self::Branch,
            b"EXIT" | b"RET" => Self::End,
            b"CALL" => Self::Call,
            _ => Self::Other,
        }
    }
}

/// The mnemonic with its modifiers, and behind a blank the bits that no text shows.
#[derive(Clone, Debug, Default)]
pub struct Name {
    text: SmolStr,
    /// Bytes of the mnemonic alone.
    head: u8,
    kind: Kind,
}

impl Name {
    fn new(text: SmolStr) -> Self {
        let head = text.bytes().position(|it| it == b'.' || it == b' ').unwrap_or(text.len());
        Self { head: u8::try_from(head).unwrap_or(u8::MAX), kind: Kind::of(&text, &text[..head]), text }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The mnemonic alone.
    pub(crate) fn head(&self) -> &str {
        &self.text[..self.head.into()]
    }

    /// The mnemonic with its modifiers alone.
    pub(crate) fn spelled(&self) -> &str {
        &self.text[..self.text.bytes().position(|it| it == b' ').unwrap_or(self.text.len())]
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// It is something else on the device that it is for.
    pub(crate) fn is_rather(&mut self, kind: Kind) {
        self.kind = kind;
    }

    /// Whether control may go elsewhere than to the next line, and does not come back.
    pub(crate) fn leaves(&self) -> bool {
        matches!(self.kind, Kind::Branch | Kind::End)
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        self.text == *other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        self.text == **other
    }
}

impl From<SmolStr> for Name {
    fn from(text: SmolStr) -> Self {
        Self::new(text)
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Self::new(text.into())
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        Self::new(text.into())
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Name, Pipe};

    #[test]
    fn a_name_knows_its_mnemonic() {
        for (text, head, spelled, kind) in [
            ("IMAD", "IMAD", "IMAD", Kind::Pipe(Pipe::Products)),
            ("IMAD.WIDE.U32", "IMAD", "IMAD.WIDE.U32", Kind::Pipe(Pipe::Wide)),
            ("BRA", "BRA", "BRA", Kind::Branch),
            ("BREV", "BREV", "BREV", Kind::Unit),
            ("RET.REL.NODEC", "RET", "RET.REL.NODEC", Kind::End),
            ("SYNCS.X &residue=0x1", "SYNCS", "SYNCS.X", Kind::Aside),
            ("@!PT LDS", "@!PT", "@!PT", Kind::Other),
            ("", "", "", Kind::Other),
        ] {
            let name = Name::from(text);
            assert_eq!((name.head(), name.spelled(), name.kind()), (head, spelled, kind), "{text}");
            assert_eq!(name.leaves(), matches!(kind, Kind::Branch | Kind::End), "{text}");
            assert_eq!(name, text);
        }
    }
}
