//! Control codes where an instruction waits for what it needs and no longer. The order is given.
//!
//! - One of fixed latency says nothing; who reads its result is issued that many cycles later, which the stall count of the
//!   instruction in front of the reader sees to. The numbers are those that [an H200 gave](../../../sass/latencies/sm_90.latency), within
//!   a pipe and between pipes; a guard is read early and so waits longest.
//! - One of variable latency names a scoreboard, which is one that nothing waits for, or else the one that was taken first. Who reads or
//!   writes what a scoreboard guards waits for it. Operands have one of their own only if they are overwritten before the result
//!   is waited for.
//! - What lanes and warps meet at touches no register, and waits for none.
//! - Who counts what is under way has the first scoreboard for itself, in a kernel with such waits.
//! - Products of warpgroups wait for their operands, and [`products`](crate::products) sees to who waits for them.
//! - All others are serial: they wait for everything, and everything waits for them. What reads uniform registers is among them.
//!
//! What scoreboards guard at the end of a block they guard in those that follow. What has a fixed latency is there at the end of a block,
//! if another one reads it.

use super::kinds::{Latency, Pipe, guard_cycles, latency};
use super::{Issue, serial};
use crate::allocate::{Allocation, Block, Units, blocks, live_out, operand_units};
use crate::code::{self, Code, Instruction, Line, Operand, Reg};
use crate::products::ARRIVE;
use rustc_hash::FxHashMap as HashMap;
use sass::latency::{Class, Consumer, Latencies};

/// Cycles until a result is read in the pipe that made it, and in another.
const NEAR_CYCLES: u64 = 4;
const FAR_CYCLES: u64 = 5;
/// Of doubles ptxas leaves 10 where other units read them.
const DOUBLE_CYCLES: u64 = 10;
/// More, if units for 64-bit floats or of variable latency read it: ptxas leaves 6 altogether, and with 5 an H100 read old values.
const MORE_CYCLES: u64 = 1;
/// The most that a stall count can say.
const MOST: u64 = 15;
/// The same with two `NOP`s behind it.
const LONGEST: u64 = 3 * MOST;
/// Behind a product of matrices: until the next one, and until what it reads may be written.
const PRODUCT_STALL: u64 = 6;
const PRODUCT_READS: u64 = 7;
/// Until a product reads what another pipe computed.
const PRODUCT_CYCLES: u64 = 7;
/// Behind a branch, as ptxas has it.
const BRANCH_STALL: u64 = 5;
/// Behind a barrier. ptxas leaves no fewer in front of an access to memory; with 5 an H100 went past the barrier.
const MEETING_STALL: u64 = 6;
/// Between one that sets a scoreboard and who waits for it.
const SCOREBOARD_STALL: u64 = 2;
/// Until what came to a uniform register is read: ptxas leaves 12 or 13.
const UNIFORM_CYCLES: u64 = 13;
/// The same of what the uniform pipe computed, for pipes that an H200 was asked of.
const UNIFORM_NEAR_CYCLES: u64 = 6;
/// The same of what was loaded or copied there: one cycle is enough for these pipes, ptxas leaves two. In front of an address it leaves 6.
const UNIFORM_LOAD_CYCLES: u64 = 2;
const UNIFORM_LOAD_FAR_CYCLES: u64 = 6;
/// Behind a product of a warpgroup: ptxas leaves 3 in front of a wait.
const GROUP_STALL: u64 = 4;
const BOARDS: usize = 6;

/// A general register, or a predicate, or a uniform register; those that instructions name themselves are one.
type Unit = u32;
const PREDICATES: Unit = 256;
const UNIFORM: Unit = 512;
const UNITS: usize = UNIFORM as usize + 64;

fn is_predicate(unit: Unit) -> bool {
    (PREDICATES..UNIFORM).contains(&unit)
}

/// Some of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Set([u64; UNITS / 64]);

impl Set {
    fn contains(&self, unit: Unit) -> bool {
        self.0[unit as usize / 64] >> (unit % 64) & 1 == 1
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn join(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(own, more)| *own |= more);
    }
}

impl<'a> Extend<&'a Unit> for Set {
    fn extend<T: IntoIterator<Item = &'a Unit>>(&mut self, units: T) {
        units.into_iter().for_each(|unit| self.0[*unit as usize / 64] |= 1 << (unit % 64));
    }
}

/// What a scoreboard guards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Board {
    results: Set,
    /// Operands that are still to be read.
    operands: Set,
}

impl Board {
    fn is_free(&self) -> bool {
        self.results.is_empty() && self.operands.is_empty()
    }
}

