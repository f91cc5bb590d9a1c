//! What the text of an instruction says, before anything of its encoding is known: a key, which is its mnemonic and the kinds
//! of its operands; the numbers in it; its modifiers, each with the number or the place that it belongs to.
//!
//! `@!P0 LDG.E.64 R2, desc[UR4][R6.64+-0x8]` has the key `LDG R, desc[UR], [R+I]`, so to speak: brackets that follow one
//! another stay together. Its numbers are 2, 4, 6 and -8; its modifiers `.E` and `.64` of the mnemonic, `.64` of number 3,
//! and that number 4 is negative. Guards belong to no key: every instruction has one.

use sass::Arch;

/// A number in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Number {
    /// The index of a register or predicate, or a set of scoreboards.
    Index(i128),
    /// A hexadecimal immediate, or an offset.
    Immediate(i128),
    /// A float, as it is spelled: how it is encoded depends on the instruction.
    Float(String),
}

/// A text taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) key: String,
    /// The guard predicate; 7 is PT.
    pub(super) guard: u8,
    /// `!` and `U` of the guard.
    pub(super) guard_modifiers: Vec<&'static str>,
    pub(super) numbers: Vec<Number>,
    /// Modifiers of the mnemonic, in their order.
    pub(super) head: Vec<String>,
    /// Modifiers of operands: `3.64`, `-2`, `1=SR_TID.X`.
    pub(super) operands: Vec<String>,
    /// Numbers that are negative, and reuse flags: they add to any other modifiers.
    pub(super) signs: Vec<String>,
}

/// The most numbers that an instruction may have.
const MOST_NUMBERS: usize = 32;

impl Reading {
    /// Takes a text apart; `None` if it is not spelled like an instruction.
    pub(super) fn of(text: &str, arch: Arch) -> Option<Reading> {
        let mut reading = Reading {
            key: String::new(),
            guard: 7,
            guard_modifiers: Vec::new(),
            numbers: Vec::new(),
            head: Vec::new(),
            operands: Vec::new(),
            signs: Vec::new(),
        };
        let text = reading.guard(text.trim())?;
        let (head, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let mut parts = head.split('.');
        let mnemonic = parts.next().filter(|it| is_word(it))?;
        reading.key.push_str(mnemonic);
        for part in parts {
            reading.head.push(part.to_string());
        }
        let mut scanner =
            Scanner { text: operands.trim(), at: 0, last_uniform: last_uniform(arch), reading: &mut reading };
        scanner.operands()?;
        Some(reading)
    }

    /// Reads the guard; what is left of the text.
    fn guard<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        let Some(rest) = text.strip_prefix('@') else { return Some(text) };
        let (guard, rest) = rest.split_once(char::is_whitespace)?;
        let mut guard = guard;
        for modifier in ["!", "U"] {
            if let Some(without) = guard.strip_prefix(modifier) {
                self.guard_modifiers.push(modifier);
                guard = without;
            }
        }
        let name = guard.strip_prefix('P')?;
        self.guard = if name == "T" { 7 } else { name.parse().ok().filter(|&it| it < 7)? };
        Some(rest.trim_start())
    }
}

/// The index that URZ stands for: 6 bits until Hopper, then 8.
fn last_uniform(arch: Arch) -> i128 {
    if arch < Arch::Sm100 { 63 } else { 255 }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_')
}

struct Scanner<'a, 'r> {
    text: &'a str,
    at: usize,
    last_uniform: i128,
    reading: &'r mut Reading,
}

