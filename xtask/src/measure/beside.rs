//! What goes on beside the threads, and what waits for it: probes of one CTA.

use super::probe::{Input, Probe, awaited, plain, slow, stored};

/// Instructions of a round.
const LENGTH: u32 = 32;

/// An object in shared memory, at 0x400, for half a million arrivals; R40 holds its address.
fn object() -> String {
    slow("MOV R40, 0x100000")
        + &slow("MOV R41, 0x40000000")
        + &stored("STS.64 [0x400], R40")
        + &slow("MOV R40, 0x400")
        + &slow("MOV R41, 0x80000000")
}

/// An instruction again and again, each waited for.
fn chain(name: &str, before: &str, text: &str) -> Probe {
    Probe::new(name, 0, LENGTH, before, &awaited(text).repeat(LENGTH as usize))
}

/// An instruction again and again, the last one waited for.
fn row(name: &str, before: &str, text: &str) -> Probe {
    let round = plain(2, text).repeat(LENGTH as usize - 1) + &awaited(text);
    Probe::new(name, 0, LENGTH, before, &round)
}

/// Products of four warps, of so many columns: one after the other, or one, which is waited for.
fn product(columns: u32, count: u32) -> Probe {
    let before =
        slow("UMOV UR8, 0x40") + &slow("UMOV UR9, 0x8") + &slow("UMOV UR10, 0x200") + &slow("UMOV UR11, 0x8");
    let text = format!("HGMMA.64x{columns}x16.F32 R64, gdesc[UR8], R64, UP0, gsb0");
    let round = slow("WARPGROUP.ARRIVE")
        + &plain(2, &text).repeat(count as usize)
        + &slow("WARPGROUP.DEPBAR.LE gsb0, 0x0");
    Probe::new(format!("HGMMA/{columns}"), u64::from(count), count, &before, &round)
        .block(128)
        .shared(48 << 10)
}

/// A copy in bulk of so many bytes, whose end is waited for.
fn bulk(bytes: u32) -> Probe {
    // One arrival a phase; the parity that is waited for changes from round to round.
    let before = slow("MOV R40, 0x1ffffe")
        + &slow("MOV R41, 0x7ffff800")
        + &stored("STS.64 [0x400], R40")
        + &slow("MOV R40, 0x400")
        + &slow("MOV R41, 0x0")
        + &slow(&format!("MOV R42, {bytes:#x}"))
        + &slow("UMOV UR12, 0x800")
        + &slow("UMOV UR13, 0x400")
        + &slow("R2UR UR18, R4")
        + &slow("R2UR UR19, R5")
        + &slow(&format!("UMOV UR20, {:#x}", bytes / 16))
        + &slow("ISETP.EQ.AND P3, PT, R8, 0x0, PT");
    let round = "[B------:R-:W1:-:S02] @P3 SYNCS.ARRIVE.TRANS64 R44, [R40+URZ], R42 ;\n".to_owned()
        + "[B-1----:R-:W-:Y:S15] NOP ;\n"
        + "[B------:R1:W-:Y:S15] UBLKCP.S.G [UR12], [UR18], UR20 ;\n"
        + ".L_again:\n"
        + "[B012345:R-:W1:-:S02] SYNCS.PHASECHK.TRANS64.TRYWAIT P4, [R40+URZ], R41 ;\n"
        + "[B-1----:R-:W-:Y:S15] @!P4 BRA `(.L_again) ;\n"
        + &slow("LOP3.LUT R41, R41, 0x80000000, RZ, 0x3c, !PT");
    Probe::new("UBLKCP", u64::from(bytes), 1, &before, &round).shared(48 << 10).input(Input::Zeros(1 << 16))
}

pub(crate) fn beside() -> Vec<Probe> {
    let near = slow("MOV R40, 0x800");
    let mut probes = vec![
        chain("FENCE.VIEW.ASYNC.S", "", "FENCE.VIEW.ASYNC.S"),
        chain("SYNCS.ARRIVE", &object(), "SYNCS.ARRIVE.TRANS64.A1T0 R44, [R40+URZ], RZ"),
        row("SYNCS.ARRIVE/row", &object(), "SYNCS.ARRIVE.TRANS64.A1T0 R44, [R40+URZ], RZ"),
        chain("SYNCS.PHASECHK", &object(), "SYNCS.PHASECHK.TRANS64.TRYWAIT P4, [R40+URZ], R41"),
        chain("LDGSTS", &near, "LDGSTS.E.BYPASS.128 [R40], desc[UR4][R4.64]"),
        row("LDGSTS/row", &near, "LDGSTS.E.BYPASS.128 [R40], desc[UR4][R4.64]"),
    ];
    // Held by the scoreboard for operands.
    for scope in ["CTA", "GPU", "SYS"] {
        let text = format!("[B------:R1:W-:-:S02] MEMBAR.ALL.{scope} ;\n[B-1----:R-:W-:Y:S15] NOP ;\n");
        probes.push(Probe::new(
            format!("MEMBAR.ALL.{scope}/read"),
            0,
            LENGTH,
            "",
            &text.repeat(LENGTH as usize),
        ));
    }
    // The object and what is copied lie in shared memory.
    probes = probes.into_iter().map(|probe| probe.shared(4096)).collect();
    // More of them in a row do not end on an H100.
    probes.extend([64, 128].into_iter().flat_map(|columns| [1, 2].map(|count| product(columns, count))));
    probes.extend([128, 1024, 4096, 8192, 16384, 32768].map(bulk));
    probes
}
