//! Values in terms of thread numbers: `u + x * %tid.x + y * %tid.y + z * %tid.z`, modulo the value's width, where `u` is the
//! same for a group of threads. Unlike strides in lanes this says the same whatever the dimensions of a CTA are.

use super::Group;
use super::value::sign_extend;

/// What is known of a value in terms of thread numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Threads {
    /// The factors of the components of `%tid`.
    pub(super) steps: [i64; 3],
    /// The threads for which the rest is the same.
    pub(super) of: Group,
    /// Whether it surely holds. If not, it does unless a number of fewer bits wrapped before it was extended.
    pub(super) exact: bool,
}

impl Threads {
    /// The same value for a group of threads.
    pub(super) fn uniform(of: Group) -> Self {
        Self { steps: [0; 3], of, exact: true }
    }

    /// A component of `%tid`.
    pub(super) fn axis(axis: usize) -> Self {
        let mut steps = [0; 3];
        steps[axis] = 1;
        Self { steps, of: Group::Grid, exact: true }
    }

    /// Whether it says that the value is the same in its group.
    pub(super) fn is_uniform(&self) -> bool {
        self.steps == [0; 3] && self.exact
    }

    /// `a op b` for a linear operation.
    pub(super) fn linear(a: Self, b: Self, width: u32, op: fn(u64, u64) -> u64) -> Option<Self> {
        let step = |axis: usize| sign_extend(op(a.steps[axis] as u64, b.steps[axis] as u64), width);
        Self { steps: [step(0), step(1), step(2)], of: a.of.min(b.of), exact: a.exact && b.exact }.checked()
    }

    /// The product with a constant.
    pub(super) fn scale(self, factor: u64, width: u32) -> Option<Self> {
        let steps = self.steps.map(|step| sign_extend((step as u64).wrapping_mul(factor), width));
        Self { steps, ..self }.checked()
    }

    /// The low bits.
    pub(super) fn truncate(self, width: u32) -> Option<Self> {
        Self { steps: self.steps.map(|step| sign_extend(step as u64, width)), ..self }.checked()
    }

    /// The extension of a value of `from` bits; `stays_low` if its highest bit is never set, so that neighbours cannot lie
    /// on both sides of a wrap.
    pub(super) fn extend(self, from: u32, stays_low: bool) -> Self {
        let half = 1_u64 << (from.clamp(1, 64) - 1);
        let steps_fit = self.steps.iter().all(|step| step.unsigned_abs() <= half);
        let exact = self.exact && (self.steps == [0; 3] || (stays_low && steps_fit));
        Self { exact, ..self }
    }

    /// What holds of either of two values, if threads of a group choose alike.
    pub(super) fn join(a: Self, b: Self, choose_alike: Group) -> Option<Self> {
        let of = a.of.min(b.of).min(choose_alike);
        (a.steps == b.steps).then_some(Self { steps: a.steps, of, exact: a.exact && b.exact })
    }

    /// Steps that have cancelled out might have done so on either side of a wrap.
    fn checked(self) -> Option<Self> {
        (self.exact || self.steps != [0; 3]).then_some(self)
    }
}
