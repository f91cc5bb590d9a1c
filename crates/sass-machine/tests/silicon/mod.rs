//! Kernels around cases that an H200 was asked: `silicon/opcodes.cases` has instructions, `silicon/hazards.cases` code whose control
//! codes are too short.
//!
//! A kernel gives each thread 16 words of input in R4 to R19 and lets the case run; then it stores a record of 16 words: R20 to R27 of a
//! hazard, or R20 to R23, the predicates, UR12, UR13 and the uniform predicates behind an instruction, then four words of global
//! and four of shared memory that the thread has for itself.

use std::fmt::Write;

/// Threads that execute an instruction: four warps, each with inputs of another kind.
pub(crate) const THREADS: u32 = 128;
/// Words of a thread's input, and of its record.
pub(crate) const WORDS: usize = 16;

/// An instruction that does nothing.
pub(crate) const NOTHING: &str = "@!PT MOV R20, R4";

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// Lines of cuasm.
    pub(crate) kernel: String,
    pub(crate) threads: u32,
}

/// Where addresses come from, and the inputs.
const HEAD: &str = "\
	.target sm_90
	.kernel probe, 8, 8
[B------:R-:W0:-:S02] LDC.64 R2, c[0x0][0x210] ;
[B------:R-:W1:-:S02] LDC.64 R32, c[0x0][0x218] ;
[B------:R-:W2:-:S02] S2R R36, SR_TID.X ;
[B------:R-:W-:Y:S15] ULDC.64 UR4, c[0x0][0x208] ;
[B------:R-:W-:Y:S15] UMOV UR6, 0x4 ;
[B------:R-:W-:Y:S15] UMOV UR7, 0x0 ;
[B012---:R-:W-:Y:S15] NOP ;
[B------:R-:W-:Y:S15] IMAD.WIDE.U32 R32, R36, 0x40, R32 ;
[B------:R-:W-:Y:S15] IMAD.WIDE.U32 R2, R36, 0x40, R2 ;
[B------:R-:W0:-:S02] LDG.E.128 R4, desc[UR4][R32.64] ;
[B------:R-:W0:-:S02] LDG.E.128 R8, desc[UR4][R32.64+0x10] ;
[B------:R-:W0:-:S02] LDG.E.128 R12, desc[UR4][R32.64+0x20] ;
[B------:R-:W0:-:S02] LDG.E.128 R16, desc[UR4][R32.64+0x30] ;
[B------:R-:W-:Y:S15] IMAD.SHL.U32 R28, R36, 0x40, RZ ;
[B------:R-:W-:Y:S15] IADD3 R28, R28, 0x400, RZ ;
[B------:R-:W-:Y:S15] IADD3 R30, P0, R2, 0x20, RZ ;
[B------:R-:W-:Y:S15] IADD3.X R31, R3, RZ, RZ, P0, !PT ;
[B0-----:R-:W-:Y:S15] NOP ;
[B------:R-:W1:-:S02] R2UR UR8, R8 ;
[B------:R-:W1:-:S02] R2UR UR9, R9 ;
[B------:R-:W1:-:S02] R2UR UR10, R10 ;
[B------:R-:W1:-:S02] R2UR UR11, R11 ;
[B-1----:R-:W-:Y:S15] NOP ;
[B------:R-:W-:Y:S15] ULOP3.LUT UR11, UR11, 0xc, URZ, 0xc0, !UPT ;
";

/// What the memory and the registers hold before the case.
fn poison(out: &mut String) {
    for at in 0..4 {
        let offset = if at == 0 { String::new() } else { format!("+{:#x}", at * 16) };
        let _ = writeln!(out, "[B------:R0:W-:Y:S15] STS.128 [R28{offset}], R{} ;", 4 + 4 * at);
    }
    out.push_str("[B0-----:R0:W-:Y:S15] STG.E.128 desc[UR4][R30.64], R4 ;\n[B0-----:R-:W-:Y:S15] NOP ;\n");
    for register in 20..28 {
        let _ = writeln!(out, "[B------:R-:W-:Y:S15] MOV R{register}, {:#x} ;", 0x5a5a_0000 + register);
    }
    for register in 12..14 {
        let _ = writeln!(out, "[B------:R-:W-:Y:S15] UMOV UR{register}, {:#x} ;", 0x5a5a_0000 + register);
    }
}

