//! What the CTAs of a cluster wait for one another for.

use super::probe::{CLUSTER_MEETING, Probe};

/// Barriers of a round.
const LENGTH: u32 = 32;

/// What a program does before it arrives, and when it goes on.
const FENCES: &str = "\
[B012345:R1:W-:Y:S15] MEMBAR.ALL.GPU ;
[B012345:R-:W-:Y:S00] ERRBAR ;
[B012345:R-:W-:Y:S15] CGAERRBAR ;
[B012345:R-:W-:Y:S15] CCTL.IVALL ;
";
const INVALIDATE: &str = "[B012345:R-:W-:Y:S15] CCTL.IVALL ;\n";

/// Barriers of a cluster, alone and with the fences around them, by the warps of a CTA.
pub(crate) fn cluster() -> Vec<Probe> {
    let mut probes = Vec::new();
    for cluster in [2, 4, 8] {
        for warps in [1, 8, 32] {
            for (name, round) in [
                ("barrier", CLUSTER_MEETING.to_owned()),
                ("barrier/fenced", format!("{FENCES}{CLUSTER_MEETING}{INVALIDATE}")),
            ] {
                let round = round.repeat(LENGTH as usize);
                let probe = Probe::new(format!("{name}/{cluster}"), u64::from(warps), LENGTH, "", &round);
                probes.push(probe.grid(cluster).block(32 * warps).cluster(cluster).shared(16 << 10));
            }
        }
    }
    probes
}
