//! Global memory: what a load takes by where its line is, how many bytes a cycle come from where, what atomic operations take.

use super::probe::{Input, Probe, awaited, plain, slow, times};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Bytes of a line.
const LINE: u64 = 128;

/// Loads of a chase between two tests of its counter.
const CHASED: u64 = 8;

/// A chase of one thread through a circle of lines, so many steps a round.
pub(crate) fn circle(name: String, load: &str, size: u64, steps: u64) -> Probe {
    let before = slow("MOV R20, R4") + &slow("MOV R21, R5");
    let mut round = slow(&format!("MOV R22, {:#x}", steps / CHASED)) + ".L_again:\n";
    round += &format!("[B--2---:R-:W2:-:S02] {load} R20, desc[UR4][R20.64] ;\n").repeat(CHASED as usize);
    round += &plain(4, "IADD3 R22, R22, -0x1, RZ");
    round += &plain(13, "ISETP.NE.AND P2, PT, R22, RZ, PT");
    round += "[B------:R-:W-:-:S05] @P2 BRA `(.L_again) ;\n";
    Probe::new(name, size, steps as u32, &before, &round).input(Input::Circle(size))
}

/// Chases through circles of lines, through the L1 and around it. The first round fills what there is to fill.
pub(crate) fn chase() -> Vec<Probe> {
    let sizes = [
        16 * KIB,
        64 * KIB,
        128 * KIB,
        160 * KIB,
        192 * KIB,
        208 * KIB,
        224 * KIB,
        240 * KIB,
        256 * KIB,
        320 * KIB,
        MIB,
        4 * MIB,
        12 * MIB,
        20 * MIB,
        28 * MIB,
        36 * MIB,
        48 * MIB,
        64 * MIB,
        128 * MIB,
        512 * MIB,
    ];
    let mut probes = Vec::new();
    for (name, load) in [("LDG", "LDG.E.64"), ("LDG.STRONG", "LDG.E.64.STRONG.GPU")] {
        for size in sizes {
            // A round goes on where the one before it has ended: around a large circle it comes back to no line that is still near.
            let steps = (size / LINE).min(1 << 18);
            probes.push(circle(format!("chase/{name}"), load, size, steps));
        }
    }
    // The L2 by line: each of these lines again and again, around the L1.
    for line in 0..128_u64 {
        let before = slow(&format!("IADD3 R4, P2, R4, {:#x}, RZ", line * 4 * LINE))
            + &slow("IADD3.X R5, R5, RZ, RZ, P2, !PT");
        let round = "[B--2---:R-:W2:-:S02] LDG.E.64.STRONG.GPU R20, desc[UR4][R4.64] ;\n".repeat(16);
        probes.push(
            Probe::new("line/L2", line * 4 * LINE, 16, &before, &round).input(Input::Zeros(128 * 4 * LINE)),
        );
    }
    probes
}

/// Accesses of a warp between two steps of its address.
const UNROLLED: u32 = 16;

/// Where the accesses of all warps go.
#[derive(Clone, Copy)]
pub(crate) struct Walk {
    /// Bytes between neighbouring lanes, and between neighbouring warps.
    lane: u64,
    warp: u64,
    /// Bytes from an access of a warp to its next one, and from a row of accesses to its next row.
    step: u64,
    row: u64,
    /// Where it goes around: a power of two.
    range: u64,
}

impl Walk {
    /// Warps side by side, each with its next access so many bytes behind.
    pub(crate) fn side_by_side(lane: u64, step: u64, range: u64) -> Self {
        Self { lane, warp: 32 * lane, step, row: u64::from(UNROLLED) * step, range }
    }
}