/// Time for everything to end, whatever it waits for.
const SETTLE: &str = "\
[B------:R-:W-:Y:S15] NOP ;
[B------:R-:W-:Y:S15] NOP ;
[B------:R-:W-:Y:S15] NOP ;
[B012345:R-:W-:Y:S15] NOP ;
[B------:R-:W-:Y:S15] NOP ;
[B------:R-:W-:Y:S15] NOP ;
";

/// The memory behind the record, and the end.
const TAIL: &str = "\
[B------:R-:W0:Y:S15] LDS.128 R44, [R28] ;
[B0-----:R0:W-:Y:S15] STG.E.128 desc[UR4][R2.64+0x30], R44 ;
[B0-----:R-:W-:Y:S15] EXIT ;
.L_end:
[B------:R-:W-:Y:S00] BRA `(.L_end) ;
";

/// An instruction, `~` in front of it if it sets scoreboards, `^` if only one for its operands.
fn opcode(line: &str) -> Case {
    let (control, text) = match line.as_bytes().first() {
        Some(b'~') => ("[B------:R0:W1:Y:S15]", &line[1..]),
        Some(b'^') => ("[B------:R0:W-:Y:S15]", &line[1..]),
        _ => ("[B------:R-:W-:Y:S15]", line),
    };
    let mut kernel = HEAD.to_owned();
    poison(&mut kernel);
    kernel.push_str(
        "[B------:R-:W-:Y:S15] UISETP.NE.AND UP0, UPT, UR8, URZ, UPT ;
[B------:R-:W-:Y:S15] UISETP.LT.AND UP1, UPT, UR8, UR9, UPT ;
[B------:R-:W-:Y:S15] UISETP.NE.AND UP2, UPT, URZ, URZ, UPT ;
[B------:R-:W-:Y:S15] UISETP.NE.AND UP3, UPT, URZ, URZ, UPT ;
[B------:R-:W-:Y:S15] R2P PR, R19, 0x7f ;
[B------:R-:W-:Y:S15] NOP ;
",
    );
    let _ = writeln!(kernel, "{control} {text} ;");
    kernel.push_str(SETTLE);
    kernel.push_str(
        "[B------:R-:W-:Y:S15] P2R R24, PR, RZ, 0x7f ;
[B------:R-:W-:Y:S15] UP2UR UR14, UPR, URZ, 0xf ;
[B------:R-:W-:Y:S15] MOV R25, UR12 ;
[B------:R-:W-:Y:S15] MOV R26, UR13 ;
[B------:R-:W-:Y:S15] MOV R27, UR14 ;
[B------:R0:W-:Y:S15] STG.E.128 desc[UR4][R2.64], R20 ;
[B------:R0:W-:Y:S15] STG.E.128 desc[UR4][R2.64+0x10], R24 ;
[B0-----:R-:W-:Y:S15] NOP ;
",
    );
    kernel.push_str(TAIL);
    Case { name: line.to_owned(), kernel, threads: THREADS }
}

/// The instructions of `opcodes.cases`.
pub(crate) fn opcodes(text: &str) -> Vec<Case> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(opcode).collect()
}

/// The code of a hazard, in a loop of three rounds.
fn hazard(name: &str, lines: &[&str], n: Option<u32>) -> Case {
    let number = n.map_or(String::new(), |n| format!("{n:02}"));
    let mut kernel = HEAD.to_owned();
    kernel.push_str("[B------:R-:W-:Y:S15] MOV R50, 0x0 ;\n.L_again:\n");
    poison(&mut kernel);
    kernel.push_str(
        "[B------:R-:W-:Y:S15] UISETP.NE.AND UP0, UPT, URZ, URZ, UPT ;
[B------:R-:W-:Y:S15] MOV R37, 0x2 ;
[B------:R-:W-:Y:S15] R2P PR, R37, 0x7f ;
",
    );
    kernel.push_str(SETTLE);
    for line in lines {
        let line = line.replace("{n}", &number);
        if let Some(cycles) = line.strip_prefix("gap ") {
            let mut left: u32 = cycles.parse().unwrap_or(0);
            while left > 0 {
                let now = left.min(15);
                let _ = writeln!(kernel, "[B------:R-:W-:Y:S{now:02}] NOP ;");
                left -= now;
            }
        } else if line.starts_with('.') {
            let _ = writeln!(kernel, "{line}");
        } else {
            let _ = writeln!(kernel, "{line} ;");
        }
    }
    kernel.push_str(SETTLE);
    kernel.push_str(
        "[B------:R-:W-:Y:S15] P2R R26, PR, RZ, 0x7f ;
[B------:R-:W-:Y:S15] MOV R27, UR12 ;
[B------:R-:W-:Y:S15] MOV R22, UR13 ;
[B------:R-:W-:Y:S15] IADD3 R50, R50, 0x1, RZ ;
[B------:R-:W-:Y:S15] ISETP.LT.AND P3, PT, R50, 0x3, PT ;
[B------:R-:W-:Y:S15] @P3 BRA `(.L_again) ;
[B------:R0:W-:Y:S15] STG.E.128 desc[UR4][R2.64], R20 ;
[B------:R0:W-:Y:S15] STG.E.128 desc[UR4][R2.64+0x10], R24 ;
[B0-----:R-:W-:Y:S15] NOP ;
",
    );
    kernel.push_str(TAIL);
    let name = n.map_or_else(|| name.to_owned(), |n| format!("{name}/{n}"));
    Case { name, kernel, threads: 32 }
}

