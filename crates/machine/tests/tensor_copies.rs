//! Bulk and tensor copies against what an H200 and its driver did: `hardware/tensor_copies.gz`;
//! `hardware/record_tensor_copies.py` makes such recordings.
//!
//! | line | what was recorded |
//! | --- | --- |
//! | `encode MAP = WORDS` | the object that the driver makes of arguments, or that it refuses them |
//! | `load MAP : COORDINATES OFFSETS PLACE BYTES = DONE LENGTH CRC` | shared memory after a load, and whether an mbarrier object that expected these bytes saw its phase end |
//! | `store MAP : COORDINATES PLACE = CRC` | global memory after a store |
//! | `values BITS LIST` | operands of reductions: every pair of them |
//! | `reduce tensor\|bulk OP TYPE = RESULTS` | global memory after a reduction |
//!
//! `illegal` in place of a result is a fault: an illegal instruction.

use machine::tensormap::{
    DataType, Fill, Im2col, Interleave, MAX_RANK, Promotion, Swizzle, Tensor, TensorMap, TensorMapError,
};
use machine::{Device, DeviceOptions, Launch, LaunchError, LaunchOptions, LoadedModule, Profile, Trap};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Read;
use std::str::FromStr;
use std::sync::Arc;

/// Bytes of the pattern in global memory, and of the region that stores write to.
const PATTERN: usize = 1 << 20;
const REGION: usize = 1 << 16;
/// What the region holds before a store. Before a load shared memory holds the byte 0xee.
const BEFORE_STORE: u8 = 0x11;

fn recording() -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hardware/tensor_copies.gz");
    let file = std::fs::File::open(path).expect("the recording is in the repository");
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("the recording is text");
    text.lines().map(str::to_owned).collect()
}

/// What lines of one kind say: before `=`, and behind it.
fn lines<'a>(recording: &'a [String], kind: &str) -> Vec<(&'a str, &'a str)> {
    let of_kind = recording.iter().filter_map(|line| line.strip_prefix(kind)?.strip_prefix(' '));
    let lines: Vec<_> = of_kind.map(|line| line.split_once(" = ").expect("a result")).collect();
    assert!(!lines.is_empty(), "no lines {kind}");
    lines
}

fn number<T: FromStr>(text: &str) -> T
where
    T::Err: std::fmt::Debug,
{
    text.parse().unwrap_or_else(|e| panic!("{text}: {e:?}"))
}

fn list<T: FromStr>(text: &str) -> Vec<T>
where
    T::Err: std::fmt::Debug,
{
    if text == "-" { Vec::new() } else { text.split(',').map(number).collect() }
}

