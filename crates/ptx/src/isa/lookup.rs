//! From a dotted opcode as written to the forms that it can be.
//!
//! The manual prints modifiers in one order, but compilers write them in others (`atom.add.release.gpu.global.u32`,
//! `ld.volatile.global`) and ptxas takes any order, with two exceptions: modifiers of the same kind, such as the two
//! types of `cvt.f32.s32`, keep theirs, and what belongs to the name, as in `mul.hi` or `cp.async.bulk`, stands first. So
//! it is here.

use super::{FORMS, FormData, FormId, Gate, Mnemonic, Modifier, Opcode, Slot};
use std::ops::Range;

/// Why a text is no opcode, and which of its bytes are to blame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpcodeError {
    /// What is wrong.
    pub kind: OpcodeErrorKind,
    /// The offending bytes of the text.
    pub span: Range<usize>,
}

/// What is wrong with an opcode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpcodeErrorKind {
    /// No instruction has that name.
    UnknownInstruction {
        /// One with a similar name.
        similar: Option<Mnemonic>,
    },
    /// No instruction has such a modifier.
    UnknownModifier {
        /// A similar modifier of this instruction.
        similar: Option<Modifier>,
    },
    /// The modifier exists, but not here.
    NotAllowed {
        /// What would have been allowed in its place, modifiers of its kind first.
        allowed: Vec<Modifier>,
    },
    /// A modifier that the instruction needs is missing.
    Missing {
        /// The first empty slot of the form that fits best.
        slot: Slot,
        /// What may stand there.
        allowed: Vec<Modifier>,
    },
    /// A modifier that belongs to the instruction's name stands elsewhere.
    Order {
        /// How the name is written.
        name: String,
    },
    /// One modifier does not go with another.
    Conflict {
        /// The modifier that restricts.
        with: Modifier,
        /// What would go with it.
        allowed: Vec<Modifier>,
    },
}

/// The opcodes that `text`, such as `ld.global.nc.v4.f32`, can be: at least one, and several where forms differ by
/// their operands alone.
///
/// # Errors
/// If it is none: which part of it is wrong, and what would have been right.
pub fn lookup(text: &str) -> Result<Vec<Opcode>, OpcodeError> {
    let (mnemonic, tokens) = split(text)?;
    let forms = FormId::of(mnemonic);
    let mut found = Vec::new();
    let mut failures = Vec::new();
    for form in forms {
        match fill(form.data(), &tokens) {
            Ok(modifiers) => found.push(Opcode { form, modifiers }),
            Err(failure) => failures.push(failure),
        }
    }
    if found.is_empty() { Err(explain(text, &tokens, &failures)) } else { Ok(found) }
}

/// A modifier that may follow what has been written of an opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Continuation {
    /// The modifier.
    pub modifier: Modifier,
    /// Which form takes it, the first of several.
    pub form: FormId,
    /// What introduces it there, beyond the form's own gate.
    pub gate: Gate,
    /// Whether the opcode is complete with it.
    pub completes: bool,
}

/// Every modifier with which `text`, such as `ld.global`, is an opcode or the beginning of one. None if it is not the
/// beginning of any.
pub fn continuations(text: &str) -> Vec<Continuation> {
    let Ok((mnemonic, mut tokens)) = split(text) else { return Vec::new() };
    let mut found: Vec<Continuation> = Vec::new();
    for form in FormId::of(mnemonic) {
        let data = form.data();
        for choice in data.slots.iter().flat_map(|slot| slot.choices) {
            if found.iter().any(|known| known.modifier == choice.modifier) {
                continue;
            }
            tokens.push(Token { modifier: choice.modifier, span: 0..0 });
            if begins(data, &tokens) {
                let completes = lookup(&format!("{text}{}", choice.modifier.text())).is_ok();
                found.push(Continuation { modifier: choice.modifier, form, gate: choice.gate, completes });
            }
            tokens.pop();
        }
    }
    found
}

