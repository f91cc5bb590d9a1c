//! A launch as one page that needs nothing else: its figures, its pictures, and its PTX and machine code side by side with their cycles.

use super::plots;
use crate::run::request::Extents;
use crate::terminal::thousands;
use reports::findings::escaped;
use sass_machine::{BYTES, Program};
use sim::{Device, Report};
use std::error::Error;
use std::fmt::Write;

const STYLE: &str = "\
body{font:15px/1.5 system-ui,sans-serif;margin:2em;color:#222;background:#fff}h1{font-size:1.4em}h2{font-size:1.1em}
.pictures{display:flex;flex-wrap:wrap}.code{display:flex;gap:2em;align-items:flex-start}.code>*{overflow-x:auto}
table{border-collapse:collapse;font-size:13px}td,th{padding:0 .8em 0 0;text-align:right;white-space:nowrap}
td:last-child,th:last-child{text-align:left}code,pre{font:12.5px/1.4 ui-monospace,monospace}pre{margin:0}";

/// The page. `ptx` is the text that was compiled, if any was.
pub(super) fn page(
    report: &Report,
    device: &Device,
    program: &Program,
    ptx: Option<&str>,
) -> Result<String, Box<dyn Error>> {
    let kernel = escaped(&report.kernel);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{kernel}: {} cycles</title>\n\
         <style>\n{STYLE}\n</style></head><body>\n<h1>{kernel}: {} cycles, {:.2} us</h1>\n\
         <p>grid {}, block {}, in a model of {}</p>\n<div class=\"pictures\">{}{}</div>\n",
        report.cycles,
        thousands(report.cycles),
        report.nanoseconds(device) / 1000.0,
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
    page += "</table>\n<h2>Code</h2>\n<div class=\"code\"><table>\n<tr><th>of all cycles</th><th>warps</th><th>waited</th><th>most for</th><th>machine code</th></tr>\n";
    for (at, line) in report.lines.iter().enumerate() {
        let address = at as u64 * BYTES;
        let Some(text) = program.instruction(&report.kernel, address) else { continue };
        let part = line.stalls.all() as f64 / all;
        let waited = line.stalls.waited();
        let (reason, cycles) = Report::reason(line);
        // The more of all cycles, the stronger the colour.
        writeln!(
            page,
            "<tr style=\"background:rgba(222,121,44,{:.2})\"><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td><code>{address:#06x}  {}</code></td></tr>",
            part.sqrt().min(0.9),
            if line.warps > 0 { format!("{:.1} %", 100.0 * part) } else { String::new() },
            if line.warps > 0 { thousands(line.warps) } else { String::new() },
            if line.warps > 0 { format!("{:.1}", waited as f64 / line.warps as f64) } else { String::new() },
            if cycles > 0 { reason } else { "" },
            escaped(&text),
        )?;
    }
    page += "</table>\n";
    if let Some(ptx) = ptx {
        writeln!(page, "<pre>{}</pre>", escaped(ptx))?;
    }
    Ok(page + "</div>\n</body></html>\n")
}
