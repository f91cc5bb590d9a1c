//! What a cubin holds, for a launch.

use crate::decode::WORD;
use cubin::elf::{Elf, Error};
use cubin::info::{self, Parameter, Payload};
use sass::device::Device;
use std::collections::BTreeMap;

/// Why a cubin is not taken.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// No cubin that can be read.
    #[error(transparent)]
    Damaged(#[from] Error),
    /// Attributes that cannot be read.
    #[error(transparent)]
    Attributes(#[from] info::Error),
    /// Made by another tool.
    #[error("`{0}` made this cubin: only code of one's own is executed")]
    Foreign(String),
    /// For an architecture that is not executed.
    #[error("the code is for sm_{0}, which is not executed")]
    Architecture(u32),
    /// A relocation that nothing here carries out.
    #[error("relocation {0} is not carried out")]
    Relocation(u32),
    /// Parameters of this kernel overlap.
    #[error("the parameters of `{0}` overlap")]
    Parameters(String),
    /// There is not enough memory for its variables.
    #[error("no memory for the variable `{0}`")]
    Memory(String),
    /// Neither a variable of the cubin nor a function that is provided.
    #[error("`{0}` is not defined")]
    Symbol(String),
}

/// A variable in global memory.
#[derive(Debug)]
pub(crate) struct Variable {
    pub(crate) size: u64,
    pub(crate) initial: Vec<u8>,
}

/// Where an address goes: half of it, into the second word of an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Half {
    Low,
    High,
}

/// A place in a kernel's code that names a variable, or a function of the system.
#[derive(Debug)]
pub(crate) struct Reference {
    pub(crate) at: usize,
    pub(crate) half: Half,
    pub(crate) symbol: String,
    pub(crate) addend: u64,
}

/// A kernel's code and what it takes.
#[derive(Debug)]
pub(crate) struct Image {
    pub(crate) code: Vec<u8>,
    pub(crate) references: Vec<Reference>,
    /// Bytes of shared memory with the system's KiB.
    pub(crate) shared: u64,
    /// In order.
    pub(crate) parameters: Vec<Parameter>,
}

/// A cubin that has been read.
#[derive(Debug)]
pub struct Program {
    pub(crate) device: &'static Device,
    pub(crate) kernels: BTreeMap<String, Image>,
    pub(crate) variables: BTreeMap<String, Variable>,
    /// Constant bank 3.
    pub(crate) constants: Vec<u8>,
}

/// `R_CUDA_ABS32_LO_32` and `R_CUDA_ABS32_HI_32`: bits 32 to 63 of an instruction.
const LOW: u32 = 0x38;
const HIGH: u32 = 0x39;

/// What our assembler calls itself in its note.
const TOOL: &str = "warploom";

/// The tool that wrote it, as its note says.
fn tool(elf: &Elf) -> Option<String> {
    let notes = cubin::read::notes(elf).ok()?;
    Some(notes.iter().find_map(cubin::read::Note::tool)?.tool)
}

/// The parameters that a kernel's attributes tell.
fn parameters_of(kernel: &str, attributes: &[u8]) -> Result<Vec<Parameter>, Refused> {
    let mut parameters: Vec<_> = info::decode(attributes)?
        .iter()
        .filter_map(|attribute| match attribute.payload() {
            Payload::Parameter(parameter) => Some(parameter),
            _ => None,
        })
        .collect();
    parameters.sort_by_key(|parameter| parameter.ordinal);
    let end = |parameter: &Parameter| u32::from(parameter.offset) + u32::from(parameter.size);
    match parameters.windows(2).all(|pair| end(&pair[0]) <= u32::from(pair[1].offset)) {
        true => Ok(parameters),
        false => Err(Refused::Parameters(kernel.to_owned())),
    }
}

