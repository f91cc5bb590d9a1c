//! What the model must know of a kernel's instructions, found once.

use crate::device::{Device, Throttle};
use sass::effects::Register;
use sass::hazards::Issue;
use sass::latency::Class;
use sass::{Arch, Control, Instruction};
use sass_machine::{BYTES, Grid};

/// A launch that cannot be modelled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unmodelled {
    /// An opcode that the device says nothing of.
    #[error("the device's file says nothing of `{0}`")]
    Opcode(String),
    /// There is no such kernel.
    #[error("there is no kernel `{0}`")]
    Kernel(String),
    /// No latencies, without which no scoreboard is known.
    #[error("no latencies were measured for this architecture")]
    Latencies,
    /// A CTA that fits no SM.
    #[error("an SM of the device has no room for a CTA: {0} are too few")]
    Resources(&'static str),
}

/// An instruction.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    pub(crate) control: Control,
    /// Scoreboards that it waits for, and how many may still hold each.
    pub(crate) waits: Vec<(usize, usize)>,
    /// Pipes, of which one takes it, or all do, and for how long.
    pub(crate) pipes: Vec<usize>,
    pub(crate) takes_all: bool,
    pub(crate) interval: u64,
    /// Cycles to a result that a scoreboard guards; of an access, if the L1 has it and nothing is in the way.
    pub(crate) latency: u64,
    /// Rounds of the unit for memory: of an access to shared memory at least.
    pub(crate) rounds: u64,
    pub(crate) throttle: Throttle,
    /// Control goes elsewhere behind it, if any lane carries it out.
    pub(crate) turns: bool,
    /// Warps wait for one another there.
    pub(crate) is_barrier: bool,
    /// It arrives at a barrier of the CTA.
    pub(crate) arrives: bool,
    /// It reads registers, for which it waits until those of the instruction before have been read.
    pub(crate) reads: bool,
    /// Cycles more than one for which no other instruction's operands are read.
    pub(crate) dispatch: u64,
    /// Banks of registers that it reads operands of, and for how many cycles.
    pub(crate) banks: Vec<(usize, u64)>,
    /// It reads a constant bank by a register.
    pub(crate) is_indexed: bool,
    /// It holds the scoreboards that it names: what has a fixed latency does not.
    pub(crate) holds: bool,
    /// What it does beside the threads.
    pub(crate) beside: Option<Beside>,
    /// Its access goes around the L1.
    pub(crate) is_strong: bool,
    /// It may touch what all SMs have together.
    pub(crate) leaves: bool,
}

/// What goes on beside the threads, and what waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beside {
    /// A copy in bulk between global and shared memory.
    Bulk,
    /// A copy of a thread, from global to shared memory.
    Copy,
    /// Holds its scoreboard until all copies before it are done.
    Copies,
    /// An arrival at an object in shared memory when all copies of the thread before it are done.
    Arrival,
    /// A product of four warps.
    Product,
    /// Waits for those.
    Products,
    /// Waits for accesses, and holds the scoreboard for its operands meanwhile.
    Fence,
    /// Waits until the cluster has met.
    Meeting,
}

impl Beside {
    fn of(head: &str) -> Option<Self> {
        let mut parts = head.split('.');
        match (parts.next()?, parts.next()) {
            ("UBLKCP" | "UTMALDG" | "UTMASTG" | "UTMAREDG", _) => Some(Self::Bulk),
            ("ARRIVES", _) => Some(Self::Arrival),
            ("LDGSTS", _) => Some(Self::Copy),
            ("LDGDEPBAR" | "UTMACMDFLUSH", _) => Some(Self::Copies),
            ("MEMBAR", _) => Some(Self::Fence),
            ("UCGABAR_WAIT", _) => Some(Self::Meeting),
            ("HGMMA", _) => Some(Self::Product),
            ("WARPGROUP", Some("DEPBAR")) => Some(Self::Products),
            _ => None,
        }
    }
}

/// The kernel's instructions; none for a word that is none, which faults where it is executed.
pub(crate) fn of(grid: &Grid<'_>, device: &Device) -> Result<Vec<Option<Code>>, Unmodelled> {
    let latencies = sass::latency::table(90).ok_or(Unmodelled::Latencies)?;
    let banks = device.parameters.banks;
    let mut kept: Vec<(usize, Register)> = Vec::new();
    grid.words()
        .iter()
        .enumerate()
        .map(|(index, &word)| {
            let Some(instruction) = sass::decode(Arch::Sm90, word) else { return Ok(None) };
            let issue = Issue::of(&instruction, index as u64 * BYTES, latencies);
            let mut text = String::new();
            instruction.print(0, &mut text);
            let head = Instruction::head(&text);
            // What other CTAs are told of is not modelled.
            let group = device.opcodes(head).filter(|_| !head.ends_with(".MULTICAST"));
            let group = group.ok_or_else(|| Unmodelled::Opcode(head.to_owned()))?;
            let read = read(&issue, &kept, banks);
            kept.clear();
            kept.extend(
                issue.slots().iter().filter(|slot| slot.2).map(|&(slot, register, _)| (slot, register)),
            );
            Ok(Some(Code {
                control: issue.control,
                waits: issue.waits().to_vec(),
                throttle: device.pipes[group.pipes[0]].throttle,
                pipes: group.pipes.clone(),
                takes_all: group.takes_all,
                interval: group.interval,
                latency: group.latency,
                rounds: group.rounds,
                turns: issue.turns(),
                arrives: head.split('.').next() == Some("BAR"),
                is_barrier: matches!(head.split('.').next(), Some("BAR" | "SYNCS")),
                beside: Beside::of(head),
                is_indexed: text.contains("c[0x") && text.contains("][R"),
                reads: !issue.slots().is_empty(),
                dispatch: group.dispatch,
                banks: read
                    .into_iter()
                    .map(|(bank, count)| (bank, count * device.parameters.bank_conflict))
                    .collect(),
                holds: !matches!(issue.class, Some(Class::Fixed(_))),
                is_strong: head.contains(".STRONG") || head.contains(".BYPASS"),
                leaves: grid.leaves_the_sm(index),
            }))
        })
        .collect()
}

/// How many operands each bank has to give: those that were kept are not read, nor one twice.
fn read(issue: &Issue, kept: &[(usize, Register)], banks: u64) -> Vec<(usize, u64)> {
    let mut read: Vec<u64> = vec![0; banks as usize];
    let mut seen: Vec<Register> = Vec::new();
    for &(slot, register, _) in issue.slots() {
        let Register::Vector(number) = register else { continue };
        if number != 255 && !kept.contains(&(slot, register)) && !seen.contains(&register) {
            seen.push(register);
            read[usize::from(number) % banks as usize] += 1;
        }
    }
    read.into_iter().enumerate().filter(|&(_, count)| count > 0).collect()
}
