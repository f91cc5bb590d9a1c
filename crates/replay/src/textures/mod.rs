//! What a GPU made of textures and surfaces: `crates/machine/tests/textures/sm_90.gz`.
//!
//! Two lines a case: the case as `key=value` words, and a digest of all its results with the first of them. Contents and coordinates are
//! made from the case's seeds. A case that has `loose=N` is one in N of whose results the machine is known to differ; it has all results.
//!
//! The groups of cases: every format, geometry, filter and address mode, levels and their bounds, gathers, offsets, linear and pitched
//! memory, views, queries, all accesses of surfaces, volumes, the footprints of derivatives, anisotropy.
//!
//! | module | what it alone knows |
//! | --- | --- |
//! | `case` | a case's words, and its kernel |
//! | `objects` | the array or memory, texture and view that a case names |
//! | `numbers` | contents and coordinates |

mod case;
mod numbers;
mod objects;

pub use case::Case;
pub use numbers::digest;
pub use objects::{Buffer, Storage, Stored, View};

use std::fmt::Write as _;

/// Words of results that a case has at least.
const FIRST: usize = 10;

/// A case and what it must give.
#[derive(Debug)]
pub struct Recorded {
    /// The case.
    pub case: Case,
    /// The digest of all results.
    pub digest: u64,
    /// The first results, or all of them.
    pub first: Vec<u32>,
}

/// The cases of a recording.
///
/// # Panics
/// If the text is none.
pub fn parse(text: &str) -> Vec<Recorded> {
    let mut lines = text.lines();
    let mut all = Vec::new();
    while let (Some(case), Some(results)) = (lines.next(), lines.next()) {
        let mut words = results.split(' ').map(|word| u64::from_str_radix(word, 16).expect("hexadecimal"));
        let digest = words.next().expect("a digest");
        all.push(Recorded {
            case: Case::parse(case),
            digest,
            first: words.map(|word| word as u32).collect(),
        });
    }
    all
}

/// The text with other results.
///
/// # Errors
/// The first error of `run`.
pub fn again<E>(text: &str, mut run: impl FnMut(&Case) -> Result<Vec<u32>, E>) -> Result<String, E> {
    let mut written = String::with_capacity(text.len());
    for Recorded { case, .. } in parse(text) {
        let results = run(&case)?;
        let shown = if case.number("loose") > 0 { results.len() } else { FIRST.min(results.len()) };
        let _ = write!(written, "{case}\n{:x}", digest(&results));
        written.extend(results[..shown].iter().map(|word| format!(" {word:x}")));
        written.push('\n');
    }
    Ok(written)
}
