//! Litmus tests: what is wrong with them, their names, and the memory model's verdict.

use crate::analysis::{Analysis, Color, Fix, Proposal, ProposalKind, Proposals, Signature};
use crate::config::Hints;
use crate::index::{Index, Kind, Occurrence, Symbol};
use memory_model::answer::{Options, Question};
use memory_model::model::{Family, Model};
use memory_model::program::Program;
use memory_model::{dialect, explain};
use ptx::diagnostic::Diagnostic;
use ptx::source::{Source, Span};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::{Arc, OnceLock};

/// Choices that a search for a verdict tries, at most: an editor waits for it.
const BUDGET: u64 = 1_000_000;

/// A word of the text, and the thread whose column it is in.
#[derive(Clone, Copy)]
struct Word {
    span: Span,
    column: usize,
    /// The first of an instruction.
    first: bool,
    color: Option<Color>,
}

/// A litmus test.
pub(crate) struct Litmus {
    source: Arc<Source>,
    program: Option<Program>,
    diagnostics: Vec<Diagnostic>,
    words: Vec<Word>,
    index: Index,
    verdict: OnceLock<Option<(String, String)>>,
}

impl Litmus {
    /// Looks at a text.
    pub(crate) fn new(source: Arc<Source>) -> Self {
        let words = words(source.text());
        let (program, diagnostics) = match dialect::parse(source.text()) {
            Ok(program) => (Some(program), Vec::new()),
            Err(problem) => {
                let span = place(source.text(), problem.line, problem.column);
                (None, vec![Diagnostic::error("", span, problem.message)])
            }
        };
        let index = program.as_ref().map_or_else(Index::default, |program| names(&source, program, &words));
        Self { source, program, diagnostics, words, index, verdict: OnceLock::new() }
    }

    /// The verdict in a line, and all that shows it.
    fn verdict(&self) -> Option<&(String, String)> {
        let decide = || {
            let program = self.program.as_ref()?;
            let version = Family::Isa.versions().last().copied()?;
            let model = Model::new(Family::Isa, version)?;
            let options = Options { budget: BUDGET, ..Options::default() };
            let question = Question::new(program, &model, options);
            let verdict = match question.verdict() {
                Ok(verdict) => verdict,
                Err(reason) => return Some((format!("not decided: {reason}"), String::new())),
            };
            let race = match question.race() {
                Ok(Some(_)) => ", with a data race",
                Ok(None) => "",
                Err(_) => ", data races not decided",
            };
            let word = if verdict.holds { "holds" } else { "does not hold" };
            let line = format!("{word} under {model}{race}");
            let shown = match &verdict.execution {
                Some(execution) => {
                    format!("allowed, by this execution:\n{}", explain::text(program, &model, execution))
                }
                None => match question.forbidden() {
                    Ok(Some(forbidden)) => format!(
                        "forbidden; this would be the execution:\n{}{}",
                        explain::text(program, &model, &forbidden.execution),
                        explain::reason(&forbidden)
                    ),
                    _ => "no thread computes such values".into(),
                },
            };
            Some((line, shown))
        };
        self.verdict.get_or_init(decide).as_ref()
    }

    /// The assertion.
    fn assertion(&self) -> Option<Span> {
        let keywords = ["exists", "forall", "not", "filter", "final", "locations"];
        let word = self.words.iter().rev().find(|word| keywords.contains(&self.source.slice(word.span)))?;
        let end = self.source.text().trim_end().len() as u32;
        Some(Span::new(word.span.start, end.max(word.span.end)))
    }

    fn word(&self, offset: u32) -> Option<&Word> {
        self.words.iter().find(|word| word.span.start <= offset && offset <= word.span.end)
    }
}

/// The character at a line and a column, which count characters from 1.
fn place(text: &str, line: usize, column: usize) -> Span {
    let start = match line {
        0 | 1 => 0,
        _ => text.match_indices('\n').nth(line - 2).map_or(text.len(), |(at, _)| at + 1),
    };
    let rest = &text[start..];
    let at = rest.char_indices().nth(column.saturating_sub(1)).map_or(rest.len(), |(at, _)| at);
    let word = rest[at..].find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len() - at);
    let length = if word > 0 { word } else { rest[at..].chars().next().map_or(0, char::len_utf8) };
    Span::new((start + at) as u32, (start + at + length) as u32)
}

