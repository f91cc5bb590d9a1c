//! Words and the text that nvdisasm gives for them, of every form of every table: `tests/samples/sm_*.txt`.

use std::fmt::Write;

use sass::{Arch, Control, NoSymbols, decode, parse};

fn samples(arch: Arch) -> Vec<(u128, String)> {
    let path = format!("{}/tests/samples/{arch}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    text.lines()
        .filter(|it| !it.starts_with('#'))
        .map(|line| {
            let (word, text) = line.split_once(' ').expect("a word and its text");
            (u128::from_str_radix(word, 16).expect("a word"), text.to_string())
        })
        .collect()
}

/// The samples were printed at address 0.
#[test]
fn decodes_to_nvdisasms_text() {
    let mut wrong = String::new();
    for arch in Arch::ALL {
        for (word, expected) in samples(arch) {
            let mut text = String::new();
            match decode(arch, word) {
                Some(it) => it.print(0, &mut text),
                None => text.push_str("(unknown)"),
            }
            if text != expected {
                let _ = writeln!(wrong, "{arch} {word:032x}: {text} | nvdisasm: {expected}");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The exact text of each sample becomes the same word again.
#[test]
fn encodes_back_to_the_word() {
    let mut wrong = String::new();
    for arch in Arch::ALL {
        for (word, _) in samples(arch) {
            let Some(instruction) = decode(arch, word) else { continue };
            let text = instruction.to_string();
            match parse(arch, &text, Control::of(word), 0, &mut NoSymbols) {
                Ok(again) if again.word() == word => {}
                Ok(again) => {
                    let _ = writeln!(wrong, "{arch} {text}\n  {word:032x}\n  {:032x}", again.word());
                }
                Err(error) => {
                    let _ = writeln!(wrong, "{arch} {text}\n  {word:032x} at {:?}: {error}", error.span);
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Compiled code, at its addresses: nvdisasm's text, and from it the same words.
#[test]
fn compiled_code_survives() {
    let code = include_str!("samples/code_sm_90.txt");
    let (mut total, mut unknown, mut different) = (0, Vec::new(), Vec::new());
    for (at, line) in code.lines().filter(|it| !it.starts_with('#')).enumerate() {
        total += 1;
        let (word, expected) = line.split_once(' ').expect("a word and its text");
        let word = u128::from_str_radix(word, 16).expect("a word");
        let address = 16 * at as u64;
        let Some(instruction) = decode(Arch::Sm90, word) else {
            unknown.push(expected);
            continue;
        };
        let mut text = String::new();
        instruction.print(address, &mut text);
        if text != expected {
            different.push(format!("{text} | {expected}"));
        }
        text.clear();
        instruction.print_exact(address, &mut text, |_, _| false);
        let again = parse(Arch::Sm90, &text, Control::of(word), address, &mut NoSymbols);
        assert_eq!(again.map(|it| it.word()), Ok(word), "{text}");
    }
    assert!(total > 600);
    assert!(unknown.is_empty(), "{unknown:#?}");
    assert!(different.is_empty(), "{different:#?}");
}
