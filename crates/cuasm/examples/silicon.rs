//! Microbenchmarks of a real GPU: `silicon make FOLDER` writes kernels and the list that `silicon/run.c` runs,
//! `silicon read RESULTS` says what the results mean.
//!
//! A latency is measured by breaking it: a producer writes a register that held another value, a consumer reads it some
//! cycles later, and the least distance at which it reads the new value is the latency. All distances stand in one
//! kernel, which goes over them three times, so that the last time is not disturbed by instruction fetches.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::path::Path;

/// What produces: a name, the instruction, and which registers its result is in.
const PRODUCERS: &[(&str, &str, Result)] = &[
    ("IADD3", "IADD3 R20, R10, R11, RZ", Result::Vector),
    ("LOP3", "LOP3.LUT R20, R10, R11, RZ, 0x3c, !PT", Result::Vector),
    ("SHF", "SHF.L.U32 R20, R10, 0x3, RZ", Result::Vector),
    ("MOV", "MOV R20, R10", Result::Vector),
    ("SEL", "SEL R20, R10, R11, P1", Result::Vector),
    ("VIADD", "VIADD R20, R10, 0x7", Result::Vector),
    ("VIMNMX", "VIMNMX R20, R10, R11, PT", Result::Vector),
    ("PRMT", "PRMT R20, R10, 0x5410, R11", Result::Vector),
    ("LEA", "LEA R20, R10, R11, 0x2", Result::Vector),
    ("IABS", "IABS R20, R10", Result::Vector),
    ("SGXT", "SGXT R20, R10, 0x4", Result::Vector),
    ("IMAD", "IMAD R20, R10, R11, R12", Result::Vector),
    ("IMAD.MOV", "IMAD.MOV.U32 R20, RZ, RZ, R10", Result::Vector),
    ("IMAD.HI", "IMAD.HI.U32 R20, R13, R11, R12", Result::Vector),
    ("IMAD.WIDE", "IMAD.WIDE.U32 R20, R10, R11, R14", Result::Vector),
    ("IMAD.WIDE.high", "IMAD.WIDE.U32 R22, R13, R13, R14", Result::HighOf22),
    ("IDP", "IDP.4A.S8.S8 R20, R10, R11, R12", Result::Vector),
    ("FADD", "FADD R20, R16, R17", Result::Vector),
    ("FMUL", "FMUL R20, R16, R17", Result::Vector),
    ("FFMA", "FFMA R20, R16, R17, R18", Result::Vector),
    ("FMNMX", "FMNMX R20, R16, R17, PT", Result::Vector),
    ("FSEL", "FSEL R20, R16, R17, P1", Result::Vector),
    ("I2FP", "I2FP.F32.S32 R20, R10", Result::Vector),
    ("HMUL2", "HMUL2 R20, R13, R13", Result::Vector),
    ("HFMA2.MMA", "HFMA2.MMA R20, R13, R13, R13", Result::Vector),
    ("CS2R.32", "CS2R.32 R20, SR_CLOCKLO", Result::Clock),
    ("P2R", "P2R R20, PR, RZ, 0x7f", Result::Vector),
    ("MOV.UR", "MOV R20, UR8", Result::Vector),
    ("HMMA.16816.F32", "HMMA.16816.F32 R20, R32, R36, RZ", Result::Vector),
    ("HMMA.1688.F32", "HMMA.1688.F32 R20, R32, R36, RZ", Result::Vector),
    ("HMMA.16816.F16", "HMMA.16816.F16 R20, R32, R36, RZ", Result::Vector),
    ("IMMA.16816.S8", "IMMA.16816.S8.S8 R20, R32.ROW, R36.COL, RZ", Result::Vector),
    ("DADD", "DADD R20, R26, R28", Result::Pair),
    ("DMUL", "DMUL R20, R26, R28", Result::Pair),
    ("DFMA", "DFMA R20, R26, R28, R26", Result::Pair),
    ("ISETP", "ISETP.LT.AND P0, PT, R10, R11, PT", Result::Predicate),
    ("FSETP", "FSETP.GT.AND P0, PT, R17, R16, PT", Result::Predicate),
    ("DSETP", "DSETP.GT.AND P0, PT, R26, R28, PT", Result::Predicate),
    ("HSETP2", "HSETP2.NEU.AND P0, PT, R13.H0_H0, R16.H0_H0, PT", Result::Predicate),
    ("PLOP3", "PLOP3.LUT P0, PT, P1, PT, PT, 0x80, 0x0", Result::Predicate),
    ("R2P", "R2P PR, R10, 0x1", Result::Predicate),
    ("LOP3.P", "LOP3.LUT P0, RZ, R10, R11, RZ, 0xc0, !PT", Result::Predicate),
    ("IADD3.P", "IADD3 RZ, P0, R13, R13, RZ", Result::Predicate),
    ("UMOV", "UMOV UR10, 0x1234", Result::Uniform),
    ("UIADD3", "UIADD3 UR10, UR8, UR9, URZ", Result::Uniform),
    ("ULOP3", "ULOP3.LUT UR10, UR8, UR9, URZ, 0x3c, !UPT", Result::Uniform),
    ("USHF", "USHF.L.U32 UR10, UR8, 0x3, URZ", Result::Uniform),
    ("UIMAD", "UIMAD UR10, UR8, UR9, URZ", Result::Uniform),
    ("ULEA", "ULEA UR10, UR8, UR9, 0x2", Result::Uniform),
    ("USEL", "USEL UR10, UR8, UR9, UPT", Result::Uniform),
    ("ULDC", "ULDC UR10, c[0x0][0x0]", Result::Uniform),
    ("R2UR", "R2UR UR10, R10", Result::Uniform),
    ("VOTEU", "VOTEU.ANY UR10, UPT, PT", Result::Uniform),
    ("UISETP", "UISETP.LT.AND UP0, UPT, UR8, UR9, UPT", Result::UniformPredicate),
    ("VOTE", "VOTE.ANY R20, PT, PT", Result::Vector),
];

