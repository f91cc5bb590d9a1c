//! Running decoded code: independent thread scheduling, CTAs, grids.
//!
//! | file | what runs |
//! | --- | --- |
//! | `pack` | the groups of a pack: lanes at one program counter; divergence, reconvergence, calls |
//! | `converge` | lanes of a warp brought together for a `.sync` operation |
//! | `barrier` | CTA barriers |
//! | `cta` | the packs of a CTA, until all threads are done or somebody else must move first |
//! | `grid` | the CTAs of a launch on a pool of host threads |
//!
//! **Progress.** Every thread of every resident CTA eventually runs. A group gives up its turn when its time slice ends;
//! lanes that wait for reconvergence are let go when the lanes they wait for neither arrive nor block (a spin lock), or
//! when nobody else in the CTA can move. Reconvergence is thus an optimisation that no program can rely on or hang on.

pub(crate) mod barrier;
mod builtin;
mod converge;
pub(crate) mod cta;
pub(crate) mod grid;
pub(crate) mod pack;