/// Words, numbers, comments and quoted texts.
fn words(text: &str) -> Vec<Word> {
    let mut found = Vec::new();
    let (mut at, mut column, mut first) = (0, 0, true);
    while let Some(character) = text[at..].chars().next() {
        let rest = &text[at..];
        let end = |found: Option<usize>, more: usize| found.map_or(rest.len(), |end| end + more);
        let (length, color) = if rest.starts_with("(*") {
            (end(rest.find("*)"), 2), Some(Color::Comment))
        } else if rest.starts_with("//") {
            (end(rest.find('\n'), 0), Some(Color::Comment))
        } else if character == '"' {
            (end(rest[1..].find('"'), 2), Some(Color::Text))
        } else if character.is_ascii_digit() {
            (end(rest.find(|c: char| !c.is_ascii_alphanumeric()), 0), Some(Color::Number))
        } else if character.is_ascii_alphabetic() || character == '_' {
            // An instruction's modifiers belong to it.
            let within = |c: char| c.is_ascii_alphanumeric() || c == '_' || first && c == '.';
            (end(rest.find(|c| !within(c)), 0), None)
        } else {
            match character {
                '|' if !rest.starts_with("||") => (column, first) = (column + 1, true),
                ';' | '{' | '}' => (column, first) = (0, true),
                ':' => first = true,
                _ => {}
            }
            at += character.len_utf8();
            continue;
        };
        let span = Span::new(at as u32, (at + length) as u32);
        found.push(Word { span, column, first: first && color.is_none(), color });
        if color.is_none() {
            first = false;
        }
        at += length;
    }
    found
}

fn names(source: &Source, program: &Program, words: &[Word]) -> Index {
    let mut index = Index::default();
    let whole = Span::new(0, source.text().len() as u32);
    let mut known: FxHashMap<(Kind, usize, &str), u32> = FxHashMap::default();
    let threads: Vec<&str> = program.threads.iter().map(|thread| thread.name.as_str()).collect();
    // A jump can stand before its label.
    let colon = |word: &&Word| {
        let behind = source.text()[word.span.end as usize..].trim_start();
        word.first && behind.starts_with(':') && !behind.starts_with("::")
    };
    let labels: FxHashSet<&str> = words.iter().filter(colon).map(|word| source.slice(word.span)).collect();
    let mut of_thread = None;
    for word in words.iter().filter(|word| word.color.is_none()) {
        let text = source.slice(word.span);
        let behind = source.text()[word.span.end as usize..].trim_start();
        let named = of_thread.take();
        let column = named.unwrap_or(word.column);
        let registers = program.threads.get(column).map_or(&[][..], |thread| &thread.registers[..]);
        let (kind, owner) = if let Some(thread) = threads.iter().position(|name| *name == text) {
            // `P0:r1` names a register of another column.
            of_thread = behind.starts_with(':').then_some(thread);
            (Kind::Thread, 0)
        } else if named.is_some() || !word.first && registers.iter().any(|name| name == text) {
            (Kind::Register, column)
        } else if program.locations.iter().any(|location| location.name == text) {
            (Kind::Variable, 0)
        } else if labels.contains(text) {
            (Kind::Label, 0)
        } else {
            continue;
        };
        let next = index.symbols.len() as u32;
        let symbol = *known.entry((kind, owner, text)).or_insert(next);
        if symbol == next {
            let detail = match kind {
                Kind::Register => format!("register of {}", threads.get(owner).copied().unwrap_or_default()),
                Kind::Thread => "thread".into(),
                Kind::Label => "label".into(),
                _ => "location in memory".into(),
            };
            index.symbols.push(Symbol {
                name: text.to_owned(),
                kind,
                declared: word.span,
                whole: word.span,
                scope: whole,
                parent: None,
                count: None,
                detail,
            });
        }
        let written = index.symbols[symbol as usize].declared == word.span;
        index.occurrences.push(Occurrence { span: word.span, symbol, member: None, written });
    }
    index
}