/// Whether the form can have these modifiers, and possibly more.
fn begins(form: &'static FormData, tokens: &[Token]) -> bool {
    let mut search = Search {
        form,
        tokens,
        taken: vec![None; form.slots.len()],
        best: vec![None; form.slots.len()],
        placed: 0,
        misplaced: None,
        partial: true,
    };
    if !search.place(0) {
        return false;
    }
    let chosen = |slot| {
        let at = form.slots.iter().position(|spec| spec.slot == slot)?;
        search.taken[at].map(|token| tokens[token].modifier)
    };
    form.rules.iter().all(|rule| {
        chosen(rule.when.0) != Some(rule.when.1)
            || chosen(rule.slot).is_none_or(|modifier| rule.choices.contains(&modifier))
    })
}

/// A modifier and where it stands.
struct Token {
    modifier: Modifier,
    span: Range<usize>,
}

fn split(text: &str) -> Result<(Mnemonic, Vec<Token>), OpcodeError> {
    let mut parts = text.split('.');
    let name = parts.next().unwrap_or_default();
    let mnemonic = Mnemonic::from_text(name).ok_or_else(|| {
        let similar = nearest(name, Mnemonic::ALL.into_iter(), Mnemonic::text);
        OpcodeError { kind: OpcodeErrorKind::UnknownInstruction { similar }, span: 0..name.len() }
    })?;
    let mut start = name.len();
    let mut tokens = Vec::new();
    for part in parts {
        let span = start..start + 1 + part.len();
        start = span.end;
        let modifier = Modifier::from_text(&text[span.clone()]).ok_or_else(|| {
            let of_mnemonic = FORMS.iter().filter(|form| form.mnemonic == mnemonic);
            let choices = of_mnemonic.flat_map(|form| form.slots).flat_map(|slot| slot.choices);
            let similar = nearest(part, choices.map(|c| c.modifier), |m| &m.text()[1..]);
            OpcodeError { kind: OpcodeErrorKind::UnknownModifier { similar }, span: span.clone() }
        })?;
        tokens.push(Token { modifier, span });
    }
    Ok((mnemonic, tokens))
}

/// Why a form does not fit, with the number of tokens that did.
struct Failure {
    form: &'static FormData,
    placed: usize,
    filled: Vec<Option<usize>>,
    /// All fits but the order: the misplaced token, and the name as it should be.
    order: Option<(usize, String)>,
    conflict: Option<(usize, Modifier, &'static [Modifier])>,
}

/// Puts every token into a slot of the form.
fn fill(form: &'static FormData, tokens: &[Token]) -> Result<Vec<(Slot, Modifier)>, Failure> {
    let mut search = Search {
        form,
        tokens,
        taken: vec![None; form.slots.len()],
        best: vec![None; form.slots.len()],
        placed: 0,
        misplaced: None,
        partial: false,
    };
    if !search.place(0) {
        let Search { placed, best, misplaced, .. } = search;
        return Err(Failure { form, placed, filled: best, order: misplaced, conflict: None });
    }
    let mut modifiers: Vec<Option<(Slot, Modifier)>> = vec![None; tokens.len()];
    for (slot, token) in form.slots.iter().zip(&search.taken) {
        if let Some(token) = *token {
            modifiers[token] = Some((slot.slot, tokens[token].modifier));
        }
    }
    let modifiers: Vec<_> = modifiers.into_iter().flatten().collect();
    if let Some(rule) = form.rules.iter().find(|rule| !rule.holds(&modifiers)) {
        let position = |slot| modifiers.iter().position(|(s, _)| *s == slot);
        let at = position(rule.slot).or_else(|| position(rule.when.0)).unwrap_or(0);
        let conflict = Some((at, rule.when.1, rule.choices));
        return Err(Failure { form, placed: tokens.len(), filled: search.taken, order: None, conflict });
    }
    Ok(modifiers)
}

/// A search with backtracking: a token tries the slots in order. Only tokens that several slots accept branch, so
/// it is short; forms have at most a dozen slots.
struct Search<'a> {
    form: &'static FormData,
    tokens: &'a [Token],
    /// The token in each slot.
    taken: Vec<Option<usize>>,
    /// `taken` when most tokens were placed.
    best: Vec<Option<usize>>,
    /// How many that were.
    placed: usize,
    /// The first token of the name that stands elsewhere, where that is all that is wrong; and the name.
    misplaced: Option<(usize, String)>,
    /// Whether slots that must be filled may be empty as yet.
    partial: bool,
}

