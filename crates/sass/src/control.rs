//! The control code: what the compiler tells the issue logic about one instruction (bits 105-125 of the word).
//!
//! The text form is CuAssembler's, `[B--2---:R-:W0:-:S01]`: scoreboards waited for, the scoreboard that guards the
//! sources until they are read, the one that guards the results until they are written, the yield flag, the stall
//! count. Reuse flags are not part of it: they stand as `.reuse` at the operands.

use std::fmt;
use std::str::FromStr;

/// The first bit of the control code.
const START: u32 = 105;
/// All bits of the control code, reuse flags included.
pub const MASK: u128 = 0x1f_ffff << START;
/// All bits below it.
pub const BELOW: u128 = (1 << START) - 1;

/// A field of the control code that names scoreboards.
pub struct Scoreboards {
    /// What it is to an instruction that has it.
    pub name: &'static str,
    /// Its bits in the word.
    pub mask: u128,
    /// Those bits where it names none.
    pub none: u128,
}

/// All fields that name scoreboards.
pub const SCOREBOARDS: [Scoreboards; 3] = [
    Scoreboards { name: "a scoreboard for its results", mask: 7 << 110, none: 7 << 110 },
    Scoreboards { name: "a scoreboard for its sources", mask: 7 << 113, none: 7 << 113 },
    Scoreboards { name: "scoreboards to wait for", mask: 0x3f << 116, none: 0 },
];

/// What a control code says, field by field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Control {
    /// Scoreboards 0-5 that must be clear before issue, a bit each.
    pub wait_mask: u8,
    /// The scoreboard that is held until the source registers have been read.
    pub read_scoreboard: Option<u8>,
    /// The scoreboard that is held until the results have been written.
    pub write_scoreboard: Option<u8>,
    /// `Y` in the text: bit 109 is 0. With bit 109 = 1 the stall count must be 1-11 and reuse flags have their meaning.
    pub yield_flag: bool,
    /// Cycles until the next instruction of the warp may issue, 0-15.
    pub stall: u8,
    /// The four reuse flags, bits 122-125: the operand in this slot is kept for the next instruction.
    pub reuse: u8,
}

impl Default for Control {
    /// No scoreboards, no reuse, stall for one cycle.
    fn default() -> Control {
        Control {
            wait_mask: 0,
            read_scoreboard: None,
            write_scoreboard: None,
            yield_flag: false,
            stall: 1,
            reuse: 0,
        }
    }
}

impl Control {
    /// The control code in the word. A scoreboard field of 6 reads as scoreboard 6, which no hardware has, so that no bit is
    /// lost.
    pub fn of(word: u128) -> Control {
        let bits = (word >> START) as u32;
        let scoreboard = |at: u32| Some((bits >> at & 7) as u8).filter(|&it| it != 7);
        Control {
            stall: (bits & 15) as u8,
            yield_flag: bits >> 4 & 1 == 0,
            write_scoreboard: scoreboard(5),
            read_scoreboard: scoreboard(8),
            wait_mask: (bits >> 11 & 0x3f) as u8,
            reuse: (bits >> 17 & 15) as u8,
        }
    }

    /// Cycles from the issue of the instruction to that of the next one of its warp, at least: as measured on sm_90.
    pub fn cycles(self) -> u8 {
        match (self.yield_flag, self.stall) {
            (true, 0) => 33,
            // Whoever yields does so for a cycle.
            (true, stall) => stall.max(2),
            (false, 0 | 12..) => 1,
            (false, stall) => stall,
        }
    }

    /// The same word with this control code.
    pub fn put(self, word: u128) -> u128 {
        word & !MASK | self.bits() << START
    }

    fn bits(self) -> u128 {
        u128::from(self.stall & 15)
            | u128::from(!self.yield_flag) << 4
            | u128::from(self.write_scoreboard.unwrap_or(7) & 7) << 5
            | u128::from(self.read_scoreboard.unwrap_or(7) & 7) << 8
            | u128::from(self.wait_mask & 0x3f) << 11
            | u128::from(self.reuse & 15) << 17
    }
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = *b"[B------:R-:W-:-:S00]";
        for (at, place) in text[2..8].iter_mut().enumerate() {
            if self.wait_mask >> at & 1 == 1 {
                *place = b'0' + at as u8;
            }
        }
        if let Some(it) = self.read_scoreboard {
            text[10] = b'0' + it;
        }
        if let Some(it) = self.write_scoreboard {
            text[13] = b'0' + it;
        }
        if self.yield_flag {
            text[15] = b'Y';
        }
        text[18] += self.stall / 10;
        text[19] += self.stall % 10;
        f.write_str(std::str::from_utf8(&text).expect("it is ASCII"))
    }
}

/// The text is not a control code; the byte at which it stops to be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a control code like [B--2---:R-:W0:-:S01]: wrong at its byte {0}")]
pub struct BadControl(pub usize);

impl FromStr for Control {
    type Err = BadControl;

    fn from_str(text: &str) -> Result<Control, BadControl> {
        let form = b"[B??????:R?:W?:?:S??]";
        let text = text.as_bytes();
        let mut control = Control { stall: 0, ..Control::default() };
        for (at, &expected) in form.iter().enumerate() {
            let &byte = text.get(at).ok_or(BadControl(at))?;
            let digit = byte.wrapping_sub(b'0');
            match at {
                2..=7 if usize::from(digit) == at - 2 => control.wait_mask |= 1 << digit,
                10 if digit <= 6 => control.read_scoreboard = Some(digit),
                13 if digit <= 6 => control.write_scoreboard = Some(digit),
                15 if byte == b'Y' => control.yield_flag = true,
                18 if digit <= 1 => control.stall = digit * 10,
                19 if digit <= 9 && control.stall + digit <= 15 => control.stall += digit,
                2..=7 | 10 | 13 | 15 if byte == b'-' => {}
                _ if byte == expected && expected != b'?' => {}
                _ => return Err(BadControl(at)),
            }
        }
        if text.len() > form.len() {
            return Err(BadControl(form.len()));
        }
        Ok(control)
    }
}