/// The scoreboards, where blocks meet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Boards {
    boards: [Board; BOARDS],
    /// Those that guard everything.
    all: u8,
}

impl Boards {
    /// Takes in what comes from another block; whether that is new.
    fn join(&mut self, other: &Self) -> bool {
        let before = self.clone();
        self.all |= other.all;
        for (own, more) in self.boards.iter_mut().zip(&other.boards) {
            own.results.join(&more.results);
            own.operands.join(&more.operands);
        }
        *self != before
    }

    /// Those that guard results, which are there from now on; but for one.
    fn await_results(&mut self, but: Option<usize>) -> u8 {
        let mut mask = 0;
        for (board, guarded) in self.boards.iter_mut().enumerate() {
            if Some(board) != but && !guarded.results.is_empty() {
                mask |= 1 << board;
                *guarded = Board::default();
            }
        }
        mask
    }

    /// The scoreboards that a reader of some registers and writer of others waits for.
    fn waits(&mut self, reads: &[Unit], writes: &[Unit]) -> u8 {
        let mut mask = std::mem::take(&mut self.all);
        for (board, guarded) in self.boards.iter_mut().enumerate() {
            let touched =
                writes.iter().any(|&it| guarded.results.contains(it) || guarded.operands.contains(it))
                    || reads.iter().any(|&it| guarded.results.contains(it));
            if touched {
                mask |= 1 << board;
            }
            if mask >> board & 1 == 1 {
                *guarded = Board::default();
            }
        }
        mask
    }
}

/// Who reads, for the device's table.
#[derive(Clone, Copy)]
struct Reader {
    latencies: Option<&'static Latencies>,
    class: Option<Class>,
}

/// A result of fixed latency that is under way.
#[derive(Clone, Copy)]
struct Coming {
    pipe: Pipe,
    /// What the device's table calls who computes it.
    class: Option<Class>,
    at: u64,
    /// When it can be read as a guard.
    guard: u64,
}

impl Coming {
    /// When a reader can be issued, by the device's table.
    fn by_table(self, reader: &Reader, consumer: Consumer) -> u64 {
        let cycles =
            reader.latencies.zip(self.class).and_then(|(table, class)| table.cycles(class, consumer));
        self.at + u64::from(cycles.unwrap_or(0))
    }

    /// When a reader of a register can be issued.
    fn due(self, pipe: Option<Pipe>, reader: &Reader, unit: Unit) -> u64 {
        let consumer = match is_predicate(unit) {
            true => Consumer::Predicate(reader.class),
            false => Consumer::Class(reader.class),
        };
        self.by_pipes(pipe).max(self.by_table(reader, consumer))
    }

    /// When a reader of a pipe can be issued; of variable latency if it has none.
    fn by_pipes(self, reader: Option<Pipe>) -> u64 {
        let same = reader == Some(self.pipe) && self.pipe != Pipe::Wide && self.pipe != Pipe::Halves;
        let cycles = match (self.pipe, reader) {
            (Pipe::Matrices(cycles), _) => return self.at + u64::from(cycles),
            (Pipe::Doubles, _) => DOUBLE_CYCLES,
            (Pipe::UniformLoad | Pipe::Uniform, _) => return self.at + uniform_cycles(self.pipe, reader),
            (_, Some(Pipe::Matrices(_))) => PRODUCT_CYCLES,
            _ if same => NEAR_CYCLES,
            _ => FAR_CYCLES,
        };
        let far = matches!(reader, None | Some(Pipe::Doubles));
        self.at + cycles + if far { MORE_CYCLES } else { 0 }
    }
}

/// Cycles until a uniform register that a pipe writes is read.
fn uniform_cycles(pipe: Pipe, reader: Option<Pipe>) -> u64 {
    let is_near = matches!(reader, Some(Pipe::Integer | Pipe::Products | Pipe::Wide | Pipe::Doubles));
    match (pipe, reader) {
        (Pipe::UniformLoad, Some(Pipe::Uniform)) => UNIFORM_LOAD_CYCLES,
        (Pipe::UniformLoad, _) if is_near => UNIFORM_LOAD_CYCLES,
        (Pipe::UniformLoad, _) => UNIFORM_LOAD_FAR_CYCLES,
        (_, Some(Pipe::Uniform)) => NEAR_CYCLES,
        _ if is_near => UNIFORM_NEAR_CYCLES,
        _ => UNIFORM_CYCLES,
    }
}

/// A control code while it is made.
#[derive(Clone, Copy)]
struct Control {
    waits: u8,
    operands: Option<usize>,
    results: Option<usize>,
    stall: u64,
}

