//! Textures and surfaces of a case: `texture NAME GEOMETRY TYPExCHANNELS[W,H,D] SETTING... = VALUES`.

use super::value::{Kind as ValueKind, Type, Values};
use machine::Device;
use machine::texture::{
    AddressMode, ArrayDescriptor, Element, Format, Handle, Kind, Resource, SamplerDescriptor,
    TextureDescriptor,
};

/// The most texels of an array.
const LARGEST: usize = 1 << 20;

/// An array with contents, and the object through which a kernel sees it.
#[derive(Clone, Debug)]
pub struct Object {
    /// The array.
    pub array: ArrayDescriptor,
    /// What it holds at first.
    pub contents: Vec<u8>,
    /// How it is read, if it is a texture; otherwise it is a surface.
    pub texture: Option<TextureDescriptor>,
}

impl Object {
    /// Reads what follows `texture` or `surface`: the object's name and what it is.
    ///
    /// # Errors
    /// If it is not understood.
    pub fn parse(text: &str, is_texture: bool) -> Result<(String, Self), String> {
        let (head, list) = text.split_once('=').map_or((text, None), |_| split_values(text));
        let mut words = head.split_whitespace();
        let name = words.next().ok_or("no name")?.to_owned();
        let geometry = words.next().ok_or("no geometry")?;
        let texels = words.next().ok_or("no TYPE[W,H,D]")?;
        let (array, ty) = array(geometry, texels)?;
        let mut texture = TextureDescriptor::default();
        for setting in words {
            match is_texture {
                true => set(&mut texture, setting)?,
                false => return Err(format!("a surface has no setting {setting}")),
            }
        }
        let extents = [array.width, array.height.max(1), array.depth.max(1), array.format.channels];
        let product = extents.into_iter().try_fold(1usize, |product, e| product.checked_mul(e as usize));
        let count = product.filter(|&n| n <= LARGEST).ok_or("too many texels")?;
        let contents = match list {
            Some(list) => Values::parse(ty, count, list)?.bytes(),
            None => vec![0; count * ty.bytes],
        };
        Ok((name, Self { array, contents, texture: is_texture.then_some(texture) }))
    }

    /// Makes the array and the object: their handles.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn make(&self, device: &Device) -> Result<(Handle, Handle), String> {
        let failed = |error: machine::texture::TextureError| error.to_string();
        let array = device.create_array(self.array).map_err(failed)?;
        let region = device.array(array).map_err(failed)?.whole_level(0).ok_or("no level")?;
        device.write_array(array, &region, &self.contents).map_err(failed)?;
        let object = match &self.texture {
            Some(texture) => device.create_texture(&Resource::Array(array), texture, None),
            None => device.create_surface(array, 0),
        };
        Ok((array, object.map_err(failed)?))
    }

    /// The first bytes of the array.
    ///
    /// # Errors
    /// If it has fewer.
    pub fn read(&self, device: &Device, array: Handle, bytes: usize) -> Result<Vec<u8>, String> {
        let failed = |error: machine::texture::TextureError| error.to_string();
        let region = device.array(array).map_err(failed)?.whole_level(0).ok_or("no level")?;
        let mut contents = vec![0; self.contents.len()];
        device.read_array(array, &region, &mut contents).map_err(failed)?;
        contents.get(..bytes).map(<[u8]>::to_vec).ok_or_else(|| "`out` is longer than the surface".to_owned())
    }
}

/// What stands before and behind the `=` that begins the values: that with blanks around it.
fn split_values(text: &str) -> (&str, Option<&str>) {
    text.split_once(" = ").map_or((text, None), |(head, list)| (head, Some(list)))
}

/// `2d` and `u8x4[16,8]`.
fn array(geometry: &str, texels: &str) -> Result<(ArrayDescriptor, Type), String> {
    let kind = match geometry {
        "1d" | "2d" | "3d" => Kind::Plain,
        "a1d" | "a2d" => Kind::Layered,
        "cube" => Kind::Cube,
        "acube" => Kind::LayeredCube,
        other => return Err(format!("no geometry {other}")),
    };
    let (ty, extents) = texels.split_once('[').ok_or("not TYPE[W,H,D]")?;
    let (ty, channels) = ty.split_once('x').unwrap_or((ty, "1"));
    let ty = Type::from_name(ty).ok_or_else(|| format!("no type `{ty}`"))?;
    let element = match (ty.kind, ty.bytes) {
        (ValueKind::Unsigned, 1) => Element::U8,
        (ValueKind::Unsigned, 2) => Element::U16,
        (ValueKind::Unsigned, 4) => Element::U32,
        (ValueKind::Signed, 1) => Element::S8,
        (ValueKind::Signed, 2) => Element::S16,
        (ValueKind::Signed, 4) => Element::S32,
        (ValueKind::Float, 2) => Element::F16,
        (ValueKind::Float, 4) => Element::F32,
        _ => return Err("no format of texels".to_owned()),
    };
    let number = |text: &str| text.parse::<u32>().map_err(|_| format!("`{text}` is not a number"));
    let mut all = [0; 3];
    for (i, extent) in extents.trim_end_matches(']').split(',').enumerate() {
        *all.get_mut(i).ok_or("more than three extents")? = number(extent)?;
    }
    // Layers of rows have no height.
    let [width, height, depth] = if geometry == "a1d" { [all[0], 0, all[1]] } else { all };
    let format = Format::new(element, number(channels)?);
    Ok((ArrayDescriptor { width, height, depth, format, kind, levels: 1, samples: 1 }, ty))
}

fn set(texture: &mut TextureDescriptor, setting: &str) -> Result<(), String> {
    let sampler: &mut SamplerDescriptor = &mut texture.sampler;
    match setting.split_once('=').unwrap_or((setting, "")) {
        ("linear", "") => sampler.linear = true,
        ("normalized", "") => sampler.normalized = true,
        ("seamless", "") => sampler.seamless_cube = true,
        ("integer", "") => texture.as_integer = true,
        ("srgb", "") => texture.srgb = true,
        ("address", modes) => {
            for (mode, name) in sampler.address.iter_mut().zip(modes.split(',')) {
                *mode = match name {
                    "wrap" => AddressMode::Wrap,
                    "clamp" => AddressMode::Clamp,
                    "mirror" => AddressMode::Mirror,
                    "border" => AddressMode::Border,
                    other => return Err(format!("no address mode {other}")),
                };
            }
        }
        ("border", colour) => {
            for (channel, value) in sampler.border.iter_mut().zip(colour.split(',')) {
                *channel = value.parse().map_err(|_| format!("`{value}` is not a number"))?;
            }
        }
        (other, _) => return Err(format!("no such setting: {other}")),
    }
    Ok(())
}
