//! What attributes mean: payloads taken apart by the shape of their attribute, and put together again.

use super::table::Shape;

/// A payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// That the attribute is there says all.
    Empty,
    /// One small number.
    Number(u16),
    /// Numbers.
    Numbers(Vec<u32>),
    /// Where instructions are in the function.
    Offsets(Vec<u32>),
    /// Symbols by number.
    Symbols(Vec<u32>),
    /// A number about a symbol.
    SymbolNumber {
        /// The symbol's number.
        symbol: u32,
        /// What is said about it.
        number: u32,
    },
    /// A kernel's parameter.
    Parameter(Parameter),
    /// Where a kernel's parameters are.
    Bank(Bank),
    /// Indirect branches.
    Branches(Vec<Branch>),
    /// Instructions by offset, with a number each.
    Pairs(Vec<(u32, u32)>),
    /// Symbols by number, with one each to take instead.
    SymbolPairs(Vec<(u32, u32)>),
    /// Kinds with an offset each: 1 is a spill or refill.
    Annotations(Vec<(u32, u32)>),
    /// Where instructions of a kind are.
    KindOffsets {
        /// The kind.
        kind: u32,
        /// The offsets.
        offsets: Vec<u32>,
    },
    /// Something else.
    Bytes(Vec<u8>),
}

/// `EIATTR_KPARAM_INFO`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Zero in all that were seen.
    pub index: u32,
    /// Which parameter it is, from 0.
    pub ordinal: u16,
    /// Where it starts, from the start of all parameters.
    pub offset: u16,
    /// Its bytes: 14 bits.
    pub size: u16,
    /// Whether it is in shared memory, as on the oldest devices, and not in constants.
    pub shared: bool,
    /// The bank of constants, 0x1f for the usual: 5 bits.
    pub bank: u8,
    /// The state space of what it points to: 4 bits.
    pub space: u8,
    /// The binary logarithm of the alignment of what it points to.
    pub log_alignment: u8,
}

/// `EIATTR_PARAM_CBANK`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bank {
    /// The symbol of the section with the bank.
    pub symbol: u32,
    /// Where parameters start in the bank.
    pub offset: u16,
    /// Their bytes.
    pub size: u16,
}

/// One of `EIATTR_INDIRECT_BRANCH_TARGETS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Where the branch is.
    pub offset: u32,
    /// A word that nobody prints.
    pub unknown: u32,
    /// Where it may go.
    pub targets: Vec<u32>,
}

impl Payload {
    /// Takes a payload apart. One of another shape is [`Payload::Bytes`].
    #[must_use]
    pub fn decode(shape: Shape, bytes: &[u8]) -> Self {
        let other = || Self::Bytes(bytes.to_vec());
        let (words, []) = bytes.as_chunks::<4>() else { return other() };
        let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        match (shape, words.as_slice()) {
            (Shape::Numbers, _) => Self::Numbers(words),
            (Shape::Offsets, _) => Self::Offsets(words),
            (Shape::Symbols, _) => Self::Symbols(words),
            (Shape::SymbolNumber, &[symbol, number]) => Self::SymbolNumber { symbol, number },
            (Shape::Parameter, &[index, place, packed]) => {
                Self::Parameter(Parameter::unpack(index, place, packed))
            }
            (Shape::Bank, &[symbol, place]) => {
                Self::Bank(Bank { symbol, offset: place as u16, size: (place >> 16) as u16 })
            }
            (Shape::Branches, _) => Branch::all(&words).map_or_else(other, Self::Branches),
            (Shape::Pairs, _) => pairs(&words).map_or_else(other, Self::Pairs),
            (Shape::SymbolPairs, _) => pairs(&words).map_or_else(other, Self::SymbolPairs),
            // Kinds from 2 on are followed by more than an offset.
            (Shape::Annotations, _) => match pairs(&words) {
                Some(pairs) if pairs.iter().all(|(kind, _)| *kind < 2) => Self::Annotations(pairs),
                _ => other(),
            },
            (Shape::KindOffsets, [kind, offsets @ ..]) => {
                Self::KindOffsets { kind: *kind, offsets: offsets.to_vec() }
            }
            _ => other(),
        }
    }

    /// The bytes that [`Payload::decode`] takes apart; a single number as two bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let pairs = |pairs: &[(u32, u32)]| pairs.iter().flat_map(|(a, b)| [*a, *b]).collect::<Vec<_>>();
        match self {
            Self::Empty => Vec::new(),
            Self::Number(number) => number.to_le_bytes().to_vec(),
            Self::Numbers(numbers) | Self::Offsets(numbers) | Self::Symbols(numbers) => words(numbers),
            Self::SymbolNumber { symbol, number } => words(&[*symbol, *number]),
            Self::Parameter(parameter) => words(&parameter.pack()),
            Self::Bank(bank) => words(&[bank.symbol, u32::from(bank.size) << 16 | u32::from(bank.offset)]),
            Self::Branches(branches) => {
                let branch = |b: &Branch| {
                    [&[b.offset, b.unknown, b.targets.len() as u32], b.targets.as_slice()].concat()
                };
                words(&branches.iter().flat_map(branch).collect::<Vec<_>>())
            }
            Self::Pairs(all) | Self::SymbolPairs(all) | Self::Annotations(all) => words(&pairs(all)),
            Self::KindOffsets { kind, offsets } => words(&[&[*kind], offsets.as_slice()].concat()),
            Self::Bytes(bytes) => bytes.clone(),
        }
    }
}

fn pairs(words: &[u32]) -> Option<Vec<(u32, u32)>> {
    match words.as_chunks::<2>() {
        (pairs, []) => Some(pairs.iter().map(|&[a, b]| (a, b)).collect()),
        _ => None,
    }
}

impl Parameter {
    fn unpack(index: u32, place: u32, packed: u32) -> Self {
        Self {
            index,
            ordinal: place as u16,
            offset: (place >> 16) as u16,
            log_alignment: packed as u8,
            space: (packed >> 8 & 15) as u8,
            bank: (packed >> 12 & 31) as u8,
            shared: packed >> 17 & 1 != 0,
            size: (packed >> 18) as u16,
        }
    }

    fn pack(&self) -> [u32; 3] {
        let packed = u32::from(self.log_alignment)
            | u32::from(self.space & 15) << 8
            | u32::from(self.bank & 31) << 12
            | u32::from(self.shared) << 17
            | u32::from(self.size) << 18;
        [self.index, u32::from(self.offset) << 16 | u32::from(self.ordinal), packed]
    }
}

impl Branch {
    fn all(mut words: &[u32]) -> Option<Vec<Self>> {
        let mut branches = Vec::new();
        while let Some((&[offset, unknown, count], rest)) = words.split_first_chunk::<3>() {
            let (targets, rest) = rest.split_at_checked(count as usize)?;
            branches.push(Self { offset, unknown, targets: targets.to_vec() });
            words = rest;
        }
        words.is_empty().then_some(branches)
    }
}
