//! Running decoded code: independent thread scheduling, CTAs, grids.
//!
//! | file | what runs |
//! | --- | --- |
//! | `pack` | the groups of a pack: lanes at one program counter; divergence, reconvergence, calls |
//! | `frame` | function activations and their registers |
//! | `converge` | lanes of a warp brought together for a `.sync` operation |
//! | `barrier` | CTA barriers |
//! | `watch` | who watches the dispatch loop |
//! | `look` | what the threads of a CTA have, for who watches them |
//! | `single` | one instruction for lanes of one warp, for compiled code |
//! | `wait` | groups that wait for an mbarrier or for their cluster |
//! | `cta` | the packs of a CTA |
//! | `cluster` | the CTAs of a cluster in turn, until all threads are done or somebody else must move first |
//! | `work` | what the host threads of a launch share |
//! | `grid` | the clusters of a launch on a pool of host threads, interpreted or compiled |
//! | `builtin` | functions that the system provides, the device runtime's among them |
//!
//! **Progress.** Every thread of every resident CTA eventually runs. A group gives up its turn when its time slice ends;
//! lanes that wait for reconvergence are let go when the lanes they wait for neither arrive nor block (a spin lock), or
//! when nobody else in the cluster can move. Reconvergence is thus an optimisation that no program can rely on or hang on.

pub(crate) mod barrier;
pub(crate) mod builtin;
pub(crate) mod cluster;
mod converge;
mod cta;
mod forgive;
pub(crate) mod frame;
pub(crate) mod grid;
mod look;
pub(crate) mod pack;
pub(crate) mod single;
mod wait;
pub(crate) mod watch;
pub(crate) mod work;