impl Control {
    fn issue(mut self) -> Issue {
        let mut rest = self.stall.saturating_sub(MOST);
        self.stall -= rest;
        let mut pauses = Vec::new();
        while rest > 0 {
            let stall = rest.min(MOST);
            pauses.push(Self { waits: 0, operands: None, results: None, stall }.code());
            rest -= stall;
        }
        Issue { control: self.code(), pauses }
    }

    fn code(self) -> sass::Control {
        let board = |board: usize| board as u8;
        sass::Control {
            wait_mask: self.waits,
            read_scoreboard: self.operands.map(board),
            write_scoreboard: self.results.map(board),
            // A long stall needs the bit for it to be 0.
            yield_flag: self.stall > 11,
            stall: self.stall as u8,
            reuse: 0,
        }
    }
}

/// When a kernel's lines are issued.
pub(super) fn issues(code: &Code, allocation: &Allocation) -> Vec<Issue> {
    let counts = code.lines.iter().any(|line| match line {
        Line::Instruction(one) => latency(one) == Latency::Group,
        Line::Label(_) => false,
    });
    let latencies = sass::latency::table(code.target.sm());
    let classes = latencies.map_or_else(Vec::new, |table| classes(code, table));
    let writer = Writer { code, latencies, classes, allocation, first: usize::from(counts) };
    let blocks = blocks(code);
    let units = Units::new(code);
    let mut everything = Set::default();
    everything.extend(&(0..264).chain(UNIFORM + 1..UNITS as Unit).collect::<Vec<Unit>>());
    let live: Vec<Set> = if units.count.div_ceil(64) * blocks.len() > crate::allocate::MOST_WORDS {
        vec![everything; blocks.len()]
    } else {
        live_out(code, &units, &blocks).iter().map(|set| writer.live(&units, set)).collect()
    };
    let mut entering: Vec<Option<Boards>> = vec![None; blocks.len()];
    if let Some(first) = entering.first_mut() {
        *first = Some(Boards::default());
    }
    let mut out = vec![Issue::default(); code.lines.len()];
    let mut pending = vec![0];
    // What enters a block only grows, so this ends. What cannot be reached comes last.
    let mut rest = (0..blocks.len()).rev().collect::<Vec<_>>();
    while let Some(at) = pending.pop().or_else(|| rest.pop()) {
        let boards = entering[at].get_or_insert_default().clone();
        let left = writer.block(&blocks[at], boards, &live[at], &mut out);
        for &next in &blocks[at].successors {
            let new = match &mut entering[next] {
                Some(known) => known.join(&left),
                none => {
                    *none = Some(left.clone());
                    true
                }
            };
            if new && !pending.contains(&next) {
                pending.push(next);
            }
        }
    }
    out
}

/// Of which class each line is.
fn classes(code: &Code, table: &'static Latencies) -> Vec<Option<Class>> {
    let mut known: HashMap<&str, Option<Class>> = HashMap::default();
    let mut classes = Vec::with_capacity(code.lines.len());
    for line in &code.lines {
        classes.push(match line {
            Line::Label(_) => None,
            Line::Instruction(one) => {
                *known.entry(one.name.spelled()).or_insert_with_key(|name| table.class(name))
            }
        });
    }
    classes
}

struct Writer<'a> {
    code: &'a Code,
    /// The latencies of the device, and of which class each line is.
    latencies: Option<&'static Latencies>,
    classes: Vec<Option<Class>>,
    allocation: &'a Allocation,
    /// The first scoreboard that is not taken by who counts.
    first: usize,
}

