//! One form being learned: a base word, and components, groups of bits whose effect on the text is known apart from the
//! rest.
//!
//! A component's effect is a list of edits of the base's tokens: a token replaced (or deleted), or tokens inserted in
//! a gap. The text of any word is predicted by applying the edits of all components at once. Where a prediction is
//! wrong, the least set of components that shows it is found, and becomes one component.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::tokens::{Number, Style, number, spell, value};
use sass_table::Bits;
use sass_table::Float;

/// A place among the base's tokens: 2k is the gap before token k, 2k+1 is token k.
pub(crate) type TokenPosition = u16;
/// What a code does to the base's tokens.
pub(crate) type Edits = Vec<(TokenPosition, String)>;

/// How a field of many bits prints as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Integer { kind: Number, shift: u8, signed: bool },
    Float(Float),
}

/// What a component's codes do.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    /// Each code's edits; a code that is not there is illegal.
    Listed(HashMap<u64, Edits>),
    /// The token is the field as a number.
    Number { token: usize, format: Format },
}

/// Bits with a common effect.
#[derive(Clone, Debug)]
pub(crate) struct Component {
    pub(crate) bits: Bits,
    pub(crate) effect: Effect,
    /// Codes whose words belong to other forms.
    pub(crate) elsewhere: BTreeSet<u64>,
}

/// A form: its condition, base and components.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    /// Words of the form have `value` under `mask`.
    pub(crate) mask: u128,
    pub(crate) value: u128,
    pub(crate) base: u128,
    pub(crate) tokens: Vec<String>,
    pub(crate) style: Style,
    pub(crate) components: Vec<Component>,
    /// Pairs of masks of components: the first's insertions stand before the second's in the same gap.
    pub(crate) order: BTreeSet<(u128, u128)>,
}

impl Component {
    pub(crate) fn new(bits: Bits, effect: Effect) -> Component {
        Component { bits, effect, elsewhere: BTreeSet::new() }
    }

    /// The edits for the word; `None` if its code is illegal.
    pub(crate) fn edits(&self, word: u128) -> Option<Edits> {
        let code = self.bits.get(word);
        match &self.effect {
            Effect::Listed(codes) => codes.get(&code).cloned(),
            Effect::Number { token, format } => {
                let text = match *format {
                    Format::Integer { kind, shift, signed } => {
                        let width = self.bits.width();
                        let mut value = i128::from(code);
                        if signed && value >> (width - 1) == 1 {
                            value -= 1 << width;
                        }
                        spell(value << shift, kind)
                    }
                    Format::Float(format) => {
                        let mut text = String::new();
                        format.print(code, &mut text);
                        text.trim_end().to_string()
                    }
                };
                Some(vec![(2 * *token as TokenPosition + 1, text)])
            }
        }
    }

    /// Whether the code is legal, perhaps in another form.
    pub(crate) fn accepts(&self, code: u64) -> bool {
        match &self.effect {
            Effect::Listed(codes) => codes.contains_key(&code) || self.elsewhere.contains(&code),
            Effect::Number { .. } => true,
        }
    }

    /// Whether some code changes the text or is illegal, as far as the base shows.
    pub(crate) fn matters(&self) -> bool {
        match &self.effect {
            Effect::Number { .. } => true,
            Effect::Listed(codes) => {
                codes.len() + self.elsewhere.len() < 1 << self.bits.width()
                    || codes.values().any(|it| !it.is_empty())
            }
        }
    }

    /// The places that some code edits.
    pub(crate) fn places(&self) -> BTreeSet<TokenPosition> {
        match &self.effect {
            Effect::Listed(codes) => codes.values().flatten().map(|it| it.0).collect(),
            Effect::Number { token, .. } => [2 * *token as TokenPosition + 1].into(),
        }
    }
}

impl Draft {
    pub(crate) fn matches(&self, word: u128) -> bool {
        word & self.mask == self.value
    }

    /// The tokens that the components predict for the word, joined; `None` if illegal.
    pub(crate) fn predict(&self, word: u128) -> Option<String> {
        let mut edits: BTreeMap<TokenPosition, Vec<(u128, String)>> = BTreeMap::new();
        for component in &self.components {
            for (place, text) in component.edits(word)? {
                edits.entry(place).or_default().push((component.bits.mask(), text));
            }
        }
        let mut out = String::new();
        for at in 0..=self.tokens.len() {
            if let Some(inserted) = edits.get_mut(&(2 * at as TokenPosition)) {
                self.sort_gap(inserted);
                inserted.iter().for_each(|it| out.push_str(&it.1));
            }
            if let Some(token) = self.tokens.get(at) {
                match edits.get(&(2 * at as TokenPosition + 1)) {
                    Some(replaced) => out.push_str(&replaced[0].1),
                    None => out.push_str(token),
                }
            }
        }
        Some(out)
    }

