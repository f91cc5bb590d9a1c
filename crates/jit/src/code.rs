//! Machine code in memory: an object file of LLVM's, linked.
//!
//! LLVM could load its objects itself, but only where it is loaded, which takes ten times as long as to link one. A kernel's object
//! is simple: functions and constants that refer to one another, and calls of a few functions of the C library's. Its
//! sections are laid out one behind the other in pages of their own, code first; a stub for each function outside follows the
//! code, since those may be farther away than a call reaches. Pages can be written before they can be executed, never
//! both.

use libloading::os::unix::Library;
use object::elf::{
    R_X86_64_64, R_X86_64_GOTPCREL, R_X86_64_GOTPCRELX, R_X86_64_PC32, R_X86_64_PC64, R_X86_64_PLT32,
    R_X86_64_REX_GOTPCRELX,
};
use object::read::elf::ElfFile64;
use object::{
    Object as _, ObjectSection as _, ObjectSymbol as _, Relocation, RelocationFlags, RelocationTarget,
    SectionIndex, SectionKind,
};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use std::collections::HashMap;
use std::ffi::c_void;

/// Bytes of a page, or of several on some hosts' hardware but none of ours.
const PAGE: usize = 4096;

/// `jmp` to the address that stands eight bytes behind the stub's beginning, and that address.
const STUB: usize = 16;
const JUMP: [u8; 8] = [0xff, 0x25, 0x02, 0, 0, 0, 0xcc, 0xcc];

/// Code that can be called.
#[derive(Debug)]
pub(crate) struct Loaded {
    memory: *mut c_void,
    bytes: usize,
    functions: HashMap<String, usize>,
}

// SAFETY: the memory is never written again, and unmapped when nobody has it any more.
unsafe impl Send for Loaded {}
// SAFETY: as above.
unsafe impl Sync for Loaded {}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: it is our mapping, and code of it runs only while somebody borrows this.
        let _ = unsafe { munmap(self.memory, self.bytes) };
    }
}

type Elf<'a> = ElfFile64<'a>;

/// Where the parts of an object lie, from the beginning of its memory.
struct Layout<'a> {
    elf: Elf<'a>,
    sections: HashMap<SectionIndex, usize>,
    /// Functions outside, and their stubs.
    stubs: HashMap<String, usize>,
    /// Bytes of code with its stubs, and of everything.
    code: usize,
    all: usize,
}

impl Loaded {
    /// Links an object.
    ///
    /// # Errors
    /// What of it is not understood, or not there.
    pub(crate) fn link(object: &[u8]) -> Result<Self, String> {
        let layout = Layout::new(object)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping, wherever the system wants it.
        let memory =
            unsafe { mmap_anonymous(std::ptr::null_mut(), layout.all, protection, MapFlags::PRIVATE) };
        let memory = memory.map_err(|error| format!("no memory for code: {error}"))?;
        let loaded = Self { memory, bytes: layout.all, functions: layout.functions() };
        let image = layout.image(memory as u64)?;
        // SAFETY: the mapping has as many bytes, nobody else has it, and code is executed only after this.
        let done = unsafe {
            std::ptr::copy_nonoverlapping(image.as_ptr(), memory.cast(), image.len());
            let data = memory.byte_add(layout.code);
            mprotect(data, layout.all - layout.code, MprotectFlags::READ)
                .and_then(|()| mprotect(memory, layout.code, MprotectFlags::READ | MprotectFlags::EXEC))
        };
        done.map_err(|error| format!("code must not be executed: {error}"))?;
        Ok(loaded)
    }

    /// The address of a function.
    pub(crate) fn address_of(&self, function: &str) -> Option<usize> {
        self.functions.get(function).map(|offset| self.memory.addr() + offset)
    }
}

impl<'a> Layout<'a> {
    fn new(object: &'a [u8]) -> Result<Self, String> {
        let elf = Elf::parse(object).map_err(|error| error.to_string())?;
        if elf.architecture() != object::Architecture::X86_64 {
            return Err(format!("code for {:?}", elf.architecture()));
        }
        let mut layout = Self { elf, sections: HashMap::new(), stubs: HashMap::new(), code: 0, all: 0 };
        let mut end = layout.place(0, |kind| kind == SectionKind::Text);
        end = end.next_multiple_of(STUB);
        for section in layout.elf.sections().filter(|section| layout.sections.contains_key(&section.index()))
        {
            for (_, relocation) in section.relocations() {
                let RelocationTarget::Symbol(symbol) = relocation.target() else { continue };
                let symbol = layout.elf.symbol_by_index(symbol).map_err(|error| error.to_string())?;
                if symbol.is_undefined() {
                    let name = symbol.name().map_err(|error| error.to_string())?.to_owned();
                    layout.stubs.entry(name).or_insert_with(|| {
                        end += STUB;
                        end - STUB
                    });
                }
            }
        }
        layout.code = end.next_multiple_of(PAGE);
        let constants = |kind| {
            matches!(
                kind,
                SectionKind::ReadOnlyData | SectionKind::ReadOnlyDataWithRel | SectionKind::ReadOnlyString
            )
        };
        layout.all = (layout.place(layout.code, constants) + 1).next_multiple_of(PAGE);
        Ok(layout)
    }

