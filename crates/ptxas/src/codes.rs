//! Codes of what is refused.

/// An instruction that is not compiled.
pub const INSTRUCTION: &str = "S0001";
/// A declaration that is not compiled.
pub const DECLARATION: &str = "S0002";
/// More than a kernel can have: registers, predicates, memory.
pub const RESOURCES: &str = "S0003";
/// The assembler refused what was selected: a mistake of this compiler.
pub const INTERNAL: &str = "S0004";
/// A target that no code is made for.
pub const TARGET: &str = "S0005";
