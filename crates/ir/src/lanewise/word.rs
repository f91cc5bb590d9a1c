//! What lanes compute with, and the registers that hold it.

use numerics::integer::Int;

/// The type of a lane function's operand or result: an integer of 8 to 64 bits. Floats are their bits.
pub trait Word: Int {
    /// The register that holds it.
    type Register: Register;
    /// The value in a register.
    fn from_register(register: Self::Register) -> Self;
    /// The register with a value. One narrower than the register is extended, as its signedness says.
    fn to_register(self) -> Self::Register;
}

/// A register: the unsigned integer of one of the three widths.
pub trait Register: Word<Register = Self> + Default {
    /// What somebody has for registers of this width.
    fn by_width<W: ByWidth>(of: W::Of<Self>) -> W::Result<Self>;
}

/// Something that there is for each width of registers. By it a crate that holds registers gives them what it needs,
/// whichever of the three a lane function takes.
pub trait ByWidth {
    /// What it is made of.
    type Of<R: Register>;
    /// What it is.
    type Result<R: Register>;
    /// For 16 bits.
    fn of_16(of: Self::Of<u16>) -> Self::Result<u16>;
    /// For 32 bits.
    fn of_32(of: Self::Of<u32>) -> Self::Result<u32>;
    /// For 64 bits.
    fn of_64(of: Self::Of<u64>) -> Self::Result<u64>;
}

macro_rules! words {
    ($($t:ty => $register:ty),*) => {$(
        impl Word for $t {
            type Register = $register;
            #[inline(always)]
            fn from_register(register: $register) -> Self { register as $t }
            #[inline(always)]
            fn to_register(self) -> $register { self as $register }
        }
    )*};
}
// 8-bit values live in the low half of 16-bit registers.
words! { u8 => u16, i8 => u16, u16 => u16, i16 => u16, u32 => u32, i32 => u32, u64 => u64, i64 => u64 }

macro_rules! registers {
    ($($t:ty => $of:ident),*) => {$(
        impl Register for $t {
            #[inline(always)]
            fn by_width<W: ByWidth>(of: W::Of<Self>) -> W::Result<Self> { W::$of(of) }
        }
    )*};
}
registers! { u16 => of_16, u32 => of_32, u64 => of_64 }
