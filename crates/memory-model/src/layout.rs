//! What is known of a program before it runs: how accesses divide memory, and which registers matter where.

use crate::event::Bytes;
use crate::program::{Condition, Instruction, Operand, Program, Term, Thread, Update};

/// A piece of an object that every access has whole or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    /// The object.
    pub object: u32,
    /// The first byte.
    pub start: u32,
    /// How many bytes.
    pub len: u32,
}

impl Cell {
    /// Whether an access has this cell.
    pub fn is_in(self, bytes: Bytes) -> bool {
        bytes.object == self.object && bytes.start <= self.start && self.start < bytes.start + bytes.len
    }
}

/// Static facts of a program.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// The cells of each object, ascending.
    pub(crate) cells: Vec<Vec<Cell>>,
    /// For each thread and instruction, which registers may be used from there on.
    pub(crate) live: Vec<Vec<Vec<bool>>>,
    /// For each thread and instruction, whether a jump from behind goes there.
    pub(crate) heads: Vec<Vec<bool>>,
    /// Whether accesses overlap in part.
    pub(crate) mixed_size: bool,
}

impl Layout {
    pub(crate) fn new(program: &Program) -> Self {
        let mut cuts: Vec<Vec<u32>> =
            program.objects.iter().map(|bytes| vec![0, bytes.len() as u32]).collect();
        let mut mixed_size = false;
        let accesses: Vec<Bytes> = program.accesses().collect();
        for (index, bytes) in accesses.iter().enumerate() {
            cuts[bytes.object as usize].extend([bytes.start, bytes.start + bytes.len]);
            let partial =
                |other: &Bytes| bytes.overlap(*other) && (bytes.start, bytes.len) != (other.start, other.len);
            mixed_size |= accesses[..index].iter().any(partial);
        }
        for location in &program.locations {
            let bytes = location.bytes;
            cuts[bytes.object as usize].extend([bytes.start, bytes.start + bytes.len]);
        }
        let cells = cuts.iter_mut().enumerate().map(|(object, cuts)| {
            cuts.sort_unstable();
            cuts.dedup();
            let piece = |pair: &[u32]| Cell { object: object as u32, start: pair[0], len: pair[1] - pair[0] };
            cuts.windows(2).map(piece).collect()
        });
        let cells = cells.collect();
        let asked = asked_registers(program);
        let live = program
            .threads
            .iter()
            .enumerate()
            .map(|(index, thread)| liveness(thread, &asked[index]))
            .collect();
        let heads = program.threads.iter().map(loop_heads).collect();
        Self { cells, live, heads, mixed_size }
    }

    /// The cells of an access.
    pub(crate) fn cells_of(&self, bytes: Bytes) -> impl Iterator<Item = Cell> + '_ {
        self.cells[bytes.object as usize].iter().copied().filter(move |cell| cell.is_in(bytes))
    }
}

/// The registers that the conditions ask for, by thread.
fn asked_registers(program: &Program) -> Vec<Vec<bool>> {
    let mut asked: Vec<Vec<bool>> = program.threads.iter().map(|t| vec![false; t.registers.len()]).collect();
    let mut terms = Vec::new();
    program.condition.terms(&mut terms);
    program.filter.as_ref().map(|filter: &Condition| filter.terms(&mut terms)).unwrap_or_default();
    for term in terms {
        if let Term::Register(thread, register) = term {
            asked[thread][register] = true;
        }
    }
    asked
}

/// Where an instruction may go next.
fn successors(thread: &Thread, at: usize) -> Vec<usize> {
    match thread.code[at] {
        Instruction::Branch { target, .. } => vec![at + 1, target],
        Instruction::Jump(target) => vec![target],
        _ => vec![at + 1],
    }
}

fn loop_heads(thread: &Thread) -> Vec<bool> {
    let mut heads = vec![false; thread.code.len() + 1];
    for at in 0..thread.code.len() {
        for next in successors(thread, at) {
            heads[next] |= next <= at;
        }
    }
    heads
}

/// The register that an instruction writes, and those it reads.
fn uses(instruction: &Instruction) -> (Vec<usize>, Vec<Operand>) {
    match instruction {
        Instruction::Load { destinations, .. } => (destinations.clone(), Vec::new()),
        Instruction::Store { values, .. } => (Vec::new(), values.clone()),
        Instruction::Atomic { destination, update, .. } => {
            let operands = match *update {
                Update::Combine(_, operand) => vec![operand],
                Update::CompareAndSwap { expected, new } => vec![expected, new],
            };
            (destination.iter().copied().collect(), operands)
        }
        Instruction::Barrier { resource, quorum, .. } => {
            (Vec::new(), resource.iter().chain(quorum).copied().collect())
        }
        Instruction::Set { destination, a, b, .. } => (vec![*destination], vec![*a, *b]),
        Instruction::Branch { a, b, .. } => (Vec::new(), vec![*a, *b]),
        Instruction::Fence { .. }
        | Instruction::ProxyFence(_)
        | Instruction::AliasFence
        | Instruction::CopyAsync { .. }
        | Instruction::WaitAsync
        | Instruction::Jump(_) => (Vec::new(), Vec::new()),
    }
}

fn liveness(thread: &Thread, at_end: &[bool]) -> Vec<Vec<bool>> {
    let count = thread.code.len();
    let mut live = vec![vec![false; thread.registers.len()]; count + 1];
    live[count] = at_end.to_vec();
    let mut changed = true;
    while changed {
        changed = false;
        for at in (0..count).rev() {
            let (written, read) = uses(&thread.code[at]);
            let mut now = vec![false; thread.registers.len()];
            for next in successors(thread, at) {
                now.iter_mut().zip(&live[next]).for_each(|(here, there)| *here |= there);
            }
            written.iter().for_each(|&register| now[register] = false);
            for operand in read {
                if let Operand::Register(register) = operand {
                    now[register] = true;
                }
            }
            if now != live[at] {
                live[at] = now;
                changed = true;
            }
        }
    }
    live
}
