//! `--stats`: the counters of a launch as tables.

use crate::terminal::{table, thousands};
use machine::Location;
use machine::fault::Access;
use machine::stats::{Counts, Report, Traffic};
use ptx::module::Module;
use reports::statistics::access;

/// Opcodes, and instructions, that the tables show.
const TOP: usize = 10;

fn percent(part: u64, whole: u64) -> String {
    match whole {
        0 => String::new(),
        _ => format!("{:.1}%", 100.0 * part as f64 / whole as f64),
    }
}

fn decimal(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| format!("{value:.2}"))
}

/// The tables of a report.
pub(crate) fn text(report: &Report, module: &Module) -> String {
    let total = &report.total;
    let row = |(name, counts): &(String, Counts)| {
        vec![
            name.clone(),
            thousands(counts.warp_instructions),
            percent(counts.warp_instructions, total.warp_instructions),
            thousands(counts.thread_instructions),
            decimal(counts.lanes_per_instruction()),
        ]
    };
    let mut classes: Vec<_> = report.classes.iter().map(row).collect();
    classes.push(row(&("total".to_owned(), total.clone())));
    let mut text = table(&["class", "warp instr.", "", "thread instr.", "lanes"], classes, true);
    let opcodes = report.opcodes.iter().take(TOP).map(row).collect();
    text += &format!("\n{}", table(&["opcode", "warp instr.", "", "thread instr.", "lanes"], opcodes, true));
    text += &format!(
        "\n{}",
        table(&["line", "warp instr.", "", "lanes", "instruction"], lines(report, module), false)
    );
    text += &format!(
        "\nbranches: {} conditional, {} divergent; {} lanes active at an instruction on average\n",
        thousands(total.branches),
        thousands(total.divergent_branches),
        decimal(total.active_per_instruction())
    );
    if !total.traffic.is_empty() {
        text += &format!("\n{}", memory(&total.traffic));
    }
    text
}

/// The instructions that were issued most often.
fn lines(report: &Report, module: &Module) -> Vec<Vec<String>> {
    let mut instructions: Vec<_> = report.instructions.iter().collect();
    instructions.sort_by_key(|(_, _, counts)| std::cmp::Reverse(counts.warp_instructions));
    let row = |(function, instruction, counts): &(_, u32, Counts)| {
        let location = Location::of(module, *function, *instruction);
        vec![
            location.ptx.map(|place| place.line.to_string()).unwrap_or_default(),
            thousands(counts.warp_instructions),
            percent(counts.warp_instructions, report.total.warp_instructions),
            decimal(counts.lanes_per_instruction()),
            location.text.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" "),
        ]
    };
    instructions.into_iter().take(TOP).map(row).collect()
}

fn memory(traffic: &[Traffic]) -> String {
    let header = [
        "memory",
        "requests",
        "accesses",
        "bytes",
        "sectors",
        "per request",
        "moved",
        "efficiency",
        "conflicts",
        "collisions",
    ];
    let rows = traffic.iter().map(|t| {
        let optional = |value: u64, shown: bool| if shown { thousands(value) } else { String::new() };
        vec![
            format!("{} {}", t.space.name(), access(t.access)),
            thousands(t.requests),
            thousands(t.accesses),
            thousands(t.bytes),
            optional(t.sectors, t.sectors > 0),
            decimal(t.sectors_per_request()),
            optional(t.bytes_moved(), t.sectors > 0),
            t.efficiency().map_or_else(String::new, |e| format!("{:.1}%", 100.0 * e)),
            optional(t.bank_conflicts(), t.wavefronts > 0),
            optional(t.collisions, t.access == Access::Atomic),
        ]
    });
    table(&header, rows.collect(), true)
}
