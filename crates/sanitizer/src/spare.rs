//! Lists whose memory the next one takes over: whoever releases or acquires makes a clock, and lets another one go. A thread keeps what it
//! has let go last, so that it is still in the host's caches.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::thread::LocalKey;

/// Lists that wait for the next one, at most, and bytes of each.
const MOST: usize = 64;
const BYTES: usize = 1 << 14;
/// Room is for so many elements or a multiple, so that most lists fit in the place of another one.
const ROOM: usize = 16;

/// What lists are of, each with its own memory.
pub(crate) trait Spared: Sized + 'static {
    fn waiting() -> &'static LocalKey<RefCell<Vec<Vec<Self>>>>;
}

/// See the module.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct List<T: Spared>(Vec<T>);

impl<T: Spared> List<T> {
    /// An empty one with room for some elements.
    pub(crate) fn with_room(count: usize) -> Self {
        let fits = |waiting: &RefCell<Vec<Vec<T>>>| {
            let mut waiting = waiting.try_borrow_mut().ok()?;
            waiting.pop().filter(|list| list.capacity() >= count)
        };
        let spare = T::waiting().try_with(fits).ok().flatten();
        Self(spare.unwrap_or_else(|| Vec::with_capacity(count.next_multiple_of(ROOM))))
    }
}

impl<T: Spared> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Spared + Clone> Clone for List<T> {
    /// Mostly the copy gets one more element, for which there is room.
    fn clone(&self) -> Self {
        if self.0.is_empty() {
            return Self::default();
        }
        let mut copy = Self::with_room(self.0.len() + 2);
        copy.0.extend_from_slice(&self.0);
        copy
    }
}

impl<T: Spared> Drop for List<T> {
    fn drop(&mut self) {
        let bytes = self.0.capacity() * size_of::<T>();
        if bytes == 0 || bytes > BYTES {
            return;
        }
        let mut list = std::mem::take(&mut self.0);
        list.clear();
        // A thread that ends keeps nothing.
        let _ = T::waiting().try_with(|waiting| {
            if let Ok(mut waiting) = waiting.try_borrow_mut()
                && waiting.len() < MOST
            {
                waiting.push(list);
            }
        });
    }
}

impl<T: Spared> Deref for List<T> {
    type Target = Vec<T>;

    #[inline(always)]
    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T: Spared> DerefMut for List<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Spared for u8 {
        fn waiting() -> &'static LocalKey<RefCell<Vec<Vec<Self>>>> {
            thread_local!(static WAITING: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) });
            &WAITING
        }
    }

    #[test]
    fn the_next_list_takes_the_place_of_one_that_is_over() {
        let mut first = List::<u8>::with_room(5);
        first.extend([1, 2, 3]);
        let copy = first.clone();
        assert_eq!((&copy[..], copy.capacity()), (&[1, 2, 3][..], ROOM));
        let place = first.as_ptr();
        drop(first);
        let next = copy.clone();
        assert_eq!((next.as_ptr(), &next), (place, &copy));
        drop(next);
        // One that has too little room is not taken.
        assert!(List::<u8>::with_room(ROOM + 1).capacity() > ROOM);
        assert_eq!(List::<u8>::default().clone().capacity(), 0);
    }
}
