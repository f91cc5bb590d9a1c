//! Learning one opcode: samples, a base, single flips, then predictions refined by counterexamples until many in a row
//! are right.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::apart::{Condition, deciding, number_of, set_apart};
use super::culprit::{Culprit, Verdict};
use super::form::{Component, Draft, Edits, Effect, Format, edits};
use super::oracle::{Answer, Meeting};
use super::random::Random;
use super::scoreboards::QUIET;
use super::tokens::{Number, Style, alike, is_register, number, tokens};
use sass::control::BELOW;
use sass_table::Bits;
use sass_table::table::{OPCODE_MASK, opcode_bits};

/// Stall, yield selector and three reuse flags: they are one table in the hardware's description, so one component.
const ISSUE: u128 = 0x1f << 105 | 7 << 122;
/// The guard predicate.
const GUARD: u128 = 0xf << 12;
/// The bits that are learned: all but the opcode, the scoreboards and the top two.
const LEARNED: u128 = BELOW & !OPCODE_MASK | ISSUE | 1 << 125;
/// The widest component whose codes are all tried.
const WIDEST: u32 = 12;
/// Rounds that a form may take.
const PATIENCE: usize = 16;
/// Rounds that all forms of an opcode together may take.
const OPCODE_PATIENCE: usize = 48;
/// Forms that an opcode may have.
const MOST_FORMS: usize = 40;
/// Words in a row that must be predicted before a form counts as learned.
const ENOUGH: usize = 800;

/// A form and what was wrong with it in the end.
pub(crate) struct Learned {
    pub(crate) draft: Draft,
    /// Words predicted, in the last round, and how many of them wrongly: in their text, or in being legal.
    pub(crate) tried: usize,
    pub(crate) wrong_text: usize,
    pub(crate) wrong_legality: usize,
}

pub(crate) struct Learner<'a> {
    pub(crate) meeting: &'a Meeting<'a>,
    pub(crate) who: usize,
    pub(crate) opcode: usize,
    pub(crate) random: Random,
    /// Bits of which every code is learned by itself.
    split: Bits,
    /// Rounds that may still be taken.
    patience: usize,
    pool: Vec<(u128, String, u64)>,
    style: Style,
}

