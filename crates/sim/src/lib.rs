//! A cycle model of the streaming multiprocessors of a GPU: what a kernel's machine code costs, and why. docs/sim.md says what is modelled
//! and where each number comes from.
//!
//! ```text
//! devices/NAME.toml ──device──▶ Device      cubin ──sass_machine──▶ Grid
//!                                  │           │ code: pipes, control codes, scoreboards of each instruction
//!                                  ▼           ▼
//!                               model: what SMs notice of one another in the order of time; placement of CTAs
//!                                  │
//!                     sm: sub-cores ──▶ warp: what its next instruction waits for
//!                      │  │       └──▶ fetch
//!                      │  └──▶ sass_machine executes what is issued, and tells what it touches
//!                      └──▶ memory: L1, L2, DRAM, each told when it is free again
//!                                  │
//!                               Report: counters, stalls by instruction, spans ──▶ metrics, timeline
//! ```
//!
//! The warp's instruction is executed when it is issued, so that results and cycles are of one run. Time is a whole number of cycles. What
//! an instruction waits for is known when the one before it has been issued; cycles in which nothing can be issued are skipped. SMs go on alone,
//! on several threads of the host, up to what others notice; that is done in the order of time, and of their numbers: the same launch gives
//! the same cycles.

mod advice;
mod code;
mod constants;
mod counters;
mod crew;
mod device;
mod fetch;
mod memory;
mod model;
mod placement;
mod profile;
mod report;
mod sm;
mod timeline;
mod unit;
mod warp;

pub use advice::{Idea, ideas};
pub use code::Unmodelled;
pub use counters::{Counters, Line, STALLS, Stall, Stalls};
pub use device::{Device, DeviceError, Opcodes, Parameters, Pipe, Row, Throttle};
pub use model::{Failure, sample, simulate};
pub use placement::Occupancy;
pub use profile::{Profile, profiles};
pub use report::{Metric, Report, Span};
pub use timeline::timeline;
