//! What the words of a listing are, so that a terminal can give them colours.

use std::ops::Range;

/// What a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// `// ...`, `/*0010*/`
    Comment,
    /// `.section`
    Directive,
    /// `name:`
    Label,
    /// `[B------:R-:W-:-:S01]`
    Control,
    /// An instruction's name with its modifiers.
    Mnemonic,
    /// `R0`, `UR4`, `P0`
    Register,
    /// `0x10`
    Number,
    /// `"text"`
    Text,
}

/// The words of a line, in their order, without those that are nothing special.
pub fn words(line: &str) -> Vec<(Range<usize>, Word)> {
    let bytes = line.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    let instruction = line.starts_with('[');
    let mut named = !instruction;
    while at < bytes.len() {
        let start = at;
        let rest = &line[at..];
        let word = match bytes[at] {
            b'/' if rest.starts_with("//") => {
                at = bytes.len();
                Some(Word::Comment)
            }
            b'/' if rest.starts_with("/*") => {
                at += rest.find("*/").map_or(rest.len(), |end| end + 2);
                Some(Word::Comment)
            }
            b'"' => {
                at += string(rest);
                Some(Word::Text)
            }
            b'[' if at == 0 => {
                at += rest.find(']').map_or(rest.len(), |end| end + 1);
                Some(Word::Control)
            }
            byte if is_name(byte) => {
                at += rest.bytes().take_while(|&byte| is_name(byte)).count();
                let word = &line[start..at];
                // A guard stands in front of the name.
                let guard = start > 0 && matches!(bytes[start - 1], b'@' | b'!');
                if !instruction && bytes.get(at) == Some(&b':') {
                    Some(Word::Label)
                } else if !instruction && word.starts_with('.') && line[..start].trim().is_empty() {
                    Some(Word::Directive)
                } else if instruction && !named && !guard {
                    named = true;
                    Some(Word::Mnemonic)
                } else if byte.is_ascii_digit() {
                    Some(Word::Number)
                } else {
                    (instruction && is_register(word)).then_some(Word::Register)
                }
            }
            _ => {
                at += rest.chars().next().map_or(1, char::len_utf8);
                None
            }
        };
        found.extend(word.map(|word| (start..at, word)));
    }
    found
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'$')
}

/// Bytes of the string that a text begins with.
fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        if byte == b'"' && !escaped {
            return at + 1;
        }
        escaped = byte == b'\\' && !escaped;
    }
    text.len()
}

/// Registers with their suffixes: `R2.64`, `UR4`, `PT`.
fn is_register(word: &str) -> bool {
    let word = word.split('.').next().unwrap_or("");
    let digits = word.strip_prefix('U').unwrap_or(word).strip_prefix(['R', 'P']);
    digits.is_some_and(|rest| {
        matches!(rest, "Z" | "T") || !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_lines() {
        let line = "[B------:R-:W-:-:S01]  /*0010*/  @!P0 IADD3.X R0, R2.64, 0x10 ; // x";
        let kinds: Vec<_> = words(line).into_iter().map(|(at, word)| (&line[at], word)).collect();
        assert_eq!(
            kinds[1..4],
            [("/*0010*/", Word::Comment), ("P0", Word::Register), ("IADD3.X", Word::Mnemonic)]
        );
        assert_eq!(kinds[5..], [("R2.64", Word::Register), ("0x10", Word::Number), ("// x", Word::Comment)]);
        assert_eq!(words("\t.string \"a\\\"b\"")[1], (9..15, Word::Text));
        assert_eq!(words("k:"), [(0..1, Word::Label)]);
    }
}
