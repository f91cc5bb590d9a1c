//! The encoding of one key, from its samples: word = Σ value × weight.
//!
//! How a text's numbers and modifiers become values is a [`Model`]. The most general one that no sample contradicts is used:
//! modifiers are apart at first, each worth the same wherever it stands; then each at its place; then all of the mnemonic
//! as one, all of the instruction as one. Immediates are one value each at first; then, where a field has gaps or is split,
//! every bit is a value; at last every immediate is a name that says nothing of others. A float may have any of the
//! formats, and the last immediate may be a distance from the next instruction: as long as samples refute neither reading,
//! only what both say is known.
//!
//! Where two samples with the same text have different words, the text does not say all: the bits that differ are
//! hidden, and are left out of the equations.

use std::collections::HashMap;

use num_bigint::Sign;
use num_rational::BigRational;

use super::reading::{Number, Reading};
use super::system::{Feature, Sum, System, Vector, whole};
use sass::control;
use sass_table::Float;

/// The reuse flags, which the text shows.
const REUSE: u128 = 0xf << 122;
/// Bit 109: without it reuse flags are not printed.
const REUSE_SHOWN: u128 = 1 << 109;

/// The bits of a word that its text may say: all but the control code, of which it says the reuse flags.
pub(super) fn spoken(word: u128) -> u128 {
    let silent = if word & REUSE_SHOWN == 0 { control::MASK } else { control::MASK & !REUSE };
    word & !silent
}

/// How modifiers count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Modifiers {
    Apart,
    Placed,
    Head,
    All,
}

/// How immediates and floats count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Immediates {
    Whole,
    Bits,
    Named,
}

/// How values come from a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Model {
    pub(super) modifiers: Modifiers,
    pub(super) immediates: Immediates,
    pub(super) float: Float,
    /// The last immediate is an address, encoded as its distance from the next instruction.
    pub(super) relative: bool,
}

/// A sample of the key.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) reading: Reading,
    pub(super) address: u64,
    pub(super) text: String,
    pub(super) word: u128,
}

/// What is known of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Prediction {
    /// Its bits, but for the hidden ones.
    Word(u128),
    /// These features' weights are open.
    Open(Vec<String>),
    /// The sum is no word.
    NoWord,
    /// No model explains the key's samples.
    Unexplained,
}

/// What a sample did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Learned {
    /// Its word was known.
    Nothing,
    /// It determines more of the key.
    More,
    /// It refutes the model; a less general one explains all samples.
    Refined,
    /// It contradicts other samples, from which perhaps this word was expected: more bits are hidden now, or nothing explains the
    /// key any more.
    Contradiction(Option<u128>),
}

/// Samples that are kept though they say nothing new: a later model may need them.
const SPARE: usize = 64;
/// So many samples of a key that no model explains are kept, and tried again as they come.
const MOST_UNEXPLAINED: usize = 128;
/// If more bits than this differ where texts are the same, a key is not understood at all.
const MOST_HIDDEN: u32 = 32;

/// A model with the equations of all samples.
#[derive(Clone, Debug)]
struct Candidate {
    model: Model,
    system: System,
    features: HashMap<String, Feature>,
}

/// A key's samples and what follows from them.
#[derive(Clone, Debug, Default)]
pub(super) struct Encoder {
    pub(super) samples: Vec<Kept>,
    /// Groups of models that are equally general, best first, and which of the groups is in use.
    groups: Vec<Vec<Model>>,
    current: usize,
    /// The models of the group that no sample refutes; a word is known if all of them say the same.
    candidates: Vec<Candidate>,
    /// Bits that the text does not determine.
    pub(super) hidden: u128,
    /// No model explains the samples.
    pub(super) unexplained: bool,
    /// Features whose weights come from other keys.
    assumed: Vec<&'static str>,
}

impl Encoder {
    /// The model in use; the first sample decides which there are.
    pub(super) fn model(&self) -> Option<Model> {
        self.candidates.first().map(|it| it.model).filter(|_| !self.unexplained)
    }

