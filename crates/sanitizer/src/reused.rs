//! Memory of shadows that are over, for those that begin: a process that checks one launch after the other, each with nothing
//! remembered, need not ask the host for it again and have it zeroed each time.

use crate::global::Global;
use crate::listed::Listed;
use crate::shadow::Extras;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

/// Bytes that wait for the next shadow, at most, of each kind.
const MOST: usize = 64 << 20;

/// What has much memory.
pub(crate) trait Reusable: Default + 'static {
    /// Makes it as one that has just been made, but for its memory.
    fn clear(&mut self);
    /// How much that is, about.
    fn bytes(&self) -> usize;
    /// Where some wait.
    fn waiting() -> &'static Mutex<Vec<Self>>;
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Reused<T: Reusable>(T);

impl<T: Reusable> Default for Reused<T> {
    fn default() -> Self {
        Self(T::waiting().lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default())
    }
}

impl<T: Reusable> Drop for Reused<T> {
    fn drop(&mut self) {
        let bytes = self.0.bytes();
        if bytes <= MOST {
            self.0.clear();
            let left = std::mem::take(&mut self.0);
            let mut waiting = T::waiting().lock().unwrap_or_else(PoisonError::into_inner);
            let known: usize = waiting.iter().map(Reusable::bytes).sum();
            if known + bytes <= MOST {
                waiting.push(left);
            }
        }
    }
}

impl<T: Reusable> Deref for Reused<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Reusable> DerefMut for Reused<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl Reusable for Global {
    fn clear(&mut self) {
        self.forget_all();
    }

    fn bytes(&self) -> usize {
        self.memory()
    }

    fn waiting() -> &'static Mutex<Vec<Self>> {
        static WAITING: Mutex<Vec<Global>> = Mutex::new(Vec::new());
        &WAITING
    }
}

impl Reusable for Listed {
    fn clear(&mut self) {
        self.forget_all();
    }

    fn bytes(&self) -> usize {
        self.memory()
    }

    fn waiting() -> &'static Mutex<Vec<Self>> {
        static WAITING: Mutex<Vec<Listed>> = Mutex::new(Vec::new());
        &WAITING
    }
}

impl Reusable for Extras {
    fn clear(&mut self) {
        self.forget_all();
    }

    fn bytes(&self) -> usize {
        self.memory()
    }

    fn waiting() -> &'static Mutex<Vec<Self>> {
        static WAITING: Mutex<Vec<Extras>> = Mutex::new(Vec::new());
        &WAITING
    }
}
