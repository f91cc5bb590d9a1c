//! A device as data: every number that the model uses, with its unit, its source and how far it may be off.
//!
//! `devices/NAME.toml` has rows: a table with `value`, `unit`, `source` and `uncertainty` is one, and its name is the path to it, as
//! `l2.latency`. Opcodes stand in groups: which pipes take them, for how long a pipe takes no other, and how long a result takes that a
//! scoreboard guards. A row that the model does not know, or that is missing, is an error. What a file does not say that is `like` another
//! is taken from there, and counts as guessed.

use std::collections::BTreeMap;
use toml::{Table, Value};

/// The devices that come along.
const KNOWN: [(&str, &str); 4] = [
    ("h100", include_str!("../devices/h100.toml")),
    ("h200", include_str!("../devices/h200.toml")),
    ("a100", include_str!("../devices/a100.toml")),
    ("rtx4090", include_str!("../devices/rtx4090.toml")),
];

/// Why a device's file or a change of it is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// No TOML.
    #[error("{0}")]
    Syntax(String),
    /// A row is not there.
    #[error("the device has no `{0}`")]
    Missing(String),
    /// A row that means nothing.
    #[error("`{0}` is no parameter of a device")]
    Unknown(String),
    /// A row without a number, unit, source or uncertainty, or a number that cannot be.
    #[error("`{0}`: {1}")]
    Wrong(String, &'static str),
}

/// A number of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The number.
    pub value: u64,
    /// What it counts.
    pub unit: String,
    /// Where it comes from: a table of measurements, a paper, or that it is guessed.
    pub source: String,
    /// How far it may be off.
    pub uncertainty: String,
}

