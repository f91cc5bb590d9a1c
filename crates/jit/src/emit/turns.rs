//! The functions of a kernel's text. A row's **turn** goes from the start, or from behind a barrier, to the next barriers or the
//! end; for each place where it may begin there is a function with the blocks that it can reach from there, which runs all rows
//! that wait there one after the other. So what rows have in common is before the loop over them, and a barrier is an edge of that loop.
//!
//! `rows` is what the host calls: turns in phases, until all rows are done or some have come to other places than others.

use super::text::{Kind, Text};
use super::{Emitted, Emitter, context};
use crate::context::{Context, end};
use ptx::module::RegId;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write;

/// Metadata that stands in every text.
const METADATA: &str = "!0 = !{!\"branch_weights\", i32 100000, i32 1}\n!1 = !{}\n";

/// The label where a turn begins.
pub(super) fn start(state: usize) -> String {
    match state {
        0 => "start".to_owned(),
        barrier => format!("resume{barrier}"),
    }
}

/// A basic block of the text, and the names in it.
struct Block<'a> {
    text: &'a str,
    names: HashSet<&'a str>,
}

impl Block<'_> {
    /// Where a turn that ends here goes on.
    fn end(&self) -> Option<i32> {
        let (before, _) = self.text.split_once(", ptr %end\n")?;
        before.rsplit(' ').next()?.parse().ok()
    }
}

/// The blocks of the text by their labels, and in the order in which they stand.
struct Blocks<'a> {
    list: Vec<Block<'a>>,
    by_label: HashMap<&'a str, usize>,
}

impl<'a> Blocks<'a> {
    fn of(text: &'a str) -> Self {
        let mut blocks = Self { list: Vec::new(), by_label: HashMap::new() };
        let mut rest = text;
        while !rest.is_empty() {
            // A label is at the start of a line, what is in a block is not.
            let end = rest.match_indices('\n').map(|(at, _)| at + 1).find(|&at| !rest[at..].starts_with(' '));
            let (text, behind) = rest.split_at(end.unwrap_or(rest.len()));
            let label = text.split(':').next().unwrap_or_default();
            blocks.by_label.insert(label, blocks.list.len());
            blocks.list.push(Block { text, names: names(text).collect() });
            rest = behind;
        }
        blocks
    }

    /// The blocks that can be reached from one, in their order.
    fn from(&self, label: &str) -> Vec<&Block<'a>> {
        let mut reached = BTreeSet::new();
        let mut pending: Vec<usize> = self.by_label.get(label).copied().into_iter().collect();
        while let Some(block) = pending.pop() {
            if reached.insert(block) {
                pending.extend(self.list[block].names.iter().filter_map(|name| self.by_label.get(name)));
            }
        }
        reached.into_iter().map(|block| &self.list[block]).collect()
    }
}

/// What stands behind `%` in a text: values, and the labels of branches.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split('%').skip(1).map(|behind| {
        let end = behind.find(|c: char| !c.is_ascii_alphanumeric() && c != '.');
        &behind[..end.unwrap_or(behind.len())]
    })
}

