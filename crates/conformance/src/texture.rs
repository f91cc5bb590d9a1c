//! Textures and surfaces: small ones of every geometry, read at coordinates inside, outside and between their texels.
//!
//! What writes to a surface has a texel for each thread, which is filled before the instruction and read back after it;
//! coordinates outside are the matter of the texture tests of the machine, which run such cases thread by thread.

use crate::builder::Builder;
use crate::domain::Domain;
use crate::inputs::THREADS;
use crate::object::Object;
use machine::texture::{
    AddressMode, ArrayDescriptor, Element, Format, Kind, SamplerDescriptor, TextureDescriptor,
};
use ptx::isa::{Mnemonic, Modifier, OperandSpec, Slot};
use ptx::types::ScalarType;

/// Ways to sample a texture, or formats of a surface.
pub(crate) const WAYS: usize = 4;

/// CTAs that a surface has texels for.
const CTAS: u32 = 64;

/// Levels of a texture that has several.
const LEVELS: u32 = 4;

/// Coordinates of a texture: words before those along the axes, axes, and words behind them that mean nothing.
struct Geometry {
    kind: Kind,
    extents: [u32; 3],
    axes: usize,
    ignored: usize,
}

impl Geometry {
    fn of(name: &str) -> Option<Self> {
        let (kind, extents, axes, ignored) = match name {
            ".1d" => (Kind::Plain, [37, 0, 0], 1, 0),
            ".2d" => (Kind::Plain, [21, 13, 0], 2, 0),
            ".3d" => (Kind::Plain, [9, 7, 5], 3, 1),
            ".a1d" => (Kind::Layered, [37, 0, 3], 1, 0),
            ".a2d" => (Kind::Layered, [21, 13, 3], 2, 1),
            ".cube" => (Kind::Cube, [8, 8, 6], 3, 1),
            ".acube" => (Kind::LayeredCube, [8, 8, 12], 3, 0),
            _ => return None,
        };
        Some(Self { kind, extents, axes, ignored })
    }

    fn is_cube(&self) -> bool {
        matches!(self.kind, Kind::Cube | Kind::LayeredCube)
    }

    fn layers(&self) -> Option<u32> {
        match self.kind {
            Kind::Plain | Kind::Cube => None,
            Kind::Layered => Some(self.extents[2]),
            Kind::LayeredCube => Some(self.extents[2] / 6),
        }
    }

    fn array(&self, format: Format, levels: u32) -> ArrayDescriptor {
        let [width, height, depth] = self.extents;
        ArrayDescriptor { width, height, depth, format, kind: self.kind, levels, samples: 1 }
    }
}

/// A vector operand: the last register again for the words that mean nothing.
fn vector(mut registers: Vec<String>, ignored: usize) -> String {
    let last = registers.last().cloned().unwrap_or_default();
    registers.extend(std::iter::repeat_n(last, ignored));
    format!("{{{}}}", registers.join(", "))
}

