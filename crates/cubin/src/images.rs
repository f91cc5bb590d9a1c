//! What a file with device code is: a cubin, a fatbin, or an object, program, library or archive with fatbins.

use crate::fatbin::CONTAINER_MAGIC;
use crate::object;

/// The bytes that an ELF file begins with.
const ELF: &[u8] = b"\x7fELF";

/// Where the machine stands in an ELF file: [`crate::elf::EM_CUDA`] makes it a cubin.
const MACHINE: std::ops::Range<usize> = 18..20;

/// A fatbin, and where it was.
#[derive(Clone, Debug)]
pub struct Found<'b> {
    /// The archive's member; empty if there is none.
    pub member: String,
    /// The fatbin.
    pub bytes: &'b [u8],
}

/// The fatbins in bytes: one, or those of an object, a program, a library or an archive.
///
/// # Errors
/// The bytes are none of these, or damaged.
pub fn fatbins<'b>(bytes: &'b [u8]) -> Result<Vec<Found<'b>>, object::Error> {
    if bytes.starts_with(&CONTAINER_MAGIC.to_le_bytes()) {
        return Ok(vec![Found { member: String::new(), bytes }]);
    }
    let found = |member: object::Member<'b>| {
        let object::Member { name, fatbins, .. } = member;
        fatbins.into_iter().map(move |bytes| Found { member: name.clone(), bytes })
    };
    Ok(object::members(bytes)?.into_iter().flat_map(found).collect())
}

/// Whether bytes are a cubin.
pub fn is_cubin(bytes: &[u8]) -> bool {
    bytes.starts_with(ELF) && bytes.get(MACHINE) == Some(&crate::elf::EM_CUDA.to_le_bytes())
}