    /// What the word must be.
    pub(super) fn predict(&self, reading: &Reading, address: u64) -> Prediction {
        if self.unexplained {
            return Prediction::Unexplained;
        }
        let mut predictions = self.candidates.iter().map(|it| it.predict(reading, address, self.hidden));
        let Some(mut prediction) = predictions.next() else { return Prediction::Unexplained };
        for other in predictions {
            match (&mut prediction, other) {
                (Prediction::Open(open), Prediction::Open(more)) => {
                    open.extend(more);
                    open.sort_unstable();
                    open.dedup();
                }
                (Prediction::Open(_), _) => {}
                (_, open @ Prediction::Open(_)) => prediction = open,
                (one, other) if *one == other => {}
                _ => prediction = Prediction::Open(vec!["what the immediate means".to_string()]),
            }
        }
        prediction
    }

    /// Takes a sample in.
    pub(super) fn learn(&mut self, sample: Kept) -> Learned {
        if self.unexplained {
            return self.retry(sample);
        }
        if self.groups.is_empty() {
            self.groups = groups(&sample.reading);
            self.candidates = self.groups[0].iter().map(|&it| Candidate::new(it)).collect();
        }
        let expected = match self.predict(&sample.reading, sample.address) {
            Prediction::Word(word) if word == spoken(sample.word) & !self.hidden => {
                let spare = self.samples.len() < SPARE
                    && !self.samples.iter().any(|it| it.text == sample.text && it.address == sample.address);
                if spare {
                    self.samples.push(sample);
                }
                return Learned::Nothing;
            }
            Prediction::Word(word) => Some(word),
            _ => None,
        };
        let hidden = self.hidden;
        self.candidates.retain_mut(|it| it.add(&sample, hidden) && it.is_plausible());
        self.samples.push(sample);
        if !self.candidates.is_empty() {
            return Learned::More;
        }
        self.fit();
        if self.unexplained || self.hidden != hidden {
            Learned::Contradiction(expected)
        } else {
            Learned::Refined
        }
    }

    /// A sample more of a key that no model explains: few samples may leave a model's weights such as no field has.
    fn retry(&mut self, sample: Kept) -> Learned {
        let is_known =
            |it: &Kept| it.text == sample.text && it.address == sample.address && it.word == sample.word;
        if self.samples.len() >= MOST_UNEXPLAINED || self.samples.iter().any(is_known) {
            return Learned::Nothing;
        }
        self.samples.push(sample);
        if !self.samples.len().is_multiple_of(8) {
            return Learned::Nothing;
        }
        (self.unexplained, self.current, self.hidden) = (false, 0, 0);
        self.fit();
        if self.unexplained { Learned::Nothing } else { Learned::Refined }
    }

    /// Adds what is known of all keys alike, where this one leaves it open.
    pub(super) fn assume(&mut self, name: &'static str, weight: u128) {
        if self.weight(name).is_none() {
            for candidate in &mut self.candidates {
                let feature = candidate.feature(name.to_string());
                candidate.system.add(&[(feature, 1)].into(), weight);
            }
            self.assumed.push(name);
        }
    }

    /// Whether this feature's weight comes from other keys.
    pub(super) fn assumes(&self, name: &str) -> bool {
        self.assumed.contains(&name)
    }

    /// Finds the first group from the current one on with models that all samples agree with; if there is none, the bits in which
    /// samples differ are hidden, and all is tried again.
    fn fit(&mut self) {
        self.assumed.clear();
        loop {
            while let Some(models) = self.groups.get(self.current) {
                let tried = models.iter().map(|&it| Candidate::solved(it, &self.samples, self.hidden));
                self.candidates =
                    tried.filter(|it| it.1 == 0 && it.0.is_plausible()).map(|it| it.0).collect();
                if !self.candidates.is_empty() {
                    return;
                }
                self.current += 1;
            }
            let last = self.groups.last().and_then(|it| it.first());
            let differing = last.map_or(0, |&it| Candidate::solved(it, &self.samples, self.hidden).1);
            self.hidden |= differing;
            if differing == 0 || self.hidden.count_ones() > MOST_HIDDEN {
                self.unexplained = true;
                return;
            }
            self.current = 0;
        }
    }

