//! What a program passes to a function and wants from it, by pointers.
//!
//! [`define!`](crate::define) makes an [`In`] of each argument that a signature calls `*const`, and an [`Out`] of each that it calls
//! `*mut`; where it says how many there are, `#[elements(count)]`, an [`Array`] and a [`Room`]. Handles are pointers to C as well, but have names of their own there, and stay as they are. To make one is the one thing
//! that trusts the program; from then on a function reads and writes what it has been given by safe code. What a signature does not say
//! stays `unsafe`, at the place where a function knows more: what a `void *` points to, pointers inside of structures.

use crate::outputs;
use std::ffi::{CStr, c_char, c_void};

/// Something of the program's that is read: null, or a `T` that is there until the function returns.
pub struct In<T>(*const T);

/// Where the program wants something: null, or room for a `T` that is there until the function returns. Some functions read what
/// the program has put there.
pub struct Out<T>(*mut T);

/// Several things of the program's, or bytes: null, or as many elements as another argument says.
pub struct Array<T> {
    start: *const T,
    count: usize,
}

/// Where the program wants several things, or text: null, or room for as many elements as another argument says.
pub struct Room<T> {
    start: *mut T,
    count: usize,
}

impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for In<T> {}

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<T> {}

impl<T> Clone for Array<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Array<T> {}

impl<T> Clone for Room<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Room<T> {}

/// A number of elements, in whichever type a function has it.
pub trait Count {
    /// The number.
    fn count(self) -> usize;
}

impl Count for usize {
    fn count(self) -> usize {
        self
    }
}

impl Count for u32 {
    fn count(self) -> usize {
        self as usize
    }
}

/// A negative number is of nothing.
impl Count for i32 {
    fn count(self) -> usize {
        usize::try_from(self).unwrap_or(0)
    }
}

/// Where a program says how much room there is, and is told how much there would be to write.
impl Count for Out<usize> {
    fn count(self) -> usize {
        self.input().read().unwrap_or(0)
    }
}

impl<T> In<T> {
    /// What a program has given.
    ///
    /// # Safety
    /// The pointer is null, or a `T` can be read there until the function returns that it was given to; C's `char` stands for text
    /// with a zero at its end, and `void` for nothing that can be read without more knowledge.
    pub const unsafe fn new(pointer: *const T) -> Self {
        Self(pointer)
    }

    /// Nothing.
    pub const fn none() -> Self {
        Self(std::ptr::null())
    }

    /// Whether it is nothing.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The pointer itself, for functions that take one.
    pub fn raw(self) -> *const T {
        self.0
    }

    /// Its address, as a number only.
    pub fn addr(self) -> usize {
        self.0.addr()
    }

    /// Its address, which is a pointer again elsewhere.
    pub fn expose(self) -> u64 {
        self.0.expose_provenance() as u64
    }

    /// What is there, if it is something.
    pub fn read(self) -> Option<T>
    where
        T: Copy,
    {
        // SAFETY: by contract of the constructor. C programs may pass a pointer that is not aligned.
        (!self.0.is_null()).then(|| unsafe { self.0.read_unaligned() })
    }

    /// As something else.
    ///
    /// # Safety
    /// As [`In::new`].
    pub const unsafe fn cast<U>(self) -> In<U> {
        In(self.0.cast())
    }
}

impl In<c_char> {
    /// The text.
    pub fn text<'a>(self) -> Option<&'a CStr> {
        // SAFETY: by contract of the constructor.
        (!self.0.is_null()).then(|| unsafe { CStr::from_ptr(self.0) })
    }
}

impl<T> Out<T> {
    /// Where a program wants something.
    ///
    /// # Safety
    /// The pointer is null, or a `T` can be written there, and be read if the function reads it, until the function returns that it was
    /// given to.
    pub const unsafe fn new(pointer: *mut T) -> Self {
        Self(pointer)
    }

    /// Nothing.
    pub const fn none() -> Self {
        Self(std::ptr::null_mut())
    }

    /// Whether it is nothing.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The pointer itself, for functions that take one.
    pub fn raw(self) -> *mut T {
        self.0
    }

    /// Its address, as a number only.
    pub fn addr(self) -> usize {
        self.0.addr()
    }

    /// Its address, which is a pointer again elsewhere.
    pub fn expose(self) -> u64 {
        self.0.expose_provenance() as u64
    }

