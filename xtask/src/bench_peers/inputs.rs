//! What kernels read: random numbers, the same in every run, in files that all peers load.

use anyhow::Result;
use fastrand::Rng;
use std::fs;
use std::path::{Path, PathBuf};

/// A kind of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Input {
    /// 2^25 floats in [0, 1).
    Floats,
    /// 2^19 doubles in [0, 1).
    Doubles,
    /// 2^19 halves of both signs with magnitudes in [1, 2).
    Halves,
    /// 2^22 words of any bits.
    Words,
    /// 2^18 vertices with up to 31 neighbours each: where the neighbours of each begin, and their end; colours in a
    /// breadth-first search; a float for each vertex; the neighbours; a float for each of them.
    Graph,
}

/// Vertices of the graph.
const VERTICES: usize = 1 << 18;
/// The distance of the vertices that the search is about to leave: when most are about to be found.
const FRONTIER: u32 = 4;

impl Input {
    /// Where its file is.
    pub(crate) fn file(self, folder: &Path) -> PathBuf {
        folder.join(format!("{self:?}").to_lowercase())
    }

    /// Makes the file.
    pub(crate) fn make(self, folder: &Path) -> Result<()> {
        Ok(fs::write(self.file(folder), self.bytes())?)
    }

    /// What is in it.
    pub(crate) fn bytes(self) -> Vec<u8> {
        let mut random = Rng::with_seed(1);
        match self {
            Self::Floats => (0..1 << 25).flat_map(|_| float(&mut random).to_le_bytes()).collect(),
            Self::Doubles => (0..1 << 19).flat_map(|_| random.f64().to_le_bytes()).collect(),
            Self::Halves => {
                (0..1 << 19).flat_map(|_| (random.u16(..) & 0x83ff | 0x3c00).to_le_bytes()).collect()
            }
            Self::Words => (0..1 << 22).flat_map(|_| random.u32(..).to_le_bytes()).collect(),
            Self::Graph => graph(&mut random),
        }
    }
}

/// With as many bits as a float in [1, 2) has, so that the values are spread evenly.
fn float(random: &mut Rng) -> f32 {
    (random.u32(..) >> 8) as f32 / (1 << 24) as f32
}

fn graph(random: &mut Rng) -> Vec<u8> {
    let neighbours: Vec<Vec<u32>> = (0..VERTICES)
        .map(|_| (0..random.usize(..32)).map(|_| random.u32(..VERTICES as u32)).collect())
        .collect();
    let begins = neighbours.iter().scan(0, |begin, of| {
        *begin += of.len() as u32;
        Some(*begin)
    });
    let edges = neighbours.iter().flatten().copied();
    let words = std::iter::once(0).chain(begins).chain(colours(&neighbours));
    let mut bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
    bytes.extend((0..VERTICES).flat_map(|_| float(random).to_le_bytes()));
    let before = bytes.len();
    bytes.extend(edges.flat_map(u32::to_le_bytes));
    let values = (bytes.len() - before) / 4;
    bytes.extend((0..values).flat_map(|_| float(random).to_le_bytes()));
    bytes
}

/// What a breadth-first search from the vertex with most neighbours knows when it is about to leave the frontier: black (2) is what
/// it has left, grey (1) the frontier, white (0) the rest.
fn colours(neighbours: &[Vec<u32>]) -> Vec<u32> {
    let first = (0..VERTICES).max_by_key(|&v| neighbours[v].len()).unwrap_or(0);
    let mut colours = vec![0; VERTICES];
    colours[first] = 1;
    let mut frontier = vec![first];
    for _ in 0..FRONTIER {
        let mut found = Vec::new();
        for v in frontier {
            colours[v] = 2;
            for &to in &neighbours[v] {
                if colours[to as usize] == 0 {
                    colours[to as usize] = 1;
                    found.push(to as usize);
                }
            }
        }
        frontier = found;
    }
    colours
}