macro_rules! parameters {
    ($($(#[$doc:meta])* $field:ident: $name:literal,)*) => {
        /// The numbers, by what they are to the model.
        #[derive(Clone, Debug, Default)]
        pub struct Parameters {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl Parameters {
            /// The rows that there must be.
            pub const NAMES: &[&str] = &[$($name,)*];

            fn of(rows: &BTreeMap<String, Row>) -> Result<Self, DeviceError> {
                let most = |name: &str| BOUNDED.iter().find(|(known, _)| *known == name).map_or(MOST, |(_, most)| *most);
                let value = |name: &str| match rows.get(name) {
                    None => Err(DeviceError::Missing(name.to_owned())),
                    Some(row) if row.value > most(name) => Err(DeviceError::Wrong(name.to_owned(), "is too large")),
                    Some(row) => Ok(row.value),
                };
                let parameters = Self { $($field: value($name)?,)* };
                // What is divided by, or of which there must be one.
                for name in POSITIVE {
                    if value(name)? == 0 {
                        return Err(DeviceError::Wrong((*name).to_owned(), "must not be zero"));
                    }
                }
                Ok(parameters)
            }
        }
    };
}

parameters! {
    /// The SM's clock, in MHz: for nanoseconds alone.
    clock: "gpu.clock",
    /// Streaming multiprocessors.
    sms: "gpu.sms",
    /// Sub-cores of an SM, each of which issues an instruction a cycle.
    sub_cores: "sm.sub_cores",
    /// Warps of an SM.
    warps: "sm.warps",
    /// CTAs of an SM.
    ctas: "sm.ctas",
    /// Registers of an SM.
    registers: "sm.registers",
    /// Registers of a warp are given in multiples of this.
    register_unit: "sm.register_unit",
    /// Bytes of shared memory that CTAs of an SM can have together.
    shared: "sm.shared",
    /// Bytes of shared memory are given in multiples of this.
    shared_unit: "sm.shared_unit",
    /// Bytes that the L1 and shared memory are cut from.
    l1_and_shared: "sm.l1_and_shared",
    /// Cycles from the launch to the first CTA's first instruction.
    launch: "launch.latency",
    /// Cycles from a CTA's exit to the next one's first instruction in its place.
    replace: "launch.replace",
    /// CTAs that the device places in a thousand cycles.
    place: "launch.ctas",
    /// Cycles from the last exit to the launch's end.
    drain: "launch.drain",
    /// Cycles from an instruction that control may leave by to the next one.
    branch: "issue.branch",
    /// Cycles from the last arrival at a barrier to the next instruction.
    barrier: "issue.barrier",
    /// Arrivals at barriers that an SM takes in a thousand cycles.
    arrivals: "issue.arrivals",
    /// Cycles for each further operand from one bank of registers.
    bank_conflict: "issue.bank_conflict",
    /// Cycles by which a bank of registers may be behind.
    bank_queue: "issue.bank_queue",
    /// Banks of registers.
    banks: "issue.banks",
    /// Instructions that the SM keeps.
    fetch_capacity: "fetch.capacity",
    /// Cycles to the next line of code that the SM does not have.
    fetch_miss: "fetch.miss",
    /// Cycles from a line of code that the SM has never had to the next.
    fetch_first: "fetch.first",
    /// Cycles to a line of a constant bank that the SM has never had.
    constant_miss: "constant.miss",
    /// Bytes of such a line.
    constant_line: "constant.line",
    /// Cycles for which a load by a register takes its pipe longer than one by a number.
    constant_indexed: "constant.indexed",
    /// Cycles for a thousand further words that lanes ask a constant bank for at once.
    constant_word: "constant.word",
    /// Instructions of a line of code.
    fetch_line: "fetch.line",
    /// Accesses to memory that a sub-core has issued and the SM's unit has not begun, at most.
    queue: "lsu.queue",
    /// Cycles from an access to where the unit for memory takes it.
    lsu: "lsu.latency",
    /// Cycles that a sub-core's own way to it is busy with a line, or a round of shared memory's banks.
    port: "lsu.port",
    /// Lines that the L1 looks up in a thousand cycles.
    tags: "l1.tags",
    /// Bytes that a hit gives in a cycle.
    l1_width: "l1.width",
    /// Ways of a set of the L1.
    l1_ways: "l1.ways",
    /// Sectors that an SM waits for from the L2, at most.
    outstanding: "l1.outstanding",
    /// Sectors that an SM asks for or writes in a thousand cycles.
    requests: "noc.requests",
    /// Cycles that the shared memory of another CTA takes more than the CTA's own.
    cluster: "cluster.latency",
    /// Sectors of other CTAs' shared memory that atomic operations of an SM change in a thousand cycles, one for each lane at one word.
    cluster_atomics: "cluster.atomics",
    /// Cycles from the last arrival at a cluster's barrier to the next instruction.
    cluster_barrier: "cluster.barrier",
    /// Sectors of reductions that an SM has under way, at most.
    reductions: "noc.reductions",
    /// Sectors of atomic operations that all SMs have on their way in a thousand cycles.
    changes: "noc.atomics",
    /// Of those of them that answer.
    answers: "noc.answers",
    /// Sectors that come back to an SM in a thousand cycles.
    responses: "noc.responses",
    /// SMs whose requests to the L2 go one way.
    group: "noc.group",
    /// Of those, how many one request serves.
    together: "noc.together",
    /// Cycles for which a request takes others in.
    window: "noc.window",
    /// Lines that stores bring in a thousand cycles.
    store_lines: "l1.store_lines",
    /// Cycles for which what a store brings waits for more to the same sectors, with none of its lines counted.
    store: "l1.store",
    /// By how much longer for each of its lines, in thousandths of a cycle.
    store_line: "l1.store_line",
    /// By how much later the answer of an atomic operation is there for each of its lines, in thousandths of a cycle.
    atomic_line: "l1.atomic_line",
    /// Lines that wait so, at most.
    store_queue: "l1.store_queue",
    /// Lines that copies in bulk of an SM ask for in a thousand cycles.
    bulk_rate: "noc.bulk",
    /// Cycles that a sector from the L2 takes more than one from the L1, with nothing in the way.
    l2: "l2.latency",
    /// Bytes of the L2 that one SM's data finds place in.
    l2_size: "l2.size",
    /// Ways of a set of the L2.
    l2_ways: "l2.ways",
    /// Slices of the L2.
    slices: "l2.slices",
    /// Slices that 4 KiB lie in.
    page_slices: "l2.page_slices",
    /// Sectors that a slice gives in a thousand cycles.
    slice_rate: "l2.slice_rate",
    /// Requests that a slice looks up in a thousand cycles.
    lookup_rate: "l2.lookup_rate",
    /// Sectors that a slice takes of stores in a thousand cycles.
    write_rate: "l2.write_rate",
    /// Sectors of atomic operations that a slice does in a thousand cycles.
    atomic_rate: "l2.atomic_rate",
    /// Atomic operations of lanes on one word that a slice does in a thousand cycles.
    same_rate: "l2.atomic_same",
    /// Cycles that a sector from memory takes more than one from the L2.
    dram: "dram.latency",
    /// Channels of the memory.
    channels: "dram.channels",
    /// Sectors that a channel gives in a thousand cycles.
    channel_rate: "dram.channel_rate",
    /// Sectors that come from memory together.
    granule: "dram.granule",
    /// Sectors that a launch reads from memory beside its code and what its threads ask for.
    launch_sectors: "dram.launch",
}

/// No number of a device is larger.
const MOST: u64 = 1 << 40;

/// What the model has places for, of each of which there may be so many.
const BOUNDED: &[(&str, u64)] = &[
    ("gpu.sms", 1 << 10),
    ("sm.sub_cores", 1 << 4),
    ("sm.warps", 1 << 10),
    ("sm.ctas", 1 << 8),
    ("sm.l1_and_shared", 1 << 20),
    ("issue.banks", 1 << 8),
    ("l2.size", 1 << 28),
    ("l2.slices", 1 << 12),
    ("l2.page_slices", 16),
    ("dram.channels", 1 << 12),
];

const POSITIVE: &[&str] = &[
    "gpu.clock",
    "gpu.sms",
    "sm.sub_cores",
    "sm.warps",
    "sm.ctas",
    "sm.register_unit",
    "sm.shared_unit",
    "launch.ctas",
    "issue.banks",
    "fetch.line",
    "constant.line",
    "lsu.queue",
    "l1.tags",
    "l1.width",
    "l1.ways",
    "l1.outstanding",
    "noc.requests",
    "noc.responses",
    "noc.reductions",
    "noc.atomics",
    "noc.answers",
    "noc.bulk",
    "noc.group",
    "noc.together",
    "noc.window",
    "l1.store_lines",
    "cluster.atomics",
    "l2.ways",
    "l2.slices",
    "l2.page_slices",
    "l2.slice_rate",
    "l2.write_rate",
    "l2.lookup_rate",
    "l2.atomic_rate",
    "l2.atomic_same",
    "dram.channels",
    "dram.channel_rate",
    "dram.granule",
];

/// What holds an instruction back whose pipe takes none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Throttle {
    /// A pipe for computing.
    Math,
    /// The queue to what sub-cores share.
    Mio,
}

/// A pipe.
#[derive(Clone, Debug)]
pub struct Pipe {
    /// Its name.
    pub name: String,
    /// Whether the SM has one, instead of each sub-core.
    pub is_shared: bool,
    /// Who waits for it is held back by what.
    pub throttle: Throttle,
}

/// Opcodes that are treated alike.
#[derive(Clone, Debug)]
pub struct Opcodes {
    /// Their names; one with modifiers goes before one without.
    pub names: Vec<String>,
    /// The pipes of which one takes each, or which all take it together, by their numbers.
    pub pipes: Vec<usize>,
    /// Whether all do.
    pub takes_all: bool,
    /// Cycles more than one for which no other instruction's operands are read.
    pub dispatch: u64,
    /// Cycles for which that takes no other.
    pub interval: u64,
    /// Cycles to a result that a scoreboard guards; of an access to memory, if the L1 has it.
    pub latency: u64,
    /// Rounds for which they take the unit for memory; accesses say it themselves, and take no less than these.
    pub rounds: u64,
    /// Where these come from.
    pub source: String,
    /// How far they may be off.
    pub uncertainty: String,
}

/// A device.
#[derive(Clone, Debug)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// The numbers, with where they come from.
    pub rows: BTreeMap<String, Row>,
    /// The numbers.
    pub parameters: Parameters,
    /// Its pipes.
    pub pipes: Vec<Pipe>,
    /// What they take.
    pub opcodes: Vec<Opcodes>,
    /// The SMs in the order in which they get the first CTAs.
    pub order: Vec<usize>,
    /// The SMs of each GPC that clusters go to, in the order in which they get them; none if that is not known.
    pub gpcs: Vec<Vec<usize>>,
}

fn text(table: &Table, key: &str, name: &str) -> Result<String, DeviceError> {
    let found = table.get(key).and_then(Value::as_str).map(str::to_owned);
    found.ok_or_else(|| {
        DeviceError::Wrong(name.to_owned(), "needs a unit, a source and an uncertainty, as texts")
    })
}

fn number(table: &Table, key: &str, name: &str) -> Result<u64, DeviceError> {
    let found = table.get(key).and_then(Value::as_integer).and_then(|value| u64::try_from(value).ok());
    found.ok_or_else(|| DeviceError::Wrong(name.to_owned(), "needs a number that is not negative"))
}

fn list(table: &Table, key: &str, name: &str) -> Result<Vec<String>, DeviceError> {
    let found = table.get(key).and_then(Value::as_array);
    let texts = found.map(|all| all.iter().filter_map(|it| it.as_str().map(str::to_owned)).collect());
    texts.ok_or_else(|| DeviceError::Wrong(name.to_owned(), "needs a list of names"))
}

/// Sections are two deep: `l2.latency`.
fn rows(table: &Table) -> Result<BTreeMap<String, Row>, DeviceError> {
    let mut rows = BTreeMap::new();
    for (section, inside) in table.iter().filter_map(|(name, inside)| Some((name, inside.as_table()?))) {
        for (key, row) in inside {
            let name = format!("{section}.{key}");
            if !Parameters::NAMES.contains(&name.as_str()) {
                return Err(DeviceError::Unknown(name));
            }
            let row = row.as_table().ok_or_else(|| DeviceError::Wrong(name.clone(), "is no row"))?;
            let value = number(row, "value", &name)?;
            let [unit, source, uncertainty] =
                ["unit", "source", "uncertainty"].map(|key| text(row, key, &name));
            rows.insert(name, Row { value, unit: unit?, source: source?, uncertainty: uncertainty? });
        }
    }
    Ok(rows)
}

/// A pipe of a file.
fn pipe(table: &Table) -> Result<Pipe, DeviceError> {
    let name = text(table, "name", "pipes")?;
    let throttle = match text(table, "throttle", &name)?.as_str() {
        "math" => Throttle::Math,
        "mio" => Throttle::Mio,
        _ => return Err(DeviceError::Wrong(name, "throttles `math` or `mio`")),
    };
    let is_shared = table.get("shared").and_then(Value::as_bool).unwrap_or(false);
    Ok(Pipe { name, is_shared, throttle })
}

/// A group of opcodes, which go through such pipes.
fn opcode_group(group: &Table, pipes: &[Pipe]) -> Result<Opcodes, DeviceError> {
    let names = list(group, "names", "opcodes")?;
    let name = names.first().cloned().unwrap_or_default();
    let taken = list(group, "pipes", &name)?;
    let numbers = taken.iter().map(|taken| pipes.iter().position(|pipe| pipe.name == *taken));
    let numbers: Option<Vec<usize>> = numbers.collect();
    let numbers = numbers.filter(|all| !all.is_empty());
    let numbers = numbers.ok_or_else(|| DeviceError::Wrong(name.clone(), "names no pipe that there is"))?;
    let [latency, rounds, dispatch] =
        ["latency", "rounds", "dispatch"].map(|key| match group.contains_key(key) {
            true => number(group, key, &name),
            false => Ok(0),
        });
    let (latency, rounds, dispatch) = (latency?, rounds?, dispatch?);
    let interval = number(group, "interval", &name)?;
    if latency.max(interval).max(rounds).max(dispatch) > MOST {
        return Err(DeviceError::Wrong(name, "is too large"));
    }
    let [source, uncertainty] = ["source", "uncertainty"].map(|key| text(group, key, &name));
    Ok(Opcodes {
        names,
        pipes: numbers,
        takes_all: group.get("all").and_then(Value::as_bool).unwrap_or(false),
        dispatch,
        interval,
        latency,
        rounds,
        source: source?,
        uncertainty: uncertainty?,
    })
}

impl Device {
    /// One that comes along.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn named(name: &str) -> Result<Self, DeviceError> {
        let found = KNOWN.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        Self::read(found.ok_or_else(|| DeviceError::Missing(format!("file of {name}")))?.1)
    }

    /// The names of those that come along.
    pub fn names() -> impl Iterator<Item = &'static str> {
        KNOWN.iter().map(|(name, _)| *name)
    }

    /// One that a file describes.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(file: &str) -> Result<Self, DeviceError> {
        let table: Table =
            file.parse().map_err(|error: toml::de::Error| DeviceError::Syntax(error.to_string()))?;
        let of = |key: &str| table.get(key).and_then(Value::as_array).map_or(&[][..], |all| all);
        let base = table.get("like").map(|like| match like.as_str() {
            Some(name) => Self::named(name),
            None => Err(DeviceError::Wrong("like".to_owned(), "names a device that comes along")),
        });
        let base = base.transpose()?;
        let mut rows = rows(&table)?;
        let mut pipes =
            of("pipes").iter().filter_map(Value::as_table).map(pipe).collect::<Result<Vec<_>, _>>()?;
        if let Some(base) = base.as_ref().filter(|_| pipes.is_empty()) {
            pipes.clone_from(&base.pipes);
        }
        let groups = of("opcodes").iter().filter_map(Value::as_table);
        let mut opcodes = groups.map(|group| opcode_group(group, &pipes)).collect::<Result<Vec<_>, _>>()?;
        if let Some(base) = &base {
            let unknown = || "unknown".to_owned();
            for (name, row) in &base.rows {
                let source = base.as_guess(&row.source);
                rows.entry(name.clone()).or_insert_with(|| Row {
                    source,
                    uncertainty: unknown(),
                    ..row.clone()
                });
            }
            // Pipes by their names, since a file may have others; its own groups go before.
            for group in &base.opcodes {
                let named = group.pipes.iter().map(|&pipe| &base.pipes[pipe].name);
                let taken = named.map(|name| pipes.iter().position(|pipe| pipe.name == *name));
                let Some(taken) = taken.collect::<Option<Vec<_>>>() else {
                    return Err(DeviceError::Wrong(group.names.join(" "), "names no pipe that there is"));
                };
                let source = base.as_guess(&group.source);
                opcodes.push(Opcodes { pipes: taken, source, uncertainty: unknown(), ..group.clone() });
            }
        }
        let parameters = Parameters::of(&rows)?;
        // Which SMs a chip has is its own.
        let sms = |of: &[Value]| {
            of.iter().map(|sm| usize::try_from(sm.as_integer()?).ok()).collect::<Option<Vec<usize>>>()
        };
        let order = sms(of("order"));
        let order = order.ok_or_else(|| DeviceError::Wrong("order".to_owned(), "is a list of SMs"))?;
        let gpcs = of("gpcs").iter().map(|gpc| sms(gpc.as_array()?)).collect::<Option<Vec<_>>>();
        let gpcs = gpcs.ok_or_else(|| DeviceError::Wrong("gpcs".to_owned(), "are lists of SMs"))?;
        Ok(Self { name: text(&table, "name", "name")?, rows, parameters, pipes, opcodes, order, gpcs })
    }

    /// The source of a number that another device takes from this one.
    fn as_guess(&self, source: &str) -> String {
        format!("guessed: as {}: {source}", self.name)
    }

    /// Changes a number: `l2.latency=300`, or of an opcode `MUFU.interval=4`, `MUFU.latency=20`.
    ///
    /// # Errors
    /// If there is none of that name, or it cannot be that.
    pub fn set(&mut self, change: &str) -> Result<(), DeviceError> {
        let wrong = |why| DeviceError::Wrong(change.to_owned(), why);
        let (name, value) =
            change.split_once('=').ok_or_else(|| wrong("is no change: `name=number` is one"))?;
        let value = value.trim().parse().ok().filter(|&value| value <= MOST);
        let value: u64 = value.ok_or_else(|| wrong("needs a number that is not negative"))?;
        let name = name.trim();
        if let Some(row) = self.rows.get_mut(name) {
            row.value = value;
            (row.source, row.uncertainty) = ("the command line".to_owned(), "none".to_owned());
            self.parameters = Parameters::of(&self.rows)?;
            return Ok(());
        }
        let unknown = || DeviceError::Unknown(name.to_owned());
        let (opcode, what) = name.rsplit_once('.').ok_or_else(unknown)?;
        // The opcode gets a group of its own, so that its fellows stay as they are.
        let mut group = self
            .opcodes(opcode)
            .filter(|group| group.names.iter().any(|it| it == opcode))
            .cloned()
            .ok_or_else(unknown)?;
        match what {
            "interval" => group.interval = value,
            "latency" => group.latency = value,
            _ => return Err(unknown()),
        }
        group.names = vec![opcode.to_owned()];
        "the command line".clone_into(&mut group.source);
        self.opcodes.insert(0, group);
        Ok(())
    }

    /// What is known of an opcode: of its name with as many modifiers as anything is known of.
    #[must_use]
    pub fn opcodes(&self, head: &str) -> Option<&Opcodes> {
        let mut name = head;
        loop {
            if let Some(found) = self.opcodes.iter().find(|group| group.names.iter().any(|it| it == name)) {
                return Some(found);
            }
            name = name.rsplit_once('.')?.0;
        }
    }
}
