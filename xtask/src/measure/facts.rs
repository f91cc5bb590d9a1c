//! Facts of the hardware, each shown by two kernels that do the same work: how many times as long the other one takes, on a GPU and in the
//! model.

use super::cycles;
use super::memory::{Walk, circle, stream};
use super::model::left;
use super::pipes::{line_of, own_word, row};
use super::probe::{Input, Probe, ROUNDS, plain, slow, times};
use anyhow::{Context, Result};
use sim::Device;
use std::fmt::Write as _;
use std::ops::RangeInclusive;

/// A fact and its kernels.
pub(crate) struct Fact {
    name: &'static str,
    /// What is so.
    says: &'static str,
    /// The chapter of the essay on CUDA and GPUs that tells of it.
    chapter: &'static str,
    /// The other kernel takes at least so many times as long.
    least: f64,
    /// What is compared of each.
    rounds: RangeInclusive<usize>,
    pub(crate) base: Probe,
    pub(crate) other: Probe,
}

/// A fact as a GPU and the model have it: cycles of both kernels.
pub(crate) struct Compared {
    fact: Fact,
    gpu: [u32; 2],
    model: [u32; 2],
}

/// By how much the model's ratio may differ from the GPU's.
const BOUND: f64 = 0.1;

/// The last round, which is warm.
const LAST: RangeInclusive<usize> = ROUNDS - 1..=ROUNDS - 1;
/// From the first CTA's beginning to the last one's end on an SM.
pub(crate) const ALL: RangeInclusive<usize> = 0..=ROUNDS - 1;

/// How often instructions stand in a row, where it is not said.
const LENGTH: u32 = 64;

/// A probe of so many warps.
fn probe(name: &str, warps: u32, before: &str, round: &str) -> Probe {
    Probe::new(name, u64::from(warps), LENGTH, before, round).block(32 * warps).shared(16 << 10)
}

/// Independent instructions, these in turns.
fn independent(name: &str, texts: &[&str]) -> Probe {
    let lines: Vec<(bool, &str)> =
        texts.iter().map(|text| if text.contains("DST") { (false, *text) } else { line_of(text) }).collect();
    probe(name, 1, "", &row(&lines))
}

/// Accesses of shared memory by one warp, lanes at these places: `R23` has the lane's number, `R22` becomes the address.
fn shared(name: &str, access: &str, place: &str) -> Probe {
    let before = slow("LOP3.LUT R23, R8, 0x1f, RZ, 0xc0, !PT") + place + &slow("IADD3 R22, R22, 0x400, RZ");
    let round = plain(1, access).repeat(31) + &format!("[B------:R-:W0:-:S02] {access} ;\n");
    probe(name, 1, &before, &round)
}

/// A chain of loads from shared memory, each of which waits for the one before.
fn chain(name: &str, warps: u32, length: usize) -> Probe {
    let before = own_word(2) + &slow("STS [R22], R22");
    probe(name, warps, &before, &"[B--2---:R-:W2:-:S02] LDS R22, [R22] ;\n".repeat(length))
}

/// Loads of a line by each of four warps, the first byte so far behind a line's beginning.
fn line(name: &str, offset: u64) -> Probe {
    let before = slow("LOP3.LUT R23, R8, 0x1f, RZ, 0xc0, !PT")
        + &slow(&format!("IADD3 R4, P2, R4, {offset:#x}, RZ"))
        + &slow("IADD3.X R5, R5, RZ, RZ, P2, !PT")
        + &slow("IMAD.WIDE.U32 R20, R23, 0x4, R4");
    let mut round = String::new();
    for index in 0..LENGTH {
        let control = if index + 1 == LENGTH { "[B------:R-:W2:-:S02]" } else { "[B------:R-:W-:-:S01]" };
        let _ = writeln!(round, "{control} LDG.E R40, desc[UR4][R20.64+{:#x}] ;", index % 8 * 128);
    }
    probe(name, 4, &before, &round).input(Input::Zeros(4096))
}

/// An `if` with an `else`, of the warp's lanes so many on one side.
fn sides(name: &str, lanes: u32) -> Probe {
    let before = slow(&format!("ISETP.LT.AND P3, PT, R8, {lanes:#x}, PT"));
    let body = row(&[line_of("FADD")]);
    let round = format!(
        "[B------:R-:W-:-:S05] BSSY B0, `(.L_join) ;\n\
         [B------:R-:W-:-:S05] @P3 BRA `(.L_then) ;\n\
         {body}\
         [B------:R-:W-:-:S05] BRA `(.L_join) ;\n\
         .L_then:\n\
         {body}\
         .L_join:\n\
         [B------:R-:W-:-:S05] BSYNC B0 ;\n"
    );
    probe(name, 1, &before, &round)
}

