//! The PTX memory consistency model.
#![allow(warnings)] // DRAFT
pub mod answer;
mod barrier;
pub mod checker;
mod consistency;
pub mod dialect;
pub mod event;
pub mod facts;
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