    /// The features, each with its weight if that is known by itself.
    pub(super) fn weights(&self) -> Vec<(&str, Option<&BigRational>)> {
        let Some(candidate) = self.candidates.first() else { return Vec::new() };
        let mut weights: Vec<_> =
            candidate.features.keys().map(|name| (name.as_str(), self.weight(name))).collect();
        weights.sort_unstable_by_key(|it| (rank_of(it.0), it.0));
        weights
    }

    /// The weight of a feature, if all models agree on it.
    pub(super) fn weight(&self, name: &str) -> Option<&BigRational> {
        let mut weights = self.candidates.iter().map(|it| it.system.weight(*it.features.get(name)?));
        let first = weights.next()??;
        weights.all(|it| it == Some(first)).then_some(first)
    }

    /// How many equations are independent.
    pub(super) fn rank(&self) -> usize {
        self.candidates.first().map_or(0, |it| it.system.rank())
    }
}

impl Candidate {
    fn new(model: Model) -> Candidate {
        Candidate { model, system: System::default(), features: HashMap::new() }
    }

    /// The equations of samples, and the bits in which samples contradict one another.
    fn solved(model: Model, samples: &[Kept], hidden: u128) -> (Candidate, u128) {
        let mut candidate = Candidate::new(model);
        let mut differing = 0;
        for sample in samples {
            if !candidate.add(sample, hidden) {
                let expected = match candidate.predict(&sample.reading, sample.address, hidden) {
                    Prediction::Word(word) => word,
                    _ => !0,
                };
                differing |= expected ^ spoken(sample.word) & !hidden;
            }
        }
        (candidate, differing)
    }

    fn feature(&mut self, name: String) -> Feature {
        let next = self.features.len();
        *self.features.entry(name).or_insert(next)
    }

    /// Adds the equation of a sample; whether it agrees with the others.
    fn add(&mut self, sample: &Kept, hidden: u128) -> bool {
        let mut vector = Vector::new();
        for (name, times) in self.model.values(&sample.reading, sample.address) {
            *vector.entry(self.feature(name)).or_insert(0) += times;
        }
        self.system.add(&vector, spoken(sample.word) & !hidden)
    }

    fn predict(&self, reading: &Reading, address: u64, hidden: u128) -> Prediction {
        let mut missing = Vec::new();
        let mut vector = Vector::new();
        for (name, times) in self.model.values(reading, address) {
            match self.features.get(&name) {
                Some(&feature) => *vector.entry(feature).or_insert(0) += times,
                None => missing.push(name),
            }
        }
        if !missing.is_empty() {
            return Prediction::Open(missing);
        }
        match self.system.sum(&vector) {
            Sum::Known(word) => Prediction::Word(word & !hidden),
            Sum::NoWord => Prediction::NoWord,
            Sum::Open => {
                let open = self.system.open(&vector);
                let mut names: Vec<String> =
                    self.features.iter().filter(|it| open.contains(it.1)).map(|it| it.0.clone()).collect();
                names.sort_unstable();
                Prediction::Open(names)
            }
        }
    }

    /// Whether the weights are such as fields have: whole, and those of numbers one or two bits.
    fn is_plausible(&self) -> bool {
        self.features.iter().all(|(name, &feature)| {
            let Some(weight) = self.system.weight(feature) else { return true };
            let Some(weight) = whole(weight) else { return false };
            // The bits of a split field stand where they will, the upper ones of a small number all together.
            let number = name.starts_with('#') && !name.contains(' ');
            !number || weight.sign() != Sign::Minus && weight.magnitude().count_ones() <= 2
        })
    }
}

/// The opcode first, then the guard, numbers, and modifiers.
fn rank_of(name: &str) -> usize {
    ["opcode", "guard", "@", "#"].iter().position(|it| name.starts_with(it)).unwrap_or(4)
}

