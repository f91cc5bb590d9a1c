//! The judge of the GPU's result: the same network on the host, by the definitions and in double precision.

use crate::network::{Activations, Convolution, FullyConnected, Network, PADDING, Size};

/// Runs the network on an input of this size.
pub(crate) fn run(network: &Network, mut size: Size, input: &[f32]) -> Activations<f64> {
    let mut values: Vec<f64> = input.iter().map(|&value| value.into()).collect();
    let mut maps = Vec::new();
    for layer in &network.convolutions {
        values = convolution(layer, size, &values);
        size = size.after(layer);
        maps.push((size, values.clone()));
    }
    let probabilities = softmax(&fully_connected(&network.classifier, &values));
    Activations { maps, probabilities }
}

fn convolution(layer: &Convolution, size: Size, input: &[f64]) -> Vec<f64> {
    // A value of the padded input; rows and columns count from the edge of the padding.
    let at = |channel: usize, row: usize, column: usize| match (
        row.checked_sub(PADDING),
        column.checked_sub(PADDING),
    ) {
        (Some(y), Some(x)) if y < size.height && x < size.width => {
            input[(channel * size.height + y) * size.width + x]
        }
        _ => 0.0,
    };
    let result = size.after(layer);
    let mut output = Vec::with_capacity(result.count());
    for channel in 0..result.channels {
        for row in 0..result.height {
            for column in 0..result.width {
                let mut sum = f64::from(layer.bias[channel]);
                for source in 0..layer.inputs {
                    for y in 0..3 {
                        for x in 0..3 {
                            let weight = layer.weight[((channel * layer.inputs + source) * 3 + y) * 3 + x];
                            sum += f64::from(weight)
                                * at(source, row * layer.stride + y, column * layer.stride + x);
                        }
                    }
                }
                output.push(sum.max(0.0));
            }
        }
    }
    output
}

fn fully_connected(layer: &FullyConnected, input: &[f64]) -> Vec<f64> {
    let rows = layer.weight.chunks(layer.inputs).zip(&layer.bias);
    rows.map(|(row, &bias)| row.iter().zip(input).fold(bias.into(), |sum, (&w, x)| sum + f64::from(w) * x))
        .collect()
}

fn softmax(scores: &[f64]) -> Vec<f64> {
    let highest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = scores.iter().map(|score| (score - highest).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|power| power / sum).collect()
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;
    use crate::network;
    use crate::shapes::{self, Shape};

    /// The drawing rules of shapes.rs and of train.py are the same only if the network knows what is drawn here.
    #[test]
    fn pictures_drawn_here_are_recognised() {
        let network = Network::trained().expect("the weights are in order");
        let mut wrong = Vec::new();
        for seed in 0..200 {
            let shape = Shape::value_variants()[seed % 10];
            let (size, values) = network::input(&shapes::draw(shape, seed as u64, None));
            let probabilities = run(&network, size, &values).probabilities;
            let best =
                (0..10).max_by(|&a, &b| probabilities[a].total_cmp(&probabilities[b])).expect("ten classes");
            if Shape::value_variants()[best] != shape {
                wrong.push((seed, shape, Shape::value_variants()[best]));
            }
        }
        println!("{} of 200 pictures taken for something else: {wrong:?}", wrong.len());
        assert!(wrong.len() <= 4, "more than 2 % taken for something else: {wrong:?}");
    }

    #[test]
    fn a_convolution_by_hand() {
        // One channel of 3 x 2, all weights 1: each output is the sum of the neighbourhood plus the bias.
        let layer = Convolution { inputs: 1, outputs: 1, stride: 1, weight: vec![1.0; 9], bias: vec![-11.0] };
        let size = Size { channels: 1, height: 2, width: 3 };
        let output = convolution(&layer, size, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        // The sums are 12, 21 and 16 in both rows; less 11.
        assert_eq!(output, [1.0, 10.0, 5.0, 1.0, 10.0, 5.0]);
        let halved = Convolution { stride: 2, ..layer };
        assert_eq!(convolution(&halved, size, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), [1.0, 5.0]);
    }
}
