//! Which rounding a modifier says (PTX ISA, "Rounding Modifiers").

use crate::instruction::{AddFloatRnd, CvtFloatRnd, CvtFloatToIntRnd, CvtPackFloatRnd, CvtPackScaleRnd};
use numerics::rounding::Mode;

/// A rounding modifier.
pub trait Rounds {
    /// The rounding.
    fn mode(self) -> Mode;
}

macro_rules! rounds {
    ($($modifiers:ident { $($($name:ident)|+ => $mode:ident),+ })+) => {$(
        impl Rounds for $modifiers {
            fn mode(self) -> Mode {
                match self {
                    $($(Self::$name)|+ => Mode::$mode,)+
                }
            }
        }
    )+};
}
rounds! {
    AddFloatRnd { Rn => NearestEven, Rz => TowardZero, Rm => Down, Rp => Up }
    CvtFloatToIntRnd { Rni => NearestEven, Rzi => TowardZero, Rmi => Down, Rpi => Up }
    CvtPackFloatRnd { Rn => NearestEven, Rz => TowardZero }
    CvtPackScaleRnd { Rz => TowardZero, Rp => Up }
    CvtFloatRnd {
        Rn | Rni => NearestEven, Rna => NearestAway, Rz | Rzi => TowardZero, Rm | Rmi => Down, Rp | Rpi => Up
    }
}

/// Without one it is to nearest even.
impl<R: Rounds> Rounds for Option<R> {
    fn mode(self) -> Mode {
        self.map_or(Mode::NearestEven, R::mode)
    }
}
