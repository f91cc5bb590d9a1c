//! What an H200 and its driver did for tensor maps, tensor copies and bulk reductions: `crates/machine/tests/hardware/tensor_copies.gz`.
//!
//! | line | what was recorded |
//! | --- | --- |
//! | `encode MAP = WORDS` | the object that the driver makes of arguments, or that it refuses them |
//! | `load MAP : COORDINATES OFFSETS PLACE BYTES = DONE LENGTH CRC` | shared memory after a load, and whether an mbarrier object that expected these bytes saw its phase end |
//! | `store MAP : COORDINATES PLACE = CRC` | global memory after a store |
//! | `values BITS LIST` | operands of reductions: every pair of them |
//! | `reduce tensor\|bulk OP TYPE = RESULTS` | global memory after a reduction |
//!
//! `illegal` in place of a result is a fault: an illegal instruction. LENGTH is how much of shared memory was looked at. MAP is the mode, and then the arguments of the driver's functions in their
//! order. The maps of `encode` change one argument at a time, or two of those that depend on one another, or are random; those
//! of copies are of small random tensors, with coordinates in and around them.

use std::collections::HashMap;
use std::str::FromStr;

/// Bytes of the pattern in global memory, and of the region that stores write to.
const PATTERN: usize = 1 << 20;
const REGION: usize = 1 << 16;
/// What the region holds before a store. Before a load shared memory holds the byte 0xee.
const BEFORE_STORE: u8 = 0x11;
/// Bytes that a reduction works on.
const REDUCED: u32 = 4096;
/// Bytes of what a kernel writes at most.
const OUTPUT: usize = 1 << 17;
/// Dynamic shared memory of a kernel that loads: so much that a CTA has its SM for itself.
const LOADED: u32 = 100 << 10;

/// The arguments of a tensor map, as numbers of the driver's interface.
#[derive(Clone, Debug)]
pub struct Map {
    /// `CUtensorMapDataType`.
    pub ty: u32,
    /// The tensor's address, from where copies begin.
    pub address: u64,
    /// Elements along each dimension.
    pub sizes: Vec<u64>,
    /// Bytes between elements, of each dimension but the first.
    pub strides: Vec<u64>,
    /// Of how many elements one is taken, by dimension.
    pub element_strides: Vec<u32>,
    /// `CUtensorMapInterleave`, `CUtensorMapSwizzle`, `CUtensorMapL2promotion`, `CUtensorMapFloatOOBfill`.
    pub enums: [u32; 4],
    /// What a copy takes.
    pub mode: Mode,
}

/// What a copy takes of a tensor.
#[derive(Clone, Debug)]
pub enum Mode {
    /// A box of so many elements along each dimension.
    Tiled(Vec<u32>),
    /// Columns of pixels.
    Im2col {
        /// The corners of the bounding box.
        lower: Vec<i32>,
        /// The corners of the bounding box, from the other end.
        upper: Vec<i32>,
        /// Channels of a pixel.
        channels: u32,
        /// Pixels of a column.
        pixels: u32,
    },
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

impl Map {
    fn parse(text: &str) -> Self {
        let words: Vec<&str> = text.split(' ').collect();
        Map {
            ty: number(words[1]),
            address: number(words[2]),
            sizes: list(words[3]),
            strides: list(words[4]),
            element_strides: list(words[5]),
            enums: [6, 7, 8, 9].map(|i| number(words[i])),
            mode: match words[0] {
                "tiled" => Mode::Tiled(list(words[10])),
                _ => Mode::Im2col {
                    lower: list(words[10]),
                    upper: list(words[11]),
                    channels: number(words[12]),
                    pixels: number(words[13]),
                },
            },
        }
    }

    fn mode(&self) -> &'static str {
        match self.mode {
            Mode::Tiled(_) => "tiled",
            Mode::Im2col { .. } => "im2col",
        }
    }
}

/// Why a case has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The kernel faulted: an illegal instruction.
    Illegal,
    /// Anything else.
    Other(String),
}

/// What runs cases: the machine, or a GPU.
pub trait Engine {
    /// A tensor map whose tensor has its address from `base` on; nothing if the arguments are refused.
    fn encode(&self, map: &Map, base: u64) -> Option<[u8; 128]>;
    /// Memory of so many bytes.
    ///
    /// # Errors
    /// If there is none.
    fn allocate(&self, bytes: usize) -> Result<u64, Failure>;
    /// Writes memory.
    ///
    /// # Errors
    /// If it cannot be written.
    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Failure>;
    /// Reads memory.
    ///
    /// # Errors
    /// If it cannot be read.
    fn read(&self, address: u64, bytes: usize) -> Result<Vec<u8>, Failure>;
    /// Runs one warp to its end, with dynamic shared memory and parameters.
    ///
    /// # Errors
    /// If the kernel faults.
    fn run(&self, kernel: &str, shared: u32, parameters: &[&[u8]]) -> Result<(), Failure>;
}

