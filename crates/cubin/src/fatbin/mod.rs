//! Fatbins: a header, then entries one behind the other, each of them PTX text or an ELF cubin for one architecture.
//!
//! ```text
//! wrapper      magic 0x466243b1, version, address of the container, and more: what an executable registers
//! container    magic 0xba55ed50, version 1, bytes of this header, bytes of all entries
//! entry        kind, bytes of its header, bytes of its payload, compression, architecture, flags, options; payload
//! ```
//!
//! The layout is not documented; it was learnt from what nvcc 13.0 writes with each of its compression modes. All
//! numbers are little-endian. [`entries`] looks at a container; a [`Container`] owns one and can be changed.

mod container;

pub use container::{Container, Content, Item};

use std::borrow::Cow;
use std::io::Read;

/// The first bytes of a container.
pub const CONTAINER_MAGIC: u32 = 0xba55_ed50;
/// The first bytes of the wrapper that executables register. It is not part of the container: it holds its address.
pub const WRAPPER_MAGIC: u32 = 0x4662_43b1;
/// Bytes from which [`container_size`] tells how long a container is.
pub const CONTAINER_HEADER: usize = 16;
/// Where the address of the container stands in a wrapper.
pub const WRAPPER_ADDRESS: usize = 8;

/// The most bytes that an entry may have when it is unpacked: far more than any real program, little enough to have.
const MOST_UNPACKED: u64 = 1 << 30;
/// Bytes of an entry's header that are read.
const ENTRY_HEADER: usize = 64;
/// Payloads are padded to multiples of this.
const ALIGNMENT: usize = 8;

const PTX: u16 = 1;
const ELF: u16 = 2;
const LTO: u16 = 8;

const FLAG_64_BIT: u64 = 0x1;
const FLAG_LINUX: u64 = 0x10;
const FLAG_LZ4: u64 = 0x2000;
const FLAG_ZSTD: u64 = 0x8000;
const FLAG_ARCH_SPECIFIC: u64 = 0x10_0000;
const FLAG_FAMILY: u64 = 0x20_0000;

/// Why bytes are not a fatbin, or not one that can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Other magic number.
    #[error("F0001: not a fatbin: it starts with {0:#010x}, not with {CONTAINER_MAGIC:#010x}")]
    NotAFatbin(u32),
    /// A version of the container that is not known.
    #[error("F0002: a fatbin of version {0}; only version 1 is known")]
    Version(u16),
    /// Something reaches past the end.
    #[error("F0003: the fatbin is cut off: {what} at byte {at} needs {needs} bytes, {left} are left")]
    CutOff {
        /// What was being read.
        what: &'static str,
        /// Where.
        at: usize,
        /// Bytes that it needs.
        needs: u64,
        /// Bytes that there are.
        left: usize,
    },
    /// A header too small for what every header holds.
    #[error("F0004: the fatbin's {what} at byte {at} is {size} bytes long, too short to be one")]
    Header {
        /// Which header.
        what: &'static str,
        /// Where.
        at: usize,
        /// Its stated size.
        size: u64,
    },
    /// A payload that does not unpack to what its header says.
    #[error("F0005: the payload of the fatbin's entry at byte {at} cannot be unpacked: {why}")]
    Unpack {
        /// Where the entry starts.
        at: usize,
        /// What is wrong with it.
        why: String,
    },
    /// PTX that is not text.
    #[error("F0006: the PTX of the fatbin's entry at byte {at} is not UTF-8")]
    NotText {
        /// Where the entry starts.
        at: usize,
    },
    /// A payload larger than an entry can say.
    #[error("F0008: a payload of {0} bytes; a fatbin's entry holds {most} at most", most = u32::MAX)]
    TooLarge(usize),
}

/// What an entry holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// PTX text.
    Ptx,
    /// An ELF cubin: SASS.
    Elf,
    /// What a linker optimises further (`-dlto`).
    Lto,
    /// Something else, by number.
    Other(u16),
}

impl Kind {
    fn number(self) -> u16 {
        match self {
            Self::Ptx => PTX,
            Self::Elf => ELF,
            Self::Lto => LTO,
            Self::Other(number) => number,
        }
    }
}

/// How a payload is packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// A block of LZ4, without a frame.
    Lz4,
    /// A frame of zstd.
    Zstd,
}