/// Where a result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Result {
    Vector,
    /// In R23.
    HighOf22,
    /// Never the same number.
    Clock,
    Pair,
    Predicate,
    Uniform,
    UniformPredicate,
}

/// What consumes: a name, the instruction with `SRC` for the register and `DST` for its result, and of which results.
const CONSUMERS: &[(&str, &str, &[Result])] = &[
    ("IADD3", "IADD3 DST, SRC, 0x1, RZ", &[Result::Vector, Result::HighOf22]),
    ("LOP3", "LOP3.LUT DST, SRC, 0xff, RZ, 0x3c, !PT", &[Result::Vector, Result::HighOf22]),
    ("IMAD", "IMAD DST, SRC, 0x3, RZ", &[Result::Vector, Result::HighOf22]),
    ("IMAD.C", "IMAD DST, R10, 0x3, SRC", &[Result::Vector]),
    ("FADD", "FADD DST, SRC, R17", &[Result::Vector, Result::HighOf22]),
    ("FFMA", "FFMA DST, SRC, R17, R18", &[Result::Vector]),
    ("SHF", "SHF.L.U32 DST, SRC, 0x1, RZ", &[Result::Vector]),
    ("PRMT", "PRMT DST, SRC, 0x3210, R10", &[Result::Vector]),
    ("HMUL2", "HMUL2 DST, SRC, R13", &[Result::Vector]),
    ("I2FP", "I2FP.F32.S32 DST, SRC", &[Result::Vector]),
    ("DADD", "DADD R30, R20, R28", &[Result::Pair]),
    ("MOV.low", "MOV DST, R20", &[Result::Pair]),
    ("MOV.high", "MOV DST, R21", &[Result::Pair]),
    ("MUFU", "MUFU.RCP DST, SRC", &[Result::Vector]),
    ("POPC", "POPC DST, SRC", &[Result::Vector]),
    ("SHFL", "SHFL.IDX PT, DST, SRC, RZ, 0x1f", &[Result::Vector]),
    ("STG", "STG.E desc[UR4][R2.64+OFFSET], SRC", &[Result::Vector]),
    ("STS", "STS [0x400], SRC", &[]),
    ("guard", "@P0 MOV DST, R10", &[Result::Predicate]),
    ("SEL", "SEL DST, R10, R11, P0", &[Result::Predicate]),
    ("FSEL", "FSEL DST, R10, R11, P0", &[Result::Predicate]),
    ("PLOP3", "PLOP3.LUT P2, PT, P0, PT, PT, 0x80, 0x0", &[Result::Predicate]),
    ("P2R", "P2R DST, PR, RZ, 0x1", &[Result::Predicate]),
    ("IADD3.X", "IADD3.X DST, R10, R11, RZ, P0, !PT", &[Result::Predicate]),
    ("MOV", "MOV DST, UR10", &[Result::Uniform]),
    ("IADD3", "IADD3 DST, R10, UR10, RZ", &[Result::Uniform]),
    ("IMAD", "IMAD DST, R10, UR10, RZ", &[Result::Uniform]),
    ("UIADD3", "UIADD3 UR12, UR10, UR9, URZ", &[Result::Uniform]),
    ("UMOV", "UMOV UR12, UR10", &[Result::Uniform]),
    ("guard", "@UP0 UMOV UR12, UR8", &[Result::UniformPredicate]),
    ("USEL", "USEL UR12, UR8, UR9, UP0", &[Result::UniformPredicate]),
];