impl Program {
    /// Reads a cubin of our assembler, or, where the code is the caller's `own`, of any.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(bytes: &[u8], own: bool) -> Result<Self, Refused> {
        let elf = Elf::parse(bytes)?;
        let maker = tool(&elf).unwrap_or_default();
        if !own && maker != TOOL {
            return Err(Refused::Foreign(maker));
        }
        let sm = cubin::read::Program::new(&elf).architecture().sm;
        let device = sass::Arch::from_number(sm).and_then(Device::of).ok_or(Refused::Architecture(sm))?;
        let name =
            |number: u32| Ok::<_, Error>(String::from_utf8_lossy(elf.section_name(number)?).into_owned());
        let mut program =
            Self { device, kernels: BTreeMap::new(), variables: BTreeMap::new(), constants: Vec::new() };
        for number in 1..elf.sections.len() as u32 {
            let section = elf.section(number)?;
            let called = name(number)?;
            if called == ".nv.constant3" {
                program.constants = section.data().to_vec();
            } else if let Some(kernel) = called.strip_prefix(".text.") {
                let shared = elf.find(&format!(".nv.shared.{kernel}"));
                let shared = shared.map_or(Ok(0), |it| elf.section(it).map(|section| section.size()))?;
                let parameters = elf.find(&format!(".nv.info.{kernel}"));
                let parameters =
                    parameters.map_or(Ok(Vec::new()), |it| parameters_of(kernel, elf.section(it)?.data()))?;
                let image =
                    Image { code: section.data().to_vec(), references: Vec::new(), shared, parameters };
                program.kernels.insert(kernel.to_owned(), image);
            }
        }
        let symbols = elf.symbols()?;
        for symbol in symbols.iter().filter(|symbol| symbol.kind() == 1) {
            let section = elf.section(u32::from(symbol.section))?;
            if !name(u32::from(symbol.section))?.starts_with(".nv.global") {
                continue;
            }
            let range = symbol.value as usize..symbol.value.saturating_add(symbol.size) as usize;
            let initial = section.data().get(range).unwrap_or(&[]).to_vec();
            let called = String::from_utf8_lossy(elf.symbol_name(symbol)?).into_owned();
            program.variables.insert(called, Variable { size: symbol.size, initial });
        }
        for number in 1..elf.sections.len() as u32 {
            let called = name(number)?;
            let of = called.strip_prefix(".rela.text.").or_else(|| called.strip_prefix(".rel.text."));
            let Some(image) = of.and_then(|kernel| program.kernels.get_mut(kernel)) else { continue };
            for relocation in elf.relocations(number)? {
                let half = match relocation.kind {
                    LOW => Half::Low,
                    HIGH => Half::High,
                    kind => return Err(Refused::Relocation(kind)),
                };
                let symbol = symbols.get(relocation.symbol as usize);
                let symbol = symbol.ok_or(Refused::Relocation(relocation.kind))?;
                let symbol = String::from_utf8_lossy(elf.symbol_name(symbol)?).into_owned();
                let addend = relocation.addend.unwrap_or(0) as u64;
                image.references.push(Reference { at: relocation.offset as usize, half, symbol, addend });
            }
        }
        Ok(program)
    }

    /// Whose instructions its code has.
    #[must_use]
    pub fn arch(&self) -> sass::Arch {
        self.device.arch
    }

    /// The names of its variables in global memory.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(String::as_str)
    }

    /// A kernel's machine code, before addresses are written into it; nothing of a kernel that is not there.
    #[must_use]
    pub fn code(&self, kernel: &str) -> &[u8] {
        self.kernels.get(kernel).map_or(&[], |image| &image.code)
    }

    /// The text of a kernel's instruction at an address in bytes.
    #[must_use]
    pub fn instruction(&self, kernel: &str, address: u64) -> Option<String> {
        let code = &self.kernels.get(kernel)?.code;
        let (words, _) = code.as_chunks::<WORD>();
        let word = words.get(usize::try_from(address).ok()? / WORD)?;
        Some(sass::decode(self.device.arch, u128::from_le_bytes(*word))?.to_string())
    }

    /// Where a kernel's parameters lie, in order; nothing of a kernel that is not there.
    #[must_use]
    pub fn parameters(&self, kernel: &str) -> &[Parameter] {
        self.kernels.get(kernel).map_or(&[], |image| &image.parameters)
    }

    /// The kernels' names.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.kernels.keys().map(String::as_str)
    }
}
