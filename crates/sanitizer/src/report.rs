//! Reports: what was found, for people and for programs.

use crate::products::Lack;
use crate::suppress::Suppressions;
use abi::names::demangled;
use machine::{Location, SourceLocation};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

/// What is looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// Data races.
    pub race: bool,
    /// Accesses outside of allocations, and leaks.
    pub memory: bool,
    /// Reads of memory that nobody has written.
    pub init: bool,
    /// Misused barriers and `.sync` instructions.
    pub sync: bool,
    /// Accesses that have no lock in common: a rule of thumb.
    pub locks: bool,
    /// Races of another order of critical sections.
    pub predict: bool,
    /// Record what threads do to synchronise, for the litmus tests of races.
    pub litmus: bool,
}

impl std::fmt::Display for Checks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let all = [
            (self.race, "race"),
            (self.memory, "memory"),
            (self.init, "init"),
            (self.sync, "sync"),
            (self.locks, "locks"),
            (self.predict, "predict"),
            (self.litmus, "litmus"),
        ];
        let names: Vec<&str> = all.iter().filter(|(wanted, _)| *wanted).map(|(_, name)| *name).collect();
        f.write_str(&names.join(","))
    }
}

impl std::str::FromStr for Checks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut checks = Self::default();
        for word in text.split(',') {
            match word.trim() {
                "race" => checks.race = true,
                "memory" => checks.memory = true,
                "init" => checks.init = true,
                "sync" => checks.sync = true,
                "locks" => checks.locks = true,
                "predict" => checks.predict = true,
                "litmus" => checks.litmus = true,
                "all" => checks = Self { race: true, memory: true, init: true, sync: true, ..checks },
                other => {
                    return Err(format!(
                        "`{other}` is no check; there are race, memory, init, sync, all, locks and predict"
                    ));
                }
            }
        }
        Ok(checks)
    }
}

/// A wrong use of a barrier or of a `.sync` instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misuse {
    /// Lanes of a warp arrive at one barrier by different instructions.
    Divergent { number: usize },
    /// More threads come than the barrier counts.
    Count { number: usize, count: u32, came: u32 },
    /// Threads have exited that the barrier should have waited for.
    Exited { number: usize, missing: u32 },
    /// `shfl.sync` reads a lane that takes no part.
    Shuffle,
    /// Something is missing between a product and who uses its registers.
    Product(Lack),
    /// Copies have told an mbarrier object of more bytes than were announced.
    Bytes { bytes: i64 },
    /// An mbarrier object was initialised by a thread that nothing orders before.
    Initialised,
}

/// Where on the host something was asked for: frames, the innermost first.
pub type Host = Arc<dyn Fn() -> Vec<String> + Send + Sync>;

/// One side of a report: who did what, and where that stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// What it did: `store of 4 bytes`.
    pub what: String,
    /// The kernel that was launched.
    pub kernel: String,
    /// The instruction's place and text.
    pub location: Location,
    /// `%ctaid`.
    pub block: [u32; 3],
    /// `%tid`.
    pub thread: [u32; 3],
    /// Where on the host the kernel was launched: frames, the innermost first.
    pub host: Vec<String>,
}

impl Actor {
    /// The line that the author of the kernel wrote: of the outermost call if the instruction was inlined.
    fn line(&self) -> Option<&SourceLocation> {
        let outermost = self.location.inlined.last().map(|call| &call.at);
        let source = outermost.or(self.location.source.as_ref());
        source.or(self.location.ptx.as_ref())
    }
}

/// A variable, or memory of the device that was allocated as a whole, and an address in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The variable's name.
    pub variable: Option<String>,
    /// Where it begins.
    pub start: u64,
    /// Its size; 0 of a variable that says none.
    pub bytes: u64,
    /// The bytes before the address.
    pub offset: u64,
}

impl std::fmt::Display for Allocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { variable, start, bytes, offset } = self;
        match (variable, bytes) {
            (Some(name), 0) => write!(f, "byte {offset} of the variable {name}"),
            (Some(name), bytes) => write!(f, "byte {offset} of the {bytes} of the variable {name}"),
            (None, bytes) => write!(f, "byte {offset} of the {bytes} that were allocated at {start:#x}"),
        }
    }
}

