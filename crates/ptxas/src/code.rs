//! Machine instructions over virtual registers: what selection makes, and allocation and scheduling read.

use crate::Target;
use crate::opcode::Name;
use crate::variables::Reference;
use debug_info::Origin;
use debug_info::machine_code::variables::Call;
use ptx::module::{RegId, VarId};
use rustc_hash::FxHashSet as HashSet;
use smol_str::{SmolStr, format_smolstr};
use std::collections::BTreeSet;
use std::fmt;

/// A virtual register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reg(pub u32);

/// What a virtual register needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// That many 32-bit registers in a row, the first at a multiple of [`alignment`].
    General(u8),
    /// A predicate.
    Predicate,
    /// That many uniform registers in a row, of which a warp has one set: a value that is the same whenever and wherever a lane
    /// of the warp computes it.
    Uniform(u8),
}

impl Class {
    /// How many registers it is.
    pub fn width(self) -> u8 {
        match self {
            Self::General(width) | Self::Uniform(width) => width,
            Self::Predicate => 1,
        }
    }
}

/// At which multiples registers in a row begin: pairs and quads at their own, longer rows, of matrices, at those of 8. The first matrix of
/// `DMMA.16x8x16` has sixteen, and is no instruction elsewhere than at theirs.
pub fn alignment(width: u8) -> u32 {
    match width {
        16 => 16,
        _ => u32::from(width).next_power_of_two().min(8),
    }
}

/// What is known of a virtual register.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// What it needs.
    pub class: Class,
    /// It belongs to one PTX instruction: a write under a guard is read under the same guard alone, so that no older value
    /// matters.
    pub temporary: bool,
}

/// A place in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Label(pub u32);

/// An operand, printed in nvdisasm's spelling.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A register, or some of its parts.
    General {
        /// Which.
        reg: Reg,
        /// The first 32-bit part.
        part: u8,
        /// How many parts the instruction takes.
        width: u8,
        /// `-`, `~`, `|`, or nothing.
        before: &'static str,
        /// `.H0_H0`, or nothing.
        after: &'static str,
    },
    /// A predicate.
    Predicate(Reg, bool),
    /// A uniform register, or some of its parts.
    Uniform {
        /// Which.
        reg: Reg,
        /// The first 32-bit part.
        part: u8,
        /// How many parts the instruction takes.
        width: u8,
        /// `-`, `~`, `|`, or nothing.
        before: &'static str,
    },
    /// A memory operand with a register.
    Address {
        /// What stands before the bracket.
        before: &'static str,
        /// The register.
        reg: Reg,
        /// How many parts it has.
        width: u8,
        /// `+URZ`, where the instruction adds a uniform register, or nothing.
        beside: &'static str,
        /// Bytes.
        offset: i64,
    },
    /// A branch's target.
    Target(Label),
    /// What names no virtual register: `RZ`, `PT`, constants, special registers.
    Text(SmolStr),
}

impl Operand {
    /// A register of 32 bits, or the lower half of a wider one.
    pub fn low(reg: Reg) -> Self {
        Self::part(reg, 0)
    }

    /// A 32-bit part of a register.
    pub fn part(reg: Reg, part: u8) -> Self {
        Self::General { reg, part, width: 1, before: "", after: "" }
    }

    /// A register with all of so many parts.
    pub fn wide(reg: Reg, width: u8) -> Self {
        Self::General { reg, part: 0, width, before: "", after: "" }
    }

    /// Some parts of a register.
    pub fn row(reg: Reg, part: u8, width: u8) -> Self {
        Self::General { reg, part, width, before: "", after: "" }
    }

    /// A hardware register, which nothing but the text names.
    pub fn hardware(number: u8) -> Self {
        Self::Text(format_smolstr!("R{number}"))
    }

    /// Whether it is one, beside the stack pointer.
    pub fn is_hardware(&self) -> bool {
        let Self::Text(text) = self else { return false };
        text != "R1" && text.strip_prefix('R').is_some_and(|rest| rest.parse::<u8>().is_ok())
    }

    /// A place in the frame.
    pub fn in_frame(at: i64) -> Self {
        Self::Text(match at {
            0 => "[R1]".into(),
            1.. => format_smolstr!("[R1+{at:#x}]"),
            _ => format_smolstr!("[R1+-{:#x}]", at.unsigned_abs()),
        })
    }

