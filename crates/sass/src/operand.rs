//! What an instruction reads and writes: its operands, by their names and with the number of their registers.
//!
//! Which operand is which, `isa/operands.sass` says for all architectures; where its number stands in the word, the forms of an
//! architecture's table do. The build script has put both together.

use crate::control::Control;
use crate::instruction::Instruction;
pub use sass_table::operand::Access;
use sass_table::operand::{ABSENT, Class as Column, Lookup, NEGATED, Operand as Row, TRUE};
pub use sass_table::roles::Flow;

/// Places for operands that are kept for the next instruction.
pub const SLOTS: u8 = 4;

/// The first of their flags in the word.
const REUSE: u32 = 122;

/// What an operand names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Name {
    /// `R5`; RZ is not named.
    Register(u8),
    /// `UR5`; URZ is not named.
    Uniform(u8),
    /// `P2`; PT is not named.
    Predicate(u8),
    /// `UP2`; UPT is not named.
    UniformPredicate(u8),
    /// `B3`, a barrier of convergence.
    Convergence(u8),
    /// `SB3`, a scoreboard.
    Scoreboard(u8),
    /// A barrier of the CTA.
    Barrier(u8),
    /// `c[3][...]`, a constant of bank 3.
    Constant(u8),
}

/// Something that an instruction reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// What it is to the instruction: `guard`, `d`, `address`.
    pub role: &'static str,
    /// The first that is named.
    pub name: Name,
    /// How many registers follow one another from there, of 32 bits each; 0 for a constant of fewer bits.
    pub count: u8,
    /// Whether it is read or written.
    pub access: Access,
    /// It stands in brackets: part of an address or a descriptor.
    pub bracketed: bool,
    /// The hardware takes it only at a multiple of its width.
    pub aligned: bool,
    /// The instruction asks that it be kept for the next one.
    pub reused: bool,
    /// Which of the three places for kept operands it goes through, if any.
    pub slot: Option<u8>,
}

impl Operand {
    /// Everything that it names, one by one.
    pub fn names(self) -> impl Iterator<Item = Name> {
        let nth = move |by: u8| match self.name {
            Name::Register(first) => first.checked_add(by).filter(|&it| it != ABSENT).map(Name::Register),
            Name::Uniform(first) => first.checked_add(by).filter(|&it| it != ABSENT).map(Name::Uniform),
            one => (by == 0).then_some(one),
        };
        (0..self.count).map_while(nth)
    }
}

/// The predicate under which an instruction is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The predicate; `None` for PT and UPT.
    pub name: Option<Name>,
    /// It must be false.
    pub negated: bool,
}

impl Instruction {
    fn rows(&self) -> &'static [Row] {
        self.row().operands.of(self.arch.table().vocabulary.operands)
    }

    fn look(&self, lookup: Lookup) -> u8 {
        lookup.of(self.arch.table().vocabulary.numbers, self.word)
    }

    /// Whose flag a lookup reads: what it says if one flag is set alone.
    fn slot(&self, flag: Lookup) -> Option<u8> {
        let numbers = self.arch.table().vocabulary.numbers;
        let read = flag.bits.mask() >> REUSE;
        (0..SLOTS).filter(|slot| read >> slot & 1 == 1).find(|&slot| {
            let alone = Control { reuse: 1 << slot, yield_flag: false, ..Control::default() };
            flag.of(numbers, alone.put(self.word)) == 1
        })
    }

    /// Everything that it reads and writes, the guard first, and then in the order of the text.
    pub fn operands(&self) -> impl Iterator<Item = Operand> + '_ {
        self.rows().iter().flat_map(move |row| {
            let number = self.look(row.number);
            let (masked, single) = match row.class {
                Column::Predicates => (Some(Name::Predicate as fn(u8) -> Name), None),
                Column::UniformPredicates => (Some(Name::UniformPredicate as fn(u8) -> Name), None),
                class => (None, single(class, number)),
            };
            let all = masked
                .into_iter()
                .flat_map(move |name| (0..TRUE).filter(move |it| number >> it & 1 == 1).map(name));
            all.chain(single).map(move |name| Operand {
                role: self.arch.table().vocabulary.names[usize::from(row.name)],
                name,
                count: self.look(row.width),
                access: row.access,
                bracketed: row.bracketed,
                aligned: row.aligned,
                reused: row.reuse.is_some_and(|it| self.look(it) == 1),
                slot: row.reuse.and_then(|it| self.slot(it)),
            })
        })
    }

    /// The predicate under which it is carried out, if that is not always.
    pub fn guard(&self) -> Option<Guard> {
        let row = self.rows().iter().find(|it| it.place.is_none())?;
        let number = self.look(row.number);
        (number != TRUE).then(|| Guard { name: single(row.class, number), negated: number & NEGATED != 0 })
    }

    /// Where control goes behind it.
    pub fn flow(&self) -> Flow {
        self.row().flow
    }

    /// The text up to the first blank behind the guard: mnemonic and modifiers, as in `IMAD.WIDE.U32`.
    pub fn head(text: &str) -> &str {
        let text = if text.starts_with('@') { text.split_once(' ').map_or("", |it| it.1) } else { text };
        text.split(' ').next().unwrap_or("")
    }
}

/// What a number of a class means; nothing for registers that are always 0 and predicates that are always true.
fn single(class: Column, number: u8) -> Option<Name> {
    if number == ABSENT {
        return None;
    }
    let predicate = || Some(number & !NEGATED).filter(|&it| it != TRUE);
    match class {
        Column::Register => Some(Name::Register(number)),
        Column::Uniform => Some(Name::Uniform(number)),
        Column::Predicate => predicate().map(Name::Predicate),
        Column::UniformPredicate => predicate().map(Name::UniformPredicate),
        Column::Convergence => Some(Name::Convergence(number)),
        Column::Scoreboard => Some(Name::Scoreboard(number)),
        Column::Barrier => Some(Name::Barrier(number)),
        Column::Constant => Some(Name::Constant(number)),
        Column::Predicates | Column::UniformPredicates => None,
    }
}
