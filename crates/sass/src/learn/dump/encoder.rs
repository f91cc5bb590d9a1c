//! The encoding of one key, from its samples: word = Σ value × weight.
//!
//! How a text's numbers and modifiers become values is a [`Model`]. The most general one that no sample contradicts is used:
//! modifiers are apart at first, each worth the same wherever it stands; then each at its place; then all of the mnemonic
//! as one, all of the instruction as one. Immediates are one value each at first; then, where a field has gaps or is split,
//! every bit is a value; at last every immediate is a name that says nothing of others. A float may have any of the
//! formats, and the last immediate may be a distance from the next instruction.
//!
//! Where two samples with the same text have different words, the text does not say all: the bits that differ are
//! hidden, and are left out of the equations.

use std::collections::HashMap;

use num_bigint::Sign;
use num_rational::BigRational;

use super::reading::{Number, Reading};
use super::system::{Feature, Sum, System, Vector, whole};
use crate::control;
use crate::float::Float;

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
    /// It contradicts what was known, perhaps this word; the model has changed.
    Contradiction(Option<u128>),
}

/// Samples that are kept though they say nothing new: a later model may need them.
const SPARE: usize = 64;
/// So many samples of a key that no model explains are kept, and tried again as they come.
const MOST_UNEXPLAINED: usize = 128;
/// If more bits than this differ where texts are the same, a key is not understood at all.
const MOST_HIDDEN: u32 = 32;