    /// `[R0]`.
    pub fn address(reg: Reg) -> Self {
        Self::Address { before: "", reg, width: 1, beside: "", offset: 0 }
    }

    /// The same with a sign in front: `-`, `~` or `|`.
    #[must_use]
    pub fn signed(self, sign: &'static str) -> Self {
        match self {
            Self::General { reg, part, width, after, .. } => {
                Self::General { reg, part, width, before: sign, after }
            }
            other => {
                let close = if sign == "|" { sign } else { "" };
                Self::Text(format_smolstr!("{sign}{}{close}", Shown(&other, &|_| 0)))
            }
        }
    }

    /// The same with a suffix.
    #[must_use]
    pub fn suffixed(self, suffix: &'static str) -> Self {
        match self {
            Self::General { reg, part, width, before, .. } => {
                Self::General { reg, part, width, before, after: suffix }
            }
            other => Self::Text(format_smolstr!("{}{suffix}", Shown(&other, &|_| 0))),
        }
    }

    /// A constant of 32 bits.
    pub fn number(bits: u32) -> Self {
        Self::Text(format_smolstr!("{bits:#x}"))
    }

    /// All bits set, where an instruction takes a signed number.
    pub fn ones() -> Self {
        Self::Text("-0x1".into())
    }

    /// A word of the constant bank of parameters and launch values.
    pub fn bank0(offset: u32) -> Self {
        Self::Text(format_smolstr!("c[0x0][{offset:#x}]"))
    }

    /// `RZ`.
    pub fn zero() -> Self {
        Self::Text("RZ".into())
    }

    /// `PT` or `!PT`.
    pub fn always(not: bool) -> Self {
        Self::Text(if not { "!PT" } else { "PT" }.into())
    }

    /// The register that it names, with the parts.
    pub fn register(&self) -> Option<(Reg, u8, u8)> {
        match *self {
            Self::General { reg, part, width, .. } | Self::Uniform { reg, part, width, .. } => {
                Some((reg, part, width))
            }
            Self::Predicate(reg, _) => Some((reg, 0, 1)),
            Self::Address { reg, width, .. } => Some((reg, 0, width)),
            Self::Target(_) | Self::Text(_) => None,
        }
    }

    /// Names those parts of another register that begin at its first.
    pub(crate) fn rename(&mut self, to: Reg) {
        if let Some(reg) = self.register_mut() {
            *reg = to;
        }
        if let Self::General { part, .. } = self {
            *part = 0;
        }
    }

    fn register_mut(&mut self) -> Option<&mut Reg> {
        match self {
            Self::General { reg, .. }
            | Self::Predicate(reg, _)
            | Self::Uniform { reg, .. }
            | Self::Address { reg, .. } => Some(reg),
            Self::Target(_) | Self::Text(_) => None,
        }
    }
}

/// An operand with the hardware register that stands for each virtual one.
pub struct Shown<'a>(pub &'a Operand, pub &'a dyn Fn(Reg) -> u32);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Operand::General { reg, part, before, after, .. } => {
                let close = if *before == "|" { "|" } else { "" };
                write!(f, "{before}R{}{close}{after}", self.1(*reg) + u32::from(*part))
            }
            Operand::Predicate(reg, not) => write!(f, "{}P{}", if *not { "!" } else { "" }, self.1(*reg)),
            Operand::Uniform { reg, part, before, .. } => {
                let close = if *before == "|" { "|" } else { "" };
                write!(f, "{before}UR{}{close}", self.1(*reg) + u32::from(*part))
            }
            Operand::Address { before, reg, width, beside, offset } => {
                let wide = if before.starts_with("desc") && *width == 2 { ".64" } else { "" };
                write!(f, "{before}[R{}{wide}{beside}", self.1(*reg))?;
                match offset {
                    0 => write!(f, "]"),
                    1.. => write!(f, "+{offset:#x}]"),
                    _ => write!(f, "+-{:#x}]", offset.unsigned_abs()),
                }
            }
            Operand::Target(label) => write!(f, "`(.L_x_{})", label.0),
            Operand::Text(text) => f.write_str(text),
        }
    }
}

