//! Changes of graphs by kernels: `cudaGraphKernelNodeSetParam` and its like (CUDA runtime, "Graph Management").
//!
//! A batch is applied in order, up to the first change that is refused.

use super::{Answer, Error, Lane};
use crate::device_runtime::NodeChange;
use crate::fault::Access;
use crate::image::builtin::NodeCall;
use crate::memory::Cell;
use crate::ops::address::{Generic, Space};

/// The most bytes of parameters that a kernel has.
const MOST_PARAMETERS: u64 = 32764;

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
    pub(super) fn change_node(&self, call: NodeCall) -> Answer<()> {
        let handle = self.argument(0)?;
        match call {
            NodeCall::SetParam => {
                let (offset, value, size) = (self.argument(1)?, self.argument(2)?, self.argument(3)?);
                self.set_parameters(handle, offset, value, size)
            }
            NodeCall::SetEnabled => self.change(handle, NodeChange::Enabled(self.argument(1)? as u8 != 0)),
            NodeCall::SetGridDim => self.change(handle, NodeChange::Grid(self.words(1)?)),
            NodeCall::UpdatesApply => {
                let count = self.argument(1)?;
                (0..count).try_for_each(|i| self.apply(handle.wrapping_add(update::BYTES.wrapping_mul(i))))
            }
        }
    }

    /// Applies the update at an address.
    fn apply(&self, at: u64) -> Answer<()> {
        let data = at.wrapping_add(update::DATA);
        let node = self.load(at.wrapping_add(update::NODE))?;
        match self.load::<u32>(at.wrapping_add(update::FIELD))? {
            field::GRID_DIM => {
                let extent = |i: u64| self.load::<u32>(data.wrapping_add(4 * i));
                self.change(node, NodeChange::Grid([extent(0)?, extent(1)?, extent(2)?]))
            }
            field::PARAM => {
                let [value, offset, size] = [0, 8, 16].map(|i| self.load::<u64>(data.wrapping_add(i)));
                self.set_parameters(node, offset?, value?, size?)
            }
            field::ENABLED => self.change(node, NodeChange::Enabled(self.load::<u32>(data)? != 0)),
            _ => Err(Error::InvalidValue.into()),
        }
    }

    fn set_parameters(&self, node: u64, offset: u64, value: u64, size: u64) -> Answer<()> {
        if size > MOST_PARAMETERS {
            return Err(Error::InvalidValue.into());
        }
        let bytes: Answer<Vec<u8>> = (0..size).map(|i| self.load(value.wrapping_add(i))).collect();
        self.change(node, NodeChange::Parameters { offset, bytes: &bytes? })
    }

    fn change(&self, node: u64, change: NodeChange<'_>) -> Answer<()> {
        let answer = self.runtime.change_node(node, change).ok_or(Error::NotSupported)?;
        self.graph_answer(node, answer)
    }

    fn load<T: Cell>(&self, address: u64) -> Answer<T> {
        let x = &self.caller.x;
        let loaded = Generic::load(x, self.warp, self.lane, address);
        loaded.ok_or_else(|| x.bad_access(address, T::BYTES, Access::Load).into())
    }
}
