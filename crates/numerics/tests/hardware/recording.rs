//! Reads a recording that `record.py` wrote: `sm_90.gz`, or what `WARPLOOM_RECORDING` names.

use std::collections::HashMap;
use std::io::Read;

/// One recorded instruction: its name and each tuple of operands with its result.
pub(crate) struct Recorded {
    /// The instruction as `record.py` names it.
    pub(crate) name: String,
    /// Hexadecimal digits of a result.
    pub(crate) digits: usize,
    /// Operands and result.
    pub(crate) rows: Vec<(Vec<u64>, u64)>,
}

/// Every recorded instruction.
pub(crate) fn recording() -> Vec<Recorded> {
    let path = std::env::var("WARPLOOM_RECORDING").unwrap_or_else(|_| {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../numerics/tests/hardware/sm_90.gz").to_owned()
    });
    let mut text = String::new();
    let file = std::fs::File::open(path).expect("the recording is in the repository");
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("the recording is text");
    let hex = |digits: &str| u64::from_str_radix(digits, 16).expect("hexadecimal");
    let mut sets: HashMap<&str, Vec<Vec<u64>>> = HashMap::new();
    let mut instructions = Vec::new();
    let mut set = "";
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["inputs", name] => set = name,
            ["op", name, inputs, digits] => {
                let digits: usize = digits.parse().expect("a number of digits");
                let results = lines.next().expect("a line of results").as_bytes().chunks(digits);
                let results = results.map(|chunk| hex(std::str::from_utf8(chunk).expect("ASCII")));
                let rows = sets[inputs].iter().cloned().zip(results).collect();
                instructions.push(Recorded { name: name.to_owned(), digits, rows });
            }
            _ => sets.entry(set).or_default().push(words.into_iter().map(hex).collect()),
        }
    }
    instructions
}
