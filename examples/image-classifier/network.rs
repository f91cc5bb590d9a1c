//! The network: its weights, its layers, and the stacks of feature maps that flow between them.

use std::io::Cursor;

use anyhow::{Context, Result, ensure};
use image::RgbImage;
use npyz::npz::NpzArchive;

/// The trained weights; train.py made them, and README.md describes the file.
const WEIGHTS: &[u8] = include_bytes!("weights.npz");

/// Rows and columns of zeros around the input of every convolution.
pub(crate) const PADDING: usize = 1;

/// A 3x3 convolution with bias and ReLU.
pub(crate) struct Convolution {
    /// Channels of the input.
    pub inputs: usize,
    /// Channels of the output.
    pub outputs: usize,
    /// How many input rows and columns an output row and column are apart.
    pub stride: usize,
    /// `[output][input][3][3]`
    pub weight: Vec<f32>,
    /// `[output]`
    pub bias: Vec<f32>,
}

/// A layer in which every output depends on every input.
pub(crate) struct FullyConnected {
    /// Length of the input.
    pub inputs: usize,
    /// Length of the output.
    pub outputs: usize,
    /// `[output][input]`
    pub weight: Vec<f32>,
    /// `[output]`
    pub bias: Vec<f32>,
}

/// The whole network: convolutions one after the other, then the scores of the classes from all the values of the last
/// feature maps.
pub(crate) struct Network {
    /// The convolutions in order.
    pub convolutions: Vec<Convolution>,
    /// The last layer.
    pub classifier: FullyConnected,
}

impl Network {
    /// Reads the weights that belong to this example.
    pub(crate) fn trained() -> Result<Self> {
        let mut archive = NpzArchive::new(Cursor::new(WEIGHTS))?;
        let strides = array::<i32>(&mut archive, "strides", &[None])?.values;
        let mut convolutions = Vec::new();
        let mut inputs = 3;
        for (index, stride) in strides.into_iter().enumerate() {
            let name = format!("conv{}", index + 1);
            let weight =
                array(&mut archive, &format!("{name}.weight"), &[None, Some(inputs), Some(3), Some(3)])?;
            let outputs = weight.shape[0];
            let bias = array(&mut archive, &format!("{name}.bias"), &[Some(outputs)])?;
            convolutions.push(Convolution {
                inputs,
                outputs,
                stride: usize::try_from(stride)?,
                weight: weight.values,
                bias: bias.values,
            });
            inputs = outputs;
        }
        let weight = array(&mut archive, "fc.weight", &[None, None])?;
        let bias = array(&mut archive, "fc.bias", &[Some(weight.shape[0])])?;
        let classifier = FullyConnected {
            inputs: weight.shape[1],
            outputs: weight.shape[0],
            weight: weight.values,
            bias: bias.values,
        };
        Ok(Self { convolutions, classifier })
    }
}

/// An array of the weight file.
struct Array<T> {
    shape: Vec<usize>,
    values: Vec<T>,
}

/// Reads the array of this name and checks each size of its shape that is known.
fn array<T: npyz::Deserialize>(
    archive: &mut NpzArchive<Cursor<&[u8]>>,
    name: &str,
    expected: &[Option<usize>],
) -> Result<Array<T>> {
    let file = archive.by_name(name)?.with_context(|| format!("the weights lack {name}"))?;
    let shape = file.shape().iter().map(|&size| usize::try_from(size)).collect::<Result<Vec<_>, _>>()?;
    let fits = shape.len() == expected.len()
        && shape
            .iter()
            .zip(expected)
            .all(|(size, expected)| expected.is_none_or(|expected| expected == *size));
    ensure!(fits, "{name} has the shape {shape:?}");
    Ok(Array { shape, values: file.into_vec()? })
}

/// The size of a stack of feature maps; its values stand as `[channel][row][column]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// How many maps.
    pub channels: usize,
    /// Rows of each.
    pub height: usize,
    /// Columns of each.
    pub width: usize,
}

impl Size {
    /// How many values the stack holds.
    pub(crate) fn count(self) -> usize {
        self.channels * self.height * self.width
    }

    /// The size of what a convolution makes of a stack of this size.
    pub(crate) fn after(self, layer: &Convolution) -> Self {
        let output = |input: usize| (input + 2 * PADDING - 3) / layer.stride + 1;
        Self { channels: layer.outputs, height: output(self.height), width: output(self.width) }
    }
}

/// What one run of the network computed.
pub(crate) struct Activations<T> {
    /// The feature maps of each convolution.
    pub maps: Vec<(Size, Vec<T>)>,
    /// The probability of each class.
    pub probabilities: Vec<T>,
}

/// A picture as the network takes it: three channels, from -1 to 1.
pub(crate) fn input(picture: &RgbImage) -> (Size, Vec<f32>) {
    let size = Size { channels: 3, height: picture.height() as usize, width: picture.width() as usize };
    let values =
        (0..3).flat_map(|channel| picture.pixels().map(move |pixel| f32::from(pixel[channel]) / 127.5 - 1.0));
    (size, values.collect())
}
