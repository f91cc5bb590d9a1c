//! What would help most: for each cost that warps wait for, a change of the device that takes some of it away. Whoever runs the launch again
//! with the change sees what it is worth; what a programmer can do about the cost stands beside it.

use crate::counters::{Line, Stall};
use crate::device::Device;
use crate::report::Report;

/// A change that may help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idea {
    /// What is changed of the device.
    pub what: String,
    /// What of the kernel would do the same.
    pub instead: &'static str,
    /// The changes, as [`Device::set`] takes them.
    pub set: Vec<String>,
}

/// Of all cycles of warps, one of so many is worth a change.
const WORTH: u64 = 50;

/// What may help a launch that has been modelled. `head` says which opcode an instruction is, by its number.
#[must_use]
pub fn ideas(report: &Report, device: &Device, head: impl Fn(usize) -> String) -> Vec<Idea> {
    let of = &device.parameters;
    let stalls = report.stalls();
    let waits = |stall| stalls.of(stall) * WORTH >= stalls.all() && stalls.of(stall) > 0;
    let mut ideas = Vec::new();
    let mut add = |what: &str, instead, set: &[(&str, u64)]| {
        let set = set.iter().map(|(name, value)| format!("{name}={value}")).collect();
        ideas.push(Idea { what: what.to_owned(), instead, set });
    };
    if waits(Stall::LongScoreboard) {
        let half = [("l2.latency", of.l2 / 2), ("dram.latency", of.dram / 2)];
        add(
            "L2 and memory answer in half the time",
            "more loads under way: unrolling, loads early, more warps",
            &half,
        );
        let twice = [("dram.channel_rate", of.channel_rate * 2)];
        add("memory is twice as wide", "fewer bytes: smaller types, no value read twice", &twice);
        let twice = [
            ("l2.slice_rate", of.slice_rate * 2),
            ("noc.responses", of.responses * 2),
            ("noc.requests", of.requests * 2),
        ];
        add(
            "the way to the L2 is twice as wide",
            "fewer sectors: neighbouring lanes at neighbouring words, tiles in shared memory",
            &twice,
        );
        let larger = (of.l1_and_shared * 2).min(1 << 20);
        add(
            "the L1 is twice as large",
            "smaller tiles, neighbouring CTAs at neighbouring data",
            &[("sm.l1_and_shared", larger)],
        );
    }
    if waits(Stall::ShortScoreboard) || waits(Stall::MioThrottle) {
        add(
            "shared memory serves a round a cycle for each sub-core",
            "fewer bank conflicts, wider accesses, shuffles, registers",
            &[("lsu.port", 1)],
        );
        add(
            "the queue to the unit for memory is four times as long",
            "accesses spread among arithmetic",
            &[("lsu.queue", of.queue * 4)],
        );
    }
    if waits(Stall::Barrier) {
        add(
            "a barrier costs nothing itself",
            "fewer barriers, smaller CTAs, work that is alike in all warps",
            &[("issue.barrier", 0)],
        );
    }
    if waits(Stall::BranchResolving) {
        add(
            "a branch that is taken costs a cycle",
            "loops unrolled, short branches as predicates",
            &[("issue.branch", 1)],
        );
    }
    if waits(Stall::NoInstruction) {
        add("all code fits", "shorter loops, less unrolling", &[("fetch.capacity", of.fetch_capacity * 16)]);
    }
    if waits(Stall::DispatchStall) {
        add(
            "registers have one bank each",
            "operands in both banks, `.reuse`",
            &[("issue.bank_conflict", 0)],
        );
    }
    let larger = match report.occupancy.limit() {
        "registers" => Some((
            "an SM has twice the registers",
            "fewer registers: launch bounds",
            ("sm.registers", of.registers * 2),
        )),
        "shared memory" => Some((
            "an SM has twice the shared memory",
            "less shared memory a CTA",
            ("sm.shared", of.shared * 2),
        )),
        "CTAs" => Some(("an SM has room for twice the CTAs", "larger CTAs", ("sm.ctas", of.ctas * 2))),
        _ => None,
    };
    // More room is worth nothing where the CTAs have room already.
    if let Some((what, instead, change)) =
        larger.filter(|_| report.counters.ctas > report.occupancy.ctas * of.sms)
    {
        add(what, instead, &[change]);
    }
    if (of.launch + of.drain) * 5 > report.cycles {
        let none = [("launch.latency", 0), ("launch.drain", 0)];
        add("a launch costs nothing itself", "more work a launch: kernels fused, graphs", &none);
    }
    if waits(Stall::MathPipeThrottle) {
        let throttled = |line: &Line| line.stalls.of(Stall::MathPipeThrottle);
        let most = report.lines.iter().enumerate().max_by_key(|(_, line)| throttled(line));
        if let Some(group) = most.and_then(|(at, _)| device.opcodes(&head(at))) {
            let half = (group.interval / 2).max(1);
            let set = group.names.iter().map(|name| format!("{name}.interval={half}")).collect();
            let what = format!("the pipe of {} is twice as wide", group.names.join(", "));
            ideas.push(Idea { what, instead: "fewer of these, others of another pipe", set });
        }
    }
    ideas
}