/// Instructions of variable latency.
const VARIABLE: &[(&str, &str)] = &[
    ("MUFU.RCP", "MUFU.RCP R20, R16"),
    ("MUFU.EX2", "MUFU.EX2 R20, R16"),
    ("POPC", "POPC R20, R13"),
    ("FLO", "FLO.U32 R20, R13"),
    ("BREV", "BREV R20, R13"),
    ("I2F", "I2F.RP R20, R10"),
    ("F2I", "F2I.TRUNC.NTZ R20, R16"),
    ("F2F.F64", "F2F.F64.F32 R20, R16"),
    ("S2R.TID", "S2R R20, SR_TID.X"),
    ("S2R.LANEID", "S2R R20, SR_LANEID"),
    ("S2R.CTAID", "S2R R20, SR_CTAID.X"),
    ("SHFL", "SHFL.IDX PT, R20, R13, RZ, 0x1f"),
    ("LDC", "LDC R20, c[0x0][0x4]"),
    ("LDS", "LDS R20, [0x400]"),
    ("LDG", "LDG.E R20, desc[UR4][R4.64]"),
    ("LDG.64", "LDG.E.64 R20, desc[UR4][R4.64]"),
    ("DADD", "DADD R20, R26, R28"),
    ("DFMA", "DFMA R20, R26, R28, R26"),
    ("MATCH", "MATCH.ANY R20, R13"),
    ("R2UR", "R2UR UR10, R10"),
];

/// Distances that are tried.
const DISTANCES: u32 = 40;
/// Results are kept in registers from here on.
const KEPT: u32 = 64;

/// The head of each kernel: addresses in R2 (results) and R4 (input), the descriptor in UR4, operands in registers.
const HEAD: &str = "\
	.target sm_90
	.kernel probe, 8, 8
