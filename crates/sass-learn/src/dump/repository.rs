//! All keys of an architecture: build, update, verify, merge.

use std::collections::{BTreeMap, HashMap};

use super::encoder::{Encoder, Kept, Learned, Prediction, spoken};
use super::listing::Sample;
use super::reading::Reading;
use super::system::whole;
use sass::Arch;
use sass::{Control, Instruction};
use sass::{NoSymbols, parse};

/// What dumped code says of an architecture's encodings.
#[derive(Clone, Debug)]
pub struct Repository {
    pub(super) arch: Arch,
    pub(super) keys: BTreeMap<String, Encoder>,
}

/// A sample that contradicts others of its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The key.
    pub key: String,
    /// The sample's text.
    pub text: String,
    /// Its word.
    pub word: u128,
    /// The word that the others imply, without the control code; `None` if they imply none by themselves.
    pub expected: Option<u128>,
}

/// What taking in samples did.
#[derive(Clone, Debug, Default)]
pub struct Update {
    /// How many samples there were.
    pub samples: usize,
    /// Texts that are not spelled like instructions: the first of them.
    pub unreadable: Vec<String>,
    /// How many such texts there were.
    pub unreadable_count: usize,
    /// Keys that were not known.
    pub new_keys: usize,
    /// Samples that determined more of their key.
    pub determining: usize,
    /// Samples that refuted their key's model, where a less general one explains them all.
    pub refined: usize,
    /// Samples that contradict others, so that bits are hidden or nothing explains the key: the first of them.
    pub contradictions: Vec<Contradiction>,
    /// How many samples contradicted others.
    pub contradiction_count: usize,
}

/// What a repository says of one sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The word's bits are as predicted, all but the control code.
    Right,
    /// The bits that the text determines are; others are not.
    RightButHidden,
    /// The text would be this word, without the control code.
    Wrong(u128),
    /// The key was never seen.
    UnknownKey,
    /// These features' weights are not known.
    Open(Vec<String>),
    /// No model explains the key's samples: they are too few, or the text leaves out too much.
    Unexplained,
    /// The text is not spelled like an instruction.
    Unreadable,
}

/// How many samples of each verdict there were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// All samples.
    pub samples: usize,
    /// [`Verdict::Right`].
    pub right: usize,
    /// [`Verdict::RightButHidden`].
    pub hidden: usize,
    /// [`Verdict::Wrong`].
    pub wrong: usize,
    /// [`Verdict::UnknownKey`].
    pub unknown: usize,
    /// [`Verdict::Open`].
    pub open: usize,
    /// [`Verdict::Unexplained`].
    pub unexplained: usize,
    /// [`Verdict::Unreadable`].
    pub unreadable: usize,
    /// The first samples that were not right, with what was said of them.
    pub examples: Vec<(String, u128, Verdict)>,
    /// What the built-in table makes of the samples, if it was asked.
    pub table: Option<TableVerification>,
}

/// How the built-in table encodes samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableVerification {
    /// How many it encodes to their words, the control code apart.
    pub right: usize,
    /// Others, one of each mnemonic: the text, its word, and the table's if it takes the text.
    pub examples: Vec<(String, u128, Option<u128>)>,
}

impl TableVerification {
    fn ask(&mut self, arch: Arch, sample: &Sample<'_>) {
        let control = Control::of(sample.word);
        let word =
            parse(arch, &sample.text, control, sample.address, &mut NoSymbols).map(|it| it.word()).ok();
        if word.map(spoken) == Some(spoken(sample.word)) {
            self.right += 1;
        } else if !self.examples.iter().any(|it| mnemonic(&it.0) == mnemonic(&sample.text)) {
            self.examples.push((sample.text.to_string(), sample.word, word));
        }
    }
}

fn mnemonic(text: &str) -> &str {
    Instruction::head(text).split('.').next().unwrap_or("")
}

impl Verification {
    /// Keeps it as an example, unless there are enough of its kind or one like it.
    fn note(&mut self, sample: &Sample<'_>, verdict: Verdict) {
        let kind = std::mem::discriminant(&verdict);
        let same_kind = self.examples.iter().filter(|it| std::mem::discriminant(&it.2) == kind);
        let like_it = |it: &(String, u128, Verdict)| {
            mnemonic(&it.0) == mnemonic(&sample.text)
                && (it.2 == verdict || matches!(verdict, Verdict::Wrong(_)))
        };
        if same_kind.clone().count() < EXAMPLES && !same_kind.clone().any(like_it) {
            self.examples.push((sample.text.to_string(), sample.word, verdict));
        }
    }
}

/// How many examples of each kind a report keeps.
const EXAMPLES: usize = 20;
/// How often samples are gone through again because models have changed.
const PASSES: usize = 8;
/// What every instruction has alike: its weight is taken over where so many keys agree on it and none differs.
const COMMON: [&str; 2] = ["guard", "@!"];
const AGREEING: usize = 3;

impl Repository {
    /// One without samples.
    pub fn new(arch: Arch) -> Repository {
        Repository { arch, keys: BTreeMap::new() }
    }

