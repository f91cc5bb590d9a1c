//! Random words against the oracle.

use super::oracle::Oracle;
use super::random::Random;
use super::report::Report;
use super::scoreboards::{ALL, QUIET};
use super::tables::Tables;
use sass::Arch;
use sass::control::BELOW;
use sass_table::source::{Listed, Piece, Source};
use sass_table::table::{OPCODE_MASK, opcode_bits};

/// Compares the table in use with the oracle on random words: `each` for every form, half of them drawn from the table's
/// codes and half of random bits; and words of random bits for every opcode, a quarter as many where it has forms, one where it has
/// none. What comes out is added to the report.
pub fn compare(
    oracle: &dyn Oracle,
    tables: &Tables,
    arch: Arch,
    each: usize,
    seed: u64,
    examples: usize,
    report: &mut Report,
) -> Result<(), String> {
    let table = tables.table(arch)?;
    let mut words = random_words(&table, each, seed);
    let mut random = Random::new(seed ^ 0xadd);
    for opcode in 0..8192 {
        for _ in 0..if table.forms_of(opcode).is_empty() { 1 } else { each / 4 } {
            let bits = random.bits128() & [random.bits128(), u128::MAX][random.below(2)];
            let scoreboards = scoreboards(&mut random);
            words.push(bits & ANY | opcode_bits(opcode) | scoreboards | 1 << 109 | 1 << 105);
        }
    }
    let words: Vec<(u128, u64)> = words.into_iter().map(|it| (it, 1)).collect();
    report.words += words.len();
    report.uses += words.len() as u64;
    report.ask(oracle, arch, &words, examples)
}

/// The bits around the control code that are not the opcode's. Those above the reuse flags show nowhere.
const ANY: u128 = (BELOW | 7 << 125) & !OPCODE_MASK;

/// Mostly none, or any.
fn scoreboards(random: &mut Random) -> u128 {
    if random.below(4) > 0 { QUIET } else { random.bits128() & ALL }
}

/// Random words, `each` for every form.
pub(super) fn random_words(table: &Source, each: usize, seed: u64) -> Vec<u128> {
    let mut random = Random::new(seed ^ 0x5eed);
    (0..table.forms.len()).flat_map(|at| random_words_of(table, at, each, &mut random)).collect()
}

/// Random words of one form: half of them with legal codes in all fields, RZ and 0 among them, half of any bits. Some name
/// scoreboards.
pub(super) fn random_words_of(table: &Source, at: usize, each: usize, random: &mut Random) -> Vec<u128> {
    let form = &table.forms[at];
    let mut words = Vec::new();
    for nth in 0..each {
        let mut word = random.bits128() & (ANY | OPCODE_MASK) & !form.mask | form.value;
        word |= scoreboards(random) & !form.mask;
        let issue = [1 << 109 | 1 << 105, 1 << 109 | 11 << 105, 5 << 105, 1 << 109 | 2 << 105 | 7 << 122];
        word |= issue[random.below(issue.len())] & !form.mask;
        if nth % 2 == 0 {
            for piece in &form.pieces {
                let (fields, number) = match piece {
                    Piece::Set(field) => (vec![*field], None),
                    Piece::Memory(memory) => (memory.listed().collect(), memory.offset),
                    Piece::Hex { bits, .. } | Piece::Relative { bits, .. } | Piece::Float { bits, .. } => {
                        (Vec::new(), Some(*bits))
                    }
                    Piece::Text(_) => continue,
                };
                for Listed { set, bits } in fields {
                    let strings = &table.sets[set as usize].strings;
                    let last = strings.len() - 1;
                    let legal = |code: usize| {
                        strings[code].is_some() && bits.put(word, code as u64) & form.mask == form.value
                    };
                    let codes: Vec<usize> = (0..strings.len()).filter(|&it| legal(it)).collect();
                    let code = bits.get_or_zero(word) as usize;
                    if strings.len() >= 64 && legal(last) && random.below(5) == 0 {
                        word = bits.put(word, last as u64);
                    } else if !legal(code) && !codes.is_empty() {
                        word = bits.put(word, codes[random.below(codes.len())] as u64);
                    }
                }
                if let Some(bits) = number
                    && bits.mask() & form.mask == 0
                    && random.below(3) == 0
                {
                    let edges =
                        [0, 1, u64::MAX, 1 << (bits.width() - 1), 1 << random.below(bits.width() as usize)];
                    word = bits.put(word, edges[random.below(edges.len())]);
                }
            }
        }
        words.push(word);
    }
    words
}