[B------:R-:W0:-:S02] LDC.64 R2, c[0x0][0x210] ;
[B------:R-:W1:-:S02] LDC.64 R4, c[0x0][0x218] ;
[B------:R-:W-:Y:S15] ULDC.64 UR4, c[0x0][0x208] ;
[B------:R-:W-:Y:S15] UMOV UR8, 0x3 ;
[B------:R-:W-:Y:S15] UMOV UR9, 0x7 ;
[B------:R-:W-:Y:S15] MOV R10, 0x3 ;
[B------:R-:W-:Y:S15] MOV R11, 0x7 ;
[B------:R-:W-:Y:S15] MOV R12, 0xb ;
[B------:R-:W-:Y:S15] MOV R13, 0xbc003c00 ;
[B------:R-:W-:Y:S15] MOV R14, 0x5 ;
[B------:R-:W-:Y:S15] MOV R15, 0x0 ;
[B------:R-:W-:Y:S15] MOV R16, 0x3f800000 ;
[B------:R-:W-:Y:S15] MOV R17, 0x40000000 ;
[B------:R-:W-:Y:S15] MOV R18, 0x40400000 ;
[B------:R-:W-:Y:S15] MOV R26, 0x0 ;
[B------:R-:W-:Y:S15] MOV R27, 0x40080000 ;
[B------:R-:W-:Y:S15] MOV R28, 0x0 ;
[B------:R-:W-:Y:S15] MOV R29, 0x3ff00000 ;
[B------:R-:W-:Y:S15] MOV R32, 0x3c003c00 ;
[B------:R-:W-:Y:S15] MOV R33, 0x3c003c00 ;
[B------:R-:W-:Y:S15] MOV R34, 0x3c003c00 ;
[B------:R-:W-:Y:S15] MOV R35, 0x3c003c00 ;
[B------:R-:W-:Y:S15] MOV R36, 0x3c003c00 ;
[B------:R-:W-:Y:S15] MOV R37, 0x3c003c00 ;
[B------:R-:W-:Y:S15] MOV R8, 0x0 ;
[B------:R-:W-:Y:S15] ISETP.EQ.AND P1, PT, R8, 0x0, PT ;
[B01----:R-:W-:Y:S15] NOP ;
";

const TAIL: &str = "\
[B------:R-:W-:Y:S15] NOP ;
[B------:R-:W-:Y:S05] EXIT ;
.L_end:
[B------:R-:W-:Y:S00] BRA `(.L_end) ;
";

fn settle(out: &mut String) {
    out.push_str("[B------:R-:W-:Y:S15] NOP ;\n[B------:R-:W-:Y:S15] NOP ;\n[B------:R-:W-:Y:S15] NOP ;\n");
}

/// An instruction with a control code of its stall count alone.
fn plain(out: &mut String, stall: u32, text: &str) {
    let yields = if stall > 11 { "Y" } else { "-" };
    let _ = writeln!(out, "[B------:R-:W-:{yields}:S{stall:02}] {text} ;");
}

/// Cycles from an instruction to the next.
fn distance(out: &mut String, cycles: u32, text: &str) {
    plain(out, cycles.min(11), text);
    let mut left = cycles.saturating_sub(11);
    while left > 0 {
        plain(out, left.min(11), "NOP");
        left -= left.min(11);
    }
}

/// A kernel that tries all distances between a producer and a consumer.
fn latency(producer: &str, result: Result, consumer: &str) -> String {
    let mut out = HEAD.to_owned();
    let predicate_result = consumer.contains("P2,");
    let uniform_result = consumer.contains("UR12");
    out.push_str(".L_again:\n");
    for cycles in 1..=DISTANCES {
        // What the consumer reads if it comes too early.
        for old in [
            "MOV R20, 0x4048f5c3",
            "MOV R21, 0x40590000",
            "MOV R23, 0x41200000",
            "UMOV UR10, 0x77",
            "UMOV UR12, 0x55",
            "MOV R30, 0x0",
        ] {
            plain(&mut out, 11, old);
        }
        let old = if producer.starts_with("IADD3 RZ") || !matches!(result, Result::Predicate) {
            "PT"
        } else {
            "!PT"
        };
        let _ = old;
        plain(&mut out, 11, "ISETP.NE.AND P0, PT, R8, R8, PT");
        plain(&mut out, 11, "ISETP.NE.AND P2, PT, R8, R8, PT");
        plain(&mut out, 11, "UISETP.NE.AND UP0, UPT, UR8, UR8, UPT");
        let kept = KEPT + cycles;
        plain(&mut out, 11, &format!("MOV R{kept}, 0xabcd"));
        settle(&mut out);
        distance(&mut out, cycles, producer);
        let source = if result == Result::HighOf22 { "R23" } else { "R20" };
        let offset = format!("{:#x}", cycles * 4);
        let text =
            consumer.replace("SRC", source).replace("DST", &format!("R{kept}")).replace("OFFSET", &offset);
        let variable = ["MUFU", "POPC", "SHFL", "DADD"].iter().any(|name| text.starts_with(name));
        let control = if variable { "[B------:R-:W2:-:S02]" } else { "[B------:R-:W-:Y:S15]" };
        let _ = writeln!(out, "{control} {text} ;");
        out.push_str("[B--2---:R-:W-:Y:S15] NOP ;\n");
        settle(&mut out);
        if consumer.starts_with("DADD") {
            plain(&mut out, 11, &format!("MOV R{kept}, R31"));
        }
        if predicate_result {
            plain(&mut out, 11, &format!("@P2 MOV R{kept}, 0x1"));
        }
        if uniform_result {
            plain(&mut out, 11, &format!("MOV R{kept}, UR12"));
        }
    }
    out.push_str("[B------:R-:W-:Y:S15] IADD3 R8, R8, 0x1, RZ ;\n[B------:R-:W-:Y:S15] ISETP.LT.AND P3, PT, R8, 0x3, PT ;\n");
    out.push_str("[B------:R-:W-:Y:S15] @P3 BRA `(.L_again) ;\n");
    if !consumer.starts_with("STG") {
        for cycles in 1..=DISTANCES {
            let _ = writeln!(
                out,
                "[B------:R-:W-:Y:S15] STG.E desc[UR4][R2.64+{:#x}], R{} ;",
                cycles * 4,
                KEPT + cycles
            );
        }
    }
    out + TAIL
}

