//! Runs a case on the machine.

use machine::texture::{Element, Format, Handle, Resource, ResourceView};
use machine::{Device, DeviceOptions, Launch, LaunchOptions, LoadedModule, Profile};
use replay::textures::{Buffer, Case, Storage, Stored, View};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

/// The device and the kernels that are loaded.
pub(crate) struct Bench {
    device: Arc<Device>,
    modules: HashMap<String, LoadedModule>,
}

/// What a case's objects are.
struct Objects {
    array: Option<Handle>,
    buffer: Option<u64>,
    texture: u64,
    surface: u64,
}

/// The formats of `CUresourceViewFormat`.
fn view_format(number: u32) -> Option<Format> {
    let elements = [
        Element::U8,
        Element::S8,
        Element::U16,
        Element::S16,
        Element::U32,
        Element::S32,
        Element::F16,
        Element::F32,
    ];
    let element = elements.get((number.checked_sub(1)? / 3) as usize)?;
    Some(Format::new(*element, [1, 2, 4][((number - 1) % 3) as usize]))
}

fn text<E: std::fmt::Display>(error: E) -> String {
    error.to_string()
}

impl Bench {
    pub(crate) fn new() -> Self {
        let options = DeviceOptions { memory_limit: Some(1 << 30), ..DeviceOptions::default() };
        let profile =
            Profile::by_name("h200").or_else(|| Profile::by_name("h100")).cloned().unwrap_or_default();
        let device = Device::new(profile, options).expect("a device");
        Self { device, modules: HashMap::new() }
    }

    fn objects(&self, case: &Case) -> Result<Objects, String> {
        let device = &self.device;
        let mut objects = Objects { array: None, buffer: None, texture: 0, surface: 0 };
        let resource = match case.storage() {
            Storage::Array { shape, levels, surface, .. } => {
                let array = device.create_array(shape).map_err(text)?;
                objects.array = Some(array);
                let made = device.array(array).map_err(text)?;
                for (level, bytes) in (0..).zip(&levels) {
                    let region = made.whole_level(level).expect("a level");
                    device.write_array(array, &region, bytes).map_err(text)?;
                }
                if let Some(level) = surface {
                    objects.surface = device.create_surface(array, level).map_err(text)?;
                }
                Resource::Array(array)
            }
            Storage::Buffer(Buffer { bytes, format, stored }) => {
                let address = device.memory().allocate(bytes.len() as u64).map_err(text)?;
                device.memory().write(address, &bytes).map_err(text)?;
                objects.buffer = Some(address);
                match stored {
                    Stored::Linear(bytes) => Resource::Linear { address, format, bytes },
                    Stored::Pitched { width, height, pitch } => {
                        Resource::Pitched { address, format, width, height, pitch: pitch as u64 }
                    }
                }
            }
        };
        if let Some(texture) = case.texture() {
            let view = case.view().map(|View { format, levels, layers, .. }| ResourceView {
                format: view_format(format),
                levels,
                layers,
            });
            objects.texture = device.create_texture(&resource, &texture, view.as_ref()).map_err(text)?;
        }
        Ok(objects)
    }

    fn release(&self, objects: Objects) {
        for object in [objects.texture, objects.surface].into_iter().filter(|&handle| handle != 0) {
            self.device.destroy_object(object).expect("an object");
        }
        if let Some(array) = objects.array {
            self.device.destroy_array(array).expect("an array");
        }
        if let Some(buffer) = objects.buffer {
            self.device.memory().free(buffer).expect("a buffer");
        }
    }

    /// The results of a case: 5 words a thread; and what the array holds afterwards, if the case writes.
    pub(crate) fn run(&mut self, case: &Case) -> Result<Vec<u32>, String> {
        let objects = self.objects(case)?;
        let results = self.launch(case, &objects);
        self.release(objects);
        results
    }

    fn launch(&mut self, case: &Case, objects: &Objects) -> Result<Vec<u32>, String> {
        let kernel = case.kernel();
        if !self.modules.contains_key(&kernel) {
            let compiled = ptx::compile(&ptx::source::Source::new("case.ptx", kernel.clone()));
            let module = compiled.module.ok_or_else(|| format!("{:?}", compiled.diagnostics))?;
            let loaded = self.device.load(module).map_err(text)?;
            self.modules.insert(kernel.clone(), loaded);
        }
        let module = &self.modules[&kernel];
        let memory = self.device.memory();
        let words = case.threads();
        let n = words.len() / 16;
        let input: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let from = memory.allocate(input.len() as u64).map_err(text)?;
        memory.write(from, &input).map_err(text)?;
        let mut bytes = vec![0; n * 20];
        let to = memory.allocate(bytes.len() as u64).map_err(text)?;
        let serial = case.number("serial") != 0;
        let mut params = Vec::new();
        for value in [objects.texture, objects.surface, from, to] {
            params.extend_from_slice(&value.to_le_bytes());
        }
        params.extend_from_slice(&(n as u32).to_le_bytes());
        params.extend_from_slice(&u32::from(serial).to_le_bytes());
        let launch = Launch {
            kernel: module.kernel("k").expect("the kernel"),
            grid: [if serial { 1 } else { n.div_ceil(128) as u32 }, 1, 1],
            block: [if serial { 1 } else { 128 }, 1, 1],
            cluster: None,
            nonportable_cluster: false,
            dynamic_shared: 0,
            params,
        };
        let done = self.device.launch(&launch, &LaunchOptions::default());
        memory.read(to, &mut bytes).map_err(text)?;
        memory.free(from).map_err(text)?;
        memory.free(to).map_err(text)?;
        done.map_err(text)?;
        if let (true, Some(array)) = (serial, objects.array) {
            let made = self.device.array(array).map_err(text)?;
            let region = made.whole_level(case.number("slevel") as u32).expect("a level");
            let mut back = vec![0; region.slice_pitch * region.extents[2] as usize];
            self.device.read_array(array, &region, &mut back).map_err(text)?;
            bytes.extend_from_slice(&back);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        Ok(bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().expect("four bytes"))).collect())
    }

    /// The first differences, for people.
    pub(crate) fn differences(&self, case: &Case, results: &[u32], expected: &[u32]) -> String {
        let words = case.threads();
        let n = words.len() / 16;
        let mut shown = String::new();
        let (mut wrong, mut all) = (0, 0);
        for (thread, (got, want)) in results.chunks(5).zip(expected.chunks(5)).enumerate() {
            all += 1;
            if got[..want.len()] == *want {
                continue;
            }
            wrong += 1;
            if wrong <= 4 {
                let input: &[u32] = if thread < n { &words[thread * 16..][..16] } else { &[] };
                let used = input.iter().rposition(|&w| w != 0).map_or(0, |last| last + 1);
                let floats: Vec<f32> = input[..used].iter().map(|&w| f32::from_bits(w)).collect();
                let _ = writeln!(shown, "    [{thread}] {:x?} {floats:?}", &input[..used]);
                let _ = writeln!(shown, "        got {got:08x?}\n       want {want:08x?}");
            }
        }
        format!("    {wrong} of {all} differ\n{shown}")
    }
}
