//! A case's inputs in an engine's memory, and what is found there afterwards.

use super::case::{Case, OutputBuffer, Parameter};
use super::texture::Object;
use machine::memory::Buffers;
use machine::{Device, LoadedModule, ParameterLayout};
use real_gpu::Gpu;

/// What a case asks of an engine before and after a launch.
pub(crate) trait Engine {
    fn memory(&self) -> &dyn Buffers;
    /// The address of a module variable.
    fn variable(&self, name: &str) -> Result<u64, String>;
    /// The address of a new multicast object.
    fn multicast(&self, members: &[u64], bytes: u64) -> Result<u64, String>;
    /// A new array, and the handle of a texture or surface over it.
    fn object(&self, object: &Object) -> Result<(u64, u64), String>;
    /// What is in such an array.
    fn array(&self, object: &Object, array: u64, bytes: usize) -> Result<Vec<u8>, String>;
    /// Binds the handle to a variable of the module.
    fn bind(&self, variable: &str, handle: u64) -> Result<(), String>;
}

/// The machine.
pub(crate) struct OnMachine<'a> {
    pub(crate) device: &'a Device,
    pub(crate) loaded: &'a LoadedModule,
}

impl Engine for OnMachine<'_> {
    fn memory(&self) -> &dyn Buffers {
        self.device.memory()
    }

    fn variable(&self, name: &str) -> Result<u64, String> {
        let found = self.loaded.variable(name).ok_or_else(|| format!("no variable {name} in memory"));
        found.map(|(address, _)| address)
    }

    fn multicast(&self, members: &[u64], bytes: u64) -> Result<u64, String> {
        self.device.memory().bind_multicast(members, bytes).map_err(|error| error.to_string())
    }

    fn object(&self, object: &Object) -> Result<(u64, u64), String> {
        object.make(self.device)
    }

    fn array(&self, object: &Object, array: u64, bytes: usize) -> Result<Vec<u8>, String> {
        object.read(self.device, array, bytes)
    }

    fn bind(&self, variable: &str, handle: u64) -> Result<(), String> {
        self.loaded.bind(variable, handle).map_err(|error| error.to_string())
    }
}

/// A GPU.
pub(crate) struct OnGpu<'a> {
    pub(crate) gpu: &'a Gpu,
    pub(crate) loaded: &'a real_gpu::Module<'a>,
}

const NO_OBJECTS: &str = "textures and surfaces are made by the machine alone";

impl Engine for OnGpu<'_> {
    fn memory(&self) -> &dyn Buffers {
        self.gpu
    }

    fn variable(&self, name: &str) -> Result<u64, String> {
        self.loaded.variable(name).map(|(address, _)| address).map_err(|error| error.to_string())
    }

    fn multicast(&self, _: &[u64], _: u64) -> Result<u64, String> {
        Err("multicast objects are not made on a GPU".to_owned())
    }

    fn object(&self, _: &Object) -> Result<(u64, u64), String> {
        Err(NO_OBJECTS.to_owned())
    }

    fn array(&self, _: &Object, _: u64, _: usize) -> Result<Vec<u8>, String> {
        Err(NO_OBJECTS.to_owned())
    }

    fn bind(&self, _: &str, _: u64) -> Result<(), String> {
        Err(NO_OBJECTS.to_owned())
    }
}

/// The machine that executes SASS.
pub(crate) struct OnSass<'a> {
    pub(crate) device: &'a Device,
    pub(crate) loaded: &'a sass_machine::Loaded<'a>,
}

impl Engine for OnSass<'_> {
    fn memory(&self) -> &dyn Buffers {
        self.device.memory()
    }

    fn variable(&self, name: &str) -> Result<u64, String> {
        self.loaded.variable(name).ok_or_else(|| format!("no variable {name} in memory"))
    }

    fn multicast(&self, _: &[u64], _: u64) -> Result<u64, String> {
        Err("multicast objects are not there for SASS".to_owned())
    }

    fn object(&self, object: &Object) -> Result<(u64, u64), String> {
        object.make(self.device)
    }

    fn array(&self, object: &Object, array: u64, bytes: usize) -> Result<Vec<u8>, String> {
        object.read(self.device, array, bytes)
    }

    fn bind(&self, _: &str, _: u64) -> Result<(), String> {
        Err("variables of textures are not compiled to SASS".to_owned())
    }
}

/// A case's inputs.
pub(crate) struct Placed {
    /// The address of each parameter that is a buffer, the array of each that is a texture or surface.
    addresses: Vec<Option<u64>>,
    /// The parameter buffer.
    pub(crate) params: Vec<u8>,
}

