//! Lanes' places in shared memory: which of them a wavefront serves at once, by the width of accesses and by the lanes that take part. One warp
//! each. A profiler counts the wavefronts, clocks say how long they take.

use super::probe::{Input, Probe, awaited, plain, slow};

/// Accesses of a round.
const LENGTH: usize = 16;
/// Bytes of shared memory in front of a kernel's own.
const SYSTEM: u32 = 0x400;

/// What a lane accesses, counted in words as wide as the access.
type Place = fn(u32) -> u32;

const PLACES: &[(&str, Place)] = &[
    ("one", |_| 0),
    ("row", |lane| lane),
    ("apart/2", |lane| 2 * lane),
    ("apart/32", |lane| 32 * lane),
    ("halves-alike", |lane| lane % 16),
    ("quarters-alike", |lane| lane % 8),
    ("eighths-alike", |lane| lane % 4),
    ("of-halves", |lane| lane / 16),
    ("of-quarters", |lane| lane / 8),
    ("of-eighths", |lane| lane / 4),
    ("of-pairs", |lane| lane / 2),
    ("odd-even", |lane| lane % 2),
    ("pairs-crossed", |lane| lane % 2 + lane / 4 * 2),
    ("fours-crossed", |lane| lane % 4 + lane / 8 * 4),
    ("eights-crossed", |lane| lane % 8 + lane / 16 * 8),
    ("halves-of-four", |lane| lane / 4 % 4),
    ("two-of-a-bank", |lane| lane % 2 * 32 + lane / 2),
    ("backwards", |lane| 31 - lane),
];

/// Lanes that take part.
const LANES: &[(&str, u32)] =
    &[("1", 1), ("4", 0xf), ("8", 0xff), ("16", 0xffff), ("even", 0x5555_5555), ("quads", 0x1111_1111)];

const ACCESSES: &[(&str, &str, u32)] = &[
    ("LDS", "LDS R40, [R22]", 4),
    ("LDS.64", "LDS.64 R40, [R22]", 8),
    ("LDS.128", "LDS.128 R40, [R22]", 16),
    ("STS", "STS [R22], R12", 4),
    ("STS.64", "STS.64 [R22], R12", 8),
    ("STS.128", "STS.128 [R22], R12", 16),
];

fn probe(name: String, (text, width): (&str, u32), place: Place, lanes: u32) -> Probe {
    let before = slow("IMAD.WIDE.U32 R40, R8, 0x4, R4")
        + &awaited("LDG.E R23, desc[UR4][R40.64]")
        + &slow("LOP3.LUT R22, R23, 0xffffff, RZ, 0xc0, !PT")
        + &slow("SHF.R.U32.HI R23, RZ, 0x18, R23")
        + &slow("ISETP.NE.AND P3, PT, R23, RZ, PT");
    let last = if text.starts_with("STS") { "[B------:R0:W-:-:S02]" } else { "[B------:R-:W0:-:S02]" };
    let text = format!("@P3 {text}");
    let round = plain(1, &text).repeat(LENGTH - 1) + &format!("{last} {text} ;\n");
    let words = (0..32).map(|lane| (lanes >> lane & 1) << 24 | (SYSTEM + width * place(lane)));
    Probe::new(name, u64::from(width), LENGTH as u32, &before, &round)
        .input(Input::Words(words.collect()))
        .shared(40 << 10)
}

pub(crate) fn wavefronts() -> Vec<Probe> {
    let mut probes = Vec::new();
    for &(name, text, width) in ACCESSES {
        for &(place, of) in PLACES {
            probes.push(probe(format!("{name}/{place}"), (text, width), of, u32::MAX));
        }
        for &(lanes, mask) in LANES {
            probes.push(probe(format!("{name}/row/{lanes}"), (text, width), |lane| lane, mask));
        }
    }
    probes
}
