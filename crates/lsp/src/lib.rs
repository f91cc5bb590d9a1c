//! A language server for PTX, litmus tests and cuasm, by the Language Server Protocol on a connection that it is given.
//!
//! ```text
//! messages ──server──▶ Document: text, version ──Language::analyse──▶ Analysis: diagnostics, names, colours, ...
//!                          │ edits, in Lines                              ▲
//!                          └──────────── request ──answers────────────────┘
//! ```
//!
//! A text is edited as the client says, and looked at as a whole when it has rested for a moment, on a thread of its own.
//! A request is answered from the analysis of the text that the client saw when it asked: it waits for that. What a language
//! knows stands behind one trait, [`analysis::Analysis`], and speaks of bytes; positions are turned at the border, in
//! [`lines`].

pub mod analysis;
mod answers;
pub mod config;
pub mod index;
mod languages;
pub mod lines;
mod server;
mod snapshot;

pub use server::{capabilities, serve};