/// For which devices the code of an architecture is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// All from this one on (`sm_90`).
    Base,
    /// All of its family from this one on (`sm_100f`).
    Family,
    /// This one alone (`sm_90a`).
    Specific,
}

/// What code a device runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Compute capability times ten.
    pub sm: u32,
    /// Whether code for this architecture alone runs too.
    pub arch_specific: bool,
}

impl Target {
    fn runs(self, entry: &Entry<'_>) -> bool {
        match entry.reach {
            Reach::Base => entry.sm <= self.sm,
            Reach::Family => entry.sm <= self.sm && entry.sm / 10 == self.sm / 10,
            Reach::Specific => entry.sm == self.sm && self.arch_specific,
        }
    }
}

/// An entry of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// What it holds.
    pub kind: Kind,
    /// Its architecture: compute capability times ten.
    pub sm: u32,
    /// For which devices.
    pub reach: Reach,
    /// The version of PTX or of the cubin: major, minor.
    pub version: (u16, u16),
    /// All flags as they stand.
    pub flags: u64,
    /// The name of the source file, if the compiler kept it.
    pub name: Option<&'a str>,
    /// The options of the compiler, or attributes of `.nv.compat` that stand outside of the cubin too.
    pub options: &'a [u8],
    at: usize,
    unpacked: u64,
    payload: &'a [u8],
}

/// The bytes of a container whose first [`CONTAINER_HEADER`] bytes these are.
pub fn container_size(header: &[u8; CONTAINER_HEADER]) -> Result<u64, Error> {
    let field = |at| u32_at(header, at);
    if field(0) != CONTAINER_MAGIC {
        return Err(Error::NotAFatbin(field(0)));
    }
    let version = u16_at(header, 4);
    if version != 1 {
        return Err(Error::Version(version));
    }
    let size = u16_at(header, 6);
    if usize::from(size) < CONTAINER_HEADER {
        return Err(Error::Header { what: "header", at: 0, size: size.into() });
    }
    Ok(u64::from(size).saturating_add(u64_at(header, 8)))
}

/// The entries of a container, in order. Bytes behind the container are ignored.
pub fn entries(bytes: &[u8]) -> Result<Vec<Entry<'_>>, Error> {
    let Some(header) = bytes.first_chunk::<CONTAINER_HEADER>() else {
        return Err(cut_off("the header", 0, CONTAINER_HEADER as u64, bytes));
    };
    let size = container_size(header)?;
    let Some(bytes) = usize::try_from(size).ok().and_then(|size| bytes.get(..size)) else {
        return Err(cut_off("the container", 0, size, bytes));
    };
    let mut entries = Vec::new();
    let mut at = usize::from(u16_at(header, 6));
    while at < bytes.len() {
        let (entry, next) = entry(bytes, at)?;
        entries.push(entry);
        at = next;
    }
    Ok(entries)
}

/// A container with one entry: PTX text, for an architecture and what it reaches.
///
/// # Panics
/// Never: text that is not packed always fits.
pub fn pack_ptx(text: &str, version: (u16, u16), sm: u32, reach: Reach) -> Vec<u8> {
    let content = Content { kind: Kind::Ptx, sm, reach, version, name: None, compression: Compression::None };
    let item = Item::new(&content, text.as_bytes()).expect("text in memory fits");
    Container::new(vec![item]).to_bytes()
}

/// The PTX that suits a device best: the newest architecture that it runs, and of equal ones the most special.
pub fn best_ptx<'e, 'a>(entries: &'e [Entry<'a>], device: Target) -> Option<&'e Entry<'a>> {
    let runs = entries.iter().filter(|entry| entry.kind == Kind::Ptx && device.runs(entry));
    runs.max_by_key(|entry| (entry.sm, entry.reach as u8))
}

