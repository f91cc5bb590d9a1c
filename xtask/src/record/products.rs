//! `cargo xtask record products`: a configuration of the tensor cores at a time, a CTA a tile.

use super::{Buffer, Files, addresses, launch, open};
use anyhow::{Context, Result};

pub(super) fn run(files: &Files) -> Result<()> {
    let gpu = open()?;
    files.again("crates/numerics/tests/hardware/tensor.gz", |text| {
        replay::products::again(text, |case, tiles| {
            let module = gpu.load(case.module().as_bytes()).with_context(|| format!("{case:?}"))?;
            let [a, b, c, metadata] = case.buffers(tiles);
            let [a, b, c] = [a, b, c].map(|bytes| Buffer::holding(&gpu, &bytes));
            let (a, b, c) = (a?, b?, c?);
            let metadata = Buffer::holding(&gpu, &metadata)?;
            let d = Buffer::zeros(&gpu, tiles * case.result_bytes())?;
            let parameters = addresses([&a, &b, &c, &d, &metadata]);
            let shape = [case.grid(tiles), case.threads()];
            module.launch(&launch("k", shape, &parameters)).with_context(|| format!("{case:?}"))?;
            let results = d.read(tiles * case.result_bytes())?;
            Ok(results.chunks(case.result_bytes()).map(|tile| case.results_of(tile)).collect())
        })
    })
}
