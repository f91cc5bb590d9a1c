//! A probe in a memory, a GPU's or the model's: its cubin, its parameters, what its warps have left.

use super::probe::{Input, Probe, ROUNDS, WORDS};
use anyhow::{Result, anyhow};
use machine::memory::Buffers;
use ptx::source::Source;

/// What a warp has left: the clock before and after each round, its SM, the probe's own word.
pub(crate) struct Left {
    pub(crate) rounds: [(u32, u32); ROUNDS],
    pub(crate) sm: u32,
    pub(crate) own: u32,
}

/// Bytes of a line, of which each points to another one.
const LINE: usize = 128;

/// Bytes that are written at once.
const CHUNK: usize = 1 << 24;

/// The kernel of each probe.
pub(crate) const KERNEL: &str = "probe";

/// A probe in a memory.
pub(crate) struct Placed<'a> {
    probe: &'a Probe,
    memory: &'a dyn Buffers,
    out: u64,
    input: u64,
    pub(crate) params: Vec<u8>,
}

pub(crate) fn assemble(probe: &Probe) -> Result<Vec<u8>> {
    let source = Source::new(probe.name.clone(), probe.text.as_str());
    let assembled = cuasm::assemble(&source).map_err(|wrong| {
        let first = wrong.first().map_or_else(String::new, |diagnostic| {
            let line = source.line_column(diagnostic.span.start).0 as usize;
            format!("{} in `{}`", diagnostic.message, source.text().lines().nth(line - 1).unwrap_or_default())
        });
        anyhow!("{}: {first}", probe.name)
    })?;
    Ok(assembled.bytes)
}

/// The lines of a circle, each with the address of the next; their order has no pattern.
fn circle(address: u64, bytes: u64) -> Vec<u8> {
    let lines = bytes as usize / LINE;
    let mut order: Vec<usize> = (0..lines).collect();
    let mut random = fastrand::Rng::with_seed(7);
    // The first line stays the first: a chase begins there.
    random.shuffle(&mut order[1..]);
    let mut all = vec![0; lines * LINE];
    for (at, &line) in order.iter().enumerate() {
        let next = address + (order[(at + 1) % lines] * LINE) as u64;
        all[line * LINE..][..8].copy_from_slice(&next.to_le_bytes());
    }
    all
}

impl<'a> Placed<'a> {
    pub(crate) fn new(memory: &'a dyn Buffers, probe: &'a Probe) -> Result<Self> {
        let out = memory.allocate((probe.warps() * WORDS * 4) as u64)?;
        let bytes = match &probe.input {
            Input::Zeros(bytes) | Input::Circle(bytes) => *bytes,
            Input::Words(words) => 4 * words.len() as u64,
        };
        let input = memory.allocate(bytes)?;
        match &probe.input {
            &Input::Zeros(bytes) => {
                let zeros = vec![0; CHUNK.min(bytes as usize)];
                for begin in (0..bytes).step_by(CHUNK) {
                    memory.write(input + begin, &zeros[..CHUNK.min((bytes - begin) as usize)])?;
                }
            }
            &Input::Circle(bytes) => memory.write(input, &circle(input, bytes))?,
            Input::Words(words) => {
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                memory.write(input, &bytes)?;
            }
        }
        let mut params = [out, input].map(u64::to_le_bytes).concat();
        params.extend(probe.arguments.map(u32::to_le_bytes).concat());
        Ok(Self { probe, memory, out, input, params })
    }

    /// What its warps have left.
    pub(crate) fn left(&self) -> Result<Vec<Left>> {
        let mut bytes = vec![0; self.probe.warps() * WORDS * 4];
        self.memory.read(self.out, &mut bytes)?;
        let words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let of_warps = words.as_chunks::<WORDS>().0.iter();
        Ok(of_warps
            .map(|&[b0, e0, b1, e1, b2, e2, sm, own]| Left {
                rounds: [(b0, e0), (b1, e1), (b2, e2)],
                sm,
                own,
            })
            .collect())
    }
}

impl Drop for Placed<'_> {
    fn drop(&mut self) {
        // After a fault a driver refuses, which does no harm.
        let _ = self.memory.free(self.out);
        let _ = self.memory.free(self.input);
    }
}