    /// What the program has put there.
    pub fn input(self) -> In<T> {
        In(self.0)
    }

    /// Writes a result; whether the program wants it.
    pub fn write(self, value: T) -> bool {
        if self.0.is_null() {
            return false;
        }
        // SAFETY: by contract of the constructor, and what C gets is plain data. C programs may pass a pointer that is not aligned.
        unsafe {
            outputs::note(self.0, &value);
            self.0.write_unaligned(value);
        }
        true
    }

    /// As something else.
    ///
    /// # Safety
    /// As [`Out::new`].
    pub const unsafe fn cast<U>(self) -> Out<U> {
        Out(self.0.cast())
    }
}

impl<T> Array<T> {
    /// What a program has given.
    ///
    /// # Safety
    /// The pointer is null, or `count` elements can be read there until the function returns that it was given to; of `void` as many
    /// bytes.
    pub const unsafe fn new(start: *const T, count: usize) -> Self {
        Self { start, count }
    }

    /// No array.
    pub const fn none() -> Self {
        Self { start: std::ptr::null(), count: 0 }
    }

    /// Whether it is nothing, whatever its count says.
    pub fn is_null(self) -> bool {
        self.start.is_null()
    }

    /// How many elements the program says that there are.
    pub fn count(self) -> usize {
        self.count
    }

    /// The start itself, for functions that take one.
    pub fn raw(self) -> *const T {
        self.start
    }

    /// An element, if it is there.
    pub fn get(self, index: usize) -> Option<T>
    where
        T: Copy,
    {
        // SAFETY: by contract of the constructor. C programs may pass a pointer that is not aligned.
        (!self.start.is_null() && index < self.count)
            .then(|| unsafe { self.start.add(index).read_unaligned() })
    }
}

impl Array<c_void> {
    /// The bytes that are there.
    pub fn bytes<'a>(self) -> Option<&'a [u8]> {
        match self.start.is_null() {
            _ if self.count == 0 => Some(&[]),
            true => None,
            // SAFETY: by contract of the constructor.
            false => Some(unsafe { std::slice::from_raw_parts(self.start.cast(), self.count) }),
        }
    }
}

impl<T> Room<T> {
    /// Where a program wants several things.
    ///
    /// # Safety
    /// The pointer is null, or `count` elements can be written there, and be read if the function reads them, until the function returns
    /// that it was given to.
    pub const unsafe fn new(start: *mut T, count: usize) -> Self {
        Self { start, count }
    }

    /// No room.
    pub const fn none() -> Self {
        Self { start: std::ptr::null_mut(), count: 0 }
    }

    /// Whether it is nothing, whatever its count says.
    pub fn is_null(self) -> bool {
        self.start.is_null()
    }

    /// For how many elements the program says that there is room.
    pub fn count(self) -> usize {
        self.count
    }

    /// The start itself, for functions that take one.
    pub fn raw(self) -> *mut T {
        self.start
    }

    /// What the program has put there.
    pub fn input(self) -> Array<T> {
        Array { start: self.start, count: self.count }
    }

    /// The place of an element; nothing if there is none.
    pub fn at(self, index: usize) -> Out<T> {
        let there = !self.start.is_null() && index < self.count;
        // SAFETY: by contract of the constructor.
        Out(if there { unsafe { self.start.add(index) } } else { std::ptr::null_mut() })
    }
}

impl Room<c_void> {
    /// The same room for values of a type: as many as fit.
    pub fn of<T>(self) -> Room<T> {
        Room { start: self.start.cast(), count: self.count / size_of::<T>() }
    }
}

impl Room<c_char> {
    /// Writes text, cut to fit, with a zero at its end; whether there is room for anything.
    pub fn write_text(self, text: &str) -> bool {
        if self.start.is_null() || self.count == 0 {
            return false;
        }
        let shown = text.len().min(self.count - 1);
        // SAFETY: by contract of the constructor; the text is shorter than the buffer.
        unsafe {
            self.start.copy_from_nonoverlapping(text.as_ptr().cast(), shown);
            self.start.add(shown).write(0);
        }
        let text = String::from_utf8_lossy(&text.as_bytes()[..shown]);
        outputs::note_text(self.start.addr(), format!("{text:?}"));
        true
    }
}

/// What can be read through: [`In`], and an [`Out`] that the program has filled.
pub trait Given<T> {
    /// What is there.
    fn given(self) -> In<T>;
}

