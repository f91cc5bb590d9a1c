//! The network on the virtual GPU: one launch a layer, each reading what the one before it wrote.

use std::time::Duration;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use warploom_examples::gpu::{Argument, Gpu};

use crate::network::{Activations, Network, PADDING, Size};

/// Columns, rows and channels of a block of `conv3x3_relu`, as kernels.cu has them.
const CONVOLUTION_BLOCK: [u32; 3] = [8, 8, 4];
/// Threads of a block of `fully_connected`, likewise.
const FULLY_CONNECTED_BLOCK: [u32; 3] = [128, 1, 1];

/// One launch, for the table that the program prints.
pub(crate) struct Launched {
    /// Which kernel.
    pub kernel: &'static str,
    /// Its grid, in blocks.
    pub grid: [u32; 3],
    /// Its block, in threads.
    pub block: [u32; 3],
    /// How long it ran.
    pub took: Duration,
}

/// Runs the network on an input of this size.
pub(crate) fn run(
    gpu: &Gpu,
    network: &Network,
    mut size: Size,
    input: &[f32],
) -> Result<(Activations<f32>, Vec<Launched>)> {
    let kernels = gpu.load("image-classifier/kernels.ptx", include_str!("kernels.ptx"))?;
    let style = ProgressStyle::with_template("{bar:30} {pos:>2}/{len} {msg}")?;
    let progress = ProgressBar::new(network.convolutions.len() as u64 + 2).with_style(style);
    let mut launches = Vec::new();
    let mut launch = |kernel: &'static str, grid, block, arguments: &[_]| -> Result<()> {
        progress.set_message(kernel);
        let took = kernels.launch(kernel, grid, block, arguments)?;
        progress.inc(1);
        launches.push(Launched { kernel, grid, block, took });
        Ok(())
    };

    let mut maps = Vec::new();
    let mut previous = gpu.upload(input)?;
    for layer in &network.convolutions {
        let result = size.after(layer);
        let weight = gpu.upload(&layer.weight)?;
        let bias = gpu.upload(&layer.bias)?;
        let output = gpu.zeroed::<f32>(result.count())?;
        let extent = [result.width, result.height, result.channels];
        let grid = std::array::from_fn(|axis| (extent[axis] as u32).div_ceil(CONVOLUTION_BLOCK[axis]));
        let sizes = [size.channels, size.height, size.width, result.channels, result.height, result.width];
        let mut arguments = vec![(&output).into(), (&previous).into(), (&weight).into(), (&bias).into()];
        arguments
            .extend(sizes.into_iter().chain([layer.stride, PADDING]).map(|int| Argument::Int(int as i32)));
        launch("conv3x3_relu", grid, CONVOLUTION_BLOCK, &arguments)?;
        maps.push((result, output.download()?));
        (previous, size) = (output, result);
    }

    let classifier = &network.classifier;
    let weight = gpu.upload(&classifier.weight)?;
    let bias = gpu.upload(&classifier.bias)?;
    let scores = gpu.zeroed::<f32>(classifier.outputs)?;
    let arguments = [
        (&scores).into(),
        (&previous).into(),
        (&weight).into(),
        (&bias).into(),
        (classifier.inputs as i32).into(),
    ];
    launch("fully_connected", [classifier.outputs as u32, 1, 1], FULLY_CONNECTED_BLOCK, &arguments)?;
    let arguments = [(&scores).into(), (classifier.outputs as i32).into()];
    launch("softmax", [1, 1, 1], [32, 1, 1], &arguments)?;
    progress.finish_and_clear();

    Ok((Activations { maps, probabilities: scores.download()? }, launches))
}
