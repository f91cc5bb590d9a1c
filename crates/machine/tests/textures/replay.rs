//! Runs a case on the machine.

use super::case::Case;
use super::numbers::{Contents, word};
use machine::texture::{
    ArrayDescriptor, Format, Handle, Kind, Resource, ResourceView, SamplerDescriptor, TextureDescriptor,
};
use machine::{Device, DeviceOptions, Launch, LaunchOptions, LoadedModule, Profile};
use numerics::texture::address::AddressMode;
use numerics::texture::format::Element;
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

fn format(name: &str, channels: u32) -> Format {
    let (element, normalized) = match name {
        "u8" => (Element::U8, false),
        "u16" => (Element::U16, false),
        "u32" => (Element::U32, false),
        "s8" => (Element::S8, false),
        "s16" => (Element::S16, false),
        "s32" => (Element::S32, false),
        "f16" => (Element::F16, false),
        "f32" => (Element::F32, false),
        name => {
            let signed = name.starts_with("snorm");
            let byte = name.contains("8x");
            let element = match (signed, byte) {
                (false, true) => Element::U8,
                (false, false) => Element::U16,
                (true, true) => Element::S8,
                (true, false) => Element::S16,
            };
            (element, true)
        }
    };
    Format { element, channels, normalized }
}

/// The formats of `CUresourceViewFormat`.
fn view_format(number: u64) -> Option<Format> {
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

fn address_mode(letter: u8) -> AddressMode {
    match letter {
        b'w' => AddressMode::Wrap,
        b'c' => AddressMode::Clamp,
        b'm' => AddressMode::Mirror,
        _ => AddressMode::Border,
    }
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
        let size = ["w", "h", "d"].map(|key| case.number(key) as u32);
        let format = format(case.text("fmt"), case.number("ch") as u32);
        let contents = Contents {
            mode: case.text("data"),
            seed: case.number("dseed"),
            format: case.text("fmt"),
            channels: format.channels as usize,
            bytes: format.element.bytes() as usize,
        };
        let mut objects = Objects { array: None, buffer: None, texture: 0, surface: 0 };
        let resource = match case.text("res") {
            "array" | "mip" => {
                let kind = match case.text("geom") {
                    "a1d" | "a2d" => Kind::Layered,
                    "cube" => Kind::Cube,
                    "acube" => Kind::LayeredCube,
                    _ => Kind::Plain,
                };
                let [width, height, depth] = size;
                let levels = case.number("levels").max(1) as u32;
                let descriptor = ArrayDescriptor { width, height, depth, format, kind, levels, samples: 1 };
                let array = device.create_array(descriptor).map_err(text)?;
                objects.array = Some(array);
                let made = device.array(array).map_err(text)?;
                for level in 0..levels {
                    let region = made.whole_level(level).expect("a level");
                    let bytes = contents.level(region.extents, level.into());
                    device.write_array(array, &region, &bytes).map_err(text)?;
                }
                if case.number("aflags") & 2 != 0 {
                    let level = case.number("slevel") as u32;
                    objects.surface = device.create_surface(array, level).map_err(text)?;
                }
                Resource::Array(array)
            }
            kind => {
                let [width, height, _] = size;
                let row = width as usize * format.texel_bytes() as usize;
                let pitch = case.get("pitch").map_or(row, |p| p.parse().expect("a number"));
                let packed = contents.level([width, height, 0], 0);
                let mut bytes = vec![0; pitch * height.max(1) as usize];
                for (to, from) in bytes.chunks_exact_mut(pitch).zip(packed.chunks_exact(row)) {
                    to[..row].copy_from_slice(from);
                }
                let address = device.memory().allocate(bytes.len() as u64).map_err(text)?;
                device.memory().write(address, &bytes).map_err(text)?;
                objects.buffer = Some(address);
                match kind {
                    "linear" => {
                        let bytes =
                            case.get("bytes").map_or(bytes.len() as u64, |b| b.parse().expect("a number"));
                        Resource::Linear { address, format, bytes }
                    }
                    _ => Resource::Pitched { address, format, width, height, pitch: pitch as u64 },
                }
            }
        };
        if case.get("addr").is_some() {
            let view = case.get("view").map(|view| {
                let number = |n: &str| match n.strip_prefix("0x") {
                    Some(hex) => u64::from_str_radix(hex, 16).expect("hexadecimal"),
                    None => n.parse().expect("a number"),
                };
                let numbers: Vec<u64> = view.split(',').map(number).collect();
                let all: Vec<u32> = numbers[4..8].iter().map(|&n| n as u32).collect();
                ResourceView {
                    format: view_format(numbers[0]),
                    levels: [all[0], all[1]],
                    layers: [all[2], all[3]],
                }
            });
            objects.texture =
                device.create_texture(&resource, &texture_descriptor(case), view.as_ref()).map_err(text)?;
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
        let words = threads(case);
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
        let words = threads(case);
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

/// The 16 words of every thread.
fn threads(case: &Case) -> Vec<u32> {
    let recipes: Vec<&str> = case.text("words").split(',').collect();
    let seed = case.number("cseed");
    let mut words = Vec::new();
    for thread in 0..case.number("n") {
        for k in 0..16 {
            words.push(recipes.get(k).map_or(0, |recipe| word(recipe, seed, k as u64, thread)));
        }
    }
    words
}

fn texture_descriptor(case: &Case) -> TextureDescriptor {
    let flags = case.get("flags").unwrap_or("-");
    let addresses = case.text("addr").as_bytes();
    let mut border = [0.0; 4];
    if let Some(colour) = case.get("border") {
        for (channel, bits) in border.iter_mut().zip(colour.split(',')) {
            *channel = f32::from_bits(u32::from_str_radix(bits, 16).expect("hexadecimal"));
        }
    }
    TextureDescriptor {
        sampler: SamplerDescriptor {
            address: [addresses[0], addresses[1], addresses[2]].map(address_mode),
            linear: case.text("filter") == "l",
            normalized: flags.contains('N'),
            mip_linear: case.get("mipf") == Some("l"),
            mip_bias: case.float("bias"),
            mip_least: case.float("mn"),
            mip_greatest: case.float("mx"),
            border,
            seamless_cube: flags.contains('C'),
            max_anisotropy: case.number("aniso") as u32,
            disable_trilinear_optimization: flags.contains('T'),
        },
        as_integer: flags.contains('I'),
        srgb: flags.contains('S'),
    }
}
