//! What is told of what was found out: diagnostics, faults, statistics, the findings of the checks.
//!
//! | module | what it tells, and how |
//! | --- | --- |
//! | [`diagnostics`] | diagnostics with source lines, and as JSON |
//! | [`fault`] | what stopped a kernel, or keeps it from running: with source lines, and as JSON |
//! | [`statistics`] | the counters of a launch as JSON |
//! | [`litmus`] | what the memory model says about a test, as text, as JSON, as a picture |
//! | [`columns`] | texts side by side whose lines belong together, as a page |
//! | [`findings`] | what the checks have found as JUnit XML and as a page of HTML |
//!
//! The command and the Python module say the same for being made of the same. Nothing here prints or writes files; source files
//! that a fault or a finding names are read, if they are there.

pub mod columns;
pub mod diagnostics;
pub mod fault;
pub mod findings;
pub mod litmus;
pub mod statistics;
