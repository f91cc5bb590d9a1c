//! Changes of graphs by kernels: `cudaGraphKernelNodeSetParam` and its like (CUDA runtime, "Graph Management").
//!
//! Of a batch all changes are made, or none if one of them is refused, as on an H200.

use super::{Answer, Error, Lane};
use crate::device_runtime::{NodeChange, NodeField};
use crate::fault::Access;
use crate::image::builtin::NodeCall;
use crate::memory::Cell;
use crate::ops::address::{Generic, Space};

/// The most bytes of parameters that a kernel has.
const MOST_PARAMETERS: u64 = 32764;

/// The most bytes of parameters that one call changes, so that none makes the host run out of memory.
const MOST_AT_ONCE: usize = 256 << 20;

/// `cudaGraphKernelNodeUpdate`: its size and where its fields are. What is at `DATA` depends on the field that it changes.
mod update {
    pub(super) const BYTES: u64 = 40;
    pub(super) const NODE: u64 = 0;
    pub(super) const FIELD: u64 = 8;
    pub(super) const DATA: u64 = 16;
}

/// `cudaGraphKernelNodeField`.
mod field {
    pub(super) const GRID_DIM: u32 = 1;
    pub(super) const PARAM: u32 = 2;
    pub(super) const ENABLED: u32 = 3;
}

impl Lane<'_, '_, '_> {
    /// Executes a function that changes nodes.
    pub(super) fn change_nodes(&self, call: NodeCall) -> Answer<()> {
        let first = self.argument(0)?;
        let one = |field| Ok(vec![NodeChange { node: first, field }]);
        let changes = match call {
            NodeCall::SetParam => {
                one(self.parameters(self.argument(1)?, self.argument(2)?, self.argument(3)?)?)
            }
            NodeCall::SetEnabled => one(NodeField::Enabled(self.argument(1)? as u8 != 0)),
            NodeCall::SetGridDim => one(NodeField::Grid(self.words(1)?)),
            NodeCall::UpdatesApply => self.updates(first, self.argument(1)?),
        }?;
        if changes.iter().any(|change| change.node == 0) {
            return Err(Error::InvalidValue.into());
        }
        let answer = self.runtime.change_nodes(&changes).ok_or(Error::NotSupported)?;
        self.graph_answer(answer)
    }

    /// The changes that an array in memory asks for.
    fn updates(&self, array: u64, count: u64) -> Answer<Vec<NodeChange>> {
        if array == 0 {
            return Err(Error::InvalidValue.into());
        }
        let mut changes = Vec::new();
        let mut bytes = 0;
        for i in 0..count {
            let change = self.update(array.wrapping_add(update::BYTES.wrapping_mul(i)))?;
            bytes += size_of_val(&change)
                + if let NodeField::Parameters { bytes, .. } = &change.field { bytes.len() } else { 0 };
            if bytes > MOST_AT_ONCE {
                return Err(Error::InvalidValue.into());
            }
            changes.push(change);
        }
        Ok(changes)
    }

    /// The change that a structure in memory asks for.
    fn update(&self, at: u64) -> Answer<NodeChange> {
        let data = at.wrapping_add(update::DATA);
        let node = self.load(at.wrapping_add(update::NODE))?;
        let field = match self.load::<u32>(at.wrapping_add(update::FIELD))? {
            field::GRID_DIM => {
                let extent = |i: u64| self.load::<u32>(data.wrapping_add(4 * i));
                NodeField::Grid([extent(0)?, extent(1)?, extent(2)?])
            }
            field::PARAM => {
                let [value, offset, size] = [0, 8, 16].map(|i| self.load::<u64>(data.wrapping_add(i)));
                self.parameters(offset?, value?, size?)?
            }
            field::ENABLED => NodeField::Enabled(self.load::<u32>(data)? != 0),
            _ => return Err(Error::InvalidValue.into()),
        };
        Ok(NodeChange { node, field })
    }

    /// Parameters that become what is in memory.
    fn parameters(&self, offset: u64, value: u64, size: u64) -> Answer<NodeField> {
        if size > MOST_PARAMETERS || value == 0 {
            return Err(Error::InvalidValue.into());
        }
        let bytes: Answer<Vec<u8>> = (0..size).map(|i| self.load(value.wrapping_add(i))).collect();
        Ok(NodeField::Parameters { offset, bytes: bytes? })
    }

    fn load<T: Cell>(&self, address: u64) -> Answer<T> {
        let x = &self.caller.x;
        let loaded = Generic::load(x, self.warp, self.lane, address);
        loaded.ok_or_else(|| x.bad_access(address, T::BYTES, Access::Load).into())
    }
}