fn pattern() -> Vec<u8> {
    (0..PATTERN as u32 / 4).flat_map(|i| i.wrapping_mul(0x9e37_79b1).to_le_bytes()).collect()
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// A tensor map as its words in the recording say, for a tensor whose address counts from `base`.
fn tensor_map(words: &[&str], base: u64) -> Result<TensorMap, TensorMapError> {
    let sizes = list::<u64>(words[3]);
    let strides = list::<u64>(words[4]);
    let element_strides = list::<u32>(words[5]);
    let tensor = Tensor {
        ty: DataType::ALL[number::<usize>(words[1])],
        address: base.wrapping_add(number(words[2])),
        sizes: &sizes,
        strides: &strides,
        element_strides: &element_strides,
        interleave: [Interleave::None, Interleave::Bytes16, Interleave::Bytes32][number::<usize>(words[6])],
        swizzle: [Swizzle::None, Swizzle::Bytes32, Swizzle::Bytes64, Swizzle::Bytes128]
            [number::<usize>(words[7])],
        promotion: [Promotion::None, Promotion::Bytes64, Promotion::Bytes128, Promotion::Bytes256]
            [number::<usize>(words[8])],
        fill: [Fill::Zeros, Fill::Nan][number::<usize>(words[9])],
    };
    match words[0] {
        "tiled" => TensorMap::tiled(&tensor, &list::<u32>(words[10])),
        _ => {
            let (lower, upper) = (list::<i32>(words[10]), list::<i32>(words[11]));
            let (channels, pixels) = (number(words[12]), number(words[13]));
            TensorMap::im2col(&tensor, &Im2col { lower: &lower, upper: &upper, channels, pixels })
        }
    }
}

#[test]
fn maps_are_encoded_as_by_the_driver() {
    let recording = recording();
    let mut wrong = String::new();
    for (arguments, recorded) in lines(&recording, "encode") {
        let words: Vec<&str> = arguments.split(' ').collect();
        let encoded = match tensor_map(&words, 0) {
            Ok(map) => map.to_bytes().iter().fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            }),
            Err(_) => "refused".to_owned(),
        };
        if encoded.trim_end_matches('0') != recorded.trim_end_matches('0') {
            let _ = writeln!(wrong, "{arguments}\n  recorded {recorded}\n  {encoded}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// A kernel around one instruction. It fills `dump` bytes of shared memory, from `input` or with 0xee, lets
/// thread 0 copy, and writes out whether the phase of the mbarrier object is over, and shared memory.
fn kernel(name: &str, fill_from_input: bool, instruction: &str) -> String {
    let fill = match fill_from_input {
        true => "cvt.u64.u32 %x, %i; add.u64 %x, %x, %input; ld.global.b32 %v, [%x];",
        false => "mov.b32 %v, 0xeeeeeeee;",
    };
    format!(
        ".visible .entry {name}(.param .align 64 .b8 map[128], .param .b64 arguments, .param .b64 output,
            .param .b64 input, .param .b32 place, .param .b32 dump, .param .b32 bytes, .param .b64 global)
        {{
            .shared .align 8 .b64 bar;
            .reg .pred %p, %q; .reg .b64 %map, %arguments, %output, %input, %global, %x, %token;
            .reg .b32 %i, %v, %place, %dump, %bytes, %tile, %bar, %n, %c<5>; .reg .b16 %o<3>;
            mov.b64 %map, map; cvta.param.u64 %map, %map;
            ld.param.b64 %arguments, [arguments]; ld.param.b64 %output, [output]; ld.param.b64 %input, [input];
            ld.param.b32 %place, [place]; ld.param.b32 %dump, [dump]; ld.param.b32 %bytes, [bytes];
            ld.param.b64 %global, [global];
            ld.global.b32 %c0, [%arguments]; ld.global.b32 %c1, [%arguments+4]; ld.global.b32 %c2, [%arguments+8];
            ld.global.b32 %c3, [%arguments+12]; ld.global.b32 %c4, [%arguments+16];
            ld.global.b16 %o0, [%arguments+20]; ld.global.b16 %o1, [%arguments+22]; ld.global.b16 %o2, [%arguments+24];
            mov.b32 %bar, bar; mov.b32 %tile, memory;
            mov.u32 %i, %tid.x; shl.b32 %i, %i, 2;
        fill:
            setp.ge.u32 %p, %i, %dump; @%p bra filled;
            {fill}
            add.u32 %n, %tile, %i; st.shared.b32 [%n], %v; add.u32 %i, %i, 128; bra fill;
        filled:
            add.u32 %place, %tile, %place;
            mov.u32 %i, %tid.x; setp.ne.u32 %p, %i, 0;
            @!%p mbarrier.init.shared.b64 [%bar], 1;
            fence.proxy.async; bar.sync 0; @%p bra copied;
            {instruction}
            mbarrier.arrive.expect_tx.shared.b64 %token, [%bar], %bytes;
            mbarrier.test_wait.parity.shared.b64 %q, [%bar], 0;
            selp.b32 %v, 1, 0, %q; st.global.b32 [%output], %v;
        copied:
            bar.sync 0; shl.b32 %i, %i, 2;
        copy:
            setp.ge.u32 %p, %i, %dump; @%p bra done;
            add.u32 %n, %tile, %i; ld.shared.b32 %v, [%n];
            cvt.u64.u32 %x, %i; add.u64 %x, %x, %output; st.global.b32 [%x+16], %v;
            add.u32 %i, %i, 128; bra copy;
        done:
            ret;
        }}\n"
    )
}

const GROUP: &str = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;";

/// The kernels that copy, by the words that choose one: `load 3`, `store_im2col 4`.
fn kernels() -> Vec<(String, String)> {
    let mut kernels = Vec::new();
    for rank in 1..=MAX_RANK {
        let at = (0..rank).map(|i| format!("%c{i}")).collect::<Vec<_>>().join(", ");
        let at = format!("[%map, {{{at}}}]");
        let load = "mbarrier::complete_tx::bytes [%place]";
        let mut add = |name: &str, from_input: bool, instruction: String| {
            let name = format!("{name}_{rank}");
            kernels.push((name.clone(), kernel(&name, from_input, &instruction)));
        };
        add(
            "load_tiled",
            false,
            format!("cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.{load}, {at}, [%bar];"),
        );
        let to = format!("bulk_group {at}, [%place]; {GROUP}");
        add("store_tiled", true, format!("cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.{to}"));
        if rank >= 3 {
            let offsets = (0..rank - 2).map(|i| format!("%o{i}")).collect::<Vec<_>>().join(", ");
            add(
                "load_im2col",
                false,
                format!(
                    "cp.async.bulk.tensor.{rank}d.shared::cluster.global.im2col.{load}, {at}, [%bar], {{{offsets}}};"
                ),
            );
            add(
                "store_im2col",
                true,
                format!("cp.async.bulk.tensor.{rank}d.global.shared::cta.im2col_no_offs.{to}"),
            );
        }
        if rank == 2 {
            for by in ["add", "min", "max", "inc", "dec", "and", "or", "xor"] {
                add(
                    &format!("reduce_{by}"),
                    true,
                    format!("cp.reduce.async.bulk.tensor.2d.global.shared::cta.{by}.tile.{to}"),
                );
            }
        }
    }
    kernels
}

/// A device with the pattern, a region to write to, and loaded kernels.
struct Bench {
    device: Arc<Device>,
    module: LoadedModule,
    pattern: u64,
    region: u64,
    arguments: u64,
    output: u64,
}

/// What a case passes to its kernel.
#[derive(Clone, Copy, Default)]
struct Case<'a> {
    map: Option<&'a TensorMap>,
    coordinates: &'a [i32],
    offsets: &'a [u16],
    place: u32,
    dump: u32,
    bytes: u32,
    input: u64,
}

impl Bench {
    fn new(kernels: &[(String, String)]) -> Self {
        let mut text =
            ".version 8.8\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 memory[];\n"
                .to_owned();
        for (_, kernel) in kernels {
            text.push_str(kernel);
        }
        let module =
            match ptx::compile(&ptx::source::Source::new("copies.ptx".to_owned(), text)).into_result() {
                Ok(module) => module.0,
                Err(diagnostics) => panic!("{diagnostics:?}"),
            };
        let profile = Profile::by_name("h200").expect("a profile with sm_90a").clone();
        let options = DeviceOptions { memory_limit: Some(64 << 20), ..DeviceOptions::default() };
        let device = Device::new(profile, options).expect("a device");
        let module = device.load(module).expect("the module loads");
        let allocate = |bytes: usize| device.memory().allocate(bytes as u64).expect("memory");
        let (pattern_at, region, arguments, output) =
            (allocate(PATTERN), allocate(REGION), allocate(64), allocate(1 << 16));
        device.memory().write(pattern_at, &pattern()).expect("written");
        Self { device, module, pattern: pattern_at, region, arguments, output }
    }

    /// Runs a kernel. `Ok` is whether the phase was over, and what shared memory held.
    fn run(&self, kernel: &str, case: Case<'_>) -> Result<(bool, Vec<u8>), Trap> {
        let memory = self.device.memory();
        let mut arguments = vec![0; 64];
        for (i, coordinate) in case.coordinates.iter().enumerate() {
            arguments[4 * i..][..4].copy_from_slice(&coordinate.to_le_bytes());
        }
        for (i, offset) in case.offsets.iter().enumerate() {
            arguments[20 + 2 * i..][..2].copy_from_slice(&offset.to_le_bytes());
        }
        memory.write(self.arguments, &arguments).expect("written");
        let kernel = self.module.kernel(kernel).unwrap_or_else(|| panic!("no kernel {kernel}"));
        let mut params = Vec::new();
        params.extend(case.map.map_or([0; 128], |map| map.to_bytes()));
        params.extend(
            [self.arguments, self.output, case.input].iter().flat_map(|address| address.to_le_bytes()),
        );
        params.extend([case.place, case.dump, case.bytes, 0].iter().flat_map(|value| value.to_le_bytes()));
        params.extend(self.region.to_le_bytes());
        let launch = Launch {
            kernel,
            grid: [1; 3],
            block: [32, 1, 1],
            cluster: None,
            nonportable_cluster: false,
            dynamic_shared: (case.dump + 1024).max(4096).max(if case.offsets.is_empty() {
                0
            } else {
                100 << 10
            }),
            params,
        };
        let options = LaunchOptions { threads: 1, budget: Some(1 << 20), ..LaunchOptions::default() };
        match self.device.launch(&launch, &options) {
            Ok(_) => {}
            Err(LaunchError::Fault(fault)) => return Err(fault.trap),
            Err(error) => panic!("{error}"),
        }
        let mut out = vec![0; 16 + case.dump as usize];
        memory.read(self.output, &mut out).expect("read");
        Ok((out[0] != 0, out.split_off(16)))
    }
}

/// Collects what differs, and panics if there is any.
struct Differences(Vec<String>, usize);

impl Differences {
    fn check(&mut self, what: &str, recorded: &str, found: &str) {
        self.1 += 1;
        if recorded != found {
            self.0.push(format!("{what}\n  recorded {recorded}\n  found    {found}"));
        }
    }

    fn finish(self) {
        let Self(differences, cases) = self;
        let first = differences.iter().take(10).map(String::as_str).collect::<Vec<_>>().join("\n");
        assert!(differences.is_empty(), "{} of {cases} differ:\n{first}", differences.len());
    }
}

fn outcome<T>(result: Result<T, Trap>, show: impl FnOnce(T) -> String) -> String {
    match result {
        Ok(value) => show(value),
        Err(Trap::IllegalInstruction(_)) => "illegal".to_owned(),
        Err(trap) => format!("fault: {trap}"),
    }
}

#[test]
fn loads_are_those_of_hardware() {
    let recording = recording();
    let bench = Bench::new(&kernels());
    let mut differences = Differences(Vec::new(), 0);
    for (what, recorded) in lines(&recording, "load") {
        let (map, case) = what.split_once(" : ").expect("coordinates");
        let words: Vec<&str> = map.split(' ').collect();
        let map = tensor_map(&words, bench.pattern).expect("a map that the driver took");
        let case: Vec<&str> = case.split(' ').collect();
        let (coordinates, offsets) = (list::<i32>(case[0]), list::<u16>(case[1]));
        let dump = recorded.split(' ').nth(1).map_or(4096, number);
        let name = format!("load_{}_{}", words[0], coordinates.len());
        let case = Case {
            map: Some(&map),
            coordinates: &coordinates,
            offsets: &offsets,
            place: number(case[2]),
            dump,
            bytes: number(case[3]),
            input: bench.pattern,
        };
        let found = outcome(bench.run(&name, case), |(over, shared)| {
            format!("{} {dump} {:08x}", u8::from(over), crc(&shared))
        });
        differences.check(what, recorded, &found);
    }
    differences.finish();
}

#[test]
fn stores_are_those_of_hardware() {
    let recording = recording();
    let bench = Bench::new(&kernels());
    let mut differences = Differences(Vec::new(), 0);
    for (what, recorded) in lines(&recording, "store") {
        let (map, case) = what.split_once(" : ").expect("coordinates");
        let words: Vec<&str> = map.split(' ').collect();
        let map = tensor_map(&words, bench.region).expect("a map that the driver took");
        let (coordinates, place) = case.split_once(' ').expect("a place");
        let (coordinates, place) = (list::<i32>(coordinates), number::<u32>(place));
        bench.device.memory().write(bench.region, &[BEFORE_STORE; REGION]).expect("written");
        let name = format!("store_{}_{}", words[0], coordinates.len());
        let dump = if words[0] == "tiled" { place + 4096 } else { 8192 };
        let case = Case {
            map: Some(&map),
            coordinates: &coordinates,
            place,
            dump,
            input: bench.pattern,
            ..Case::default()
        };
        let found = outcome(bench.run(&name, case), |_| {
            let mut region = vec![0; REGION];
            bench.device.memory().read(bench.region, &mut region).expect("read");
            format!("{:08x}", crc(&region))
        });
        differences.check(what, recorded, &found);
    }
    differences.finish();
}

/// Bytes that a reduction works on.
const REDUCED: usize = 4096;

#[test]
fn reductions_are_those_of_hardware() {
    let recording = recording();
    let values: HashMap<usize, Vec<u64>> = recording
        .iter()
        .filter_map(|line| line.strip_prefix("values ")?.split_once(' '))
        .map(|(bits, list)| {
            let values = list.split(',').map(|v| u64::from_str_radix(v, 16).expect("hexadecimal"));
            (number(bits), values.collect())
        })
        .collect();
    let recorded = lines(&recording, "reduce");
    let mut kernels = kernels();
    for (what, _) in recorded.iter().filter(|(what, _)| what.starts_with("bulk")) {
        let operation = what.split(' ').nth(1).expect("an operation");
        let name = format!("bulk_{}", operation.replace('.', "_"));
        let instruction = format!(
            "mov.b32 %n, {REDUCED}; cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation} [%global], [%place], %n; {GROUP}"
        );
        kernels.push((name.clone(), kernel(&name, true, &instruction)));
    }
    let bench = Bench::new(&kernels);
    let input = bench.device.memory().allocate(REDUCED as u64).expect("memory");
    let mut differences = Differences(Vec::new(), 0);
    for (what, recorded) in recorded {
        let words: Vec<&str> = what.split(' ').collect();
        let ty = match words[0] {
            "tensor" => DataType::ALL[number::<usize>(words[2])].bytes() as usize,
            _ => {
                number::<usize>(
                    words[1].rsplit('.').next().expect("a type").trim_start_matches(char::is_alphabetic),
                ) / 8
            }
        };
        // Types of one byte have no values of their own, and no reductions.
        let values = &values[&(ty.max(2) * 8)];
        let pair = |i: usize| (values[i / values.len() % values.len()], values[i % values.len()]);
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for i in 0..REDUCED / ty {
            let (a, b) = pair(i);
            old.extend(&a.to_le_bytes()[..ty]);
            new.extend(&b.to_le_bytes()[..ty]);
        }
        bench.device.memory().write(bench.region, &old).expect("written");
        bench.device.memory().write(input, &new).expect("written");
        let row = 128 / ty as u64;
        let (map, name);
        match words[0] {
            "tensor" => {
                let tensor = format!("tiled {} 0 {row},32 128 1,1 0 0 0 0 {row},32", words[2]);
                let tensor: Vec<&str> = tensor.split(' ').collect();
                map = Some(tensor_map(&tensor, bench.region).expect("a map"));
                name = format!("reduce_{}_2", words[1]);
            }
            _ => {
                map = None;
                name = format!("bulk_{}", words[1].replace('.', "_"));
            }
        }
        let case =
            Case { map: map.as_ref(), coordinates: &[0, 0], dump: REDUCED as u32, input, ..Case::default() };
        let found = outcome(bench.run(&name, case), |_| {
            let mut bytes = vec![0; recorded.len() / 2];
            bench.device.memory().read(bench.region, &mut bytes).expect("read");
            bytes.iter().fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            })
        });
        differences.check(what, recorded, &found);
    }
    differences.finish();
}