impl Analysis for Litmus {
    fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    fn index(&self) -> &Index {
        &self.index
    }

    fn explain(&self, _: &str) -> Option<&'static str> {
        None
    }

    fn hover(&self, offset: u32) -> Option<(Span, String)> {
        if let Some(span) = self.assertion()
            && (span.start..=span.end).contains(&offset)
            && let Some((line, shown)) = self.verdict()
        {
            return Some((span, format!("**{line}**\n\n```text\n{shown}\n```")));
        }
        if let Some(name) = self.index.at(offset) {
            let symbol = self.index.symbol(name);
            return Some((name.span, format!("`{}`, {}", symbol.name, symbol.detail)));
        }
        let word = self.word(offset)?;
        let text = self.source.slice(word.span);
        let known = word.first.then(|| {
            ptx::isa::FormId::all()
                .find(|form| form.data().mnemonic.text() == text.split('.').next().unwrap_or_default())
        });
        let form = known??.data();
        Some((word.span, format!("`{text}`: manual {} {}", form.section, form.section_title())))
    }

    fn complete(&self, offset: u32) -> Proposals {
        let before = &self.source.text()[..offset as usize];
        let length = before.bytes().rev().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        let names = self.index.symbols.iter().map(|symbol| Proposal {
            text: symbol.name.clone(),
            kind: ProposalKind::Name(symbol.kind),
            detail: symbol.detail.clone(),
            rank: 0,
        });
        Proposals { replace: Span::new(offset - length as u32, offset), list: names.collect() }
    }

    fn signatures(&self, _: u32) -> (Vec<Signature>, u32) {
        (Vec::new(), 0)
    }

    fn fixes(&self, _: &Diagnostic) -> Vec<Fix> {
        Vec::new()
    }

    fn hints(&self, _: Span, _: &Hints) -> Vec<(u32, String)> {
        Vec::new()
    }

    fn colors(&self) -> Vec<(Span, Color)> {
        let mut names = self.index.occurrences.iter().peekable();
        let color = |word: &Word, name: Option<Kind>| match name {
            Some(Kind::Register) => Some(Color::Register),
            Some(Kind::Variable) => Some(Color::Variable),
            Some(Kind::Label) => Some(Color::Label),
            Some(_) => Some(Color::Function),
            None => word.color.or(word.first.then_some(Color::Mnemonic)),
        };
        let mut found = Vec::new();
        for word in &self.words {
            let name = names.next_if(|name| name.span == word.span).map(|name| self.index.symbol(name).kind);
            found.extend(color(word, name).map(|color| (word.span, color)));
        }
        found
    }

    fn folds(&self) -> Vec<Span> {
        self.words.iter().filter(|word| word.color == Some(Color::Comment)).map(|word| word.span).collect()
    }

    fn statement(&self, offset: u32) -> Option<Span> {
        let text = self.source.text();
        let from = text[..offset as usize].rfind(['|', ';', '{', '}']).map_or(0, |at| at + 1);
        let to =
            text[offset as usize..].find(['|', ';', '{', '}']).map_or(text.len(), |at| offset as usize + at);
        Some(Span::new(from as u32, to as u32))
    }

    fn format(&self) -> Result<String, String> {
        Err("litmus tests have no canonical form".into())
    }

    fn renamable(&self, _: &Occurrence, name: Option<&str>) -> Result<(), String> {
        let Some(name) = name else { return Ok(()) };
        let mut letters = name.bytes();
        let begins = letters.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
        if !begins || !letters.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Err(format!("`{name}` is not a name of a litmus test"));
        }
        let taken = self.words.iter().any(|word| self.source.slice(word.span) == name);
        if taken { Err(format!("`{name}` is taken")) } else { Ok(()) }
    }

    fn lenses(&self) -> Vec<(Span, String)> {
        let verdict = self.assertion().and_then(|span| Some((span, self.verdict()?.0.clone())));
        verdict.into_iter().collect()
    }
}
