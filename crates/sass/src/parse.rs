//! From text to a word: the templates read backwards.
//!
//! Every form that has the mnemonic is tried in the table's order. A template is matched piece by piece with backtracking,
//! since fields may share bits and may print nothing; the first match whose word the decoder gives back to the same
//! form is the answer. Text whose blanks are those of the printer is what nearly all text is: the strings of a set are
//! looked up in it. Only if no form matches, all are tried again with blanks wherever they do no harm. If none matches
//! then either, the error is where the form that came furthest stopped.

use std::cell::LazyCell;
use std::ops::Range;

use crate::arch::Arch;
use crate::control::{self, Control, SCOREBOARDS, Scoreboards};
use crate::instruction::{Instruction, decode};
use sass_table::Bits;
use sass_table::table::{Form, Listed, Memory, Piece, Table, pairs};
use smallvec::{SmallVec, smallvec};

/// What precedes, in exact text, the bits that the text alone does not give.
pub const RESIDUE: &str = "&residue=";

/// The reuse flags: the text has them at the operands.
const REUSE: u128 = 0xf << 122;

/// The text is not an instruction of the architecture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ParseError {
    /// The bytes of the text that are wrong.
    pub span: Range<usize>,
    /// What is wrong with them.
    pub message: String,
}

/// For what kind of operand a symbolic value is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The address of a branch's target.
    Target,
    /// An immediate of so many bits.
    Immediate(u32),
}

/// What knows the names in operands: `` `(.L_1) ``, `32@lo(name)`.
pub trait Symbols {
    /// The value of the expression, written as in the text, for the operand at these bits of the word.
    fn value(&mut self, expression: &str, field: Field, bits: u128) -> Option<u64>;
}

/// For text without names.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSymbols;

impl Symbols for NoSymbols {
    fn value(&mut self, _: &str, _: Field, _: u128) -> Option<u64> {
        None
    }
}

/// The instruction that the text spells, at this address and with this control code. The control code's reuse flags are
/// not used: the text has them.
pub fn parse(
    arch: Arch,
    text: &str,
    control: Control,
    address: u64,
    symbols: &mut dyn Symbols,
) -> Result<Instruction, ParseError> {
    let trimmed = text.trim_end().trim_end_matches(';').trim_end();
    let Some(at) = trimmed.rfind(RESIDUE) else {
        return without_residue(arch, trimmed, control, address, symbols);
    };
    let digits = at + RESIDUE.len()..trimmed.len();
    let residue = trimmed[digits.clone()]
        .strip_prefix("0x")
        .and_then(|it| u128::from_str_radix(it, 16).ok())
        .ok_or_else(|| ParseError {
            span: digits,
            message: "a residue is a hexadecimal number of 128 bits".into(),
        })?;
    let text = trimmed[..at].trim_end();
    let canonical = match without_residue(arch, text, control, address, symbols) {
        Ok(it) => it,
        Err(error) => return whole(arch, text, control, address, residue).ok_or(error),
    };
    decode(arch, canonical.word ^ residue).ok_or_else(|| ParseError {
        span: at..trimmed.len(),
        message: format!("with this residue the word is no instruction of {arch}"),
    })
}

/// Text that no word is made of by itself: the residue is all of the word.
fn whole(arch: Arch, text: &str, control: Control, address: u64, word: u128) -> Option<Instruction> {
    let reuse = Control::of(word).reuse;
    let instruction = decode(arch, Control { reuse, ..control }.put(word))?;
    let mut own = String::new();
    instruction.print(address, &mut own);
    (own == text).then_some(instruction)
}

