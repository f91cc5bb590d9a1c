//! How fast words become text: the goal is five million instructions a second on one core.

fn main() {}
