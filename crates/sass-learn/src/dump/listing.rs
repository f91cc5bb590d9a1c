//! Listings of machine code with encodings: what `cuobjdump -sass` and `nvdisasm -hex` print.
//!
//! An instruction is `/*ADDRESS*/ TEXT ; /* 0xLOW */` with `/* 0xHIGH */` on the line below. nvdisasm names targets by
//! labels, which get their addresses back here; an operand that the linker fills in has no value in the text, so that its
//! instruction is skipped.

use std::borrow::Cow;
use std::collections::HashMap;

use sass::Arch;

/// An instruction of which text and word are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample<'a> {
    /// The function that it is in, counted from 0 through the listing.
    pub function: usize,
    /// Where it stands in its function.
    pub address: u64,
    /// The text, without semicolon, labels and comments.
    pub text: Cow<'a, str>,
    /// The 128 bits.
    pub word: u128,
}

/// What a listing has for one architecture.
#[derive(Debug, Default)]
pub struct Listing<'a> {
    /// Its instructions.
    pub samples: Vec<Sample<'a>>,
    /// Lines with instructions that teach nothing, and why: each with its number, from 1.
    pub skipped: Vec<(usize, &'static str)>,
    /// Instructions of other architectures.
    pub others: usize,
    /// How many functions there are.
    pub functions: usize,
}

/// The text holds no instruction with its encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAListing {
    /// There is no line that begins with an address.
    #[error("there is no instruction in it")]
    Empty,
    /// Instructions have no words.
    #[error("the instructions have no encodings (`cuobjdump -sass` and `nvdisasm -hex` print them)")]
    NoEncodings,
    /// nvdisasm's JSON.
    #[error("this is JSON, which has no encodings (`cuobjdump -sass` and `nvdisasm -hex` print them)")]
    Json,
}

/// The longest text that is taken for an instruction.
const LONGEST: usize = 1000;

/// The instructions of an architecture in a listing. Where it does not say what an instruction is for, it is taken to be for
/// this one.
pub fn read(text: &str, arch: Arch) -> Result<Listing<'_>, NotAListing> {
    if text.trim_start().starts_with(['[', '{']) {
        return Err(NotAListing::Json);
    }
    let mut reader =
        Reader { arch, ours: true, listing: Listing::default(), labels: HashMap::new(), open: Vec::new() };
    let mut lines = text.lines().enumerate().peekable();
    let mut bare = false;
    while let Some((number, line)) = lines.next() {
        let line = line.trim();
        let Some((address, rest)) = addressed(line) else {
            reader.other(line);
            continue;
        };
        if rest.starts_with('.') || rest.len() > LONGEST {
            continue;
        }
        reader.place(address);
        let Some((text, low)) = encoded(rest) else {
            bare |= rest.contains(';');
            continue;
        };
        let Some(high) = lines.peek().and_then(|(_, next)| comment(next.trim())).and_then(hexadecimal) else {
            reader
                .listing
                .skipped
                .push((number + 1, "the line below does not have the other half of its word"));
            continue;
        };
        lines.next();
        reader.instruction(number + 1, address, text, u128::from(high) << 64 | u128::from(low));
    }
    reader.close();
    let listing = reader.listing;
    if listing.samples.is_empty() && listing.skipped.is_empty() && listing.others == 0 {
        return Err(if bare { NotAListing::NoEncodings } else { NotAListing::Empty });
    }
    Ok(listing)
}

/// `/*0010*/ rest`.
fn addressed(line: &str) -> Option<(u64, &str)> {
    let (digits, rest) = line.strip_prefix("/*")?.split_once("*/")?;
    Some((u64::from_str_radix(digits, 16).ok()?, rest.trim_start()))
}

/// `TEXT ; /* 0x... */`.
fn encoded(rest: &str) -> Option<(&str, u64)> {
    let at = rest.rfind("/*")?;
    Some((rest[..at].trim_end(), hexadecimal(comment(&rest[at..])?)?))
}

/// `/* text */`.
fn comment(text: &str) -> Option<&str> {
    Some(text.strip_prefix("/*")?.strip_suffix("*/")?.trim())
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// An instruction whose function has not been read to its end, so that labels may be missing.
struct Open<'a> {
    line: usize,
    address: u64,
    text: &'a str,
    word: u128,
}

struct Reader<'a> {
    arch: Arch,
    /// The code is for the architecture that is asked for.
    ours: bool,
    listing: Listing<'a>,
    /// The labels of the section, those that stand before an instruction with its address.
    labels: HashMap<&'a str, Option<u64>>,
    open: Vec<Open<'a>>,
}