/// The code of `hazards.cases`: a line `case NAME [n=FIRST..LAST]`, then indented lines.
pub(crate) fn hazards(text: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(head) = line.strip_prefix("case ") else { continue };
        let mut body = Vec::new();
        while let Some(line) = lines.next_if(|line| line.starts_with(' ')) {
            body.push(line.trim());
        }
        let (name, range) = head.split_once(" n=").map_or((head, None), |(name, range)| (name, Some(range)));
        let bounds = range.and_then(|range| {
            let (first, last) = range.split_once("..")?;
            Some(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?)
        });
        match bounds {
            None => cases.push(hazard(name, &body, None)),
            Some(bounds) => cases.extend(bounds.map(|n| hazard(name, &body, Some(n)))),
        }
    }
    cases
}

/// The inputs: words of special values, of any bits, of numbers of middling size, and a mixture, a warp each.
pub(crate) fn inputs() -> Vec<u32> {
    const SPECIAL: [u32; 40] = [
        0,
        1,
        2,
        3,
        0x1f,
        0x20,
        0x21,
        0x7f,
        0x80,
        0xff,
        0x7fff,
        0x8000,
        0xffff,
        0x1_0000,
        0x7fff_ffff,
        0x8000_0000,
        0x8000_0001,
        0xffff_fffe,
        0xffff_ffff,
        0x3f80_0000,
        0xbf80_0000,
        0x4000_0000,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0xffc1_2345,
        0x7f7f_ffff,
        0x0080_0000,
        0x007f_ffff,
        0x4b00_0001,
        0x4f00_0000,
        0xcf00_0000,
        0x3c00_bc00,
        0x7c00_fc00,
        0x7e00_0001,
        0x0400_83ff,
        0x3ff0_0000,
        0xbfe0_0000,
        0x7ff0_0000,
        0x7ff8_0001,
    ];
    let mut state = 0x1234_5678_9abc_def0_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as u32
    };
    let mut words = Vec::new();
    for thread in 0..THREADS {
        for _ in 0..WORDS {
            let (kind, value) = (next(), next());
            let special = SPECIAL[(value >> 8) as usize % SPECIAL.len()];
            // A float between 2^-8 and 2^7, as a double's upper word a small number too.
            let middling = value & 0x807f_ffff | (119 + (kind >> 8) % 16) << 23;
            words.push(match thread / 32 {
                0 => special,
                1 => value,
                2 => middling,
                _ => match kind % 4 {
                    0 => value % 70,
                    1 => (value % 70).wrapping_neg(),
                    2 => special,
                    _ => middling,
                },
            });
        }
    }
    words
}
