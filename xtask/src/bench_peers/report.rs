//! What a run has found, as tables of Markdown and as JSON.

use super::kernels::{Agreement, Kernel};
use super::measure::{Clock, Measured};
use super::peers::REFERENCE;
use super::programs::{ENGINES, Program};
use super::sweeps::Curves;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// All of a run.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) host: Host,
    /// Who took part, the reference first.
    pub(super) peers: Vec<&'static str>,
    pub(super) skipped: Vec<String>,
    pub(super) kernels: Vec<(&'static str, Measured)>,
    pub(super) curves: Vec<Curves>,
    pub(super) programs: Vec<Program>,
}

/// Where it ran.
#[derive(Serialize)]
pub(super) struct Host {
    pub(super) processor: String,
    pub(super) threads: usize,
    pub(super) clock: Clock,
    /// How many threads wanted to run, as an average over a minute: before, and after.
    pub(super) load: Vec<String>,
    /// Who compiled.
    pub(super) compilers: Vec<String>,
}

impl Report {
    /// How many times longer a peer takes than the reference.
    pub(super) fn ratio(measured: &Measured, name: &str) -> Option<f64> {
        Some(measured.milliseconds.get(name)? / measured.milliseconds.get(REFERENCE)?)
    }

    /// The geometric mean of a peer's ratios.
    pub(super) fn mean(&self, name: &str) -> Option<f64> {
        let ratios = self.kernels.iter().filter_map(|(_, measured)| Self::ratio(measured, name));
        let logarithms: Vec<f64> = ratios.map(f64::ln).collect();
        (!logarithms.is_empty()).then(|| (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp())
    }

    /// Kernels and programs whose results are wrong, or that did not run.
    pub(super) fn failures(&self) -> Vec<String> {
        let kernels = self.kernels.iter().map(|(name, measured)| (*name, &measured.failed));
        let programs = self.programs.iter().map(|program| (program.name, &program.failed));
        let lines = |(name, failed): (&str, &BTreeMap<&str, String>)| -> Vec<String> {
            failed.iter().map(|(peer, why)| format!("{name}, {peer}: {why}")).collect()
        };
        kernels.chain(programs).flat_map(lines).collect()
    }

    /// The host, the tables and what is to be said below them.
    pub(super) fn markdown(&self, kernels: &[Kernel]) -> String {
        let Host { processor, threads, clock, load, compilers } = &self.host;
        let mut text = format!(
            "{processor}, {threads} threads, {clock:?} time, load {}; {}\n\n",
            load.join(" to "),
            compilers.join("; ")
        );
        text += &self.kernel_table(kernels);
        text += &self.curve_tables();
        text += &self.program_table();
        for (kernel, measured) in &self.kernels {
            for (peer, remark) in &measured.remarks {
                let _ = writeln!(text, "`{kernel}`, {peer}: interpreted: {remark}");
            }
        }
        text
    }

    /// Milliseconds of the reference, and how many times longer the others take; the last line is the ratios' geometric means.
    fn kernel_table(&self, kernels: &[Kernel]) -> String {
        if self.kernels.is_empty() {
            return String::new();
        }
        let mut text = header(&["kernel", "what it is"], &self.peers);
        for (kernel, measured) in &self.kernels {
            let about = kernels.iter().find(|each| each.name == *kernel).map_or("", |each| each.about);
            let cells = self.peers.iter().map(|&name| match measured.milliseconds.get(name) {
                Some(time) if name == REFERENCE => format!("{time:.2} ms"),
                Some(time) => {
                    Self::ratio(measured, name).map_or(format!("{time:.2} ms"), |ratio| format!("{ratio:.2}"))
                }
                None => "-".to_owned(),
            });
            text += &row(&[format!("`{kernel}`"), about.to_owned()], cells);
        }
        let means =
            self.peers.iter().map(|name| self.mean(name).map_or("-".to_owned(), |mean| format!("{mean:.2}")));
        text += &row(&["geometric mean".to_owned(), String::new()], means);
        text + "\n"
    }

    fn curve_tables(&self) -> String {
        let mut text = String::new();
        for curves in &self.curves {
            let _ = writeln!(text, "`{}`, ns per {}\n", curves.kernel, curves.per);
            text += &header(&[curves.axis.label()], &self.peers);
            for (point, costs) in &curves.points {
                let cells = self
                    .peers
                    .iter()
                    .map(|name| costs.get(name).map_or("-".to_owned(), |cost| format!("{cost:.3}")));
                text += &row(&[point.to_string()], cells);
            }
            text += "\n";
        }
        text
    }

    fn program_table(&self) -> String {
        if self.programs.is_empty() {
            return String::new();
        }
        let mut text = header(&["program"], &ENGINES);
        for program in &self.programs {
            let cells = ENGINES.iter().map(|engine| match program.milliseconds.get(engine) {
                Some(time) => format!("{time:.0} ms"),
                None => "fails".to_owned(),
            });
            text += &row(&[format!("`{}`", program.name)], cells);
        }
        text + "\n"
    }
}

/// How far results may lie apart, and how far they lie apart.
pub(super) fn agreements(kernels: &[Kernel], measured: &[(&'static str, Measured)]) -> String {
    let mut text = header(&["kernel", "allowed", "found", "because"], &[]);
    for kernel in kernels {
        let Some((_, measured)) = measured.iter().find(|(name, _)| *name == kernel.name) else { continue };
        if let Agreement::Floats(limit, why) = kernel.agreement {
            let found = measured.deviation.values().fold(0.0_f64, |most, &each| most.max(each));
            let cells = [
                format!("`{}`", kernel.name),
                format!("{limit:.1e}"),
                format!("{found:.1e}"),
                why.to_owned(),
            ];
            text += &row(&cells, std::iter::empty());
        }
    }
    text
}

fn header(first: &[&str], rest: &[&str]) -> String {
    let cells: Vec<&str> = first.iter().chain(rest).copied().collect();
    format!("| {} |\n|{}\n", cells.join(" | "), " --- |".repeat(cells.len()))
}

fn row(first: &[String], rest: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = first.iter().cloned().chain(rest).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// The first line that a program prints about itself.
pub(super) fn version(program: &std::path::Path) -> Option<String> {
    let output = std::process::Command::new(program).arg("--version").output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).lines().next()?.to_owned())
}

/// The processor's name, if the host says it.
pub(super) fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let names: BTreeMap<&str, &str> = text.lines().filter_map(|line| line.split_once(':')).collect();
    let name = names.iter().find(|(key, _)| key.trim() == "model name").map(|(_, name)| name.trim());
    name.unwrap_or("a processor").to_owned()
}

/// The load of the last minute, if the host says it.
pub(super) fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("?").to_owned()
}
