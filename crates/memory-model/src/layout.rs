//! What is known of a program before it runs: how accesses divide memory, and which registers matter where.

use crate::event::{Bytes, Cell};
use crate::program::{Program, Term, Thread};

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
    for term in program.asked() {
        if let Term::Register(thread, register) = term {
            asked[thread][register] = true;
        }
    }
    asked
}

fn loop_heads(thread: &Thread) -> Vec<bool> {
    let mut heads = vec![false; thread.code.len() + 1];
    for at in 0..thread.code.len() {
        for next in thread.successors(at) {
            heads[next] |= next <= at;
        }
    }
    heads
}

fn liveness(thread: &Thread, at_end: &[bool]) -> Vec<Vec<bool>> {
    let count = thread.code.len();
    let mut live = vec![vec![false; thread.registers.len()]; count + 1];
    live[count] = at_end.to_vec();
    let mut changed = true;
    while changed {
        changed = false;
        for at in (0..count).rev() {
            let (written, read) = thread.code[at].registers();
            let mut now = vec![false; thread.registers.len()];
            for next in thread.successors(at) {
                now.iter_mut().zip(&live[next]).for_each(|(here, there)| *here |= there);
            }
            written.iter().for_each(|&register| now[register] = false);
            read.iter().for_each(|&register| now[register] = true);
            if now != live[at] {
                live[at] = now;
                changed = true;
            }
        }
    }
    live
}