impl<'a> Scanner<'a, '_> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn take(&mut self, accept: impl Fn(u8) -> bool) -> &'a str {
        let rest = self.rest();
        let len = rest.bytes().take_while(|it| accept(*it)).count();
        self.at += len;
        &rest[..len]
    }

    /// The number that comes next.
    fn next_number(&self) -> usize {
        self.reading.numbers.len() + 1
    }

    fn operands(&mut self) -> Option<()> {
        let mut between = " ";
        // What is open, and whether an offset has been seen in it.
        let mut brackets: Vec<bool> = Vec::new();
        while let Some(byte) = self.rest().bytes().next() {
            match byte {
                b' ' | b'\t' => {
                    self.take(|it| it.is_ascii_whitespace());
                    if brackets.is_empty() {
                        between = if between.is_empty() { " " } else { between };
                    }
                    continue;
                }
                b',' => {
                    self.at += 1;
                    between = ", ";
                    continue;
                }
                _ => {}
            }
            self.reading.key.push_str(between);
            between = "";
            match byte {
                b'[' => {
                    self.at += 1;
                    self.reading.key.push('[');
                    brackets.push(false);
                }
                b']' => {
                    self.at += 1;
                    // An offset that is left out is 0, except where a single register is all there can be.
                    if !brackets.pop()? && !self.rest().starts_with('[') {
                        self.reading.key.push_str("+I");
                        self.number(Number::Immediate(0))?;
                    }
                    self.reading.key.push(']');
                }
                b'+' if self.rest()[1..].starts_with(|it: char| it.is_ascii_uppercase())
                    && brackets.is_empty() =>
                {
                    self.float()?;
                }
                b'+' => {
                    self.at += 1;
                    self.reading.key.push('+');
                }
                b'-' if self.rest()[1..].starts_with("0x") => {
                    self.at += 1;
                    let sign = format!("{}<0", self.next_number());
                    self.reading.signs.push(sign);
                    self.immediate(-1)?;
                    brackets.last_mut().into_iter().for_each(|it| *it = true);
                }
                b'-' if self.rest()[1..].starts_with(|it: char| it.is_ascii_digit())
                    || ["INF", "QNAN", "SNAN"].iter().any(|it| self.rest()[1..].starts_with(it)) =>
                {
                    self.float()?;
                }
                b'-' | b'~' | b'!' | b'|' => {
                    self.at += 1;
                    let modifier = format!("{}{}", char::from(byte), self.next_number());
                    let closing = format!("|{}", self.reading.numbers.len());
                    if byte != b'|' || !self.reading.operands.contains(&closing) {
                        self.reading.operands.push(modifier);
                    }
                }
                b'.' => {
                    self.at += 1;
                    let suffix = self.take(|it| it.is_ascii_alphanumeric() || it == b'_');
                    let modifier = format!("{}.{suffix}", self.reading.numbers.len());
                    if suffix == "reuse" {
                        self.reading.signs.push(modifier);
                    } else {
                        self.reading.operands.push(modifier);
                    }
                }
                b'{' => self.set()?,
                b'0'..=b'9' if self.rest().starts_with("0x") => {
                    self.immediate(1)?;
                    brackets.last_mut().into_iter().for_each(|it| *it = true);
                }
                b'0'..=b'9' => match self.dimension() {
                    Some(word) => self.label(word)?,
                    None => self.float()?,
                },
                _ => self.word()?,
            }
        }
        brackets.is_empty().then_some(())
    }

    fn number(&mut self, number: Number) -> Option<()> {
        self.reading.numbers.push(number);
        (self.reading.numbers.len() <= MOST_NUMBERS).then_some(())
    }

    fn immediate(&mut self, sign: i128) -> Option<()> {
        self.at += 2;
        let digits = self.take(|it| it.is_ascii_hexdigit());
        let value = u64::from_str_radix(digits, 16).ok()?;
        self.reading.key.push('I');
        self.number(Number::Immediate(sign * i128::from(value)))
    }

    /// `2D` and the like: a word, though it begins with a digit.
    fn dimension(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let len = rest.bytes().take_while(|it| it.is_ascii_alphanumeric() || *it == b'_').count();
        let word = &rest[..len];
        let is_float = word.split_once('e').map_or(word, |it| it.0).bytes().all(|it| it.is_ascii_digit())
            || word.starts_with("0F")
            || word.starts_with("0D");
        (!is_float).then(|| {
            self.at += len;
            word
        })
    }

    fn float(&mut self) -> Option<()> {
        let start = self.at;
        self.at += usize::from(self.rest().starts_with(['+', '-']));
        self.take(|it| it.is_ascii_alphanumeric());
        if self.rest().starts_with('.') && self.rest()[1..].starts_with(|it: char| it.is_ascii_digit()) {
            self.at += 1;
            self.take(|it| it.is_ascii_alphanumeric());
        }
        if self.text[start..self.at].ends_with('e') && self.rest().starts_with(['+', '-']) {
            self.at += 1;
            self.take(|it| it.is_ascii_digit());
        }
        self.reading.key.push('F');
        self.number(Number::Float(self.text[start..self.at].to_string()))
    }

    /// `{5,4,3}`: scoreboards.
    fn set(&mut self) -> Option<()> {
        let (inside, _) = self.rest()[1..].split_once('}')?;
        self.at += inside.len() + 2;
        let mut value = 0;
        for member in inside.split(',').filter(|it| !it.trim().is_empty()) {
            value |= 1i128 << member.trim().parse::<u32>().ok().filter(|&it| it < 32)?;
        }
        self.reading.key.push_str("{}");
        self.number(Number::Index(value))
    }

    /// A register, or a word that means something by itself.
    fn word(&mut self) -> Option<()> {
        let word = self.take(|it| it.is_ascii_alphanumeric() || it == b'_');
        if word.is_empty() {
            return None;
        }
        let zero = match word {
            "RZ" => Some(("R", 255)),
            "URZ" => Some(("UR", self.last_uniform)),
            "PT" => Some(("P", 7)),
            "UPT" => Some(("UP", 7)),
            _ => None,
        };
        let indexed = zero.or_else(|| {
            let digits = word.find(|it: char| it.is_ascii_digit())?;
            let kind = ["R", "UR", "P", "UP", "B", "SB"].into_iter().find(|it| *it == &word[..digits])?;
            Some((kind, word[digits..].parse::<u8>().ok()?.into()))
        });
        match indexed {
            Some((kind, index)) => {
                self.reading.key.push_str(kind);
                self.number(Number::Index(index))
            }
            None if self.rest().starts_with('[') => {
                self.reading.key.push_str(word);
                Some(())
            }
            None => self.label(word),
        }
    }

    /// A word whose code is unknown, with the suffixes that belong to its name: `SR_TID.X`.
    fn label(&mut self, word: &str) -> Option<()> {
        let suffixes = self.take(|it| it.is_ascii_alphanumeric() || it == b'_' || it == b'.');
        let place = self.next_number();
        self.reading.key.push('*');
        self.number(Number::Index(0))?;
        self.reading.operands.push(format!("{place}={word}{suffixes}"));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Reading {
        Reading::of(text, Arch::Sm90).unwrap()
    }

    fn values(reading: &Reading) -> Vec<i128> {
        let value = |it: &Number| match it {
            Number::Index(value) | Number::Immediate(value) => *value,
            Number::Float(_) => 0,
        };
        reading.numbers.iter().map(value).collect()
    }

    #[test]
    fn memory_operands() {
        let it = read("@!P0 LDG.E.64 R2, desc[UR4][R6.64+-0x8]");
        assert_eq!(it.key, "LDG R, desc[UR][R+I]");
        assert_eq!(values(&it), [2, 4, 6, -8]);
        assert_eq!((it.guard, &*it.guard_modifiers), (0, &["!"][..]));
        assert_eq!(it.head, ["E", "64"]);
        assert_eq!(it.operands, ["3.64"]);
        assert_eq!(it.signs, ["4<0"]);
        assert_eq!(read("LDG.E R2, desc[UR4][R6.64]").key, it.key);
        assert_eq!(read("MOV R1, c[0x0][0x28]").key, "MOV R, c[I][I]");
        assert_eq!(read("LDC R6, c[0x3][R6]").key, "LDC R, c[I][R+I]");
        assert_eq!(values(&read("LDS R0, [R2.X4+UR4+0x10]")), [0, 2, 4, 16]);
    }

    #[test]
    fn signs_and_words() {
        let it = read("FADD.FTZ R13, -|R14|.reuse, -RZ");
        assert_eq!(it.key, "FADD R, R, R");
        assert_eq!(values(&it), [13, 14, 255]);
        assert_eq!(it.operands, ["-2", "|2", "-3"]);
        assert_eq!(it.signs, ["2.reuse"]);
        let it = read("S2R R0, SR_TID.X");
        assert_eq!((&*it.key, &*it.operands), ("S2R R, *", &["2=SR_TID.X".to_string()][..]));
        let it = read("DEPBAR.LE SB0, 0x1, {5,3}");
        assert_eq!((&*it.key, values(&it)), ("DEPBAR SB, I, {}", vec![0, 1, 40]));
        assert_eq!(read("BRX R4 -0x100").key, "BRX R I");
        assert_eq!(read("EXIT").key, "EXIT");
    }

    #[test]
    fn floats_are_kept_as_spelled() {
        for text in ["1", "-0.0", "2.3283064365386962891e-10", "+QNAN", "-INF", "0F3f800000", "1e+09"] {
            let it = read(&format!("FMUL R2, R5, {text} "));
            assert_eq!(it.key, "FMUL R, R, F", "{text}");
            assert_eq!(it.numbers[2], Number::Float(text.to_string()));
        }
        assert_eq!(read("TEX R0, R2, R3, 0x0, 2D").key, "TEX R, R, R, I, *");
    }

    #[test]
    fn what_is_no_instruction() {
        for text in ["", "@P9 EXIT", "FADD R1, [R2", "MOV R1, é", "FADD R1]", "a b ]"] {
            assert_eq!(Reading::of(text, Arch::Sm90), None, "{text}");
        }
    }
}