pub(crate) fn without_residue(
    arch: Arch,
    text: &str,
    control: Control,
    address: u64,
    symbols: &mut dyn Symbols,
) -> Result<Instruction, ParseError> {
    let table = arch.table();
    let start = text.len() - text.trim_start().len();
    let guard = if text[start..].starts_with('@') {
        text[start..].find(char::is_whitespace).map_or(text.len(), |at| start + at)
    } else {
        start
    };
    let head = guard + (text[guard..].len() - text[guard..].trim_start().len());
    let end = text[head..].find(|c: char| c == '.' || c.is_whitespace()).map_or(text.len(), |at| head + at);
    let Some(forms) = table.forms_named(&text[head..end]) else {
        return Err(ParseError {
            span: head..end,
            message: format!("{arch} has no instruction `{}`", &text[head..end]),
        });
    };
    let mut matcher = Matcher {
        table,
        text,
        address,
        symbols,
        exact: true,
        rest: 0,
        furthest: head,
        message: String::new(),
    };
    let mut refused = None;
    let spelled = pairs(&text.as_bytes()[start..]);
    for exact in [true, false] {
        matcher.exact = exact;
        for &at in forms {
            let at = u32::from(at);
            let form = &table.forms[at as usize];
            let may_be = form.pairs & !spelled == 0;
            if exact && !(may_be && Rest::of(table, form).stands_in(&text.as_bytes()[start..])) {
                continue;
            }
            matcher.rest = form.rest;
            let word = Control { reuse: 0, ..control }.put(form.value);
            let known = form.mask | control::MASK & !REUSE;
            if let Some((word, known)) = matcher.pieces(Rest::of(table, form), start, word, known) {
                let word = table.past_earlier(at, word | form.rest & !known, known);
                if table.form_of(word) == Some(at) {
                    return Ok(Instruction { arch, form: at, word });
                }
                let against = |it: &&Scoreboards| (word ^ form.value) & form.mask & it.mask != 0;
                refused = refused.or(SCOREBOARDS.iter().find(against));
            }
        }
    }
    if let Some(field) = refused {
        let message = format!("`{}` may not have {}", text[head..].trim_end(), field.name);
        return Err(ParseError { span: head..text.len(), message });
    }
    let Matcher { furthest, mut message, .. } = matcher;
    // A form that takes the guard gets further than the beginning of the mnemonic.
    let span = if furthest == head && guard > start { start..guard } else { token(text, furthest) };
    if message.is_empty() {
        let mnemonic = &text[head..end];
        message = match &text[span.clone()] {
            "" => format!("an operand of `{mnemonic}` is missing here"),
            wrong => format!("no form of `{mnemonic}` has `{wrong}` here"),
        };
    }
    Err(ParseError { span, message })
}

/// The token at this byte, from its beginning if it is the middle of a word.
fn token(text: &str, at: usize) -> Range<usize> {
    let word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let at = match text[at..].starts_with(word) {
        true => {
            at - text[..at]
                .chars()
                .rev()
                .take_while(|&letter| word(letter))
                .map(char::len_utf8)
                .sum::<usize>()
        }
        false => at,
    };
    let len = text[at..]
        .char_indices()
        .skip(1)
        .find(|&(_, letter)| !word(letter))
        .map_or(text.len() - at, |(len, _)| len);
    at..at + len
}

struct Matcher<'a> {
    table: &'static Table<'static>,
    text: &'a str,
    address: u64,
    symbols: &'a mut dyn Symbols,
    /// Blanks stand in the strings of sets where the printer puts them.
    exact: bool,
    /// The bits that are preferred where the text allows several.
    rest: u128,
    /// The last byte that some form reached, and what was wrong there if more than a mismatch.
    furthest: usize,
    message: String,
}

/// The word so far and the bits of it that are settled.
type State = (u128, u128);

/// Where strings of a set end, and their codes: nearly always a few.
type Matches = SmallVec<[(usize, u64); 4]>;

/// The pieces of a form that are still to be matched.
#[derive(Clone, Copy)]
struct Rest<'a> {
    table: &'a Table<'a>,
    numbers: &'a [u16],
}

impl<'a> Rest<'a> {
    fn of(table: &'a Table<'a>, form: &Form) -> Rest<'a> {
        Rest { table, numbers: form.template.of(table.vocabulary.templates) }
    }

    /// The first of them, and those behind it.
    fn split(self) -> Option<(&'a Piece, Rest<'a>)> {
        let (&piece, numbers) = self.numbers.split_first()?;
        Some((&self.table.vocabulary.pieces[usize::from(piece)], Rest { numbers, ..self }))
    }

    /// Whether what is the same in all words stands in a text, one behind the other: else none of them is spelled so. Blanks may be
    /// left out.
    fn stands_in(self, mut text: &[u8]) -> bool {
        let vocabulary = &self.table.vocabulary;
        self.numbers.iter().all(|&number| match vocabulary.pieces[usize::from(number)] {
            Piece::Text(string) => {
                let words = vocabulary.strings.of(string).as_bytes().split(|&byte| byte == b' ');
                words.filter(|word| !word.is_empty()).all(|word| match find(text, word) {
                    Some(at) => {
                        text = &text[at + word.len()..];
                        true
                    }
                    None => false,
                })
            }
            Piece::Set(_)
            | Piece::Hex { .. }
            | Piece::Relative { .. }
            | Piece::Float { .. }
            | Piece::Memory(_) => true,
        })
    }

    /// The bits of the word that they show.
    fn mask(self) -> u128 {
        let vocabulary = &self.table.vocabulary;
        let masks =
            self.numbers.iter().map(|&it| vocabulary.pieces[usize::from(it)].mask(vocabulary.memories));
        masks.fold(0, |all, mask| all | mask)
    }
}