/// How something was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Seen {
    /// In the program's own run.
    #[default]
    InRun,
    /// Only when a launch was run again under the scheduler of this name.
    Under(String),
}

impl Seen {
    /// The name of it.
    pub fn name(&self) -> String {
        match self {
            Self::InRun => "in this run".to_owned(),
            Self::Under(schedule) => format!("under {schedule}"),
        }
    }
}

/// The kind of a race of another order of critical sections than that of the run.
pub(crate) const PREDICTED: &str = "predicted-race";
/// The kind of accesses that have no lock in common.
pub(crate) const UNDISCIPLINED: &str = "lock-discipline";

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// A stable name: `race`, `predicted-race`, `unwritten`, `barrier-divergent`, ...
    pub kind: &'static str,
    /// One line for people.
    pub title: String,
    /// What is missing, as a stable name and as a sentence.
    pub missing: Option<(&'static str, String)>,
    /// The allocation that was accessed, if it is known.
    pub allocation: Option<Allocation>,
    /// The accesses: of a race the later one first.
    pub actors: Vec<Actor>,
    /// How often it was found.
    pub count: u64,
    /// At how many pairs of instructions of the same source lines.
    pub pairs: u64,
    /// How it was seen.
    pub seen: Seen,
    /// A litmus test with the same race, and one in which it is repaired, if they can be written.
    pub litmus: Option<(String, String)>,
}

fn place(place: &SourceLocation) -> Value {
    json!({ "file": place.file, "line": place.line, "column": place.column })
}

impl Report {
    /// One that was found once, of which nothing else is known.
    pub(crate) fn new(kind: &'static str, title: String, actors: Vec<Actor>) -> Self {
        let (missing, allocation, litmus, seen) = Default::default();
        Self { kind, title, missing, allocation, actors, count: 1, pairs: 1, seen, litmus }
    }

    /// Whether it was not seen, but follows from what was.
    fn is_foreseen(&self) -> bool {
        matches!(self.kind, PREDICTED | UNDISCIPLINED)
    }

    /// How it is known.
    pub fn evidence(&self) -> String {
        match self.kind {
            PREDICTED => format!("predicted from what was seen {}", self.seen.name()),
            UNDISCIPLINED => format!("lock discipline, no proof, by what was seen {}", self.seen.name()),
            _ => self.seen.name(),
        }
    }

    /// The PTX lines of the accesses, in order.
    pub fn lines(&self) -> Vec<u32> {
        self.actors.iter().filter_map(|actor| Some(actor.location.ptx.as_ref()?.line)).collect()
    }

    /// The one of a mistake, of what was found at pairs of instructions: the first of the most frequent.
    fn of_pairs(pairs: &[Self]) -> Option<Self> {
        let most = pairs.iter().rev().max_by_key(|pair| pair.count)?;
        let in_run = pairs.iter().any(|pair| pair.seen == Seen::InRun);
        Some(Self {
            count: pairs.iter().map(|pair| pair.count).sum(),
            pairs: pairs.len() as u64,
            seen: if in_run { Seen::InRun } else { most.seen.clone() },
            ..most.clone()
        })
    }

    /// Whether another one is of the same mistake: of the same lines.
    fn is_like(&self, other: &Self) -> bool {
        let missing = |report: &Self| report.missing.as_ref().map(|(name, _)| *name);
        self.kind == other.kind
            && missing(self) == missing(other)
            && !self.actors.is_empty()
            && self.actors.iter().map(Actor::line).eq(other.actors.iter().map(Actor::line))
            && self.actors.iter().all(|actor| actor.line().is_some())
    }

