//! `warploom abi atomics`: the instructions of C++ atomics.

use crate::failure::{EXIT_CODES, Exit, Failure};
use crate::terminal;
use ::abi::atomics::{EDITIONS, Edition};
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  warploom abi atomics
  warploom abi atomics --scope gpu --edition 'CUDA 12.8'
  warploom litmus --cpp test.litmus      what C++ and PTX say of a test, compiled by this table";

/// Show which PTX instructions an atomic operation of C++ is.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(super) struct Arguments {
    /// The scope to write
    #[arg(long, default_value = "<scope>", value_parser = ["cta", "cluster", "gpu", "sys", "<scope>"], hide_possible_values = true)]
    scope: String,
    /// Which edition of NVIDIA's guide
    #[arg(long, default_value = EDITIONS[0].name, value_parser = EDITIONS.map(|edition| edition.name))]
    edition: String,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

pub(super) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    let edition =
        EDITIONS.into_iter().find(|edition| edition.name == arguments.edition).unwrap_or(EDITIONS[0]);
    let scope = &*arguments.scope;
    if arguments.json {
        let rows = edition.rows().map(|row| {
            let texts: Vec<_> = row.sequences.iter().map(|sequence| row.text(sequence, scope)).collect();
            json!({ "operation": row.operation.name(), "order": row.order.cpp(), "ptx": texts })
        });
        terminal::json(&rows.collect())?;
    } else {
        terminal::result(&text(&edition, scope))?;
        if let Some(flaw) = edition.flaw {
            terminal::note(&format!("warning: {flaw}"));
        }
    }
    Ok(Exit::Ok)
}

fn text(edition: &Edition, scope: &str) -> String {
    let rows = edition.rows().flat_map(|row| {
        row.sequences.iter().enumerate().map(move |(at, sequence)| {
            let call = format!("{}(memory_order_{})", row.operation.name(), row.order.cpp());
            let call = if at == 0 { call } else { "  or".to_owned() };
            vec![call, row.text(sequence, scope)]
        })
    });
    let table = terminal::table(&["C++", "PTX"], rows.collect(), false);
    format!("{edition}\n{table}")
}
