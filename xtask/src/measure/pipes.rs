//! How often a pipe takes an instruction, how long a result takes, what fetching and barriers cost: probes of one CTA.

use super::probe::{Probe, plain, slow, times};
use std::fmt::Write;

/// Instructions of a round.
const LENGTH: u32 = 64;

/// Instructions that do not depend on one another: `DST` is a register, or an aligned row of four, another one each time. The last one's
/// scoreboard is waited for where it has one.
const INDEPENDENT: &[(&str, bool, &str)] = &[
    ("NOP", false, "NOP"),
    ("IADD3", false, "IADD3 DST, R12, R15, RZ"),
    ("LOP3", false, "LOP3.LUT DST, R12, R15, RZ, 0x3c, !PT"),
    ("SHF", false, "SHF.L.U32 DST, R12, 0x3, RZ"),
    ("MOV", false, "MOV DST, R12"),
    ("SEL", false, "SEL DST, R12, R15, P1"),
    ("PRMT", false, "PRMT DST, R12, 0x5410, R15"),
    ("LEA", false, "LEA DST, R12, R15, 0x2"),
    ("VIADD", false, "VIADD DST, R12, 0x7"),
    ("VIMNMX", false, "VIMNMX DST, R12, R15, PT"),
    ("ISETP", false, "ISETP.LT.AND P2, PT, R12, R15, PT"),
    ("FMNMX", false, "FMNMX DST, R16, R17, PT"),
    ("FSETP", false, "FSETP.GT.AND P2, PT, R16, R17, PT"),
    ("I2FP", false, "I2FP.F32.S32 DST, R12"),
    ("IMAD", false, "IMAD DST, R12, R15, R12"),
    ("IMAD.MOV", false, "IMAD.MOV.U32 DST, RZ, RZ, R12"),
    ("IMAD.WIDE", false, "IMAD.WIDE.U32 DST, R15, R15, R24"),
    ("IMAD.HI", false, "IMAD.HI.U32 DST, R12, R15, RZ"),
    ("IDP", false, "IDP.4A.S8.S8 DST, R12, R15, RZ"),
    ("FADD", false, "FADD DST, R16, R17"),
    ("FMUL", false, "FMUL DST, R16, R17"),
    ("FFMA", false, "FFMA DST, R16, R17, R16"),
    ("HADD2", false, "HADD2 DST, R13, R13"),
    ("HFMA2", false, "HFMA2 DST, R13, R16, R13"),
    ("HFMA2.MMA", false, "HFMA2.MMA DST, R13, R13, R13"),
    ("DADD", false, "DADD DST, R24, R26"),
    ("DFMA", false, "DFMA DST, R24, R26, R24"),
    ("CS2R.32", false, "CS2R.32 DST, SR_CLOCKLO"),
    ("VOTE", false, "VOTE.ANY DST, PT, P1"),
    ("UIADD3", false, "UIADD3 UR10, UR8, UR9, URZ"),
    ("ULOP3", false, "ULOP3.LUT UR10, UR8, UR9, URZ, 0x3c, !UPT"),
    ("R2UR", false, "R2UR UR10, R12"),
    ("HMMA.16816.F32", false, "HMMA.16816.F32 DST, R32, R36, RZ"),
    ("HMMA.1688.F32", false, "HMMA.1688.F32 DST, R32, R36, RZ"),
    ("HMMA.16816.F16", false, "HMMA.16816.F16 DST, R32, R36, RZ"),
    ("IMMA.16816.S8", false, "IMMA.16816.S8.S8 DST, R32.ROW, R36.COL, RZ"),
    ("MUFU.RCP", true, "MUFU.RCP DST, R16"),
    ("MUFU.EX2", true, "MUFU.EX2 DST, R16"),
    ("POPC", true, "POPC DST, R12"),
    ("FLO", true, "FLO.U32 DST, R12"),
    ("BREV", true, "BREV DST, R12"),
    ("I2F", true, "I2F.RP DST, R12"),
    ("F2I", true, "F2I.TRUNC.NTZ DST, R16"),
    ("F2F.F64", true, "F2F.F64.F32 DST, R16"),
    ("S2R", true, "S2R DST, SR_LANEID"),
    ("SHFL", true, "SHFL.IDX PT, DST, R12, RZ, 0x1f"),
    ("LDC", true, "LDC DST, c[0x0][0x4]"),
    ("LDS", true, "LDS DST, [0x400]"),
    ("LDS.64", true, "LDS.64 DST, [0x400]"),
    ("LDS.128", true, "LDS.128 DST, [0x400]"),
    ("LDSM.4", true, "LDSM.16.M88.4 DST, [R22]"),
    ("MATCH", true, "MATCH.ANY DST, R12"),
    ("REDUX", true, "REDUX UR10, R12"),
];