/// Accesses of all warps, so many rows.
pub(crate) fn stream(name: String, variable: u64, access: &str, walk: Walk, rows: u32) -> Probe {
    let Walk { lane, warp, step, row, range } = walk;
    let before = slow("SHF.R.U32.HI R22, RZ, 0x5, R6")
        + &slow("LOP3.LUT R23, R6, 0x1f, RZ, 0xc0, !PT")
        + &times("R39", "R23", lane, "RZ")
        + &times("R39", "R22", warp, "R39");
    let mut round = slow("MOV R22, R39") + &slow("MOV R23, R11") + ".L_again:\n";
    round += &slow("LOP3.LUT R22, R22, R10, RZ, 0xc0, !PT");
    round += &plain(5, "IADD3 R20, P2, R4, R22, RZ");
    round += &plain(13, "IADD3.X R21, R5, RZ, RZ, P2, !PT");
    for index in 0..UNROLLED {
        let offset = if index == 0 { String::new() } else { format!("+{:#x}", u64::from(index) * step) };
        let text = access.replace("AT", &format!("desc[UR4][R20.64{offset}]"));
        let register = 40 + index % 4 * 4;
        let text = text.replace("DST", &format!("R{register}"));
        // Loads end in their order.
        let control = match (index + 1 == UNROLLED, text.starts_with("LDG")) {
            (true, true) => "[B------:R-:W2:-:S02]",
            (true, false) => "[B------:R2:W-:-:S02]",
            (false, _) => "[B------:R-:W-:-:S01]",
        };
        round += &format!("{control} {text} ;\n");
    }
    round += &plain(1, &format!("IADD3 R22, R22, {row:#x}, RZ"));
    round += &plain(4, "IADD3 R23, R23, -0x1, RZ");
    round += &plain(13, "ISETP.NE.AND P2, PT, R23, RZ, PT");
    round += "[B--2---:R-:W-:-:S05] @P2 BRA `(.L_again) ;\n";
    // What lies behind the range's end by offsets.
    let room = range + u64::from(UNROLLED) * step + 32 * lane + 16;
    Probe::new(name, variable, rows * UNROLLED, &before, &round)
        .input(Input::Zeros(room))
        .arguments([(range - 1) as u32, rows])
}

/// Throughput from each level: of one SM, of all.
pub(crate) fn throughput(sms: u32) -> Vec<Probe> {
    let mut probes = Vec::new();
    // From the L1: lanes ever further apart, 1 to 32 lines; with a word more, so that no bank has two of them.
    for (name, access) in
        [("LDG", "LDG.E DST, AT"), ("LDG.64", "LDG.E.64 DST, AT"), ("LDG.128", "LDG.E.128 DST, AT")]
    {
        let width = if name.ends_with("128") {
            16
        } else if name.ends_with("64") {
            8
        } else {
            4
        };
        for lane in [0_u64, 4, 8, 16, 32, 36, 64, 68, 72, 128, 132, 136, 144, 256, 272] {
            if lane % width != 0 {
                continue;
            }
            // All warps at the same places, so that few lines are enough.
            let probe = stream(format!("L1/{name}"), lane, access, Walk::side_by_side(lane, 0, 8 * KIB), 16);
            probes.push(probe.block(512));
        }
    }
    // A line a lane, so many lines from lane to lane; with a word more, so that no bank has two of them, and without. By warps.
    for lines in [1, 2, 4, 8, 16, 32] {
        for word in [0, 4] {
            for warps in [1, 4, 16] {
                let lane = 128 * lines + word;
                let walk = Walk { lane, warp: 0, step: 0, row: 0, range: 256 * KIB };
                let probe = stream(format!("L1/LDG/lines/{warps}"), lane, "LDG.E DST, AT", walk, 16);
                probes.push(probe.block(32 * warps));
            }
        }
    }
    // Words in a row from lines of the lanes' own, of which each eighth comes from the L2; lanes' words in one bank, and each in its own.
    for warps in [4, 16] {
        for lane in [4 * KIB, 4 * KIB + 4] {
            let walk = Walk { lane, warp: 32 * lane, step: 4, row: 64, range: 4 * MIB };
            let probe = stream(format!("rows/LDG/{warps}"), lane, "LDG.E DST, AT", walk, 64);
            probes.push(probe.block(32 * warps));
        }
    }
    let all = [
        ("LDG", "LDG.E DST, AT", 4_u64),
        ("LDG.128", "LDG.E.128 DST, AT", 16),
        ("STG", "STG.E AT, R12", 4),
        ("STG.128", "STG.E.128 AT, R12", 16),
    ];
    for (name, access, width) in all {
        // From the L2, by one SM and by all, around the L1; from the memory behind it, each byte once.
        let strong = access.replace(" DST", ".STRONG.GPU DST").replace(" AT, R12", ".STRONG.GPU AT, R12");
        for grid in [1, sms / 4, sms / 2, sms] {
            let step = width * 512;
            let probe = stream(
                format!("L2/{name}"),
                u64::from(grid),
                &strong,
                Walk::side_by_side(width, step, 8 * MIB),
                64,
            );
            probes.push(probe.grid(grid).block(512));
        }
        let threads = u64::from(sms) * 1024;
        for mebibytes in [128, 512] {
            let rows = (mebibytes * MIB / (u64::from(UNROLLED) * width * threads)) as u32;
            // A warp's row of accesses lies together.
            let warp = 32 * width * u64::from(UNROLLED);
            let walk =
                Walk { lane: width, warp, step: 32 * width, row: warp * threads / 32, range: 1024 * MIB };
            let probe = stream(format!("DRAM/{name}"), mebibytes, access, walk, rows);
            probes.push(probe.grid(sms).block(1024));
        }
    }
    // Sectors of a line from the L2.
    for lane in [4, 8, 16, 32, 64, 128] {
        let probe = stream(
            "L2/LDG/sectors".to_owned(),
            lane,
            "LDG.E.STRONG.GPU DST, AT",
            Walk::side_by_side(lane, lane * 512, 8 * MIB),
            16,
        );
        probes.push(probe.grid(sms).block(512));
        let probe = stream(
            "L2/LDG/sectors/1".to_owned(),
            lane,
            "LDG.E.STRONG.GPU DST, AT",
            Walk::side_by_side(lane, lane * 512, 8 * MIB),
            16,
        );
        probes.push(probe.block(512));
    }
    // Atomic operations: all on one word, each warp's on its own line, each lane on its own word.
    for (name, lane, range) in [("one", 0_u64, 4 * KIB), ("words", 4, MIB), ("lines", 128, 8 * MIB)] {
        let access = "REDG.E.ADD.STRONG.GPU AT, R12";
        for grid in [1, sms] {
            let probe = stream(
                format!("REDG/{name}"),
                u64::from(grid),
                access,
                Walk::side_by_side(lane, 0, range),
                4,
            );
            probes.push(probe.grid(grid).block(256));
        }
    }
    probes.extend(crowded(sms));
    probes
}

