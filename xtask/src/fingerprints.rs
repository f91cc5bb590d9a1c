//! `cargo xtask fingerprints`: every result of the approximate functions, for every operand, against an H200.
//!
//! crates/numerics/tests/fingerprints.rs checks a few chunks of the same recording in seconds; all of them take
//! minutes.

use crate::root;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use indicatif::{ParallelProgressIterator, ProgressBar, ProgressStyle};
use rayon::prelude::*;
use replay::fingerprints::{Fingerprints, fingerprint, fingerprints};

/// What to check.
#[derive(Args)]
pub(crate) struct Choice {
    /// Check only this instruction, say `ex2.approx.ftz.f32`; may be repeated.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
}

pub(crate) fn run(choice: &Choice) -> Result<()> {
    let recording = root().join("crates/numerics/tests/hardware/approximate.gz");
    let all = fingerprints(&std::fs::read(&recording).with_context(|| recording.display().to_string())?);
    for name in &choice.only {
        ensure!(all.iter().any(|f| f.name == *name), "no fingerprints of {name} are recorded");
    }
    let chosen: Vec<&Fingerprints> =
        all.iter().filter(|f| choice.only.is_empty() || choice.only.contains(&f.name)).collect();
    let mut wrong = Vec::new();
    let mut chunks = 0;
    for instruction in &chosen {
        let differing = differing(instruction)?;
        let (count, total) = (differing.len(), instruction.recorded.len());
        println!("{}: {} of {total} chunks match", instruction.name, total - count);
        for &chunk in &differing {
            let indices = instruction.indices(chunk);
            println!("  chunk {chunk} differs: {:#010x} to {:#010x}", indices.start, indices.end - 1);
        }
        chunks += total;
        if count > 0 {
            wrong.push(instruction.name.as_str());
        }
    }
    if !wrong.is_empty() {
        bail!("{} of {} instructions differ: {}", wrong.len(), chosen.len(), wrong.join(", "));
    }
    println!("{} instructions, {chunks} chunks: all match", chosen.len());
    Ok(())
}

/// The chunks of an instruction in which some result differs.
fn differing(instruction: &Fingerprints) -> Result<Vec<usize>> {
    let style = ProgressStyle::with_template("{msg:24} {bar:40} {pos}/{len} chunks, {eta} left")?;
    let bar = ProgressBar::new(instruction.recorded.len() as u64)
        .with_style(style)
        .with_message(instruction.name.clone());
    let differs = |&(chunk, &recorded): &(usize, &u64)| {
        fingerprint(&instruction.name, instruction.indices(chunk)) != Some(recorded)
    };
    let differing = instruction
        .recorded
        .par_iter()
        .enumerate()
        .progress_with(bar.clone())
        .filter(differs)
        .map(|(chunk, _)| chunk)
        .collect();
    bar.finish_and_clear();
    Ok(differing)
}
