//! The contact sheet: the picture, the probabilities, and the feature maps of every layer, on one PNG.

use std::convert::Infallible;

use colorous::INFERNO;
use embedded_graphics::mono_font::iso_8859_1::{FONT_7X13, FONT_9X18_BOLD, FONT_10X20};
use embedded_graphics::mono_font::{MonoFont, MonoTextStyle};
use embedded_graphics::pixelcolor::Rgb888;
use embedded_graphics::prelude::*;
use embedded_graphics::primitives::{PrimitiveStyle, Rectangle, RoundedRectangle};
use embedded_graphics::text::{Alignment, Baseline, Text, TextStyleBuilder};
use image::imageops::{FilterType, resize};
use image::{Rgb, RgbImage};

use crate::network::{Activations, Size as Stack};

const PAPER: Rgb888 = Rgb888::new(0x12, 0x13, 0x18);
const INK: Rgb888 = Rgb888::new(0xec, 0xec, 0xf0);
const FAINT: Rgb888 = Rgb888::new(0x8c, 0x90, 0x9c);
const TRACK: Rgb888 = Rgb888::new(0x24, 0x26, 0x2e);
const BAR: Rgb888 = Rgb888::new(0x5a, 0x64, 0x7d);
const BEST: Rgb888 = Rgb888::new(0xf9, 0x8e, 0x24);

const MARGIN: i32 = 28;
/// How many times the input is enlarged.
const ZOOM: u32 = 5;
/// Where the feature maps begin, to the right of their labels.
const MAPS_LEFT: i32 = 170;
const GAP: i32 = 4;
/// Distance of the probability bars from one another.
const BAR_PITCH: i32 = 22;
/// Where a bar begins, counted from the left end of the longest class name.
const BAR_LEFT: i32 = 136;
/// Room for the percentage at the right of a bar.
const PERCENTAGE: i32 = 100;

/// Width and height at which a map is shown: a multiple of its own size, so that its pixels stay square and sharp. The
/// deeper layers have more and smaller maps; with these factors their rows come out nearly as long as one another.
fn shown(stack: Stack) -> u32 {
    let zoom = match stack.width {
        0..=6 => 8,
        7..=12 => 6,
        13..=24 => 4,
        _ => 3,
    };
    stack.width as u32 * zoom
}

/// Draws the sheet. `names` are the classes in the order of the probabilities.
pub(crate) fn draw(picture: &RgbImage, names: &[String], result: &Activations<f32>) -> RgbImage {
    let row_width = |&(stack, _): &(Stack, Vec<f32>)| stack.channels as i32 * (shown(stack) as i32 + GAP);
    let width = MAPS_LEFT + result.maps.iter().map(row_width).max().unwrap_or(0) + MARGIN - GAP;
    let header = MARGIN + (picture.height() * ZOOM) as i32 + MARGIN;
    let rows: i32 = result.maps.iter().map(|&(stack, _)| shown(stack) as i32 + 2 * GAP).sum();
    let mut sheet = Sheet(RgbImage::from_pixel(width as u32, (header + rows + MARGIN) as u32, pixel(PAPER)));

    sheet.paste(picture, picture.width() * ZOOM, Point::new(MARGIN, MARGIN));
    let left = MARGIN + (picture.width() * ZOOM) as i32 + 40;
    let area = Rectangle::with_corners(Point::new(left, MARGIN), Point::new(width - MARGIN, header - MARGIN));
    bars(&mut sheet, area, names, &result.probabilities);

    let mut top = header;
    for (index, (stack, values)) in result.maps.iter().enumerate() {
        let side = shown(*stack);
        let middle = top + side as i32 / 2;
        let name = format!("conv {}", index + 1);
        sheet.text(&name, &FONT_9X18_BOLD, INK, Point::new(MARGIN, middle - 9), Alignment::Left);
        let size = format!("{} \u{d7} {}\u{d7}{}", stack.channels, stack.width, stack.height);
        sheet.text(&size, &FONT_7X13, FAINT, Point::new(MARGIN, middle + 9), Alignment::Left);
        for (channel, map) in values.chunks(stack.width * stack.height).enumerate() {
            let at = Point::new(MAPS_LEFT + channel as i32 * (side as i32 + GAP), top);
            sheet.paste(&coloured(*stack, map), side, at);
        }
        top += side as i32 + 2 * GAP;
    }
    sheet.0
}

