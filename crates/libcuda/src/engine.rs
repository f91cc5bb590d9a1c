//! `WARPLOOM_ENGINE`: what compiles kernels.

use jit::Choice;
use machine::compiled::Engine;
use std::sync::Arc;

/// The engine that the environment asks for. What cannot be had is logged, and kernels are interpreted then.
pub(crate) fn wanted() -> Option<Arc<dyn Engine>> {
    let choice = Choice::from_environment().unwrap_or_else(|why| {
        log::error!("WARPLOOM_ENGINE: {why}");
        Choice::default()
    });
    choice.engine().unwrap_or_else(|why| {
        log::warn!("WARPLOOM_ENGINE={}: {why}; kernels are interpreted", choice.name());
        None
    })
}
