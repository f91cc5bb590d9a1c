//! From CUDA's C to what a C parser takes: comments, directives, attributes and CUDA's words become blanks, so that
//! offsets stay what they are.

use super::Located;
use super::names;
use super::tokens::{Kind, Token, tokens};
use crate::data::{Attributes, Target};
use std::collections::{HashMap, HashSet};

/// The longest text that is read.
const MAX_BYTES: usize = 4 << 20;
/// How deeply brackets may nest.
const MAX_DEPTH: usize = 64;
/// How many tokens may stand within one another: the parser recurses for each that is a prefix or a bracket.
const MAX_PATH: usize = 400;

/// A text without attributes.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    pub(super) text: String,
    /// Attributes of structures, unions and enumerations, by the offset of that keyword.
    pub(super) of_tags: HashMap<usize, Attributes>,
    /// All others with where they stand, in order.
    pub(super) attributes: Vec<(usize, Attributes)>,
    /// Where `__global__` stands.
    pub(super) kernels: Vec<usize>,
    /// What `#define` says of names that are numbers.
    pub(super) constants: HashMap<String, i128>,
}

/// CUDA's and C++'s words that say nothing of layout.
const IGNORED: [&str; 12] = [
    "__device__",
    "__host__",
    "__constant__",
    "__shared__",
    "__managed__",
    "__grid_constant__",
    "__forceinline__",
    "__noinline__",
    "__device_builtin__",
    "__cudart_builtin__",
    "__device_builtin_texture_type__",
    "__device_builtin_surface_type__",
];
/// Words with a list behind them that say nothing of layout.
const IGNORED_CALLS: [&str; 6] =
    ["__launch_bounds__", "__cluster_dims__", "__maxnreg__", "__block_size__", "__asm__", "asm"];
/// Attributes that change a layout in ways that are not known here.
const REFUSED: [&str; 7] = [
    "vector_size",
    "ext_vector_type",
    "mode",
    "scalar_storage_order",
    "ms_struct",
    "gcc_struct",
    "transparent_union",
];

/// Takes everything out of a text that is not plain C.
pub(super) fn prepare(source: &str, target: Target) -> Result<Prepared, Located> {
    if source.len() > MAX_BYTES {
        return Err(Located::new(0, format!("a text of more than {MAX_BYTES} bytes")));
    }
    let all = tokens(source)?;
    let mut reader = Reader {
        source,
        target,
        text: source.as_bytes().to_vec(),
        found: Prepared::default(),
        tokens: Vec::with_capacity(all.len()),
    };
    reader.directives(all)?;
    reader.words()?;
    let Reader { text, mut found, .. } = reader;
    // Only whole tokens were overwritten, by ASCII.
    found.text = String::from_utf8_lossy(&text).into_owned();
    Ok(found)
}

struct Reader<'a> {
    source: &'a str,
    target: Target,
    text: Vec<u8>,
    found: Prepared,
    /// Without comments and directives.
    tokens: Vec<Token>,
}

