//! A launch as one page that needs nothing else: its figures, its pictures, and its source, PTX and machine code side by side with their
//! cycles.

use super::lines::Lines;
use super::plots;
use crate::run::request::Extents;
use crate::terminal::thousands;
use reports::columns;
use reports::findings::escaped;
use sass_machine::Program;
use sim::{Device, Report};
use std::error::Error;
use std::fmt::Write;

/// The page.
pub(super) fn page(
    report: &Report,
    device: &Device,
    program: &Program,
    lines: &Lines,
) -> Result<String, Box<dyn Error>> {
    let title = format!(
        "{}: {} cycles, {:.2} us",
        report.kernel,
        thousands(report.cycles),
        report.nanoseconds(device) / 1000.0
    );
    let mut page = format!(
        "<p>grid {}, block {}, in a model of {}</p>\n<div>{}{}</div>\n",
        Extents(report.grid),
        Extents(report.block),
        escaped(&device.name),
        plots::roofline(report, device)?,
        plots::occupancy(report, device)?,
    );
    page += "<h2>Why warps waited</h2>\n<table><tr><th>cycles</th><th>of all</th><th>reason</th></tr>\n";
    let stalls = report.stalls();
    let all = stalls.all().max(1) as f64;
    for (stall, name) in sim::STALLS {
        let cycles = stalls.of(stall);
        if cycles > 0 {
            let part = 100.0 * cycles as f64 / all;
            writeln!(page, "<tr><td>{}</td><td>{part:.1} %</td><td>{name}</td></tr>", thousands(cycles))?;
        }
    }
    page += "</table>\n<h2>Code</h2>\n";
    Ok(columns::page(&title, &page, &lines.columns(report, program)))
}
