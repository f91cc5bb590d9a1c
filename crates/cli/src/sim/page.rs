//! The report of one launch as text.

use crate::run::request::Extents;
use crate::terminal::{self, thousands};
use sass_machine::{BYTES, Program};
use sim::{Device, Idea, Line, Report, Row};
use std::fmt::Write;

/// The report as text: figures, why warps waited, and the instructions with most of that.
pub(super) fn page(report: &Report, device: &Device, program: &Program) -> String {
    let mut page = format!(
        "{}, grid {}, block {} on {}: {} cycles, {:.2} us\n\n",
        report.kernel,
        Extents(report.grid),
        Extents(report.block),
        device.name,
        thousands(report.cycles),
        report.nanoseconds(device) / 1000.0,
    );
    if let Some(executed) = report.sampled {
        let (executed, all) = (thousands(executed), thousands(report.counters.ctas));
        let _ = writeln!(page, "Extrapolated: {executed} of {all} CTAs were executed.\n");
    }
    let occupancy = &report.occupancy;
    let _ = writeln!(
        page,
        "An SM has room for {} CTAs, {} warps of {}: {} leave no room for more.\n",
        occupancy.ctas,
        occupancy.ctas * occupancy.warps,
        device.parameters.warps,
        occupancy.limit(),
    );
    let rows = report.metrics(device).into_iter().map(|metric| vec![metric.name, number(metric.value)]);
    page += &terminal::table(&["metric", "value"], rows.collect(), true);
    let code = report.lines.iter().enumerate().map(|(at, line)| {
        let address = at as u64 * BYTES;
        let text = program.instruction(&report.kernel, address).unwrap_or_default();
        (format!("{address:#06x}  {text}"), *line)
    });
    page.push('\n');
    page + &lines(report, "instruction", code.collect())
}

/// What stands in front of a line, see [`cells`].
pub(super) const HEADINGS: [&str; 4] = ["of all", "warps", "cycles waited", "most for"];

/// What a line costs, of so many cycles; nothing, if no warp came there.
pub(super) fn cells(line: &Line, all: u64) -> Vec<String> {
    if line.warps == 0 {
        return Vec::new();
    }
    let (reason, cycles) = Report::reason(line);
    vec![
        format!("{:.1} %", 100.0 * line.stalls.all() as f64 / all.max(1) as f64),
        thousands(line.warps),
        format!("{:.1}", line.stalls.waited() as f64 / line.warps as f64),
        if cycles == 0 { String::new() } else { reason.to_owned() },
    ]
}

/// Those of some lines at which warps spent the most cycles, in their order.
pub(super) fn lines(report: &Report, heading: &str, lines: Vec<(String, Line)>) -> String {
    let all = report.stalls().all();
    let mut lines: Vec<_> = lines.into_iter().filter(|(_, line)| line.warps > 0).enumerate().collect();
    lines.sort_by_key(|(at, (_, line))| (std::cmp::Reverse(line.stalls.all()), *at));
    lines.truncate(SHOWN);
    lines.sort_by_key(|(at, _)| *at);
    let rows = lines.into_iter().map(|(_, (text, line))| {
        let mut row = cells(&line, all);
        row.push(text);
        row
    });
    let headings: Vec<&str> = HEADINGS.into_iter().chain([heading]).collect();
    terminal::table(&headings, rows.collect(), false)
}

/// A metric's number.
pub(super) fn number(value: f64) -> String {
    match value.fract() == 0.0 {
        true => thousands(value as u64),
        false => format!("{value:.3}"),
    }
}

/// Lines that are shown.
const SHOWN: usize = 24;

/// A device's numbers, with where each comes from.
pub(super) fn parameters(device: &Device) -> String {
    let row = |name: &str, Row { value, unit, source, uncertainty }: &Row| {
        vec![name.to_owned(), value.to_string(), unit.clone(), source.clone(), uncertainty.clone()]
    };
    let rows = device.rows.iter().map(|(name, number)| row(name, number));
    let mut page = format!("{}\n\n", device.name);
    page +=
        &terminal::table(&["parameter", "value", "unit", "source", "may be off by"], rows.collect(), false);
    let rows = device.opcodes.iter().map(|group| {
        vec![
            group.names.join(" "),
            group.interval.to_string(),
            group.latency.to_string(),
            group.source.clone(),
            group.uncertainty.clone(),
        ]
    });
    page.push('\n');
    page += &terminal::table(
        &["opcodes", "interval", "latency", "source", "may be off by"],
        rows.collect(),
        false,
    );
    page
}

/// What would help, with the cycles that the launch then takes.
pub(super) fn advice(report: &Report, ideas: &[(Idea, u64)]) -> String {
    if ideas.is_empty() {
        return "No change that was tried would help.\n".to_owned();
    }
    let rows = ideas.iter().map(|(idea, cycles)| {
        let saved = 100.0 * (report.cycles - cycles) as f64 / report.cycles.max(1) as f64;
        vec![format!("-{saved:.1} %"), thousands(*cycles), idea.what.clone(), idea.instead.to_owned()]
    });
    terminal::table(&["saves", "cycles", "if", "what the kernel can do"], rows.collect(), false)
}