    /// Lays out sections of some kinds from a place on; where they end.
    fn place(&mut self, from: usize, wanted: impl Fn(SectionKind) -> bool) -> usize {
        let mut end = from;
        // Nobody unwinds through compiled code.
        let is_wanted = |name: &str, kind| wanted(kind) && name != ".eh_frame";
        for section in self.elf.sections().filter(|s| is_wanted(s.name().unwrap_or(""), s.kind())) {
            end = end.next_multiple_of((section.align() as usize).clamp(1, PAGE));
            self.sections.insert(section.index(), end);
            end += section.size() as usize;
        }
        end
    }

    fn functions(&self) -> HashMap<String, usize> {
        let place = |symbol: object::read::elf::ElfSymbol64<'_, '_>| {
            let section = self.sections.get(&symbol.section_index()?)?;
            Some((symbol.name().ok()?.to_owned(), section + symbol.address() as usize))
        };
        self.elf.symbols().filter(|symbol| symbol.is_global()).filter_map(place).collect()
    }

    /// The bytes, for memory at an address.
    fn image(&self, base: u64) -> Result<Vec<u8>, String> {
        let mut image = vec![0; self.all];
        for (name, &at) in &self.stubs {
            image[at..][..8].copy_from_slice(&JUMP);
            image[at + 8..][..8].copy_from_slice(&outside(name)?.to_le_bytes());
        }
        for section in self.elf.sections() {
            let Some(&start) = self.sections.get(&section.index()) else { continue };
            let bytes = section.data().map_err(|error| error.to_string())?;
            let room = image.get_mut(start..start + bytes.len()).ok_or("a section without room")?;
            room.copy_from_slice(bytes);
            let end = start + section.size() as usize;
            for (offset, relocation) in section.relocations() {
                let at = usize::try_from(offset).ok().and_then(|offset| start.checked_add(offset));
                let at = at.filter(|&at| at < end).ok_or("a relocation outside of its section")?;
                let (bytes, value) = self.relocated(base, at, &relocation)?;
                let place = image.get_mut(at..at + bytes).ok_or("a relocation at the end")?;
                place.copy_from_slice(&value.to_le_bytes()[..bytes]);
            }
        }
        Ok(image)
    }

    /// What a relocation writes: how many bytes, and which (System V ABI, AMD64 supplement, "Relocation").
    fn relocated(&self, base: u64, at: usize, relocation: &Relocation) -> Result<(usize, u64), String> {
        let RelocationFlags::Elf { r_type } = relocation.flags() else { return Err("not ELF".to_owned()) };
        let RelocationTarget::Symbol(symbol) = relocation.target() else {
            return Err("a relocation without a symbol".to_owned());
        };
        let symbol = self.elf.symbol_by_index(symbol).map_err(|error| error.to_string())?;
        let name = symbol.name().unwrap_or_default();
        let stub = self.stubs.get(name).filter(|_| symbol.is_undefined());
        let inside = symbol.section_index().and_then(|section| self.sections.get(&section));
        let inside = inside.map(|section| (*section as u64).wrapping_add(symbol.address()));
        let (bytes, target, relative) = match r_type {
            R_X86_64_64 => (8, inside, false),
            R_X86_64_PC32 => (4, inside, true),
            R_X86_64_PC64 => (8, inside, true),
            R_X86_64_PLT32 => (4, inside.or(stub.map(|&stub| stub as u64)), true),
            R_X86_64_GOTPCREL | R_X86_64_GOTPCRELX | R_X86_64_REX_GOTPCRELX => {
                (4, stub.map(|&stub| stub as u64 + 8), true)
            }
            _ => (0, None, false),
        };
        let target = target.ok_or_else(|| format!("a relocation of type {r_type} to `{name}`"))?;
        let target = target.wrapping_add_signed(relocation.addend());
        let value = if relative { target.wrapping_sub(at as u64) } else { target.wrapping_add(base) };
        let fits = bytes == 8 || i32::try_from(value as i64).is_ok();
        fits.then_some((bytes, value)).ok_or_else(|| format!("`{name}` is too far away"))
    }
}

/// The address of a function of the C library's, or of another one that the process sees.
fn outside(name: &str) -> Result<u64, String> {
    // SAFETY: the symbol is only looked for; code that LLVM makes calls it with the type that it knows it by.
    let symbol = unsafe { Library::this().get::<unsafe extern "C" fn()>(name.as_bytes()) };
    symbol.map(|symbol| *symbol as usize as u64).map_err(|_| format!("there is no function `{name}`"))
}
