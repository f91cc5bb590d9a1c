//! `exec --sim`: the program runs as a child, whose driver lets each launch run in the model in cycles too, and writes what it costs to a file of
//! ours.

use super::told;
use crate::failure::{Exit, Failure};
use crate::terminal::{self, thousands};
use abi::names::demangled;
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::{self, Command};

/// Runs a program with the model, and shows a table of its kernels.
pub(super) fn run(device: &str, mut command: Command) -> Result<Exit, Failure> {
    if let Err(error) = ::sim::Device::named(device) {
        let names: Vec<_> = ::sim::Device::names().collect();
        return Err(Failure::usage(format!("{device}: {error}"))
            .hint(format!("devices that come along: {}", names.join(", "))));
    }
    command.env("WARPLOOM_SIM", device);
    let (code, text) = told::run(&mut command, "WARPLOOM_SIM_REPORT", "cannot read what launches cost")?;
    terminal::note(table(&text).trim_end());
    match code {
        0 => Ok(Exit::Ok),
        code => process::exit(code),
    }
}

/// What the launches of a kernel have cost, as far as they were modelled.
#[derive(Default)]
struct Kernel {
    launches: u64,
    modelled: u64,
    cycles: u64,
    nanoseconds: f64,
    /// Warps that were resident, and that there was room for, cycle by cycle.
    resident: u64,
    room: u64,
    stalls: BTreeMap<String, u64>,
    /// Why launches were not modelled, and how many.
    why: BTreeMap<String, u64>,
}

impl Kernel {
    fn add(&mut self, line: &Value) {
        self.launches += 1;
        if let Some(why) = line["why"].as_str() {
            *self.why.entry(why.to_owned()).or_default() += 1;
            return;
        }
        let number = |name: &str| line[name].as_u64().unwrap_or(0);
        self.modelled += 1;
        self.cycles += number("cycles");
        self.nanoseconds += line["nanoseconds"].as_f64().unwrap_or(0.0);
        self.resident += number("resident");
        self.room += number("room");
        for (name, cycles) in line["stalls"].as_object().into_iter().flatten() {
            *self.stalls.entry(name.clone()).or_default() += cycles.as_u64().unwrap_or(0);
        }
    }

    fn row(&self, name: &str) -> Vec<String> {
        let mut row = vec![name.to_owned(), thousands(self.launches), thousands(self.modelled)];
        if self.modelled == 0 {
            row.resize(row.len() + 4, String::new());
            return row;
        }
        let all: u64 = self.stalls.values().sum();
        let waits = self.stalls.iter().filter(|(name, _)| *name != "selected");
        let top = waits.max_by_key(|(_, cycles)| **cycles).filter(|(_, cycles)| **cycles > 0);
        row.push(thousands(self.cycles));
        row.push(format!("{:.2}", self.nanoseconds / 1000.0));
        row.push(format!("{:.1} %", 100.0 * self.resident as f64 / self.room.max(1) as f64));
        row.push(top.map_or_else(String::new, |(name, cycles)| {
            format!("{name}, {:.1} %", 100.0 * *cycles as f64 / all.max(1) as f64)
        }));
        row
    }
}

/// What the driver has written, by kernel, in the order of their first launches.
fn table(text: &str) -> String {
    let mut kernels: Vec<(String, Kernel)> = Vec::new();
    let mut device = String::new();
    for line in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let name = line["kernel"].as_str().unwrap_or_default();
        if let Some(name) = line["device"].as_str() {
            name.clone_into(&mut device);
        }
        let at = kernels.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
            kernels.push((name.to_owned(), Kernel::default()));
            kernels.len() - 1
        });
        kernels[at].1.add(&line);
    }
    if kernels.is_empty() {
        return "nothing was modelled: the program has launched no kernel".to_owned();
    }
    let rows = kernels.iter().map(|(name, kernel)| kernel.row(&demangled(name)));
    let headings = ["kernel", "launches", "modelled", "cycles", "us", "warps active", "most for"];
    let mut all = match device.is_empty() {
        true => String::from("In the model:\n\n"),
        false => format!("In a model of {device}, all launches of a kernel together:\n\n"),
    };
    all += &terminal::table(&headings, rows.collect(), false);
    for (name, kernel) in &kernels {
        for (why, launches) in &kernel.why {
            let launches =
                if *launches == 1 { "1 launch".to_owned() } else { format!("{launches} launches") };
            all += &format!("\nnot modelled: {launches} of {}: {why}", demangled(name));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn launches_of_a_kernel_are_one_row_and_what_is_not_modelled_is_named() {
        let text = "{\"kernel\":\"one\",\"device\":\"D\",\"cycles\":1000,\"nanoseconds\":500.0,\"resident\":10,\"room\":40,\"stalls\":{\"selected\":50,\"wait\":20,\"barrier\":30}}\n\
            {\"kernel\":\"two\",\"why\":\"it has a texture\"}\n\
            {\"kernel\":\"one\",\"device\":\"D\",\"cycles\":3000,\"nanoseconds\":1500.0,\"resident\":20,\"room\":40,\"stalls\":{\"selected\":50,\"wait\":40,\"barrier\":10}}\n\
            no JSON\n";
        let table = table(text);
        let line =
            |name: &str| table.lines().find(|line| line.trim_start().starts_with(name)).expect("a row");
        let words: Vec<&str> = line("one").split_whitespace().collect();
        assert_eq!(words, ["one", "2", "2", "4,000", "2.00", "37.5", "%", "wait,", "30.0", "%"]);
        assert_eq!(line("two").split_whitespace().collect::<Vec<_>>(), ["two", "1", "0"]);
        assert!(table.ends_with("not modelled: 1 launch of two: it has a texture"), "{table}");
        assert!(table.contains("model of D"), "{table}");
        assert!(super::table("").starts_with("nothing was modelled"));
    }
}