/// A kernel that stores the clock's low half before and after some lines.
fn timed(lines: &str) -> String {
    let mut out = HEAD.to_owned();
    out.push_str(".L_again:\n");
    settle(&mut out);
    out.push_str("[B------:R-:W-:Y:S15] CS2R.32 R60, SR_CLOCKLO ;\n");
    out.push_str(lines);
    out.push_str("[B------:R-:W-:Y:S15] CS2R.32 R61, SR_CLOCKLO ;\n");
    settle(&mut out);
    out.push_str("[B------:R-:W-:Y:S15] IADD3 R8, R8, 0x1, RZ ;\n[B------:R-:W-:Y:S15] ISETP.LT.AND P3, PT, R8, 0x3, PT ;\n");
    out.push_str("[B------:R-:W-:Y:S15] @P3 BRA `(.L_again) ;\n");
    out.push_str("[B------:R-:W-:Y:S15] IADD3 R61, R61, -R60, RZ ;\n");
    out.push_str("[B------:R-:W-:Y:S15] STG.E desc[UR4][R2.64+0x4], R61 ;\n");
    out.push_str("[B------:R-:W-:Y:S15] STG.E desc[UR4][R2.64+0x8], R20 ;\n");
    out + TAIL
}

/// Warps that take a clock every eight instructions of one control code.
fn interleaved(control: &str) -> String {
    let mut out = HEAD.to_owned();
    out.push_str("[B------:R-:W0:-:S02] S2R R9, SR_TID.X ;\n[B0-----:R-:W-:Y:S15] NOP ;\n");
    out.push_str("[B------:R-:W-:Y:S15] IMAD.SHL.U32 R9, R9, 0x4, RZ ;\n[B------:R-:W-:Y:S15] IADD3 R2, P0, R2, R9, RZ ;\n");
    out.push_str("[B------:R-:W-:Y:S15] IADD3.X R3, R3, RZ, RZ, P0, !PT ;\n.L_again:\n");
    out.push_str("[B------:R-:W-:Y:S15] BAR.SYNC.DEFER_BLOCKING 0x0 ;\n");
    for sample in 0..16 {
        for register in 0..8 {
            let _ = writeln!(out, "{control} IADD3 R{}, R10, R11, RZ ;", 40 + register);
        }
        let _ = writeln!(out, "{control} CS2R.32 R{}, SR_CLOCKLO ;", KEPT + sample);
    }
    settle(&mut out);
    out.push_str("[B------:R-:W-:Y:S15] IADD3 R8, R8, 0x1, RZ ;\n[B------:R-:W-:Y:S15] ISETP.LT.AND P3, PT, R8, 0x3, PT ;\n");
    out.push_str("[B------:R-:W-:Y:S15] @P3 BRA `(.L_again) ;\n");
    for sample in 0..16 {
        // A row of 256 threads for each sample.
        let offset = if sample == 0 { String::new() } else { format!("+{:#x}", sample * 1024) };
        let _ = writeln!(out, "[B------:R-:W-:Y:S15] STG.E desc[UR4][R2.64{offset}], R{} ;", KEPT + sample);
    }
    out + TAIL
}