impl<'a> Reader<'a> {
    /// A line that is no instruction.
    fn other(&mut self, line: &'a str) {
        if let Some(name) = line.strip_suffix(':') {
            self.labels.insert(name, None);
        } else if line.starts_with("Function :") || line.starts_with(".section") {
            self.close();
        } else if let Some(name) = line
            .strip_prefix("code for ")
            .or_else(|| line.strip_prefix(".target"))
            .or_else(|| line.strip_prefix("arch ="))
        {
            self.ours = name.trim().parse().is_ok_and(|arch: Arch| arch == self.arch);
        }
    }

    /// The labels before it stand at this address.
    fn place(&mut self, address: u64) {
        self.labels.values_mut().filter(|it| it.is_none()).for_each(|it| *it = Some(address));
    }

    fn instruction(&mut self, line: usize, address: u64, text: &'a str, word: u128) {
        if self.ours {
            self.open.push(Open { line, address, text, word });
        } else {
            self.listing.others += 1;
        }
    }

    /// The function ends: all its labels are known.
    fn close(&mut self) {
        if !self.open.is_empty() {
            for Open { line, address, text, word } in self.open.drain(..) {
                match plain(text, &self.labels) {
                    Ok(text) => {
                        let function = self.listing.functions;
                        self.listing.samples.push(Sample { function, address, text, word });
                    }
                    Err(why) => self.listing.skipped.push((line, why)),
                }
            }
            self.listing.functions += 1;
        }
        self.labels.clear();
    }
}

/// The text without comments and semicolon, labels replaced by their addresses.
fn plain<'a>(text: &'a str, labels: &HashMap<&str, Option<u64>>) -> Result<Cow<'a, str>, &'static str> {
    let text = text.split("(*").next().unwrap_or(text);
    let text = text.trim().trim_end_matches(';').trim_end();
    let operands = text.strip_prefix('@').unwrap_or(text);
    if operands.contains('@') {
        return Err("an operand is filled in by the linker");
    }
    let Some((before, rest)) = text.split_once("`(") else { return Ok(Cow::Borrowed(text)) };
    let (name, behind) = rest.split_once(')').ok_or("a label does not end")?;
    match labels.get(name) {
        Some(Some(address)) => Ok(Cow::Owned(format!("{before}{address:#x}{behind}"))),
        _ => Err("an operand names a symbol of another section"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_get_their_addresses() {
        let text = "\
.section .text.k
k:
.text.k:
        /*0000*/  @P0 BRA `(.L_x_1) ;   /* 0x0000000000040947 */
                                        /* 0x000fea0003800000 */
        /*0010*/  CALL.REL.NOINC `(outside) ;   /* 0x1 */
                                        /* 0x2 */
.L_x_1:
        /*0020*/  RET.REL.NODEC R2 `(k) (*\"x\"*);   /* 0x1 */
                                        /* 0x2 */
        /*0030*/  UMOV UR4, 32@lo(table) ;   /* 0x1 */
                                        /* 0x2 */
";
        let listing = read(text, Arch::Sm90).unwrap();
        let texts: Vec<&str> = listing.samples.iter().map(|it| &*it.text).collect();
        assert_eq!(texts, ["@P0 BRA 0x20", "RET.REL.NODEC R2 0x0"]);
        assert_eq!(listing.samples[0].word, 0x000fea00038000000000000000040947);
        assert_eq!(listing.skipped.iter().map(|it| it.0).collect::<Vec<_>>(), [6, 11]);
    }

    #[test]
    fn only_the_architecture_asked_for() {
        let block = |arch: &str| {
            format!("code for {arch}\nFunction : k\n /*0000*/ EXIT ; /* 0x94d */\n /* 0x3800000 */\n")
        };
        let text = block("sm_80") + &block("sm_90a") + &block("sm_90");
        let listing = read(&text, Arch::Sm90).unwrap();
        assert_eq!((listing.samples.len(), listing.functions, listing.others), (2, 2, 1));
    }

    #[test]
    fn other_texts_are_refused() {
        assert_eq!(read("[{\"ELF\":{}}]", Arch::Sm90).unwrap_err(), NotAListing::Json);
        assert_eq!(read("hello", Arch::Sm90).unwrap_err(), NotAListing::Empty);
        assert_eq!(read("/*0000*/ EXIT ;", Arch::Sm90).unwrap_err(), NotAListing::NoEncodings);
    }
}
