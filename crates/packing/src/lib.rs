//! How libraries are compressed that packages bring along: as xz does it, which knows of machine code that calls name their
//! targets by a distance. Two thirds of what deflate makes of them, and `xz --decompress` reads it too.

use lzma_rust2::filter::FilterType;
use lzma_rust2::{XzOptions, XzReader, XzWriter, xz_uncompressed_size};
use std::io::{self, Read, Seek, Write};

/// Compresses what is written to it, until it is finished.
///
/// # Errors
/// The place for it cannot be written.
pub fn packer<W: Write>(to: W) -> io::Result<XzWriter<W>> {
    let mut options = XzOptions::with_preset(9);
    match std::env::consts::ARCH {
        "x86_64" => options.prepend_pre_filter(FilterType::BcjX86, 0),
        "aarch64" => options.prepend_pre_filter(FilterType::BcjArm64, 0),
        _ => {}
    }
    XzWriter::new(to, options)
}

/// Reads what was compressed. What is damaged is an error, at the latest when the end is read.
pub fn unpacker<R: Read>(packed: R) -> XzReader<R> {
    XzReader::new(packed, false)
}

/// How much was compressed, as its end says.
///
/// # Errors
/// It cannot be read, or that end is damaged.
pub fn unpacked_size(packed: impl Read + Seek) -> io::Result<u64> {
    xz_uncompressed_size(packed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(content: &[u8]) -> Vec<u8> {
        let mut packer = packer(Vec::new()).unwrap();
        packer.write_all(content).unwrap();
        packer.finish().unwrap()
    }

    fn unpacked(packed: &[u8]) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        unpacker(packed).read_to_end(&mut content)?;
        Ok(content)
    }

    /// This test's program is machine code that the filter changes.
    #[test]
    fn comes_back() {
        let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let content = &program[..program.len().min(1 << 20)];
        let packed = packed(content);
        assert!(packed.len() < content.len() / 2);
        assert!(unpacked(&packed).unwrap() == content);
        assert_eq!(unpacked_size(io::Cursor::new(packed)).unwrap(), content.len() as u64);
    }

    #[test]
    fn what_is_damaged_is_an_error() {
        let content: Vec<u8> = (0..10_000_u32).flat_map(|number| (number * number).to_le_bytes()).collect();
        let whole = packed(&content);
        for at in (0..whole.len()).step_by(37) {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            assert!(unpacked(&damaged).is_err(), "byte {at}");
            assert!(unpacked(&whole[..at]).is_err(), "{at} bytes");
        }
    }
}