/// CTAs of one warp that wait by stall counts for some five thousand cycles a round, of so much shared memory each.
fn waiting(name: &str, grid: u32, shared: u32) -> Probe {
    let mut round = slow("MOV R22, 0x28") + ".L_again:\n";
    round += &slow("NOP").repeat(6);
    round += &slow("IADD3 R22, R22, -0x1, RZ");
    round += &slow("ISETP.NE.AND P2, PT, R22, RZ, PT");
    round += "[B------:R-:W-:-:S05] @P2 BRA `(.L_again) ;\n";
    probe(name, 1, "", &round).grid(grid).shared(shared)
}

/// Loads of constants, lanes so many bytes apart.
fn constants(name: &str, lane: u64) -> Probe {
    let before = slow("LOP3.LUT R23, R8, 0x1f, RZ, 0xc0, !PT") + &times("R22", "R23", lane, "RZ");
    let text = "LDC R40, c[0x0][R22]";
    let round = plain(1, text).repeat(31) + &format!("[B------:R-:W0:-:S02] {text} ;\n");
    probe(name, 1, &before, &round)
}

/// Words from lane to lane: by a shuffle, or through shared memory.
fn exchange(name: &str, round: &str) -> Probe {
    let before = own_word(2) + &slow("LOP3.LUT R23, R22, 0x4, RZ, 0x3c, !PT");
    probe(name, 1, &before, &round.repeat(LENGTH as usize))
}

/// Accesses to global memory of a CTA of 16 warps, lanes so many bytes apart.
fn global(name: &str, lane: u64, access: &str, range: u64) -> Probe {
    stream(name.to_owned(), lane, access, Walk::side_by_side(lane, 0, range), 4).block(512)
}

