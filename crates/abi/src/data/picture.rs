//! A record as the guide draws it: rows of four bytes, the least significant bit on the right.

use super::record::{Kind, Member, Record};
use super::types::{Target, Type};
use std::fmt::Write;

/// What a run of bits is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The member's name, with those around it; none for padding.
    pub name: Option<String>,
    /// The first bit, from the beginning of the strip.
    pub bit: u64,
    /// How many.
    pub bits: u64,
}

/// Something that is drawn by itself: a structure, or one member of a union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strip {
    /// What it is; empty for the whole record.
    pub title: String,
    /// The byte of the record that it begins at.
    pub offset: u64,
    /// All its bits, from the first to the last.
    pub cells: Vec<Cell>,
}

/// Bits in a row.
pub const ROW: u64 = 32;
/// The most cells that are drawn; what is within the rest is not told apart.
const MAX_CELLS: usize = 2000;

/// The strips of a record: itself, or a union's members one by one, and then what is in the unions within.
pub fn strips(record: &Record) -> Vec<Strip> {
    let mut walk = Walk { strips: Vec::new(), cells: 0 };
    walk.record(record, String::new(), 0);
    walk.strips
}

struct Walk {
    strips: Vec<Strip>,
    cells: usize,
}

impl Walk {
    fn record(&mut self, record: &Record, title: String, offset: u64) {
        let mut unions = Vec::new();
        let size = record.layout().size * 8;
        match record.kind() {
            Kind::Struct => {
                let mut cells = Vec::new();
                self.flatten(record, 0, "", &mut cells, &mut unions);
                self.strips.push(Strip { title: title.clone(), offset, cells: padded(cells, size) });
            }
            Kind::Union => {
                for (member, place) in record.members().iter().zip(&record.layout().places) {
                    let mut cells = Vec::new();
                    let mut inner = Vec::new();
                    self.member(member, place.bit, place.bits, "", &mut cells, &mut inner);
                    let name = member.name.as_deref().unwrap_or("without a name");
                    let title = if title.is_empty() { name.to_owned() } else { format!("{title}.{name}") };
                    self.strips.push(Strip { title, offset, cells: padded(cells, size) });
                    unions.extend(inner);
                }
            }
        }
        for (union, path, bit) in unions {
            let title = if title.is_empty() { path } else { format!("{title}.{path}") };
            self.record(&union, title, offset + bit / 8);
        }
    }

    fn flatten(
        &mut self,
        record: &Record,
        base: u64,
        path: &str,
        cells: &mut Vec<Cell>,
        unions: &mut Unions,
    ) {
        for (member, place) in record.members().iter().zip(&record.layout().places) {
            self.member(member, base + place.bit, place.bits, path, cells, unions);
        }
    }

    fn member(
        &mut self,
        member: &Member,
        bit: u64,
        bits: u64,
        path: &str,
        cells: &mut Vec<Cell>,
        unions: &mut Unions,
    ) {
        let name = match &member.name {
            Some(name) => format!("{path}{name}"),
            None => path.trim_end_matches('.').to_owned(),
        };
        match &member.ty {
            Type::Record(inner) if self.cells < MAX_CELLS && inner.kind() == Kind::Struct => {
                // One without members counts too: there may be very many.
                self.cells += 1;
                let path = if member.name.is_some() { format!("{name}.") } else { path.to_owned() };
                self.flatten(inner, bit, &path, cells, unions);
            }
            _ if bits == 0 || member.bits.is_some() && member.name.is_none() => {}
            ty => {
                self.cells += 1;
                if let Type::Record(inner) = ty
                    && inner.kind() == Kind::Union
                    && self.cells < MAX_CELLS
                {
                    let title = if name.is_empty() { "union".to_owned() } else { name.clone() };
                    unions.push(((**inner).clone(), title, bit));
                }
                let name = if name.is_empty() { "union".to_owned() } else { name };
                cells.push(Cell { name: Some(name), bit, bits });
            }
        }
    }
}

type Unions = Vec<(Record, String, u64)>;

/// With what lies between the cells, and behind them.
fn padded(cells: Vec<Cell>, size: u64) -> Vec<Cell> {
    let mut all = Vec::with_capacity(cells.len() * 2 + 1);
    let mut next = 0;
    let end = Cell { name: None, bit: size, bits: 0 };
    for cell in cells.into_iter().chain([end]) {
        if cell.bit > next {
            all.push(Cell { name: None, bit: next, bits: cell.bit - next });
        }
        next = cell.bit + cell.bits;
        if cell.bits > 0 {
            all.push(cell);
        }
    }
    all
}

/// A part of a cell that lies in one row: bits of the row, the lowest first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    pub(super) cell: &'a Cell,
    pub(super) low: u64,
    pub(super) high: u64,
}

/// A row of a strip, or rows that one cell fills and that are left out.
#[derive(Clone, Debug)]
pub(super) enum Row<'a> {
    /// The first byte, how many bits there are, and what they are.
    Pieces(u64, u64, Vec<Piece<'a>>),
    /// So many bytes.
    Skipped(u64),
}

