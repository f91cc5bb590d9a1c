//! Other CTAs' shared memory, and what the CTAs of a cluster wait for one another for.

use super::probe::{CLUSTER_MEETING, Input, Probe, awaited, plain, slow, stored};

/// Accesses of a round.
const LENGTH: u32 = 32;
/// Threads that places are told of.
const THREADS: u32 = 1024;
/// Bytes of shared memory in front of a kernel's own.
const SYSTEM: u32 = 0x400;

/// Where threads go: how many CTAs further on, and which word there.
type Place = fn(u32, u32) -> (u32, u32);

/// A number without pattern.
fn mixed(thread: u32) -> u32 {
    thread.wrapping_mul(0x9e37_79b9).rotate_right(15).wrapping_mul(0x85eb_ca6b) >> 12
}

/// By the thread's number and the cluster's size.
const PLACES: &[(&str, Place)] = &[
    ("own", |thread, _| (0, thread % 32)),
    ("words", |thread, _| (1, thread % 32)),
    ("word", |_, _| (1, 0)),
    ("bank", |thread, _| (1, thread % 32 * 32)),
    ("sectors", |thread, _| (1, thread % 32 * 9)),
    ("lines", |thread, _| (1, thread % 32 * 33)),
    ("spread", |thread, cluster| (thread % cluster, thread % 32)),
    ("random", |thread, cluster| (mixed(thread) % cluster, mixed(thread) / cluster % 512)),
];

/// Each thread's place: R20 and R21 have its address. In the words themselves stand their addresses.
fn places(cluster: u32, place: Place) -> (String, Input) {
    let before = slow("IMAD.WIDE.U32 R40, R8, 0x4, R4")
        + &awaited("LDG.E R23, desc[UR4][R40.64]")
        + &awaited("S2R R22, SR_CgaCtaId")
        + &awaited("S2R R21, SR_SWINHI")
        + &slow("LOP3.LUT R20, R23, 0xffffff, RZ, 0xc0, !PT")
        + &slow("PRMT R40, R22, 0x654, R20")
        + &stored("STS [R20], R40")
        + &slow("SHF.R.U32.HI R23, RZ, 0x18, R23")
        + &slow("IADD3 R22, R22, R23, RZ")
        + &slow(&format!("LOP3.LUT R22, R22, {:#x}, RZ, 0xc0, !PT", cluster - 1))
        + &slow("PRMT R20, R22, 0x654, R20");
    let words = (0..THREADS).map(|thread| {
        let (cta, word) = place(thread, cluster);
        cta << 24 | (SYSTEM + 4 * word)
    });
    (before, Input::Words(words.collect()))
}

pub(crate) fn cluster() -> Vec<Probe> {
    let mut probes = Vec::new();
    let accesses = [
        ("LD", "LD.E R40, desc[UR4][R20.64]"),
        ("ST", "ST.E desc[UR4][R20.64], R12"),
        ("ATOM", "ATOM.E.ADD.STRONG.GPU PT, RZ, desc[UR4][R20.64], R12"),
    ];
    for cluster in [2, 4, 8] {
        // Each waits for the one before.
        for (name, access) in [
            ("LD", "LD.E R20, desc[UR4][R20.64]"),
            ("ATOM", "ATOM.E.ADD.STRONG.GPU PT, R40, desc[UR4][R20.64], RZ"),
        ] {
            for (place, of) in &PLACES[..2] {
                let (before, input) = places(cluster, *of);
                let round = format!("[B--2---:R-:W2:-:S02] {access} ;\n").repeat(LENGTH as usize);
                let name = format!("{name}/chain/{place}/{cluster}");
                let probe = Probe::new(name, 1, LENGTH, &before, &round).input(input);
                probes.push(probe.grid(cluster).cluster(cluster).shared(16 << 10));
            }
        }
        // A barrier of the cluster, alone and with what a program puts around it.
        let fences = "[B012345:R1:W-:Y:S15] MEMBAR.ALL.GPU ;\n[B012345:R-:W-:Y:S00] ERRBAR ;\n[B012345:R-:W-:Y:S15] CGAERRBAR ;\n[B012345:R-:W-:Y:S15] CCTL.IVALL ;\n";
        let invalidate = "[B012345:R-:W-:Y:S15] CCTL.IVALL ;\n";
        for warps in [1, 8, 32] {
            for (name, round) in [
                ("barrier", CLUSTER_MEETING.to_owned()),
                ("barrier/fenced", format!("{fences}{CLUSTER_MEETING}{invalidate}")),
            ] {
                let round = round.repeat(LENGTH as usize);
                let probe = Probe::new(format!("{name}/{cluster}"), u64::from(warps), LENGTH, "", &round);
                probes.push(probe.grid(cluster).block(32 * warps).cluster(cluster).shared(16 << 10));
            }
        }
    }
    // In a row: by warps of each CTA, of one cluster and of as many as there is room for.
    for (name, access) in accesses {
        for cluster in [2, 4] {
            for (place, of) in PLACES {
                for (warps, grid) in [(1, cluster), (8, cluster), (8, 128)] {
                    let (before, input) = places(cluster, *of);
                    let control =
                        if name == "ST" { "[B------:R2:W-:-:S02]" } else { "[B------:R-:W2:-:S02]" };
                    let round = plain(1, "NOP") + &format!("{control} {access} ;\n").repeat(LENGTH as usize);
                    let name = format!("{name}/{place}/{cluster}");
                    let probe = Probe::new(name, u64::from(warps), LENGTH, &before, &round).input(input);
                    probes
                        .push(probe.grid(grid).block(32 * warps).cluster(cluster).shared(16 << 10));
                }
            }
        }
    }
    probes
}
