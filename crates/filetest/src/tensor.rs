//! Tensor maps of a test file: `map NAME tiled|im2col|wide TYPE of BUFFER KEY=LIST...`.

use machine::tensormap::{DataType, Fill, Im2col, Interleave, Promotion, Swizzle, Tensor, TensorMap};
use std::str::FromStr;

/// A tensor map to be made when the address of its tensor is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorMapPlan {
    ty: DataType,
    mode: Mode,
    /// Bytes from the begin of the buffer to that of the tensor.
    offset: u64,
    sizes: Vec<u64>,
    strides: Vec<u64>,
    element_strides: Vec<u32>,
    interleave: Interleave,
    swizzle: Swizzle,
    fill: Fill,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Mode {
    Tiled { box_sizes: Vec<u32> },
    Im2col { lower: Vec<i32>, upper: Vec<i32>, channels: u32, pixels: u32, wide: bool },
}

/// What a `map` directive says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapDirective {
    /// The parameter's name.
    pub name: String,
    /// The buffer that the tensor is in.
    pub buffer: String,
    /// Whether the parameter is the address of the map in global memory, not the map itself.
    pub in_memory: bool,
    /// The map.
    pub plan: TensorMapPlan,
}

impl MapDirective {
    /// Reads what follows `map`.
    ///
    /// # Errors
    /// If a word is not understood.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let mut next = |what: &str| words.next().ok_or_else(|| format!("no {what}"));
        let (name, mode, ty) = (next("name")?.to_owned(), next("mode")?, next("element type")?);
        let named = |known: &&DataType| known.name() == ty;
        let ty = *DataType::ALL.iter().find(named).ok_or_else(|| format!("no element type `{ty}`"))?;
        if next("`of`")? != "of" {
            return Err("not `of BUFFER` behind the element type".to_owned());
        }
        let buffer = next("buffer")?.to_owned();
        let (mut box_sizes, mut lower, mut upper) = (Vec::new(), Vec::new(), Vec::new());
        let (mut channels, mut pixels, mut in_memory) = (0, 0, false);
        let mut plan = TensorMapPlan {
            ty,
            mode: Mode::Tiled { box_sizes: Vec::new() },
            offset: 0,
            sizes: Vec::new(),
            strides: Vec::new(),
            element_strides: Vec::new(),
            interleave: Interleave::None,
            swizzle: Swizzle::None,
            fill: Fill::Zeros,
        };
        for word in words {
            if word == "in-memory" {
                in_memory = true;
                continue;
            }
            let (key, value) = word.split_once('=').ok_or_else(|| format!("`{word}` is not KEY=VALUE"))?;
            let wrong = || format!("`{value}` is no value of {key}");
            match key {
                "at" => plan.offset = value.parse().map_err(|_| wrong())?,
                "size" => plan.sizes = list(value)?,
                "stride" => plan.strides = list(value)?,
                "step" => plan.element_strides = list(value)?,
                "box" => box_sizes = list(value)?,
                "lower" => lower = list(value)?,
                "upper" => upper = list(value)?,
                "channels" => channels = value.parse().map_err(|_| wrong())?,
                "pixels" => pixels = value.parse().map_err(|_| wrong())?,
                "interleave" => {
                    plan.interleave = match value {
                        "16" => Interleave::Bytes16,
                        "32" => Interleave::Bytes32,
                        _ => return Err(wrong()),
                    };
                }
                "swizzle" => {
                    plan.swizzle = match value {
                        "32" => Swizzle::Bytes32,
                        "64" => Swizzle::Bytes64,
                        "128" => Swizzle::Bytes128,
                        "128/32" => Swizzle::Bytes128Atom32,
                        "128/32-flip-8" => Swizzle::Bytes128Atom32Flip8,
                        "128/64" => Swizzle::Bytes128Atom64,
                        _ => return Err(wrong()),
                    };
                }
                "fill" => {
                    plan.fill = match value {
                        "nan" => Fill::Nan,
                        "zeros" => Fill::Zeros,
                        _ => return Err(wrong()),
                    };
                }
                _ => return Err(format!("no such setting of a map: {key}")),
            }
        }
        if plan.element_strides.is_empty() {
            plan.element_strides = vec![1; plan.sizes.len()];
        }
        plan.mode = match mode {
            "tiled" => Mode::Tiled { box_sizes },
            "im2col" | "wide" => Mode::Im2col { lower, upper, channels, pixels, wide: mode == "wide" },
            _ => return Err(format!("`{mode}` is neither tiled, im2col nor wide")),
        };
        Ok(Self { name, buffer, in_memory, plan })
    }
}

impl TensorMapPlan {
    /// The map for a buffer at an address.
    ///
    /// # Errors
    /// If there is no such map.
    pub fn make(&self, buffer: u64) -> Result<TensorMap, String> {
        let tensor = Tensor {
            ty: self.ty,
            address: buffer + self.offset,
            sizes: &self.sizes,
            strides: &self.strides,
            element_strides: &self.element_strides,
            interleave: self.interleave,
            swizzle: self.swizzle,
            promotion: Promotion::None,
            fill: self.fill,
        };
        let map = match &self.mode {
            Mode::Tiled { box_sizes } => TensorMap::tiled(&tensor, box_sizes),
            Mode::Im2col { lower, upper, channels, pixels, wide } => {
                let (channels, pixels) = (*channels, *pixels);
                let column = Im2col { lower, upper, channels, pixels };
                if *wide {
                    TensorMap::im2col_wide(&tensor, &column)
                } else {
                    TensorMap::im2col(&tensor, &column)
                }
            }
        };
        map.map_err(|error| error.to_string())
    }
}

fn list<T: FromStr>(text: &str) -> Result<Vec<T>, String> {
    text.split(',').map(|part| part.parse().map_err(|_| format!("`{part}` is not a number here"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directive_makes_the_map_that_it_says() {
        let text = "m tiled f16 of a at=32 size=64,8 stride=128 box=32,4 swizzle=64 in-memory";
        let directive = MapDirective::parse(text).unwrap();
        assert_eq!((directive.name.as_str(), directive.buffer.as_str()), ("m", "a"));
        assert!(directive.in_memory);
        let map = directive.plan.make(0x1000).unwrap();
        assert_eq!((map.global_address(), map.rank(), map.box_size(1)), (0x1020, 2, 4));
        assert_eq!((map.swizzle(), map.element_stride(1)), (Swizzle::Bytes64, 1));
        assert!(directive.plan.make(0x1008).unwrap_err().contains("multiple of 16"));
        assert!(MapDirective::parse("m tiled f8 of a").is_err());
        assert!(MapDirective::parse("m tiled f16 of a sizes=1").is_err());
    }
}
