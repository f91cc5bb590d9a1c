//! Several tables of one architecture: which reads an opcode best, and one table out of the best of each.

use std::collections::HashMap;

use super::compare::random_words_of;
use super::emit::{Sets, adopted_line, joined};
use super::oracle::Oracle;
use super::random::Random;
use super::scoreboards::QUIET;
use super::tables::{Reader, Tables};
use super::{Outcome, scoreboards, shadows};
use sass::control::{BELOW, Control};
use sass_table::source::{Form, Source};
use sass_table::table::{OPCODE_MASK, opcode_bits};

/// How well a table's forms of an opcode do.
pub(super) struct Fit {
    /// Which of the tables.
    pub(super) table: usize,
    /// Words asked about, and how many of them the table reads otherwise than the oracle.
    words: usize,
    pub(super) wrong: usize,
}

impl Fit {
    fn note(&self) -> String {
        format!("{} of {} random words are read otherwise than by the oracle", self.wrong, self.words)
    }
}

/// Words of every table's forms of an opcode, and words of any bits, without scoreboards.
fn words_of(tables: &[Source], opcode: usize, each: usize, any: usize) -> Vec<u128> {
    let mut random = Random::new(77 + opcode as u64);
    let mut words = Vec::new();
    for table in tables {
        for at in table.forms_of(opcode) {
            words.extend(random_words_of(table, at, each, &mut random));
        }
    }
    let any_of = |_| random.bits128() & BELOW & !OPCODE_MASK | opcode_bits(opcode);
    words.extend((0..any).map(any_of).map(|it| Control::default().put(it)));
    words.iter().map(|it| it & !scoreboards::ALL | QUIET).collect()
}

/// For each opcode the table that reads random words best. Forms that are wrong more often than right are worth less than data.
pub(super) fn fits(
    oracle: &dyn Oracle,
    opcodes: &[usize],
    tables: &[Source],
) -> Result<HashMap<usize, Fit>, String> {
    const EACH: usize = 80;
    const ANY: usize = 100;
    let mut words = Vec::new();
    let mut ranges = Vec::new();
    for &opcode in opcodes {
        let start = words.len();
        words.extend(words_of(tables, opcode, EACH, ANY));
        ranges.push((opcode, start..words.len()));
    }
    let texts = oracle.ask(&words, 0)?;
    let mut best: HashMap<usize, Fit> = HashMap::new();
    for (number, table) in tables.iter().enumerate() {
        let reader = Reader::new(table)?;
        for (opcode, range) in &ranges {
            let mut legal = 0;
            let wrong = |at: &usize| {
                let ours = reader.reading(words[*at], 16 * *at as u64);
                legal += usize::from(ours.is_some() && texts[*at].is_some());
                ours != texts[*at]
            };
            let wrong = range.clone().filter(wrong).count();
            if legal > 20 && wrong < legal && best.get(opcode).is_none_or(|it| it.wrong > wrong) {
                best.insert(*opcode, Fit { table: number, words: range.len(), wrong });
            }
        }
    }
    Ok(best)
}

/// One table out of several of the same architecture: for each opcode the forms that read random words best.
pub fn merge(
    oracle: &dyn Oracle,
    folder: &Tables,
    opcodes: &[usize],
    known: &[String],
) -> Result<Outcome, String> {
    let tables = known.iter().map(|it| folder.read(it)).collect::<Result<Vec<_>, _>>()?;
    let fits = fits(oracle, opcodes, &tables)?;
    let mut merged = Merged::default();
    for &opcode in opcodes {
        match fits.get(&opcode) {
            Some(fit) => {
                let note = (fit.wrong > 0).then(|| fit.note());
                let table = &tables[fit.table];
                merged.add(opcode, table, &table.forms[table.forms_of(opcode)], note);
            }
            None => merged.open.push(format!("{opcode:#05x} is not known")),
        }
    }
    merged.outcome(oracle, folder)
}

/// A table that is put together opcode by opcode.
#[derive(Default)]
struct Merged {
    sets: Sets,
    lines: Vec<String>,
    open: Vec<String>,
}

impl Merged {
    /// Adds an opcode's forms, with what is not known of them.
    fn add(&mut self, opcode: usize, table: &Source, forms: &[Form], note: Option<String>) {
        if let Some(note) = note {
            self.lines.push(format!("# Not fully known: {note}."));
            self.open.push(format!("{opcode:#05x}: {note}"));
        }
        self.lines.extend(forms.iter().map(|it| adopted_line(opcode, table, it, &mut self.sets)));
    }

