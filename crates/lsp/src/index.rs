//! The names of a text: what is declared, and where it is meant.

use ptx::source::Span;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A register.
    Register,
    /// A place in code.
    Label,
    /// A kernel.
    Kernel,
    /// A function that is not a kernel.
    Function,
    /// A variable in memory.
    Variable,
    /// A parameter.
    Parameter,
    /// A call prototype or a list of targets.
    Prototype,
    /// A section of a cubin.
    Section,
    /// A thread of a litmus test.
    Thread,
}

/// Something with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The name; the common beginning of the names of a set such as `%r<10>`.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// The name where it is declared.
    pub declared: Span,
    /// All of the declaration.
    pub whole: Span,
    /// Where the name has this meaning.
    pub scope: Span,
    /// The symbol that this one is within.
    pub parent: Option<u32>,
    /// How many names a set has.
    pub count: Option<u64>,
    /// The declaration in short: `.reg .f32`.
    pub detail: String,
}

/// A place where a symbol is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// The name there.
    pub span: Span,
    /// Which of [`Index::symbols`].
    pub symbol: u32,
    /// Which name of a set.
    pub member: Option<u64>,
    /// Whether it is written there.
    pub written: bool,
}

/// All names of a text.
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// What is declared.
    pub symbols: Vec<Symbol>,
    /// Where names stand, declarations included, in the order of the text.
    pub occurrences: Vec<Occurrence>,
}

impl Index {
    /// The name at an offset, or that ends there.
    pub fn at(&self, offset: u32) -> Option<&Occurrence> {
        let behind = self.occurrences.partition_point(|one| one.span.start <= offset);
        let one = self.occurrences[..behind].last()?;
        (one.span.end >= offset).then_some(one)
    }

    /// The symbol of an occurrence.
    pub fn symbol(&self, occurrence: &Occurrence) -> &Symbol {
        &self.symbols[occurrence.symbol as usize]
    }

    /// The places where the same is meant: the same name of a set, or all names of it from its declaration.
    pub fn same(&self, one: Occurrence) -> impl Iterator<Item = &Occurrence> {
        self.occurrences.iter().filter(move |other| {
            other.symbol == one.symbol
                && (one.member.is_none() || other.member.is_none() || one.member == other.member)
        })
    }

    /// The part of a name that its symbol gives it: for a name of a set all but the number.
    pub fn stem(&self, occurrence: &Occurrence) -> Span {
        let length = self.symbol(occurrence).name.len() as u32;
        Span::new(occurrence.span.start, (occurrence.span.start + length).min(occurrence.span.end))
    }

    /// The symbols that can be named at an offset.
    pub fn visible(&self, offset: u32) -> impl Iterator<Item = (u32, &Symbol)> {
        let all = (0..).zip(&self.symbols);
        all.filter(move |(_, symbol)| symbol.scope.start <= offset && offset <= symbol.scope.end)
    }
}
