//! Registers as the interpreter holds them.
//!
//! A register of a warp is a *plane*: 32 lanes side by side, so that an instruction is a loop over lanes that the host
//! compiler vectorises. Warps run in *packs* of up to [`MAX_WARPS`] that share one dispatch; the planes of one register
//! for all warps of a pack lie together. A value that is the same for every thread whatever the schedule (constants,
//! kernel parameters, `%ctaid`, and what is computed from them alone) is held once, in the scalar file.
//!
//! Registers live in one file for each width: 16, 32 and 64 bits as planes, predicates as one mask of 32 bits a warp.
//! 8-bit registers use the 16-bit file, 128-bit registers a pair of 64-bit ones.

mod place;
pub mod simd;

pub use place::{Condition, Operand, PlaneId, PredicateId, ScalarId, Source};

use ir::lanewise::{ByWidth, Int, Register, Word};
use simd::Simd;
use std::cell::Cell;
use std::marker::PhantomData;

/// Threads in a warp.
pub const LANES: usize = 32;

/// The most warps that one dispatch serves.
pub const MAX_WARPS: usize = 8;

/// One bit a lane, one word a warp of a pack.
pub type Mask = [u32; MAX_WARPS];

/// No lane.
pub const EMPTY: Mask = [0; MAX_WARPS];

/// 32 lanes of one register of one warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Plane<T>(pub [T; LANES]);

/// The registers of one frame of one pack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// 16-bit planes: register-major, then warp.
    pub h: Vec<Plane<u16>>,
    /// 32-bit planes.
    pub w: Vec<Plane<u32>>,
    /// 64-bit planes.
    pub d: Vec<Plane<u64>>,
    /// Predicates.
    pub p: Vec<u32>,
    /// Values that no schedule can make differ between threads.
    pub s: Vec<u64>,
}

/// How many of each a frame needs, counted in registers (not planes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileSizes {
    /// 16-bit registers.
    pub h: u32,
    /// 32-bit registers.
    pub w: u32,
    /// 64-bit registers.
    pub d: u32,
    /// Predicates.
    pub p: u32,
}

impl Files {
    /// Zeroed registers for `warps` warps.
    pub fn new(sizes: FileSizes, warps: usize, scalars: usize) -> Self {
        Self {
            h: vec![Plane([0; LANES]); sizes.h as usize * warps],
            w: vec![Plane([0; LANES]); sizes.w as usize * warps],
            d: vec![Plane([0; LANES]); sizes.d as usize * warps],
            p: vec![0; sizes.p as usize * warps],
            s: vec![0; scalars],
        }
    }

    /// Makes them fit for other threads, which write all planes before they read them but the `exposed` ones: these
    /// become zero, as all predicates do. Scalars start as given.
    pub fn begin(&mut self, exposed: &[PlaneId], warps: usize, scalars: &[u64]) {
        fn zero<T: Lane>(files: &mut Files, index: usize, warps: usize) {
            T::planes_mut(files)[index..][..warps].fill(Plane([T::default(); LANES]));
        }
        for planes in exposed {
            match planes.bits() {
                16 => zero::<u16>(self, planes.index(), warps),
                32 => zero::<u32>(self, planes.index(), warps),
                _ => zero::<u64>(self, planes.index(), warps),
            }
        }
        self.p.fill(0);
        self.s.copy_from_slice(scalars);
    }
}

/// The registers of a frame while an operation runs: in cells, for it reads planes of a file while it writes others, or
/// the same ones.
///
/// A register's planes are cut out of their file once, before the loop over warps, which is then free of bounds checks.
#[derive(Clone, Copy)]
pub struct Cells<'f> {
    h: &'f [Cell<Plane<u16>>],
    w: &'f [Cell<Plane<u32>>],
    d: &'f [Cell<Plane<u64>>],
    p: &'f [Cell<u32>],
    s: &'f [Cell<u64>],
    warps: usize,
}

impl Files {
    /// These registers in cells, for a pack of so many warps.
    #[inline(always)]
    pub fn cells(&mut self, warps: usize) -> Cells<'_> {
        fn of<T>(file: &mut [T]) -> &[Cell<T>] {
            Cell::from_mut(file).as_slice_of_cells()
        }
        let Self { h, w, d, p, s } = self;
        Cells { h: of(h), w: of(w), d: of(d), p: of(p), s: of(s), warps }
    }
}

impl<'f> Cells<'f> {
    /// The planes of a register, one a warp.
    #[inline(always)]
    pub fn planes<T: Lane>(self, index: usize) -> &'f [Cell<Plane<T>>] {
        &T::file(self)[index..][..self.warps]
    }

    /// A predicate, a mask a warp.
    #[inline(always)]
    pub fn predicate(self, index: usize) -> &'f [Cell<u32>] {
        &self.p[index..][..self.warps]
    }

    /// A scalar.
    #[inline(always)]
    pub fn scalar<T: Lane>(self, index: usize) -> T {
        T::from_scalar(self.s[index].get())
    }
}

