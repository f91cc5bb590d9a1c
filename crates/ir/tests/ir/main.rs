//! The analyses on functions compiled from text.

mod cfg;
mod compile;
mod compilers;
mod corpus;
mod files;
mod inline;
mod instructions;
mod liveness;
mod pointers;
mod shape_expressions;
mod shape_paths;
mod shapes;
mod ssa;
