//! The kernels that the model is compared with: those of `benches/peers`, and those that `crates/sim/validation/set.toml` names.
//!
//! Half of them are kept aside by a rule that knows their names alone: nobody looks at their cycles while the model changes.

use crate::bench_peers::inputs;
use crate::bench_peers::kernels::{KERNELS, Kernel};
use anyhow::{Context, Result, bail, ensure};
use fastrand::Rng;
use machine::memory::Buffers;
use serde::Deserialize;

/// The sizes of those of `benches/peers`.
const PEERS: &[(&str, &[u32])] = &[
    ("saxpy", &[1 << 18, 1 << 21]),
    ("reduction", &[128 * 16384, 512 * 16384]),
    ("transpose", &[512, 1024]),
    ("sgemm", &[128, 256]),
    ("mandelbrot", &[128, 256]),
    ("histogram", &[1 << 20, 1 << 22]),
    ("copy", &[1 << 18, 1 << 22]),
    ("scan", &[1 << 17, 1 << 20]),
    ("stencil2d", &[512, 1024]),
    ("stencil3d", &[96]),
    ("convolution", &[256, 512]),
    ("dgemm", &[128, 256]),
    ("hgemm", &[256, 512]),
    ("igemm", &[128, 256]),
    ("nbody", &[512, 1024]),
    ("blackscholes", &[1 << 16, 1 << 18]),
    ("sha256", &[1 << 13, 1 << 15]),
    ("radixsort", &[1 << 16, 1 << 18]),
    ("bfs", &[1 << 18]),
    ("spmv", &[1 << 18]),
    ("gather", &[1 << 18, 1 << 20]),
    ("fft", &[1 << 16, 1 << 18]),
    ("montecarlo", &[1 << 13, 1 << 15]),
    ("softmax", &[256, 1024]),
    ("layernorm", &[256, 1024]),
    ("attention", &[256]),
];

/// Bytes of one argument's memory, at most.
const MOST: u64 = 1 << 28;

/// What a launch is given, one after the other.
#[derive(Clone, Debug, PartialEq)]
enum Argument {
    /// The input of those of `benches/peers`.
    Peers(inputs::Input),
    /// So many bytes of zeros.
    Zeros(u64),
    Floats(u64),
    Doubles(u64),
    Halves(u64),
    Words(u64),
    /// Words less than a limit.
    Below(u64, u64),
    /// Multiples of a number, from none on.
    Steps(u64, u64),
    /// Places within 256 of their own.
    Near(u64),
    Number(u32),
}

/// Where a kernel's code comes from.
#[derive(Clone, Copy)]
pub(crate) enum Code<'s> {
    Peer(&'static Kernel),
    /// A file of this repository.
    File(&'s str),
}

/// A kernel at a size.
pub(crate) struct Case<'s> {
    /// Its name in the set, and that of its cubin.
    pub(crate) name: &'s str,
    pub(crate) code: Code<'s>,
    /// Its name in its module.
    pub(crate) entry: &'s str,
    pub(crate) n: u32,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) cluster: Option<u32>,
    pub(crate) shared: u32,
    arguments: Vec<Argument>,
}

/// The memory of a launch, and the parameters that lead there.
pub(crate) struct Given {
    buffers: Vec<(u64, usize)>,
    pub(crate) params: Vec<u8>,
}