/// A lane type: the unsigned integer of one of the plane files.
pub trait Lane: Copy + Default + PartialEq + 'static {
    /// Width.
    const BITS: u32;
    /// The planes of this width.
    fn planes(files: &Files) -> &[Plane<Self>];
    /// The planes of this width.
    fn planes_mut(files: &mut Files) -> &mut [Plane<Self>];
    /// The file of this width.
    fn file(cells: Cells<'_>) -> &[Cell<Plane<Self>>];
    /// The low bits of a scalar.
    fn from_scalar(bits: u64) -> Self;
    /// Zero-extended.
    fn to_scalar(self) -> u64;
    /// All ones if `condition`: the form that [`Lane::bits`] reads.
    fn truth(condition: bool) -> Self;
    /// `new` in the lanes of `mask`, `old` elsewhere.
    fn blend<S: Simd>(mask: u32, new: [Self; LANES], old: [Self; LANES]) -> [Self; LANES];
    /// The mask of the lanes whose top bit is set.
    fn bits<S: Simd>(lanes: [Self; LANES]) -> u32;
}

impl<R: Register> Lane for R {
    const BITS: u32 = <R as Int>::BITS;
    #[inline(always)]
    fn planes(files: &Files) -> &[Plane<Self>] {
        Self::by_width::<Shared<'_>>(files)
    }
    #[inline(always)]
    fn planes_mut(files: &mut Files) -> &mut [Plane<Self>] {
        Self::by_width::<Exclusive<'_>>(files)
    }
    #[inline(always)]
    fn file(cells: Cells<'_>) -> &[Cell<Plane<Self>>] {
        Self::by_width::<Celled<'_>>(cells)
    }
    #[inline(always)]
    fn from_scalar(bits: u64) -> Self {
        Self::from_u64(bits)
    }
    #[inline(always)]
    fn to_scalar(self) -> u64 {
        self.to_u64()
    }
    #[inline(always)]
    fn truth(condition: bool) -> Self {
        if condition { Self::MAX } else { Self::ZERO }
    }
    #[inline(always)]
    fn blend<S: Simd>(mask: u32, new: [Self; LANES], old: [Self; LANES]) -> [Self; LANES] {
        Self::by_width::<Blended<S>>((mask, new, old))
    }
    #[inline(always)]
    fn bits<S: Simd>(lanes: [Self; LANES]) -> u32 {
        Self::by_width::<TopBits<S>>(lanes)
    }
}

/// Says what of a [`Lane`] is another for each width of its register `R`: for 16, 32 and 64 bits.
macro_rules! by_width {
    (impl<$parameter:tt $(: $bound:path)?> $name:ident |$of:pat_param in $from:ty| -> $to:ty { $h:expr, $w:expr, $d:expr }) => {
        impl<$parameter $(: $bound)?> ByWidth for $name<$parameter> {
            type Of<R: Register> = $from;
            type Result<R: Register> = $to;
            #[inline(always)]
            fn of_16($of: Self::Of<u16>) -> Self::Result<u16> {
                $h
            }
            #[inline(always)]
            fn of_32($of: Self::Of<u32>) -> Self::Result<u32> {
                $w
            }
            #[inline(always)]
            fn of_64($of: Self::Of<u64>) -> Self::Result<u64> {
                $d
            }
        }
    };
}

struct Shared<'f>(PhantomData<&'f Files>);
struct Exclusive<'f>(PhantomData<&'f mut Files>);
struct Celled<'f>(PhantomData<Cells<'f>>);
struct Blended<S>(PhantomData<S>);
struct TopBits<S>(PhantomData<S>);

by_width!(impl<'f> Shared |files in &'f Files| -> &'f [Plane<R>] { &files.h, &files.w, &files.d });
by_width!(impl<'f> Exclusive |files in &'f mut Files| -> &'f mut [Plane<R>] {
    &mut files.h, &mut files.w, &mut files.d
});
by_width!(impl<'f> Celled |cells in Cells<'f>| -> &'f [Cell<Plane<R>>] { cells.h, cells.w, cells.d });
by_width!(impl<S: Simd> Blended |(mask, new, old) in (u32, [R; LANES], [R; LANES])| -> [R; LANES] {
    S::blend16(mask, new, old), S::blend32(mask, new, old), S::blend64(mask, new, old)
});
by_width!(impl<S: Simd> TopBits |lanes in [R; LANES]| -> u32 {
    S::bits16(lanes), S::bits32(lanes), S::bits64(lanes)
});

/// The lane that holds a value.
pub(crate) type LaneOf<T> = <T as Word>::Register;
