//! A race as a litmus test: the two accesses with their orders and scopes, in threads placed as theirs were, and between
//! them what the threads did to synchronise ([`crate::trail`]), as far as it could have ordered them. `warploom litmus`
//! judges it by the axioms, by an evaluation of its own.
//!
//! Of a thread's steps those matter that have a counterpart: accesses of a flag that the one thread writes behind its access
//! and the other reads before its own, the fences next to these, and barriers, if both threads came to one. Where the other
//! thread's access is behind a flag, it is made only if the flag was seen: then the test is racy only if what is between
//! the threads does not order them. The repaired test has a release and an acquire of the flag, wide enough, or one barrier
//! for both, and no race.

use crate::report::Actor;
use crate::site::{Action, Site, Sites};
use crate::trail::{Record, Step};
use machine::fault::Access;
use memory_model::event::{Order, Scope};
use std::fmt::Write as _;

/// Two accesses that race.
pub(crate) struct Race<'a> {
    /// The later one first.
    pub(crate) actors: &'a [Actor],
    /// Of the earlier access, and of the later one.
    pub(crate) sites: (&'a Site, &'a Site),
    pub(crate) shared: bool,
    /// Whether both threads are of one cluster.
    pub(crate) one_cluster: bool,
    /// What the earlier thread has done behind its access, and the later one before its own.
    pub(crate) trails: (Vec<Record>, Vec<Record>),
}

/// An instruction of a thread besides its access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Write { flag: usize, site: Site },
    Read { flag: usize, site: Site },
    Fence(Order, Scope),
    Barrier(usize),
}

/// The test with a race, and the same without one; none if such accesses cannot be written: asynchronous copies cannot.
pub(crate) fn of_race(race: &Race<'_>, sites: &Sites) -> Option<(String, String)> {
    let (writer, reader, flags) = between(race, sites);
    let [later, earlier] = race.actors else { return None };
    let one_cta = earlier.block == later.block;
    let (mut released, mut acquired) = (Vec::new(), Vec::new());
    if one_cta {
        released.push(Line::Barrier(0));
        acquired.push(Line::Barrier(0));
    } else {
        let strong = |order| Site { order, scope: Scope::Sys, element: 4, ..*race.sites.0 };
        released.push(Line::Write {
            flag: 0,
            site: Site { action: Action::Access(Access::Store), ..strong(Order::Release) },
        });
        acquired.push(Line::Read {
            flag: 0,
            site: Site { action: Action::Access(Access::Load), ..strong(Order::Acquire) },
        });
    }
    let spaces: Vec<bool> = flags.iter().map(|key| one_cta && key >> 63 != 0).collect();
    let racy = text(race, "race", (&writer, &reader), &spaces)?;
    let repaired = text(race, "race-repaired", (&released, &acquired), &[false])?;
    Some((racy, repaired))
}

/// The steps of both threads that could have ordered their accesses, and the flags.
fn between(race: &Race<'_>, sites: &Sites) -> (Vec<Line>, Vec<Line>, Vec<u64>) {
    let (before, behind) = (&race.trails.1, &race.trails.0);
    let (mut flags, mut writes, mut reads) = (Vec::new(), Vec::new(), Vec::new());
    // The last write of each flag that the other thread has read since.
    for (at, record) in behind.iter().enumerate().rev() {
        let Step::Access { key, access } = record.step else { continue };
        let read = before.iter().rposition(|other| {
            matches!(other.step, Step::Access { key: of, access } if of == key && access != Access::Store)
                && other.time >= record.time
        });
        if access != Access::Load
            && !flags.contains(&key)
            && flags.len() < FLAGS
            && let Some(read) = read
        {
            writes.push((at, flags.len()));
            reads.push((read, flags.len()));
            flags.push(key);
        }
    }
    let barrier = |record: &Record| match record.step {
        Step::Barrier(number) => Some(number),
        _ => None,
    };
    let waited = |records: &[Record]| records.iter().filter_map(barrier).next_back();
    let barriers = waited(behind).zip(waited(before)).filter(|(a, b)| a != b);
    let lines = |records: &[Record], flagged: &[(usize, usize)], own: Option<usize>, first: bool| {
        // Fences before the last flag of who writes, and behind the first flag of who reads.
        let end = flagged.iter().map(|(at, _)| *at);
        let end = if first { end.max() } else { end.min() };
        let mut lines = Vec::new();
        for (at, record) in records.iter().enumerate() {
            let site = *sites.get(record.site);
            let matters = end.is_some_and(|end| if first { at < end } else { at > end });
            match record.step {
                Step::Access { .. } => {
                    let flag = flagged.iter().find(|(place, _)| *place == at);
                    lines.extend(flag.map(|&(_, flag)| match first {
                        true => Line::Write { flag, site },
                        false => Line::Read { flag, site },
                    }));
                }
                Step::Fence if matters => lines.push(Line::Fence(site.order, site.scope)),
                Step::Fence | Step::Barrier(_) => {}
            }
        }
        lines.extend(own.map(Line::Barrier));
        lines.dedup();
        lines
    };
    let writer = lines(behind, &writes, barriers.map(|(a, _)| a), true);
    let reader = lines(before, &reads, barriers.map(|(_, b)| b), false);
    (writer, reader, flags)
}

