//! What a GPU's tensor cores computed: `crates/numerics/tests/hardware/tensor.gz`.
//!
//! The first line is `salt N`. Then there is a line for each configuration: its name, how many tiles (one instruction's matrices) were
//! computed, and for each kind of inputs a hash of the results and the first two of them.
//!
//! A configuration is named FAMILY.SHAPE.D.A.B.C, with modifiers and after a `+` a variant behind. Its operands are a function of
//! this name, the salt, the tile and the position in the matrix: another salt gives others, more tiles give more of them.
//!
//! | module | what it alone knows |
//! | --- | --- |
//! | `case` | configurations, their operands, and what `numerics` makes of them |
//! | `kernel` | a kernel that computes a tile: how the manual distributes matrices over lanes |

mod case;
mod kernel;

pub use case::{Case, Tile};

use std::fmt::Write as _;

/// How many kinds of inputs there are; tile t has kind `t % KINDS`.
pub const KINDS: usize = 15;

/// Where FNV-1a begins.
const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// One step of FNV-1a, over a word instead of a byte.
fn fnv(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(0x100_0000_01b3)
}

/// The hash of results: they are dealt to 64 hashes, and these are hashed.
#[derive(Debug)]
pub struct Hash {
    lanes: [u64; 64],
    /// How many results it has seen.
    pub count: usize,
}

impl Default for Hash {
    fn default() -> Self {
        Self { lanes: [FNV_BASIS; 64], count: 0 }
    }
}

impl Hash {
    /// Adds a result.
    pub fn add(&mut self, result: u64) {
        let lane = &mut self.lanes[self.count % 64];
        *lane = fnv(*lane, result);
        self.count += 1;
    }

    /// The hash of all that was added.
    pub fn value(&self) -> u64 {
        self.lanes.iter().fold(FNV_BASIS, |hash, lane| fnv(hash, *lane))
    }
}

/// What was recorded for one kind of inputs of one configuration.
#[derive(Debug)]
pub struct Results {
    /// The hash of all results.
    pub hash: u64,
    /// The first of them.
    pub first: Vec<u64>,
}

/// A line of a recording.
#[derive(Debug)]
pub struct Line {
    /// The configuration.
    pub name: String,
    /// How many tiles were computed.
    pub tiles: usize,
    /// What came of each kind of inputs.
    pub kinds: Vec<Results>,
}

impl Line {
    fn parse(line: &str) -> Self {
        let hex = |digits: &str| u64::from_str_radix(digits, 16).expect("hexadecimal");
        let kind = |word: &str| {
            let (hash, first) = word.split_once(':').expect("a hash and values");
            Results { hash: hex(hash), first: first.split(',').map(hex).collect() }
        };
        let mut words = line.split(' ');
        let mut next = || words.next().expect("a name and a number of tiles");
        let (name, tiles) = (next().to_owned(), next().parse().expect("a number"));
        Line { name, tiles, kinds: words.map(kind).collect() }
    }

    /// The line of results, tile by tile.
    fn of(name: &str, tiles: &[Vec<u64>]) -> String {
        let mut line = format!("{name} {}", tiles.len());
        for kind in 0..KINDS {
            let results = || tiles.iter().skip(kind).step_by(KINDS).flatten().copied();
            let mut hash = Hash::default();
            results().for_each(|result| hash.add(result));
            let first: Vec<String> = results().take(2).map(|result| format!("{result:x}")).collect();
            let _ = write!(line, " {:016x}:{}", hash.value(), first.join(","));
        }
        line
    }
}

/// The salt and the lines of a recording.
///
/// # Panics
/// If the text is none.
pub fn parse(text: &str) -> (u64, Vec<Line>) {
    let mut lines = text.lines();
    let salt = lines.next().and_then(|line| line.strip_prefix("salt ")).expect("the salt");
    (salt.parse().expect("a number"), lines.map(Line::parse).collect())
}

/// The text with other results: of each tile of a configuration, row by row.
///
/// # Errors
/// The first error of `run`.
pub fn again<E>(
    text: &str,
    mut run: impl FnMut(&Case, usize) -> Result<Vec<Vec<u64>>, E>,
) -> Result<String, E> {
    let (salt, lines) = parse(text);
    let mut written = format!("salt {salt}\n");
    for Line { name, tiles, .. } in lines {
        let results = run(&Case::new(&name, salt), tiles)?;
        let _ = writeln!(written, "{}", Line::of(&name, &results));
    }
    Ok(written)
}