/// Atomic operations of all warps of all SMs on the same few words, each lane on its own: by how far apart the words are, and how many of
/// them there are, as a histogram in global memory has them. What is told is the words' distance and how many there are.
fn crowded(sms: u32) -> Vec<Probe> {
    let mut probes = Vec::new();
    for lane in [4, 32, 128, 512, 4 * KIB + 128] {
        for words in [32, 128, 1024] {
            let range = (lane * words).next_power_of_two();
            let access = "REDG.E.ADD.STRONG.GPU AT, R12";
            let walk = Walk::side_by_side(lane, 0, range);
            let probe = stream(format!("REDG/crowded/{lane}"), words, access, walk, 4);
            probes.push(probe.grid(sms).block(256));
        }
    }
    probes
}

/// What is between an SM's two accesses that do not depend on one another: how many are under way at once.
pub(crate) fn depth() -> Vec<Probe> {
    let mut probes = Vec::new();
    for count in [1_u64, 2, 4, 8, 16, 32, 64] {
        // So many loads of other lines that are in no cache, then all awaited; a warp, or four.
        for warps in [1_u64, 4, 16, 32] {
            let before = slow("SHF.R.U32.HI R22, RZ, 0x5, R8")
                + &slow(&format!("IMAD.WIDE.U32 R4, R22, {:#x}, R4", 64 * KIB))
                + &awaited("LDG.E R20, desc[UR4][R4.64]");
            let mut round = String::new();
            for index in 0..count {
                let offset = (index + 1) * LINE;
                let control =
                    if index + 1 == count { "[B------:R-:W2:-:S02]" } else { "[B------:R-:W-:-:S01]" };
                round += &format!("{control} LDG.E.STRONG.GPU R40, desc[UR4][R4.64+{offset:#x}] ;\n");
            }
            let probe = Probe::new(format!("depth/{warps}"), count, count as u32, &before, &round);
            probes.push(probe.block(32 * warps as u32).input(Input::Zeros(4 * MIB)));
        }
    }
    probes
}
