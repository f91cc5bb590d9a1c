//! Random inputs for a kernel, made of what its signature and its code tell: addresses get a buffer each, numbers are small, as extents and
//! indices are.

use fastrand::Rng;
use ir::pointers::pointers;
use machine::ParameterLayout;
use machine::launch::parameter_layout;
use machine::memory::{Buffers, MemoryError};
use ptx::module::{FuncId, Module, Param};
use ptx::types::TypeKind;
use std::collections::BTreeSet;

/// Bytes that a buffer has in front of its address and behind it.
const BEFORE: usize = 1 << 12;
const BEHIND: usize = 1 << 18;
/// CTAs and threads of a CTA, of kernels that say nothing of them.
const CTAS: u32 = 2;
const THREADS: u32 = 64;
/// Bytes of shared memory for an array without a size.
const DYNAMIC: u32 = 16 << 10;
/// Contents and indices are below this; numbers that are counts, too.
const SMALL: u32 = 64;
/// Counts and extents that are tried before random ones: they are round, or nothing is left over.
const COUNTS: [u32; 3] = [64, 16, 1];

/// A launch.
pub(super) struct Inputs {
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) shared: u32,
    params: Vec<u8>,
    /// Where in the parameters the addresses of buffers stand.
    addresses: Vec<usize>,
    buffers: Vec<Vec<u8>>,
}

/// A launch whose buffers are in a memory.
pub(super) struct Placed {
    pub(super) params: Vec<u8>,
    /// Each with a name, its address and what it begins with.
    pub(super) buffers: Vec<(String, u64, Vec<u8>)>,
}

/// What a kernel takes.
pub(super) struct Signature {
    layout: Vec<ParameterLayout>,
    /// Where addresses stand in the parameters.
    addresses: BTreeSet<usize>,
    block: [u32; 3],
    shared: u32,
}

impl Signature {
    /// Of a kernel; why it has no inputs, if so.
    pub(super) fn of(module: &Module, id: FuncId) -> Result<Self, String> {
        let function = ir::Function::lower(module, id).ok_or("it has no code")?;
        let layout = parameter_layout(module, id);
        let params = &function.declaration.params;
        let mut addresses = BTreeSet::new();
        for pointer in pointers(&function) {
            let place = params.iter().position(|param| *param == Param::Memory(pointer.parameter));
            let Some(of) = place.and_then(|place| layout.get(place)) else { continue };
            addresses.insert(of.offset as usize + pointer.offset as usize);
        }
        for (param, of) in params.iter().zip(&layout) {
            let Param::Memory(variable) = param else { continue };
            if module.variables[variable.index()].pointee.is_some() {
                addresses.insert(of.offset as usize);
            }
        }
        let bounds = &function.declaration.bounds;
        if bounds.req_nctapercluster.is_some() || bounds.explicit_cluster {
            return Err("it is launched in clusters".to_owned());
        }
        let most = bounds
            .max_ntid
            .map_or(THREADS, |axes| axes.iter().fold(1, |all: u32, &axis| all.saturating_mul(axis)));
        Ok(Self {
            layout,
            addresses,
            block: bounds.req_ntid.unwrap_or([THREADS.min(most), 1, 1]),
            shared: if module.variables.iter().any(|variable| variable.unsized_array) { DYNAMIC } else { 0 },
        })
    }

    /// Inputs; `attempt` says of which kind.
    pub(super) fn inputs(&self, attempt: usize) -> Inputs {
        let mut random = Rng::with_seed(attempt as u64);
        let count = COUNTS.get(attempt).copied().unwrap_or_else(|| random.u32(1..=SMALL));
        let size = self.layout.last().map_or(0, |last| last.offset as usize + last.size as usize);
        let mut params = vec![0; size];
        for of in &self.layout {
            let bytes = &mut params[of.offset as usize..][..of.size as usize];
            let width = (of.ty.bits() / 8).clamp(1, 8) as usize;
            // An array of bytes is a record, of which nothing else is known.
            let width = if width == 1 && bytes.len() >= 4 { 4 } else { width };
            for word in bytes.chunks_mut(width) {
                let value = match (of.ty.kind(), word.len()) {
                    (TypeKind::Float, 8) => (random.f64() * 4.0 - 2.0).to_bits(),
                    (TypeKind::Float, 4) => u64::from((random.f32() * 4.0 - 2.0).to_bits()),
                    _ => u64::from(count),
                };
                word.copy_from_slice(&value.to_le_bytes()[..word.len()]);
            }
        }
        let buffers = self.addresses.iter().map(|_| contents(&mut random, attempt)).collect();
        let addresses = self.addresses.iter().copied().filter(|at| at + 8 <= size).collect();
        Inputs { grid: [CTAS, 1, 1], block: self.block, shared: self.shared, params, addresses, buffers }
    }
}

/// A buffer's bytes: small integers, as indices are, numbers between -2 and 2, or any.
fn contents(random: &mut Rng, attempt: usize) -> Vec<u8> {
    let mut bytes = vec![0; BEFORE + BEHIND];
    for word in bytes.chunks_exact_mut(4) {
        let value = match attempt % 3 {
            0 => random.u32(..SMALL),
            1 => (random.f32() * 4.0 - 2.0).to_bits(),
            _ => random.u32(..),
        };
        word.copy_from_slice(&value.to_le_bytes());
    }
    bytes
}

impl Inputs {
    /// Gives the buffers places in a memory.
    pub(super) fn place(&self, memory: &dyn Buffers) -> Result<Placed, MemoryError> {
        let mut params = self.params.clone();
        let mut buffers = Vec::new();
        for ((contents, &at), number) in self.buffers.iter().zip(&self.addresses).zip(1..) {
            let base = memory.allocate(contents.len() as u64)?;
            params[at..at + 8].copy_from_slice(&(base + BEFORE as u64).to_le_bytes());
            buffers.push((format!("buffer {number}"), base, contents.clone()));
        }
        Ok(Placed { params, buffers })
    }
}
