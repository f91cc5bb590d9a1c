//! The same picture as SVG.

use super::picture::{Piece, ROW, Row, Strip, rows, strips};
use super::record::Record;
use std::fmt::Write;

/// Units of a bit, a row, and the space between rows.
const BIT: u64 = 20;
const HEIGHT: u64 = 34;
const PITCH: u64 = 68;
const LEFT: u64 = 70;
const WIDTH: u64 = LEFT + ROW * BIT + 20;

/// Fills for members, in turn; padding has none.
const FILLS: [&str; 6] = ["#cfe3f7", "#d8efd3", "#fbe6c9", "#ead9f2", "#f7d6d9", "#d5eeec"];

/// Records, one below the other.
pub fn drawing<'a>(records: impl IntoIterator<Item = &'a Record>) -> String {
    let mut body = String::new();
    let mut y = 30;
    for record in records {
        let layout = record.layout();
        let title = format!("{}: {} bytes, aligned to {}", record.title(), layout.size, layout.align);
        label(&mut body, 20, y, "start", "title", &title);
        y += 26;
        for strip in strips(record) {
            draw(&strip, &mut y, &mut body);
        }
        y += 20;
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{y}\" viewBox=\"0 0 {WIDTH} {y}\">\n\
         <style>text{{font:12px monospace}}.title{{font-weight:bold}}.small{{font-size:9px;fill:#555}}\
         rect{{stroke:#333}}</style>\n<rect width=\"{WIDTH}\" height=\"{y}\" fill=\"#fff\" stroke=\"none\"/>\n{body}</svg>\n"
    )
}

fn draw(strip: &Strip, y: &mut u64, body: &mut String) {
    if !strip.title.is_empty() {
        label(body, 20, *y, "start", "", &format!("{} at {}", strip.title, strip.offset));
        *y += 16;
    }
    for row in rows(strip) {
        match row {
            Row::Skipped(bytes) => {
                label(body, LEFT, *y, "start", "small", &format!("{bytes} bytes more"));
                *y += 20;
            }
            Row::Pieces(byte, bits, pieces) => {
                for number in 0..bits / 8 {
                    let x = edge(number * 8) - 3;
                    label(body, x, *y, "end", "small", &(byte + number).to_string());
                }
                label(body, 20, *y + 24, "start", "", &format!("+{byte}"));
                for piece in pieces {
                    cell(strip, &piece, *y + 4, body);
                }
                *y += PITCH;
            }
        }
    }
}

/// The right edge of a bit.
fn edge(bit: u64) -> u64 {
    LEFT + (ROW - bit) * BIT
}

fn cell(strip: &Strip, piece: &Piece, y: u64, body: &mut String) {
    let (left, right) = (edge(piece.high + 1), edge(piece.low));
    let at = strip.cells.iter().filter(|cell| cell.name.is_some()).position(|cell| cell == piece.cell);
    let fill = at.map_or("none", |at| FILLS[at % FILLS.len()]);
    let width = right - left;
    let _ = writeln!(
        body,
        "<rect x=\"{left}\" y=\"{y}\" width=\"{width}\" height=\"{HEIGHT}\" fill=\"{fill}\"/>"
    );
    let name = piece.cell.name.as_deref().unwrap_or("pad");
    let name: String = name.chars().take((width / 8) as usize).collect();
    label(body, left + width / 2, y + 21, "middle", "", &name);
    label(body, right - 3, y + HEIGHT + 12, "end", "small", &piece.low.to_string());
    if piece.high > piece.low {
        label(body, left + 3, y + HEIGHT + 12, "start", "small", &piece.high.to_string());
    }
}

fn label(body: &mut String, x: u64, y: u64, anchor: &str, class: &str, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let _ =
        writeln!(body, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" class=\"{class}\">{text}</text>");
}