impl Reader<'_> {
    fn blank(&mut self, start: usize, end: usize) {
        for byte in &mut self.text[start..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }

    /// `#define`, `#ifdef`; what is not compiled is left out.
    fn directives(&mut self, all: Vec<Token>) -> Result<(), Located> {
        let mut defined: HashSet<&str> = HashSet::new();
        // For each open condition, whether its lines are read, and whether those of its `#else` are.
        let mut open: Vec<(bool, bool)> = Vec::new();
        for token in all {
            let reading = open.iter().all(|(reading, _)| *reading);
            match token.kind {
                Kind::Comment => self.blank(token.start, token.end),
                Kind::Directive => {
                    self.blank(token.start, token.end);
                    let text = token.text(self.source)[1..].trim();
                    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
                    let rest = rest.trim();
                    let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
                    let here = |message: &str| Err(Located::new(token.start, message));
                    match word {
                        "ifdef" => open.push((defined.contains(name), reading)),
                        "ifndef" => open.push((!defined.contains(name), reading)),
                        "if" if !reading => open.push((false, false)),
                        "else" => match open.last_mut() {
                            Some((reading, _)) => *reading = !*reading,
                            None => return here("an `#else` without a condition"),
                        },
                        "endif" if open.is_empty() => return here("an `#endif` without a condition"),
                        "endif" => drop(open.pop()),
                        _ if !reading => {}
                        "if" | "elif" => {
                            return here(
                                "only `#ifdef` is understood: preprocess the file first, as with `gcc -E`",
                            );
                        }
                        "define" => {
                            defined.insert(name);
                            let value = names::integer(rest[name.len()..].trim().trim_matches(['(', ')']));
                            if let Some(value) = value {
                                self.found.constants.insert(name.to_owned(), value);
                            }
                        }
                        "undef" => {
                            defined.remove(name);
                            self.found.constants.remove(name);
                        }
                        "pragma" if name == "pack" => {
                            return here("`#pragma pack` is not understood; `__attribute__((packed))` is");
                        }
                        "error" => return here("an `#error` is reached"),
                        // `#include`, `#pragma once`, `#line` and the like declare nothing here.
                        _ => {}
                    }
                    if open.len() > MAX_DEPTH {
                        return here("conditions nest too deeply");
                    }
                }
                _ if reading => self.tokens.push(token),
                _ => self.blank(token.start, token.end),
            }
        }
        Ok(())
    }

    fn word(&self, at: usize) -> &str {
        let token = self.tokens.get(at).filter(|token| token.kind == Kind::Word);
        token.map_or("", |token| token.text(self.source))
    }

    fn is(&self, at: usize, symbol: u8) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is(symbol))
    }

    /// The token behind the bracket that closes the one at `open`.
    fn behind(&self, open: usize) -> Result<usize, Located> {
        let mut depth = 0usize;
        for (at, token) in self.tokens.iter().enumerate().skip(open) {
            match token.kind {
                Kind::Symbol(b'(' | b'[' | b'{') => depth += 1,
                Kind::Symbol(b')' | b']' | b'}') => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return Ok(at + 1);
                    }
                }
                _ => {}
            }
        }
        Err(Located::new(self.tokens[open].start, "a bracket that does not close"))
    }

    /// Blanks the tokens of a range.
    fn take_out(&mut self, from: usize, to: usize) {
        let (start, end) = (self.tokens[from].start, self.tokens[to - 1].end);
        self.blank(start, end);
    }

    /// Goes through all tokens once.
    fn words(&mut self) -> Result<(), Located> {
        // For each open bracket, what it is, the keyword before the body of a structure, and the path before it.
        let mut open: Vec<(Bracket, Option<usize>, usize)> = Vec::new();
        let mut path = 0;
        // The keyword that attributes here belong to: directly behind it, or behind its body.
        let mut tag: Option<usize> = None;
        // A structure's keyword, until its body or something else.
        let mut head: Option<usize> = None;
        let mut before = None;
        let mut at = 0;
        while let Some(&token) = self.tokens.get(at) {
            let word = self.word(at).to_owned();
            if let Some(next) = self.attribute(at, &word, tag)? {
                at = next;
                continue;
            }
            path += 1;
            if open.len() > MAX_DEPTH || path > MAX_PATH {
                return Err(Located::new(token.start, "what stands here nests too deeply"));
            }
            tag = None;
            match token.kind {
                Kind::Word => {
                    if matches!(&*word, "struct" | "union" | "enum") {
                        (tag, head) = (Some(token.start), Some(token.start));
                    }
                    self.rename(at, &word);
                }
                Kind::Symbol(b'{') if before == Some(b')') => {
                    // The body of a function.
                    let next = self.behind(at)?;
                    self.take_out(at, next);
                    self.text[token.start] = b';';
                    (before, head, at) = (Some(b';'), None, next);
                    path = open.last().map_or(0, |(_, _, path)| *path);
                    continue;
                }
                Kind::Symbol(b'{') if self.is_linkage(at) => {
                    self.blank(token.start, token.end);
                    open.push((Bracket::Linkage, None, path));
                }
                Kind::Symbol(symbol @ (b'(' | b'[' | b'{')) => {
                    let keyword = head.take().filter(|_| symbol == b'{');
                    open.push((Bracket::Plain(symbol), keyword, path));
                }
                Kind::Symbol(symbol @ (b')' | b']' | b'}')) => {
                    let closed = open.pop();
                    match closed {
                        Some((Bracket::Linkage, ..)) if symbol == b'}' => self.blank(token.start, token.end),
                        Some((Bracket::Plain(opening), keyword, _)) if closes(opening, symbol) => {
                            tag = keyword
                        }
                        _ => return Err(Located::new(token.start, "a bracket that was not opened")),
                    }
                    path = closed.map_or(0, |(_, _, path)| path);
                    head = None;
                }
                Kind::Symbol(b';' | b',') => {
                    path = open.last().map_or(0, |(_, _, path)| *path);
                    head = None;
                }
                Kind::Symbol(_) => head = None,
                Kind::Number | Kind::Quoted | Kind::Directive | Kind::Comment => {}
            }
            before = match token.kind {
                Kind::Symbol(symbol) => Some(symbol),
                _ => None,
            };
            at += 1;
        }
        Ok(())
    }

    /// Whether the brace is that of `extern "C" {`, or the string before a declaration is to go.
    fn is_linkage(&self, at: usize) -> bool {
        at >= 2 && self.tokens[at - 1].kind == Kind::Quoted && self.word(at - 2) == "extern"
    }

    /// Words that the parser knows by others of the same length or less.
    fn rename(&mut self, at: usize, word: &str) {
        let token = self.tokens[at];
        if word == "extern" && self.tokens.get(at + 1).is_some_and(|next| next.kind == Kind::Quoted) {
            let quoted = self.tokens[at + 1];
            self.blank(quoted.start, quoted.end);
            if self.is(at + 2, b'{') {
                self.blank(token.start, token.end);
            }
        }
        if matches!(word, "unsigned" | "signed") && self.word(at + 1) == "__int128" {
            let next = self.tokens[at + 1];
            self.blank(token.start, next.end);
            let name = if word == "signed" { names::INT128 } else { names::UINT128 };
            self.text[token.start..token.start + name.len()].copy_from_slice(name.as_bytes());
        }
    }

    /// Takes an attribute out, if one is here; what comes behind it.
    fn attribute(&mut self, at: usize, word: &str, tag: Option<usize>) -> Result<Option<usize>, Located> {
        let token = self.tokens[at];
        if IGNORED.contains(&word) || word == "__global__" {
            if word == "__global__" {
                self.found.kernels.push(token.start);
            }
            self.take_out(at, at + 1);
            return Ok(Some(at + 1));
        }
        let double = token.is(b'[') && self.is(at + 1, b'[') && self.tokens[at + 1].start == token.end;
        if double || self.is(at + 1, b'(') && IGNORED_CALLS.contains(&word) {
            let next = self.behind(if double { at } else { at + 1 })?;
            self.take_out(at, next);
            return Ok(Some(next));
        }
        let known = matches!(word, "__attribute__" | "__attribute" | "__align__" | "alignas" | "_Alignas");
        if !known || !self.is(at + 1, b'(') {
            return Ok(None);
        }
        let next = self.behind(at + 1)?;
        let mut attributes = Attributes::default();
        if word.starts_with("__attribute") {
            if !self.is(at + 2, b'(') {
                return Err(Located::new(token.start, "`__attribute__` takes two brackets"));
            }
            let mut inner = at + 3;
            while inner + 2 < next {
                inner = self.gnu_attribute(inner, &mut attributes)?;
            }
        } else {
            attributes.align = Some(self.alignment(at + 2, next - 1, true)?);
        }
        self.take_out(at, next);
        match tag {
            Some(keyword) => merge(self.found.of_tags.entry(keyword).or_default(), attributes),
            None => self.found.attributes.push((token.start, attributes)),
        }
        Ok(Some(next))
    }

    /// An attribute of `__attribute__((a, b(1)))`; what comes behind it and its comma.
    fn gnu_attribute(&mut self, at: usize, attributes: &mut Attributes) -> Result<usize, Located> {
        let name = self.word(at).trim_matches('_').to_owned();
        let arguments = self.is(at + 1, b'(');
        let next = if arguments { self.behind(at + 1)? } else { at + 1 };
        match &*name {
            "packed" => attributes.packed = true,
            // Without a number it is the largest that the target has use for.
            "aligned" if !arguments => attributes.align = Some(16),
            "aligned" => attributes.align = Some(self.alignment(at + 2, next - 1, false)?),
            refused if REFUSED.contains(&refused) => {
                let message = format!("the attribute `{refused}` is not understood");
                return Err(Located::new(self.tokens[at].start, message));
            }
            _ => {}
        }
        Ok(if self.is(next, b',') { next + 1 } else { next })
    }

    /// The number between two tokens, or the alignment of a type's name.
    fn alignment(&self, from: usize, to: usize, types: bool) -> Result<u64, Located> {
        let place = self.tokens[from].start;
        let text = self.source[place..self.tokens[to].start].trim();
        let constant = self.found.constants.get(text).copied().or_else(|| names::integer(text));
        let named = || {
            let ty = types.then(|| names::builtin(text)).flatten();
            ty.and_then(|ty| ty.extent(self.target).ok()).map(|extent| i128::from(extent.align))
        };
        let value = constant.or_else(named).and_then(|value| u64::try_from(value).ok());
        let fits = value.filter(|value| value.is_power_of_two() && *value <= 1 << 28);
        fits.ok_or_else(|| Located::new(place, format!("`{text}` is not an alignment: a power of two")))
    }
}

/// What an open bracket is.
#[derive(Clone, Copy, Debug)]
enum Bracket {
    Plain(u8),
    /// That of `extern "C" {`.
    Linkage,
}

fn closes(opening: u8, closing: u8) -> bool {
    matches!((opening, closing), (b'(', b')') | (b'[', b']') | (b'{', b'}'))
}

/// Joins attributes of one thing: the strictest alignment counts.
pub(super) fn merge(all: &mut Attributes, more: Attributes) {
    all.packed |= more.packed;
    all.align = all.align.max(more.align);
}