/// The cases of a recording, each with its result.
pub fn cases(recording: &str) -> impl Iterator<Item = (&str, &str)> {
    recording.lines().filter_map(|line| line.split_once(" = "))
}

/// An engine with the kernels and memory that cases need.
#[derive(Debug)]
pub struct Bench<E> {
    /// Who runs them.
    pub engine: E,
    pattern: u64,
    region: u64,
    arguments: u64,
    output: u64,
    source: u64,
    values: HashMap<usize, Vec<u64>>,
}

/// What a case passes to its kernel.
#[derive(Clone, Copy, Default)]
struct Call<'a> {
    map: Option<[u8; 128]>,
    coordinates: &'a [i32],
    offsets: &'a [u16],
    place: u32,
    dump: u32,
    bytes: u32,
    shared: u32,
    input: u64,
}

impl<E: Engine> Bench<E> {
    /// Memory for the cases of a recording, on an engine that has [`module`] loaded.
    ///
    /// # Errors
    /// If there is no memory.
    pub fn new(engine: E, recording: &str) -> Result<Self, Failure> {
        let (pattern, region) = (engine.allocate(PATTERN)?, engine.allocate(REGION)?);
        let (arguments, output) = (engine.allocate(64)?, engine.allocate(OUTPUT)?);
        let source = engine.allocate(REDUCED as usize)?;
        let words = (0..PATTERN as u32 / 4).flat_map(|i| i.wrapping_mul(0x9e37_79b1).to_le_bytes());
        engine.write(pattern, &words.collect::<Vec<_>>())?;
        let values = recording.lines().filter_map(|line| {
            let (bits, list) = line.strip_prefix("values ")?.split_once(' ')?;
            let values = list.split(',').map(|v| u64::from_str_radix(v, 16).expect("hexadecimal"));
            Some((number(bits), values.collect()))
        });
        Ok(Self { engine, pattern, region, arguments, output, source, values: values.collect() })
    }

    /// The result of a case, as a recording has it. Of the recorded result only the length counts, if it has one.
    ///
    /// # Errors
    /// If the engine fails otherwise than by an illegal instruction.
    pub fn result(&self, case: &str, recorded: &str) -> Result<String, String> {
        let (kind, what) = case.split_once(' ').expect("a kind");
        let result = match kind {
            "encode" => {
                let object = self.engine.encode(&Map::parse(what), 0);
                Ok(object
                    .map_or("refused".to_owned(), |object| hex(&object).trim_end_matches('0').to_owned()))
            }
            "load" => self.load(what, recorded.split(' ').nth(1).map(number)),
            "store" => self.store(what),
            "reduce" => self.reduce(what),
            _ => panic!("{kind}"),
        };
        match result {
            Err(Failure::Illegal) => Ok("illegal".to_owned()),
            Err(Failure::Other(why)) => Err(why),
            Ok(text) => Ok(text),
        }
    }

    fn encoded(&self, map: &Map, base: u64) -> Result<Option<[u8; 128]>, Failure> {
        let object = self.engine.encode(map, base);
        object.map(Some).ok_or_else(|| Failure::Other("the map is refused".to_owned()))
    }

    fn load(&self, what: &str, length: Option<u32>) -> Result<String, Failure> {
        let (map, case) = what.split_once(" : ").expect("coordinates");
        let map = Map::parse(map);
        let words: Vec<&str> = case.split(' ').collect();
        let (coordinates, offsets) = (list::<i32>(words[0]), list::<u16>(words[1]));
        let (place, bytes) = (number::<u32>(words[2]), number::<u32>(words[3]));
        // What lies behind the box as well, in case more is written.
        let dump = length.unwrap_or_else(|| (place + (2 * bytes).min(8192) + 256).next_multiple_of(128));
        let call = Call {
            map: self.encoded(&map, self.pattern)?,
            coordinates: &coordinates,
            offsets: &offsets,
            place,
            dump,
            bytes,
            shared: LOADED,
            input: self.pattern,
        };
        let (over, shared) = self.run(&format!("load_{}_{}", map.mode(), coordinates.len()), call)?;
        Ok(format!("{} {dump} {:08x}", u8::from(over), crate::crc(&shared)))
    }

