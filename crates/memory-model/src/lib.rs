//! The PTX memory consistency model.
#![allow(warnings)] // DRAFT
pub mod answer;
mod barrier;
pub mod checker;
mod consistency;
pub mod dialect;
pub mod draw;
pub mod event;
pub mod explain;
pub mod facts;
pub mod from_ptx;
pub mod generate;
pub mod language;
pub mod layout;
pub mod model;
pub mod mutants;
pub mod plan;
pub mod program;
pub mod relation;
pub mod search;
mod text;
mod unfold;
