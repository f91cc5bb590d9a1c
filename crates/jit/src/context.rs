//! What compiled code and the host tell each other.
//!
//! A structure in memory, read and written by the compiled code at the offsets of its fields. Its pointers are valid
//! while a CTA runs; the code uses them for accesses that it has checked (see [`crate::emit`]), and hands the structure's
//! own address back when it calls the host.

use std::ffi::c_void;

/// See the module.
#[repr(C)]
pub(crate) struct Context {
    /// One for each access in the code.
    pub(crate) windows: *mut Window,
    /// The kernel's parameters.
    pub(crate) params: *const u8,
    /// Where variables in global and constant memory are.
    pub(crate) addresses: *const u64,
    /// The CTA's shared memory.
    pub(crate) shared: *mut u8,
    /// Where the local memory of each row's threads begins, one thread behind the other, and the bytes of each.
    pub(crate) local: *const *mut u8,
    pub(crate) local_bytes: u64,
    /// For each row a byte: not zero if its local memory has been changed.
    pub(crate) local_changed: *mut u8,
    /// Instructions of rows that may still be executed before the host is asked.
    pub(crate) fuel: i64,
    /// Threads that have come to the barrier's reduction with a predicate that holds, and all that have come.
    pub(crate) votes: u32,
    pub(crate) voters: u32,
    /// The same of the whole CTA, once all were there.
    pub(crate) all_votes: u32,
    pub(crate) all_voters: u32,
    pub(crate) ctaid: [u32; 4],
    pub(crate) nctaid: [u32; 4],
    /// [`Call`] and [`Poll`].
    pub(crate) call: Call,
    pub(crate) poll: Poll,
    /// [`crate::special::functions`].
    pub(crate) special: *const crate::special::Function,
    /// [`crate::scattered::FUNCTIONS`].
    pub(crate) scattered: *const crate::scattered::Access,
    /// Zero, which the code is not told.
    pub(crate) zero: u64,
    /// The host's own.
    pub(crate) host: *mut c_void,
}

/// Bytes that the accesses of a site may reach: see [`crate::emit`]. With a limit of 0 there are none.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Window {
    /// The guest's address of the first byte, and what is to be added for the host's.
    pub(crate) first: u64,
    pub(crate) to_host: u64,
    /// Places, counted in steps of the access's alignment, where it may begin.
    pub(crate) limit: u64,
    /// How often it was moved.
    pub(crate) moves: u64,
    /// Where the first row of the last CTA had its access, and how far further a later one will have it: the code's own (`emit/ahead.rs`).
    pub(crate) last: u64,
    pub(crate) ahead: u64,
}

/// Executes an instruction for a row: by the number of its site, of the row, the bits of the lanes that are active,
/// lists with operands and places for results, the address of lane 0 and the last lane before a bend
/// ([`crate::sites::Steps`]). Not zero if the CTA must stop.
pub(crate) type Call = unsafe extern "C" fn(*mut Context, u32, u32, u32, *mut u8, u64, u32) -> i32;

/// Asks whether the CTA may go on, when there is no fuel left. Not zero if not.
pub(crate) type Poll = unsafe extern "C" fn(*mut Context) -> i32;

/// What a row of threads ended with, and so where it goes on. It begins at 0; greater numbers are barriers.
pub(crate) mod end {
    /// The CTA must stop.
    pub(crate) const STOP: i32 = -1;
    /// All threads have exited.
    pub(crate) const DONE: i32 = -2;
    /// Of several rows: not all are at the same place.
    pub(crate) const MIXED: i32 = -3;
}