impl Builder<'_> {
    fn geometry(&self) -> Option<Geometry> {
        Geometry::of(self.opcode.get(Slot::Geom)?.text())
    }

    /// The operand `[t,c]`.
    pub(crate) fn texture(&mut self) -> Option<String> {
        let geometry = self.geometry()?;
        let (way, gathers) = (self.variant.alternative, self.opcode.mnemonic() == Mnemonic::Tld4);
        let levels = if self.opcode.get(Slot::Mip).is_some() { LEVELS } else { 1 };
        let real = self.opcode.get(Slot::Ctype) == Some(Modifier::F32);
        // Packed results are of a form of their own.
        let dtype = self.opcode.get(Slot::Dtype).or(self.opcode.get(Slot::Type))?;
        let integers = matches!(dtype, Modifier::U32 | Modifier::S32);
        let derived = self.opcode.get(Slot::Mip) == Some(Modifier::Grad);
        // For these ptxas calls a function of the driver's, which lets neighbouring threads tell the level of detail.
        let called = derived && (self.variant.full || geometry.axes == 3);
        if called && geometry.axes == 1 && geometry.kind == Kind::Plain {
            // With a comparison, it reads no texels of one-dimensional textures.
            return None;
        }
        let normalized = real && (way % 2 == 1 || geometry.is_cube() || levels > 1);
        // How floating-point texels of two slices or levels are blended is known to one unit only.
        let flat = geometry.axes < 3 && levels == 1;
        let (element, channels) = match (dtype, way) {
            (Modifier::U32, _) => {
                [(Element::U32, 4), (Element::U16, 1), (Element::U8, 4), (Element::U32, 2)][way]
            }
            (Modifier::S32, _) => {
                [(Element::S32, 4), (Element::S16, 2), (Element::S8, 4), (Element::S32, 1)][way]
            }
            (Modifier::F32, 0) => (Element::F32, 4),
            (_, 1) => (if flat { Element::F32 } else { Element::S16 }, 2),
            (_, 2) => (Element::U8, 4),
            (_, 0) => (Element::F16, 4),
            (_, _) => (Element::F16, 1),
        };
        let address = [AddressMode::Clamp, AddressMode::Wrap, AddressMode::Border, AddressMode::Mirror][way];
        let sampler = SamplerDescriptor {
            address: [address; 3],
            linear: real && !integers && (way == 1 || way == 2),
            normalized,
            mip_linear: way == 1 && !integers && !called,
            mip_greatest: 20.0,
            border: [0.5, 0.75, -0.25, 1.25],
            ..SamplerDescriptor::default()
        };
        let texture = TextureDescriptor { sampler, as_integer: integers, srgb: false };
        let array = geometry.array(Format::new(element, channels), levels);
        let gathered = gathers && geometry.kind == Kind::Plain;
        self.use_object(Object::Texture { array, texture, gathered });
        self.handle();
        self.remark(["", " linear by wrap", " linear by border", " by mirror"][way]);
        let mut registers = Vec::new();
        if let Some(layers) = geometry.layers() {
            registers.push(self.input(Domain::Texel { extent: layers }, 32));
        }
        for axis in 0..geometry.axes {
            let extent = geometry.extents[axis];
            registers.push(self.input(
                match () {
                    () if !real => Domain::Texel { extent },
                    () if geometry.is_cube() && derived => Domain::Heading,
                    () if geometry.is_cube() => Domain::Direction,
                    () if derived => Domain::Nearby { extent },
                    () => Domain::Coordinate { extent, normalized },
                },
                32,
            ));
        }
        Some(format!("[%object, {}]", vector(registers, geometry.ignored)))
    }

    fn handle(&mut self) {
        self.declaration(".reg .b64 %object;");
        self.before("ld.param.b64 %object, [object];");
    }

    /// An operand that only texture instructions have.
    pub(crate) fn of_texture(&mut self, spec: &OperandSpec) -> Option<String> {
        let geometry = self.geometry();
        match spec.name {
            "e" => {
                let axes = geometry?.axes;
                let offset = Domain::Range { low: -8, high: 7, step: 1 };
                let offsets: Vec<_> = (0..axes).map(|_| self.input(offset, 32)).collect();
                Some(vector(offsets, usize::from(axes == 3)))
            }
            "dPdx" | "dPdy" => {
                // One derivative of one coordinate and another of the next: powers of two, whose level of detail is known.
                let geometry = geometry?;
                let axes = geometry.axes;
                let slope = self.input(Domain::Slope, 32);
                if geometry.is_cube() {
                    // Small ones: how a direction's derivatives become a level of detail is not known well enough.
                    self.before(&format!("mul.f32 {slope}, {slope}, 0f39800000;"));
                }
                let own = usize::from(spec.name == "dPdy") % axes;
                let slopes =
                    (0..axes).map(|axis| if axis == own { slope.clone() } else { "0f00000000".into() });
                Some(vector(slopes.collect(), usize::from(axes == 3)))
            }
            "lod" if self.opcode.mnemonic() == Mnemonic::Txq => {
                Some(self.input(Domain::Range { low: 0, high: i64::from(LEVELS) - 1, step: 1 }, 32))
            }
            "lod" => Some(self.input(Domain::Level, 32)),
            _ => None,
        }
    }

    /// The operand of a query: a plain, a deep and a layered texture or surface.
    pub(crate) fn queried(&mut self) -> Option<String> {
        // The driver gives instructions no other attributes.
        if !matches!(self.opcode.get(Slot::Query)?.text(), ".width" | ".height" | ".depth") {
            return None;
        }
        let name = *[".2d", ".3d", ".a2d"].get(self.variant.alternative)?;
        let geometry = Geometry::of(name)?;
        let object = match self.opcode.mnemonic() {
            Mnemonic::Txq => {
                let array = geometry.array(Format::new(Element::F32, 1), LEVELS);
                let sampler =
                    SamplerDescriptor { normalized: true, mip_greatest: 20.0, ..Default::default() };
                let texture = TextureDescriptor { sampler, ..TextureDescriptor::default() };
                Object::Texture { array, texture, gathered: false }
            }
            _ => Object::Surface { array: geometry.array(Format::new(Element::U32, 1), 1), written: false },
        };
        self.use_object(object);
        self.handle();
        self.remark(&format!(" of {}", &name[1..]));
        Some("[%object]".into())
    }

    /// The operand `[a,c]`.
    pub(crate) fn surface(&mut self) -> Option<String> {
        match self.opcode.mnemonic() {
            Mnemonic::Suld => self.read_surface(),
            _ => self.written_surface(),
        }
    }

    /// The format of a texel for an access, and bytes of it.
    fn texel(&self) -> (Format, u32) {
        let access = self.opcode.ty(Slot::Dtype).or(self.opcode.ty(Slot::Ctype)).unwrap_or(ScalarType::B32);
        let count = self.opcode.get(Slot::Vec).and_then(Modifier::vector_length).unwrap_or(1);
        let (element, channels) = match access.bits() {
            8 => (Element::U8, count),
            16 => (Element::U16, count),
            64 => (Element::U32, 2 * count),
            _ if access == ScalarType::S32 => (Element::S32, count),
            _ => (Element::U32, count),
        };
        let format = Format::new(element, channels);
        (format, format.texel_bytes())
    }

    fn read_surface(&mut self) -> Option<String> {
        let geometry = self.geometry()?;
        let (format, bytes) = self.texel();
        self.use_object(Object::Surface { array: geometry.array(format, 1), written: false });
        self.handle();
        let inside = self.opcode.get(Slot::Clamp) == Some(Modifier::Trap);
        let domain = |extent: u32| match inside {
            true => Domain::Range { low: 0, high: i64::from(extent) - 1, step: 1 },
            false => Domain::Texel { extent },
        };
        let mut registers = Vec::new();
        if let Some(layers) = geometry.layers() {
            registers.push(self.input(domain(layers), 32));
        }
        for axis in 0..geometry.axes {
            registers.push(self.input(domain(geometry.extents[axis]), 32));
        }
        let x = &registers[usize::from(geometry.layers().is_some())];
        self.before(&format!("mul.lo.s32 {x}, {x}, {bytes};"));
        Some(format!("[%object, {}]", vector(registers, geometry.ignored)))
    }

    /// Whether an access converts, and counts texels and not bytes.
    fn converts(&self) -> bool {
        self.opcode.text().split('.').nth(1) == Some("p")
    }

    /// What `sust.p` converts to.
    fn converted(&self) -> Format {
        let count = self.opcode.get(Slot::Vec).and_then(Modifier::vector_length).unwrap_or(1);
        let elements = [Element::F32, Element::F16, Element::U8, Element::S16];
        let others = [Element::U32, Element::S32, Element::U16, Element::S8];
        let elements = if self.variant.index.is_multiple_of(2) { elements } else { others };
        Format::new(elements[self.variant.alternative % WAYS], count)
    }

    /// A texel for each thread.
    fn written_surface(&mut self) -> Option<String> {
        let reduces = self.opcode.mnemonic() == Mnemonic::Sured;
        let (mut format, mut bytes) = self.texel();
        let mut across = 1;
        match (self.converts(), reduces) {
            (true, false) => {
                format = self.converted();
                bytes = format.texel_bytes();
                self.remark(&format!(" to {:?}", format.element));
            }
            // The instruction counts accesses, each of which may be several texels.
            (true, true) => {
                let signed = self.variant.alternative % 2 == 1;
                let element = if signed { Element::S32 } else { Element::U32 };
                across = bytes / 4;
                format = Format::new(element, 1);
                self.remark(&format!(" to {element:?}"));
            }
            (false, _) => {}
        }
        let width = THREADS as u32 * across;
        let (kind, extents) = match self.opcode.get(Slot::Geom)?.text() {
            ".1d" => (Kind::Plain, [width * CTAS, 0, 0]),
            ".2d" => (Kind::Plain, [width, CTAS, 0]),
            ".3d" => (Kind::Plain, [width, CTAS, 2]),
            ".a1d" => (Kind::Layered, [width, 0, CTAS]),
            ".a2d" => (Kind::Layered, [width, CTAS, 2]),
            _ => return None,
        };
        let geometry = Geometry { kind, extents, axes: 0, ignored: 0 };
        self.use_object(Object::Surface { array: geometry.array(format, 1), written: true });
        self.handle();
        // More rows than CTAs have texels for must not be, as of a lone operand of 16 bits.
        self.unloaded(Domain::Flag, 1);
        self.declaration(".reg .b32 %column, %bytes;");
        let column = if extents[1] == 0 && extents[2] == 0 { "%thread" } else { "%tid.x" };
        self.before(&format!("mov.u32 %column, {column}; mul.lo.u32 %bytes, %column, {bytes};"));
        let at = |x: &str| match self.opcode.get(Slot::Geom).map_or("", Modifier::text) {
            ".1d" => format!("{{{x}}}"),
            ".2d" => format!("{{{x}, %cta}}"),
            ".3d" => format!("{{{x}, %cta, 1, 1}}"),
            ".a1d" => format!("{{%cta, {x}}}"),
            _ => format!("{{1, {x}, %cta, %cta}}"),
        };
        let (own, whole) = (at(if self.converts() { "%column" } else { "%bytes" }), at("%bytes"));
        let geometry = self.opcode.get(Slot::Geom)?.text();
        let register_bits = (bytes * 8).clamp(16, 64);
        let access = if bytes == 16 { ".v2.b64".to_owned() } else { format!(".b{}", bytes * 8) };
        let parts = if bytes == 16 { 2 } else { 1 };
        let listed = |registers: &[String]| match registers {
            [one] => one.clone(),
            many => format!("{{{}}}", many.join(", ")),
        };
        let domain = match (self.opcode.ty(Slot::Ctype), register_bits) {
            (Some(ty), _) if reduces => Domain::Of(ty),
            (_, 64) => Domain::Of(ScalarType::B64),
            _ => Domain::Of(ScalarType::B32),
        };
        let old: Vec<_> = (0..parts).map(|_| self.input(domain, register_bits)).collect();
        self.before(&format!("sust.b{geometry}{access}.trap [%object, {whole}], {};", listed(&old)));
        let new: Vec<_> = (0..parts).map(|_| self.observed(register_bits)).collect();
        self.last(&format!("suld.b{geometry}{access}.trap {}, [%object, {whole}];", listed(&new)));
        Some(format!("[%object, {own}]"))
    }

    /// What `sust.p` converts: values of the kind that its format has.
    pub(crate) fn stored_to_surface(&mut self) -> Option<String> {
        if !self.converts() {
            return None;
        }
        let format = self.converted();
        let domain = match format.element {
            Element::F16 | Element::F32 => Domain::Of(ScalarType::F32),
            _ => Domain::Of(ScalarType::B32),
        };
        let registers: Vec<_> = (0..format.channels).map(|_| self.input(domain, 32)).collect();
        Some(match &registers[..] {
            [one] => one.clone(),
            many => format!("{{{}}}", many.join(", ")),
        })
    }
}
