//! Bulk and tensor copies against what an H200 and its driver did: `hardware/tensor_copies.gz`, which `cargo xtask record tensor-copies`
//! makes. [`replay::tensor_copies`] says what its lines mean.

use machine::tensormap::{
    DataType, Fill, Im2col, Interleave, Promotion, Swizzle, Tensor, TensorMap, TensorMapError,
};
use machine::{Device, DeviceOptions, Launch, LaunchError, LaunchOptions, LoadedModule, Profile, Trap};
use replay::tensor_copies::{Bench, Engine, Failure, Map, Mode, cases, module};
use std::path::Path;
use std::sync::Arc;

/// The device with the kernels.
struct Machine {
    device: Arc<Device>,
    module: LoadedModule,
}

fn tensor_map(map: &Map, base: u64) -> Result<TensorMap, TensorMapError> {
    let [interleave, swizzle, promotion, fill] = map.enums.map(|number| number as usize);
    let tensor = Tensor {
        ty: DataType::ALL[map.ty as usize],
        address: base.wrapping_add(map.address),
        sizes: &map.sizes,
        strides: &map.strides,
        element_strides: &map.element_strides,
        interleave: [Interleave::None, Interleave::Bytes16, Interleave::Bytes32][interleave],
        swizzle: [Swizzle::None, Swizzle::Bytes32, Swizzle::Bytes64, Swizzle::Bytes128][swizzle],
        promotion: [Promotion::None, Promotion::Bytes64, Promotion::Bytes128, Promotion::Bytes256][promotion],
        fill: [Fill::Zeros, Fill::Nan][fill],
    };
    match &map.mode {
        Mode::Tiled(tile) => TensorMap::tiled(&tensor, tile),
        &Mode::Im2col { ref lower, ref upper, channels, pixels } => {
            TensorMap::im2col(&tensor, &Im2col { lower, upper, channels, pixels })
        }
    }
}

impl Machine {
    fn new(module: String) -> Self {
        let compiled = ptx::compile(&ptx::source::Source::new("copies.ptx".to_owned(), module));
        let (module, _) = compiled.into_result().unwrap_or_else(|diagnostics| panic!("{diagnostics:?}"));
        let profile = Profile::by_name("h200").expect("a profile with sm_90a").clone();
        let options = DeviceOptions { memory_limit: Some(64 << 20), ..DeviceOptions::default() };
        let device = Device::new(profile, options).expect("a device");
        let module = device.load(module).expect("the module loads");
        Self { device, module }
    }
}

impl Engine for Machine {
    fn encode(&self, map: &Map, base: u64) -> Option<[u8; 128]> {
        tensor_map(map, base).ok().map(|map| map.to_bytes())
    }

    fn allocate(&self, bytes: usize) -> Result<u64, Failure> {
        self.device.memory().allocate(bytes as u64).map_err(|error| Failure::Other(error.to_string()))
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Failure> {
        self.device.memory().write(address, bytes).map_err(|error| Failure::Other(error.to_string()))
    }

    fn read(&self, address: u64, bytes: usize) -> Result<Vec<u8>, Failure> {
        let mut read = vec![0; bytes];
        let done = self.device.memory().read(address, &mut read);
        done.map(|()| read).map_err(|error| Failure::Other(error.to_string()))
    }

    fn run(&self, kernel: &str, shared: u32, parameters: &[&[u8]]) -> Result<(), Failure> {
        let mut params = Vec::new();
        for parameter in parameters {
            params.resize(params.len().next_multiple_of(parameter.len().min(8)), 0);
            params.extend_from_slice(parameter);
        }
        let launch = Launch {
            kernel: self.module.kernel(kernel).unwrap_or_else(|| panic!("no kernel {kernel}")),
            grid: [1; 3],
            block: [32, 1, 1],
            cluster: None,
            nonportable_cluster: false,
            dynamic_shared: shared,
            params,
        };
        let options = LaunchOptions { threads: 1, budget: Some(1 << 20), ..LaunchOptions::default() };
        match self.device.launch(&launch, &options) {
            Ok(_) => Ok(()),
            Err(LaunchError::Fault(fault)) if matches!(fault.trap, Trap::IllegalInstruction(_)) => {
                Err(Failure::Illegal)
            }
            Err(error) => Err(Failure::Other(error.to_string())),
        }
    }
}

/// Asks the machine for every case of a kind.
fn replay(kind: &str) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hardware/tensor_copies.gz");
    let recording = replay::read(Path::new(path)).expect("the recording is in the repository");
    let bench = Bench::new(Machine::new(module(&recording)), &recording).expect("memory");
    let mut all = 0;
    let mut differences = Vec::new();
    for (case, recorded) in cases(&recording).filter(|(case, _)| case.starts_with(kind)) {
        all += 1;
        let found = bench.result(case, recorded).unwrap_or_else(|why| format!("fault: {why}"));
        if found != recorded {
            differences.push(format!("{case}\n  recorded {recorded}\n  found    {found}"));
        }
    }
    assert!(all > 100, "{all} cases");
    let first = differences[..differences.len().min(10)].join("\n");
    assert!(differences.is_empty(), "{} of {all} differ:\n{first}", differences.len());
}

#[test]
fn maps_are_encoded_as_by_the_driver() {
    replay("encode ");
}

#[test]
fn loads_are_those_of_hardware() {
    replay("load ");
}

#[test]
fn stores_are_those_of_hardware() {
    replay("store ");
}

#[test]
fn reductions_are_those_of_hardware() {
    replay("reduce ");
}
