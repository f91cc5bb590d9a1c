//! Recordings of what others answer, and asking ours the same, where the tests of several crates do so.
//!
//! | module | who answered | who asks |
//! | --- | --- | --- |
//! | [`answers`] | an H200's driver and runtime, to wrong calls | tests of `libcuda` and `libcudart` |
//! | [`fingerprints`] | an H200's approximate functions, for all operands | tests of `numerics`, in samples; `cargo xtask fingerprints` |
//! | [`verdicts`] | ptxas, whether it accepts instructions | tests of `ptx` and `machine`; `cargo xtask verdicts` |
//!
//! The recordings themselves lie with the tests. Each module that needs more than the standard library is a feature, so that the
//! tests of a crate wait for no other crate than they use.

pub mod answers;
#[cfg(feature = "fingerprints")]
pub mod fingerprints;
#[cfg(feature = "verdicts")]
pub mod verdicts;