/// A machine instruction.
#[derive(Clone, Debug, Default)]
pub struct Instruction {
    /// The guard, and whether its opposite counts.
    pub guard: Option<(Reg, bool)>,
    /// The mnemonic with its modifiers.
    pub name: Name,
    /// What is written, then what is read.
    pub operands: Vec<Operand>,
    /// How many operands are written.
    pub written: usize,
    /// The PTX instruction that it is for; none, if it is for the kernel as a whole.
    pub origin: Option<Origin>,
    /// It moves a register to the frame or back, as there are too few: which parts of which, the first and how many.
    pub spills: Option<(Reg, u8, u8)>,
    /// Its number in selected code, where such are noted.
    pub(crate) mark: u32,
}

impl Instruction {
    /// Names one register in place of another, wherever it stands.
    pub(crate) fn exchange(&mut self, old: Reg, new: Reg) {
        let operands = self.operands.iter_mut().filter_map(Operand::register_mut);
        let guard = self.guard.as_mut().map(|(reg, _)| reg);
        operands.chain(guard).filter(|reg| **reg == old).for_each(|reg| *reg = new);
    }

    /// Where a copy of 32 bits that is always carried out leads, and where it comes from.
    pub(crate) fn copied(&self) -> Option<((Reg, u8), (Reg, u8))> {
        let ("MOV", None, [to, from]) = (self.name.as_str(), self.guard, self.operands.as_slice()) else {
            return None;
        };
        let part = |operand: &Operand| match *operand {
            Operand::General { reg, part, width: 1, before: "", after: "" } => Some((reg, part)),
            _ => None,
        };
        Some((part(to)?, part(from)?))
    }
}

/// A line of code.
#[derive(Clone, Debug)]
pub enum Line {
    /// Control can come here.
    Label(Label),
    /// An instruction.
    Instruction(Instruction),
}

/// A kernel's code.
#[derive(Debug, Default)]
pub struct Code {
    /// The device.
    pub(crate) target: Target,
    /// Its lines.
    pub lines: Vec<Line>,
    /// Those that stand behind the function that is being written.
    aside: Vec<Line>,
    /// What its registers need.
    pub registers: Vec<Info>,
    labels: u32,
    placed: HashSet<Label>,
    /// Registers that are never spilled.
    pinned: HashSet<Reg>,
    /// Where a routine begins behind the kernel's own code, which has a frame of its own.
    routines: HashSet<Label>,
    /// The functions of the driver that are called.
    externs: BTreeSet<String>,
    /// What [`push`](Code::push) writes instructions for.
    origin: Option<Origin>,
    /// No temporary becomes the register that it is copied to.
    apart: bool,
    /// The caller finds some registers as they were.
    pub(crate) keeps: bool,
    /// What is noted for who looks for variables, if that is wanted.
    pub(crate) notes: Option<Notes>,
}

/// Where selection has put what PTX has.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// The kernel, then what was inlined, and the functions that are called for real.
    pub(crate) calls: Vec<Call>,
    /// The registers of PTX of each call, and what they are here.
    pub(crate) registers: Vec<(u32, RegId, Reg)>,
    /// Where local variables and parameters of each call are in the frame.
    pub(crate) locals: Vec<(u32, VarId, u64)>,
    /// Where registers are in the frame that are too many.
    pub(crate) slots: Vec<(Reg, u64)>,
    /// What code that is optimised was before.
    pub(crate) reference: Option<Reference>,
}

impl Code {
    /// Code for a device.
    pub fn new(target: Target) -> Self {
        Self { target, ..Self::default() }
    }

    /// What is written from now on is for another PTX instruction. Says for which it was before.
    pub fn is_for(&mut self, origin: Option<Origin>) -> Option<Origin> {
        std::mem::replace(&mut self.origin, origin)
    }

    /// A new register.
    pub fn register(&mut self, class: Class, temporary: bool) -> Reg {
        self.registers.push(Info { class, temporary });
        Reg(self.registers.len() as u32 - 1)
    }