    fn store(&self, what: &str) -> Result<String, Failure> {
        let (map, case) = what.split_once(" : ").expect("coordinates");
        let map = Map::parse(map);
        let (coordinates, place) = case.split_once(' ').expect("a place");
        let (coordinates, place) = (list::<i32>(coordinates), number::<u32>(place));
        self.engine.write(self.region, &[BEFORE_STORE; REGION])?;
        let call = Call {
            map: self.encoded(&map, self.region)?,
            coordinates: &coordinates,
            place,
            dump: if matches!(map.mode, Mode::Tiled(_)) { place + 4096 } else { 8192 },
            input: self.pattern,
            ..Call::default()
        };
        self.run(&format!("store_{}_{}", map.mode(), coordinates.len()), call)?;
        Ok(format!("{:08x}", crate::crc(&self.engine.read(self.region, REGION)?)))
    }

    fn reduce(&self, what: &str) -> Result<String, Failure> {
        const SIZES: [usize; 13] = [1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4];
        let words: Vec<&str> = what.split(' ').collect();
        let (kind, operation) = (words[0], words[1]);
        let bytes = match kind {
            "tensor" => SIZES[number::<usize>(words[2])],
            _ => {
                let ty = operation.rsplit('.').next().expect("a type");
                number::<usize>(ty.trim_start_matches(char::is_alphabetic)) / 8
            }
        };
        // Types of one byte have no values of their own, and no reductions.
        let values = &self.values[&(bytes.max(2) * 8)];
        let n = values.len();
        let fill = |pick: &dyn Fn(usize) -> usize| -> Vec<u8> {
            let elements = (0..REDUCED as usize / bytes).map(|i| values[pick(i)].to_le_bytes());
            elements.flat_map(|element| element.into_iter().take(bytes)).collect()
        };
        self.engine.write(self.region, &fill(&|i| i / n % n))?;
        self.engine.write(self.source, &fill(&|i| i % n))?;
        let row = 128 / bytes;
        let (map, kernel) = match kind {
            "tensor" => {
                let map = Map::parse(&format!("tiled {} 0 {row},32 128 1,1 0 0 0 0 {row},32", words[2]));
                (self.encoded(&map, self.region)?, format!("reduce_{operation}_2"))
            }
            _ => (None, bulk_kernel(operation)),
        };
        let call = Call { map, coordinates: &[0, 0], dump: REDUCED, input: self.source, ..Call::default() };
        self.run(&kernel, call)?;
        Ok(hex(&self.engine.read(self.region, (n * n * bytes).min(REDUCED as usize))?))
    }