/// Flags between two threads, at most.
const FLAGS: usize = 4;

fn text(
    race: &Race<'_>,
    name: &str,
    (writer, reader): (&[Line], &[Line]),
    shared: &[bool],
) -> Option<String> {
    let [later, earlier] = race.actors else { return None };
    let space = |shared: bool| if shared { "shared" } else { "global" };
    // Shared memory of another CTA has no name in a test: that of the device serves as well.
    let near = race.shared && earlier.block == later.block;
    let own = space(near);
    let (first, second) = (access(race.sites.0, own)?, access(race.sites.1, own)?);
    let place = match (earlier.block == later.block, race.one_cluster) {
        (true, _) => "cta 0, cluster 0",
        (false, true) => "cta 1, cluster 0",
        (false, false) => "cta 0, cluster 1",
    };
    let bytes = race.sites.0.element.max(race.sites.1.element);
    let line = |actor: &Actor| actor.location.ptx.as_ref().map_or(String::new(), ToString::to_string);
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "//: litmus {name}\n\
         // {} and {}\n\
         //: thread P0 earlier cta 0, cluster 0, gpu 0\n\
         //: thread P1 later {place}, gpu 0\n\
         //: exists (x == 1)\n\
         .version 8.6\n.target sm_90\n.address_size 64\n\n\
         .visible .{own} .align 16 .b{} x;\n",
        line(earlier),
        line(later),
        8 * bytes.min(8),
    );
    let flags = |line: &Line| match line {
        Line::Write { flag, .. } | Line::Read { flag, .. } => Some(*flag),
        _ => None,
    };
    let count = writer.iter().chain(reader).filter_map(flags).max().map_or(0, |last| last + 1);
    for flag in 0..count {
        let _ = writeln!(text, ".visible .{} .align 8 .b64 flag{flag};", space(shared[flag]));
    }
    let head = "\t.reg .pred %seen;\n\t.reg .b16 %h<3>;\n\t.reg .b32 %r<3>;\n\t.reg .b64 %d<3>;\n";
    let _ = write!(text, "\n.visible .entry earlier()\n{{\n{head}\t{first}\n");
    writer.iter().for_each(|line| text.push_str(&instruction(line, |flag| space(shared[flag]))));
    let _ = write!(text, "\tret;\n}}\n\n.visible .entry later()\n{{\n{head}");
    reader.iter().for_each(|line| text.push_str(&instruction(line, |flag| space(shared[flag]))));
    let _ = write!(text, "\t{second}\nDONE:\n\tret;\n}}\n");
    Some(text)
}

/// The modifiers that say an order.
fn order(site: &Site) -> String {
    match site.order {
        Order::Weak => String::new(),
        order => format!(".{}.{}", order.name(), site.scope.name()),
    }
}

/// The bits of a flag, and the register for its value.
fn flag_type(site: &Site) -> (u32, &'static str) {
    if site.element == 8 { (64, "%d1") } else { (32, "%r1") }
}

fn instruction(line: &Line, space: impl Fn(usize) -> &'static str) -> String {
    let atomic = |site: &Site| !matches!(site.action, Action::Access(Access::Load | Access::Store));
    match line {
        Line::Fence(order, scope) => format!("\tfence.{}.{scope};\n", order.name()),
        Line::Barrier(number) => format!("\tbarrier.sync {number};\n"),
        Line::Write { flag, site } => {
            let ((bits, register), space) = (flag_type(site), space(*flag));
            match atomic(site) {
                true => format!("\tatom{}.{space}.exch.b{bits} {register}, [flag{flag}], 1;\n", order(site)),
                false => format!("\tst{}.{space}.b{bits} [flag{flag}], 1;\n", order(site)),
            }
        }
        Line::Read { flag, site } => {
            let ((bits, register), space) = (flag_type(site), space(*flag));
            let read = match atomic(site) {
                true => format!("atom{}.{space}.exch.b{bits} {register}, [flag{flag}], 2", order(site)),
                false => format!("ld{}.{space}.b{bits} {register}, [flag{flag}]", order(site)),
            };
            format!("\t{read};\n\tsetp.ne.u{bits} %seen, {register}, 1;\n\t@%seen bra DONE;\n")
        }
    }
}

/// The access that races.
fn access(site: &Site, space: &str) -> Option<String> {
    let (register, bits) = match site.element {
        1 => ("%h0", 8),
        2 => ("%h0", 16),
        4 => ("%r0", 32),
        8 => ("%d0", 64),
        _ => return None,
    };
    let order = order(site);
    Some(match site.action {
        Action::Access(Access::Load) => format!("ld{order}.{space}.b{bits} {register}, [x];"),
        Action::Access(Access::Store) => format!("st{order}.{space}.b{bits} [x], 1;"),
        Action::Access(Access::Atomic) if bits >= 32 => {
            format!("atom{order}.{space}.exch.b{bits} {register}, [x], 1;")
        }
        Action::CompareAndSwap if bits >= 32 => {
            format!("atom{order}.{space}.cas.b{bits} {register}, [x], 0, 1;")
        }
        _ => return None,
    })
}