    /// A new label, which stands nowhere yet.
    pub fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels)
    }

    /// Puts a label here.
    pub fn place(&mut self, label: Label) {
        self.placed.insert(label);
        self.lines.push(Line::Label(label));
    }

    /// Puts a label here, where a routine begins: calls alone lead to it.
    pub fn begin_routine(&mut self, label: Label) {
        self.routines.insert(label);
        self.place(label);
    }

    /// What was written from a line on goes behind the function's code.
    pub fn put_aside(&mut self, from: usize) {
        self.aside.extend(self.lines.drain(from..));
    }

    /// The function's code ends here, but for what was put aside.
    pub fn end_function(&mut self) {
        self.lines.append(&mut self.aside);
    }

    /// Whether a routine begins with a line.
    pub fn is_routine(&self, line: &Line) -> bool {
        matches!(line, Line::Label(label) if self.routines.contains(label))
    }

    /// Whether any function is called for real.
    pub fn has_calls(&self) -> bool {
        !self.routines.is_empty() || !self.externs.is_empty()
    }

    /// Whether any of these has a frame of its own.
    pub fn has_routines(&self) -> bool {
        !self.routines.is_empty()
    }

    /// A function of the driver is called.
    pub fn name_extern(&mut self, function: &str) {
        self.externs.insert(function.to_owned());
    }

    /// The functions of the driver that are called.
    pub fn externs(&self) -> impl Iterator<Item = &str> {
        self.externs.iter().map(String::as_str)
    }

    /// A register stays one whatever happens.
    pub fn pin(&mut self, reg: Reg) {
        self.pinned.insert(reg);
    }

    /// The registers that are never spilled.
    pub fn pinned(&self) -> &HashSet<Reg> {
        &self.pinned
    }

    /// Whether a label stands somewhere before.
    pub fn is_placed(&self, label: Label) -> bool {
        self.placed.contains(&label)
    }

    /// Writes an instruction.
    pub fn push(
        &mut self,
        guard: Option<(Reg, bool)>,
        name: impl Into<SmolStr>,
        written: Vec<Operand>,
        read: Vec<Operand>,
    ) {
        let count = written.len();
        let operands = written.into_iter().chain(read).collect();
        self.lines.push(Line::Instruction(Instruction {
            guard,
            name: Name::from(name.into()),
            operands,
            written: count,
            origin: self.origin,
            spills: None,
            mark: 0,
        }));
    }

    /// What is selected is about to be optimised.
    pub(crate) fn note_reference(&mut self) {
        if self.notes.is_some() {
            let reference = Some(Reference::new(self));
            if let Some(notes) = &mut self.notes {
                notes.reference = reference;
            }
        }
    }

    /// Copies are about to go, as both registers of each are one.
    pub(crate) fn note_merged(&mut self, lines: &[usize]) {
        if let Some(mut notes) = self.notes.take() {
            notes.reference.iter_mut().for_each(|reference| reference.note_merged(self, lines));
            self.notes = Some(notes);
        }
    }

    /// Instructions are about to go to other blocks.
    pub(crate) fn note_moved(&mut self, lines: &HashSet<usize>) {
        if let Some(mut notes) = self.notes.take() {
            notes.reference.iter_mut().for_each(|reference| reference.note_moved(self, lines));
            self.notes = Some(notes);
        }
    }

    /// Instructions are about to change places.
    pub(crate) fn note_order(&mut self) {
        if let Some(mut notes) = self.notes.take() {
            notes.reference.iter_mut().for_each(|reference| reference.note_order(self));
            self.notes = Some(notes);
        }
    }

    /// From now on what is computed into a temporary stays there, or not. Says how it was before.
    pub fn writes_apart(&mut self, apart: bool) -> bool {
        std::mem::replace(&mut self.apart, apart)
    }

    /// Lets the last instruction write `to` in place of the temporary `from`, if it is what writes all of that.
    pub fn retarget(&mut self, from: Reg, to: Reg, guard: Option<(Reg, bool)>) -> bool {
        let info = self.registers[from.0 as usize];
        let same = info.class == self.registers[to.0 as usize].class;
        let Some(Line::Instruction(last)) = self.lines.last_mut() else { return false };
        let unguarded = last.guard.is_none();
        if self.apart || !same || !info.temporary || !(last.guard == guard || unguarded) {
            return false;
        }
        let writes = |operand: &Operand| operand.register() == Some((from, 0, info.class.width()));
        let mut places = last.operands[..last.written].iter_mut().filter(|o| writes(o));
        let (Some(place), None) = (places.next(), places.next()) else { return false };
        if let Some(reg) = place.register_mut() {
            *reg = to;
        }
        last.guard = guard;
        true
    }
}