/// Pairs that are issued in turns.
const PAIRS: &[(&str, &str)] = &[
    ("IADD3", "FFMA"),
    ("IADD3", "IMAD"),
    ("FFMA", "IMAD"),
    ("FFMA", "FADD"),
    ("FADD", "FMUL"),
    ("FADD", "IMAD"),
    ("FADD", "IMAD.MOV"),
    ("FADD", "IADD3"),
    ("FADD", "DADD"),
    ("FADD", "HADD2"),
    ("IMAD", "HADD2"),
    ("IMAD", "DADD"),
    ("IADD3", "DADD"),
    ("IMAD", "IMAD.WIDE"),
    ("VOTE", "IADD3"),
    ("ISETP", "FMNMX"),
    ("S2R", "LDC"),
    ("S2R", "SHFL"),
    ("FFMA", "HFMA2"),
    ("FFMA", "DFMA"),
    ("IADD3", "HFMA2"),
    ("FFMA", "MUFU.RCP"),
    ("MUFU.RCP", "POPC"),
    ("MUFU.RCP", "SHFL"),
    ("LDS", "SHFL"),
    ("LDS", "LDC"),
    ("FFMA", "LDS"),
    ("FFMA", "HMMA.16816.F32"),
    ("IADD3", "UIADD3"),
    ("FFMA", "VOTE"),
    ("DFMA", "HMMA.16816.F32"),
];

pub(crate) fn line_of(name: &str) -> (bool, &'static str) {
    let found = INDEPENDENT.iter().find(|(known, ..)| *known == name);
    found.map_or((false, "NOP"), |&(_, variable, text)| (variable, text))
}

/// Independent instructions, these in turns.
pub(crate) fn row(texts: &[(bool, &str)]) -> String {
    let mut round = String::new();
    for index in 0..LENGTH {
        let (variable, text) = texts[index as usize % texts.len()];
        let text = text.replace("DST", &format!("R{}", 40 + index % 4 * 4));
        let is_last = index + texts.len() as u32 >= LENGTH;
        if variable && is_last {
            let _ = writeln!(round, "[B------:R-:W0:-:S02] {text} ;");
        } else {
            round += &plain(1, &text);
        }
    }
    round
}

/// A thread's own word of shared memory in R22, behind the system's.
pub(crate) fn own_word(shift: u32) -> String {
    slow(&format!("SHF.L.U32 R22, R8, {shift:#x}, RZ")) + &slow("IADD3 R22, R22, 0x400, RZ")
}

/// Instructions that wait for the one before: of variable latency, the register R20 to itself.
const CHAINS: &[(&str, &str)] = &[
    ("MUFU.RCP", "MUFU.RCP R20, R20"),
    ("MUFU.EX2", "MUFU.EX2 R20, R20"),
    ("POPC", "POPC R20, R20"),
    ("FLO", "FLO.U32 R20, R20"),
    ("BREV", "BREV R20, R20"),
    ("I2F", "I2F.RP R20, R20"),
    ("F2I", "F2I.TRUNC.NTZ R20, R20"),
    ("F2F.F64", "F2F.F64.F32 R20, R20"),
    ("S2R", "S2R R20, SR_LANEID"),
    ("S2R.TID", "S2R R20, SR_TID.X"),
    ("S2UR", "S2UR UR10, SR_CTAID.X"),
    ("SHFL", "SHFL.IDX PT, R20, R20, RZ, 0x1f"),
    ("MATCH", "MATCH.ANY R20, R20"),
    ("REDUX", "REDUX UR10, R20"),
    ("LDC", "LDC R20, c[0x0][0x4]"),
    ("LDS", "LDS R22, [R22]"),
    ("LDS.64", "LDS.64 R20, [R22]"),
    ("LDS.128", "LDS.128 R40, [R22]"),
    ("LDSM.4", "LDSM.16.M88.4 R40, [R22]"),
    ("ATOMS.ADD", "ATOMS.ADD R20, [R22], RZ"),
    ("LDG", "LDG.E R20, desc[UR4][R4.64]"),
    ("LDG.64", "LDG.E.64 R20, desc[UR4][R4.64]"),
    ("LDG.128", "LDG.E.128 R40, desc[UR4][R4.64]"),
    ("LDG.STRONG", "LDG.E.STRONG.GPU R20, desc[UR4][R4.64]"),
    ("ATOMG.ADD", "ATOMG.E.ADD.STRONG.GPU PT, R20, desc[UR4][R4.64], RZ"),
    ("R2UR", "R2UR UR10, R12"),
    ("DADD", "DADD R20, R24, R26"),
    ("DFMA", "DFMA R20, R24, R26, R24"),
];

/// Operands of a product whose registers lie in banks: all even, all odd, mixed, each with and without a kept operand.
const BANKS: &[(&str, &str)] = &[
    ("even", "FFMA DST, R16, R18, R24"),
    ("modulo-4", "FFMA DST, R16, R24, R32"),
    ("odd", "FFMA DST, R13, R15, R17"),
    ("mixed", "FFMA DST, R16, R17, R18"),
    ("same", "FFMA DST, R16, R16, R16"),
    ("two-even", "FFMA DST, R16, R18, RZ"),
    ("even-kept", "FFMA DST, R16.reuse, R18.reuse, R24"),
    ("integer-even", "IADD3 DST, R16, R18, R24"),
    ("integer-mixed", "IADD3 DST, R16, R17, R18"),
    ("integer-kept", "IADD3 DST, R16.reuse, R18.reuse, R24"),
];

