//! What the examples have in common: the few lines between a CUDA program and the virtual GPU.

pub mod gpu;