/// Every kernel with its name, threads and words of results.
fn kernels() -> Vec<(String, String, u32, u32)> {
    let mut found = Vec::new();
    let words = DISTANCES + 1;
    for (producer, text, result) in PRODUCERS {
        for (consumer, use_of, kinds) in CONSUMERS {
            if kinds.contains(result) {
                found.push((
                    format!("latency/{producer}/{consumer}"),
                    latency(text, *result, use_of),
                    32,
                    words,
                ));
            }
        }
    }
    // How long an instruction holds the next one back.
    for stall in 0..16 {
        for yields in ["Y", "-"] {
            let lines =
                format!("[B------:R-:W-:{yields}:S{stall:02}] IADD3 R20, R10, R11, RZ ;\n").repeat(32);
            found.push((format!("stall/{yields}/{stall}"), timed(&lines), 32, 3));
        }
    }
    // From issue to the scoreboard, and how soon the scoreboard can be waited for.
    for (name, text) in VARIABLE {
        for stall in 1..=4 {
            let poison = "[B------:R-:W-:Y:S15] MOV R20, 0x7777 ;\n[B------:R-:W-:Y:S15] NOP ;\n";
            let lines = format!(
                "{poison}[B------:R-:W-:Y:S15] CS2R.32 R60, SR_CLOCKLO ;\n[B------:R-:W2:-:S{stall:02}] {text} ;\n[B--2---:R-:W-:Y:S15] IADD3 R20, R20, 0x1, RZ ;\n"
            );
            found.push((format!("scoreboard/{name}/{stall}"), timed(&lines), 32, 3));
        }
    }
    // A register that a store still reads is written: how soon is that too soon?
    let mut store = HEAD.to_owned();
    for cycles in 1..=DISTANCES {
        plain(&mut store, 11, "MOV R20, 0x1111");
        settle(&mut store);
        distance(&mut store, cycles, &format!("STG.E desc[UR4][R2.64+{:#x}], R20", cycles * 4));
        plain(&mut store, 11, "MOV R20, 0x2222");
        settle(&mut store);
    }
    found.push(("war/STG".to_owned(), store + TAIL, 32, words));
    // Loads that share a scoreboard: waiting for it waits for all; DEPBAR waits for some.
    let loads = "[B------:R-:W-:Y:S15] MOV R20, 0x7777 ;\n[B------:R-:W-:Y:S15] MOV R21, 0x7777 ;\n[B------:R-:W2:-:S02] LDG.E R20, desc[UR4][R4.64] ;\n[B------:R-:W2:-:S02] LDG.E R21, desc[UR4][R4.64+0x800] ;\n[B------:R-:W2:-:S02] LDG.E R22, desc[UR4][R4.64+0x1000] ;\n";
    let sum = "IADD3 R20, R20, R21, R22 ;\n";
    found.push(("shared/wait".to_owned(), timed(&format!("{loads}[B--2---:R-:W-:Y:S15] {sum}")), 32, 3));
    for left in 0..3 {
        let lines = format!(
            "{loads}[B------:R-:W-:Y:S04] DEPBAR.LE SB2, {left:#x} ;\n[B------:R-:W-:Y:S15] {sum}[B--2---:R-:W-:Y:S15] NOP ;\n"
        );
        found.push((format!("shared/depbar{left}"), timed(&lines), 32, 3));
    }
    for stall in [1, 2, 4, 8] {
        for yields in ["Y", "-"] {
            let control = format!("[B------:R-:W-:{yields}:S{stall:02}]");
            found.push((format!("yield/{yields}/{stall}"), interleaved(&control), 256, 3841));
        }
    }
    found
}