    /// The architecture.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// Takes samples in. They are gone through again where a sample has changed a key's model, since those before it may say
    /// something under the new one.
    pub fn update(&mut self, samples: &[Sample<'_>]) -> Update {
        let mut update = Update { samples: samples.len(), ..Update::default() };
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let mut key_of: Vec<u32> = Vec::with_capacity(samples.len());
        let mut changed: Vec<bool> = Vec::new();
        for sample in samples {
            let Some(reading) = Reading::of(&sample.text, self.arch) else {
                update.unreadable_count += 1;
                if update.unreadable.len() < EXAMPLES {
                    update.unreadable.push(sample.text.to_string());
                }
                key_of.push(u32::MAX);
                continue;
            };
            let next = numbers.len() as u32;
            let number = *numbers.entry(reading.key.clone()).or_insert(next);
            if number == next {
                changed.push(false);
                update.new_keys += usize::from(!self.keys.contains_key(&reading.key));
            }
            key_of.push(number);
            changed[number as usize] |= self.learn(reading, sample, &mut update);
        }
        for _ in 1..PASSES {
            if !changed.contains(&true) {
                break;
            }
            let before = std::mem::replace(&mut changed, vec![false; numbers.len()]);
            for (sample, &number) in samples.iter().zip(&key_of) {
                if before.get(number as usize) == Some(&true)
                    && let Some(reading) = Reading::of(&sample.text, self.arch)
                {
                    changed[number as usize] |= self.learn(reading, sample, &mut update);
                }
            }
        }
        self.settle_common();
        update
    }

    /// Takes one sample in; whether its key's model has changed.
    fn learn(&mut self, reading: Reading, sample: &Sample<'_>, update: &mut Update) -> bool {
        let encoder = self.keys.entry(reading.key.clone()).or_default();
        let key = reading.key.clone();
        let kept =
            Kept { reading, address: sample.address, text: sample.text.to_string(), word: sample.word };
        match encoder.learn(kept) {
            Learned::Nothing => false,
            Learned::More => {
                update.determining += 1;
                false
            }
            Learned::Refined => {
                update.refined += 1;
                true
            }
            Learned::Contradiction(expected) => {
                update.contradiction_count += 1;
                if update.contradictions.len() < EXAMPLES {
                    let (text, word) = (sample.text.to_string(), sample.word);
                    update.contradictions.push(Contradiction { key, text, word, expected });
                }
                true
            }
        }
    }

    /// What enough keys say alike holds for all.
    fn settle_common(&mut self) {
        for name in COMMON {
            let weights: Vec<u128> = self
                .keys
                .values()
                .filter(|it| it.model().is_some() && !it.assumes(name))
                .filter_map(|it| whole(it.weight(name)?).and_then(|it| u128::try_from(it).ok()))
                .collect();
            if let Some(&weight) = weights.first().filter(|_| weights.len() >= AGREEING)
                && weights.iter().all(|it| *it == weight)
            {
                self.keys.values_mut().for_each(|it| it.assume(name, weight));
            }
        }
    }

    /// What it says of a sample.
    pub fn judge(&self, sample: &Sample<'_>) -> Verdict {
        let Some(reading) = Reading::of(&sample.text, self.arch) else { return Verdict::Unreadable };
        let Some(encoder) = self.keys.get(&reading.key) else { return Verdict::UnknownKey };
        match encoder.predict(&reading, sample.address) {
            Prediction::Word(word) => {
                let actual = spoken(sample.word);
                match word == actual & !encoder.hidden {
                    true if word == actual => Verdict::Right,
                    true => Verdict::RightButHidden,
                    false => Verdict::Wrong(word),
                }
            }
            Prediction::Open(features) => Verdict::Open(features),
            Prediction::NoWord | Prediction::Unexplained => Verdict::Unexplained,
        }
    }

    /// Encodes the samples' texts and compares with their words; with `table`, the built-in table too.
    pub fn verify<'a>(&self, samples: impl IntoIterator<Item = &'a Sample<'a>>, table: bool) -> Verification {
        let mut verification =
            Verification { table: table.then(TableVerification::default), ..Verification::default() };
        for sample in samples {
            let verdict = self.judge(sample);
            verification.samples += 1;
            *match verdict {
                Verdict::Right => &mut verification.right,
                Verdict::RightButHidden => &mut verification.hidden,
                Verdict::Wrong(_) => &mut verification.wrong,
                Verdict::UnknownKey => &mut verification.unknown,
                Verdict::Open(_) => &mut verification.open,
                Verdict::Unexplained => &mut verification.unexplained,
                Verdict::Unreadable => &mut verification.unreadable,
            } += 1;
            if !matches!(verdict, Verdict::Right | Verdict::RightButHidden) {
                verification.note(sample, verdict);
            }
            if let Some(table) = &mut verification.table {
                table.ask(self.arch, sample);
            }
        }
        verification
    }

    /// The samples that it is made of.
    pub fn samples(&self) -> impl Iterator<Item = Sample<'_>> {
        self.keys.values().flat_map(|it| &it.samples).map(|it| Sample {
            function: 0,
            address: it.address,
            text: it.text.as_str().into(),
            word: it.word,
        })
    }

    /// Takes in all that another one knows. Contradictions are samples of the other that are against what this one says.
    pub fn merge(&mut self, other: &Repository) -> Update {
        let samples: Vec<Sample<'_>> = other.samples().collect();
        self.update(&samples)
    }
}
