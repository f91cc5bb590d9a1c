//! The graph as a picture: a dependency structure matrix.
//!
//! Files stand one above the other, those that use no other first. A dot in a file's row, under another's number, says that the
//! file uses the other. So what only builds upwards has all its dots below the diagonal, and a circle is a square on it.

use super::Modules;
use std::fmt::Write;

/// Distance of rows, and of columns.
const STEP: usize = 12;
/// Where the matrix begins.
const LEFT: usize = 250;
const TOP: usize = 34;

/// The picture of a crate's modules, as SVG.
pub(crate) fn picture(name: &str, modules: &Modules) -> String {
    let groups: Vec<Vec<usize>> = modules.layers().into_iter().flatten().collect();
    let order: Vec<usize> = groups.iter().flatten().copied().collect();
    let mut place = vec![0; order.len()];
    order.iter().enumerate().for_each(|(at, &file)| place[file] = at);
    let (width, height) = (LEFT + order.len() * STEP + 10, TOP + order.len() * STEP + 10);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         font-family=\"monospace\" font-size=\"9\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n\
         <text x=\"6\" y=\"16\" font-size=\"12\">{name}: {} files, {} uses</text>\n",
        order.len(),
        modules.uses(),
    );
    let mut line = |text: std::fmt::Arguments<'_>| {
        // Writing to a string cannot fail.
        let _ = writeln!(svg, "{text}");
    };
    let mut first = 0;
    for group in &groups {
        let (x, y, size) = (LEFT + first * STEP, TOP + first * STEP, group.len() * STEP);
        let fill = if group.len() > 1 { "#f4a9a0" } else { "#d5d9e0" };
        line(format_args!("<rect x=\"{x}\" y=\"{y}\" width=\"{size}\" height=\"{size}\" fill=\"{fill}\"/>"));
        first += group.len();
    }
    for (at, &file) in order.iter().enumerate() {
        let (middle, baseline) = (LEFT + at * STEP + STEP / 2, TOP + at * STEP + 9);
        let name = &modules.names[file];
        line(format_args!(
            "<text x=\"{}\" y=\"{baseline}\" text-anchor=\"end\">{name} {}</text>",
            LEFT - 6,
            at + 1
        ));
        if at % 5 == 4 {
            line(format_args!(
                "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                TOP - 4,
                at + 1
            ));
        }
        for &used in &modules.uses[file] {
            let (x, y) = (LEFT + place[used] * STEP + STEP / 2, TOP + at * STEP + STEP / 2);
            let uses = &modules.names[used];
            line(format_args!(
                "<circle cx=\"{x}\" cy=\"{y}\" r=\"3\"><title>{name} uses {uses}</title></circle>"
            ));
        }
    }
    svg.push_str("</svg>\n");
    svg
}
