//! The program's memory, which only a C library can reach.

use machine::memory::HostRange;

/// The program's memory.
///
/// The program promises that the ranges which it gives to CUDA's functions are its own; an implementation may rely on
/// that and on nothing else. Memory of devices has addresses of the program, too, and can be read here.
pub trait HostMemory: Send + Sync {
    /// Shows bytes of the program.
    fn read(&self, address: u64, bytes: usize, visit: &mut dyn FnMut(&[u8]));
    /// Lets bytes of the program be changed.
    fn write(&self, address: u64, bytes: usize, visit: &mut dyn FnMut(&mut [u8]));
    /// Bytes of the program that kernels may use from now on, until the program says otherwise; `None` if they cannot
    /// all be read and written.
    fn share(&self, address: u64, bytes: u64) -> Option<HostRange>;
}
