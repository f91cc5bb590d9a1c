//! Rounding modifiers: `.rn`, `.rz`, `.rm`, `.rp` and `.rna`, as types.
//!
//! A function takes the modifier as a type parameter, so the mode is known where the code is compiled and every
//! `match` on [`Rounding::MODE`] disappears. The integer modifiers (`.rni` and so on) are the same four modes applied
//! at the units place.

/// A direction of rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// `.rn`: to the nearest value, halfway cases to the even one.
    NearestEven,
    /// `.rna`: to the nearest value, halfway cases away from zero.
    NearestAway,
    /// `.rz`: towards zero.
    TowardZero,
    /// `.rm`: towards negative infinity.
    Down,
    /// `.rp`: towards positive infinity.
    Up,
}

/// A rounding modifier, known at compile time.
pub trait Rounding: Copy + 'static {
    /// The direction it stands for.
    const MODE: Mode;
}

macro_rules! modifiers {
    ($($name:ident $mode:ident $doc:literal),+ $(,)?) => {$(
        #[doc = $doc]
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl Rounding for $name {
            const MODE: Mode = Mode::$mode;
        }
    )+};
}
modifiers! {
    Rn NearestEven "`.rn`, `.rni`.",
    Rna NearestAway "`.rna`.",
    Rz TowardZero "`.rz`, `.rzi`.",
    Rm Down "`.rm`, `.rmi`.",
    Rp Up "`.rp`, `.rpi`.",
}

impl Mode {
    /// Whether a truncated magnitude must be stepped up by one unit in the last place, given what was cut off.
    ///
    /// `odd` is the last kept bit; `above` and `half` say how the cut-off part compares with half a unit (greater,
    /// equal), `inexact` whether it is not zero. The operators do not short-circuit, to stay free of branches.
    #[inline(always)]
    pub const fn steps_up(self, negative: bool, odd: bool, above: bool, half: bool, inexact: bool) -> bool {
        match self {
            Mode::NearestEven => above | (half & odd),
            Mode::NearestAway => above | half,
            Mode::TowardZero => false,
            Mode::Down => negative & inexact,
            Mode::Up => !negative & inexact,
        }
    }

    /// Whether a value too large for a format becomes an infinity (else the largest finite value).
    #[inline(always)]
    pub const fn overflows_to_infinity(self, negative: bool) -> bool {
        match self {
            Mode::NearestEven | Mode::NearestAway => true,
            Mode::TowardZero => false,
            Mode::Down => negative,
            Mode::Up => !negative,
        }
    }
}
