//! Recognises a picture with a trained network of 14 convolutions and a fully connected layer, one kernel launch a
//! layer on the virtual GPU, and shows what every layer saw.

mod layers;
mod network;
mod reference;
mod shapes;
mod sheet;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::{Parser, ValueEnum};
use image::RgbImage;
use image::imageops::{FilterType, resize};
use warploom_examples::gpu::Gpu;

use layers::Launched;
use network::{Activations, Network};
use shapes::{SIDE, Shape};

/// How far a value may be from the host's: far more than rounding makes of it, far less than a wrong layer does.
const TOLERANCE: f64 = 1e-3;

/// Recognises the shape on a picture, layer by layer on the virtual GPU.
#[derive(Parser)]
struct Options {
    /// The shape to draw.
    #[arg(long, value_enum, default_value = "star")]
    shape: Shape,
    /// Seed of everything random about the picture: place, turn, colours, light and grain.
    #[arg(long, default_value_t = 7)]
    seed: u64,
    /// Radius of the shape in pixels, from 10 to 18; random by default.
    #[arg(long, value_parser = radius)]
    size: Option<f64>,
    /// A picture file to recognise instead of drawing one; it is scaled to 48 x 48.
    #[arg(long, conflicts_with_all = ["shape", "seed", "size"])]
    picture: Option<PathBuf>,
    /// Where the PNG files go.
    #[arg(long, default_value = "target/image-classifier")]
    out: PathBuf,
    /// The GPU to be.
    #[arg(long, default_value = "h200")]
    gpu: String,
}

fn radius(text: &str) -> Result<f64, String> {
    let radius: f64 = text.parse().map_err(|error| format!("{error}"))?;
    if (10.0..=18.0).contains(&radius) { Ok(radius) } else { Err("not from 10 to 18".into()) }
}

fn main() -> Result<()> {
    let options = Options::parse();
    let picture = picture(&options)?;
    let network = Network::trained()?;
    let (size, input) = network::input(&picture);

    let gpu = Gpu::new(&options.gpu)?;
    let (result, launches) = layers::run(&gpu, &network, size, &input)?;
    let names: Vec<_> = Shape::value_variants().iter().map(|shape| shape.name()).collect();
    print_launches(&launches);
    print_classes(&names, &result.probabilities);

    fs::create_dir_all(&options.out).with_context(|| format!("cannot make {}", options.out.display()))?;
    for (file, image) in
        [("input.png", &picture), ("feature-maps.png", &sheet::draw(&picture, &names, &result))]
    {
        let path = options.out.join(file);
        image.save(&path).with_context(|| format!("cannot write {}", path.display()))?;
        println!("wrote {}", path.display());
    }
    compare(&result, &reference::run(&network, size, &input))
}

/// The picture to recognise.
fn picture(options: &Options) -> Result<RgbImage> {
    let Some(path) = &options.picture else {
        return Ok(shapes::draw(options.shape, options.seed, options.size));
    };
    let picture = image::open(path).with_context(|| format!("cannot read {}", path.display()))?.to_rgb8();
    Ok(resize(&picture, SIDE, SIDE, FilterType::Triangle))
}

fn print_launches(launches: &[Launched]) {
    for (index, Launched { kernel, grid, block, took }) in launches.iter().enumerate() {
        let shape = |[x, y, z]: [u32; 3]| format!("{x}x{y}x{z}");
        println!(
            "{:2}  {kernel:15}  grid {:6}  block {:7}  {took:8.1?}",
            index + 1,
            shape(*grid),
            shape(*block)
        );
    }
}

fn print_classes(names: &[String], probabilities: &[f32]) {
    println!();
    for (name, probability) in names.iter().zip(probabilities) {
        let bar = "\u{2588}".repeat((probability * 40.0).round() as usize);
        println!("{name:>12}  {:6.2} %  {bar}", probability * 100.0);
    }
    println!();
}

/// Compares every value that the GPU computed with the host's.
fn compare(result: &Activations<f32>, expected: &Activations<f64>) -> Result<()> {
    let largest = |values: &[f32], expected: &[f64]| {
        let differences =
            values.iter().zip(expected).map(|(&value, expected)| (f64::from(value) - expected).abs());
        differences.fold(0.0, f64::max)
    };
    let maps =
        result.maps.iter().zip(&expected.maps).map(|((_, values), (_, expected))| largest(values, expected));
    let map = maps.fold(0.0, f64::max);
    let probability = largest(&result.probabilities, &expected.probabilities);
    let values: usize = result.maps.iter().map(|(size, _)| size.count()).sum();
    println!(
        "largest difference from the host's double precision: {map:.1e} among {values} feature values, \
         {probability:.1e} among the probabilities"
    );
    ensure!(map.max(probability) <= TOLERANCE, "that is more than {TOLERANCE:.0e}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gpu_agrees_with_the_host() {
        let network = Network::trained().expect("the weights are in order");
        let gpu = Gpu::new("h200").expect("the GPU starts");
        for shape in [Shape::Heart, Shape::Checkerboard] {
            let (size, input) = network::input(&shapes::draw(shape, 1, None));
            let (result, _) = layers::run(&gpu, &network, size, &input).expect("every launch succeeds");
            compare(&result, &reference::run(&network, size, &input)).expect("the same values");
        }
    }
}