impl Entry<'_> {
    /// How it is packed.
    #[must_use]
    pub fn compression(&self) -> Compression {
        match self.flags {
            flags if flags & FLAG_LZ4 != 0 => Compression::Lz4,
            flags if flags & FLAG_ZSTD != 0 => Compression::Zstd,
            _ => Compression::None,
        }
    }

    /// Bytes of its payload as it stands.
    #[must_use]
    pub fn packed_size(&self) -> usize {
        self.payload.len()
    }

    /// The payload, unpacked.
    pub fn bytes(&self) -> Result<Cow<'_, [u8]>, Error> {
        let wrong = |why: String| Error::Unpack { at: self.at, why };
        let packed = self.flags & (FLAG_LZ4 | FLAG_ZSTD);
        if packed == 0 {
            return Ok(Cow::Borrowed(self.payload));
        }
        if self.unpacked > MOST_UNPACKED {
            return Err(wrong(format!("{} bytes are more than {MOST_UNPACKED}", self.unpacked)));
        }
        let size = self.unpacked as usize;
        let bytes = if packed & FLAG_LZ4 != 0 {
            lz4_flex::block::decompress(self.payload, size).map_err(|error| wrong(error.to_string()))?
        } else {
            let decoder = ruzstd::decoding::StreamingDecoder::new(self.payload)
                .map_err(|error| wrong(error.to_string()))?;
            let mut bytes = Vec::new();
            decoder
                .take(self.unpacked + 1)
                .read_to_end(&mut bytes)
                .map_err(|error| wrong(error.to_string()))?;
            bytes
        };
        match bytes.len() == size {
            true => Ok(Cow::Owned(bytes)),
            false => Err(wrong(format!("{} bytes came out; its header says {size}", bytes.len()))),
        }
    }

    /// The payload as PTX text, without the zeros at its end.
    pub fn text(&self) -> Result<String, Error> {
        let bytes = self.bytes()?;
        let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        let text = std::str::from_utf8(&bytes[..end]).map_err(|_| Error::NotText { at: self.at })?;
        Ok(text.to_owned())
    }
}

/// The entry at `at`, and where the next one stands.
fn entry(bytes: &[u8], at: usize) -> Result<(Entry<'_>, usize), Error> {
    let rest = &bytes[at..];
    if rest.len() < ENTRY_HEADER {
        return Err(cut_off("an entry's header", at, ENTRY_HEADER as u64, rest));
    }
    let header_size = u32_at(rest, 4);
    if (header_size as usize) < ENTRY_HEADER {
        return Err(Error::Header { what: "entry's header", at, size: header_size.into() });
    }
    let padded = u64_at(rest, 8);
    let end = u64::from(header_size).saturating_add(padded);
    let Some(whole) = usize::try_from(end).ok().and_then(|end| rest.get(..end)) else {
        return Err(cut_off("an entry", at, end, rest));
    };
    let (header, mut payload) = whole.split_at(header_size as usize);
    let flags = u64_at(header, 40);
    let packed = u32_at(header, 16) as usize;
    if flags & (FLAG_LZ4 | FLAG_ZSTD) != 0 {
        let Some(exact) = payload.get(..packed) else {
            return Err(cut_off("a packed payload", at, packed as u64, payload));
        };
        payload = exact;
    }
    let (name_at, name_size) = (u32_at(header, 32) as usize, u32_at(header, 36) as usize);
    let name = name_at.checked_add(name_size).and_then(|end| header.get(name_at..end));
    let name = name.filter(|name| !name.is_empty()).and_then(|name| std::str::from_utf8(name).ok());
    let entry = Entry {
        kind: match u16_at(header, 0) {
            PTX => Kind::Ptx,
            ELF => Kind::Elf,
            LTO => Kind::Lto,
            other => Kind::Other(other),
        },
        sm: u32_at(header, 28),
        reach: match flags {
            _ if flags & FLAG_ARCH_SPECIFIC != 0 => Reach::Specific,
            _ if flags & FLAG_FAMILY != 0 => Reach::Family,
            _ => Reach::Base,
        },
        version: (u16_at(header, 26), u16_at(header, 24)),
        flags,
        name: name.map(|name| name.trim_end_matches('\0')),
        options: options(header).unwrap_or_default(),
        at,
        unpacked: u64_at(header, 56),
        payload,
    };
    Ok((entry, at + end as usize))
}

/// The options that an extension of the header tells of: where they stand, and how many bytes they have.
fn options(header: &[u8]) -> Option<&[u8]> {
    let extension = header.get(u32_at(header, 20) as usize..).filter(|_| u32_at(header, 20) != 0)?;
    let [at, size] = *extension.as_chunks::<4>().0.first_chunk::<2>()?;
    header.get(u32::from_le_bytes(at) as usize..)?.get(..u32::from_le_bytes(size) as usize)
}

fn cut_off(what: &'static str, at: usize, needs: u64, bytes: &[u8]) -> Error {
    Error::CutOff { what, at, needs, left: bytes.len() }
}

/// The number at an offset that the caller has checked.
fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
