//! What a case's instruction accesses.

use super::Case;
use super::numbers::{Contents, word};
use machine::texture::{
    AddressMode, ArrayDescriptor, Element, Format, Kind, SamplerDescriptor, TextureDescriptor,
};

/// Where texels lie.
#[derive(Clone, Debug)]
pub enum Storage {
    /// In an array.
    Array {
        /// Its extents, levels and format.
        shape: ArrayDescriptor,
        /// The bytes of each level.
        levels: Vec<Vec<u8>>,
        /// The level that a surface shows, if there is one.
        surface: Option<u32>,
        /// Whether `tld4` reads it.
        gathered: bool,
    },
    /// In global memory.
    Buffer(Buffer),
}

/// Texels in global memory.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// What it holds.
    pub bytes: Vec<u8>,
    /// The format of a texel.
    pub format: Format,
    /// How it is a texture.
    pub stored: Stored,
}

/// How global memory is a texture.
#[derive(Clone, Copy, Debug)]
pub enum Stored {
    /// In one dimension, of so many bytes.
    Linear(u64),
    /// In rows.
    Pitched {
        /// Texels of a row.
        width: u32,
        /// Rows.
        height: u32,
        /// Bytes from row to row.
        pitch: usize,
    },
}

/// A view of an array.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// `CUresourceViewFormat`.
    pub format: u32,
    /// Its extents.
    pub size: [usize; 3],
    /// The first level and the last.
    pub levels: [u32; 2],
    /// The first layer and the last.
    pub layers: [u32; 2],
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

fn address_mode(letter: u8) -> AddressMode {
    match letter {
        b'w' => AddressMode::Wrap,
        b'c' => AddressMode::Clamp,
        b'm' => AddressMode::Mirror,
        _ => AddressMode::Border,
    }
}

impl Case {
    /// Where the case's texels lie, and what they are.
    ///
    /// # Panics
    /// If the case says nothing of that.
    pub fn storage(&self) -> Storage {
        let [width, height, depth] = ["w", "h", "d"].map(|key| self.number(key) as u32);
        let format = format(self.text("fmt"), self.number("ch") as u32);
        let contents = Contents {
            mode: self.text("data"),
            seed: self.number("dseed"),
            format: self.text("fmt"),
            channels: format.channels as usize,
            bytes: format.element.bytes() as usize,
        };
        let row = width as usize * format.texel_bytes() as usize;
        match self.text("res") {
            "array" | "mip" => {
                let geometry = self.text("geom");
                let kind = match geometry {
                    "a1d" | "a2d" => Kind::Layered,
                    "cube" => Kind::Cube,
                    "acube" => Kind::LayeredCube,
                    _ => Kind::Plain,
                };
                let levels = self.number("levels").max(1) as u32;
                let shape = ArrayDescriptor { width, height, depth, format, kind, levels, samples: 1 };
                let bytes = |level: u32| {
                    let halved = |extent: u32| if extent == 0 { 0 } else { (extent >> level).max(1) };
                    let depth = if kind == Kind::Plain { halved(depth) } else { depth };
                    contents.level([halved(width), halved(height), depth], level.into())
                };
                let flags = self.number("aflags");
                Storage::Array {
                    shape,
                    levels: (0..levels).map(bytes).collect(),
                    surface: (flags & 2 != 0).then(|| self.number("slevel") as u32),
                    gathered: flags & 8 != 0,
                }
            }
            kind => {
                let pitch = self.get("pitch").map_or(row, |pitch| pitch.parse().expect("a number"));
                let packed = contents.level([width, height, 0], 0);
                let mut bytes = vec![0; pitch * height.max(1) as usize];
                for (to, from) in bytes.chunks_exact_mut(pitch).zip(packed.chunks_exact(row)) {
                    to[..row].copy_from_slice(from);
                }
                let stored = match kind {
                    "linear" => Stored::Linear(
                        self.get("bytes")
                            .map_or(bytes.len() as u64, |bytes| bytes.parse().expect("a number")),
                    ),
                    _ => Stored::Pitched { width, height, pitch },
                };
                Storage::Buffer(Buffer { bytes, format, stored })
            }
        }
    }

    /// The texture, if the case has one.
    ///
    /// # Panics
    /// If what it says of that is wrong.
    pub fn texture(&self) -> Option<TextureDescriptor> {
        let addresses = self.get("addr")?.as_bytes();
        let flags = self.get("flags").unwrap_or("-");
        let mut border = [0.0; 4];
        if let Some(colour) = self.get("border") {
            for (channel, bits) in border.iter_mut().zip(colour.split(',')) {
                *channel = f32::from_bits(u32::from_str_radix(bits, 16).expect("hexadecimal"));
            }
        }
        Some(TextureDescriptor {
            sampler: SamplerDescriptor {
                address: [addresses[0], addresses[1], addresses[2]].map(address_mode),
                linear: self.text("filter") == "l",
                normalized: flags.contains('N'),
                mip_linear: self.get("mipf") == Some("l"),
                mip_bias: self.float("bias"),
                mip_least: self.float("mn"),
                mip_greatest: self.float("mx"),
                border,
                seamless_cube: flags.contains('C'),
                max_anisotropy: self.number("aniso") as u32,
                disable_trilinear_optimization: flags.contains('T'),
            },
            as_integer: flags.contains('I'),
            srgb: flags.contains('S'),
        })
    }

    /// The view, if the case has one.
    ///
    /// # Panics
    /// If what it says of that is wrong.
    pub fn view(&self) -> Option<View> {
        let number = |n: &str| match n.strip_prefix("0x") {
            Some(hex) => u32::from_str_radix(hex, 16).expect("hexadecimal"),
            None => n.parse().expect("a number"),
        };
        let n: Vec<u32> = self.get("view")?.split(',').map(number).collect();
        Some(View {
            format: n[0],
            size: [n[1], n[2], n[3]].map(|extent| extent as usize),
            levels: [n[4], n[5]],
            layers: [n[6], n[7]],
        })
    }

    /// The 16 words of every thread.
    pub fn threads(&self) -> Vec<u32> {
        let recipes: Vec<&str> = self.text("words").split(',').collect();
        let seed = self.number("cseed");
        let mut words = Vec::new();
        for thread in 0..self.number("n") {
            for k in 0..16 {
                words.push(recipes.get(k).map_or(0, |recipe| word(recipe, seed, k as u64, thread)));
            }
        }
        words
    }
}
