//! What a kernel does wrong without a GPU noticing: it goes on here too, and is told of when it has ended.
//!
//! Two things, each as an H200 does it. An access behind the end of an allocation, in a granule of 2 MiB that has memory of
//! some allocation ([`crate::memory::Bounds::Granules`]): it reads and writes what is there. A `.sync` operation executed
//! by a lane that its member mask leaves out: the lanes that execute it together take part ([`Masks::Converged`]).

use crate::fault::Access;
use crate::location::Location;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// What is done with a lane that executes a `.sync` operation whose member mask leaves it out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Masks {
    /// It takes part with the lanes that it executes the operation with, as on a GPU whose code is known to be converged.
    #[default]
    Converged,
    /// It is a fault.
    Exact,
}

/// What a kernel did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Accesses behind the end of memory.
    Stray {
        /// Bytes of an access.
        bytes: u64,
        /// Load, store or atomic.
        access: Access,
        /// Where the farthest one is, as "4 bytes past the end of the 1000-byte allocation at 0x...".
        farthest: String,
    },
    /// Member masks that leave out lanes which execute the operation.
    Mask {
        /// The first of them.
        mask: u32,
        /// A lane that it leaves out.
        lane: usize,
    },
}

/// What a kernel did by one instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misuse {
    /// What it is.
    pub kind: Kind,
    /// How often.
    pub times: u64,
    /// The kernel that was launched.
    pub kernel: String,
    /// Where the instruction stands.
    pub location: Location,
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Stray { bytes, access, farthest } => write!(
                f,
                "a {access} of {bytes} bytes outside of every allocation goes unnoticed on a GPU: {farthest}"
            )?,
            Kind::Mask { mask, lane } => write!(
                f,
                "a .sync operation whose member mask {mask:#010x} leaves out lane {lane}, which executes it, goes unnoticed \
                 on a GPU where the lanes have converged"
            )?,
        }
        match self.times {
            1 => write!(f, "; once")?,
            times => write!(f, "; {times} times")?,
        }
        write!(f, "\n  kernel {}{}", self.kernel, self.location)
    }
}

/// What the threads of a launch have done so far, by operation.
#[derive(Debug, Default)]
pub(crate) struct Misuses(Mutex<BTreeMap<u32, Seen>>);

#[derive(Debug)]
struct Seen {
    kind: Kind,
    times: u64,
    /// How far behind the end of an allocation.
    distance: u64,
}

impl Misuses {
    /// Notes one more of a kind that stands for the farthest at its operation.
    pub(crate) fn note(&self, pc: u32, distance: u64, kind: impl FnOnce() -> Kind) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match seen.get_mut(&pc) {
            Some(seen) => {
                seen.times += 1;
                if distance > seen.distance {
                    (seen.kind, seen.distance) = (kind(), distance);
                }
            }
            None => {
                seen.insert(pc, Seen { kind: kind(), times: 1, distance });
            }
        }
    }

    /// All that was noted in a launch, by operation: what, and how often.
    pub(crate) fn noted(self) -> impl Iterator<Item = (u32, Kind, u64)> {
        let seen = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        seen.into_iter().map(|(pc, Seen { kind, times, .. })| (pc, kind, times))
    }
}
