//! What a command line says of a launch, for all commands that run a kernel.

use super::binding::{self, Binding};
use crate::devices;
use crate::failure::{Exit, Failure};
use machine::output::Output;
use machine::{Device, DeviceOptions, LoadError, LoadedModule, Profile, SchedulerKind};
use ptx::module::{Checked, Function, Module};
use ptx::source::Source;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

/// A kernel, its arguments, and how it is to be launched.
#[derive(Debug, clap::Args)]
pub(crate) struct Request {
    /// A PTX file; `-` is standard input
    pub(crate) file: PathBuf,
    /// A value for each kernel parameter (see below)
    #[arg(value_name = "ARG", allow_negative_numbers = true)]
    pub(crate) arguments: Vec<String>,
    /// The kernel; may be left out if the file has only one
    #[arg(short, long, value_name = "NAME")]
    pub(crate) kernel: Option<String>,
    /// CTAs of the grid: X[,Y[,Z]]
    #[arg(short, long, value_name = "X[,Y[,Z]]", default_value = "1")]
    pub(crate) grid: Extents,
    /// Threads of a CTA: X[,Y[,Z]]; may be left out if the kernel has .reqntid
    #[arg(short, long, value_name = "X[,Y[,Z]]")]
    pub(crate) block: Option<Extents>,
    /// CTAs of a cluster: X[,Y[,Z]]; may be left out if the kernel has .reqnctapercluster
    #[arg(long, value_name = "X[,Y[,Z]]")]
    pub(crate) cluster: Option<Extents>,
    /// Allow clusters of more than 8 CTAs, up to 16, which not every device has
    #[arg(long)]
    pub(crate) nonportable_cluster: bool,
    /// Bytes of dynamic shared memory
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub(crate) shared: u32,
    /// The device to be; `warploom devices` lists them
    #[arg(long, value_name = "NAME", value_parser = devices::profile, default_value = "h200")]
    pub(crate) device: &'static Profile,
    /// Who runs next: round-robin, random:SEED or adversarial
    #[arg(long, value_name = "NAME", default_value_t)]
    pub(crate) scheduler: SchedulerKind,
    /// Stop with a fault after this many warp instructions
    #[arg(long, value_name = "N")]
    pub(crate) max_instructions: Option<u64>,
}

/// Extents in three dimensions; those left out are 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extents(pub(crate) [u32; 3]);

impl FromStr for Extents {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut extents = [1; 3];
        for (index, extent) in text.split(',').enumerate() {
            let place = extents.get_mut(index).ok_or("at most three extents")?;
            *place = match extent.trim().parse() {
                Ok(0) => return Err("an extent is at least 1".into()),
                Ok(extent) => extent,
                Err(_) => return Err(format!("`{extent}` is not an extent, a number from 1")),
            };
        }
        Ok(Self(extents))
    }
}

impl fmt::Display for Extents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.0;
        write!(f, "({x},{y},{z})")
    }
}

/// A module on a device, with the arguments of its kernel.
pub(crate) struct Placed {
    pub(crate) device: Arc<Device>,
    pub(crate) loaded: LoadedModule,
    /// The kernel's name.
    pub(crate) kernel: String,
    /// The threads of a CTA.
    pub(crate) block: [u32; 3],
    pub(crate) binding: Binding,
}

impl Request {
    /// Makes the device. What kernels print goes to `output`.
    pub(super) fn make_device(&self, output: Output) -> Result<Arc<Device>, Failure> {
        let options = DeviceOptions { output, ..DeviceOptions::default() };
        Device::new(self.device.clone(), options)
            .map_err(|error| Failure::usage(format!("cannot make device {}: {error}", self.device.name)))
    }

    /// Makes the device, loads the module, and places the arguments there. What the kernel prints goes to `output`.
    pub(crate) fn place(
        &self,
        source: &Source,
        module: Checked<Module>,
        output: Output,
    ) -> Result<Placed, Failure> {
        let device = self.make_device(output)?;
        let loaded = device.load(module).map_err(|error| {
            let exit =
                if matches!(error, LoadError::Target { .. }) { Exit::Unsupported } else { Exit::Usage };
            Failure::new(exit, format!("{}: {error}", source.name()))
        })?;
        let function = choose(loaded.module(), self.kernel.as_deref(), source)?;
        let block = block(self, function.bounds.req_ntid)?;
        let name = function.name.clone();
        let kernel = loaded.kernel(&name).ok_or_else(|| Failure::usage("the kernel is gone"))?;
        let binding = binding::bind(&name, &kernel.parameters(), &self.arguments, device.memory())?;
        Ok(Placed { device, loaded, kernel: name, block, binding })
    }
}

/// The kernel that was named, or the only one.
pub(crate) fn choose<'a>(
    module: &'a Checked<Module>,
    name: Option<&str>,
    source: &Source,
) -> Result<&'a Function, Failure> {
    let entries: Vec<_> = module.entries().map(|(_, function)| function).collect();
    let names: Vec<_> = entries.iter().map(|function| function.name.as_str()).collect();
    match &names[..] {
        [] => Err(Failure::usage(format!("{} has no kernel (.entry)", source.name()))),
        names => choose_of(names, name, source.name()).map(|chosen| entries[chosen]),
    }
}

/// Which of a file's kernels was named, or the only one.
pub(crate) fn choose_of(kernels: &[&str], name: Option<&str>, file: &str) -> Result<usize, Failure> {
    let chosen = match (name, kernels) {
        (Some(name), _) => {
            let found = kernels.iter().position(|kernel| *kernel == name);
            found.ok_or_else(|| format!("{file} has no kernel `{name}`"))
        }
        (None, [_]) => Ok(0),
        (None, _) => Err(format!("{file} has {} kernels; choose one with --kernel", kernels.len())),
    };
    chosen.map_err(|message| Failure::usage(message).hint(format!("it has {}", kernels.join(", "))))
}

/// The threads of a CTA: as the command line says, or as the kernel requires.
pub(crate) fn block(request: &Request, required: Option<[u32; 3]>) -> Result<[u32; 3], Failure> {
    request.block.map(|extents| extents.0).or(required).ok_or_else(|| {
        Failure::usage("the number of threads is missing")
            .hint("say it with --block, for example --block 256")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_are_one_to_three_numbers() {
        for (text, extents) in [("4", [4, 1, 1]), ("4,2", [4, 2, 1]), ("4, 2,3", [4, 2, 3])] {
            assert_eq!(text.parse(), Ok(Extents(extents)));
        }
        for text in ["", "0", "1,2,3,4", "-1", "x", "4,,1", "4294967296"] {
            assert!(text.parse::<Extents>().is_err(), "{text}");
        }
    }
}
