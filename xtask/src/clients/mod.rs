//! `cargo xtask clients`: the test suites of real programs, on the virtual GPU.
//!
//! [`suite`] is `tests/clients/clients.toml`: what is installed, in which versions, and which tests run. Everything lands
//! in `target/clients`. Tests run in units, a process each, under `warploom exec`, so that a unit that dies or hangs takes
//! no other with it. [`ledger`] has what passed when it was last recorded: a unit may not pass less.
//!
//! Many tests of such suites ask nothing of a kernel. `--stub` runs them with a driver that executes none; `--record`
//! writes both numbers down, so that a pass that means nothing is known as one.

mod install;
mod ledger;
mod suite;
mod toolkit;
mod unit;

use crate::libraries::{self, Wanted};
use crate::root;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use ledger::{Ledger, Tally};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Which suites run, and what becomes of the numbers.
#[derive(Args)]
pub(crate) struct Choice {
    /// Clients; all that can be run if none is named.
    names: Vec<String>,
    /// Only units whose name contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Execute no kernel, to see which tests need that.
    #[arg(long)]
    stub: bool,
    /// Write the numbers down: of passes, or with --stub of passes without execution.
    #[arg(long)]
    record: bool,
    /// Stop after so many seconds; units that did not begin are told.
    #[arg(long, value_name = "SECONDS", default_value_t = 540)]
    budget: u64,
    /// Build the libraries in the release profile.
    #[arg(long)]
    release: bool,
    /// Print what was recorded, by client, and run nothing.
    #[arg(long)]
    summary: bool,
    /// Print the clients and their units, and run nothing.
    #[arg(long)]
    list: bool,
}

/// Where everything is that is installed or written.
fn cache() -> PathBuf {
    root().join("target/clients")
}

pub(crate) fn run(choice: &Choice) -> Result<()> {
    let clients = suite::read()?;
    if let Some(name) = choice.names.iter().find(|name| !clients.contains_key(*name)) {
        let known: Vec<&str> = clients.keys().map(String::as_str).collect();
        bail!("there is no client `{name}`; there are {}", known.join(", "));
    }
    let chosen = clients.iter().filter(|(name, _)| choice.names.is_empty() || choice.names.contains(name));
    if choice.list {
        for (name, client) in chosen {
            println!("{name}: {}", client.about);
            client.units(name).iter().for_each(|unit| println!("  {}", unit.name));
        }
        return Ok(());
    }
    if choice.summary {
        let ledger = Ledger::read()?;
        chosen.for_each(|(name, _)| println!("{name}: {}", ledger.sum(name)));
        return Ok(());
    }
    let (libraries, command) = build(choice.release)?;
    let deadline = Instant::now() + Duration::from_secs(choice.budget);
    let mut ledger = Ledger::read()?;
    let (mut wrong, mut skipped) = (Vec::new(), Vec::new());
    for (name, client) in chosen {
        match install::install(name, client, &libraries, &command)? {
            Ok(place) => {
                let runner = unit::Runner {
                    name,
                    client,
                    place: &place,
                    command: &command,
                    libraries: &libraries,
                    stub: choice.stub,
                };
                suite(choice, &runner, deadline, &mut ledger, &mut wrong, &mut skipped)?;
            }
            Err(why) => skipped.push(format!("{name}: {why}")),
        }
    }
    if choice.record {
        ledger.write()?;
    }
    for what in &skipped {
        println!("SKIPPED: {what}");
    }
    ensure!(wrong.is_empty(), "{} units pass less than they did:\n  {}", wrong.len(), wrong.join("\n  "));
    Ok(())
}

fn suite(
    choice: &Choice,
    runner: &unit::Runner<'_>,
    deadline: Instant,
    ledger: &mut Ledger,
    wrong: &mut Vec<String>,
    skipped: &mut Vec<String>,
) -> Result<()> {
    let mut sum = Tally::default();
    for unit in runner.client.units(runner.name) {
        if choice.only.as_ref().is_some_and(|text| !unit.name.contains(text)) {
            continue;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            skipped.push(format!("{} {}: no time was left", runner.name, unit.name));
            continue;
        }
        let tally = runner.run(&unit, left).with_context(|| unit.name.clone())?;
        println!("{} {}: {tally}", runner.name, unit.name);
        sum.add(&tally);
        if choice.record {
            ledger.set(runner.name, &unit.name, &tally, choice.stub);
        } else if !choice.stub
            && let Some(before) = ledger.passed(runner.name, &unit.name)
            && tally.passed < before
        {
            wrong.push(format!("{} {}: {} of {before}", runner.name, unit.name, tally.passed));
        }
    }
    println!("{}: {sum}", runner.name);
    Ok(())
}

/// Builds the libraries and the command: the folder of the ones, and the other.
fn build(release: bool) -> Result<(PathBuf, PathBuf)> {
    let folder = cache().join("cuda");
    libraries::make(&Wanted { debug: !release, to: folder.clone() })?;
    let command = libraries::command(!release)?;
    Ok((folder.canonicalize()?, command))
}