fn make(folder: &Path) -> std::result::Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(folder)?;
    let mut list = String::new();
    let mut names = String::new();
    let mut refused = BTreeMap::new();
    for (number, (name, text, threads, words)) in kernels().into_iter().enumerate() {
        std::fs::write(folder.join(format!("k{number}.cuasm")), &text)?;
        writeln!(names, "{name}|k{number}|{threads}|{words}")?;
        let source = ptx::source::Source::new(name.clone(), text);
        match cuasm::assemble(&source) {
            Ok(assembled) => {
                let file = format!("k{number}.cubin");
                std::fs::write(folder.join(&file), assembled.bytes)?;
                let repeats = if name.starts_with("latency") { 4 } else { 2 };
                writeln!(list, "{name} {file} probe {threads} {words} {repeats}")?;
            }
            Err(found) => {
                let first = &found[0];
                let line = source.text().lines().nth(source.line_column(first.span.start).0 as usize - 1);
                refused.insert(line.unwrap_or("").to_owned(), first.message.clone());
            }
        }
    }
    std::fs::write(folder.join("names"), &names)?;
    std::fs::write(folder.join("list"), &list)?;
    println!("{} kernels", list.lines().count());
    for (line, message) in refused {
        println!("refused: {line}: {message}");
    }
    Ok(())
}

/// The least distance from which on all results are the last one's; none if even the first is.
fn least(words: &[&str]) -> Option<usize> {
    let last = words.last()?;
    words.iter().rposition(|word| word != last).map(|wrong| wrong + 2)
}

fn read(path: &Path) -> std::result::Result<(), Box<dyn Error>> {
    for line in std::fs::read_to_string(path)?.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [name, status, results @ ..] = &words[..] else { continue };
        if name.starts_with("latency/") || name.starts_with("war/") {
            let results = results.get(1..).unwrap_or_default();
            match (*status, least(results)) {
                ("ok" | "unstable", Some(cycles)) => {
                    println!("{name} {cycles} {status} first {:?} last {:?}", results.first(), results.last())
                }
                ("ok" | "unstable", None) => println!("{name} at most 1 {status} last {:?}", results.last()),
                _ => println!("{line}"),
            }
        } else if name.starts_with("yield/") {
            let clock = |sample: usize, warp: usize| {
                u32::from_str_radix(results.get(sample * 256 + warp * 32).unwrap_or(&"0"), 16).unwrap_or(0)
            };
            let start = (0..8).map(|warp| clock(0, warp)).min().unwrap_or(0);
            println!("{name} {status}");
            for warp in [0, 4] {
                let row: Vec<String> =
                    (0..16).map(|sample| clock(sample, warp).wrapping_sub(start).to_string()).collect();
                println!("  warp {warp}: {}", row.join(" "));
            }
        } else {
            println!("{line}");
        }
    }
    Ok(())
}

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().collect();
    match words.get(1..).unwrap_or_default() {
        [command, path] if command == "make" => make(Path::new(path)),
        [command, path] if command == "read" => read(Path::new(path)),
        _ => Err("silicon make FOLDER | silicon read RESULTS".into()),
    }
}
