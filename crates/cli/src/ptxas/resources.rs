//! What `--verbose` says of a module, in ptxas' form.
//!
//! Numbers are the virtual GPU's: registers that are alive at a time, and the local memory of variables. Nothing is ever
//! spilled.

use machine::profile::PROFILES;
use machine::{Device, DeviceOptions, LoadedModule};
use ptx::module::{Checked, Module};
use ptx::types::{Arch, StateSpace};
use std::sync::Arc;

/// The most registers that a thread has.
const MOST_REGISTERS: u32 = 255;

/// The report on a module that is made for a target.
pub(super) fn report(module: Checked<Module>, target: Arch) -> String {
    let bytes = |space: StateSpace| -> u64 {
        module.variables.iter().filter(|variable| variable.space == space).map(|variable| variable.size).sum()
    };
    let mut text = format!("ptxas info    : {} bytes gmem", bytes(StateSpace::Global));
    if bytes(StateSpace::Const) > 0 {
        text += &format!(", {} bytes cmem[3]", bytes(StateSpace::Const));
    }
    text.push('\n');
    let names: Vec<String> = module.entries().map(|(_, function)| function.name.clone()).collect();
    // What no device loads, a module with something undefined for example, has no kernels to report on.
    let Some(loaded) = load(&Arc::new(module), target) else { return text };
    for kernel in names.iter().filter_map(|name| loaded.kernel(name)) {
        let (name, usage) = (kernel.name(), kernel.usage().ok());
        text += &format!("ptxas info    : Compiling entry function '{name}' for '{target}'\n");
        let Some(usage) = usage else { continue };
        text += &format!("ptxas info    : Function properties for {name}\n");
        text +=
            &format!("    {} bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n", usage.local);
        text += &format!("ptxas info    : Used {} registers", usage.registers.min(MOST_REGISTERS));
        if kernel.static_shared() > 0 {
            text += &format!(", {} bytes smem", kernel.static_shared());
        }
        let parameters = kernel.parameters().last().map_or(0, |last| last.offset + last.size);
        text += &format!(", {parameters} bytes cmem[0]\n");
    }
    text
}

/// The module on a device of the target, or on any that takes it.
fn load(module: &Arc<Checked<Module>>, target: Arch) -> Option<LoadedModule> {
    let suits = |profile: &&machine::Profile| profile.sm == target.sm;
    let profiles = PROFILES.iter().filter(suits).chain(PROFILES.iter());
    profiles
        .filter_map(|profile| Device::new(profile.clone(), DeviceOptions::default()).ok())
        .find_map(|device| device.load(Arc::clone(module)).ok())
}