    /// It as text of several lines.
    pub fn text(&self) -> String {
        let mut text = format!("{}: {}", self.kind, self.title);
        let mut host: &[String] = &[];
        // Writing to a string cannot fail.
        for actor in &self.actors {
            let ([bx, by, bz], [tx, ty, tz]) = (actor.block, actor.thread);
            let _ = write!(
                text,
                "\n  {} by block ({bx}, {by}, {bz}), thread ({tx}, {ty}, {tz}) of kernel {}",
                actor.what,
                demangled(&actor.kernel)
            );
            if let Some(ptx) = &actor.location.ptx {
                let words = actor.location.text.as_deref().unwrap_or_default();
                let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
                let _ = write!(text, "\n    at {ptx}: {words}");
            }
            if let Some(source) = &actor.location.source {
                let _ = write!(text, "\n    source {source}");
            }
            for call in &actor.location.inlined {
                let _ = write!(text, "\n    inlined at {}", call.at);
            }
            let told = *std::mem::replace(&mut host, &actor.host) == actor.host;
            for (at, frame) in actor.host.iter().enumerate().filter(|_| !told) {
                let _ = write!(text, "\n    {} {frame}", if at == 0 { "launched by" } else { "         in" });
            }
        }
        if let Some(allocation) = &self.allocation {
            let _ = write!(text, "\n  at {allocation}");
        }
        if let Some((_, missing)) = &self.missing {
            let _ = write!(text, "\n  missing: {missing}");
        }
        if self.is_foreseen() {
            let _ = write!(text, "\n  {}", self.evidence());
        } else if let Seen::Under(schedule) = &self.seen {
            let _ = write!(text, "\n  seen under the schedule {schedule}, not in the program's own run");
        }
        if self.count > 1 {
            let _ = write!(text, "\n  found {} times", self.count);
        }
        if self.pairs > 1 {
            let _ = write!(text, ", by {} pairs of instructions of these lines", self.pairs);
        }
        text
    }

    /// It for programs.
    pub fn json(&self) -> Value {
        let actor = |actor: &Actor| {
            json!({
                "what": actor.what,
                "kernel": actor.kernel,
                "name": demangled(&actor.kernel),
                "block": actor.block,
                "thread": actor.thread,
                "ptx": actor.location.ptx.as_ref().map(place),
                "instruction": actor.location.text,
                "host": actor.host,
                "source": actor.location.source.as_ref().map(place),
                "inlined_at": actor.location.inlined.iter().map(|call| place(&call.at)).collect::<Vec<_>>(),
            })
        };
        json!({
            "kind": self.kind,
            "title": self.title,
            "missing": self.missing.as_ref().map(|(name, _)| name),
            "explanation": self.missing.as_ref().map(|(_, text)| text),
            "accesses": self.actors.iter().map(actor).collect::<Vec<_>>(),
            "allocation": self.allocation.as_ref().map(|allocation| json!({
                "variable": allocation.variable,
                "start": allocation.start,
                "bytes": allocation.bytes,
                "offset": allocation.offset,
            })),
            "count": self.count,
            "pairs": self.pairs,
            "seen": self.evidence(),
        })
    }
}

/// A kind of report, and two instructions.
type Key = (&'static str, u32, u32);

/// What was found so far; one report for each pair of source lines, or of instructions where there are none.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    /// Of each mistake what was found at each pair of instructions.
    found: Vec<Vec<Report>>,
    /// What was found last.
    latest: Option<(usize, usize)>,
    /// The mistake and the pair, unless it is left out.
    by_place: BTreeMap<Key, Option<(usize, usize)>>,
    pub(crate) suppressions: Suppressions,
    /// How what is found now is seen.
    pub(crate) seen: Seen,
    /// Live allocations, by address: bytes, and whether device code made them.
    pub(crate) allocations: BTreeMap<u64, (u64, bool)>,
}

/// Reports beyond so many are only counted: more help nobody.
const MOST: usize = 1000;