impl Placed {
    pub(crate) fn new(case: &Case, layout: &[ParameterLayout], engine: &dyn Engine) -> Result<Self, String> {
        let memory = engine.memory();
        let allocated = |bytes: &[u8]| -> Result<u64, String> {
            let address = memory.allocate(bytes.len() as u64).map_err(|error| error.to_string())?;
            memory.write(address, bytes).map_err(|error| error.to_string())?;
            Ok(address)
        };
        for (name, values) in &case.presets {
            memory.write(engine.variable(name)?, &values.bytes()).map_err(|error| error.to_string())?;
        }
        for (name, object) in &case.bindings {
            let (_, handle) = engine.object(object)?;
            engine.bind(name, handle)?;
        }
        let mut addresses = Vec::new();
        for parameter in &case.parameters {
            addresses.push(match parameter {
                // Made of the buffers, below.
                Parameter::Value(_)
                | Parameter::TensorMap { .. }
                | Parameter::Multicast { .. }
                | Parameter::Object(_) => None,
                Parameter::Buffer { bytes, .. } => Some(allocated(bytes)?),
            });
        }
        let mut values = Vec::new();
        for (index, parameter) in case.parameters.iter().enumerate() {
            let buffer = |i: usize| addresses[i].ok_or("a parameter that is no buffer");
            values.push(match parameter {
                Parameter::Value(bytes) => bytes.clone(),
                Parameter::Buffer { .. } => buffer(index)?.to_le_bytes().to_vec(),
                Parameter::TensorMap { buffer: tensor, plan, in_memory, .. } => {
                    let map = plan.make(buffer(*tensor)?)?.to_bytes();
                    if *in_memory {
                        let address = allocated(&map)?;
                        addresses[index] = Some(address);
                        address.to_le_bytes().to_vec()
                    } else {
                        map.to_vec()
                    }
                }
                Parameter::Object(object) => {
                    let (array, handle) = engine.object(object)?;
                    addresses[index] = Some(array);
                    handle.to_le_bytes().to_vec()
                }
                Parameter::Multicast { members, bytes } => {
                    let members = members.iter().map(|&i| buffer(i)).collect::<Result<Vec<_>, _>>()?;
                    let address = engine.multicast(&members, *bytes)?;
                    addresses[index] = Some(address);
                    address.to_le_bytes().to_vec()
                }
            });
        }
        // After every allocation, so that none takes the place of what is freed.
        for (parameter, &address) in case.parameters.iter().zip(&addresses) {
            if let (Parameter::Buffer { freed: true, .. }, Some(address)) = (parameter, address) {
                memory.free(address).map_err(|error| error.to_string())?;
            }
        }
        let params = parameter_buffer(case, layout, &values)?;
        Ok(Self { addresses, params })
    }

    /// What memory holds after the launch, in the order of [`Case::expected`].
    pub(crate) fn contents(&self, case: &Case, engine: &dyn Engine) -> Result<Vec<Vec<u8>>, String> {
        let mut contents = Vec::new();
        for expected in &case.expected {
            let length = expected.values.bits.len() * expected.values.ty.bytes;
            if let OutputBuffer::Parameter(index) = expected.place
                && let Parameter::Object(object) = &case.parameters[index]
            {
                contents.push(engine.array(object, self.addresses[index].unwrap_or(0), length)?);
                continue;
            }
            let address = match &expected.place {
                OutputBuffer::Variable(name) => engine.variable(name)?,
                OutputBuffer::Parameter(index) => {
                    self.addresses[*index].ok_or("`out` names a value, not a buffer")?
                }
            };
            let mut bytes = vec![0; length];
            engine.memory().read(address, &mut bytes).map_err(|error| error.to_string())?;
            contents.push(bytes);
        }
        Ok(contents)
    }
}

/// The kernel's parameter buffer.
fn parameter_buffer(case: &Case, layout: &[ParameterLayout], values: &[Vec<u8>]) -> Result<Vec<u8>, String> {
    let passed = |parameter: &Parameter| !matches!(parameter, Parameter::Buffer { passed: false, .. });
    let given: Vec<_> = case.parameters.iter().zip(values).filter(|(p, _)| passed(p)).collect();
    if layout.len() != given.len() {
        let (given, wanted) = (given.len(), layout.len());
        return Err(format!("{given} parameters are given; kernel {} takes {wanted}", case.kernel));
    }
    let mut params = vec![0; layout.last().map_or(0, |p| (p.offset + p.size) as usize)];
    for (place, (_, bytes)) in layout.iter().zip(given) {
        if bytes.len() != place.size as usize {
            let (given, name, wanted) = (bytes.len(), &place.name, place.size);
            return Err(format!("{given} bytes are given for parameter {name}, which has {wanted}"));
        }
        params[place.offset as usize..][..bytes.len()].copy_from_slice(bytes);
    }
    Ok(params)
}
