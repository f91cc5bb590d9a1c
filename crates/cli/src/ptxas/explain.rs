//! `--explain`: a page with PTX, its IR and the machine code side by side, each line with those that it became.

use ir::{Cfg, Notation};
use ptx::module::{FuncId, Module};
use ptxas::{Compiled, Made, Usage};
use reports::columns::{self, Column, Row};
use reports::findings::escaped;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Bytes of a machine instruction.
const BYTES: usize = 16;

/// The page.
pub(super) fn page(module: &Module, compiled: &Compiled) -> String {
    let mut before = String::from(
        "<table><tr><th>kernel</th><th>instructions</th><th>registers</th><th>stack</th><th>spill stores</th><th>spill loads</th><th>shared</th></tr>\n",
    );
    for kernel in &compiled.kernels {
        // Writing to a string cannot fail.
        let _ = writeln!(
            before,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{} bytes</td><td>{} bytes</td><td>{} bytes</td><td>{} bytes</td></tr>",
            escaped(&kernel.name),
            kernel.instructions.len(),
            kernel.registers,
            kernel.frame,
            kernel.spilled.stores,
            kernel.spilled.loads,
            kernel.shared,
        );
    }
    before += "</table>\n<p>What moves a register to memory or back stands out. The more registers are in use, the stronger is the colour of a line.</p>\n";
    let title = format!("{}: PTX, IR and machine code", module.source.name());
    columns::page(&title, &before, &[ptx(module, compiled), ir(module, compiled), code(module, compiled)])
}

fn group(line: u32) -> String {
    format!("p{line}")
}

fn ptx(module: &Module, compiled: &Compiled) -> Column {
    let all = compiled.kernels.iter().flat_map(|kernel| &kernel.instructions);
    let lines: BTreeSet<u32> =
        all.filter_map(|made| made.origin.and_then(|origin| origin.line(module))).collect();
    let rows = (1..).zip(module.source.text().lines()).map(|(line, text)| Row {
        before: vec![line.to_string()],
        text: text.to_owned(),
        groups: lines.contains(&line).then(|| group(line)).into_iter().collect(),
        ..Row::default()
    });
    Column { heading: "PTX".to_owned(), before: vec!["line"], rows: rows.collect() }
}

/// The functions that any of the code is from, as IR.
fn ir(module: &Module, compiled: &Compiled) -> Column {
    let all = compiled.kernels.iter().flat_map(|kernel| &kernel.instructions);
    let functions: BTreeSet<FuncId> =
        all.filter_map(|made| made.origin.map(|origin| origin.function)).collect();
    let mut rows = Vec::new();
    for function in functions.into_iter().filter_map(|id| ir::Function::lower(module, id)) {
        let text = |text: String| Row { text, ..Row::default() };
        rows.push(text(format!("function {}", function.declaration.name)));
        let notation = Notation::new(&function);
        for (index, block) in Cfg::new(&function).blocks.iter().enumerate() {
            rows.push(text(format!("block{index}:")));
            for at in block.first..block.end {
                let Some(Ok(typed)) = function.instructions.get(at as usize) else { continue };
                let origin = ptxas::Origin { function: function.id, instruction: at, call: 0 };
                rows.push(Row {
                    text: format!("    {}", notation.line(typed)),
                    groups: origin.line(module).map(group).into_iter().collect(),
                    ..Row::default()
                });
            }
        }
    }
    Column { heading: "IR".to_owned(), before: Vec::new(), rows }
}

fn code(module: &Module, compiled: &Compiled) -> Column {
    let rows = compiled.kernels.iter().flat_map(|kernel| {
        let name = Row { text: format!("{}:", kernel.name), ..Row::default() };
        std::iter::once(name).chain(instructions(module, kernel))
    });
    Column {
        heading: "machine code".to_owned(),
        before: vec!["address", "control", "registers"],
        rows: rows.collect(),
    }
}

fn instructions(module: &Module, kernel: &Usage) -> Vec<Row> {
    let row = |(at, made): (usize, &Made)| {
        let (control, text) = made.text.split_once("] ").unwrap_or(("", &made.text));
        Row {
            before: vec![
                format!("{:#06x}", at * BYTES),
                control.trim_start_matches('[').to_owned(),
                made.registers.to_string(),
            ],
            text: text.trim_end_matches(" ;").to_owned(),
            groups: made.origin.and_then(|origin| origin.line(module)).map(group).into_iter().collect(),
            heat: f64::from(made.registers) / f64::from(MOST_REGISTERS),
            marked: made.spills,
        }
    };
    kernel.instructions.iter().enumerate().map(row).collect()
}

/// Registers of a thread.
const MOST_REGISTERS: u32 = 255;