/// The models that a key may have, the equally general ones together, most general first.
fn groups(reading: &Reading) -> Vec<Vec<Model>> {
    let has_float = reading.numbers.iter().any(|it| matches!(it, Number::Float(_)));
    let has_immediate = reading.numbers.iter().any(|it| !matches!(it, Number::Index(_)));
    let relative: &[bool] =
        if matches!(reading.numbers.last(), Some(Number::Immediate(_))) && !reading.key.ends_with(']') {
            &[false, true]
        } else {
            &[false]
        };
    // The first letter of a mnemonic says how wide its floats are, but for some.
    let (likely, others): (&[Float], &[Float]) = match reading.key.as_bytes().first() {
        _ if !has_float => (&[Float::F32], &[]),
        Some(b'D') => (&[Float::F64High], &[Float::F32]),
        Some(b'H') => (&[Float::F16, Float::Bf16], &[Float::F32]),
        _ => (&[Float::F32], &[Float::F16, Float::Bf16, Float::F64High]),
    };
    let mut groups = Vec::new();
    let immediates: &[Immediates] =
        if has_immediate { &[Immediates::Whole, Immediates::Bits] } else { &[Immediates::Whole] };
    for modifiers in [Modifiers::Apart, Modifiers::Placed, Modifiers::Head, Modifiers::All] {
        for &immediates in immediates {
            for floats in [likely, others].into_iter().filter(|it| !it.is_empty()) {
                let with = |&float: &Float| {
                    relative.iter().map(move |&relative| Model { modifiers, immediates, float, relative })
                };
                groups.push(floats.iter().flat_map(with).collect());
            }
        }
    }
    if has_immediate {
        let named = |&relative: &bool| Model {
            modifiers: Modifiers::All,
            immediates: Immediates::Named,
            float: likely[0],
            relative,
        };
        groups.push(relative.iter().rev().map(named).collect());
    }
    groups
}

impl Model {
    /// The features of a text, and how often each occurs.
    fn values(self, reading: &Reading, address: u64) -> Vec<(String, i128)> {
        let mut values = vec![("opcode".to_string(), 1), ("guard".to_string(), i128::from(reading.guard))];
        values.extend(reading.guard_modifiers.iter().map(|it| (format!("@{it}"), 1)));
        let last = reading.numbers.len();
        for (at, number) in reading.numbers.iter().enumerate() {
            let at = at + 1;
            match number {
                Number::Index(0) => {}
                Number::Index(value) => values.push((format!("#{at}"), *value)),
                Number::Immediate(value) => {
                    let relative = self.relative && at == last;
                    let value = if relative { *value - i128::from(address) - 16 } else { *value };
                    if relative && value < 0 && self.immediates == Immediates::Whole {
                        values.push((format!("{at}<0"), 1));
                    }
                    self.immediate(at, value, &mut values);
                }
                Number::Float(text) => match self.float.parse(text) {
                    Some(bits) => self.immediate(at, bits.into(), &mut values),
                    None => values.push((format!("{at}={text}"), 1)),
                },
            }
        }
        let relative_sign = format!("{last}<0");
        let signs = reading.signs.iter().filter(|it| !(self.relative && **it == relative_sign));
        match self.immediates {
            Immediates::Whole => values.extend(signs.map(|it| (it.clone(), 1))),
            _ => values.extend(signs.filter(|it| !it.ends_with("<0")).map(|it| (it.clone(), 1))),
        }
        let head = reading.head.join(".");
        match self.modifiers {
            Modifiers::Apart => values.extend(reading.head.iter().map(|it| (format!(".{it}"), 1))),
            Modifiers::Placed => {
                values.extend(reading.head.iter().enumerate().map(|(at, it)| (format!(".{it} at {at}"), 1)));
            }
            Modifiers::Head => values.push((format!(".{head}"), 1)),
            Modifiers::All => {
                let mut operands = reading.operands.clone();
                operands.sort_unstable();
                values.push((format!(".{head} {}", operands.join(" ")), 1));
            }
        }
        if self.modifiers != Modifiers::All {
            values.extend(reading.operands.iter().map(|it| (it.clone(), 1)));
        }
        values
    }

    fn immediate(self, at: usize, value: i128, values: &mut Vec<(String, i128)>) {
        match self.immediates {
            Immediates::Whole if value == 0 => {}
            Immediates::Whole => values.push((format!("#{at}"), value)),
            Immediates::Bits => {
                let bits = (0..64).filter(|bit| value >> bit & 1 == 1);
                values.extend(bits.map(|bit| (format!("#{at} bit {bit}"), 1)));
            }
            Immediates::Named => values.push((format!("{at}={value:#x}"), 1)),
        }
    }
}
