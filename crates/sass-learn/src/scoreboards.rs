//! Which scoreboards an instruction may name: some write no register that anything could wait for, some read none late, and one
//! must not wait. It is learned of finished forms, and becomes a condition of the form.

use std::collections::BTreeMap;

use super::apart::deciding;
use super::compare::random_words_of;
use super::emit::rewritten;
use super::oracle::Oracle;
use super::random::Random;
use super::tables::{Reader, Tables};
use sass::control::{SCOREBOARDS, Scoreboards};
use sass_table::Bits;
use sass_table::source::{Form, Listed, Piece, Source};
use sass_table::table::opcode;

/// All bits about scoreboards.
pub(super) const ALL: u128 = SCOREBOARDS[0].mask | SCOREBOARDS[1].mask | SCOREBOARDS[2].mask;
/// Those bits where no scoreboard is named.
pub(super) const QUIET: u128 = SCOREBOARDS[0].none | SCOREBOARDS[1].none | SCOREBOARDS[2].none;
/// Words of a form that are asked about; how many of them should be legal; and words of a form of which fewer are, or that are not
/// alike.
const WORDS: usize = 64;
const FEW: usize = 8;
const MORE: usize = 2000;

/// A legal word, and for each field whether it may name a scoreboard.
type Sample = (u128, [bool; 3]);

/// Words of the forms whose codes are legal, with what the oracle says of scoreboards in them.
fn samples_of(
    oracle: &dyn Oracle,
    table: &Source,
    forms: &[usize],
    each: usize,
) -> Result<Vec<Vec<Sample>>, String> {
    let mut random = Random::new(110);
    let mut words = Vec::new();
    for &at in forms {
        // Every other one has legal codes in all fields.
        for word in random_words_of(table, at, 2 * each, &mut random).into_iter().step_by(2) {
            let fixed = table.forms[at].mask;
            let word = word & !(ALL & !fixed) | QUIET & !fixed;
            words.push(word);
            for field in &SCOREBOARDS {
                let mut bits = field.none;
                while bits == field.none {
                    bits = random.bits128() & field.mask;
                }
                words.push(word & !field.mask | bits);
            }
        }
    }
    let legal: Vec<bool> = oracle.ask(&words, 0)?.iter().map(Option::is_some).collect();
    let samples: Vec<Option<Sample>> = words
        .chunks(1 + SCOREBOARDS.len())
        .zip(legal.chunks(1 + SCOREBOARDS.len()))
        .map(|(words, legal)| legal[0].then(|| (words[0], [legal[1], legal[2], legal[3]])))
        .collect();
    let reader = Reader::new(table)?;
    // Some words of a form's bits are those of a form before it.
    let own = |(samples, &at): (&[Option<Sample>], &usize)| {
        let own = |it: &&Sample| reader.form_of(it.0) == Some(at);
        samples.iter().flatten().filter(own).copied().collect()
    };
    Ok(samples.chunks(each).zip(forms).map(own).collect())
}

/// The table with what its forms may say of scoreboards as conditions; and where that depends on more than a field.
pub(super) fn settle(
    oracle: &dyn Oracle,
    tables: &Tables,
    text: &str,
) -> Result<(String, Vec<String>), String> {
    let mut table = tables.read(text)?;
    let all: Vec<usize> = (0..table.forms.len()).collect();
    let mut samples = samples_of(oracle, &table, &all, WORDS)?;
    let uneven = |samples: &Vec<Sample>| {
        (0..SCOREBOARDS.len()).any(|nth| samples.iter().any(|it| it.1[nth] != samples[0].1[nth]))
    };
    let unclear: Vec<usize> =
        all.iter().copied().filter(|&at| samples[at].len() < FEW || uneven(&samples[at])).collect();
    for (&at, more) in unclear.iter().zip(samples_of(oracle, &table, &unclear, MORE)?) {
        samples[at] = more;
    }
    let mut open = Vec::new();
    let mut forms: Vec<Vec<Form>> = Vec::new();
    for at in all {
        let form = &table.forms[at].clone();
        let opcode = opcode(form.value);
        let mut own = vec![form.clone()];
        for (nth, field) in SCOREBOARDS.iter().enumerate() {
            let legal = |at: usize| samples[at].iter().map(move |it| (it.0, it.1[nth]));
            if samples[at].is_empty() {
                // A form of which no legal word was found is as its opcode's others.
                let mut others = table.forms_of(opcode).flat_map(legal).peekable();
                if others.peek().is_some() && others.all(|it| !it.1) {
                    own = own.iter().map(|it| quiet(it, field)).collect();
                }
                continue;
            }
            let mut next = Vec::new();
            for form in own {
                let inside: Vec<(u128, bool)> =
                    legal(at).filter(|it| it.0 & form.mask == form.value).collect();
                next.extend(split(&form, &mut table, field, &inside).unwrap_or_else(|| {
                    open.push(format!("{opcode:#05x}: not known which words may have {}", field.name));
                    vec![form]
                }));
            }
            own = next;
        }
        forms.push(own);
    }
    Ok((rewritten(text, &table, Source::default(), |at| forms[at].clone()), open))
}

/// The form, without scoreboards in a field.
fn quiet(form: &Form, field: &Scoreboards) -> Form {
    let value = form.value & !field.mask | field.none;
    Form { mask: form.mask | field.mask, value, ..form.clone() }
}

/// A form as those that may name scoreboards in a field and those that may not.
fn split(form: &Form, table: &mut Source, field: &Scoreboards, legal: &[(u128, bool)]) -> Option<Vec<Form>> {
    if legal.iter().all(|it| it.1) {
        return Some(vec![form.clone()]);
    }
    if legal.iter().all(|it| !it.1) {
        return Some(vec![quiet(form, field)]);
    }
    form.pieces.iter().enumerate().find_map(|(nth, piece)| {
        let &Piece::Set(Listed { set, bits }) = piece else { return None };
        let strange = strange(bits, legal)?;
        let mut strings = table.sets[set as usize].strings.clone();
        for (&code, _) in strange.iter().filter(|it| *it.1) {
            strings[code as usize] = None;
        }
        let mut forms: Vec<Form> = deciding(bits, &strange)
            .into_iter()
            .map(|(mask, value)| {
                let narrow = Form { mask: form.mask | mask, value: form.value | value, ..form.clone() };
                quiet(&narrow, field)
            })
            .collect();
        let mut general = form.clone();
        general.pieces[nth] = Piece::Set(Listed { set: table.set_of(strings), bits });
        forms.push(general);
        Some(forms)
    })
}

/// The codes of a field, and whether they take no scoreboard, if that depends on nothing else.
fn strange(bits: Bits, legal: &[(u128, bool)]) -> Option<BTreeMap<u64, bool>> {
    let mut codes = BTreeMap::new();
    let agrees = |&(word, legal): &(u128, bool)| {
        let quiet = !legal;
        *codes.entry(bits.get(word)).or_insert(quiet) == quiet
    };
    legal.iter().all(agrees).then_some(codes)
}
