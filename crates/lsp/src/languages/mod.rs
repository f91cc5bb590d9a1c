//! The languages: what each knows of a text.

pub(crate) mod cuasm;
pub(crate) mod litmus;
pub(crate) mod ptx;
