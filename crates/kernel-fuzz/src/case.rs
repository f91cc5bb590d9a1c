//! A kernel as text, with its launch and the contents of memory; the file that keeps one.
//!
//! The file is the module's text, below a line that says how it is launched:
//! `//: launch ctas=2 block=33,1,1 data=17`.

use crate::frame;
use crate::kernel::Kernel;
use fastrand::Rng;
use machine::memory::{Buffers, MemoryError};

/// What an engine is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The module, with the entry `kernel`.
    pub text: String,
    /// CTAs.
    pub ctas: u32,
    /// The shape of a CTA.
    pub block: [u32; 3],
    /// What the contents of memory follow from.
    pub data: u64,
}

/// A case's memory on a device.
pub(crate) struct Placed {
    base: u64,
    bytes: usize,
    /// The parameter buffer.
    pub(crate) params: Vec<u8>,
}

impl Case {
    /// A kernel's case.
    pub fn of(kernel: &Kernel) -> Self {
        Self { text: kernel.text(), ctas: kernel.ctas, block: kernel.block, data: kernel.data }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If its first line does not say how it is launched.
    pub fn parse(file: &str) -> Result<Self, String> {
        let (line, text) = file.split_once('\n').unwrap_or((file, ""));
        let words = line.strip_prefix("//: launch ").ok_or("the first line is no `//: launch`")?;
        let value = |name: &str| {
            let found = words.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
            found.ok_or_else(|| format!("no `{name}=`"))
        };
        let number = |text: &str| text.parse::<u32>().map_err(|_| format!("`{text}` is no number"));
        let block: Vec<u32> = value("block")?.split(',').map(number).collect::<Result<_, _>>()?;
        let block = block.try_into().map_err(|_| "a block has three extents".to_owned())?;
        let data = value("data")?.parse().map_err(|_| "`data` is no number".to_owned())?;
        Ok(Self { text: text.to_owned(), ctas: number(value("ctas")?)?, block, data })
    }

    /// The file that keeps it.
    pub fn file(&self) -> String {
        let [x, y, z] = self.block;
        format!("//: launch ctas={} block={x},{y},{z} data={}\n{}", self.ctas, self.data, self.text)
    }

    /// Puts its memory on a device.
    pub(crate) fn place(&self, buffers: &dyn Buffers) -> Result<Placed, MemoryError> {
        let sizes = frame::sizes(self.ctas, self.block.iter().product());
        let bytes = sizes.iter().sum::<u32>() as usize;
        let base = buffers.allocate(bytes as u64)?;
        let mut random = Rng::with_seed(self.data);
        let mut contents = frame::input(&mut random);
        // What is written must not pass because nothing was there before.
        let rest = contents.len();
        contents.resize(bytes, 0);
        random.fill(&mut contents[rest..]);
        buffers.write(base, &contents)?;
        let mut params = Vec::new();
        let mut address = base;
        for size in sizes {
            params.extend(address.to_le_bytes());
            address += u64::from(size);
        }
        let (words, doubles) = frame::UNIFORM;
        (0..doubles).for_each(|_| params.extend(random.u64(..).to_le_bytes()));
        // Small numbers, as extents and counts are, and any.
        (0..words).for_each(|i| {
            params.extend(if i % 2 == 0 { random.u32(1..40) } else { random.u32(..) }.to_le_bytes());
        });
        Ok(Placed { base, bytes, params })
    }
}

impl Placed {
    /// What memory holds, and frees it.
    pub(crate) fn take(self, buffers: &dyn Buffers) -> Result<Vec<u8>, MemoryError> {
        let mut contents = vec![0; self.bytes];
        buffers.read(self.base, &mut contents)?;
        buffers.free(self.base)?;
        Ok(contents)
    }
}