    fn text(&self) -> String {
        joined(&self.sets, &self.lines)
    }

    /// The table, with what its forms may say of scoreboards, and without codes that no word of a form has.
    fn outcome(mut self, oracle: &dyn Oracle, folder: &Tables) -> Result<Outcome, String> {
        let (table, open) = scoreboards::settle(oracle, folder, &self.text())?;
        self.open.extend(open);
        Ok(Outcome { table: shadows::remove(folder, &table)?, open: self.open, asked: 0 })
    }
}

/// A table that has been renewed.
#[derive(Debug)]
pub struct Renewed {
    /// The table, and what it does not explain.
    pub outcome: Outcome,
    /// The opcodes that were learned and yet kept as they were, because that reads random words better.
    pub kept: Vec<usize>,
    /// Their forms, as a table.
    pub hints: String,
}

/// A table with what was learned of some of its opcodes. Where the two read words differently, the oracle says which is right:
/// the opcode keeps its forms only if they are right more often. All other opcodes stay as they are, and so do bits that come
/// from compiled code.
pub fn renew(oracle: &dyn Oracle, folder: &Tables, known: &str, learned: &str) -> Result<Renewed, String> {
    const EACH: usize = 3000;
    const ANY: usize = 3000;
    const ASKED: usize = 400;
    let tables = [folder.read(learned)?, folder.read(known)?];
    let readers = [Reader::new(&tables[0])?, Reader::new(&tables[1])?];
    let mut words = Vec::new();
    let mut ranges = Vec::new();
    for opcode in (0..8192).filter(|&it| tables.iter().all(|table| !table.forms_of(it).is_empty())) {
        let start = words.len();
        let differs = |word: &u128| readers[0].reading(*word, 0) != readers[1].reading(*word, 0);
        words.extend(words_of(&tables, opcode, EACH, ANY).into_iter().filter(differs).take(ASKED));
        ranges.push((opcode, start..words.len()));
    }
    let texts = oracle.ask(&words, 0)?;
    let wrong = |reader: &Reader<'_>, range: std::ops::Range<usize>| {
        range.filter(|&at| reader.reading(words[at], 16 * at as u64) != texts[at]).count()
    };
    let kept: Vec<usize> = ranges
        .into_iter()
        .filter(|(_, range)| wrong(&readers[0], range.clone()) > wrong(&readers[1], range.clone()))
        .map(|it| it.0)
        .collect();
    let mut merged = Merged::default();
    let mut hints = Merged::default();
    for opcode in 0..8192 {
        let stays = tables[0].forms_of(opcode).is_empty() || kept.contains(&opcode);
        let table = &tables[usize::from(stays)];
        let settled = |form: &Form| {
            let rest = (form.rest | inherited(&tables[1], &readers[1], form)) & !form.mask;
            Form { rest, ..form.clone() }
        };
        let forms: Vec<Form> = table.forms[table.forms_of(opcode)].iter().map(settled).collect();
        merged.add(opcode, table, &forms, None);
        if kept.contains(&opcode) {
            let plain: Vec<Form> = forms.into_iter().map(|form| Form { rest: 0, ..form }).collect();
            hints.add(opcode, table, &plain, None);
        }
    }
    // What it says of itself is asked of the whole.
    let renewed = [folder.read(&merged.text())?];
    let opcodes: Vec<usize> = (0..8192).filter(|&it| !renewed[0].forms_of(it).is_empty()).collect();
    let fits = fits(oracle, &opcodes, &renewed)?;
    let mut noted = Merged::default();
    for opcode in opcodes {
        let note = fits.get(&opcode).filter(|it| it.wrong > 0).map(Fit::note);
        noted.add(opcode, &renewed[0], &renewed[0].forms[renewed[0].forms_of(opcode)], note);
    }
    Ok(Renewed { outcome: noted.outcome(oracle, folder)?, kept, hints: hints.text() })
}

/// The `rest` bits that a known table has for most words of a form: they come from compiled code, which the oracle does not show.
fn inherited(known: &Source, reader: &Reader<'_>, form: &Form) -> u128 {
    const WORDS: usize = 64;
    let mut random = Random::new(5);
    let mut votes: HashMap<u128, usize> = HashMap::new();
    for _ in 0..WORDS {
        let word = random.bits128() & BELOW & !form.mask | form.value;
        if let Some(at) = reader.form_of(Control::default().put(word)) {
            *votes.entry(known.forms[at].rest).or_default() += 1;
        }
    }
    votes.into_iter().max_by_key(|&(rest, count)| (count, rest)).map_or(0, |it| it.0)
}
