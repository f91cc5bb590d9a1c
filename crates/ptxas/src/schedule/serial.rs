//! Control codes where nothing overlaps. Every instruction waits for both scoreboards and stalls for 15 cycles; one whose
//! latency varies sets a scoreboard when its operands have been read and another when its result is there.

use super::kinds::{Latency, Pipe, latency};
use super::{Issue, name};
use crate::code::Instruction;

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

/// When an instruction is issued. A product of matrices takes longer than one stall can say.
pub(super) fn issue(one: &Instruction) -> Issue {
    let is_product = matches!(latency(one), Latency::Fixed(Pipe::Matrices(_)));
    Issue { control: control(name(&one.name)).into(), pause: is_product.then(|| control("NOP").into()) }
}

/// The control code of an instruction.
pub(super) fn control(name: &str) -> &'static str {
    let head = name.split('.').next().unwrap_or(name);
    match head {
        _ if VARIABLE.contains(&head) => "[B01----:R1:W0:Y:S15]",
        // It is asynchronous to its own scoreboard alone.
        "FENCE" => "[B01----:R-:W0:Y:S15]",
        _ if WITHOUT_RESULT.contains(&head) => "[B01----:R1:W-:Y:S15]",
        // It waits for products by itself, and for no scoreboard.
        "WARPGROUP" => "[B------:R-:W-:Y:S15]",
        // It has to follow at once.
        "ERRBAR" => "[B01----:R-:W-:Y:S00]",
        _ => "[B01----:R-:W-:Y:S15]",
    }
}