impl<'a> Learner<'a> {
    pub(crate) fn new(meeting: &'a Meeting<'a>, who: usize, opcode: usize, split: Bits) -> Learner<'a> {
        Learner {
            meeting,
            who,
            opcode,
            random: Random::new(opcode as u64 + 1),
            split,
            patience: OPCODE_PATIENCE,
            pool: Vec::new(),
            style: Style::default(),
        }
    }

    pub(crate) fn ask(&self, words: Vec<u128>) -> Result<Vec<Answer>, String> {
        if words.is_empty() {
            return Ok(Vec::new());
        }
        self.meeting.ask(self.who, words)
    }

    fn random_word(&mut self) -> u128 {
        let mut bits = self.random.bits128();
        match self.random.below(4) {
            0 => bits &= self.random.bits128(),
            1 => bits &= self.random.bits128() & self.random.bits128(),
            _ => {}
        }
        bits & LEARNED & !ISSUE & !(1 << 125) | opcode_bits(self.opcode) | QUIET
    }

    /// All forms of the opcode; the order is that in which they must be tried.
    pub(crate) fn learn(&mut self) -> Result<Vec<Learned>, String> {
        self.sample()?;
        let mut forms = Vec::new();
        let split = self.split;
        for code in 0..1u64 << split.width() {
            self.patience = OPCODE_PATIENCE;
            let value = split.put(opcode_bits(self.opcode), code);
            forms.extend(self.forms((OPCODE_MASK | split.mask(), value))?);
        }
        // A form that was split off has a narrower condition and was learned later.
        forms.sort_by_key(|it| std::cmp::Reverse(it.draft.mask.count_ones()));
        Ok(forms)
    }

    /// All forms of the words of a condition.
    fn forms(&mut self, all: Condition) -> Result<Vec<Learned>, String> {
        let mut forms = Vec::new();
        let mut open: Vec<Condition> = vec![all];
        let mut taken: Vec<Condition> = Vec::new();
        while let Some(condition) = open.pop() {
            let inside =
                |it: &&Condition| it.0 & condition.0 == condition.0 && it.1 & condition.0 == condition.1;
            let excluded: Vec<Condition> = taken.iter().filter(inside).copied().collect();
            let split_before = open.len();
            if let Some(learned) = self.form(condition, excluded, &mut open)? {
                forms.push(learned);
            }
            taken.push(condition);
            let specials = open.split_off(split_before);
            for special in specials {
                if !open.contains(&special) && !taken.contains(&special) {
                    open.push(special);
                }
            }
            // What is left of the special cases is read by the general form, perhaps with another text.
            if forms.len() >= MOST_FORMS {
                break;
            }
        }
        Ok(forms)
    }

    fn sample(&mut self) -> Result<(), String> {
        let mut legal: Vec<(u128, String, u64)> = Vec::new();
        for round in 0..6 {
            let words: Vec<u128> =
                (0..if round == 0 { 300 } else { 3000 }).map(|_| self.random_word()).collect();
            let answers = self.ask(words.clone())?;
            legal.extend(
                words.into_iter().zip(answers).filter_map(|(word, it)| it.map(|it| (word, it.0, it.1))),
            );
            if legal.len() >= 100 {
                break;
            }
        }
        let zero = opcode_bits(self.opcode) | QUIET;
        if let Some((text, address)) = self.ask(vec![zero])?.remove(0) {
            legal.push((zero, text, address));
        }
        let again: Vec<u128> = legal.iter().take(8).map(|it| it.0).collect();
        let moved = self.ask(again.iter().flat_map(|&it| [zero, it]).collect())?;
        self.style = Style::of(legal.iter().map(|it| it.1.as_str()));
        self.style.relative = legal
            .iter()
            .zip(moved.iter().skip(1).step_by(2))
            .any(|(sample, moved)| moved.as_ref().is_some_and(|it| it.0 != sample.1));
        self.pool = legal;
        Ok(())
    }

    fn form(
        &mut self,
        condition: Condition,
        mut excluded: Vec<Condition>,
        open: &mut Vec<Condition>,
    ) -> Result<Option<Learned>, String> {
        let Some(mut draft) = self.base(condition, &excluded)? else { return Ok(None) };
        self.flip(&mut draft, &mut excluded, open)?;
        self.hidden(&draft, &mut excluded, open)?;
        let (mut tried, mut wrong_text, mut wrong_legality) = (0, 0, 0);
        let mut clean = 0;
        let mut size = 150;
        for round in 0..PATIENCE {
            let last = round + 1 == PATIENCE || self.patience == 0;
            self.patience = self.patience.saturating_sub(1);
            self.join_overlaps(&mut draft, &mut excluded, open)?;
            if round < 2 && !last {
                let culprits = self.survey(&draft, &excluded)?;
                if self.refine(&mut draft, culprits, &mut excluded, open)? {
                    continue;
                }
            }
            let words: Vec<u128> = (0..size)
                .map(|_| self.draw(&draft))
                .filter(|&it| draft.matches(it) && !excluded.iter().any(|e| it & e.0 == e.1))
                .collect();
            let answers = self.ask(words.clone())?;
            let mut wrong: Vec<u128> = Vec::new();
            (tried, wrong_text, wrong_legality) = (words.len(), 0, 0);
            for (&word, answer) in words.iter().zip(&answers) {
                match self.judge(&draft, word, answer) {
                    Verdict::Right => continue,
                    Verdict::Text => wrong_text += 1,
                    Verdict::Legality => wrong_legality += 1,
                }
                wrong.push(word);
            }
            if wrong.is_empty() {
                clean += words.len().max(1);
                if clean >= ENOUGH {
                    break;
                }
                size = (size * 2).min(ENOUGH);
                continue;
            }
            if last {
                break;
            }
            clean = 0;
            wrong.truncate(6);
            let culprits = self.least(&draft, &wrong, &excluded)?;
            if !self.refine(&mut draft, culprits, &mut excluded, open)? && wrong_text == 0 {
                // Only what is legal is not known for some combinations; larger samples find what can still be found.
                if size >= ENOUGH {
                    break;
                }
                size = (size * 2).min(ENOUGH);
            }
        }
        Ok(Some(Learned { draft, tried, wrong_text, wrong_legality }))
    }

    /// The legal sample with the most tokens and the fewest of those that stand for nothing, with all reuse flags that it can show.
    fn base(&mut self, condition: Condition, excluded: &[Condition]) -> Result<Option<Draft>, String> {
        let inside =
            |word: u128| word & condition.0 == condition.1 && !excluded.iter().any(|e| word & e.0 == e.1);
        if self.pool.iter().filter(|it| inside(it.0)).count() < 20 {
            let words: Vec<u128> = (0..3000)
                .map(|_| {
                    let from = self.random.below(2 * self.pool.len().max(1));
                    let word = match self.pool.get(from) {
                        Some(sample) => sample.0,
                        None => self.random_word(),
                    };
                    word & !condition.0 | condition.1
                })
                .filter(|&it| inside(it))
                .collect();
            let answers = self.ask(words.clone())?;
            self.pool.extend(
                words.into_iter().zip(answers).filter_map(|(word, it)| it.map(|it| (word, it.0, it.1))),
            );
        }
        let style = self.style;
        let mut best: Option<(i64, u128)> = None;
        for (word, text, address) in self.pool.iter().filter(|it| inside(it.0)) {
            let tokens = tokens(text, *address, &style);
            let mut seen = BTreeSet::new();
            let mut score = 4 * tokens.len() as i64;
            for token in &tokens {
                let named = token.trim_start_matches('+');
                let dull = matches!(named, "RZ" | "URZ" | "PT" | "UPT" | "0x0" | "R0" | "0");
                let odd = token.contains("INVALID") || token.contains('?');
                let register = named.len() > 1 && named.starts_with(['R', 'U', 'P']);
                let negative = number(token).is_some() && token.contains('-');
                let named_float = token.contains("NAN") || token.contains("INF");
                // One flip away from RZ or URZ.
                let edge = matches!(
                    named,
                    "R254"
                        | "R253"
                        | "R251"
                        | "R247"
                        | "R239"
                        | "R223"
                        | "R191"
                        | "R127"
                        | "UR62"
                        | "UR61"
                        | "UR59"
                        | "UR55"
                        | "UR47"
                        | "UR31"
                );
                if edge {
                    score -= 15;
                }
                if dull || odd || negative || named_float || register && !seen.insert(named.to_string()) {
                    score -= if dull { 20 } else { 7 };
                }
            }
            if best.is_none_or(|it| score > it.0) {
                best = Some((score, *word));
            }
        }
        let Some((_, base)) = best else { return Ok(None) };
        let mut style = style;
        if style.relative {
            // One opcode may have targets and absolute addresses, as RET.REL and RET.ABS; a form has one of them.
            let twice = self.ask(vec![base; 2])?;
            style.relative = matches!(&twice[..], [Some(one), Some(other)] if one.0 != other.0);
        }
        let issue: Vec<u128> = [7u128, 3, 5, 6, 1, 2, 4, 0]
            .iter()
            .map(|reuse| base & !ISSUE | 1 << 105 | 1 << 109 | reuse << 122)
            .collect();
        let answers = self.ask(issue.iter().copied().chain([base]).collect())?;
        let mut draft = Draft {
            mask: condition.0,
            value: condition.1,
            base,
            tokens: Vec::new(),
            style,
            components: Vec::new(),
            order: BTreeSet::new(),
        };
        for (&word, answer) in issue.iter().chain([&base]).zip(&answers) {
            if let Some((text, address)) = answer {
                let tokens = tokens(text, *address, &style);
                if tokens.len() > draft.tokens.len() {
                    (draft.tokens, draft.base) = (tokens, word);
                }
            }
        }
        Ok(Some(draft))
    }

    /// Flips every bit of the base and makes the first components.
    fn flip(
        &mut self,
        draft: &mut Draft,
        excluded: &mut Vec<Condition>,
        open: &mut Vec<Condition>,
    ) -> Result<(), String> {
        let bits: Vec<u32> = (0..128).filter(|bit| LEARNED & !draft.mask & !ISSUE & 1 << bit != 0).collect();
        let answers = self.ask(bits.iter().map(|bit| draft.base ^ 1 << bit).collect())?;
        let texts: Vec<Option<Vec<String>>> = answers
            .iter()
            .map(|it| it.as_ref().map(|(text, address)| tokens(text, *address, &draft.style)))
            .collect();
        let mut modes = 0u128;
        let mut numbers: BTreeMap<usize, Vec<(u32, String)>> = BTreeMap::new();
        let mut groups: Vec<(u128, BTreeSet<u16>)> = Vec::new();
        if ISSUE & draft.mask == 0 {
            groups.push((ISSUE, BTreeSet::new()));
        }
        for (&bit, tokens) in bits.iter().zip(&texts) {
            let Some(tokens) = tokens else {
                groups.push((1 << bit, BTreeSet::new()));
                continue;
            };
            if !alike(tokens, &draft.tokens) {
                modes |= 1 << bit;
                continue;
            }
            let edits = edits(&draft.tokens, tokens);
            if !in_step(&draft.tokens, &edits) {
                modes |= 1 << bit;
                continue;
            }
            if let [(place, text)] = &edits[..]
                && place % 2 == 1
                && number(text).is_some()
                && number(text) == number(&draft.tokens[usize::from(place / 2)])
            {
                numbers.entry(usize::from(place / 2)).or_default().push((bit, text.clone()));
                continue;
            }
            groups.push((1 << bit, edits.iter().map(|it| it.0).filter(|it| it % 2 == 1).collect()));
        }
        for (token, flips) in numbers {
            let place = 2 * token as u16 + 1;
            let Some((bits, format, others)) = number_of(draft, token, &flips) else {
                groups.push((flips.iter().fold(0, |mask, it| mask | 1 << it.0), [place].into()));
                continue;
            };
            if let Format::Integer { kind: Number::Offset, signed: true, shift: 0 } = format {
                draft.style.offset_width = bits.width();
                self.style.offset_width = bits.width();
            }
            draft.components.push(Component::new(bits, Effect::Number { token, format }));
            // What changes how the number is read makes another form.
            modes |= others;
            groups.retain(|(mask, places)| {
                let touches = places.contains(&place);
                modes |= if touches { *mask } else { 0 };
                !touches
            });
        }
        for bit in (0..128).filter(|bit| modes >> bit & 1 == 1) {
            let special = (draft.mask | 1 << bit, draft.value & !(1 << bit) | !draft.base & 1 << bit);
            set_apart(special, excluded, open);
        }
        self.without_number(draft, excluded, open)?;
        // Bits that edit the same token belong together.
        let mut joined: Vec<(u128, BTreeSet<u16>)> = Vec::new();
        for (mut mask, mut places) in groups {
            joined.retain(|(other, theirs)| {
                let apart = theirs.is_disjoint(&places);
                if !apart {
                    mask |= other;
                    places.extend(theirs);
                }
                apart
            });
            joined.push((mask, places));
        }
        let masks: Vec<u128> = joined.iter().map(|it| it.0).collect();
        self.add_listed(draft, &masks, excluded, open)
    }

    /// Numbers that are not printed where all their bits are 0, or all 1, make a form without them.
    fn without_number(
        &mut self,
        draft: &Draft,
        excluded: &mut Vec<Condition>,
        open: &mut Vec<Condition>,
    ) -> Result<(), String> {
        let numbers: Vec<(Bits, u64)> =
            draft.components.iter().flat_map(|it| [(it.bits, 0), (it.bits, u64::MAX)]).collect();
        let answers = self.ask(numbers.iter().map(|(bits, value)| bits.put(draft.base, *value)).collect())?;
        for ((bits, value), answer) in numbers.iter().zip(answers) {
            if let Some((text, address)) = answer
                && !alike(&tokens(&text, address, &draft.style), &draft.tokens)
            {
                set_apart((draft.mask | bits.mask(), bits.put(draft.value, *value)), excluded, open);
            }
        }
        Ok(())
    }

    /// Codes that are illegal in the base but legal where all registers are RZ and all numbers 0: they are set apart.
    fn hidden(
        &mut self,
        draft: &Draft,
        excluded: &mut Vec<Condition>,
        open: &mut Vec<Condition>,
    ) -> Result<(), String> {
        let mut dull = draft.base;
        for component in &draft.components {
            let zero = match &component.effect {
                Effect::Number { .. } => Some(0),
                Effect::Listed(codes) => {
                    let none = |edits: &Edits| {
                        edits.len() == 1 && matches!(edits[0].1.trim_start_matches('+'), "RZ" | "URZ")
                    };
                    codes.iter().filter(|it| none(it.1)).map(|it| *it.0).min()
                }
            };
            dull = zero.map_or(dull, |it| component.bits.put(dull, it));
        }
        // The registers whose RZ makes another kind of text.
        for &(mask, value) in excluded.iter() {
            let own = mask & !draft.mask;
            if own.count_ones() >= 6 && value & own == own {
                dull |= own;
            }
        }
        let mut words = Vec::new();
        for component in draft.components.iter().filter(|it| it.bits.width() <= 5) {
            let codes = (0..1u64 << component.bits.width()).filter(|&it| !component.accepts(it));
            words.extend(codes.map(|code| (component.bits, code, component.bits.put(dull, code))));
        }
        let answers = self.ask(words.iter().map(|it| it.2).collect())?;
        for ((bits, code, word), answer) in words.into_iter().zip(answers) {
            let special = (draft.mask | bits.mask(), bits.put(draft.value, code));
            if let Some((text, address)) = answer
                && !excluded.iter().any(|it| word & it.0 == it.1)
            {
                self.pool.push((word, text, address));
                set_apart(special, excluded, open);
            }
        }
        Ok(())
    }

    /// Adds components of these bits, every code of them tried; too wide ones are left out and stay unexplained. Codes that
    /// make another kind of text are set apart.
    fn add_listed(
        &mut self,
        draft: &mut Draft,
        masks: &[u128],
        excluded: &mut Vec<Condition>,
        open: &mut Vec<Condition>,
    ) -> Result<(), String> {
        let fields: Vec<Bits> =
            masks.iter().filter_map(|&it| Bits::of_mask(it)).filter(|it| it.width() <= WIDEST + 2).collect();
        let words =
            fields.iter().flat_map(|bits| (0..1u64 << bits.width()).map(|code| bits.put(draft.base, code)));
        let answers = self.ask(words.collect())?;
        let mut answers = answers.iter();
        for bits in fields {
            let mut codes: HashMap<u64, Edits> = HashMap::new();
            let mut strange: BTreeMap<u64, bool> = BTreeMap::new();
            for (code, answer) in answers.by_ref().take(1 << bits.width()).enumerate() {
                let Some((text, address)) = answer else { continue };
                let tokens = tokens(text, *address, &draft.style);
                strange.insert(code as u64, !alike(&tokens, &draft.tokens));
                codes.insert(code as u64, edits(&draft.tokens, &tokens));
            }
            for special in deciding(bits, &strange) {
                let special = (draft.mask | special.0, draft.value & !special.0 | special.1);
                set_apart(special, excluded, open);
            }
            let word = |code: u64| bits.put(draft.base, code);
            let elsewhere: BTreeSet<u64> = (0..1u64 << bits.width())
                .filter(|&code| excluded.iter().any(|it| word(code) & it.0 == it.1))
                .collect();
            codes.retain(|code, _| !elsewhere.contains(code));
            draft.components.push(Component { bits, effect: Effect::Listed(codes), elsewhere });
        }
        Ok(())
    }

    /// A random legal code.
    fn legal(&mut self, codes: &HashMap<u64, Edits>, width: u32) -> u64 {
        for _ in 0..64 {
            let code = self.random.below(1 << width) as u64;
            if codes.contains_key(&code) {
                return code;
            }
        }
        codes.keys().copied().min().unwrap_or(0)
    }

    /// Components that edit the same token become one, or the form is split.
    fn join_overlaps(
        &mut self,
        draft: &mut Draft,
        excluded: &mut Vec<Condition>,
        open: &mut Vec<Condition>,
    ) -> Result<(), String> {
        for _ in 0..40 {
            let places: Vec<BTreeSet<u16>> = draft
                .components
                .iter()
                .map(|component| component.places().into_iter().filter(|it| it % 2 == 1).collect())
                .collect();
            let count = places.len();
            let overlap = (0..count)
                .flat_map(|a| (0..a).map(move |b| (b, a)))
                .find(|&(a, b)| !places[a].is_disjoint(&places[b]));
            let Some((a, b)) = overlap else { return Ok(()) };
            let shared: BTreeSet<u16> = places[a].intersection(&places[b]).copied().collect();
            let group = vec![draft.components[a].bits.mask(), draft.components[b].bits.mask()];
            if self.join(draft, &[group], excluded, open)?.is_empty() {
                continue;
            }
            // Too wide to be one: the codes of the narrower that touch the shared token get forms of their own.
            let listed = |at: usize| matches!(draft.components[at].effect, Effect::Listed(_));
            let narrow = match (listed(a), listed(b)) {
                (true, true) if draft.components[a].bits.width() > draft.components[b].bits.width() => b,
                (true, _) => a,
                (false, true) => b,
                (false, false) => return Ok(()),
            };
            let bits = draft.components[narrow].bits;
            let Component { effect, elsewhere, .. } = &mut draft.components[narrow];
            if let Effect::Listed(codes) = effect {
                let mut touching: Vec<u64> = codes
                    .iter()
                    .filter(|(_, edits)| edits.iter().any(|it| shared.contains(&it.0)))
                    .map(|it| *it.0)
                    .collect();
                touching.sort_unstable();
                for code in touching {
                    codes.remove(&code);
                    elsewhere.insert(code);
                    let special = (draft.mask | bits.mask(), bits.put(draft.value, code));
                    set_apart(special, excluded, open);
                }
            }
        }
        Ok(())
    }

    /// Makes the components of each group one, if that is not too wide; says which groups it could not join.
    fn join(
        &mut self,
        draft: &mut Draft,
        groups: &[Vec<u128>],
        excluded: &mut Vec<Condition>,
        open: &mut Vec<Condition>,
    ) -> Result<Vec<usize>, String> {
        let mut joined: Vec<u128> = Vec::new();
        let mut failed = Vec::new();
        for (nth, group) in groups.iter().enumerate() {
            let own = group.iter().fold(0, |mask, it| mask | it);
            let mask = joined.iter().filter(|it| **it & own != 0).fold(own, |mask, it| mask | it);
            let number =
                |it: &Component| it.bits.mask() & mask != 0 && !matches!(it.effect, Effect::Listed(_));
            let wide = mask.count_ones() > WIDEST && !joined.contains(&mask);
            if wide
                || Bits::of_mask(mask).is_none()
                || draft.components.iter().any(|it| mask.count_ones() > 8 && number(it))
            {
                failed.push(nth);
                continue;
            }
            joined.retain(|it| it & mask == 0);
            joined.push(mask);
        }
        let renamed = |it: u128| joined.iter().copied().find(|mask| mask & it != 0).unwrap_or(it);
        draft.order =
            draft.order.iter().map(|&(a, b)| (renamed(a), renamed(b))).filter(|it| it.0 != it.1).collect();
        draft.components.retain(|it| joined.iter().all(|mask| mask & it.bits.mask() == 0));
        self.add_listed(draft, &joined, excluded, open)?;
        Ok(failed)
    }

    /// A word of the form: codes that should be legal, or any bits.
    pub(super) fn draw(&mut self, draft: &Draft) -> u128 {
        let mut word = draft.base;
        let free = self.random.below(8) == 0;
        if free {
            let bits = self.random.bits128();
            let mask = LEARNED & !draft.mask & !ISSUE;
            word = word & !mask | bits & mask;
        }
        for component in &draft.components {
            match &component.effect {
                _ if free && component.bits.mask() & ISSUE == 0 => {}
                Effect::Listed(codes) => {
                    let code = self.legal(codes, component.bits.width());
                    word = component.bits.put(word, code);
                }
                Effect::Number { .. } => {
                    let value = match self.random.below(12) {
                        0 => 0,
                        3 => 1,
                        1 => u64::MAX,
                        2 => 1 << (component.bits.width() - 1),
                        _ => self.random.bits64(),
                    };
                    word = component.bits.put(word, value);
                }
            }
        }
        word
    }

    pub(super) fn judge(&self, draft: &Draft, word: u128, answer: &Answer) -> Verdict {
        let said = answer.as_ref().map(|(text, address)| tokens(text, *address, &draft.style).concat());
        match (draft.predict(word), said) {
            (predicted, said) if predicted == said => Verdict::Right,
            (Some(_), Some(_)) => Verdict::Text,
            _ => Verdict::Legality,
        }
    }

    /// Changes the draft so that the culprits are predicted better; false if nothing could be done.
    fn refine(
        &mut self,
        draft: &mut Draft,
        culprits: Vec<Culprit>,
        excluded: &mut Vec<Condition>,
        open: &mut Vec<Condition>,
    ) -> Result<bool, String> {
        let culprits = self.alone(draft, culprits, excluded)?;
        let mut changed = false;
        let mut groups: Vec<Vec<u128>> = Vec::new();
        let mut kept: Vec<Culprit> = Vec::new();
        for culprit in culprits {
            if culprit.verdict == Verdict::Text && self.reorder(draft, &culprit) {
                changed = true;
            } else if !groups.contains(&culprit.masks) {
                groups.push(culprit.masks.clone());
                kept.push(culprit);
            }
        }
        let failed = self.join(draft, &groups, excluded, open)?;
        changed |= failed.len() < groups.len();
        for nth in failed {
            let Culprit { masks, word, verdict, .. } = &kept[nth];
            if *verdict == Verdict::Legality && open.len() + excluded.len() > 6 {
                continue;
            }
            // Too wide to be one: a code gets a form of its own, RZ and the like rather than others, then that of the
            // narrowest; a number only where it is all that is left.
            let narrow =
                draft.components.iter_mut().filter(|it| masks.contains(&it.bits.mask())).min_by_key(|it| {
                    let common = it.bits.mask() & (ISSUE | GUARD) != 0;
                    let code = it.bits.get(*word);
                    let listed = matches!(it.effect, Effect::Listed(_));
                    let last = listed && it.bits.width() >= 6 && code + 1 == 1 << it.bits.width();
                    (common, !last, !listed, it.bits.width(), it.bits.mask())
                });
            if let Some(narrow) = narrow {
                let code = narrow.bits.get(*word);
                if code != narrow.bits.get(draft.base) && open.len() < 40 {
                    let special = (draft.mask | narrow.bits.mask(), narrow.bits.put(draft.value, code));
                    if let Effect::Listed(codes) = &mut narrow.effect {
                        codes.remove(&code);
                        narrow.elsewhere.insert(code);
                    }
                    if !excluded.contains(&special) {
                        excluded.push(special);
                        open.push(special);
                        changed = true;
                    }
                }
            }
        }
        Ok(changed)
    }

    /// Whether two components only stand in the wrong order in a gap; puts it right.
    fn reorder(&self, draft: &mut Draft, culprit: &Culprit) -> bool {
        let &[a, b] = &culprit.masks[..] else { return false };
        if draft.order.contains(&(a, b)) || draft.order.contains(&(b, a)) {
            return false;
        }
        for pair in [(a, b), (b, a)] {
            draft.order.insert(pair);
            if self.judge(draft, culprit.word, &culprit.answer) == Verdict::Right {
                return true;
            }
            draft.order.remove(&pair);
        }
        false
    }
}

/// Whether the operands that are registers change by the same: one of them, or several that one field prints.
fn in_step(base: &[String], edits: &Edits) -> bool {
    let number = |token: &str| token.trim_start_matches(|it: char| !it.is_ascii_digit()).parse::<i32>().ok();
    let mut steps = edits
        .iter()
        .filter(|(place, _)| place % 2 == 1 && is_register(&base[usize::from(place / 2)]))
        .map(|(place, text)| Some(number(text)? - number(&base[usize::from(place / 2)])?));
    let Some(first) = steps.next() else { return true };
    steps.all(|it| it.is_some() && it == first)
}
