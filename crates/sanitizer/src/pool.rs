//! Parts of shadow memory that come and go, by number.

/// See the module.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    all: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { all: Vec::new(), free: Vec::new() }
    }
}

impl<T: Copy + Default> Pool<T> {
    /// The number of one whose value is still to be given.
    pub(crate) fn make(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.all.push(T::default());
            self.all.len() as u32 - 1
        })
    }

    pub(crate) fn release(&mut self, number: u32) {
        self.free.push(number);
    }

    #[inline(always)]
    pub(crate) fn get(&self, number: u32) -> &T {
        &self.all[number as usize]
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, number: u32) -> &mut T {
        &mut self.all[number as usize]
    }

    /// Forgets all of them, but not their memory.
    pub(crate) fn clear(&mut self) {
        self.all.clear();
        self.free.clear();
    }

    /// Bytes of their memory.
    pub(crate) fn bytes(&self) -> usize {
        self.all.capacity() * size_of::<T>()
    }

    #[cfg(test)]
    pub(crate) fn used(&self) -> usize {
        self.all.len() - self.free.len()
    }

    #[cfg(test)]
    pub(crate) fn free(&self) -> usize {
        self.free.len()
    }
}