impl Writer<'_> {
    /// Who a line is to the device's table; nobody that it knows, if there is none.
    fn reader(&self, line: usize) -> Reader {
        Reader { latencies: self.latencies, class: self.classes.get(line).copied().flatten() }
    }

    fn unit(&self, (reg, part): (Reg, u8)) -> Unit {
        match self.code.registers[reg.0 as usize].class {
            code::Class::General(_) => self.allocation.of(reg) + u32::from(part),
            code::Class::Predicate => PREDICATES + self.allocation.of(reg),
            code::Class::Uniform(_) => UNIFORM + self.allocation.of(reg) + u32::from(part),
        }
    }

    /// All scoreboards but the one of who counts.
    fn all(&self) -> u8 {
        0x3f & !((1 << self.first) - 1)
    }

    fn serial_control(&self, one: &Instruction) -> sass::Control {
        let own = serial::control(one);
        let results = own.write_scoreboard.map(|board| if self.first == 0 { board } else { board + 2 });
        let waits = if own.wait_mask == 0 { 0 } else { self.all() };
        sass::Control { wait_mask: waits, write_scoreboard: results, ..own }
    }

    fn each(&self, operands: &[Operand]) -> impl Iterator<Item = Unit> {
        operands.iter().flat_map(operand_units).map(|it| self.unit(it))
    }

    fn units(&self, operands: &[Operand]) -> Vec<Unit> {
        self.each(operands).collect()
    }

    /// The hardware registers of a set of parts.
    fn live(&self, units: &Units, set: &[u64]) -> Set {
        let mut found = Set::default();
        for (index, &first) in units.first.iter().enumerate() {
            let end = units.first.get(index + 1).map_or(units.count as u32, |&next| next);
            let alive = (first..end).filter(|unit| set[*unit as usize / 64] >> (unit % 64) & 1 == 1);
            for unit in alive {
                found.extend([&self.unit((Reg(index as u32), (unit - first) as u8))]);
            }
        }
        found
    }

    /// Whether an operand is written before the result is waited for, in this block: then who writes it need only wait until the operand
    /// has been read.
    fn is_overwritten(&self, lines: std::ops::Range<usize>, operands: &[Unit], results: &[Unit]) -> bool {
        for line in &self.code.lines[lines] {
            let Line::Instruction(one) = line else { continue };
            if self.each(&one.operands).any(|unit| results.contains(&unit)) {
                return false;
            }
            if self.each(&one.operands[..one.written]).any(|unit| operands.contains(&unit)) {
                return true;
            }
        }
        false
    }

    /// Writes a block's control codes, and says what scoreboards guard behind it.
    fn block(&self, block: &Block, mut boards: Boards, live: &Set, out: &mut [Issue]) -> Boards {
        let mut coming: HashMap<Unit, Coming> = HashMap::default();
        let mut product = Product { at: 0, reads: Vec::new() };
        let awaited = |coming: &HashMap<Unit, Coming>, product: &Product| {
            let read = coming.iter().filter(|(unit, _)| live.contains(**unit) || **unit == UNIFORM);
            read.map(|(_, it)| it.guard).fold(product.at + PRODUCT_READS, u64::max)
        };
        // As if no product had been just before.
        let mut now = PRODUCT_READS;
        let mut taken = [0_u64; BOARDS];
        let mut last: Option<(usize, Control)> = None;
        let mut turn = 0_u64;
        let mut take = |boards: &Boards, not: Option<usize>| {
            turn += 1;
            // Who waits for one waits for all that it guards: of those that guard something, one of a block before goes first.
            let cost = |it: usize| match boards.boards[it].is_free() {
                true => 0,
                false => 1 + u8::from(taken[it] > 0),
            };
            let other = (self.first..BOARDS).filter(|&it| Some(it) != not);
            let board = other.min_by_key(|&it| (cost(it), taken[it], it)).unwrap_or(self.first);
            taken[board] = turn;
            board
        };
        for at in block.lines.clone() {
            let Line::Instruction(one) = &self.code.lines[at] else { continue };
            let latency = latency(one);
            let guard = one.guard.map(|(reg, _)| self.unit((reg, 0)));
            let reads = self.units(&one.operands[one.written..]);
            let mut writes = self.units(&one.operands[..one.written]);
            if one.name.starts_with("LDGSTS") {
                // Whether it only reads its predicate is not known.
                writes.extend(reads.iter().filter(|&&it| is_predicate(it)));
            }
            let mut due = due(&coming, now, latency, guard, (&reads, &writes), self.reader(at))
                .max(product.due(latency, &writes));
            if latency == Latency::Branch {
                // What its own stall count does not hold until the next block.
                due = due.max(awaited(&coming, &product).saturating_sub(MOST));
            }
            if let Some((_, control)) = last.as_mut().filter(|_| one.name == ARRIVE) {
                // What products are to read must be there: the instruction in front waits for it.
                control.waits |= boards.await_results(control.results);
            }
            if let Some((before, control)) = &mut last {
                control.stall = control.stall.max(due - now).min(LONGEST);
                now += control.stall;
                out[*before] = control.issue();
            }
            coming.retain(|_, it| it.guard > now);
            if latency == Latency::Serial {
                out[at] = Issue { control: self.serial_control(one), pauses: Vec::new() };
                // It waits for all, and all that follows waits for it.
                boards = Boards { all: self.all(), ..Boards::default() };
                coming.clear();
                now += MOST;
                last = None;
                continue;
            }
            let asked: Vec<Unit> = reads.iter().copied().chain(guard).collect();
            let waits = if latency == Latency::Products { 0 } else { boards.waits(&asked, &writes) };
            let mut control = Control { waits, operands: None, results: None, stall: 1 };
            match latency {
                Latency::Fixed(pipe) => {
                    if let Pipe::Matrices(_) = pipe {
                        product = Product { at: now, reads: reads.clone() };
                    }
                    for &unit in &writes {
                        let class = self.reader(at).class;
                        let it = Coming { pipe, class, at: now, guard: now };
                        let any = self.reader(usize::MAX);
                        let guard = if is_predicate(unit) {
                            it.by_table(&any, Consumer::Guard).max(now + u64::from(guard_cycles(pipe)))
                        } else {
                            it.due(None, &any, unit)
                        };
                        coming.insert(unit, Coming { guard, ..it });
                    }
                }
                Latency::Variable { result } => {
                    control.stall = SCOREBOARD_STALL;
                    if result {
                        // Without a result it is followed all the same.
                        let board = take(&boards, None);
                        boards.boards[board].results.extend(&writes);
                        control.results = Some(board);
                    }
                    let kept = result && !self.is_overwritten(at + 1..block.lines.end, &reads, &writes);
                    if let (true, Some(board)) = (kept, control.results) {
                        boards.boards[board].operands.extend(&reads);
                    } else if !reads.is_empty() {
                        let board = take(&boards, control.results);
                        boards.boards[board].operands.extend(&reads);
                        control.operands = Some(board);
                    }
                }
                Latency::Branch => control.stall = BRANCH_STALL,
                Latency::Meeting | Latency::Products => control.stall = MEETING_STALL,
                Latency::Uniform => {
                    let it =
                        Coming { pipe: Pipe::Integer, class: None, at: now, guard: now + UNIFORM_CYCLES };
                    coming.insert(UNIFORM, it);
                }
                Latency::Product => control.stall = GROUP_STALL,
                Latency::Group => {
                    control.stall = SCOREBOARD_STALL;
                    // Of copies in bulk it is told that they have been read, or an H100 waits for ever.
                    match one.name.starts_with("LDGDEPBAR") {
                        true => control.results = Some(0),
                        false => control.operands = Some(0),
                    }
                }
                Latency::Serial => {}
            }
            last = Some((at, control));
        }
        if let Some((at, mut control)) = last {
            // What is under way must be there for the next block, whichever that is.
            control.stall = control.stall.max(awaited(&coming, &product).saturating_sub(now)).min(LONGEST);
            out[at] = control.issue();
        }
        boards
    }
}

