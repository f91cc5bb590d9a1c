//! Learning an instruction set from a disassembler that is used as a black box: words in, text out.
//!
//! First all 8192 opcodes are scanned for legal words. Then every opcode is learned by itself (`opcode.rs`): from a base
//! word all bits are flipped, bits that touch the same token are put together into components (`form.rs`), every code of a
//! component is tried, and random words are predicted. A wrong prediction is reduced to the components that interact,
//! which are joined or make a form of their own. What comes out is the table's text (`emit.rs`).
//!
//! This is a tool for development, with a program of its own, `sass-learn`: it alone of the crates below `cli` runs another
//! program, and reads the tables of `sass` as they are written.

mod apart;
mod code;
mod compare;
mod culprit;
pub mod dump;
mod emit;
mod form;
mod habits;
mod opcode;
mod oracle;
mod random;
mod report;
mod rivals;
mod scoreboards;
mod shadows;
mod tables;
mod tokens;

use std::collections::HashMap;
use std::sync::Mutex;

pub use code::{compare_code, sections};
pub use compare::compare;
pub use oracle::{Nvdisasm, Oracle};
pub use report::{Example, Fault, Group, Report};
pub use rivals::{Renewed, merge, renew};
pub use tables::Tables;

use compare::random_words;
use emit::{Sets, adopted_line, form_line, joined, rewritten};
use opcode::{Learned, Learner};
use oracle::Meeting;
use random::Random;
use rivals::fits;
use sass::control::BELOW;
use sass_table::source::{Form, Source};
use sass_table::table::{OPCODE_MASK, opcode_bits};
use scoreboards::QUIET;

/// A learned instruction set: the table's text, and what it does not explain.
#[derive(Debug)]
pub struct Outcome {
    /// The table.
    pub table: String,
    /// What stays undetermined, a line each.
    pub open: Vec<String>,
    /// How many words the oracle was asked for.
    pub asked: usize,
}

/// The opcodes of an architecture: those of which random words are legal, and those of its hints, whose legal words may be rare.
pub fn opcodes(oracle: &dyn Oracle, tables: &Tables, arch: sass::Arch) -> Result<Vec<usize>, String> {
    let [own, _] = tables.hints(arch)?;
    let hints = tables.read(&own)?;
    let scanned = scan(oracle)?;
    let hinted = |it: &usize| !hints.forms_of(*it).is_empty();
    Ok((0..8192).filter(|it| scanned[*it] || hinted(it)).collect())
}

/// For each opcode whether some word is legal.
fn scan(oracle: &dyn Oracle) -> Result<Vec<bool>, String> {
    let mut random = Random::new(0);
    let mut words = Vec::new();
    const EACH: usize = 192;
    for opcode in 0..8192 {
        for nth in 0..EACH {
            let mut bits = if nth == 0 { 0 } else { random.bits128() };
            if nth % 3 == 1 {
                bits &= random.bits128() & random.bits128();
            }
            words.push(bits & BELOW & !OPCODE_MASK | opcode_bits(opcode) | QUIET);
        }
    }
    let texts = oracle.ask(&words, 0)?;
    Ok(texts.chunks(EACH).map(|it| it.iter().any(Option::is_some)).collect())
}

