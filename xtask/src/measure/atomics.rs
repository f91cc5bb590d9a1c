//! What atomic operations take: at words without pattern in global memory, at words of other CTAs of a cluster, and what a fence behind them waits for.

use super::probe::{Input, Probe, plain, slow};

const KIB: u64 = 1 << 10;

/// Operations of a round.
const LENGTH: u32 = 16;

/// Operations at R20, and what they have in place of a register for a result.
const GLOBAL: [(&str, &str); 5] = [
    ("LDG", "[B------:R-:W2:-:S02] LDG.E.STRONG.GPU DST, desc[UR4][R20.64] ;\n"),
    ("REDG.ADD", "[B------:R2:W-:-:S02] REDG.E.ADD.STRONG.GPU desc[UR4][R20.64], R12 ;\n"),
    ("ATOMG.ADD", "[B------:R-:W2:-:S02] ATOMG.E.ADD.STRONG.GPU PT, DST, desc[UR4][R20.64], R12 ;\n"),
    ("ATOMG.EXCH", "[B------:R-:W2:-:S02] ATOMG.E.EXCH.STRONG.GPU PT, DST, desc[UR4][R20.64], R12 ;\n"),
    ("ATOMG.CAS", "[B------:R-:W2:-:S02] ATOMG.E.CAS.STRONG.GPU PT, DST, [R20], R12, R13 ;\n"),
];

/// The next number of each lane in R40, without a pattern that lanes have in common.
fn number() -> String {
    plain(5, "IMAD R40, R40, 0x19660d, R41") + &plain(5, "SHF.R.U32.HI R42, RZ, 0x8, R40")
}

/// The lanes' first numbers.
fn seed() -> String {
    slow("MOV R41, 0x3c6ef35f") + &slow("IMAD R40, R6, 0x1e3779b1, R41")
}

/// An address in R20, of a word of the probe's memory.
fn anywhere(index: u32) -> String {
    // The operands of the one before it, if it has not read them.
    let free = if index == 0 { "" } else { "[B--2---:R-:W-:-:S02] NOP ;\n" };
    number()
        + &plain(5, "LOP3.LUT R42, R42, R10, RZ, 0xc0, !PT")
        + free
        + &plain(6, "IADD3 R20, P2, R4, R42, RZ")
        + &plain(6, "IADD3.X R21, R5, RZ, RZ, P2, !PT")
}

/// Operations of all lanes at words without pattern, each warp's one after the other, or as many at once as warps may have.
fn random(sms: u32) -> Vec<Probe> {
    let mut probes = Vec::new();
    for (name, text) in GLOBAL {
        for range in [64 * KIB, 2048 * KIB, 16384 * KIB] {
            for (grid, block) in [(1, 32), (1, 1024), (sms, 256), (sms, 1024)] {
                let round: String = (0..LENGTH)
                    .map(|index| anywhere(index) + &text.replace("DST", &format!("R{}", 44 + index % 4)))
                    .collect();
                // Each round at the same places, so that the second finds them in the L2.
                let probe = Probe::new(format!("random/{name}"), range / KIB, LENGTH, "", &(seed() + &round));
                let probe = probe.grid(grid).block(block).input(Input::Zeros(range));
                probes.push(probe.arguments([(range - 4) as u32, 0]));
            }
        }
    }
    probes
}

const FENCE: &str = "[B012345:R1:W-:Y:S15] MEMBAR.ALL.GPU ;\n[B-1----:R-:W-:Y:S15] NOP ;\n";

/// A fence behind so many accesses to lines of the warp's own.
fn fenced() -> Vec<Probe> {
    let mut probes = Vec::new();
    for (name, text) in [
        ("STG", "STG.E.STRONG.GPU AT, R12"),
        ("REDG", "REDG.E.ADD.STRONG.GPU AT, R12"),
        ("ATOMG", "ATOMG.E.ADD.STRONG.GPU PT, RZ, AT, R12"),
    ] {
        for lane in [4, 128] {
            for warps in [1, 8] {
                for count in [0_u32, 1, 4, 16] {
                    let before = slow("SHF.R.U32.HI R22, RZ, 0x5, R8")
                        + &slow("LOP3.LUT R23, R8, 0x1f, RZ, 0xc0, !PT")
                        + &slow(&format!("IMAD.WIDE.U32 R4, R22, {:#x}, R4", 128 * KIB))
                        + &slow(&format!("IMAD.WIDE.U32 R4, R23, {lane:#x}, R4"));
                    let round: String = (0..count)
                        .map(|index| {
                            let at = format!(" desc[UR4][R4.64+{:#x}]", u64::from(index + 1) * 4 * KIB);
                            format!("[B------:R2:W-:-:S02] {} ;\n", text.replace(" AT", &at))
                        })
                        .collect();
                    let name = format!("fence/{name}/{lane}");
                    let probe = Probe::new(name, u64::from(count), 1, &before, &(round + FENCE));
                    probes.push(probe.block(32 * warps).input(Input::Zeros(2048 * KIB)));
                }
            }
        }
    }
    probes
}

/// Additions to words of a cluster's shared memory up to a fence, without which a CTA could end before they come: to those of any of its CTAs,
/// of the next one, of the next one side by side.
fn clustered(sms: u32) -> Vec<Probe> {
    let any = "SHF.R.U32.HI R43, RZ, 0x18, R40";
    let mut probes = Vec::new();
    for (name, words, rank) in [
        ("any", "LOP3.LUT R42, R42, 0x7fc, RZ, 0xc0, !PT", any),
        ("next", "LOP3.LUT R42, R42, 0x7fc, RZ, 0xc0, !PT", "IADD3 R43, R39, 0x1, RZ"),
        ("row", "IMAD.SHL.U32 R42, R8, 0x4, RZ", "IADD3 R43, R39, 0x1, RZ"),
    ] {
        for cluster in [2, 4] {
            for (grid, warps) in [(cluster, 1), (cluster, 8), (sms / cluster * cluster, 8)] {
                for count in [LENGTH, 4 * LENGTH] {
                    let before = seed()
                        + &slow("MOV R55, 0x400")
                        + "[B------:R-:W1:-:S02] S2R R39, SR_CgaCtaId ;\n"
                        + "[B-1----:R-:W1:-:S02] S2R R21, SR_SWINHI ;\n"
                        + "[B-1----:R-:W-:Y:S15] NOP ;\n";
                    let one = number()
                        + &plain(5, words)
                        + &plain(5, rank)
                        + &plain(5, &format!("LOP3.LUT R43, R43, {:#x}, RZ, 0xc0, !PT", cluster - 1))
                        + &plain(5, "IADD3 R42, R42, R55, RZ")
                        + "[B--2---:R-:W-:-:S06] PRMT R20, R43, 0x654, R42 ;\n"
                        + "[B------:R2:W-:-:S02] ATOM.E.ADD.STRONG.GPU PT, RZ, desc[UR4][R20.64], R12 ;\n";
                    let round = one.repeat(count as usize) + FENCE;
                    let name = format!("cluster/{name}/{cluster}");
                    let probe = Probe::new(name, u64::from(count), count, &before, &round);
                    probes.push(probe.grid(grid).block(32 * warps).cluster(cluster).shared(8192));
                }
            }
        }
    }
    probes
}

pub(crate) fn atomics(sms: u32) -> Vec<Probe> {
    [random(sms), fenced(), clustered(sms)].concat()
}
