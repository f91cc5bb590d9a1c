//! How large everything is, and so where every label is.

use super::draft::{Body, Draft, LabelPosition};
use crate::codes::{self, Findings};
use crate::info;
use cubin::elf::section as kind;

/// No file is larger.
const LARGEST: u64 = 1 << 30;

/// Offsets in sections.
#[derive(Debug, Default)]
pub(super) struct Offsets {
    /// For each section the offset of each item, and its size behind them.
    pub(super) offsets: Vec<Vec<u64>>,
}

impl Offsets {
    /// The offset of a label in its section.
    pub(super) fn offset(&self, label: LabelPosition) -> u64 {
        self.offsets[label.section][label.item]
    }

    /// A section's size.
    pub(super) fn size(&self, section: usize) -> u64 {
        self.offsets[section].last().copied().unwrap_or(0)
    }
}

/// Gives every item its offset; none if the file would be too large.
pub(super) fn measure(draft: &Draft, findings: &mut Findings) -> Option<Offsets> {
    let mut places = Offsets::default();
    let mut whole: u64 = 0;
    for section in &draft.sections {
        let mut offsets = Vec::with_capacity(section.items.len() + 1);
        let mut at: u64 = 0;
        for item in &section.items {
            offsets.push(at);
            let size = match &item.body {
                Body::Zeros(count) => *count,
                Body::Align(align) => at.checked_next_multiple_of(*align).unwrap_or(u64::MAX) - at,
                Body::Bytes(bytes) => bytes.len() as u64,
                Body::Values(width, values) => width * values.len() as u64,
                Body::Instruction(_) => 16,
                Body::SmallAttribute(..) => 4,
                Body::Attribute(number, arguments) => {
                    4 + super::attributes::size(draft, &section.name, *number, arguments)
                }
                Body::Relocation(..) => 0,
                Body::Entry(..) => section.entry_size,
            };
            at = at.saturating_add(size);
            if let Body::Attribute(number, _) = item.body
                && size > u64::from(u16::MAX)
            {
                let message = format!("{} has more than 65535 bytes", info::name(number));
                findings.error(codes::RANGE, item.span, message);
                return None;
            }
        }
        offsets.push(at);
        places.offsets.push(offsets);
        if !kind::reserves(section.kind) {
            whole = whole.saturating_add(at);
        }
        if whole > LARGEST {
            findings.error(codes::SIZE, section.span, "the file would be larger than a gibibyte");
            return None;
        }
    }
    Some(places)
}
