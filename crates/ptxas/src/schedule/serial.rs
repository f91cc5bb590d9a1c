//! Control codes where nothing overlaps. Every instruction waits for both scoreboards and stalls for 15 cycles; one whose
//! latency varies sets a scoreboard when its operands have been read and another when its result is there.

use super::Issue;
use super::kinds::{Latency, Pipe, latency};
use crate::code::Instruction;
use sass::Control;

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

/// When an instruction is issued. A product of matrices takes longer than one stall can say.
pub(super) fn issue(one: &Instruction) -> Issue {
    let is_product = matches!(latency(one), Latency::Fixed(Pipe::Matrices(_)));
    Issue { control: control(one.name.head()), pause: is_product.then(|| control("NOP")) }
}

/// The control code of an instruction.
pub(super) fn control(head: &str) -> Control {
    let waits = Control {
        wait_mask: 1 << RESULT | 1 << OPERANDS,
        yield_flag: true,
        stall: STALL,
        ..Control::default()
    };
    match head {
        _ if VARIABLE.contains(&head) => {
            Control { read_scoreboard: Some(OPERANDS), write_scoreboard: Some(RESULT), ..waits }
        }
        // It is asynchronous to its own scoreboard alone.
        "FENCE" => Control { write_scoreboard: Some(RESULT), ..waits },
        _ if WITHOUT_RESULT.contains(&head) => Control { read_scoreboard: Some(OPERANDS), ..waits },
        // It waits for products by itself, and for no scoreboard.
        "WARPGROUP" => Control { wait_mask: 0, ..waits },
        // It has to follow at once.
        "ERRBAR" => Control { stall: 0, ..waits },
        _ => waits,
    }
}
