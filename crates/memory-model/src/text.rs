//! Tokens of litmus tests, with their places, and the condition that both front ends write alike.

use crate::program::{Comparison, Condition, Quantifier, Term};
use std::fmt;

/// Why a text is not a litmus test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for Problem {}

/// A kind of token, with its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    Word(&'a str),
    Number(i64),
    Symbol(&'a str),
    End,
}

/// The tokens of a text, each with its offset.
pub(crate) struct Tokens<'a> {
    text: &'a str,
    list: Vec<(Token<'a>, usize)>,
    at: usize,
}

/// Longer ones first.
const SYMBOLS: [&str; 32] = [
    "/\\", "\\/", "==", "!=", "<=", ">=", "&&", "||", "{", "}", "(", ")", "[", "]", ";", ",", ":", "@", ".",
    "|", "=", "<", ">", "~", "&", "-", "%", "$", "+", "!", "*", "^",
];

/// The most tokens of a test.
const MAX_TOKENS: usize = 100_000;

impl<'a> Tokens<'a> {
    /// Splits a text. White space, quoted text, `(* *)` and `//` comments are left out.
    pub(crate) fn new(text: &'a str, start: usize) -> Result<Self, Problem> {
        let mut list = Vec::new();
        let mut at = start;
        while at < text.len() {
            let rest = &text[at..];
            let first = rest.chars().next().unwrap_or(' ');
            let fail = |message: String| problem(text, at, message);
            let len = if first.is_whitespace() {
                first.len_utf8()
            } else if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("(*") {
                rest.find("*)").map(|end| end + 2).ok_or_else(|| fail("the comment has no end".into()))?
            } else if first == '"' {
                rest[1..]
                    .find('"')
                    .map(|end| end + 2)
                    .ok_or_else(|| fail("the quoted text has no end".into()))?
            } else if first.is_ascii_alphabetic() || first == '_' {
                let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let len = rest.find(|c| !word(c)).unwrap_or(rest.len());
                list.push((Token::Word(&rest[..len]), at));
                len
            } else if first.is_ascii_digit() {
                let len = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
                let digits = &rest[..len];
                let value = match digits.strip_prefix("0x") {
                    Some(hex) => u64::from_str_radix(hex, 16).ok().map(|value| value as i64),
                    None => digits.parse().ok(),
                };
                let value = value.ok_or_else(|| fail(format!("`{digits}` is not a number")))?;
                list.push((Token::Number(value), at));
                len
            } else {
                let symbol = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol));
                let symbol = symbol.ok_or_else(|| fail(format!("unexpected `{first}`")))?;
                list.push((Token::Symbol(symbol), at));
                symbol.len()
            };
            if list.len() > MAX_TOKENS {
                return Err(problem(text, at, "the test is too long".into()));
            }
            at += len;
        }
        Ok(Self { text, list, at: 0 })
    }

    pub(crate) fn peek(&self) -> Token<'a> {
        self.list.get(self.at).map_or(Token::End, |(token, _)| *token)
    }

    pub(crate) fn peek_behind(&self, count: usize) -> Token<'a> {
        self.list.get(self.at + count).map_or(Token::End, |(token, _)| *token)
    }

    pub(crate) fn take(&mut self) -> Token<'a> {
        let token = self.peek();
        self.at = (self.at + 1).min(self.list.len());
        token
    }

    pub(crate) fn eat(&mut self, symbol: &str) -> bool {
        let found = self.peek() == Token::Symbol(SYMBOLS.iter().find(|s| **s == symbol).unwrap_or(&""));
        if found {
            self.at += 1;
        }
        found
    }

    /// A comparison as C writes it, if there is one.
    pub(crate) fn comparison(&mut self) -> Option<Comparison> {
        let symbols = [
            ("==", Comparison::Eq),
            ("!=", Comparison::Ne),
            ("<=", Comparison::Le),
            (">=", Comparison::Ge),
            ("<", Comparison::Lt),
            (">", Comparison::Gt),
        ];
        symbols.iter().find(|(symbol, _)| self.eat(symbol)).map(|(_, comparison)| *comparison)
    }

    pub(crate) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.peek() == Token::Word(word);
        if found {
            self.at += 1;
        }
        found
    }

    pub(crate) fn need(&mut self, symbol: &str) -> Result<(), Problem> {
        if self.eat(symbol) { Ok(()) } else { Err(self.unexpected(&format!("`{symbol}`"))) }
    }

    pub(crate) fn word(&mut self, what: &str) -> Result<&'a str, Problem> {
        match self.peek() {
            Token::Word(word) => {
                self.at += 1;
                Ok(word)
            }
            _ => Err(self.unexpected(what)),
        }
    }

    /// A number, perhaps negative.
    pub(crate) fn number(&mut self, what: &str) -> Result<i64, Problem> {
        let negative = self.eat("-");
        match self.peek() {
            Token::Number(value) => {
                self.at += 1;
                Ok(if negative { value.wrapping_neg() } else { value })
            }
            _ => Err(self.unexpected(what)),
        }
    }

    /// The offset of the next token.
    pub(crate) fn offset(&self) -> usize {
        self.list.get(self.at).map_or(self.text.len(), |(_, offset)| *offset)
    }

    /// A problem at the next token.
    pub(crate) fn problem(&self, message: String) -> Problem {
        problem(self.text, self.offset(), message)
    }

    /// A problem at the token taken last.
    pub(crate) fn rejected(&self, message: String) -> Problem {
        let last = self.at.checked_sub(1).and_then(|last| self.list.get(last));
        problem(self.text, last.map_or(0, |(_, offset)| *offset), message)
    }

    pub(crate) fn unexpected(&self, wanted: &str) -> Problem {
        let found = match self.peek() {
            Token::Word(word) => format!("`{word}`"),
            Token::Number(number) => format!("`{number}`"),
            Token::Symbol(symbol) => format!("`{symbol}`"),
            Token::End => "the end".into(),
        };
        self.problem(format!("expected {wanted}, found {found}"))
    }
}