/// Where a word, which is not empty, first stands in a text.
fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    let (&first, rest) = word.split_first()?;
    let mut from = 0;
    loop {
        let at = from + text[from..].iter().position(|&byte| byte == first)?;
        if text[at + 1..].starts_with(rest) {
            return Some(at);
        }
        from = at + 1;
    }
}

/// The field set to the value, unless settled bits say otherwise.
fn settle(bits: &Bits, value: u64, (word, known): State) -> Option<State> {
    let mask = bits.mask();
    let field = bits.spread(value);
    ((word ^ field) & known & mask == 0).then_some((word & !mask | field, known | mask))
}

impl Matcher<'_> {
    fn reached(&mut self, at: usize) {
        if at > self.furthest {
            self.furthest = at;
            self.message.clear();
        }
    }

    fn complain(&mut self, at: usize, message: impl FnOnce() -> String) {
        self.reached(at);
        if at == self.furthest && self.message.is_empty() {
            self.message = message();
        }
    }

    fn pieces(
        &mut self,
        mut pieces: Rest<'_>,
        mut at: usize,
        mut word: u128,
        mut known: u128,
    ) -> Option<State> {
        loop {
            self.reached(at);
            let Some((piece, rest)) = pieces.split() else {
                return self.text[at..].trim_start().is_empty().then_some((word, known));
            };
            pieces = rest;
            match piece {
                Piece::Text(expected) => at = self.skip(self.table.vocabulary.strings.of(*expected), at)?,
                Piece::Set(field) => {
                    let matches = self.matches(field, at, (word, known), Some(rest));
                    let (&(end, code), longer) = matches.split_last()?;
                    for &(end, code) in longer {
                        let (with, settled) = settle(&field.bits, code, (word, known))?;
                        if let Some(found) = self.pieces(rest, end, with, settled) {
                            return Some(found);
                        }
                    }
                    (word, known) = settle(&field.bits, code, (word, known))?;
                    at = end;
                }
                Piece::Hex { bits, shift, signed } => {
                    let (value, end) = self.integer(at, Field::Immediate(bits.width()), bits.mask())?;
                    let value = self.fit(value, bits.width(), *shift, *signed, at)?;
                    (word, known) = settle(bits, value, (word, known))?;
                    at = end;
                }
                Piece::Relative { bits, shift } => {
                    let (value, end) = self.integer(at, Field::Target, bits.mask())?;
                    let offset = (value as u64).wrapping_sub(self.address.wrapping_add(16)) as i64;
                    let value = self.fit(i128::from(offset), bits.width(), *shift, true, at)?;
                    (word, known) = settle(bits, value, (word, known))?;
                    at = end;
                }
                Piece::Float { bits, format } => {
                    let len = float(&self.text[at..]);
                    let value = format.parse(&self.text[at..at + len])?;
                    (word, known) = settle(bits, value, (word, known))?;
                    let blanks = self.text[at + len..].len() - self.text[at + len..].trim_start().len();
                    at += len + blanks;
                }
                Piece::Memory(number) => {
                    return self.memory(self.table.memory(*number), rest, at, (word, known));
                }
            }
        }
    }

    /// Matches literal text; a blank in it stands for any number of blanks.
    fn skip(&self, expected: &str, at: usize) -> Option<usize> {
        let text = self.text.as_bytes();
        let mut at = at;
        for byte in expected.bytes() {
            if byte == b' ' {
                let blanks = text[at..].iter().take_while(|it| it.is_ascii_whitespace()).count();
                let needed = at > 0 && text[at - 1].is_ascii_alphanumeric() && at < text.len();
                if blanks == 0 && needed {
                    return None;
                }
                at += blanks;
            } else {
                if *text.get(at)? != byte {
                    return None;
                }
                at += 1;
            }
        }
        Some(at)
    }

    /// A hexadecimal number or a symbolic expression, and where it ends.
    fn integer(&mut self, at: usize, field: Field, bits: u128) -> Option<(i128, usize)> {
        let rest = &self.text[at..];
        if let Some(len) = expression(rest) {
            let Some(value) = self.symbols.value(&rest[..len], field, bits) else {
                let name = rest[..len].to_string();
                self.complain(at, || format!("`` {name} `` has no value here"));
                return None;
            };
            return Some((i128::from(value), at + len));
        }
        let (negative, digits) = rest.strip_prefix('-').map_or((false, rest), |it| (true, it));
        let digits = digits.strip_prefix("0x")?;
        let len = digits.bytes().take_while(u8::is_ascii_hexdigit).count();
        let value = i128::from(u64::from_str_radix(&digits[..len], 16).ok()?);
        Some((if negative { -value } else { value }, at + rest.len() - digits.len() + len))
    }

    fn fit(&mut self, value: i128, width: u32, shift: u8, signed: bool, at: usize) -> Option<u64> {
        let units = value >> shift;
        let (least, most) = if signed {
            (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1)
        } else {
            (0, (1i128 << width) - 1)
        };
        if units << shift != value {
            self.complain(at, || format!("this must be a multiple of {}", 1 << shift));
            return None;
        }
        if units < least || units > most {
            self.complain(at, || {
                format!("this must be from {:#x} to {:#x}", Signed(least << shift), Signed(most << shift))
            });
            return None;
        }
        Some(units as u64 & (u64::MAX >> (64 - width)))
    }

    fn memory(&mut self, memory: &Memory, rest: Rest<'_>, at: usize, state: State) -> Option<State> {
        let Some(register) = memory.register else {
            return self.uniform(memory, rest, at, state, false, false);
        };
        for (end, code) in self.matches(&register, at, state, None) {
            let state = settle(&register.bits, code, state)?;
            let suffixes = match memory.suffix {
                None => smallvec![(end, None)],
                Some(it) => {
                    let matches = self.matches(&it, end, state, None).into_iter();
                    matches.map(|(end, code)| (end, Some(code))).collect::<SmallVec<[_; 4]>>()
                }
            };
            for (end, suffix) in suffixes {
                let state = match (memory.suffix, suffix) {
                    (Some(it), Some(code)) => settle(&it.bits, code, state)?,
                    _ => state,
                };
                if let Some(found) = self.uniform(memory, rest, end, state, true, false) {
                    return Some(found);
                }
            }
        }
        let code_of = |set, name| {
            let mut strings = self.table.vocabulary.strings_of(set);
            strings.position(|it| it == Some(name)).map(|code| code as u64)
        };
        let zero = memory.left_out().iter().find_map(|name| code_of(register.set, name))?;
        let mut state = settle(&register.bits, zero, state)?;
        if let Some(suffix) = memory.suffix {
            state = settle(&suffix.bits, code_of(suffix.set, "")?, state)?;
        }
        self.uniform(memory, rest, at, state, false, memory.wrap)
    }

    fn uniform(
        &mut self,
        memory: &Memory,
        rest: Rest<'_>,
        at: usize,
        state: State,
        joined: bool,
        wrap: bool,
    ) -> Option<State> {
        let Some(uniform) = memory.uniform else { return self.offset(memory, rest, at, state, joined, wrap) };
        let start = if joined { self.skip("+", at)? } else { at };
        self.matches(&uniform, start, state, None).into_iter().find_map(|(end, code)| {
            let state = settle(&uniform.bits, code, state)?;
            self.offset(memory, rest, end, state, true, wrap)
        })
    }

    fn offset(
        &mut self,
        memory: &Memory,
        rest: Rest<'_>,
        at: usize,
        state: State,
        joined: bool,
        wrap: bool,
    ) -> Option<State> {
        let Some(bits) = memory.offset else { return self.pieces(rest, at, state.0, state.1) };
        let start = if joined { self.skip("+", at) } else { Some(at) };
        let (value, end) = match start {
            Some(start) => self.integer(start, Field::Immediate(bits.width()), bits.mask())?,
            None => (0, at),
        };
        let signed = memory.signed && (!wrap || value < 0);
        let value = self.fit(value, bits.width(), memory.shift, signed, start.unwrap_or(at))?;
        let (word, known) = settle(&bits, value, state)?;
        self.pieces(rest, end, word, known)
    }

    /// The codes of the set whose strings stand here and that settled bits allow: where they end, longest first. Of those with
    /// the same string one is enough for each value of the bits that later pieces show too.
    fn matches(&self, field: &Listed, at: usize, state: State, later: Option<Rest<'_>>) -> Matches {
        let bits = &field.bits;
        let text = &self.text.as_bytes()[at..];
        let mut matches = Matches::new();
        let preferred = LazyCell::new(|| bits.get(self.rest));
        let rank = |code: u64| ((code ^ *preferred).count_ones(), code);
        if self.exact {
            // In terms of codes: which bits are settled, to what, and which bits later pieces show.
            let (known, fixed) = (bits.get(state.1), bits.get(state.0));
            if known.count_ones() == bits.width() {
                let string = self.table.vocabulary.text_of(field, state.0);
                let found = string.filter(|string| text.starts_with(string.as_bytes()));
                matches.extend(found.map(|string| (at + string.len(), fixed)));
                return matches;
            }
            let open = LazyCell::new(|| bits.get(later.map_or(u128::MAX, Rest::mask)));
            self.table.vocabulary.prefixes(field.set, text, |length, codes| {
                let end = at + length;
                // Where nothing else depends on it, no code comes before the one that has all bits that are preferred.
                if codes.len() > 1 && *open & !known == 0 {
                    let best = fixed & known | *preferred & !known;
                    if u16::try_from(best).is_ok_and(|best| codes.binary_search(&best).is_ok()) {
                        matches.push((end, best));
                        return;
                    }
                }
                let first = matches.len();
                for code in codes.iter().map(|&code| u64::from(code)) {
                    if (code ^ fixed) & known != 0 {
                        continue;
                    }
                    let alike = matches[first..].iter_mut().find(|it| (it.1 ^ code) & *open == 0);
                    match alike {
                        Some(alike) if rank(code) < rank(alike.1) => alike.1 = code,
                        Some(_) => {}
                        None => matches.push((end, code)),
                    }
                }
            });
        } else {
            for (code, string) in (0..).zip(self.table.vocabulary.strings_of(field.set)) {
                if let Some(string) = string
                    && let Some(end) = self.skip(string, at)
                    && settle(bits, code, state).is_some()
                {
                    matches.push((end, code));
                }
            }
        }
        if matches.len() > 1 {
            // Shortest first, and seldom two of one length: turned round they are nearly always in order.
            matches.reverse();
            if matches.windows(2).any(|pair| pair[0].0 <= pair[1].0) {
                matches.sort_by_key(|&(end, code)| (std::cmp::Reverse(end), rank(code)));
            }
        }
        matches
    }
}

