//! A fatbin that can be changed: each entry keeps its own bytes, so that changing one leaves all others as they are.
//!
//! Bytes of an entry's header, all of them little-endian:
//!
//! ```text
//!  0 u16 kind               16 u32 packed size, 0 if not packed   32 u32 where the name is     48 u64 a hash, or 0
//!  2 u16 0x0101             20 u32 where the extension is, or 0   36 u32 bytes of the name     56 u64 unpacked size,
//!  4 u32 size of this       24 u16 minor, 26 u16 major version    40 u64 flags                        0 if not packed
//!  8 u64 padded payload     28 u32 architecture
//! ```
//!
//! The extension is two words: where the options are, and how many bytes they have.

use super::{
    ALIGNMENT, CONTAINER_HEADER, CONTAINER_MAGIC, Compression, ENTRY_HEADER, Entry, Error, FLAG_64_BIT,
    FLAG_ARCH_SPECIFIC, FLAG_FAMILY, FLAG_LINUX, FLAG_LZ4, FLAG_ZSTD, Kind, Reach, container_size, cut_off,
    entry, u16_at, u32_at,
};

/// What follows the kind of an entry.
const ENTRY_VERSION: u16 = 0x0101;
/// Bytes of the extension that compilers put behind a header.
const EXTENSION: usize = 8;

/// A container of entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    header: Vec<u8>,
    /// The entries, in order.
    pub items: Vec<Item>,
}

/// An entry with its own bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// A header and a payload, of exactly the sizes that the header states.
    bytes: Vec<u8>,
}

/// What an entry is about, besides its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content<'a> {
    /// What it holds.
    pub kind: Kind,
    /// Its architecture: compute capability times ten.
    pub sm: u32,
    /// For which devices.
    pub reach: Reach,
    /// The version of PTX, or 1 and the ABI of the cubin.
    pub version: (u16, u16),
    /// The name of the source file.
    pub name: Option<&'a str>,
    /// How the payload shall be packed.
    pub compression: Compression,
}

impl Container {
    /// A container of entries.
    #[must_use]
    pub fn new(items: Vec<Item>) -> Self {
        let mut header = CONTAINER_MAGIC.to_le_bytes().to_vec();
        header.extend(1u16.to_le_bytes());
        header.extend((CONTAINER_HEADER as u16).to_le_bytes());
        header.extend([0; 8]);
        Self { header, items }
    }

    /// Takes a container apart; bytes behind it are ignored. [`Container::to_bytes`] gives it back as it was.
    ///
    /// # Errors
    /// As [`super::entries`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let Some(header) = bytes.first_chunk::<CONTAINER_HEADER>() else {
            return Err(cut_off("the header", 0, CONTAINER_HEADER as u64, bytes));
        };
        let size = container_size(header)?;
        let Some(bytes) = usize::try_from(size).ok().and_then(|size| bytes.get(..size)) else {
            return Err(cut_off("the container", 0, size, bytes));
        };
        let mut at = usize::from(u16_at(header, 6));
        let header = bytes[..at].to_vec();
        let mut items = Vec::new();
        while at < bytes.len() {
            let (_, next) = entry(bytes, at)?;
            items.push(Item { bytes: bytes[at..next].to_vec() });
            at = next;
        }
        Ok(Self { header, items })
    }

    /// The bytes of the container.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.header.clone();
        let size: usize = self.items.iter().map(|item| item.bytes.len()).sum();
        bytes[8..16].copy_from_slice(&(size as u64).to_le_bytes());
        bytes.extend(self.items.iter().flat_map(|item| &item.bytes));
        bytes
    }
}

impl Item {
    /// An entry. PTX gets the zero at its end that loaders look for.
    ///
    /// # Errors
    /// If the payload is larger than an entry can say.
    pub fn new(content: &Content<'_>, payload: &[u8]) -> Result<Self, Error> {
        let mut flags = FLAG_64_BIT | FLAG_LINUX;
        flags |= match content.reach {
            Reach::Base => 0,
            Reach::Family => FLAG_FAMILY,
            Reach::Specific => FLAG_ARCH_SPECIFIC,
        };
        let name = content.name.unwrap_or_default();
        // Cubins have an extension only for options, which these have none of.
        let extension = if content.kind == Kind::Ptx { EXTENSION } else { 0 };
        let name_at = if name.is_empty() { 0 } else { ENTRY_HEADER + extension };
        let size = (ENTRY_HEADER + extension + name.len()).next_multiple_of(ALIGNMENT);
        let mut bytes = vec![0; size];
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        put(0, &content.kind.number().to_le_bytes());
        put(2, &ENTRY_VERSION.to_le_bytes());
        put(4, &(size as u32).to_le_bytes());
        put(20, &if extension == 0 { 0 } else { ENTRY_HEADER as u32 }.to_le_bytes());
        put(24, &content.version.1.to_le_bytes());
        put(26, &content.version.0.to_le_bytes());
        put(28, &content.sm.to_le_bytes());
        put(32, &(name_at as u32).to_le_bytes());
        put(36, &(name.len() as u32).to_le_bytes());
        put(40, &flags.to_le_bytes());
        put(ENTRY_HEADER + extension, name.as_bytes());
        let mut item = Self { bytes };
        item.set_payload(payload, content.compression)?;
        Ok(item)
    }

    /// What it is.
    ///
    /// # Panics
    /// Never: its bytes have been an entry since it was made.
    #[must_use]
    pub fn entry(&self) -> Entry<'_> {
        entry(&self.bytes, 0).expect("an item holds an entry").0
    }

    /// Puts another payload into it. The rest of its header stays as it is.
    ///
    /// # Errors
    /// If the payload is larger than an entry can say.
    pub fn set_payload(&mut self, payload: &[u8], compression: Compression) -> Result<(), Error> {
        let is_ptx = u16_at(&self.bytes, 0) == super::PTX;
        let ended: Vec<u8>;
        let payload = match payload.last() {
            last if is_ptx && last != Some(&0) => {
                ended = [payload, b"\0"].concat();
                &ended
            }
            _ => payload,
        };
        let too_large = || Error::TooLarge(payload.len());
        if u32::try_from(payload.len()).is_err() {
            return Err(too_large());
        }
        let (flag, packed) = match compression {
            Compression::None => (0, payload.to_vec()),
            Compression::Lz4 => (FLAG_LZ4, lz4_flex::block::compress(payload)),
            Compression::Zstd => {
                let level = ruzstd::encoding::CompressionLevel::Fastest;
                (FLAG_ZSTD, ruzstd::encoding::compress_to_vec(payload, level))
            }
        };
        let header = u32_at(&self.bytes, 4) as usize;
        let padded = packed.len().next_multiple_of(ALIGNMENT);
        let sizes = match compression {
            Compression::None => (0, 0),
            _ => (u32::try_from(packed.len()).map_err(|_| too_large())?, payload.len() as u64),
        };
        let flags = self.entry_flags() & !(FLAG_LZ4 | FLAG_ZSTD) | flag;
        self.bytes.truncate(header);
        self.bytes[8..16].copy_from_slice(&(padded as u64).to_le_bytes());
        self.bytes[16..20].copy_from_slice(&sizes.0.to_le_bytes());
        self.bytes[40..48].copy_from_slice(&flags.to_le_bytes());
        self.bytes[56..64].copy_from_slice(&sizes.1.to_le_bytes());
        self.bytes.extend(packed);
        self.bytes.resize(header + padded, 0);
        Ok(())
    }

    fn entry_flags(&self) -> u64 {
        super::u64_at(&self.bytes, 40)
    }
}
