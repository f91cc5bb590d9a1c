//! `cargo xtask record matrices`: every matrix instruction of the table, a CTA a trial. What the driver does not assemble is left out.

use super::{Buffer, Whole, addresses, launch, open};
use anyhow::{Context, Result};
use replay::matrices::{cases, module};
use std::fmt::Write as _;
use std::fs;

pub(super) fn run(arguments: &Whole) -> Result<()> {
    let gpu = open()?;
    // The cases are those of the table, whatever is recorded.
    arguments.files.again("crates/machine/tests/matrix/sm_90.txt", |_| {
        let mut text = String::new();
        let mut outputs = Vec::new();
        for case in cases() {
            let output = match gpu.load(module([&case]).as_bytes()) {
                Ok(module) => {
                    let from = Buffer::holding(&gpu, &case.trials.concat())?;
                    let to = Buffer::zeros(&gpu, case.output * case.trials.len())?;
                    let shape = [case.trials.len() as u32, case.threads];
                    let parameters = addresses([&from, &to]);
                    module.launch(&launch("k0", shape, &parameters)).context(case.name.clone())?;
                    let output = to.read(case.output * case.trials.len())?;
                    writeln!(text, "{}: {}", case.name, case.sums(&output).join(" "))?;
                    output
                }
                Err(why) => {
                    println!("refused: {}: {why}", case.name);
                    vec![0; case.output * case.trials.len()]
                }
            };
            outputs.extend(output);
        }
        if let Some(path) = &arguments.outputs {
            fs::write(path, outputs).with_context(|| path.display().to_string())?;
        }
        Ok(text)
    })
}
