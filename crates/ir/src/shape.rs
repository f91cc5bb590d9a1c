//! Value shapes (being written): how a register's values in the lanes of a warp relate.

use crate::cfg::Cfg;
use ptx::module::{Function, Module, RegId};

/// How the values of a register relate, whenever and in whatever order threads run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// The same for every thread of the CTA, and never changing once defined.
    Invariant,
    /// `value(lane) = value(lane 0) + stride * lane`, modulo the register's width.
    Affine {
        /// The step from one lane to the next.
        stride: i64,
    },
    /// Nothing is known.
    Varying,
}

/// How the threads of a CTA are numbered into lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LaneOrder {
    /// `%tid.x` of lane l is `%tid.x` of lane 0 plus l.
    ConsecutiveX,
    /// Nothing is known.
    Unknown,
}

/// The shape of every register of a function.
#[derive(Clone, Debug)]
pub struct Shapes {
    shapes: Vec<Shape>,
}

impl Shapes {
    /// The shapes in a function of `module` with the graph of its body.
    pub fn new(_module: &Module, function: &Function, _cfg: &Cfg, _lanes: LaneOrder) -> Self {
        let registers = function.body.as_ref().map_or(0, |body| body.registers.len());
        Self { shapes: vec![Shape::Varying; registers] }
    }

    /// The shape of a register.
    pub fn of(&self, register: RegId) -> Shape {
        self.shapes[register.index()]
    }
}