    /// Runs a kernel: whether the phase was over, and what shared memory held.
    fn run(&self, kernel: &str, call: Call<'_>) -> Result<(bool, Vec<u8>), Failure> {
        let mut arguments = vec![0; 64];
        for (i, coordinate) in call.coordinates.iter().enumerate() {
            arguments[4 * i..][..4].copy_from_slice(&coordinate.to_le_bytes());
        }
        for (i, offset) in call.offsets.iter().enumerate() {
            arguments[20 + 2 * i..][..2].copy_from_slice(&offset.to_le_bytes());
        }
        self.engine.write(self.arguments, &arguments)?;
        let map = call.map.unwrap_or([0; 128]);
        let addresses = [self.arguments, self.output, call.input, self.region].map(u64::to_le_bytes);
        let [arguments, output, input, region] = &addresses;
        let [place, dump, bytes] = &[call.place, call.dump, call.bytes].map(u32::to_le_bytes);
        let parameters: [&[u8]; 8] = [&map, arguments, output, input, place, dump, bytes, region];
        let shared = (call.dump + 1024).max(4096).max(call.shared);
        self.engine.run(kernel, shared, &parameters)?;
        let mut out = self.engine.read(self.output, 16 + call.dump as usize)?;
        Ok((out[0] != 0, out.split_off(16)))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bulk_kernel(operation: &str) -> String {
    format!("bulk_{}", operation.replace('.', "_"))
}

/// A kernel around one instruction. It fills `dump` bytes of shared memory, from `input` or with 0xee, and lets
/// thread 0 copy. Then it waits for what no mbarrier object tells, and writes out shared memory and whether the phase of the mbarrier
/// object is over.
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
            .reg .pred %p, %q; .reg .b64 %map, %arguments, %output, %input, %global, %x, %now, %then, %token;
            .reg .b32 %i, %v, %place, %dump, %bytes, %tile, %bar, %n, %c<5>; .reg .b16 %o<3>;
            mov.b64 %map, map; cvta.param.u64 %map, %map;
            ld.param.b64 %arguments, [arguments]; ld.param.b64 %output, [output]; ld.param.b64 %input, [input];
            ld.param.b32 %place, [place]; ld.param.b32 %dump, [dump]; ld.param.b32 %bytes, [bytes];
            ld.param.b64 %global, [global];
            ld.global.b32 %c0, [%arguments]; ld.global.b32 %c1, [%arguments+4]; ld.global.b32 %c2, [%arguments+8];
            ld.global.b32 %c3, [%arguments+12]; ld.global.b32 %c4, [%arguments+16];
            ld.global.b16 %o0, [%arguments+20]; ld.global.b16 %o1, [%arguments+22]; ld.global.b16 %o2, [%arguments+24];
            mov.b32 %bar, bar; mov.b32 %tile, memory; mov.u32 %i, %tid.x; shl.b32 %i, %i, 2;
        fill:
            setp.ge.u32 %p, %i, %dump; @%p bra filled;
            {fill}
            add.u32 %n, %tile, %i; st.shared.b32 [%n], %v; add.u32 %i, %i, 128; bra fill;
        filled:
            add.u32 %place, %tile, %place; mov.u32 %i, %tid.x; setp.ne.u32 %p, %i, 0;
            @!%p mbarrier.init.shared.b64 [%bar], 1;
            fence.proxy.async; fence.mbarrier_init.release.cluster; bar.sync 0; @%p bra copied;
            {instruction}
        copied:
            mov.u64 %then, %globaltimer;
        wait:
            nanosleep.u32 1000; mov.u64 %now, %globaltimer; sub.u64 %now, %now, %then; setp.lt.u64 %q, %now, 30000;
            @%q bra wait;
            bar.sync 0; shl.b32 %i, %i, 2;
        copy:
            setp.ge.u32 %q, %i, %dump; @%q bra done;
            add.u32 %n, %tile, %i; ld.shared.b32 %v, [%n];
            cvt.u64.u32 %x, %i; add.u64 %x, %x, %output; st.global.b32 [%x+16], %v; add.u32 %i, %i, 128; bra copy;
        done:
            @%p ret;
            mbarrier.arrive.expect_tx.shared.b64 %token, [%bar], %bytes;
            mbarrier.test_wait.parity.shared.b64 %q, [%bar], 0;
            selp.b32 %v, 1, 0, %q; st.global.b32 [%output], %v;
            ret;
        }}\n"
    )
}

/// A module with the kernels of a recording's cases.
pub fn module(recording: &str) -> String {
    const GROUP: &str = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;";
    let mut text =
        ".version 8.6\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 memory[];\n"
            .to_owned();
    for rank in 1..=5 {
        let at = (0..rank).map(|i| format!("%c{i}")).collect::<Vec<_>>().join(", ");
        let at = format!("[%map, {{{at}}}]");
        let copy = format!("cp.async.bulk.tensor.{rank}d");
        let load = "mbarrier::complete_tx::bytes [%place]";
        let to = format!("bulk_group {at}, [%place]; {GROUP}");
        let tile = format!("{copy}.shared::cluster.global.tile.{load}, {at}, [%bar];");
        text += &kernel(&format!("load_tiled_{rank}"), false, &tile);
        text +=
            &kernel(&format!("store_tiled_{rank}"), true, &format!("{copy}.global.shared::cta.tile.{to}"));
        if rank >= 3 {
            let offsets = (0..rank - 2).map(|i| format!("%o{i}")).collect::<Vec<_>>().join(", ");
            let load = format!("{copy}.shared::cluster.global.im2col.{load}, {at}, [%bar], {{{offsets}}};");
            text += &kernel(&format!("load_im2col_{rank}"), false, &load);
            let store = format!("{copy}.global.shared::cta.im2col_no_offs.{to}");
            text += &kernel(&format!("store_im2col_{rank}"), true, &store);
        }
        if rank == 2 {
            for by in ["add", "min", "max", "inc", "dec", "and", "or", "xor"] {
                let reduce = format!("cp.reduce.async.bulk.tensor.2d.global.shared::cta.{by}.tile.{to}");
                text += &kernel(&format!("reduce_{by}_2"), true, &reduce);
            }
        }
    }
    for (case, _) in cases(recording) {
        let Some(what) = case.strip_prefix("reduce bulk ") else { continue };
        let operation = what.split(' ').next().unwrap_or(what);
        let reduce = format!(
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation} [%global], [%place], %dump; {GROUP}"
        );
        text += &kernel(&bulk_kernel(operation), true, &reduce);
    }
    text
}
