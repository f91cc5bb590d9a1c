//! Instructions as a device has them. Selection writes those of sm_90; an older device spells some otherwise, computes others by another
//! instruction, and lacks some, which are refused by name.

use crate::Target;
use crate::code::{Class, Code, Instruction, Line, Operand};
use crate::opcode::Kind;
use crate::optimise::constant;
use debug_info::Origin;
use rustc_hash::FxHashMap as HashMap;
use sass::latency::Class::Variable;
use sass::latency::Latencies;
use sass::{Control, Field, Symbols};
use smol_str::{SmolStr, format_smolstr};
use std::fmt::Write;

/// The bit of a word by which its text shows a descriptor.
const DESCRIPTOR_SHOWN: u32 = 101;

/// What nothing is computed with, to ask the instruction table.
struct AnyValue;

impl Symbols for AnyValue {
    fn value(&mut self, _: &str, _: Field, _: u128) -> Option<u64> {
        Some(0x10)
    }
}

impl Target {
    /// Whether a text is an instruction of it.
    pub(crate) fn takes(self, text: &str) -> bool {
        sass::parse(self.arch, text, Control::default(), 0, &mut AnyValue).is_ok()
    }
}

/// How a device spells what all have.
struct Ways {
    /// Singles that become a pair of halves are named.
    names_singles: bool,
    /// Both carries of a sum of three are named, also those that are not wanted.
    names_carries: bool,
    /// So it is with minima.
    names_carries_of_extremes: bool,
    /// Those of signed numbers say so.
    names_signed: bool,
    /// There is a sum of two.
    adds_two: bool,
    /// Something stands behind the handle of a texture or surface.
    names_behind_handles: bool,
    /// The shape of the least product of doubles is written in short.
    shortens_shapes: bool,
}

impl Ways {
    fn of(target: Target) -> Self {
        Self {
            names_singles: target.takes("F2FP.F16.F32.PACK_AB R0, R0, R0"),
            names_carries: target.takes("IADD3 R0, PT, PT, R0, R0, R0"),
            names_carries_of_extremes: target.takes("VIMNMX R0, PT, PT, R0, R0, PT"),
            names_signed: target.takes("VIMNMX.S32 R0, R0, R0, PT"),
            adds_two: target.takes("VIADD R0, R0, R0"),
            names_behind_handles: target.takes("SUST.D.BA.1D.STRONG.SM.TRAP [R0], R0, UR4, 0x0"),
            shortens_shapes: target.takes("DMMA.884 R0, R0, R0, R0"),
        }
    }
}

/// Names two carries behind the result, as far as they are not.
fn name_carries(one: &mut Instruction, never: &'static str) {
    let at = one.written;
    let missing = 3_usize.saturating_sub(at);
    one.operands.splice(at..at, std::iter::repeat_n(Operand::Text(never.into()), missing));
    one.written += missing;
}

/// How many threads it is for stands behind a barrier's number.
fn counts(one: &Instruction) -> bool {
    one.operands.get(1).is_some_and(|it| matches!(it, Operand::Text(text) if text.starts_with("0x")))
}

/// Spells instructions as the device has them. What it does not have comes back, with what it is for.
pub(crate) fn settle(code: &mut Code) -> Vec<(Option<Origin>, String)> {
    let target = code.target;
    if target == Target::default() {
        return Vec::new();
    }
    let latencies = sass::latency::table(target.sm());
    let ways = Ways::of(target);
    for line in &mut code.lines {
        if let Line::Instruction(one) = line {
            spell(one, target, &ways);
            classify(one, target, latencies);
        }
    }
    let mut known: HashMap<String, bool> = HashMap::default();
    let mut missing = Vec::new();
    for line in &code.lines {
        let Line::Instruction(one) = line else { continue };
        let text = sample(one, code);
        let is_known = *known.entry(text).or_insert_with_key(|text| target.takes(text));
        // Lanes meet otherwise where it is not known.
        let is_meeting = one.name.starts_with("WARPSYNC.COLLECTIVE") || one.name == "ENDCOLLECTIVE";
        let names_a_place = one.name.starts_with("RET.REL") || one.name.starts_with("CALL.ABS");
        if !is_known && !is_meeting && !names_a_place {
            missing.push((one.origin, format!("{target} has no {}", one.name.spelled())));
        }
    }
    missing
}

/// What a pipe of sm_90 computes in so many cycles may take another time here, of which a scoreboard tells.
fn classify(one: &mut Instruction, target: Target, latencies: Option<&Latencies>) {
    let varies = |name: &str| latencies.is_some_and(|it| matches!(it.class(name), Some(Variable(_))));
    match one.name.kind() {
        // ptxas lets 18 to 24 cycles pass behind each, which do nothing: here everything waits for it.
        Kind::Unit if one.name.head() == "DMMA" && !target.has_ranks => {
            one.name.is_rather(Kind::Other);
        }
        Kind::Pipe(_) if varies(one.name.spelled()) => one.name.is_rather(Kind::Unit),
        Kind::Other if one.name.head() == "R2UR" && varies("R2UR") => one.name.is_rather(Kind::Unit),
        _ => {}
    }
}

