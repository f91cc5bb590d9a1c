//! When results are there: what a warp reads that does not wait for them.
//!
//! Values are computed at once. Beside them stands what each register held before its last writes, as long as these are on their way: an
//! instruction that comes too early is given that instead, and its own results are put back among the newest ones. The same is done for
//! an operand that the instruction before has kept in its place (`.reuse`).

use crate::decode::WORD;
use crate::registers::{Registers, Value};
use sass::SLOTS;
use sass::effects::Register;
use sass::hazards::{BANKS, BOARDS, Hazard, Issue, State};
use sass::latency::{Class, Consumer, Latencies};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// An instruction, with the registers that it reads and writes in a row.
pub(crate) struct Planned {
    issue: Issue,
    reads: Vec<Register>,
    writes: Vec<Register>,
}

impl From<Issue> for Planned {
    fn from(issue: Issue) -> Self {
        let [reads, writes] = [issue.effects.reads, issue.effects.writes].map(|set| set.iter().collect());
        Self { issue, reads, writes }
    }
}

/// What is known of the instructions of a kernel.
pub(crate) struct Schedule {
    /// None for a word that is no instruction.
    pub(crate) issues: Vec<Option<Planned>>,
    pub(crate) latencies: &'static Latencies,
}

/// Cycles between an instruction that sets a scoreboard and the first one that sees it.
const SEEN: u64 = 2;
/// No fixed latency is longer.
const LONGEST: u64 = 64;
/// So long after its issue a result of fixed latency is still taken from where it comes out, before an operand that was kept.
const FORWARDED: u64 = 5;
/// Cycles from an instruction to one that it sends lanes to, at least.
const TURN: u64 = 6;

/// A write that is on its way.
struct Write {
    register: Register,
    class: Class,
    issued: u64,
    /// When it ends; who reads it before that may find it or not, by their own latencies.
    ends: u64,
    has_ended: bool,
    /// How much later it is there than the other results.
    late: u32,
    lanes: u32,
    old: Value,
    new: Value,
}

impl Write {
    /// Whether a reader that is issued now finds it.
    fn is_there(&self, now: u64, reader: Consumer, late: u64, latencies: &Latencies) -> bool {
        match self.class {
            Class::Variable(_) => self.has_ended,
            Class::Fixed(_) => {
                let cycles = latencies.cycles(self.class, reader).unwrap_or(0);
                now + late - self.issued >= u64::from(cycles + self.late)
            }
        }
    }

    /// Whether a reader would find the result on its way, and not yet in the register.
    fn is_forwarded(&self, now: u64) -> bool {
        matches!(self.class, Class::Fixed(_)) && now - self.issued <= FORWARDED
    }

    /// Whether nobody reads what was there before it any more.
    fn is_old(&self, now: u64) -> bool {
        match self.class {
            Class::Variable(_) => self.has_ended,
            Class::Fixed(_) => now >= self.issued + LONGEST,
        }
    }
}

/// The time of a warp.
pub(crate) struct Timing {
    schedule: Arc<Schedule>,
    now: u64,
    /// In the order of their issue.
    writes: Vec<Write>,
    /// For each scoreboard the instructions that hold it: when they were issued, until when.
    boards: [Vec<(u64, u64)>; BOARDS],
    state: State,
    /// What an instruction has been given that is not the newest, with the newest.
    given: Vec<(Register, Value)>,
    /// For each place for kept operands and each bank, which register was kept, and what it held.
    kept: [[Option<(Register, Value)>; BANKS as usize]; SLOTS as usize],
    /// What the registers held that it writes.
    before: Vec<(Register, Value)>,
    /// The broken dependences of the instruction that is being issued.
    broken: Vec<Hazard>,
    /// The lanes that each instruction was issued for last, by its place.
    lanes: HashMap<u64, u32>,
    found: BTreeSet<(u64, u64, String)>,
}

impl Timing {
    pub(crate) fn new(schedule: Arc<Schedule>) -> Self {
        Self {
            schedule,
            now: 0,
            writes: Vec::new(),
            boards: Default::default(),
            state: State::default(),
            given: Vec::new(),
            kept: Default::default(),
            before: Vec::new(),
            broken: Vec::new(),
            lanes: HashMap::new(),
            found: BTreeSet::new(),
        }
    }

    /// Cycles so far.
    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// The broken dependences that the warp has met: the instruction that came too early, the one that it depends on, what is missing.
    pub(crate) fn found(self) -> BTreeSet<(u64, u64, String)> {
        self.found
    }

