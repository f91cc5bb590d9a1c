//! Products of matrices whose registers compiled code hands over, computed from the lists: the way through the interpreter's
//! registers takes several times as long as a product.

use super::lists::list_bytes;
use crate::image::Image;
use crate::image::matrix::{FactorSource, Product};
use crate::image::places::Home;
use crate::lanes::{LANES, PlaneId};
use crate::matrix::workspace::Workspace;
use crate::operation::{Operation, Site};
use crate::ops::matrix::lanes::Listed;
use numerics::tensor::lanes::Kind;
use std::ops::Range;

/// A product of a warp with a list for each of its registers.
pub(super) struct Multiplication {
    product: Site<Product>,
    kind: Kind,
    /// Registers of A, and of B.
    counts: [usize; 2],
    /// Where the lists of registers of A, B and C begin, among those of operands.
    operands: Vec<usize>,
    /// The same for D, among those of results; `None` for what nobody reads.
    results: Vec<Option<usize>>,
}

impl Multiplication {
    /// If the instruction is nothing but that, of those that are computed with all lanes side by side.
    pub(super) fn new(
        image: &Image,
        operations: Range<u32>,
        reads: &[(Home, u32)],
        writes: &[(Home, u32)],
    ) -> Option<Self> {
        let [op] = &image.ops[operations.start as usize..operations.end as usize] else { return None };
        let Operation::MultiplyMatrices(op) = op.operation() else { return None };
        let product = image.site(op.site);
        let kind = product.side_by_side().filter(|_| op.warps == 1)?;
        let planes = |source: &'_ FactorSource| match source {
            FactorSource::Registers(fragment) => Some(fragment.planes().to_vec()),
            FactorSource::Shared { .. } => None,
        };
        let (a, b) = (planes(&product.a.source)?, planes(&product.b.source)?);
        let counts = [a.len(), b.len()];
        let operands = a.iter().chain(&b).chain(product.c.planes());
        Some(Self {
            product: op.site,
            kind,
            counts,
            operands: operands.map(|&plane| list_of(plane, reads)).collect::<Option<_>>()?,
            results: product.d.planes().iter().map(|&plane| list_of(plane, writes)).collect(),
        })
    }

    /// Computes it for all lanes of a warp: `false` if its operands are such that it has to be done element by element.
    pub(super) fn compute(
        &self,
        image: &Image,
        operands: &[u8],
        results: &mut [u8],
        workspace: &mut Workspace,
    ) -> bool {
        let mut registers = std::mem::take(&mut workspace.registers);
        registers.resize(self.operands.len(), [0; LANES]);
        for (&at, register) in self.operands.iter().zip(&mut registers) {
            let Some((list, _)) = operands[at..].split_first_chunk() else { return false };
            *register = words(list);
        }
        let (a, rest) = registers.split_at(self.counts[0]);
        let (b, c) = rest.split_at(self.counts[1]);
        let done = image.site(self.product).compute_listed(Listed { a, b, c }, self.kind, workspace);
        workspace.registers = registers;
        if done {
            for (&at, result) in self.results.iter().zip(&workspace.results) {
                if let Some(at) = at
                    && let Some((list, _)) = results[at..].split_first_chunk_mut()
                {
                    *list = bytes(result);
                }
            }
        }
        done
    }
}

/// Bytes of a list. It is known when this is compiled, so that loops over its lanes are moves of vectors.
const BYTES: usize = LANES * size_of::<u32>();

fn words(list: &[u8; BYTES]) -> [u32; LANES] {
    let (words, _) = list.as_chunks();
    std::array::from_fn(|lane| u32::from_le_bytes(words[lane]))
}

fn bytes(words: &[u32; LANES]) -> [u8; BYTES] {
    let mut list = [0; BYTES];
    let (lanes, _) = list.as_chunks_mut();
    lanes.iter_mut().zip(words).for_each(|(lane, word)| *lane = word.to_le_bytes());
    list
}

/// Where the list of the register that is kept in a plane begins.
fn list_of(plane: PlaneId, homes: &[(Home, u32)]) -> Option<usize> {
    let mut at = 0;
    for &(home, bits) in homes {
        if matches!(home, Home::Plane(its) if its == plane) && bits == 32 {
            return Some(at);
        }
        at += list_bytes(bits, LANES);
    }
    None
}
