//! Control codes where nothing overlaps. Every instruction waits for both scoreboards and stalls for 15 cycles; one whose
//! latency varies sets a scoreboard when its operands have been read and another when its result is there.

use super::Issue;
use super::kinds::{Latency, Pipe, latency};
use crate::Target;
use crate::code::Instruction;
use crate::opcode::Kind;
use sass::Control;
use sass::latency::Consumer;

/// Mnemonics, up to their first modifier, whose results have no fixed latency.
pub(super) const VARIABLE: &[&str] = &[
    "LDC",
    "LDG",
    "LDGMC",
    "LD",
    "LDS",
    "LDL",
    "LDSM",
    "ATOM",
    "ATOMG",
    "ATOMS",
    "SHFL",
    "MUFU",
    "POPC",
    "FLO",
    "BREV",
    "I2F",
    "F2I",
    "F2F",
    "FRND",
    "FCHK",
    "S2R",
    "MATCH",
    "REDUX",
    "QSPC",
    "B2R",
    "SYNCS",
    "LDGSTS",
    "LDGDEPBAR",
    "MOVM",
    "DMMA",
    "TEX",
    "TLD",
    "TLD4",
    "TXD",
    "SULD",
    "TXQ",
];

/// The same, without a result.
pub(super) const WITHOUT_RESULT: &[&str] = &[
    "STG",
    "ST",
    "STS",
    "STL",
    "RED",
    "REDG",
    "MEMBAR",
    "BAR",
    "STSM",
    "ARRIVES",
    "STAS",
    "REDAS",
    "SUST",
    "SURED",
    "UBLKCP",
    "UBLKRED",
    "UBLKPF",
    "UTMALDG",
    "UTMASTG",
    "UTMAREDG",
    "UTMAPF",
    "UTMACCTL",
    "UTMACMDFLUSH",
];

/// The longest stall.
const STALL: u8 = 15;
/// The scoreboards of results and of operands.
const RESULT: u8 = 0;
const OPERANDS: u8 = 1;

/// When an instruction is issued. A product of matrices takes longer than one stall can say, as does on some devices what else is known of.
pub(super) fn issue(one: &Instruction, target: Target) -> Issue {
    let Latency::Fixed(pipe) = latency(one) else {
        return Issue { control: control(one), pauses: Vec::new() };
    };
    let table = sass::latency::table(target.sm());
    let class = table.and_then(|table| Some((table, table.class(one.name.spelled())?)));
    let (least, cycles) = match pipe {
        Pipe::Matrices(cycles) => {
            let known = class.and_then(|(table, class)| table.cycles(class, Consumer::Class(None)));
            (1, known.unwrap_or(0).max(cycles.into()))
        }
        _ => (0, class.and_then(|(table, class)| table.longest(class)).unwrap_or(0)),
    };
    let pauses = cycles.div_ceil(STALL.into()).saturating_sub(1).max(least);
    Issue { control: control(one), pauses: vec![waiting(); pauses as usize] }
}

/// That of one that waits for all before it, and holds nothing.
fn waiting() -> Control {
    Control { wait_mask: 1 << RESULT | 1 << OPERANDS, yield_flag: true, stall: STALL, ..Control::default() }
}

/// The control code of an instruction.
pub(super) fn control(one: &Instruction) -> Control {
    let waits = waiting();
    match one.name.head() {
        // It reads no register.
        "LDCU" => Control { write_scoreboard: Some(RESULT), ..waits },
        head if VARIABLE.contains(&head) || one.name.kind() == Kind::Unit => {
            Control { read_scoreboard: Some(OPERANDS), write_scoreboard: Some(RESULT), ..waits }
        }
        // It is asynchronous to its own scoreboard alone.
        "FENCE" => Control { write_scoreboard: Some(RESULT), ..waits },
        head if WITHOUT_RESULT.contains(&head) => Control { read_scoreboard: Some(OPERANDS), ..waits },
        // It waits for products by itself, and for no scoreboard.
        "WARPGROUP" => Control { wait_mask: 0, ..waits },
        // It has to follow at once.
        "ERRBAR" => Control { stall: 0, ..waits },
        _ => waits,
    }
}