    /// Gives an instruction that is issued what is there for it.
    pub(crate) fn before(&mut self, place: usize, registers: &mut Registers) {
        let schedule = Arc::clone(&self.schedule);
        let Some(Some(Planned { issue, reads, writes })) = schedule.issues.get(place) else { return };
        for &(board, left) in issue.waits() {
            let now = self.now;
            let seen = self.boards[board].iter().filter(|(issued, _)| issued + SEEN <= now);
            let mut ends: Vec<u64> = seen.map(|&(_, ends)| ends).collect();
            ends.sort_unstable();
            if let Some(&end) = ends.len().checked_sub(left + 1).and_then(|last| ends.get(last)) {
                self.now = now.max(end);
            }
        }
        self.end(registers);
        let broken = &mut self.broken;
        issue.issue(&mut self.state, schedule.latencies, &mut |hazard| broken.push(hazard));
        self.before.clear();
        self.before.extend(writes.iter().map(|&register| (register, registers.get(register))));
        self.given.clear();
        for &register in reads {
            let (reader, late) = (issue.consumer(register), u64::from(issue.late(register)));
            let writes = self.writes.iter().rev().filter(|write| write.register == register);
            let missed = writes.take_while(|it| !it.is_there(self.now, reader, late, schedule.latencies));
            if let Some(write) = missed.last() {
                self.given.push((register, registers.get(register)));
                registers.put(register, &write.old, u32::MAX);
            }
        }
        self.keep(issue.slots(), registers);
    }

    /// Gives an instruction the operands that were kept for it, and keeps those that it asks to.
    fn keep(&mut self, slots: &[(usize, Register, bool)], registers: &mut Registers) {
        for &(slot, register, keeps) in slots {
            let Register::Vector(number) = register else { continue };
            let bank = usize::from(number % BANKS);
            let Some(kept) = self.kept.get_mut(slot).map(|banks| &mut banks[bank]) else { continue };
            let now = self.now;
            let is_forwarded = || {
                let newest = self.writes.iter().rev().find(|write| write.register == register);
                newest.is_some_and(|write| write.is_forwarded(now))
            };
            match kept.take() {
                Some((of, value)) if of == register && !is_forwarded() => {
                    if !self.given.iter().any(|(given, _)| *given == register) {
                        self.given.push((register, registers.get(register)));
                    }
                    registers.put(register, &value, u32::MAX);
                }
                _ => {}
            }
            if keeps {
                *kept = Some((register, registers.get(register)));
            }
        }
    }

    /// Ends what has ended by now.
    fn end(&mut self, registers: &mut Registers) {
        let now = self.now;
        for at in 0..self.writes.len() {
            let write = &self.writes[at];
            if write.has_ended || write.ends > now {
                continue;
            }
            // One of variable latency may end behind one that came later; those of fixed latency keep their order.
            let register = write.register;
            if matches!(write.class, Class::Variable(_))
                && self.writes[at + 1..].iter().any(|it| it.register == register && it.ends < write.ends)
            {
                registers.put(register, &write.new, write.lanes);
            }
            self.writes[at].has_ended = true;
        }
        // What ended before one that came earlier is still needed for that.
        let open =
            |writes: &[Write], register| writes.iter().any(|it| it.register == register && !it.has_ended);
        let keeps: Vec<bool> = (0..self.writes.len())
            .map(|at| !self.writes[at].is_old(now) || open(&self.writes[..at], self.writes[at].register))
            .collect();
        let mut keeps = keeps.into_iter();
        self.writes.retain(|_| keeps.next().unwrap_or(false));
        self.boards.iter_mut().for_each(|board| board.retain(|&(_, ends)| ends > now));
    }

    /// Puts back the newest values, and notes what an instruction, which came for `running` lanes, has written in the active ones.
    pub(crate) fn after(&mut self, place: usize, running: u32, active: u32, registers: &mut Registers) {
        let schedule = Arc::clone(&self.schedule);
        let Some(Some(Planned { issue, .. })) = schedule.issues.get(place) else { return };
        // Lanes that have parted have registers of their own: only where both are for the same lane one depends on the other.
        for Hazard { offset, on, message } in self.broken.drain(..) {
            if self.lanes.get(&on).is_none_or(|lanes| lanes & running != 0) {
                self.found.insert((offset, on, message));
            }
        }
        self.lanes.insert((place * WORD) as u64, running);
        for (register, newest) in self.given.drain(..) {
            let written = issue.effects.writes.contains(register).then(|| registers.get(register));
            registers.put(register, &newest, u32::MAX);
            if let Some(written) = written {
                registers.put(register, &written, active);
            }
        }
        let ends = self.now
            + match issue.class {
                None => 0,
                Some(class @ Class::Fixed(_)) => {
                    u64::from(schedule.latencies.cycles(class, Consumer::Class(None)).unwrap_or(0))
                }
                Some(Class::Variable(_)) => u64::from(issue.takes()),
            };
        if let Some(class) = issue.class
            && active != 0
        {
            for (register, old) in self.before.drain(..) {
                let new = registers.get(register);
                let (issued, lanes, late) = (self.now, active, issue.written_late(register));
                self.writes.push(Write {
                    register,
                    class,
                    issued,
                    ends,
                    has_ended: false,
                    late,
                    lanes,
                    old,
                    new,
                });
            }
        }
        // What has a fixed latency does not hold a scoreboard.
        if let Some(Class::Variable(_)) = issue.class {
            for board in [issue.control.write_scoreboard, issue.control.read_scoreboard].into_iter().flatten()
            {
                if let Some(board) = self.boards.get_mut(usize::from(board)) {
                    board.push((self.now, ends));
                }
            }
        }
        let cycles = u64::from(issue.control.cycles());
        self.now += if issue.turns() { cycles.max(TURN) } else { cycles };
        if issue.turns() {
            self.kept = Default::default();
        }
    }
}