impl Search<'_> {
    fn place(&mut self, token: usize) -> bool {
        if token > self.placed {
            self.placed = token;
            self.best.clone_from(&self.taken);
        }
        let Some(Token { modifier, .. }) = self.tokens.get(token) else {
            let mut slots = self.form.slots.iter().zip(&self.taken);
            let partial = self.partial;
            return slots.all(|(slot, taken)| partial || slot.optional || taken.is_some())
                && self.name_first();
        };
        // A modifier stands after those of its kind that were written before it.
        let same_kind =
            |taken: &Option<usize>| taken.is_some_and(|t| self.tokens[t].modifier.kind() == modifier.kind());
        let first = self.taken.iter().rposition(same_kind).map_or(0, |i| i + 1);
        for i in first..self.taken.len() {
            let slot = &self.form.slots[i];
            if self.taken[i].is_none() && slot.choices.iter().any(|c| c.modifier == *modifier) {
                self.taken[i] = Some(token);
                if self.place(token + 1) {
                    return true;
                }
                self.taken[i] = None;
            }
        }
        false
    }
}

impl Search<'_> {
    /// Whether what belongs to the name stands first and in order.
    fn name_first(&mut self) -> bool {
        let name: Vec<usize> = self.taken[..self.form.name].iter().flatten().copied().collect();
        let Some(misplaced) = name.iter().enumerate().find(|(i, token)| i != *token) else { return true };
        let mut text = self.form.mnemonic.text().to_owned();
        text.extend(name.iter().map(|token| self.tokens[*token].modifier.text()));
        self.misplaced = Some((*misplaced.1, text));
        false
    }
}

/// The best explanation: of the forms that took the most tokens.
fn explain(text: &str, tokens: &[Token], failures: &[Failure]) -> OpcodeError {
    let placed = failures.iter().map(|f| f.placed).max().unwrap_or(0);
    let best = || failures.iter().filter(move |f| f.placed == placed);
    if let Some((at, with, allowed)) = best().find_map(|f| f.conflict) {
        let kind = OpcodeErrorKind::Conflict { with, allowed: allowed.to_vec() };
        return OpcodeError { kind, span: tokens[at].span.clone() };
    }
    if let Some((at, name)) = best().find_map(|f| f.order.clone()) {
        return OpcodeError { kind: OpcodeErrorKind::Order { name }, span: tokens[at].span.clone() };
    }
    let empty = |f: &Failure| {
        let slots = f.form.slots.iter().zip(&f.filled);
        slots.filter(|(_, token)| token.is_none()).map(|(slot, _)| slot).collect::<Vec<_>>()
    };
    if let Some(token) = tokens.get(placed) {
        let choices = best().flat_map(empty).flat_map(|slot| slot.choices).map(|c| c.modifier);
        let mut allowed = distinct(choices);
        allowed.sort_by_key(|modifier| modifier.kind() != token.modifier.kind());
        let kind = OpcodeErrorKind::NotAllowed { allowed };
        return OpcodeError { kind, span: token.span.clone() };
    }
    let missing = best().find_map(|f| empty(f).into_iter().find(|slot| !slot.optional));
    let kind = match missing {
        Some(spec) => {
            let same = best().flat_map(empty).filter(|s| s.slot == spec.slot && !s.optional);
            let choices = same.flat_map(|s| s.choices).map(|c| c.modifier);
            OpcodeErrorKind::Missing { slot: spec.slot, allowed: distinct(choices) }
        }
        None => OpcodeErrorKind::NotAllowed { allowed: Vec::new() },
    };
    OpcodeError { kind, span: 0..text.len() }
}

fn distinct(modifiers: impl Iterator<Item = Modifier>) -> Vec<Modifier> {
    let mut list = Vec::new();
    for modifier in modifiers {
        if !list.contains(&modifier) {
            list.push(modifier);
        }
    }
    list
}