/// An instruction with some registers in place of those that it will have.
fn sample(one: &Instruction, code: &Code) -> String {
    let name = one.name.as_str();
    let mut text = String::from(&name[..name.find(" &").unwrap_or(name.len())]);
    for (index, operand) in one.operands.iter().enumerate() {
        text.push_str(if index == 0 { " " } else { ", " });
        let register = |reg: crate::code::Reg| match code.registers[reg.0 as usize].class {
            Class::General(_) => 16,
            Class::Predicate => 1,
            Class::Uniform(_) => 8,
        };
        let _ = match operand {
            Operand::Target(_) if one.name == "MOV" => write!(text, "0x10"),
            Operand::Target(_) => write!(text, "0x100"),
            Operand::Text(it) if it == crate::emit::FRAME || it == crate::emit::END_OF_FRAME => {
                write!(text, "0x10")
            }
            other => write!(text, "{}", crate::code::Shown(other, &register)),
        };
    }
    text
}

fn spell(one: &mut Instruction, target: Target, ways: &Ways) {
    let renamed = |one: &mut Instruction, to: SmolStr| one.name = to.into();
    let rest = |one: &Instruction| SmolStr::from(&one.name[one.name.head().len()..]);
    match one.name.head() {
        "VIMNMX" if !target.has("VIMNMX") => {
            let rest = rest(one);
            renamed(one, format_smolstr!("IMNMX{rest}"));
        }
        "REDG" if !target.has("REDG") => {
            let rest = rest(one);
            renamed(one, format_smolstr!("RED{rest}"));
        }
        "I2FP" if !target.has("I2FP") => {
            let rest = one.name["I2FP.F32".len()..].replace(".S32", "");
            renamed(one, format_smolstr!("I2F{rest}"));
        }
        "TEX" | "TLD" | "TLD4" | "TXD" | "SUST" | "SULD" | "SURED" if !ways.names_behind_handles => {
            let is_handle =
                |operand: &Operand| matches!(operand, Operand::Text(text) if text.starts_with("UR"));
            if let Some(at) = one.operands.iter().position(is_handle)
                && one.operands.get(at + 1) == Some(&Operand::number(0))
            {
                one.operands.remove(at + 1);
            }
        }
        "DMMA" if ways.shortens_shapes => {
            let name = SmolStr::from(one.name.replace(".8x8x4", ".884"));
            renamed(one, name);
        }
        // The unit that finds the least and greatest is another one.
        "REDUX" if target.has("CREDUX") && (one.name.contains("MIN") || one.name.contains("MAX")) => {
            let rest = rest(one);
            renamed(one, format_smolstr!("CREDUX{rest}"));
        }
        "VIMNMX" if ways.names_carries_of_extremes => name_carries(one, "PT"),
        "VIMNMX" if ways.names_signed && !["U32", "16x2"].iter().any(|it| one.name.contains(it)) => {
            let rest = rest(one);
            renamed(one, format_smolstr!("VIMNMX.S32{rest}"));
        }
        // A sum that goes through the pipe of products, where its operands have a place there.
        "VIADD" if !ways.adds_two && one.name == "VIADD" => {
            let is_plain =
                |operand: &Operand| matches!(operand, Operand::General { before: "", after: "", .. });
            if is_plain(&one.operands[1]) && is_plain(&one.operands[2]) {
                renamed(one, "IMAD.IADD".into());
                one.operands.insert(2, Operand::number(1));
            } else {
                let rest = rest(one);
                renamed(one, format_smolstr!("IADD3{rest}"));
                if let Some(bits) = constant(&one.operands[2]).filter(|bits| bits >> 31 == 1) {
                    one.operands[2] = Operand::Text(format_smolstr!("-{:#x}", bits.wrapping_neg()));
                }
                one.operands.push(Operand::zero());
                if ways.names_carries {
                    name_carries(one, "PT");
                }
            }
        }
        "F2FP" if !ways.names_singles => {
            let name = one.name.replace(".F16.F32.PACK_AB", ".PACK_AB").replace(".F32.PACK_AB", ".PACK_AB");
            renamed(one, name.into());
        }
        // With a descriptor that the text shows, the word has a bit more.
        "LDGSTS" if !target.names_descriptor => {
            let name = format_smolstr!("{} &residue={:#x}", one.name.spelled(), 1_u128 << DESCRIPTOR_SHOWN);
            return renamed(one, name);
        }
        "BAR" if one.name.contains(" &") && !target.barrier_bits[usize::from(counts(one))] => {
            let spelled = SmolStr::from(one.name.spelled());
            renamed(one, spelled);
        }
        // These name two carries, of which the device's text leaves out none.
        "IADD3" | "UIADD3" if ways.names_carries => {
            let never = if one.name.head() == "IADD3" { "PT" } else { "UPT" };
            name_carries(one, never);
        }
        "ULDC" if !target.has("ULDC") => {
            let rest = rest(one);
            renamed(one, format_smolstr!("LDCU{rest}"));
        }
        "WARPSYNC" if one.name == "WARPSYNC.ALL" && !target.has("ENDCOLLECTIVE") => {
            renamed(one, "WARPSYNC".into());
            one.operands = vec![Operand::number(u32::MAX)];
        }
        _ => {}
    }
    if !target.names_descriptor {
        for operand in &mut one.operands {
            if let Operand::Address { before, width, beside, .. } = operand
                && before.starts_with("desc")
            {
                *beside = if *width == 2 { ".64" } else { "" };
                *before = "";
            }
        }
    }
}