impl Reports {
    /// Adds what `make` tells unless the same was found at these sites before.
    pub(crate) fn add(&mut self, key: Key, make: impl FnOnce() -> Report) {
        match self.by_place.get(&key) {
            Some(&Some((mistake, pair))) => {
                let known = &mut self.found[mistake][pair];
                known.count += 1;
                if self.seen == Seen::InRun {
                    known.seen = Seen::InRun;
                }
            }
            Some(None) => {}
            None if self.by_place.len() >= MOST => {}
            None => {
                let report = Report { seen: self.seen.clone(), ..make() };
                let place = (!self.suppressions.matches(&report)).then(|| {
                    let known = self.found.iter().position(|pairs| pairs[0].is_like(&report));
                    let mistake = known.unwrap_or_else(|| {
                        self.found.push(Vec::new());
                        self.found.len() - 1
                    });
                    self.found[mistake].push(report);
                    (mistake, self.found[mistake].len() - 1)
                });
                self.latest = place.or(self.latest);
                self.by_place.insert(key, place);
            }
        }
    }

    /// Adds what was foreseen for the instructions of two accesses, unless a race of them was seen.
    pub(crate) fn add_foreseen(&mut self, (later, earlier): (u32, u32), count: u64, report: Report) {
        let seen =
            [("race", earlier, later), ("race", later, earlier)].into_iter().any(|key| self.knows(key));
        if !seen {
            let key = (report.kind, earlier, later);
            let mut told = Some(report);
            for _ in 0..count {
                self.add(key, || told.take().unwrap_or_else(|| unreachable!("it is known")));
            }
        }
    }

    /// Whether something was found at these sites before.
    pub(crate) fn knows(&self, key: Key) -> bool {
        self.by_place.contains_key(&key)
    }

    /// A report for each mistake: that of the pair of instructions at which it was found most often.
    pub(crate) fn all(&self) -> Vec<Report> {
        self.found.iter().filter_map(|pairs| Report::of_pairs(pairs)).collect()
    }

    /// What was found last.
    pub(crate) fn latest(&self) -> Option<&Report> {
        self.latest.map(|(mistake, pair)| &self.found[mistake][pair])
    }

    /// Pairs of instructions at which anything was found.
    pub(crate) fn pairs(&self) -> usize {
        self.found.iter().map(Vec::len).sum()
    }

    /// How much of these kinds was found, at different instructions.
    pub(crate) fn of_kinds(&self, kinds: &[&str]) -> usize {
        self.by_place.keys().filter(|(kind, ..)| kinds.contains(kind)).count()
    }

    /// The allocation around an address.
    pub(crate) fn allocation_of(&self, address: u64) -> Option<(u64, u64)> {
        let (&start, &(bytes, _)) = self.allocations.range(..=address).next_back()?;
        (address - start < bytes.max(1)).then_some((start, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pair_that_is_frequent_is_told() {
        let place = |line| Some(SourceLocation { file: "k.cu".to_owned(), line, column: 1 });
        let actor = |thread| Actor {
            what: "read".to_owned(),
            kernel: "k".to_owned(),
            location: Location { ptx: None, text: None, source: place(7), inlined: Vec::new() },
            block: [0; 3],
            thread: [thread, 0, 0],
            host: Vec::new(),
        };
        let mut reports = Reports { seen: Seen::Under("adversarial".to_owned()), ..Reports::default() };
        for (site, times) in [(1, 2), (2, 5), (3, 5)] {
            for _ in 0..times {
                reports.add(("race", site, site), || Report::new("race", String::new(), vec![actor(site)]));
            }
        }
        let told = |reports: &Reports| {
            let all = reports.all();
            assert_eq!(all.len(), 1);
            (all[0].actors[0].thread[0], all[0].count, all[0].pairs, all[0].seen.name())
        };
        assert_eq!(told(&reports), (2, 12, 3, "under adversarial".to_owned()));
        reports.seen = Seen::InRun;
        reports.add(("race", 1, 1), || unreachable!("it is known"));
        assert_eq!(told(&reports), (2, 13, 3, "in this run".to_owned()));
    }

    #[test]
    fn checks_are_named() {
        let all = Checks { race: true, memory: true, init: true, sync: true, ..Checks::default() };
        assert_eq!("race,memory, init,sync".parse(), Ok(all));
        assert_eq!("all".parse(), Ok(all));
        assert_eq!(all.to_string().parse(), Ok(all));
        assert_eq!("race".parse(), Ok(Checks { race: true, ..Checks::default() }));
        assert!("races".parse::<Checks>().is_err() && "".parse::<Checks>().is_err());
    }
}