/// The candidate within an edit distance of a third of its length, nearest first.
fn nearest<T: Copy>(
    text: &str,
    candidates: impl Iterator<Item = T>,
    name: fn(T) -> &'static str,
) -> Option<T> {
    // No name is nearly as long: a longer text is near to none.
    if text.len() > 64 {
        return None;
    }
    let scored = candidates.map(|c| (edit_distance(text.as_bytes(), name(c).as_bytes()), c));
    scored
        .filter(|(distance, c)| *distance <= name(*c).len().div_ceil(3))
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

/// How many bytes must be replaced, inserted or removed to make one text of the other.
pub(crate) fn edit_distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let substitute = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substitute.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

impl OpcodeError {
    /// One sentence for people, lower case, no full stop. `text` is the opcode that was looked up.
    pub fn message(&self, text: &str) -> String {
        let name = text.split('.').next().unwrap_or_default();
        let part = text.get(self.span.clone()).unwrap_or_default();
        match &self.kind {
            OpcodeErrorKind::UnknownInstruction { similar: Some(similar) } => {
                format!("unknown instruction `{part}` (did you mean `{}`?)", similar.text())
            }
            OpcodeErrorKind::UnknownInstruction { similar: None } => format!("unknown instruction `{part}`"),
            OpcodeErrorKind::UnknownModifier { similar: Some(similar) } => {
                format!("`{part}` is not a modifier (did you mean `{}`?)", similar.text())
            }
            OpcodeErrorKind::UnknownModifier { similar: None } => format!("`{part}` is not a modifier"),
            OpcodeErrorKind::NotAllowed { allowed } if allowed.is_empty() => {
                format!("`{part}` is not allowed on `{name}`, which is complete without it")
            }
            OpcodeErrorKind::NotAllowed { allowed } => {
                format!("`{part}` is not allowed here on `{name}` (allowed: {})", list(allowed))
            }
            OpcodeErrorKind::Missing { slot, allowed } => {
                format!("`{name}` needs a `.{}` modifier ({})", slot.text(), list(allowed))
            }
            OpcodeErrorKind::Order { name } => {
                format!("`{part}` belongs to the name of the instruction: write `{name}` before all else")
            }
            OpcodeErrorKind::Conflict { with, allowed } if allowed.is_empty() => {
                format!("`{part}` does not go with `{}`", with.text())
            }
            OpcodeErrorKind::Conflict { with, allowed } => {
                format!("`{part}` does not go with `{}` (allowed: {})", with.text(), list(allowed))
            }
        }
    }
}

/// The first few, so that a message stays one line.
fn list(modifiers: &[Modifier]) -> String {
    const SHOWN: usize = 12;
    let mut names: Vec<_> = modifiers.iter().take(SHOWN).map(|m| m.text()).collect();
    if modifiers.len() > SHOWN {
        names.push("...");
    }
    names.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mnemonic_has_its_rows() {
        let all = Mnemonic::ALL.into_iter().flat_map(|mnemonic| {
            assert_eq!(Mnemonic::from_text(mnemonic.text()), Some(mnemonic));
            FormId::of(mnemonic).inspect(move |form| assert_eq!(form.data().mnemonic, mnemonic))
        });
        let mut all: Vec<FormId> = all.collect();
        all.sort_unstable();
        assert_eq!(all, FormId::all().collect::<Vec<_>>());
    }

    /// What may follow is exactly what some complete opcode of the table has there.
    #[test]
    fn every_sample_is_reached_by_its_continuations() {
        for opcode in FormId::all().filter_map(crate::isa::minimal_opcode) {
            let mut text = opcode.mnemonic().text().to_owned();
            for (_, modifier) in &opcode.modifiers {
                let next = continuations(&text);
                let found = next.iter().find(|one| one.modifier == *modifier);
                assert!(found.is_some(), "{text} is not continued by {}", modifier.text());
                text.push_str(modifier.text());
            }
        }
    }

    #[test]
    fn nothing_follows_that_does_not_fit() {
        let texts =
            |text: &str| -> Vec<&str> { continuations(text).iter().map(|one| one.modifier.text()).collect() };
        assert_eq!(texts("brev"), [".b32", ".b64"]);
        assert!(texts("brev.b32").is_empty() && texts("nothing").is_empty() && texts("ld.oops").is_empty());
        let after = texts("ld.global");
        assert!(
            after.contains(&".v4") && after.contains(&".u32") && !after.contains(&".shared"),
            "{after:?}"
        );
    }
}
