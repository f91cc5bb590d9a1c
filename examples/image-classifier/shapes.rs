//! The pictures: one shape each, drawn by the rules that README.md lays down and that train.py follows as well.

use std::f64::consts::{PI, TAU};

use clap::ValueEnum;
use image::{Rgb, RgbImage};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Width and height of a picture in pixels.
pub(crate) const SIDE: u32 = 48;

/// The classes, in the order of the network's outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shape {
    Circle,
    Square,
    Triangle,
    Cross,
    Ring,
    Star,
    Crescent,
    Heart,
    Stripes,
    Checkerboard,
}

impl Shape {
    /// The shape's name, as on the command line.
    pub(crate) fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// Whether the point (u, v), in units of the shape's radius with v pointing down, belongs to the shape.
    fn contains(self, u: f64, v: f64) -> bool {
        let squared = u * u + v * v;
        match self {
            Self::Circle => squared <= 0.9 * 0.9,
            Self::Square => u.abs().max(v.abs()) <= 0.8,
            Self::Triangle => half_planes(u, v, 3, 0.5) == 3,
            Self::Cross => u.abs().min(v.abs()) <= 0.28 && u.abs().max(v.abs()) <= 1.0,
            Self::Ring => (0.55 * 0.55..=1.0).contains(&squared),
            // The lines of a pentagram: its heart is on the inner side of all five, an arm on that of four.
            Self::Star => half_planes(u, v, 5, (TAU / 5.0).cos()) >= 4,
            Self::Crescent => squared <= 1.0 && (u - 0.45).powi(2) + v * v >= 0.8 * 0.8,
            Self::Heart => {
                let (x, y) = (1.2 * u, 0.1 - 1.2 * v);
                (x * x + y * y - 1.0).powi(3) <= x * x * y.powi(3)
            }
            Self::Stripes => (u / 0.4).floor() % 2.0 == 0.0,
            Self::Checkerboard => ((u / 0.5).floor() + (v / 0.5).floor()) % 2.0 == 0.0,
        }
    }
}

/// In how many of `corners` half-planes the point lies. Their directions are spread evenly, the first is down, and each
/// reaches `distance` beyond the origin.
fn half_planes(u: f64, v: f64, corners: u32, distance: f64) -> usize {
    let angles = (0..corners).map(|k| TAU * f64::from(k) / f64::from(corners));
    angles.filter(|a| v * a.cos() - u * a.sin() <= distance).count()
}

/// Draws the picture of `seed`. A `radius` in pixels takes the place of the random one.
pub(crate) fn draw(shape: Shape, seed: u64, radius: Option<f64>) -> RgbImage {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let half = f64::from(SIDE) / 2.0;
    let random_radius = random.random_range(10.0..18.0);
    let radius = radius.unwrap_or(random_radius);
    let [x0, y0] = [(); 2].map(|()| half + random.random_range(-1.0..1.0) * (half - 1.0 - radius));
    let (sin, cos) = random.random_range(0.0..TAU).sin_cos();
    let [paper, ink] = colours(&mut random);
    let shade = random.random_range(0.0..0.3);
    let (light_y, light_x) = random.random_range(-PI..PI).sin_cos();
    let grain = random.random_range(0.0..0.15);

    RgbImage::from_fn(SIDE, SIDE, |x, y| {
        let (x, y) = (f64::from(x), f64::from(y));
        // Sixteen samples a pixel; the share of them inside the shape is how much ink the pixel has.
        let hits = (0..16).filter(|sample| {
            let dx = (x + (f64::from(sample % 4) + 0.5) / 4.0 - x0) / radius;
            let dy = (y + (f64::from(sample / 4) + 0.5) / 4.0 - y0) / radius;
            shape.contains(dx * cos + dy * sin, dy * cos - dx * sin)
        });
        let cover = hits.count() as f64 / 16.0;
        let brightness =
            1.0 + shade * (((x + 0.5) / half - 1.0) * light_x + ((y + 0.5) / half - 1.0) * light_y);
        Rgb([0, 1, 2].map(|channel| {
            let colour = (paper[channel] * (1.0 - cover) + ink[channel] * cover) * brightness;
            ((colour + random.random_range(-1.0..1.0) * grain).clamp(0.0, 1.0) * 255.0).round() as u8
        }))
    })
}

/// Two colours whose brightness differs by 0.3 at least.
fn colours(random: &mut ChaCha8Rng) -> [[f64; 3]; 2] {
    let luma = |[red, green, blue]: [f64; 3]| 0.299 * red + 0.587 * green + 0.114 * blue;
    loop {
        let pair = [[(); 3]; 2].map(|colour| colour.map(|()| random.random_range(0.0..1.0)));
        if (luma(pair[0]) - luma(pair[1])).abs() >= 0.3 {
            return pair;
        }
    }
}