/// A problem at an offset of a text.
pub(crate) fn problem(text: &str, offset: usize, message: String) -> Problem {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Problem {
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        message,
    }
}

/// How names in a condition are looked up.
pub(crate) trait Names {
    /// A register of a thread.
    fn register(&mut self, thread: &str, register: &str) -> Option<Term>;
    /// A location.
    fn location(&mut self, name: &str) -> Option<Term>;
    /// An element of an array; a location is one element.
    fn element(&mut self, name: &str, index: i64) -> Option<Term> {
        if index == 0 { self.location(name) } else { None }
    }
}

/// How deep a condition may nest.
const MAX_DEPTH: usize = 100;

/// `exists`, `~exists` or `forall`, if that is next.
pub(crate) fn quantifier(tokens: &mut Tokens) -> Option<Quantifier> {
    if tokens.eat_word("exists") {
        return Some(Quantifier::Exists);
    }
    if tokens.eat_word("forall") {
        return Some(Quantifier::Forall);
    }
    let negated = tokens.peek() == Token::Symbol("~") || tokens.peek() == Token::Word("not");
    if negated && tokens.peek_behind(1) == Token::Word("exists") {
        tokens.take();
        tokens.take();
        return Some(Quantifier::NotExists);
    }
    None
}

/// A condition.
pub(crate) fn condition(tokens: &mut Tokens, names: &mut impl Names) -> Result<Condition, Problem> {
    disjunction(tokens, names, 0)
}

fn disjunction(tokens: &mut Tokens, names: &mut impl Names, depth: usize) -> Result<Condition, Problem> {
    if depth > MAX_DEPTH {
        return Err(tokens.problem("the condition nests too deeply".into()));
    }
    let mut left = conjunction(tokens, names, depth)?;
    while tokens.eat("\\/") || tokens.eat("||") {
        left = Condition::Or(Box::new(left), Box::new(conjunction(tokens, names, depth)?));
    }
    Ok(left)
}

fn conjunction(tokens: &mut Tokens, names: &mut impl Names, depth: usize) -> Result<Condition, Problem> {
    let mut left = atom(tokens, names, depth)?;
    while tokens.eat("/\\") || tokens.eat("&&") {
        left = Condition::And(Box::new(left), Box::new(atom(tokens, names, depth)?));
    }
    Ok(left)
}

fn atom(tokens: &mut Tokens, names: &mut impl Names, depth: usize) -> Result<Condition, Problem> {
    if depth > MAX_DEPTH {
        return Err(tokens.problem("the condition nests too deeply".into()));
    }
    if tokens.eat("~") || tokens.eat("!") || tokens.eat_word("not") {
        return Ok(Condition::Not(Box::new(atom(tokens, names, depth + 1)?)));
    }
    if tokens.eat("(") {
        let inner = disjunction(tokens, names, depth + 1)?;
        tokens.need(")")?;
        return Ok(inner);
    }
    let left = term(tokens, names)?;
    let comparison = tokens.comparison().or_else(|| tokens.eat("=").then_some(Comparison::Eq));
    let comparison = comparison.ok_or_else(|| tokens.unexpected("a comparison"))?;
    Ok(Condition::Compare(comparison, left, term(tokens, names)?))
}

fn term(tokens: &mut Tokens, names: &mut impl Names) -> Result<Term, Problem> {
    let thread = match (tokens.peek(), tokens.peek_behind(1)) {
        (Token::Word(thread), Token::Symbol(":")) => Some(thread.to_owned()),
        (Token::Number(thread), Token::Symbol(":")) => Some(format!("P{thread}")),
        _ => None,
    };
    if let Some(thread) = thread {
        tokens.take();
        tokens.take();
        tokens.eat("%");
        let problem = |tokens: &Tokens, name: &str| {
            tokens.rejected(format!("thread {thread} has no register `{name}`"))
        };
        let name = tokens.word("a register")?;
        return names.register(&thread, name).ok_or_else(|| problem(tokens, name));
    }
    if matches!(tokens.peek(), Token::Number(_) | Token::Symbol("-")) {
        return Ok(Term::Constant(tokens.number("a number")?));
    }
    let bracketed = tokens.eat("[");
    let name = tokens.word("a register, a location or a number")?;
    let problem = tokens.rejected(format!("there is no location `{name}`"));
    if !bracketed && tokens.eat("[") {
        let index = tokens.number("an index")?;
        let problem = tokens.rejected(format!("there is no location `{name}[{index}]`"));
        tokens.need("]")?;
        return names.element(name, index).ok_or(problem);
    }
    let found = names.location(name).ok_or(problem)?;
    if bracketed {
        tokens.need("]")?;
    }
    Ok(found)
}
