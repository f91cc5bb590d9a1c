//! `cargo xtask record instructions`: an instruction at a time, on all tuples of its operands.

use super::{Buffer, Files, addresses, launch, open};
use anyhow::{Context, Result};
use replay::instructions::{HEADER, Recording, THREADS};

pub(super) fn run(files: &Files) -> Result<()> {
    let gpu = open()?;
    files.again("crates/numerics/tests/hardware/sm_90.gz", |text| {
        Recording::again(text, |instruction, tuples| {
            let operands = tuples.first().map_or(1, Vec::len);
            let module = format!("{HEADER}{}", instruction.kernel("k", operands));
            let module = gpu.load(module.as_bytes()).context(instruction.name.to_owned())?;
            let words: Vec<u8> = tuples.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
            let from = Buffer::holding(&gpu, &words)?;
            let to = Buffer::zeros(&gpu, 8 * tuples.len())?;
            let count = tuples.len() as u32;
            let mut parameters = addresses([&from, &to]);
            parameters.extend(count.to_le_bytes());
            module.launch(&launch("k", [count.div_ceil(THREADS), THREADS], &parameters))?;
            let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
            Ok(to.read(8 * tuples.len())?.chunks(8).map(word).collect())
        })
    })
}