    /// Sorts what several components put into one gap.
    pub(crate) fn sort_gap<T>(&self, inserted: &mut [(u128, T)]) {
        inserted.sort_by(|a, b| {
            if self.order.contains(&(a.0, b.0)) {
                std::cmp::Ordering::Less
            } else if self.order.contains(&(b.0, a.0)) {
                std::cmp::Ordering::Greater
            } else {
                a.0.trailing_zeros().cmp(&b.0.trailing_zeros())
            }
        });
    }

    /// The base with the components at these places of the list taken from the word.
    pub(crate) fn mixed(&self, word: u128, components: &[usize]) -> u128 {
        let mask = components.iter().fold(0, |mask, &at| mask | self.components[at].bits.mask());
        self.base & !mask | word & mask
    }

    /// The components in which the word differs from the base.
    pub(crate) fn differing(&self, word: u128) -> Vec<usize> {
        let differs = |at: &usize| (word ^ self.base) & self.components[*at].bits.mask() != 0;
        (0..self.components.len()).filter(differs).collect()
    }
}

/// The edits that turn the base's tokens into the others: the common subsequence is matched from the end, so that of
/// equal neighbours the first is the one that is edited.
pub(crate) fn edits(base: &[String], other: &[String]) -> Edits {
    let (n, m) = (base.len(), other.len());
    let mut common = vec![vec![0u16; m + 1]; n + 1];
    for i in 0..n {
        for j in 0..m {
            common[i + 1][j + 1] =
                if base[i] == other[j] { common[i][j] + 1 } else { common[i][j + 1].max(common[i + 1][j]) };
        }
    }
    let mut edits = Vec::new();
    let (mut i, mut j) = (n, m);
    let (mut from, mut to) = (n, m);
    while i > 0 && j > 0 {
        if base[i - 1] == other[j - 1] && common[i][j] == common[i - 1][j - 1] + 1 {
            hunk(base, other, i..from, j..to, &mut edits);
            (i, j) = (i - 1, j - 1);
            (from, to) = (i, j);
        } else if common[i - 1][j] >= common[i][j - 1] {
            i -= 1;
        } else {
            j -= 1;
        }
    }
    hunk(base, other, 0..from, 0..to, &mut edits);
    edits
}

fn hunk(
    base: &[String],
    other: &[String],
    from: std::ops::Range<usize>,
    to: std::ops::Range<usize>,
    edits: &mut Edits,
) {
    if from.is_empty() {
        if !to.is_empty() {
            edits.push((2 * from.start as TokenPosition, other[to].concat()));
        }
        return;
    }
    let same = from.len() == to.len();
    for (nth, token) in from.clone().enumerate() {
        let text = match (same, nth) {
            (true, _) => other[to.start + nth].clone(),
            (false, 0) => other[to.clone()].concat(),
            (false, _) => String::new(),
        };
        if text != base[token] {
            edits.push((2 * token as TokenPosition + 1, text));
        }
    }
}

/// The format of a field, from the base's number and what flipping each bit makes of it. `flips` are the bits, lowest
/// first, and their numbers.
pub(crate) fn format_of(base: u128, base_text: &str, flips: &[(u32, String)]) -> Option<Format> {
    let kind = number(base_text)?;
    if kind == Number::Float {
        let mask = flips.iter().fold(0u128, |mask, (bit, _)| mask | 1 << bit);
        let bits = Bits::of_mask(mask)?;
        return Float::ALL.into_iter().filter(|it| it.width() == bits.width()).map(Format::Float).find(
            |&format| {
                let component = Component::new(bits, Effect::Number { token: 0, format });
                let says = |word: u128, text: &str| component.edits(word).is_some_and(|it| it[0].1 == text);
                says(base, base_text) && flips.iter().all(|(bit, text)| says(base ^ 1 << bit, text))
            },
        );
    }
    let start = value(base_text)?;
    let mut weights = Vec::new();
    let mut constant = start;
    for (bit, text) in flips {
        let change = value(text)? - start;
        let set = base >> bit & 1 == 1;
        let weight = if set { -change } else { change };
        if set {
            constant -= weight;
        }
        weights.push(weight);
    }
    let shift = weights.first()?.checked_ilog2()? as u8;
    let last = weights.len() - 1;
    let signed = weights[last] < 0;
    let regular = weights.iter().enumerate().all(|(at, &weight)| {
        weight == (1i128 << (at + usize::from(shift))) * if signed && at == last { -1 } else { 1 }
    });
    (regular && constant == 0).then_some(Format::Integer { kind, shift, signed })
}