/// A key's samples and what follows from them.
#[derive(Clone, Debug, Default)]
pub(super) struct Encoder {
    pub(super) samples: Vec<Kept>,
    /// The models that are tried, best first, and which of them is in use.
    models: Vec<Model>,
    current: usize,
    system: System,
    features: HashMap<String, Feature>,
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
        self.models.get(self.current).copied().filter(|_| !self.unexplained)
    }

    /// What the word must be.
    pub(super) fn predict(&self, reading: &Reading, address: u64) -> Prediction {
        let Some(model) = self.model() else { return Prediction::Unexplained };
        let mut missing = Vec::new();
        let mut vector = Vector::new();
        for (name, times) in model.values(reading, address) {
            match self.features.get(&name) {
                Some(&feature) => vector.entry(feature).and_modify(|it| *it += times).or_insert(times),
                None => {
                    missing.push(name);
                    continue;
                }
            };
        }
        if !missing.is_empty() {
            return Prediction::Open(missing);
        }
        match self.system.sum(&vector) {
            Sum::Known(word) => Prediction::Word(word & !self.hidden),
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

    /// Takes a sample in.
    pub(super) fn learn(&mut self, sample: Kept) -> Learned {
        if self.unexplained {
            return self.retry(sample);
        }
        if self.models.is_empty() {
            self.models = models(&sample.reading);
        }
        match self.predict(&sample.reading, sample.address) {
            Prediction::Word(word) if word == spoken(sample.word) & !self.hidden => {
                let spare = self.samples.len() < SPARE
                    && !self.samples.iter().any(|it| it.text == sample.text && it.address == sample.address);
                if spare {
                    self.samples.push(sample);
                }
                Learned::Nothing
            }
            Prediction::Open(_) => {
                let added = self.add(&sample);
                self.samples.push(sample);
                if added && self.is_plausible() {
                    Learned::More
                } else {
                    self.fit();
                    Learned::Contradiction(None)
                }
            }
            expected @ (Prediction::Word(_) | Prediction::NoWord | Prediction::Unexplained) => {
                self.samples.push(sample);
                self.fit();
                Learned::Contradiction(match expected {
                    Prediction::Word(word) => Some(word),
                    _ => None,
                })
            }
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
        if self.unexplained { Learned::Nothing } else { Learned::Contradiction(None) }
    }

    /// Adds what is known of all keys alike, where this one leaves it open.
    pub(super) fn assume(&mut self, name: &'static str, weight: u128) {
        if self.weight(name).is_none() {
            let feature = self.feature(name.to_string());
            self.system.add(&[(feature, 1)].into(), weight);
            self.assumed.push(name);
        }
    }

    /// Whether this feature's weight comes from other keys.
    pub(super) fn assumes(&self, name: &str) -> bool {
        self.assumed.contains(&name)
    }

    fn feature(&mut self, name: String) -> Feature {
        let next = self.features.len();
        *self.features.entry(name).or_insert(next)
    }

    /// Adds the equation of a sample; whether it agrees with the others.
    fn add(&mut self, sample: &Kept) -> bool {
        let model = self.models[self.current];
        let mut vector = Vector::new();
        for (name, times) in model.values(&sample.reading, sample.address) {
            *vector.entry(self.feature(name)).or_insert(0) += times;
        }
        self.system.add(&vector, spoken(sample.word) & !self.hidden)
    }

    /// Finds the first model from the current one on that all samples agree with; if there is none, the bits in which samples
    /// differ are hidden, and all is tried again.
    fn fit(&mut self) {
        loop {
            while self.current < self.models.len() {
                if self.rebuild() == 0 && self.is_plausible() {
                    return;
                }
                self.current += 1;
            }
            self.current = self.models.len() - 1;
            let differing = self.rebuild();
            self.hidden |= differing;
            if differing == 0 || self.hidden.count_ones() > MOST_HIDDEN {
                self.unexplained = true;
                return;
            }
            self.current = 0;
        }
    }

    /// Makes the equations of the current model; the bits in which samples contradict one another.
    fn rebuild(&mut self) -> u128 {
        self.system = System::default();
        self.features.clear();
        self.assumed.clear();
        let mut differing = 0;
        let samples = std::mem::take(&mut self.samples);
        for sample in &samples {
            if !self.add(sample) {
                let expected = match self.predict(&sample.reading, sample.address) {
                    Prediction::Word(word) => word,
                    _ => !0,
                };
                differing |= expected ^ spoken(sample.word) & !self.hidden;
            }
        }
        self.samples = samples;
        differing
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

    /// The features, each with its weight if that is known by itself.
    pub(super) fn weights(&self) -> Vec<(&str, Option<&BigRational>)> {
        let mut weights: Vec<_> = self
            .features
            .iter()
            .map(|(name, &feature)| (name.as_str(), self.system.weight(feature)))
            .collect();
        weights.sort_unstable_by_key(|it| (rank_of(it.0), it.0));
        weights
    }

    /// The weight of a feature.
    pub(super) fn weight(&self, name: &str) -> Option<&BigRational> {
        self.system.weight(*self.features.get(name)?)
    }

    /// How many equations are independent.
    pub(super) fn rank(&self) -> usize {
        self.system.rank()
    }
}

/// The opcode first, then the guard, numbers, and modifiers.
fn rank_of(name: &str) -> usize {
    ["opcode", "guard", "@", "#"].iter().position(|it| name.starts_with(it)).unwrap_or(4)
}

/// The models that a key may have, most general first.
fn models(reading: &Reading) -> Vec<Model> {
    let has_float = reading.numbers.iter().any(|it| matches!(it, Number::Float(_)));
    let has_immediate = reading.numbers.iter().any(|it| !matches!(it, Number::Index(_)));
    let relative: &[bool] =
        if matches!(reading.numbers.last(), Some(Number::Immediate(_))) && !reading.key.ends_with(']') {
            &[false, true]
        } else {
            &[false]
        };
    // The first letter of a mnemonic mostly says how wide its floats are.
    let floats: &[Float] = match reading.key.as_bytes().first() {
        _ if !has_float => &[Float::F32],
        Some(b'D') => &[Float::F64High, Float::F32],
        Some(b'H') => &[Float::F16, Float::Bf16, Float::F32],
        _ => &[Float::F32, Float::F16, Float::Bf16, Float::F64High],
    };
    let mut models = Vec::new();
    for modifiers in [Modifiers::Apart, Modifiers::Placed, Modifiers::Head, Modifiers::All] {
        for immediates in [Immediates::Whole, Immediates::Bits] {
            for &float in floats {
                for &relative in relative {
                    if has_immediate || immediates == Immediates::Whole {
                        models.push(Model { modifiers, immediates, float, relative });
                    }
                }
            }
        }
    }
    let last = Model {
        modifiers: Modifiers::All,
        immediates: Immediates::Named,
        float: floats[0],
        relative: relative.len() > 1,
    };
    models.extend(has_immediate.then_some(last));
    models
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