/// How long the floating-point number is that a text begins with.
fn float(text: &str) -> usize {
    let len = text.find([',', ' ', '.', ';']).unwrap_or(text.len());
    if text.as_bytes().get(len) != Some(&b'.') {
        return len;
    }
    let digits = text[len + 1..].bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return len;
    }
    let mut end = len + 1 + digits;
    if text[end..].starts_with(['e', 'E']) {
        end += 1;
        end += usize::from(text[end..].starts_with(['+', '-']));
        end += text[end..].bytes().take_while(u8::is_ascii_digit).count();
    }
    end
}

/// A number with its sign in front of the prefix.
struct Signed(i128);

impl std::fmt::LowerHex for Signed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{:#x}", if self.0 < 0 { "-" } else { "" }, self.0.unsigned_abs())
    }
}

/// The length of the symbolic expression that the text begins with: `` `(...) `` or `word@word(...)`.
fn expression(text: &str) -> Option<usize> {
    let open = if text.starts_with('`') {
        1
    } else {
        let words =
            text.bytes().take_while(|it| it.is_ascii_alphanumeric() || *it == b'@' || *it == b'_').count();
        if !text[..words].contains('@') {
            return None;
        }
        words
    };
    let mut depth = 0usize;
    for (at, byte) in text.bytes().enumerate().skip(open) {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 1 => return Some(at + 1),
            b')' if depth > 1 => depth -= 1,
            _ if depth == 0 => return None,
            _ => {}
        }
    }
    None
}