pub(crate) fn issue() -> Vec<Probe> {
    let warps = [1, 4, 8, 16, 32];
    let mut probes = Vec::new();
    let mut add = |name: String, before: &str, round: String| {
        for warps in warps {
            let probe = Probe::new(name.clone(), warps, LENGTH, before, &round);
            probes.push(probe.block(32 * warps as u32).shared(32 << 10));
        }
    };
    add("empty".to_owned(), "", String::new());
    for (name, variable, text) in INDEPENDENT {
        add((*name).to_owned(), &own_word(4), row(&[(*variable, text)]));
    }
    for (first, second) in PAIRS {
        add(format!("{first}+{second}"), &own_word(2), row(&[line_of(first), line_of(second)]));
    }
    for (name, text) in BANKS {
        add(format!("banks/{name}"), "", row(&[(false, text)]));
    }
    probes
}

pub(crate) fn latency() -> Vec<Probe> {
    let before = slow("MOV R20, R16") + &own_word(4) + &slow("STS [R22], R22");
    let mut probes = Vec::new();
    for (name, text) in CHAINS {
        let round = format!("[B--2---:R-:W2:-:S02] {text} ;\n").repeat(LENGTH as usize);
        probes.push(Probe::new(*name, 0, LENGTH, &before, &round).shared(1 << 10));
    }
    // A barrier, by warps; a branch that is taken, by what stands between branches.
    for warps in [1, 2, 4, 8, 16, 32] {
        let round = "[B------:R-:W-:-:S05] BAR.SYNC.DEFER_BLOCKING 0x0 ;\n".repeat(LENGTH as usize);
        probes.push(Probe::new("BAR.SYNC", warps, LENGTH, "", &round).block(32 * warps as u32));
    }
    for between in [0_u64, 1, 2, 4, 8] {
        let body = plain(1, "IADD3 R40, R12, R14, RZ").repeat(between as usize);
        let mut round = plain(5, "MOV R20, 0x40") + ".L_again:\n" + &body;
        round += &plain(4, "IADD3 R20, R20, -0x1, RZ");
        round += &plain(13, "ISETP.NE.AND P2, PT, R20, RZ, PT");
        round += "[B------:R-:W-:-:S05] @P2 BRA `(.L_again) ;\n";
        probes.push(Probe::new("BRA", between, LENGTH, "", &round));
    }
    // Branches to the next instruction, and ones that are not taken.
    let mut taken = String::new();
    for number in 0..LENGTH {
        let _ = write!(taken, "[B------:R-:W-:-:S05] BRA `(.L_to{number}) ;\n.L_to{number}:\n");
    }
    probes.push(Probe::new("BRA/next", 0, LENGTH, "", &taken));
    let not_taken = "[B------:R-:W-:-:S01] @!P1 BRA `(.L_out) ;\n".repeat(LENGTH as usize) + ".L_out:\n";
    probes.push(Probe::new("BRA/not-taken", 0, LENGTH, "", &not_taken));
    // Fetching: straight code of so many instructions, the first round of it cold.
    for length in [64_u64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384] {
        let round = plain(1, "FFMA R40, R16, R17, R16").repeat(length as usize);
        for warps in [1, 4, 16] {
            let probe = Probe::new(format!("fetch/{warps}"), length, length as u32, "", &round);
            probes.push(probe.block(32 * warps));
        }
    }
    probes
}

/// Shared memory: words that are so far apart in neighbouring lanes.
pub(crate) fn shared() -> Vec<Probe> {
    let mut probes = Vec::new();
    for (name, text) in [
        ("LDS", "LDS R20, [R22]"),
        ("LDS.64", "LDS.64 R40, [R22]"),
        ("LDS.128", "LDS.128 R40, [R22]"),
        ("STS", "STS [R22], R12"),
        ("STS.64", "STS.64 [R22], R12"),
        ("STS.128", "STS.128 [R22], R12"),
        ("ATOMS.ADD", "ATOMS.ADD R20, [R22], R12"),
    ] {
        for stride in [0_u64, 1, 2, 3, 4, 8, 16, 32] {
            // Lanes of a warp so many words apart, the words as wide as the access; all warps at the same places.
            let width = if text.contains(".128") {
                4
            } else if text.contains(".64") {
                3
            } else {
                2
            };
            let before = slow("LOP3.LUT R22, R8, 0x1f, RZ, 0xc0, !PT")
                + &times("R22", "R22", stride << width, "RZ")
                + &slow("IADD3 R22, R22, 0x400, RZ");
            let is_store = text.starts_with("STS");
            let last = if is_store { "[B------:R0:W-:-:S02]" } else { "[B------:R-:W0:-:S02]" };
            let round = plain(1, text).repeat(31) + &format!("{last} {text} ;\n");
            for warps in [1, 4, 16] {
                let probe = Probe::new(format!("{name}/{warps}"), stride, 32, &before, &round);
                probes.push(probe.block(32 * warps).shared(40 << 10));
            }
        }
    }
    probes
}
