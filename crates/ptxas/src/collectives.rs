//! Where lanes meet on a device without `WARPSYNC.COLLECTIVE`: all that meet must come to one place.
//!
//! ```text
//!     BRA meeting             WARPSYNC.COLLECTIVE mask and ENDCOLLECTIVE, whose operands are the mask and where to go on, become this,
//! behind:                     and what they have in common stands once in the kernel
//!
//! meeting:
//!     WARPSYNC.EXCLUSIVE mask those of the mask, and nobody else
//!     SHFL.IDX ...
//!     RET.REL back            each to where it came from
//! ```
//!
//! What stands only once in a kernel stays where it is. That NVIDIA's compiler has functions for this, which lanes come to with an
//! address to return to, was seen in its code for sm_80.

use crate::code::{Code, Instruction, Line, Operand};
use crate::opcode::Name;
use std::collections::HashMap;

/// Where lanes begin to wait for one another, and where what they do together ends.
const BEGIN: &str = "WARPSYNC.COLLECTIVE";
const END: &str = "ENDCOLLECTIVE";

/// What lanes do together at some places.
struct Meeting {
    begin: Instruction,
    body: Vec<Instruction>,
    end: Instruction,
}

impl Meeting {
    /// What all places that lanes may meet at have in common.
    fn key(&self) -> String {
        let mask = self.begin.operands.first().filter(|_| self.begin.name == BEGIN);
        let body = self.body.iter().map(|one| (one.guard, one.name.as_str(), &one.operands));
        format!("{:?} {mask:?} {:?}", self.begin.name, body.collect::<Vec<_>>())
    }

    /// Those of the mask, then what they do.
    fn lines(&self) -> impl Iterator<Item = Line> {
        let (name, mask) = match self.begin.name.as_str() {
            BEGIN => ("WARPSYNC.EXCLUSIVE", self.begin.operands[0].clone()),
            _ => ("WARPSYNC", Operand::number(u32::MAX)),
        };
        let wait = Instruction {
            name: Name::from(name),
            operands: vec![mask],
            origin: self.begin.origin,
            ..Instruction::default()
        };
        std::iter::once(wait).chain(self.body.iter().cloned()).map(Line::Instruction)
    }
}

/// Brings those together that meet, if the device has nothing for that. Registers have been allocated.
pub(crate) fn settle(code: &mut Code) {
    if code.target.has(END) {
        return;
    }
    let mut meetings: Vec<(String, Meeting)> = Vec::new();
    let mut uses: HashMap<String, usize> = HashMap::new();
    // The lines, and in place of each meeting its number.
    let mut rest: Vec<Result<Line, usize>> = Vec::new();
    let mut open: Option<(Instruction, Vec<Instruction>)> = None;
    for line in std::mem::take(&mut code.lines) {
        match (line, &mut open) {
            (Line::Instruction(one), None) if one.name.starts_with(BEGIN) => open = Some((one, Vec::new())),
            (Line::Instruction(end), Some(_)) if end.name == END => {
                let Some((begin, body)) = open.take() else { continue };
                let meeting = Meeting { begin, body, end };
                let key = meeting.key();
                *uses.entry(key.clone()).or_default() += 1;
                rest.push(Err(meetings.len()));
                meetings.push((key, meeting));
            }
            (Line::Instruction(one), Some((_, body))) => body.push(one),
            (line, _) => rest.push(Ok(line)),
        }
    }
    let mut places = HashMap::new();
    let mut lines = Vec::new();
    let mut common = Vec::new();
    for line in rest {
        let (key, meeting) = match line {
            Ok(line) => {
                lines.push(line);
                continue;
            }
            Err(number) => &meetings[number],
        };
        if uses[key] == 1 {
            lines.extend(meeting.lines());
            continue;
        }
        let at = *places.entry(key).or_insert_with(|| {
            let label = code.label();
            common.push(Line::Label(label));
            common.extend(meeting.lines());
            let back = Instruction { name: Name::from("RET.REL.NODEC"), ..meeting.end.clone() };
            common.push(Line::Instruction(back));
            label
        });
        let go = Instruction {
            name: Name::from("BRA"),
            operands: vec![Operand::Target(at)],
            origin: meeting.begin.origin,
            ..Instruction::default()
        };
        lines.push(Line::Instruction(go));
    }
    lines.append(&mut common);
    code.lines = lines;
}