/// The last product of matrices.
struct Product {
    at: u64,
    reads: Vec<Unit>,
}

impl Product {
    /// When an instruction that writes some registers can follow it.
    fn due(&self, latency: Latency, writes: &[Unit]) -> u64 {
        match latency {
            _ if writes.iter().any(|unit| self.reads.contains(unit)) => self.at + PRODUCT_READS,
            Latency::Fixed(Pipe::Matrices(_)) => self.at + PRODUCT_STALL,
            _ => 0,
        }
    }
}

/// When the operands of an instruction are there.
fn due(
    coming: &HashMap<Unit, Coming>,
    now: u64,
    latency: Latency,
    guard: Option<Unit>,
    (reads, writes): (&[Unit], &[Unit]),
    by_table: Reader,
) -> u64 {
    let reader = match latency {
        Latency::Fixed(pipe) => Some(pipe),
        Latency::Variable { .. }
        | Latency::Branch
        | Latency::Meeting
        | Latency::Uniform
        | Latency::Product
        | Latency::Products
        | Latency::Group
        | Latency::Serial => None,
    };
    let mut due = now + 1;
    if matches!(latency, Latency::Serial | Latency::Product | Latency::Products) {
        due = coming.values().fold(due, |due, it| due.max(it.guard));
    }
    for (&unit, it) in reads.iter().chain(writes).filter_map(|unit| Some((unit, coming.get(unit)?))) {
        due = due.max(it.due(reader, &by_table, unit));
    }
    if matches!(latency, Latency::Variable { .. }) {
        // A copy reads the predicate among its operands as guards are read.
        let asked = reads.iter().filter(|&&unit| is_predicate(unit)).filter_map(|unit| coming.get(unit));
        due = asked.fold(due, |due, it| due.max(it.guard));
    }
    if let Some(it) = guard.and_then(|unit| coming.get(&unit)) {
        due = due.max(it.guard);
    }
    due
}
