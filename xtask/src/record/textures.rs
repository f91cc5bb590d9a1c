//! `cargo xtask record textures`: a case at a time, an instruction on one texture or surface.

use super::{Buffer, Whole, launch, open};
use anyhow::{Context, Result, bail};
use machine::texture::ArrayDescriptor;
use real_gpu::{Array, Gpu, Module, Texels, Use, View};
use replay::textures::{self, Case, Storage, Stored};
use std::collections::HashMap;
use std::fs;

/// Threads of a CTA of the kernels.
const THREADS: u32 = 128;
/// Words that a thread writes.
const RESULTS: usize = 5;

pub(super) fn run(arguments: &Whole) -> Result<()> {
    let gpu = open()?;
    let mut modules = HashMap::new();
    let mut outputs: Vec<u8> = Vec::new();
    arguments.files.again("crates/machine/tests/textures/sm_90.gz", |text| {
        textures::again(text, |case| {
            let results = results(&gpu, &mut modules, case).with_context(|| case.to_string())?;
            outputs.extend((results.len() as u32).to_le_bytes());
            outputs.extend(results.iter().flat_map(|word| word.to_le_bytes()));
            Ok(results)
        })
    })?;
    if let Some(path) = &arguments.outputs {
        fs::write(path, outputs).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// What a case's instruction accesses.
struct Objects<'g> {
    texture: u64,
    surface: u64,
    array: Option<(Array, ArrayDescriptor)>,
    _memory: Option<Buffer<'g>>,
}

fn objects<'g>(gpu: &'g Gpu, case: &Case) -> Result<Objects<'g>> {
    let mut objects = Objects { texture: 0, surface: 0, array: None, _memory: None };
    let texels = match case.storage() {
        Storage::Array { shape, levels, surface, gathered } => {
            let purpose = match (surface, gathered) {
                (Some(_), _) => Use::Surface,
                (None, true) => Use::Gathered,
                (None, false) => Use::Sampled,
            };
            let array = gpu.array(&shape, purpose, &levels)?;
            if let Some(level) = surface {
                objects.surface = gpu.surface(array, level)?;
            }
            objects.array = Some((array, shape));
            Texels::Array(array)
        }
        Storage::Buffer(buffer) => {
            let memory = Buffer::holding(gpu, &buffer.bytes)?;
            let (address, format) = (memory.address, buffer.format);
            objects._memory = Some(memory);
            match buffer.stored {
                Stored::Linear(bytes) => Texels::Linear { address, format, bytes },
                Stored::Pitched { width, height, pitch } => {
                    Texels::Pitched { address, format, width, height, pitch }
                }
            }
        }
    };
    if let Some(texture) = case.texture() {
        let view = case.view().map(|textures::View { format, size, levels, layers }| View {
            format,
            size,
            levels,
            layers,
        });
        objects.texture = gpu.texture(texels, &texture, view.as_ref())?;
    }
    Ok(objects)
}

/// The words of every thread, and of what the array holds afterwards, if the case writes: one thread then runs for all.
fn results<'g>(gpu: &'g Gpu, modules: &mut HashMap<String, Module<'g>>, case: &Case) -> Result<Vec<u32>> {
    let objects = objects(gpu, case)?;
    let kernel = case.kernel();
    if !modules.contains_key(&kernel) {
        modules.insert(kernel.clone(), gpu.load(kernel.as_bytes())?);
    }
    let words = case.threads();
    let count = (words.len() / 16) as u32;
    let input: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let from = Buffer::holding(gpu, &input)?;
    let bytes = 4 * RESULTS * count as usize;
    let to = Buffer::zeros(gpu, bytes)?;
    let serial = case.number("serial") != 0;
    let addresses = [objects.texture, objects.surface, from.address, to.address];
    let mut parameters: Vec<u8> = addresses.iter().flat_map(|address| address.to_le_bytes()).collect();
    parameters.extend([count, u32::from(serial)].iter().flat_map(|number| number.to_le_bytes()));
    let shape = if serial { [1, 1] } else { [count.div_ceil(THREADS), THREADS] };
    modules[&kernel].launch(&launch("k", shape, &parameters))?;
    let mut results = to.read(bytes)?;
    if serial {
        let Some((array, shape)) = objects.array else { bail!("a surface of no array") };
        results.extend(gpu.read_array(array, &shape, case.number("slevel") as u32)?);
        results.resize(results.len().next_multiple_of(4), 0);
    }
    Ok(results.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect())
}
