//! All symbols of the library, by name and version.

// What the included file calls, it calls by the names of `cuda.h`.
#[allow(unused_imports, clippy::wildcard_imports)]
use crate::sys::*;
#[allow(unused_imports, clippy::wildcard_imports)]
use std::ffi::*;

/// A symbol.
pub(crate) struct Symbol {
    /// What it is looked up as.
    name: &'static str,
    /// The version of CUDA that has it.
    version: i32,
    /// Whether the null stream is the thread's default stream.
    per_thread: bool,
    address: *const (),
}

// SAFETY: the addresses are those of functions.
unsafe impl Sync for Symbol {}

/// All of them.
pub(crate) struct Symbols(&'static [Symbol]);

/// What looking for a symbol finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Address(*const ()),
    /// It came with a later version than the program asks for.
    Later,
    Unknown,
}

impl Symbols {
    /// The newest form of a function that a program for `version` knows; of those with a twin for the per-thread
    /// default stream, the one that is wanted.
    pub(crate) fn find(&self, name: &str, version: i32, per_thread: bool) -> Found {
        let named = || self.0.iter().filter(|symbol| symbol.name == name);
        let newest = |per_thread: bool| {
            named()
                .filter(|symbol| symbol.per_thread == per_thread && symbol.version <= version)
                .max_by_key(|symbol| symbol.version)
        };
        let found = if per_thread { newest(true).or_else(|| newest(false)) } else { newest(false) };
        match found {
            Some(symbol) => Found::Address(symbol.address),
            None if named().next().is_some() => Found::Later,
            None => Found::Unknown,
        }
    }
}

include!(concat!(env!("OUT_DIR"), "/exports.rs"));
