//! What becomes one request to the L2: loads of the same lines by several SMs, stores that fill sectors together. A profiler counts the sectors.

use super::probe::{Input, Probe, awaited, plain, slow};

/// SMs of a GPC of an H100, as their clocks show.
const NEIGHBOURS: [usize; 16] = [128, 129, 130, 131, 124, 125, 126, 127, 0, 1, 16, 17, 32, 33, 48, 49];
/// One of another GPC.
const FAR: usize = 2;
/// Lines that are loaded, and bytes in front of them: a word for each SM, whether it loads.
const LINES: usize = 64;
const TABLE: usize = 4096;

/// So many lines, by some SMs, each with one CTA of a warp.
fn loads(name: String, sms: u32, chosen: &[usize]) -> Probe {
    let before = slow("IMAD.WIDE.U32 R40, R7, 0x4, R4")
        + &awaited("LDG.E R23, desc[UR4][R40.64]")
        + &slow("ISETP.NE.AND P3, PT, R23, RZ, PT")
        + &slow("IMAD.WIDE.U32 R20, R8, 0x4, R4");
    let mut round = String::new();
    for line in 0..LINES {
        let control = if line + 1 == LINES { "[B------:R-:W2:-:S02]" } else { "[B------:R-:W-:-:S01]" };
        let (register, offset) = (40 + line % 8, TABLE + 128 * line);
        round += &format!("{control} @P3 LDG.E R{register}, desc[UR4][R20.64+{offset:#x}] ;\n");
    }
    let mut words = vec![0; (TABLE + 128 * LINES) / 4];
    chosen.iter().for_each(|&sm| words[sm] = 1);
    Probe::new(name, chosen.len() as u64, LINES as u32, &before, &round)
        .grid(sms)
        .shared(200 << 10)
        .input(Input::Words(words))
}

/// Stores of a warp that each write a half of each sector, the second so many cycles behind the first: words of eight lines, or of one.
fn stores(name: &str, between: u32, warps: u32, place: &str) -> Probe {
    let before = slow("SHF.R.U32.HI R22, RZ, 0x5, R8")
        + &slow("LOP3.LUT R23, R8, 0x1f, RZ, 0xc0, !PT")
        + &slow("IMAD.WIDE.U32 R4, R22, 0x4000, R4")
        + place
        + &slow("IADD3 R20, P2, R4, R20, RZ")
        + &slow("IADD3.X R21, R5, RZ, RZ, P2, !PT");
    let mut round = String::new();
    for row in 0..4 {
        for half in 0..2 {
            let offset = 0x1000 * row + 4 * half;
            round += &format!("[B------:R0:W-:-:S02] STG.E desc[UR4][R20.64+{offset:#x}], R12 ;\n");
            round += &plain(15, "NOP").repeat(between as usize);
        }
    }
    Probe::new(format!("{name}/{warps}"), u64::from(between), 8, &before, &round)
        .block(32 * warps)
        .input(Input::Zeros(1 << 18))
}

pub(crate) fn requests(sms: u32) -> Vec<Probe> {
    let mut probes: Vec<Probe> = [1, 2, 3, 4, 5, 6, 8, 9, 12, 16]
        .into_iter()
        .map(|count| loads("neighbours".to_owned(), sms, &NEIGHBOURS[..count]))
        .collect();
    probes.push(loads("far".to_owned(), sms, &[NEIGHBOURS[0], FAR]));
    probes.push(loads("all".to_owned(), sms, &(0..sms as usize).collect::<Vec<_>>()));
    // Rows of a product's fragment, four lanes in each; a line and its neighbour.
    let fragment = slow("SHF.R.U32.HI R22, RZ, 0x2, R23")
        + &slow("LOP3.LUT R23, R23, 0x3, RZ, 0xc0, !PT")
        + &slow("SHF.L.U32 R23, R23, 0x3, RZ")
        + &slow("IMAD R20, R22, 0x200, R23");
    let row = slow("SHF.L.U32 R20, R23, 0x3, RZ");
    for warps in [1, 4, 8] {
        for between in [0, 1, 2, 4] {
            probes.push(stores("fragment", between, warps, &fragment));
            probes.push(stores("row", between, warps, &row));
        }
    }
    probes
}