/// Learns these opcodes. Where the forms of one of the `known` tables are right, they are taken over; their splits are
/// followed. `note` hears of progress.
pub fn learn(
    oracle: &dyn Oracle,
    folder: &Tables,
    opcodes: &[usize],
    known: &[String],
    note: &(dyn Fn(&str) + Sync),
) -> Result<Outcome, String> {
    let tables = known.iter().map(|it| folder.read(it)).collect::<Result<Vec<_>, _>>()?;
    let mut adopted = fits(oracle, opcodes, &tables)?;
    adopted.retain(|_, fit| fit.wrong == 0);
    note(&format!("{} of {} opcodes are as in a known table", adopted.len(), opcodes.len()));
    let all = opcodes;
    let opcodes: Vec<usize> = all.iter().copied().filter(|it| !adopted.contains_key(it)).collect();
    let meeting = Meeting::new(oracle, opcodes.len());
    type Found = (Vec<Learned>, Vec<Result<Source, String>>);
    let found: Mutex<HashMap<usize, Result<Found, String>>> = Mutex::default();
    std::thread::scope(|scope| {
        for (who, &opcode) in opcodes.iter().enumerate() {
            let (meeting, found, opcodes) = (&meeting, &found, &opcodes);
            let split = tables.iter().find_map(|it| it.splits.get(&opcode)).copied().unwrap_or_default();
            let work = move || {
                let mut learner = Learner::new(meeting, who, opcode, split);
                let result =
                    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| -> Result<Found, String> {
                        let forms = learner.learn()?;
                        let tables = forms
                            .iter()
                            .map(|it| settled(folder, &mut learner, it))
                            .collect::<Result<Vec<_>, String>>()?;
                        Ok((forms, tables))
                    }))
                    .unwrap_or_else(|_| Err(format!("the learner of opcode {opcode:#x} panicked")));
                found.lock().expect("no learner panics while it holds the lock").insert(opcode, result);
                meeting.leave();
                let left = opcodes.len() - found.lock().expect("as above").len();
                if left % 50 == 0 || left < 20 {
                    let (asked, batches) = meeting.asked();
                    note(&format!(
                        "{left} opcodes left, {asked} words in {batches} batches; done: {opcode:#x}"
                    ));
                }
            };
            std::thread::Builder::new()
                .stack_size(1 << 20)
                .spawn_scoped(scope, work)
                .expect("a thread for each opcode");
        }
    });
    let mut found = found.into_inner().expect("no learner panics while it holds the lock");
    let mut sets = Sets::default();
    let mut lines = Vec::new();
    let mut open = Vec::new();
    for &opcode in all {
        if let Some(fit) = adopted.get(&opcode) {
            let table = &tables[fit.table];
            lines.extend(
                table.forms_of(opcode).map(|at| adopted_line(opcode, table, &table.forms[at], &mut sets)),
            );
            continue;
        }
        let (forms, settled) = match found.remove(&opcode).expect("every learner leaves its result") {
            Ok(it) => it,
            Err(error) => {
                open.push(format!("{opcode:#05x}: {error}"));
                continue;
            }
        };
        for (learned, settled) in forms.iter().zip(settled) {
            if learned.wrong_text + learned.wrong_legality > 0 {
                lines.push(format!(
                    "# Not fully known: of {} random words {} have another text, of {} it is wrong that they are legal or not.",
                    learned.tried, learned.wrong_text, learned.wrong_legality
                ));
            }
            match settled {
                Ok(table) => lines.push(adopted_line(opcode, &table, &table.forms[0], &mut sets)),
                Err(error) => open.push(format!("{opcode:#05x}: {error}")),
            }
            if learned.wrong_text + learned.wrong_legality > 0 {
                open.push(format!(
                    "{opcode:#05x} {}: of {} words {} have another text and {} are legal where they should not be or the reverse",
                    learned.draft.tokens.concat(),
                    learned.tried,
                    learned.wrong_text,
                    learned.wrong_legality
                ));
            }
        }
    }
    Ok(Outcome { table: joined(&sets, &lines), open, asked: meeting.asked().0 })
}

/// A learned form as a table, its memory operands with the habits that read random words best; or what of it no table can have.
fn settled(
    tables: &Tables,
    learner: &mut Learner<'_>,
    learned: &Learned,
) -> Result<Result<Source, String>, String> {
    let mut sets = Sets::default();
    let line = match form_line(learner.opcode, learned, &mut sets) {
        Ok(line) => line,
        Err(error) => return Ok(Err(error)),
    };
    let mut table = tables.read(&joined(&sets, &[line]))?;
    let words = habits::words(&table, 0, &mut learner.random);
    let words: Vec<u128> = words.into_iter().filter(|&it| learned.draft.matches(it)).collect();
    let answers = learner.ask(words.clone())?;
    habits::settle(&mut table, 0, &words, &answers);
    Ok(Ok(table))
}