/// All facts.
pub(crate) fn all(sms: u32) -> Vec<Fact> {
    let fact = |name, chapter, least, base, other, says| Fact {
        name,
        says,
        chapter,
        least,
        rounds: LAST,
        base,
        other,
    };
    let (lds, atoms) = ("LDS R20, [R22]", "ATOMS.ADD R20, [R22], R12");
    let bank = |stride: u64| times("R22", "R23", 4 * stride, "RZ");
    let barrier = "[B------:R-:W-:-:S05] BAR.SYNC.DEFER_BLOCKING 0x0 ;\n";
    let barriers = |name, warps| probe(name, warps, "", &barrier.repeat(LENGTH as usize));
    let again = slow("MOV R22, 0x10")
        + ".L_again:\n"
        + &plain(1, "FFMA R40, R16, R17, R16").repeat(1024)
        + &plain(4, "IADD3 R22, R22, -0x1, RZ")
        + &plain(13, "ISETP.NE.AND P2, PT, R22, RZ, PT")
        + "[B------:R-:W-:-:S05] @P2 BRA `(.L_again) ;\n";
    let straight = plain(1, "FFMA R40, R16, R17, R16").repeat(16 * 1024);
    let dependent = plain(4, "FADD R20, R20, R16").repeat(LENGTH as usize);
    let store =
        format!("[B--2---:R-:W-:-:S02] STS [R22], R20 ;\n{barrier}[B------:R-:W2:-:S02] LDS R20, [R23] ;\n");
    let (red, mib) = ("REDG.E.ADD.STRONG.GPU AT, R12", 1 << 20);
    vec![
        fact(
            "register-banks",
            "GPR介绍",
            2.0,
            independent("register-banks/two", &["FFMA DST, R16, R17, R16"]),
            independent("register-banks/one", &["FFMA DST, R16, R18, R24"]),
            "registers lie in banks: operands of one bank are read one after the other",
        ),
        fact(
            "reuse",
            "reuse",
            2.0,
            independent("reuse/kept", &["FFMA DST, R16.reuse, R18.reuse, R24"]),
            independent("reuse/read", &["FFMA DST, R16, R18, R24"]),
            "an operand that .reuse has kept is not read again",
        ),
        fact(
            "units-in-turns",
            "scheduler和dispatch port",
            1.5,
            independent("units-in-turns/both", &["IADD3", "FFMA"]),
            independent("units-in-turns/integer", &["IADD3"]),
            "instructions of different units go at once: integers and floats in turns take half the time of integers alone",
        ),
        fact(
            "special-functions",
            "scheduler和dispatch port",
            4.0,
            independent("special-functions/FFMA", &["FFMA"]),
            independent("special-functions/MUFU", &["MUFU.RCP"]),
            "the unit of special functions has fewer lanes than a warp: it takes an instruction in several rounds",
        ),
        fact(
            "uniform",
            "uniform指令",
            1.5,
            independent("uniform/both", &["IADD3", "UIADD3"]),
            independent("uniform/vector", &["IADD3"]),
            "what all lanes have in common is computed once beside them, by a unit of its own",
        ),
        fact(
            "stall",
            "stall",
            3.0,
            independent("stall/independent", &["FADD"]),
            probe("stall/dependent", 1, "", &dependent),
            "what needs the result of the instruction before waits by its stall count",
        ),
        fact(
            "warps",
            "wrap的执行和调度",
            3.0,
            chain("warps/16", 16, 64),
            chain("warps/4", 4, 256),
            "where one warp waits another one goes on: four times the warps do the same work in a quarter of the time",
        ),
        fact(
            "divergence",
            "控制流指令",
            1.5,
            sides("divergence/one", 32),
            sides("divergence/both", 16),
            "a warp whose lanes part executes both sides one after the other",
        ),
        fact(
            "barrier",
            "同步和通信",
            2.0,
            barriers("barrier/4", 4),
            barriers("barrier/32", 32),
            "a barrier costs the more the more warps meet there",
        ),
        fact(
            "exchange",
            "同步和通信",
            1.5,
            exchange("exchange/shuffle", "[B--2---:R-:W2:-:S02] SHFL.BFLY PT, R20, R20, 0x1, 0x1f ;\n"),
            exchange("exchange/memory", &store),
            "lanes exchange words faster by a shuffle than through shared memory",
        ),
        fact(
            "shared-banks",
            "LDS/STS与shared memory与L1 cache",
            16.0,
            shared("shared-banks/padded", lds, &bank(33)),
            shared("shared-banks/column", lds, &bank(32)),
            "words of one bank come one after the other: the column of a tile with rows of 32 words, and of 33",
        ),
        fact(
            "broadcast",
            "LDS/STS与shared memory与L1 cache",
            1.4,
            shared("broadcast/word", lds, &slow("MOV R22, RZ")),
            shared(
                "broadcast/words",
                lds,
                &(slow("LOP3.LUT R22, R23, 0x1, RZ, 0xc0, !PT") + &times("R22", "R22", 128, "RZ")),
            ),
            "lanes that read one word are served at once, those that read two words of a bank one after the other",
        ),
        fact(
            "shared-atomics",
            "LDS/STS与shared memory与L1 cache",
            8.0,
            shared("shared-atomics/words", atoms, &bank(1)),
            shared("shared-atomics/word", atoms, &slow("MOV R22, RZ")),
            "additions to one word of shared memory come one after the other",
        ),
        fact(
            "coalescing",
            "LDG/STG和global memory",
            16.0,
            global("coalescing/line", 4, "LDG.E DST, AT", 8 << 10),
            global("coalescing/lines", 128, "LDG.E DST, AT", 8 << 10),
            "a warp's words in one line are one access, in 32 lines 32",
        ),
        fact(
            "alignment",
            "LDG/STG和global memory",
            1.5,
            line("alignment/line", 0),
            line("alignment/across", 64),
            "words across two lines are two accesses",
        ),
        fact(
            "L1",
            "L2 cache",
            4.0,
            circle("L1/L1".to_owned(), "LDG.E.64", 16 << 10, 8 << 10),
            circle("L1/L2".to_owned(), "LDG.E.64", mib, 8 << 10),
            "what the L1 has comes sooner than what the L2 has",
        ),
        fact(
            "L2",
            "L2 cache",
            1.5,
            circle("L2/L2".to_owned(), "LDG.E.64", mib, 8 << 10),
            circle("L2/DRAM".to_owned(), "LDG.E.64", 128 << 20, 8 << 10),
            "what the L2 has comes sooner than what lies in DRAM",
        ),
        fact(
            "global-atomics",
            "L2 cache",
            4.0,
            global("global-atomics/words", 4, red, mib).block(256),
            global("global-atomics/word", 0, red, 4 << 10).block(256),
            "additions to one word of global memory come one after the other",
        ),
        fact(
            "constants",
            "LDC和constant memory",
            4.0,
            constants("constants/word", 0),
            constants("constants/words", 4),
            "a constant is read once for all lanes, different ones one after the other",
        ),
        fact(
            "fetching",
            "指令获取",
            2.0,
            probe("fetching/loop", 1, "", &again),
            probe("fetching/straight", 1, "", &straight),
            "instructions come from a cache: a loop that fits is faster than code that does not",
        ),
        Fact {
            rounds: ALL,
            ..fact(
                "waves",
                "blcok的初始化和分配",
                1.8,
                waiting("waves/one", sms, 200 << 10),
                waiting("waves/two", sms + 1, 200 << 10),
                "a CTA goes to an SM that has room: one more than there are SMs waits for all of another one",
            )
        },
        Fact {
            rounds: ALL,
            ..fact(
                "occupancy",
                "block的SM共享",
                1.8,
                waiting("occupancy/two", 2 * sms, 100 << 10),
                waiting("occupancy/one", 2 * sms, 200 << 10),
                "CTAs share an SM as far as its shared memory suffices",
            )
        },
    ]
}

