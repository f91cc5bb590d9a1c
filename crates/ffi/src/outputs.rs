//! What a call has written for the program, which its trace shows behind the arguments: `count=0x7ffd3d4c -> 1`.
//!
//! Functions write through [`crate::pointers!`] alone, so that a note of each value there needs nothing of the functions
//! themselves.

use crate::journal;
use std::cell::RefCell;

thread_local! {
    static WRITTEN: RefCell<Vec<(usize, String)>> = const { RefCell::new(Vec::new()) };
}

/// Notes a value that is being written, if calls are logged.
///
/// # Safety
/// A value of up to eight bytes has no padding, as numbers and pointers have none.
pub unsafe fn note<T>(to: *mut T, value: &T) {
    if !journal::calls_are_logged() {
        return;
    }
    let text = match size_of::<T>() {
        // SAFETY: the value is there for as long as it is borrowed; the rest by contract.
        size @ ..=8 => unsafe {
            let bytes = std::slice::from_raw_parts(std::ptr::from_ref(value).cast::<u8>(), size);
            shown(bytes, std::any::type_name::<T>())
        },
        size => format!("{size} bytes"),
    };
    note_text(to.addr(), text);
}

/// Notes text that is being written, if calls are logged.
pub fn note_text(to: usize, text: String) {
    if journal::calls_are_logged() {
        // When a thread ends there is nobody to tell.
        let _ = WRITTEN.try_with(|written| written.borrow_mut().push((to, text)));
    }
}

/// A value of up to eight bytes for people: numbers as C prints them, handles and addresses in hexadecimal.
fn shown(bytes: &[u8], ty: &str) -> String {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let number = u64::from_le_bytes(wide);
    match ty {
        "f32" => f32::from_bits(number as u32).to_string(),
        "f64" => f64::from_bits(number).to_string(),
        "i32" => (number as i32).to_string(),
        "i64" | "isize" => (number as i64).to_string(),
        // Device addresses are 64-bit numbers to C.
        "u8" | "u16" | "u32" | "usize" => number.to_string(),
        _ => format!("{number:#x}"),
    }
}

/// The notes of one call; calls that it makes have their own.
pub(crate) struct Notes(usize);

impl Notes {
    pub(crate) fn begin() -> Self {
        Self(WRITTEN.try_with(|written| written.borrow().len()).unwrap_or(0))
    }

    /// Ends it: what was written where, the last values.
    pub(crate) fn end(self) -> Written {
        let taken = WRITTEN.try_with(|written| written.borrow_mut().split_off(self.0));
        Written(taken.unwrap_or_default())
    }
}

/// What a call has written, by address.
#[derive(Debug, Default)]
pub struct Written(Vec<(usize, String)>);

impl Written {
    /// What is at the address that an argument was, as it is shown.
    pub fn behind(&self, argument: &str) -> Option<&str> {
        let address = usize::from_str_radix(argument.strip_prefix("0x")?, 16).ok()?;
        self.0.iter().rev().find(|(at, _)| *at == address).map(|(_, text)| text.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_as_c_prints_them() {
        assert_eq!(shown(&(-3i32).to_le_bytes(), "i32"), "-3");
        assert_eq!(shown(&1.5f32.to_le_bytes(), "f32"), "1.5");
        assert_eq!(shown(&0x7f00u64.to_le_bytes(), "u64"), "0x7f00");
        assert_eq!(shown(&7u64.to_le_bytes(), "usize"), "7");
        assert_eq!(shown(&[0x10, 2, 0, 0, 0, 0, 0, 0], "*mut cuda::sys::CUctx_st"), "0x210");
    }

    #[test]
    fn the_last_value_behind_an_address() {
        let written = Written(vec![(0x10, "1".to_owned()), (0x20, "2".to_owned()), (0x10, "3".to_owned())]);
        assert_eq!(written.behind("0x10"), Some("3"));
        assert_eq!(written.behind("0x30"), None);
        assert_eq!(written.behind("16"), None);
    }
}