/// The file.
#[derive(Deserialize)]
pub(crate) struct Set {
    kernel: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    file: String,
    entry: String,
    grid: Vec<Value>,
    block: Vec<Value>,
    cluster: Option<u32>,
    #[serde(default)]
    shared: u32,
    arguments: Vec<Value>,
    sizes: Vec<u32>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Value {
    Number(u32),
    Float(f32),
    Term(String),
}

/// Products, quotients and sums of numbers and `n`, from the left to the right.
fn term(text: &str, n: u32) -> Result<u64> {
    let mut value: u64 = 0;
    let mut how = '+';
    for piece in text.split_inclusive(['+', '*', '/']) {
        let number = piece.trim_end_matches(['+', '*', '/']).trim();
        let number = match number {
            "n" => u64::from(n),
            _ => number.parse().with_context(|| format!("`{text}`"))?,
        };
        let next = match how {
            '*' => value.checked_mul(number),
            '/' => value.checked_div(number),
            _ => value.checked_add(number),
        };
        value = next.with_context(|| format!("`{text}`"))?;
        how = piece.chars().next_back().unwrap_or(how);
    }
    Ok(value)
}

impl Value {
    fn extent(&self, n: u32) -> Result<u32> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Term(text) => Ok(u32::try_from(term(text, n)?)?),
            Self::Float(_) => bail!("an extent is a whole number"),
        }
    }

    fn argument(&self, n: u32) -> Result<Argument> {
        let text = match self {
            Self::Number(number) => return Ok(Argument::Number(*number)),
            Self::Float(number) => return Ok(Argument::Number(number.to_bits())),
            Self::Term(text) => text,
        };
        let mut pieces = text.split(':');
        let kind = pieces.next().unwrap_or_default();
        let numbers = pieces.map(|piece| term(piece, n)).collect::<Result<Vec<u64>>>()?;
        Ok(match (kind, &numbers[..]) {
            ("zeros", &[bytes]) => Argument::Zeros(bytes),
            ("floats", &[count]) => Argument::Floats(count),
            ("doubles", &[count]) => Argument::Doubles(count),
            ("halves", &[count]) => Argument::Halves(count),
            ("words", &[count]) => Argument::Words(count),
            ("below", &[count, limit]) => Argument::Below(count, limit),
            ("steps", &[count, by]) => Argument::Steps(count, by),
            ("near", &[count]) => Argument::Near(count),
            (_, []) => Argument::Number(u32::try_from(term(text, n)?)?),
            _ => bail!("`{text}` is no argument"),
        })
    }
}

fn extents(of: &[Value], n: u32) -> Result<[u32; 3]> {
    let mut extents = [1; 3];
    ensure!(of.len() <= 3, "there are three dimensions");
    for (extent, value) in extents.iter_mut().zip(of) {
        *extent = value.extent(n)?;
    }
    Ok(extents)
}

impl Set {
    /// The set of this repository.
    pub(crate) fn read() -> Result<Self> {
        // A part of the program, which may run where the repository is not.
        Ok(toml::from_str(include_str!("../../../crates/sim/validation/set.toml"))?)
    }

    /// All kernels at all of their sizes, those of `benches/peers` first.
    pub(crate) fn cases(&self) -> Result<Vec<Case<'_>>> {
        let mut cases = Vec::new();
        for &(name, sizes) in PEERS {
            let kernel = KERNELS.iter().find(|kernel| kernel.name == name).context(name)?;
            cases.extend(sizes.iter().map(|&n| Case {
                name,
                code: Code::Peer(kernel),
                entry: name,
                n,
                grid: three((kernel.grid)(n, kernel.block)),
                block: three(kernel.block),
                cluster: None,
                shared: 0,
                arguments: vec![
                    Argument::Peers(kernel.input),
                    Argument::Zeros(kernel.bytes(n) as u64),
                    Argument::Number(n),
                ],
            }));
        }
        for of in &self.kernel {
            for &n in &of.sizes {
                let case = || -> Result<Case<'_>> {
                    Ok(Case {
                        name: &of.name,
                        code: Code::File(&of.file),
                        entry: &of.entry,
                        n,
                        grid: extents(&of.grid, n)?,
                        block: extents(&of.block, n)?,
                        cluster: of.cluster,
                        shared: of.shared,
                        arguments: of
                            .arguments
                            .iter()
                            .map(|value| value.argument(n))
                            .collect::<Result<_>>()?,
                    })
                };
                cases.push(case().with_context(|| of.name.clone())?);
            }
        }
        Ok(cases)
    }
}

fn three([x, y]: [u32; 2]) -> [u32; 3] {
    [x, y, 1]
}

/// The 64-bit FNV-1a of bytes, which is the same on every host.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// Whether a kernel is one of those that are kept aside: by bit 32 of its name's hash.
pub(crate) fn is_aside(name: &str) -> bool {
    hash(name.as_bytes()) >> 32 & 1 == 1
}

