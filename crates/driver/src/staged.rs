//! Launches that are put together call by call (`cuFuncSetBlockShape`, `cuParamSet*`, `cuLaunch*`): what a function's next
//! launch shall be is kept with the function.

use crate::error::{Error, Result};
use crate::lock;
use crate::module::{Configuration, Function};
use std::sync::{Arc, Mutex};

/// The most bytes of parameters that a kernel can have (PTX, "Kernel Function Parameters").
const MOST_PARAMETERS: usize = 32764;

/// What a function's next launch shall be. What was not said is one thread without parameters, as on an H200.
#[derive(Clone, Debug)]
struct Staged {
    block: [u32; 3],
    shared: u32,
    params: Vec<u8>,
}

impl Default for Staged {
    fn default() -> Self {
        Self { block: [1; 3], shared: 0, params: Vec::new() }
    }
}

impl Function {
    fn staged(&self) -> Arc<Mutex<Staged>> {
        self.extensions.get()
    }

    /// The threads of a block.
    pub fn stage_block(&self, block: [u32; 3]) -> Result<()> {
        let threads = block.iter().try_fold(1u32, |all, &extent| all.checked_mul(extent));
        if threads.is_none_or(|threads| threads == 0 || threads > self.max_threads()) {
            return Err(Error::InvalidValue);
        }
        lock(&self.staged()).block = block;
        Ok(())
    }

    /// The bytes of dynamic shared memory.
    pub fn stage_shared(&self, bytes: u32) {
        lock(&self.staged()).shared = bytes;
    }

    /// How many bytes of parameters there are. The kernel says that, too: more are not used, and others are zero.
    pub fn stage_size(&self, bytes: usize) -> Result<()> {
        if bytes > MOST_PARAMETERS {
            return Err(Error::InvalidValue);
        }
        Ok(())
    }

    /// Bytes of the parameters.
    pub fn stage_parameter(&self, offset: usize, bytes: &[u8]) -> Result<()> {
        let end = offset.checked_add(bytes.len()).filter(|&end| end <= MOST_PARAMETERS);
        let end = end.ok_or(Error::InvalidValue)?;
        let staged = self.staged();
        let params = &mut lock(&staged).params;
        if params.len() < end {
            params.resize(end, 0);
        }
        params[offset..end].copy_from_slice(bytes);
        Ok(())
    }

    /// The launch that has been put together, on a grid of two dimensions, and its parameters.
    pub(crate) fn staged_launch(&self, [width, height]: [u32; 2]) -> (Configuration, Vec<u8>) {
        let Staged { block, shared, mut params } = lock(&self.staged()).clone();
        params.resize(self.parameter_bytes(), 0);
        let grid = [width, height, 1];
        (Configuration { grid, block, cluster: None, dynamic_shared: shared, cooperative: false }, params)
    }
}