/// The table in use with `rest` bits from a compiler's words: those that most words of a form have where their text does not say.
pub fn settle(tables: &Tables, arch: sass::Arch, words: &[u128]) -> Result<String, String> {
    let table = tables.table(arch)?;
    let mut residues: HashMap<u32, Vec<u128>> = HashMap::new();
    for instruction in words.iter().filter_map(|&word| sass::decode(arch, word)) {
        // Where the residue is the whole word, the text makes none.
        let residue = instruction.residue();
        if residue != instruction.word() {
            residues.entry(instruction.form_number()).or_default().push(residue & BELOW & !OPCODE_MASK);
        }
    }
    Ok(rewritten(&tables.text(arch)?, &table, tables.sets()?, |at| {
        let form = &table.forms[at];
        let seen = residues.get(&(at as u32)).map_or(&[][..], Vec::as_slice);
        let often = |bit: &u32| 2 * seen.iter().filter(|it| **it >> bit & 1 == 1).count() > seen.len();
        let rest = (0..BELOW.count_ones()).filter(often).fold(form.rest, |rest, bit| rest ^ 1 << bit);
        vec![Form { rest, ..form.clone() }]
    }))
}

/// An opcode learned again.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The 13-bit opcode: bit 91 above bits 11-0.
    pub opcode: usize,
    /// The forms of the table in use and those that were learned now, with their sets. Neither has `rest` bits: those come from
    /// compiled code.
    pub committed: String,
    /// What was learned now.
    pub learned: String,
}

impl Checked {
    /// Whether learning gives what the table has.
    pub fn same(&self) -> bool {
        self.committed == self.learned
    }
}

/// Learns opcodes from nothing but the oracle and the hints, and puts what comes out beside the table in use.
pub fn check(
    oracle: &dyn Oracle,
    tables: &Tables,
    arch: sass::Arch,
    opcodes: &[usize],
    note: &(dyn Fn(&str) + Sync),
) -> Result<Vec<Checked>, String> {
    let hints = tables.hints(arch)?;
    let mut all = vec![learn(oracle, tables, opcodes, &hints, note)?.table];
    all.extend(hints);
    let learned = tables.read(&merge(oracle, tables, opcodes, &all)?.table)?;
    let committed = tables.table(arch)?;
    let forms = |table: &Source, opcode: usize| {
        let mut sets = Sets::default();
        let lines: Vec<String> = table
            .forms_of(opcode)
            .map(|at| {
                let form = Form { rest: 0, ..table.forms[at].clone() };
                adopted_line(opcode, table, &form, &mut sets)
            })
            .collect();
        joined(&sets, &lines)
    };
    let one = |&opcode: &usize| Checked {
        opcode,
        committed: forms(&committed, opcode),
        learned: forms(&learned, opcode),
    };
    Ok(opcodes.iter().map(one).collect())
}

/// A word of each form of the table in use with the oracle's text at address 0, a line each.
pub fn samples(oracle: &dyn Oracle, tables: &Tables, arch: sass::Arch) -> Result<String, String> {
    const TRIES: usize = 4;
    let words = random_words(&tables.table(arch)?, TRIES, 3);
    // Every address but the first would show in the targets of branches.
    let texts = oracle.ask(&words, 0)?;
    let mut lines = String::new();
    for (words, texts) in words.chunks(TRIES).zip(texts.chunks(TRIES)) {
        let sample = words.iter().zip(texts).find_map(|(word, text)| Some((word, text.as_ref()?)));
        if let Some((word, text)) = sample {
            let relative = sass::decode(arch, *word).is_some_and(|it| it.target(0).is_some());
            let text =
                if relative { oracle.ask(&[*word], 0)?.remove(0).unwrap_or_default() } else { text.clone() };
            lines.push_str(&format!("{word:032x} {text}\n"));
        }
    }
    Ok(lines)
}