impl Argument {
    /// What is there before the launch; none for a number.
    fn bytes(&self) -> Result<Option<Vec<u8>>> {
        let mut random = Rng::with_seed(3);
        let words = |count: u64, mut word: Box<dyn FnMut(u64) -> u32 + '_>| {
            (0..count).flat_map(|at| word(at).to_le_bytes()).collect::<Vec<u8>>()
        };
        let size = match *self {
            Self::Number(_) | Self::Peers(_) => 0,
            Self::Zeros(bytes) => bytes,
            Self::Halves(count) => count.saturating_mul(2),
            Self::Doubles(count) => count.saturating_mul(8),
            Self::Floats(count)
            | Self::Words(count)
            | Self::Below(count, _)
            | Self::Steps(count, _)
            | Self::Near(count) => count.saturating_mul(4),
        };
        ensure!(size <= MOST, "{self:?} is too large");
        Ok(Some(match *self {
            Self::Number(_) => return Ok(None),
            Self::Peers(input) => input.bytes(),
            Self::Zeros(bytes) => vec![0; bytes as usize],
            Self::Floats(count) => {
                words(count, Box::new(|_| ((random.u32(..) >> 8) as f32 / (1 << 24) as f32).to_bits()))
            }
            Self::Doubles(count) => (0..count).flat_map(|_| random.f64().to_le_bytes()).collect(),
            Self::Halves(count) => {
                (0..count).flat_map(|_| (random.u16(..) & 0x83ff | 0x3c00).to_le_bytes()).collect()
            }
            Self::Words(count) => words(count, Box::new(|_| random.u32(..))),
            Self::Below(count, limit) => words(count, Box::new(|_| random.u64(..limit.max(1)) as u32)),
            Self::Steps(count, by) => words(count, Box::new(|at| (at * by) as u32)),
            Self::Near(count) => words(count, Box::new(|at| (at & !255) as u32 | random.u32(..256))),
        }))
    }
}

impl Case<'_> {
    /// Puts what it is given into a memory, whichever that is.
    pub(crate) fn give(&self, memory: &dyn Buffers) -> Result<Given> {
        let mut given = Given { buffers: Vec::new(), params: Vec::new() };
        for argument in &self.arguments {
            match (argument, argument.bytes()?) {
                (_, Some(bytes)) => {
                    let address = memory.allocate(bytes.len().max(1) as u64)?;
                    memory.write(address, &bytes)?;
                    given.buffers.push((address, bytes.len()));
                    let aligned = given.params.len().next_multiple_of(8);
                    given.params.resize(aligned, 0);
                    given.params.extend(address.to_le_bytes());
                }
                (Argument::Number(number), None) => given.params.extend(number.to_le_bytes()),
                (_, None) => {}
            }
        }
        Ok(given)
    }
}

impl Given {
    /// What is in its memory.
    pub(crate) fn left(&self, memory: &dyn Buffers) -> Result<Vec<u8>> {
        let mut left = Vec::new();
        for &(address, bytes) in &self.buffers {
            let begin = left.len();
            left.resize(begin + bytes, 0);
            memory.read(address, &mut left[begin..])?;
        }
        Ok(left)
    }

    pub(crate) fn free(&self, memory: &dyn Buffers) -> Result<()> {
        self.buffers.iter().try_for_each(|&(address, _)| Ok(memory.free(address)?))
    }
}

#[cfg(test)]
mod tests {
    use super::{Set, is_aside, term};

    #[test]
    fn terms_go_from_left_to_right() {
        assert_eq!(
            ["n", "4*n*n", "n*n/256", "n+1", "7"].map(|text| term(text, 512).unwrap()),
            [512, 1_048_576, 1024, 513, 7]
        );
        assert!(term("m", 1).is_err());
        assert!(term("n/0", 1).is_err());
    }

    #[test]
    fn the_set_is_whole_and_about_half_of_it_is_aside() {
        let set = Set::read().unwrap();
        let cases = set.cases().unwrap();
        let mut names: Vec<&str> = cases.iter().map(|case| case.name).collect();
        names.dedup();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "each name stands once");
        assert!(count >= 60);
        let aside = names.iter().filter(|name| is_aside(name)).count();
        assert!((count / 3..=2 * count / 3).contains(&aside), "{aside} of {count}");
        for case in &cases {
            assert!(
                case.grid.iter().chain(&case.block).all(|&extent| extent > 0),
                "{} {}",
                case.name,
                case.n
            );
        }
    }
}
