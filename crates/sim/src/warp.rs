//! A warp in time: what its next instruction waits for.

use crate::code::Code;
use crate::counters::{Stall, Stalls};
use sass::hazards::BOARDS;

/// A scoreboard: when the last instruction lets go of it that holds it, when each of the others does, in order, and what kind held it last.
///
/// The others are forgotten where no instruction of the kernel waits until some of those that hold a scoreboard have let go.
#[derive(Clone, Debug)]
struct Board {
    last: u64,
    stall: Stall,
    others: Vec<u64>,
}

impl Board {
    fn hold(&mut self, now: u64, ends: u64, counts: bool) {
        let (least, most) = (self.last.min(ends), self.last.max(ends));
        self.last = most;
        if counts {
            self.others.retain(|&end| end > now);
            let at = self.others.partition_point(|&end| end <= least);
            self.others.insert(at, least);
        }
    }

    /// When no more than so many hold it.
    fn ends(&self, left: usize) -> u64 {
        match left.checked_sub(1) {
            None => self.last,
            Some(behind) => self.others.iter().rev().nth(behind).copied().unwrap_or(0),
        }
    }
}

/// A warp that is resident.
#[derive(Clone, Debug)]
pub(crate) struct Warp {
    /// Its CTA's place on the SM, and its number there.
    pub(crate) cta: usize,
    pub(crate) number: usize,
    /// The instruction that comes next; none while it waits at a barrier.
    pub(crate) next: Option<usize>,
    /// Whether others go first.
    pub(crate) yields: bool,
    /// The first cycle that is not accounted for.
    since: u64,
    /// What the instruction before leaves: cycles to wait, then cycles until control is where it goes.
    stalled: u64,
    turned: u64,
    /// When the barrier let it go.
    released: u64,
    /// When its scoreboards were clear, and the code there.
    cleared: u64,
    long: bool,
    fetched: u64,
    boards: [Board; BOARDS],
    /// When the copies are done that it has begun, and the products.
    pub(crate) copies: u64,
    pub(crate) products: u64,
    /// When what it has stored or changed is there for others.
    pub(crate) performed: u64,
}

impl Warp {
    pub(crate) fn new(cta: usize, number: usize, begins: u64) -> Self {
        Self {
            cta,
            number,
            next: None,
            yields: false,
            since: begins,
            stalled: begins,
            turned: begins,
            released: begins,
            cleared: begins,
            long: false,
            fetched: begins,
            copies: begins,
            products: begins,
            performed: begins,
            boards: std::array::from_fn(|_| Board {
                last: 0,
                stall: Stall::ShortScoreboard,
                others: Vec::new(),
            }),
        }
    }

    /// An instruction holds a scoreboard until a cycle; `counts`: others of the kernel wait until so many are left that do.
    pub(crate) fn hold(&mut self, board: u8, (now, ends): (u64, u64), stall: Stall, counts: bool) {
        let Some(board) = self.boards.get_mut(usize::from(board)) else { return };
        board.hold(now, ends, counts);
        board.stall = stall;
    }

    /// An instruction was issued; how long the next one waits at least.
    pub(crate) fn issued(&mut self, now: u64, code: &Code, branch: u64) {
        self.stalled = now + u64::from(code.control.cycles());
        self.turned = if code.turns { self.stalled.max(now + branch) } else { self.stalled };
        self.yields = code.control.yield_flag;
        self.released = self.turned;
        self.since = now + 1;
    }

    /// A barrier lets it go at a cycle.
    pub(crate) fn release(&mut self, at: u64) {
        self.released = self.released.max(at);
    }

    /// Its next instruction is known, and when its code is there; from when on that can be issued, if its pipe is free.
    pub(crate) fn settle(&mut self, place: usize, code: Option<&Code>, fetched: u64) -> u64 {
        self.next = Some(place);
        self.fetched = fetched.max(self.released);
        self.cleared = self.released;
        for &(board, left) in code.map_or(&[][..], |code| &code.waits) {
            let board = &self.boards[board];
            let end = board.ends(left);
            if end > self.cleared {
                self.cleared = end;
                self.long = board.stall == Stall::LongScoreboard;
            }
        }
        self.cleared.max(self.fetched)
    }

    /// Accounts for the cycles up to one in which it is issued: what it waited for, one after the other; `pipe` is when its pipe was
    /// free, `dispatch` when the sub-core could take operands.
    pub(crate) fn account(&mut self, now: u64, pipe: (u64, Stall), dispatch: u64, stalls: &mut Stalls) {
        let scoreboard = if self.long { Stall::LongScoreboard } else { Stall::ShortScoreboard };
        let reasons = [
            (self.stalled, Stall::Wait),
            (self.turned, Stall::BranchResolving),
            (self.released, Stall::Barrier),
            (self.cleared, scoreboard),
            (self.fetched, Stall::NoInstruction),
            pipe,
            (dispatch, Stall::DispatchStall),
            (now, Stall::NotSelected),
        ];
        for (until, stall) in reasons {
            let until = until.min(now);
            if until > self.since {
                stalls.add(stall, until - self.since);
                self.since = until;
            }
        }
        stalls.add(Stall::Selected, 1);
    }
}