/// The rows of a strip.
pub(super) fn rows(strip: &Strip) -> Vec<Row<'_>> {
    let size = strip.cells.last().map_or(0, |cell| cell.bit + cell.bits);
    let mut rows = Vec::new();
    let (mut start, mut first) = (0, 0);
    while start < size {
        while strip.cells[first].bit + strip.cells[first].bits <= start {
            first += 1;
        }
        let cell = &strip.cells[first];
        // One row at the beginning of a long cell is drawn, and one at its end.
        let rest = (cell.bit + cell.bits).saturating_sub(start) / ROW;
        if cell.bit + ROW <= start && rest > 2 {
            rows.push(Row::Skipped((rest - 1) * ROW / 8));
            start += (rest - 1) * ROW;
            continue;
        }
        let end = (start + ROW).min(size);
        let within = strip.cells[first..].iter().take_while(|cell| cell.bit < end);
        let pieces = within.map(|cell| Piece {
            cell,
            low: cell.bit.max(start) - start,
            high: (cell.bit + cell.bits).min(end) - start - 1,
        });
        rows.push(Row::Pieces(start / 8, end - start, pieces.collect()));
        start = end;
    }
    rows
}

/// Members with offsets and bits, and the picture.
pub fn text(record: &Record, target: Target) -> String {
    let layout = record.layout();
    let mut out = format!("{}: {} bytes, aligned to {}\n", record.title(), layout.size, layout.align);
    out += "  offset  bits    size  member\n";
    let mut budget = MAX_CELLS;
    members(record, target, 0, 1, &mut budget, &mut out);
    for strip in strips(record) {
        out.push('\n');
        if !strip.title.is_empty() {
            let _ = writeln!(out, "  {} at {}:", strip.title, strip.offset);
        }
        draw(&strip, &mut out);
    }
    out
}

fn members(record: &Record, target: Target, base: u64, depth: usize, budget: &mut usize, out: &mut String) {
    for (member, place) in record.members().iter().zip(&record.layout().places) {
        if *budget == 0 {
            return;
        }
        *budget -= 1;
        let indent = "  ".repeat(depth);
        let bit = base + place.bit;
        let name = member.name.as_deref().unwrap_or("");
        match member.bits {
            Some(bits) => {
                let unit = member.ty.extent(target).map_or(1, |extent| extent.size);
                let byte = bit / 8 / unit * unit;
                let low = bit - byte * 8;
                let range = match bits {
                    0 => String::new(),
                    1 => low.to_string(),
                    _ => format!("{}:{low}", low + bits - 1),
                };
                let _ = writeln!(out, "{byte:8}  {range:6}      {indent}{} {name} : {bits}", member.ty);
            }
            None => {
                let space = if name.is_empty() { "" } else { " " };
                let (byte, bytes) = (bit / 8, place.bits / 8);
                let _ = writeln!(out, "{byte:8}          {bytes:4}{indent}{}{space}{name}", member.ty);
            }
        }
        if let Type::Record(inner) = &member.ty {
            members(inner, target, bit, depth + 1, budget, out);
        }
    }
}

/// Columns that a bit takes.
const COLUMNS: usize = 2;
/// Columns before a row.
const MARGIN: usize = 9;

fn draw(strip: &Strip, out: &mut String) {
    for row in rows(strip) {
        match row {
            Row::Skipped(bytes) => {
                let _ = writeln!(out, "{:MARGIN$}: {bytes} bytes more", "");
            }
            Row::Pieces(byte, bits, pieces) => {
                let mut lines = [String::new(), String::new(), String::new(), String::new()];
                let left = (ROW - bits) as usize * COLUMNS;
                for line in &mut lines {
                    *line = " ".repeat(left);
                }
                for number in (0..bits / 8).rev() {
                    let _ = write!(lines[0], "{:>width$}", byte + number, width = 8 * COLUMNS);
                }
                for piece in pieces.iter().rev() {
                    let width = (piece.high - piece.low + 1) as usize * COLUMNS - 1;
                    let name = piece.cell.name.as_deref().unwrap_or("pad");
                    let name: String = name.chars().take(width).collect();
                    lines[1] += &format!("+{}", "-".repeat(width));
                    lines[2] += &format!("|{name:^width$}");
                    let (high, low) = (piece.high.to_string(), piece.low.to_string());
                    let both = high.len() + low.len() < width && piece.high != piece.low;
                    let numbers =
                        if both { format!("{high}{low:>rest$}", rest = width - high.len()) } else { low };
                    lines[3] += &format!(" {numbers:<width$}");
                }
                lines[1].push('+');
                lines[2].push('|');
                let offset = format!("+{byte}");
                let _ = writeln!(out, "{:MARGIN$}{}", "", lines[0]);
                let _ = writeln!(out, "{:MARGIN$}{}", "", lines[1]);
                let _ = writeln!(out, "  {offset:<width$}{}", lines[2], width = MARGIN - 2);
                let _ = writeln!(out, "{:MARGIN$}{}", "", lines[1]);
                let _ = writeln!(out, "{:MARGIN$}{}", "", lines[3].trim_end());
            }
        }
    }
}