/// One feature map in colours, from black for zero to bright for the highest value of this map.
fn coloured(stack: Stack, map: &[f32]) -> RgbImage {
    let highest = map.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
    RgbImage::from_fn(stack.width as u32, stack.height as u32, |x, y| {
        let value = map[y as usize * stack.width + x as usize] / highest;
        Rgb(INFERNO.eval_continuous(f64::from(value)).as_array())
    })
}

/// The class table: name, bar and percentage, the best class in colour.
fn bars(sheet: &mut Sheet, area: Rectangle, names: &[String], probabilities: &[f32]) {
    let full = area.size.width as i32 - BAR_LEFT - PERCENTAGE;
    let highest = probabilities.iter().copied().fold(0.0, f32::max);
    for (index, (name, &probability)) in names.iter().zip(probabilities).enumerate() {
        let (bar, ink) = if probability == highest { (BEST, INK) } else { (BAR, FAINT) };
        let middle = area.top_left + Point::new(0, index as i32 * BAR_PITCH + 20);
        sheet.text(name, &FONT_10X20, ink, middle + Point::new(BAR_LEFT - 16, 0), Alignment::Right);
        let length = (f64::from(full) * f64::from(probability)).round() as i32;
        for (length, colour) in [(full, TRACK), (length, bar)] {
            let place = Rectangle::new(middle + Point::new(BAR_LEFT, -6), Size::new(length as u32, 12));
            let shape = RoundedRectangle::with_equal_corners(place, Size::new(3, 3));
            shape
                .into_styled(PrimitiveStyle::with_fill(colour))
                .draw(sheet)
                .unwrap_or_else(|never| match never {});
        }
        let percentage = format!("{:.2} %", probability * 100.0);
        let end = middle + Point::new(area.size.width as i32, 0);
        sheet.text(&percentage, &FONT_10X20, ink, end, Alignment::Right);
    }
}

/// A picture that text and shapes can be drawn on.
struct Sheet(RgbImage);

impl Sheet {
    /// Writes a line. The point is the middle of its left or right end.
    fn text(&mut self, text: &str, font: &MonoFont, colour: Rgb888, at: Point, alignment: Alignment) {
        let layout = TextStyleBuilder::new().alignment(alignment).baseline(Baseline::Middle).build();
        let text = Text::with_text_style(text, at, MonoTextStyle::new(font, colour), layout);
        text.draw(self).unwrap_or_else(|never| match never {});
    }

    /// Puts a square picture at a corner, enlarged to `side` without smoothing.
    fn paste(&mut self, picture: &RgbImage, side: u32, corner: Point) {
        let enlarged = resize(picture, side, side, FilterType::Nearest);
        image::imageops::replace(&mut self.0, &enlarged, corner.x.into(), corner.y.into());
    }
}

impl OriginDimensions for Sheet {
    fn size(&self) -> Size {
        Size::new(self.0.width(), self.0.height())
    }
}

impl DrawTarget for Sheet {
    type Color = Rgb888;
    type Error = Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<Rgb888>>>(&mut self, pixels: I) -> Result<(), Infallible> {
        for Pixel(Point { x, y }, colour) in pixels {
            // What lies outside is not drawn, as the trait demands.
            let (Ok(x), Ok(y)) = (u32::try_from(x), u32::try_from(y)) else { continue };
            if let Some(place) = self.0.get_pixel_mut_checked(x, y) {
                *place = pixel(colour);
            }
        }
        Ok(())
    }
}

fn pixel(colour: Rgb888) -> Rgb<u8> {
    Rgb([colour.r(), colour.g(), colour.b()])
}
