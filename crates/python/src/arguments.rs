//! From Python objects to a kernel's parameters.
//!
//! An array is copied to the virtual GPU before a launch and back behind it: whatever has the buffer protocol (NumPy, `array`,
//! `memoryview`), or `__cuda_array_interface__`, whose memory the process's CUDA driver copies. Arrays at the same address are one.

use driver_api::cu;
use machine::ParameterLayout;
use machine::memory::{Buffers, MemoryError};
use ptx::types::TypeKind;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{
    PyBufferError, PyMemoryError, PyOverflowError, PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFloat};

/// The parameters of a launch, and the arrays that they point to.
pub(crate) struct Arguments {
    pub(crate) parameters: Vec<u8>,
    arrays: Vec<Array>,
}

/// An array of the program's.
struct Array {
    memory: Memory,
    /// Where it is on the virtual GPU.
    address: u64,
    bytes: usize,
    /// Whether the program may see it changed.
    readonly: bool,
}

/// Where the program has it.
enum Memory {
    /// On the host. The view keeps it where it is.
    Host(PyUntypedBuffer),
    /// On a device of CUDA's. The object keeps it.
    Device { pointer: u64, _owner: Py<PyAny> },
}

fn failed(error: MemoryError) -> PyErr {
    PyMemoryError::new_err(error.to_string())
}

fn driver(error: driver_api::Error) -> PyErr {
    PyRuntimeError::new_err(format!("the CUDA driver does not copy the array: error {}", error.0))
}

impl Memory {
    fn start(&self) -> u64 {
        match self {
            Self::Host(view) => view.buf_ptr() as u64,
            Self::Device { pointer, .. } => *pointer,
        }
    }

    fn read(&self, bytes: usize) -> PyResult<Vec<u8>> {
        let mut copy = vec![0_u8; bytes];
        match self {
            Self::Host(view) => {
                // SAFETY: the view is contiguous and has so many bytes; it stays as long as it is held. A Python thread that writes
                // meanwhile is a race of the program's, as with any extension that reads a buffer.
                unsafe {
                    std::ptr::copy_nonoverlapping(view.buf_ptr().cast::<u8>(), copy.as_mut_ptr(), bytes)
                };
            }
            Self::Device { pointer, .. } => {
                // SAFETY: the destination has so many bytes; the driver looks at the pointer itself.
                unsafe { cu::cuMemcpyDtoH_v2(copy.as_mut_ptr().cast(), *pointer, bytes) }.map_err(driver)?;
            }
        }
        Ok(copy)
    }

    fn write(&self, bytes: &[u8]) -> PyResult<()> {
        match self {
            Self::Host(view) => {
                // SAFETY: the view is contiguous, can be written, and has so many bytes.
                unsafe {
                    std::ptr::copy_nonoverlapping(bytes.as_ptr(), view.buf_ptr().cast::<u8>(), bytes.len())
                };
                Ok(())
            }
            Self::Device { pointer, .. } => {
                // SAFETY: the source has so many bytes; the driver looks at the pointer itself.
                unsafe { cu::cuMemcpyHtoD_v2(*pointer, bytes.as_ptr().cast(), bytes.len()) }.map_err(driver)
            }
        }
    }
}

