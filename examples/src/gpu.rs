//! A CUDA program's view of the virtual GPU: load PTX, copy arrays there and back, launch kernels.
//!
//! The steps are those of a program written for the CUDA runtime, under the same names where they have one:
//!
//! | CUDA runtime                          | here                  |
//! | ------------------------------------- | --------------------- |
//! | the kernels inside the program        | [`Gpu::load`]         |
//! | `cudaMalloc`, then `cudaMemcpy` to it | [`Gpu::upload`]       |
//! | `cudaMalloc`, then `cudaMemset` to 0  | [`Gpu::zeroed`]       |
//! | `kernel<<<grid, block>>>(...)`        | [`Kernels::launch`]   |
//! | `cudaMemcpy` from it                  | [`Buffer::download`]  |
//! | `cudaFree`                            | dropping a [`Buffer`] |

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use bytemuck::Pod;
use machine::{Device, DeviceOptions, Launch, LaunchOptions, LoadedModule, Profile};
use ptx::diagnostic::Diagnostic;
use ptx::source::Source;

/// A virtual GPU.
pub struct Gpu {
    device: Arc<Device>,
}

impl Gpu {
    /// Starts the GPU that has this name, such as `h200`.
    pub fn new(profile: &str) -> Result<Self> {
        let profile =
            Profile::by_name(profile).with_context(|| format!("there is no GPU called {profile}"))?;
        Ok(Self { device: Device::new(profile.clone(), DeviceOptions::default())? })
    }

    /// Compiles PTX text. Errors call it by `name`.
    pub fn load(&self, name: &str, text: &str) -> Result<Kernels<'_>> {
        let source = Source::new(name, text);
        let (module, _warnings) = ptx::compile(&source).into_result().map_err(|found| {
            let lines: Vec<_> = found.iter().map(|diagnostic| line(&source, diagnostic)).collect();
            anyhow!("{}", lines.join("\n"))
        })?;
        Ok(Kernels { gpu: self, module: self.device.load(module)? })
    }

    /// Copies an array to newly allocated device memory.
    pub fn upload<T: Pod>(&self, values: &[T]) -> Result<Buffer<'_, T>> {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let pointer = self.device.memory().allocate(bytes.len() as u64)?;
        // The buffer exists before the copy, so that a failed copy frees the memory.
        let buffer = Buffer { gpu: self, pointer, length: values.len(), element: PhantomData };
        self.device.memory().write(pointer, bytes)?;
        Ok(buffer)
    }

    /// Allocates device memory for `length` elements, all bits zero.
    pub fn zeroed<T: Pod>(&self, length: usize) -> Result<Buffer<'_, T>> {
        self.upload(&vec![T::zeroed(); length])
    }
}

/// `file:line:column: error[code]: message`, as compilers print it.
fn line(source: &Source, diagnostic: &Diagnostic) -> String {
    let (line, column) = source.line_column(diagnostic.span.start);
    let Diagnostic { severity, code, message, .. } = diagnostic;
    format!("{}:{line}:{column}: {severity:?}[{code}]: {message}", source.name())
}

/// An array in device memory, freed when dropped.
pub struct Buffer<'gpu, T> {
    gpu: &'gpu Gpu,
    pointer: u64,
    length: usize,
    element: PhantomData<T>,
}

impl<T: Pod> Buffer<'_, T> {
    /// Copies the array back.
    pub fn download(&self) -> Result<Vec<T>> {
        let mut values = vec![T::zeroed(); self.length];
        self.gpu.device.memory().read(self.pointer, bytemuck::cast_slice_mut(&mut values))?;
        Ok(values)
    }
}

impl<T> Drop for Buffer<'_, T> {
    fn drop(&mut self) {
        // The pointer came from `allocate` and is freed nowhere else, and there is nobody to tell.
        let _ = self.gpu.device.memory().free(self.pointer);
    }
}

/// One argument of a kernel.
#[derive(Clone, Copy, Debug)]
pub enum Argument {
    /// The address of a [`Buffer`].
    Pointer(u64),
    /// A C `int`.
    Int(i32),
}

impl<T> From<&Buffer<'_, T>> for Argument {
    fn from(buffer: &Buffer<'_, T>) -> Self {
        Self::Pointer(buffer.pointer)
    }
}

impl From<i32> for Argument {
    fn from(value: i32) -> Self {
        Self::Int(value)
    }
}

/// Lays arguments out as a kernel finds them: in order, each aligned to its own size.
fn pack(arguments: &[Argument]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for argument in arguments {
        let value: &[u8] = match argument {
            Argument::Pointer(pointer) => bytemuck::bytes_of(pointer),
            Argument::Int(int) => bytemuck::bytes_of(int),
        };
        bytes.resize(bytes.len().next_multiple_of(value.len()), 0);
        bytes.extend_from_slice(value);
    }
    bytes
}

/// The kernels of one PTX text, ready to launch.
pub struct Kernels<'gpu> {
    gpu: &'gpu Gpu,
    module: LoadedModule,
}

impl Kernels<'_> {
    /// Runs a kernel to its end and says how long it took. The grid is in blocks, the block in threads.
    pub fn launch(
        &self,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        arguments: &[Argument],
    ) -> Result<Duration> {
        let launch = Launch {
            kernel: self
                .module
                .kernel(kernel)
                .with_context(|| format!("there is no kernel called {kernel}"))?,
            grid,
            block,
            cluster: None,
            nonportable_cluster: false,
            dynamic_shared: 0,
            params: pack(arguments),
        };
        let started = Instant::now();
        self.gpu.device.launch(&launch, &LaunchOptions::default())?;
        Ok(started.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_stand_at_their_natural_alignment() {
        let packed = pack(&[Argument::Int(-2), Argument::Pointer(0x0102_0304_0506_0708), Argument::Int(7)]);
        let expected =
            [0xfe, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, 7, 0, 0, 0];
        assert_eq!(packed, expected);
    }
}