impl<T> Given<T> for In<T> {
    fn given(self) -> In<T> {
        self
    }
}

impl<T> Given<T> for Out<T> {
    fn given(self) -> In<T> {
        self.input()
    }
}

/// The functions by which a library reads and writes; `$invalid` is the error that a null pointer is.
#[macro_export]
macro_rules! pointers {
    ($error:ty, $invalid:expr) => {
        use $crate::pointers::Given;
        #[allow(unused_imports)]
        pub(crate) use $crate::pointers::{Array, In, Out, Room};

        /// Writes a result.
        #[allow(dead_code)]
        pub(crate) fn put<T>(out: Out<T>, value: T) -> Result<(), $error> {
            if out.write(value) { Ok(()) } else { Err($invalid) }
        }

        /// Writes a result that the program may not want.
        #[allow(dead_code)]
        pub(crate) fn put_if<T>(out: Out<T>, value: T) {
            out.write(value);
        }

        /// Reads a value.
        #[allow(dead_code)]
        pub(crate) fn get<T: Copy>(given: impl Given<T>) -> Result<T, $error> {
            given.given().read().ok_or($invalid)
        }

        /// An element of an array.
        #[allow(dead_code)]
        pub(crate) fn element<T: Copy>(array: Array<T>, index: usize) -> Result<T, $error> {
            array.get(index).ok_or($invalid)
        }

        /// The bytes behind a pointer.
        #[allow(dead_code)]
        pub(crate) fn bytes<'a>(given: Array<std::ffi::c_void>) -> Result<&'a [u8], $error> {
            given.bytes().ok_or($invalid)
        }

        /// A name.
        #[allow(dead_code)]
        pub(crate) fn text<'a>(given: In<std::ffi::c_char>) -> Result<&'a str, $error> {
            given.text().and_then(|text| text.to_str().ok()).ok_or($invalid)
        }

        /// Writes text into a buffer, cut to fit, with a zero at its end.
        #[allow(dead_code)]
        pub(crate) fn put_text(buffer: Room<std::ffi::c_char>, text: &str) -> Result<(), $error> {
            if buffer.write_text(text) { Ok(()) } else { Err($invalid) }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_nothing() {
        assert_eq!(In::<u32>::none().read(), None);
        assert!(!Out::<u32>::none().write(1));
        assert_eq!(Array::<u32>::none().get(0), None);
        assert!(Room::<u32>::none().at(0).is_null());
        // SAFETY: null is.
        let (array, room) =
            unsafe { (Array::<u32>::new(std::ptr::null(), 5), Room::<c_char>::new(std::ptr::null_mut(), 5)) };
        assert_eq!((array.get(0), array.count(), room.write_text("text")), (None, 5, false));
    }

    #[test]
    fn arrays_end_where_they_are_said_to() {
        let mut values = [1u32, 2, 3];
        // SAFETY: two of three elements, which are there.
        let room = unsafe { Room::new(values.as_mut_ptr(), 2) };
        assert!(room.at(1).write(7) && !room.at(2).write(9));
        assert_eq!((room.input().get(1), room.input().get(2)), (Some(7), None));
        assert_eq!(values, [1, 7, 3]);
    }

    #[test]
    fn values_need_no_alignment() {
        let mut bytes = [0u8; 9];
        // SAFETY: eight bytes from the second on.
        let out = unsafe { Out::new(bytes.as_mut_ptr().wrapping_add(1).cast::<u64>()) };
        assert!(out.write(0x0102_0304_0506_0708));
        assert_eq!(out.input().read(), Some(0x0102_0304_0506_0708));
        assert_eq!(bytes[0], 0);
    }

    #[test]
    fn text_is_cut_to_fit() {
        let mut buffer = [b'x' as c_char; 6];
        // SAFETY: a byte less than there is.
        assert!(unsafe { Room::new(buffer.as_mut_ptr(), 5) }.write_text("warploom"));
        assert_eq!(buffer.map(|c| c as u8), *b"warp\0x");
    }

    #[test]
    fn bytes_are_room_for_as_many_values_as_fit() {
        let mut bytes = [0u8; 11];
        // SAFETY: all of it.
        let room = unsafe { Room::<c_void>::new(bytes.as_mut_ptr().cast(), bytes.len()) };
        assert_eq!(room.of::<u32>().count(), 2);
    }
}
