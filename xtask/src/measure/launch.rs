//! Launches: how long an empty one takes, which SM a CTA goes to, how fast the clock runs.

use super::probe::{Input, Probe, plain, slow};

/// Cycles for which a CTA occupies its place.
const OCCUPIED: u32 = 40_000;

/// A round that lasts for a number of cycles.
fn spin(cycles: u32) -> String {
    slow("CS2R.32 R20, SR_CLOCKLO")
        + ".L_again:\n"
        + &slow("CS2R.32 R22, SR_CLOCKLO")
        + &slow("IADD3 R22, R22, -R20, RZ")
        + &slow(&format!("ISETP.LT.U32.AND P2, PT, R22, {cycles:#x}, PT"))
        + "[B------:R-:W-:Y:S15] @P2 BRA `(.L_again) ;\n"
}

/// CTAs that stay: which SM each is on, when it began (R23, the low word of the device's nanoseconds). Two waves, with one CTA of an SM, two and many.
pub(crate) fn placement(sms: u32) -> Vec<Probe> {
    let mut probes = Vec::new();
    for (name, block, shared, of_an_sm) in
        [("one", 64, 200 << 10, 1), ("two", 64, 100 << 10, 2), ("small", 32, 0, 32), ("wide", 1024, 0, 1)]
    {
        let begun = slow("CS2R R22, SR_GLOBALTIMERLO") + &slow("MOV R23, R22");
        let round = spin(OCCUPIED).replace("R22", "R39");
        let probe = Probe::new(name, of_an_sm, 1, &begun, &round).grid(sms * of_an_sm as u32 * 2);
        probes.push(probe.block(block).shared(shared));
    }
    probes
}

/// The SM's clock beside the nanoseconds of the device: R23 has how many nanoseconds of 32 bits passed in the third round.
pub(crate) fn clock(sms: u32) -> Vec<Probe> {
    let read = |register| plain(11, &format!("CS2R R{register}, SR_GLOBALTIMERLO")) + &slow("NOP");
    let round = read(44) + &spin(20_000_000) + &read(46) + &slow("IADD3 R23, R46, -R44, RZ");
    [1, sms].map(|grid| Probe::new("clock", u64::from(grid), 1, "", &round).grid(grid)).into()
}

/// A kernel that does nothing.
pub(crate) fn empty() -> Probe {
    let mut probe = Probe::new("empty", 0, 1, "", "").input(Input::Zeros(4096));
    probe.text = String::from("\t.target sm_90\n\t.kernel probe, 8, 8, 4, 4\n");
    probe.text += &plain(5, "EXIT");
    probe.text += ".L_end:\n[B------:R-:W-:Y:S00] BRA `(.L_end) ;\n";
    probe
}