impl Arguments {
    /// Reads them, and copies arrays to the virtual GPU.
    pub(crate) fn read(
        kernel: &str,
        layout: &[ParameterLayout],
        arguments: &[Bound<'_, PyAny>],
        memory: &dyn Buffers,
    ) -> PyResult<Self> {
        if layout.len() != arguments.len() {
            let names: Vec<&str> = layout.iter().map(|parameter| parameter.name.as_str()).collect();
            return Err(PyTypeError::new_err(format!(
                "kernel {kernel} takes {} arguments ({}), but {} were given",
                layout.len(),
                names.join(", "),
                arguments.len()
            )));
        }
        let size = layout.last().map_or(0, |parameter| parameter.offset + parameter.size);
        let mut all = Self { parameters: vec![0; size as usize], arrays: Vec::new() };
        for (index, (parameter, argument)) in layout.iter().zip(arguments).enumerate() {
            let bytes = all.value(parameter, argument, memory).map_err(|error| {
                let py = argument.py();
                let message =
                    format!("argument {index}, {} ({}): {}", parameter.name, parameter.ty, error.value(py));
                PyErr::from_type(error.get_type(py), message)
            })?;
            all.parameters[parameter.offset as usize..][..bytes.len()].copy_from_slice(&bytes);
        }
        Ok(all)
    }

    /// The bytes of a parameter.
    fn value(
        &mut self,
        parameter: &ParameterLayout,
        argument: &Bound<'_, PyAny>,
        memory: &dyn Buffers,
    ) -> PyResult<Vec<u8>> {
        let size = parameter.size as usize;
        let pointer = size == 8 && parameter.ty.bytes() == 8 && parameter.ty.kind() != TypeKind::Float;
        if let Ok(bytes) = argument.cast::<PyBytes>() {
            return exactly(bytes.as_bytes(), size);
        }
        if argument.is_none() {
            return match pointer {
                true => Ok(vec![0; size]),
                false => {
                    Err(PyTypeError::new_err("None is a null pointer, which needs a parameter of 8 bytes"))
                }
            };
        }
        if let Some(number) = number(parameter, argument)? {
            return Ok(number);
        }
        let (memory_of, bytes, readonly) = array(argument)?;
        if !pointer {
            return Err(PyTypeError::new_err("an array needs a parameter of 8 bytes, .u64 or .b64"));
        }
        let start = memory_of.start();
        let known =
            self.arrays.iter_mut().find(|known| known.memory.start() == start && known.bytes == bytes);
        if let Some(known) = known {
            known.readonly &= readonly;
            return Ok(known.address.to_le_bytes().to_vec());
        }
        let address = memory.allocate(bytes as u64).map_err(failed)?;
        memory.write(address, &memory_of.read(bytes)?).map_err(failed)?;
        self.arrays.push(Array { memory: memory_of, address, bytes, readonly });
        Ok(address.to_le_bytes().to_vec())
    }

    /// Copies arrays back, if the kernel has ended well.
    pub(crate) fn back(&self, memory: &dyn Buffers) -> PyResult<()> {
        let mut copy = Vec::new();
        for array in self.arrays.iter().filter(|array| !array.readonly) {
            copy.resize(array.bytes, 0);
            memory.read(array.address, &mut copy).map_err(failed)?;
            array.memory.write(&copy)?;
        }
        Ok(())
    }

    /// Gives their memory on the virtual GPU back.
    pub(crate) fn free(&self, memory: &dyn Buffers) {
        for array in &self.arrays {
            // It was allocated here, and once.
            let _ = memory.free(array.address);
        }
    }
}

fn exactly(bytes: &[u8], size: usize) -> PyResult<Vec<u8>> {
    match bytes.len() == size {
        true => Ok(bytes.to_vec()),
        false => Err(PyValueError::new_err(format!("{} bytes were given for {size}", bytes.len()))),
    }
}

/// The bytes of a number; nothing if the object is none.
fn number(parameter: &ParameterLayout, argument: &Bound<'_, PyAny>) -> PyResult<Option<Vec<u8>>> {
    let view = PyUntypedBuffer::get(argument).ok();
    let scalar = view.is_none() || view.as_ref().is_some_and(|view| view.dimensions() == 0);
    let is_number = argument.hasattr("__float__")? || argument.hasattr("__index__")?;
    if !scalar || !is_number || argument.hasattr("__cuda_array_interface__")? {
        return Ok(None);
    }
    let size = parameter.size as usize;
    if parameter.size != parameter.ty.bytes() {
        return Err(PyTypeError::new_err(format!("a number for a parameter of {size} bytes; give bytes")));
    }
    let raw = || -> PyResult<Vec<u8>> {
        // A number of NumPy's has a type of its own, whose bits are meant.
        match &view {
            Some(view) if view.len_bytes() == size => {
                let bytes = argument.py().get_type::<PyBytes>().call1((argument,))?;
                exactly(bytes.cast::<PyBytes>()?.as_bytes(), size)
            }
            _ => Err(PyTypeError::new_err(
                "the parameter's type does not say which float it is; give numpy.float32(x)",
            )),
        }
    };
    let bytes = match (parameter.ty.kind(), size) {
        (TypeKind::Float, 8) => argument.extract::<f64>()?.to_le_bytes().to_vec(),
        (TypeKind::Float, 4) => (argument.extract::<f64>()? as f32).to_le_bytes().to_vec(),
        (TypeKind::Float, _) => raw()?,
        _ if argument.is_instance_of::<PyFloat>() || !argument.hasattr("__index__")? => raw()?,
        _ => {
            let number: i128 = argument.extract()?;
            let bits = 8 * size as u32;
            let fits = bits >= 128 || (number >= -(1_i128 << (bits - 1)) && number < 1_i128 << bits);
            if !fits {
                return Err(PyOverflowError::new_err(format!("{number} does not fit into {bits} bits")));
            }
            number.to_le_bytes()[..size].to_vec()
        }
    };
    Ok(Some(bytes))
}

/// The memory of an array, its size in bytes, and whether it must not be written.
fn array(argument: &Bound<'_, PyAny>) -> PyResult<(Memory, usize, bool)> {
    let py = argument.py();
    if argument.hasattr("__cuda_array_interface__")? {
        let interface = argument.getattr("__cuda_array_interface__")?.cast_into::<PyDict>()?;
        let item = |name: &str| {
            let missing = || PyValueError::new_err(format!("__cuda_array_interface__ has no `{name}`"));
            interface.get_item(name)?.ok_or_else(missing)
        };
        if interface.get_item("strides")?.is_some_and(|strides| !strides.is_none()) {
            return Err(PyBufferError::new_err("the array has strides; copy it to one that is contiguous"));
        }
        let (pointer, readonly): (u64, bool) = item("data")?.extract()?;
        let shape: Vec<u64> = item("shape")?.extract()?;
        let kind: String = item("typestr")?.extract()?;
        let element: u64 = kind.get(2..).and_then(|size| size.parse().ok()).ok_or_else(|| {
            PyValueError::new_err(format!(
                "__cuda_array_interface__ has the type `{kind}`, which has no size"
            ))
        })?;
        let bytes = shape.iter().try_fold(element, |bytes, &extent| bytes.checked_mul(extent));
        let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
        let bytes = bytes.ok_or_else(|| PyValueError::new_err("the array is too large"))?;
        return Ok((Memory::Device { pointer, _owner: argument.clone().unbind() }, bytes, readonly));
    }
    let view = match PyUntypedBuffer::get(argument) {
        Ok(view) => view,
        // Other libraries' arrays on the host.
        Err(_) if argument.hasattr("__dlpack__")? => {
            let array = py.import("numpy")?.call_method1("from_dlpack", (argument,))?;
            PyUntypedBuffer::get(&array)?
        }
        Err(_) => {
            let kind = argument.get_type().name()?;
            return Err(PyTypeError::new_err(format!("{kind} is neither a number nor an array")));
        }
    };
    if !view.is_c_contiguous() {
        return Err(PyBufferError::new_err("the array is not contiguous; numpy.ascontiguousarray copies it"));
    }
    let (bytes, readonly) = (view.len_bytes(), view.readonly());
    Ok((Memory::Host(view), bytes, readonly))
}