/// What a GPU's table has of a probe: the line of its first launch. The model has one launch alone, and a second one would find in the L2 what
/// the first has brought there from DRAM.
fn recorded(table: &str, probe: &Probe, rounds: &RangeInclusive<usize>) -> Result<u32> {
    let wanted = if *rounds == ALL { "all".to_owned() } else { rounds.end().to_string() };
    let found = table.lines().find_map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        match cells[..] {
            [name, _, _, _, _, _, round, span, ..] if name == probe.name && round == wanted => Some(span),
            _ => None,
        }
    });
    let span = found.with_context(|| format!("no line of {}, round {wanted}", probe.name))?;
    span.parse().with_context(|| format!("{} of {}", span, probe.name))
}

/// All facts in the model, beside a GPU's table.
pub(crate) fn compare(table: &str, device: &Device, sms: u32) -> Result<Vec<Compared>> {
    all(sms)
        .into_iter()
        .map(|fact| {
            let gpu = |probe| recorded(table, probe, &fact.rounds);
            let model =
                |probe| Ok::<u32, anyhow::Error>(cycles(&left(probe, device)?, fact.rounds.clone()).span);
            let gpu = [gpu(&fact.base)?, gpu(&fact.other)?];
            let model = [model(&fact.base)?, model(&fact.other)?];
            Ok(Compared { fact, gpu, model })
        })
        .collect()
}

impl Compared {
    /// How many times as long the other kernel takes: on the GPU, in the model.
    fn ratios(&self) -> (f64, f64) {
        let ratio = |[base, other]: [u32; 2]| f64::from(other) / f64::from(base.max(1));
        (ratio(self.gpu), ratio(self.model))
    }

    /// Both have the fact, and the model's ratio is the GPU's within the bound.
    fn agrees(&self) -> bool {
        let (gpu, model) = self.ratios();
        gpu >= self.fact.least && model >= self.fact.least && (model / gpu - 1.0).abs() <= BOUND
    }
}

/// A line for each fact, for people too.
pub(crate) fn table(all: &[Compared]) -> String {
    let mut lines = String::from(
        "fact,chapter,base,other,gpu_base,gpu_other,gpu_ratio,model_base,model_other,model_ratio,least,agrees,says\n",
    );
    for compared in all {
        let Fact { name, says, chapter, least, base, other, .. } = &compared.fact;
        let (gpu, model) = compared.ratios();
        let ([a, b], [c, d]) = (compared.gpu, compared.model);
        let _ = writeln!(
            lines,
            "{name},{chapter},{},{},{a},{b},{gpu:.2},{c},{d},{model:.2},{least},{},\"{says}\"",
            base.name,
            other.name,
            compared.agrees()
        );
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Facts that the model does not have as an H100 does, or that are less than expected on both; docs/sim.md says of each in which way.
    const OTHERWISE: &[&str] = &["exchange", "alignment"];

    #[test]
    fn the_model_has_the_facts_of_an_h100() {
        let table = include_str!("../../../crates/sim/measured/h100/facts.csv");
        let device = Device::named("h100").expect("a device that comes along");
        let compared = compare(table, &device, 132).expect("it is modelled");
        let otherwise: Vec<&str> =
            compared.iter().filter(|one| !one.agrees()).map(|one| one.fact.name).collect();
        assert_eq!(otherwise, OTHERWISE, "{}", super::table(&compared));
        assert!(compared.len() - otherwise.len() >= 10);
    }
}