impl Emitter<'_> {
    /// Puts what stands around the blocks of the text.
    pub(super) fn finish(mut self) -> Emitted {
        let definitions = self.definitions();
        let slots = self.slots();
        let head = self.head();
        let frame = self.frame.next_multiple_of(64);
        let blocks = Blocks::of(&self.text.lines);
        let states = 0..=self.barriers.len();
        let turns: String =
            states.map(|state| self.turn(state, &blocks.from(&start(state)), &slots, &head, frame)).collect();
        let text = format!(
            "{}\n\n{}{definitions}\n{turns}{}{METADATA}",
            self.intrinsics.join("\n"),
            super::call::definitions(),
            entry_point(self.barriers.len(), self.counts_votes),
        );
        let addresses =
            self.variables.iter().filter_map(|&variable| self.source.address_of(variable)).collect();
        Emitted { text, sites: self.sites, windows: self.windows, addresses, frame, barriers: self.barriers }
    }

    /// The function of the turns from one place.
    fn turn(
        &self,
        state: usize,
        blocks: &[&Block<'_>],
        slots: &[(String, String)],
        head: &str,
        frame: usize,
    ) -> String {
        let used = |slot: &str| blocks.iter().any(|block| block.names.contains(&slot[1..]));
        let slots: Vec<_> = slots.iter().filter(|(name, _)| used(name)).collect();
        let waits = !self.barriers.is_empty();
        // Where its turns can end, beside the end of everything; what is the same for all rows need not be compared.
        let ends: BTreeSet<i32> = blocks.iter().filter_map(|block| block.end()).collect();
        let only = match ends.len() {
            1 => ends.first().copied(),
            _ => None,
        };
        let compares = waits && only.is_none();
        let (arguments, context) = (self.arguments.max(1), size_of::<Context>());
        // A call costs a kernel without barriers as much as its shortest rows.
        let inline = if waits { "noinline" } else { "alwaysinline" };
        let mut text = format!(
            "define internal i32 @turn{state}(ptr noalias dereferenceable({context}) %ctx, ptr noalias %frames, ptr noalias %states, i32 %first, i32 %behind) {inline} {{\nentry:\n"
        );
        for (name, ty) in &slots {
            let _ = writeln!(text, "  {name} = alloca {ty}");
        }
        // From the last row to the first is a way of counting, too.
        let from = state.checked_sub(1).map(|barrier| self.barriers[barrier].instruction);
        let row = match self.phases.runs_downwards(from) {
            true => "sub i32 %sum, %number",
            false => "add i32 %number, 0",
        };
        let _ = write!(
            text,
            "  %end = alloca i32
  %args = alloca [{arguments} x i8], align 64
  %fuel.at = getelementptr i8, ptr %ctx, i64 {}
  %last = sub i32 %behind, 1
  %sum = add i32 %first, %last
  br label %turn
turn:
  %number = phi i32 [ %first, %entry ], [ %next, %ended ]
",
            context::FUEL
        );
        if compares {
            let (most, fewest) = (i32::MAX, i32::MIN);
            let _ = write!(
                text,
                "  %least = phi i32 [ {most}, %entry ], [ %least.on, %ended ]
  %greatest = phi i32 [ {fewest}, %entry ], [ %greatest.on, %ended ]
"
            );
        }
        let _ = writeln!(text, "  %row = {row}");
        if waits {
            let _ = write!(
                text,
                "  %wide = zext i32 %row to i64
  %offset = mul i64 %wide, {frame}
  %frame = getelementptr i8, ptr %frames, i64 %offset
"
            );
        }
        for (name, ty) in &slots {
            let _ = writeln!(text, "  store {ty} zeroinitializer, ptr {name}");
        }
        let burns = used("%fuel");
        if burns {
            text += "  %fuel.first = load i64, ptr %fuel.at\n  store i64 %fuel.first, ptr %fuel\n";
        }
        let _ = writeln!(text, "{head}  br label %{}", start(state));
        text.extend(blocks.iter().map(|block| block.text));
        let _ = write!(text, "stop:\n  ret i32 {}\nended:\n", end::STOP);
        if burns {
            text += "  %fuel.last = load i64, ptr %fuel\n  store i64 %fuel.last, ptr %fuel.at\n";
        }
        text += match compares {
            true => {
                "  %end.at = load i32, ptr %end
  %place = getelementptr i32, ptr %states, i64 %wide
  store i32 %end.at, ptr %place
  %is.less = icmp slt i32 %end.at, %least
  %least.on = select i1 %is.less, i32 %end.at, i32 %least
  %is.greater = icmp sgt i32 %end.at, %greatest
  %greatest.on = select i1 %is.greater, i32 %end.at, i32 %greatest
"
            }
            false => "",
        };
        text += "  %next = add i32 %number, 1
  %more = icmp ult i32 %next, %behind
  br i1 %more, label %turn, label %all
all:
";
        let _ = match compares {
            true => writeln!(
                text,
                "  %together = icmp eq i32 %least.on, %greatest.on
  %where = select i1 %together, i32 %least.on, i32 {}
  ret i32 %where\n}}",
                end::MIXED
            ),
            false => writeln!(text, "  ret i32 {}\n}}", only.unwrap_or(end::DONE)),
        };
        text
    }

    /// Which threads a row has.
    fn head(&self) -> String {
        let width = self.rows.width;
        let [bx, by, bz] = self.rows.block;
        let threads_of_block: u32 = self.rows.block.iter().product();
        let whole = threads_of_block.is_multiple_of(width);
        let mut head = Text::numbered(width, 1 << 24);
        head.line(&format!("%thread = mul i32 %row, {width}"));
        let (straight, vector) = (self.rows.are_straight(), head.int(32, Kind::Vector));
        let threads = match straight && whole {
            true => String::new(),
            false => {
                let splat = head.splat("%thread", "i32");
                let steps = head.list(32, |l| l);
                head.value(&format!("add {vector} {splat}, {steps}"))
            }
        };
        if !whole {
            let limit = head.constant(i64::from(threads_of_block), 32, Kind::Vector);
            head.line(&format!("%present = icmp ult {vector} {threads}, {limit}"));
        }
        let (kind, from) = match straight {
            true => (Kind::Scalar, "%thread".to_owned()),
            false => (Kind::Vector, threads),
        };
        let ty = head.int(32, kind);
        let (x, y) = (head.constant(i64::from(bx), 32, kind), head.constant(i64::from(by), 32, kind));
        if straight && by * bz == 1 {
            head.lines += "  %tid.x = add i32 %thread, 0\n  %tid.y = add i32 0, 0\n  %tid.z = add i32 0, 0\n";
            return head.lines;
        }
        head.line(&format!("%tid.x = urem {ty} {from}, {x}"));
        head.line(&format!("%tid.rest = udiv {ty} {from}, {x}"));
        head.line(&format!("%tid.y = urem {ty} %tid.rest, {y}"));
        head.line(&format!("%tid.z = udiv {ty} %tid.rest, {y}"));
        head.lines
    }

    /// The slots of registers and of what else lives from block to block, by name and type.
    fn slots(&self) -> Vec<(String, String)> {
        let mut slots = Vec::new();
        for register in (0..self.function.body.registers.len() as u32).map(RegId) {
            slots.extend(self.slots_of(register).into_iter().map(|(name, ty, _)| (name, ty)));
        }
        let mask = self.text.int(1, Kind::Vector);
        let parted = self.order.blocks.iter().filter(|&&block| self.divergence.divergent[block]);
        slots.extend(parted.map(|block| (format!("%m{block}"), mask.clone())));
        slots.push((super::carry::SLOT.to_owned(), mask.clone()));
        slots.push(("%live".to_owned(), mask));
        slots.push(("%fuel".to_owned(), "i64".to_owned()));
        slots.extend(self.steps.iter().map(|slot| (slot.clone(), "i64".to_owned())));
        slots
    }
}

/// The function that the host calls: from where all rows are, or from [`end::MIXED`], where each goes on from its own place. It returns
/// when all are done, when one must stop, or with [`end::MIXED`] when some have come to another barrier than others. Where rows are is
/// written down for each of them only when turns end at different places; from then on rows go on one by one.
fn entry_point(barriers: usize, counts_votes: bool) -> String {
    const ARGUMENTS: &str = "ptr %ctx, ptr %frames, ptr %states";
    let mixed = end::MIXED;
    let head = format!("define i32 @rows({ARGUMENTS}, i32 %count, i32 %where) {{\nentry:\n");
    if barriers == 0 {
        return format!(
            "{head}  %end = call i32 @turn0({ARGUMENTS}, i32 0, i32 %count)\n  ret i32 %end\n}}\n\n"
        );
    }
    let (mut cases, mut single_cases) = (String::new(), String::new());
    let (mut turns, mut singles) = (String::new(), String::new());
    let (mut ends, mut single_ends) = (String::new(), String::new());
    for state in 0..=barriers {
        let _ = write!(cases, " i32 {state}, label %all{state}");
        let _ = write!(single_cases, " i32 {state}, label %single{state}");
        let _ = write!(
            turns,
            "all{state}:\n  %end{state} = call i32 @turn{state}({ARGUMENTS}, i32 0, i32 %count)\n  br label %arrived\n"
        );
        let _ = write!(
            singles,
            "single{state}:\n  %one{state} = call i32 @turn{state}({ARGUMENTS}, i32 %row, i32 %next)\n  br label %ran\n"
        );
        let _ = write!(ends, " [ %end{state}, %all{state} ],");
        let _ = write!(single_ends, " [ %one{state}, %single{state} ],");
    }
    let single_ends = single_ends.trim_end_matches(',');
    let votes = match counts_votes {
        false => String::new(),
        true => [(context::VOTES, context::ALL_VOTES), (context::VOTERS, context::ALL_VOTERS)]
            .iter()
            .map(|(from, to)| {
                format!(
                    "  %from{from} = getelementptr i8, ptr %ctx, i64 {from}
  %to{from} = getelementptr i8, ptr %ctx, i64 {to}
  %count{from} = load i32, ptr %from{from}
  store i32 %count{from}, ptr %to{from}
  store i32 0, ptr %from{from}\n"
                )
            })
            .collect(),
    };
    format!(
        "{head}  br label %phase
phase:
  %at = phi i32 [ %where, %entry ], [ %next.at, %arrived ]
  switch i32 %at, label %each [{cases} ]
{turns}each:
  %row = phi i32 [ 0, %phase ], [ %next, %on ]
  %least = phi i32 [ {most}, %phase ], [ %least.on, %on ]
  %greatest = phi i32 [ {fewest}, %phase ], [ %greatest.on, %on ]
  %next = add i32 %row, 1
  %wide = zext i32 %row to i64
  %place = getelementptr i32, ptr %states, i64 %wide
  %state = load i32, ptr %place
  switch i32 %state, label %on [{single_cases} ]
{singles}ran:
  %one = phi i32{single_ends}
  %stops = icmp eq i32 %one, {stop}
  br i1 %stops, label %stopped, label %went
went:
  store i32 %one, ptr %place
  %is.less = icmp slt i32 %one, %least
  %least.run = select i1 %is.less, i32 %one, i32 %least
  %is.greater = icmp sgt i32 %one, %greatest
  %greatest.run = select i1 %is.greater, i32 %one, i32 %greatest
  br label %on
on:
  %least.on = phi i32 [ %least, %each ], [ %least.run, %went ]
  %greatest.on = phi i32 [ %greatest, %each ], [ %greatest.run, %went ]
  %more = icmp ult i32 %next, %count
  br i1 %more, label %each, label %through
through:
  %together = icmp eq i32 %least.on, %greatest.on
  %same = select i1 %together, i32 %least.on, i32 {mixed}
  br label %arrived
arrived:
  %end = phi i32{ends} [ %same, %through ]
  %next.at = phi i32{ends} [ {mixed}, %through ]
{votes}  %goes.on = icmp sgt i32 %end, 0
  br i1 %goes.on, label %phase, label %return
return:
  ret i32 %end
stopped:
  ret i32 {stop}
}}

",
        most = i32::MAX,
        fewest = i32::MIN,
        stop = end::STOP,
    )
}
