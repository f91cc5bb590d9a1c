//! Asynchronous operations that have been issued and are not done, of the threads of a cluster.

use super::Asynchrony;
use super::proxy::{Proxy, Run, Stale};
use crate::image::copy::{End, Reduction};
use crate::lanes::{EMPTY, Files, LANES, MAX_WARPS, Mask, Plane};
use crate::memory::{RANK_SHIFT, WINDOW_SIZE};
use ptx::isa::Group;
use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Bytes that are kept for what is pending, registers mostly, at most: beyond that the oldest is performed.
const MAX_BYTES: usize = 64 << 20;

/// The warps of a CTA that were issued together: its rank, and the first of them.
pub(crate) type Issuer = (u32, u32);

/// An asynchronous operation of lanes of a pack.
#[derive(Debug)]
pub(crate) struct Record {
    /// What tells it from all others, ascending.
    pub(crate) number: u64,
    pub(crate) place: Place,
    /// The lanes for which that has not been done.
    pub(crate) lanes: Mask,
    /// The registers that it is to find, and what it misses of shared memory.
    pub(crate) files: Arc<Files>,
    pub(crate) stale: Stale,
    /// What it will write, if it has read its source.
    pub(crate) read: Option<Vec<Write>>,
    pub(crate) until: Until,
    /// Whether a turn has ended since it was issued.
    old: bool,
}

/// What is to be executed, and where.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) issuer: Issuer,
    pub(crate) operations: Range<u32>,
    /// Where the locals of the frame start.
    pub(crate) local_base: u32,
}

/// What forces an operation.
#[derive(Debug)]
pub(crate) enum Until {
    /// A wait for its group.
    Group(Membership),
    /// Nothing but time, and the end of its CTA.
    Nothing,
    /// The end of a phase of the mbarrier object at an address.
    Phase {
        /// In the shared window, with the rank of the CTA.
        object: u64,
        /// The group whose operations it arrives for; `None` if the phase waits for its bytes.
        arrival: Option<Group>,
        /// Whether somebody has asked for the end of the phase in vain.
        asked: bool,
    },
}

/// In which groups lanes have put an operation.
#[derive(Debug)]
pub(crate) struct Membership {
    pub(crate) group: Group,
    /// Lanes that have not committed it.
    pub(crate) open: Mask,
    /// Groups that each lane has committed since it committed that of this.
    younger: Box<[[u32; LANES]; MAX_WARPS]>,
    /// What there is to know of a product.
    pub(crate) product: Option<Issued>,
}

/// A product of warpgroups that has been issued.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Issued {
    /// Whether it saw all registers with A as they were when it was issued.
    pub(crate) saw_a: bool,
    /// Whether it has been computed, and only has to be shown.
    pub(crate) done: bool,
}

impl Membership {
    pub(crate) fn new(group: Group, lanes: Mask, product: Option<Issued>) -> Self {
        Self { group, open: lanes, younger: Box::new([[0; LANES]; MAX_WARPS]), product }
    }

    /// The lanes that wait for this by waiting for all groups but the last `but`; `uncommitted` for what is in none, too.
    fn awaited(&self, lanes: &Mask, but: u32, uncommitted: bool) -> Mask {
        let mut awaited = EMPTY;
        for (warp, awaited) in awaited.iter_mut().enumerate() {
            let committed = lanes[warp] & !self.open[warp];
            let is_old = |lane: &usize| self.younger[warp][*lane] >= but;
            let old = (0..LANES).filter(is_old).fold(0, |old, lane| old | 1 << lane);
            *awaited = committed & old | if uncommitted { lanes[warp] & self.open[warp] } else { 0 };
        }
        awaited
    }
}

/// A part of what a copy writes.
#[derive(Debug)]
pub(crate) struct Write {
    pub(crate) end: End,
    pub(crate) address: u64,
    pub(crate) bytes: Vec<u8>,
    /// What it does to what is there, if it does not overwrite it.
    pub(crate) reduction: Option<Reduction>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Pending {
    when: Asynchrony,
    random: Pcg64Mcg,
    /// In the order of issue.
    records: VecDeque<Record>,
    issued: u64,
    bytes: usize,
    /// What a copy that only reads its source would write.
    pub(crate) held: Option<Vec<Write>>,
    /// The rank of the CTA that has issued what is performed now.
    pub(crate) performed_for: Option<u32>,
    pub(crate) proxy: Proxy,
}

impl Default for Pending {
    fn default() -> Self {
        Self {
            when: Asynchrony::Eager,
            random: Pcg64Mcg::seed_from_u64(0),
            records: VecDeque::new(),
            issued: 0,
            bytes: 0,
            held: None,
            performed_for: None,
            proxy: Proxy::default(),
        }
    }
}

/// Bytes that are kept for an operation.
fn size(files: &Files, stale: &Stale) -> usize {
    let stale = stale.iter().map(Run::size).sum::<usize>();
    let planes = files.h.len() * size_of::<Plane<u16>>()
        + files.w.len() * size_of::<Plane<u32>>()
        + files.d.len() * size_of::<Plane<u64>>();
    stale + planes + files.p.len() * 4 + files.s.len() * 8
}

impl Pending {
    /// The threads of a cluster begin, so many CTAs with so much shared memory each; whatever was here is forgotten.
    pub(crate) fn begin(&mut self, when: Asynchrony, cluster: u64, ctas: usize, shared: usize) {
        if when == Asynchrony::Eager && self.when == when {
            return;
        }
        let seed = match when {
            Asynchrony::Random { seed } => seed,
            Asynchrony::Eager | Asynchrony::Late | Asynchrony::Adversarial => 0,
        };
        let proxy = match when {
            Asynchrony::Adversarial => Proxy::new(ctas, shared),
            Asynchrony::Eager | Asynchrony::Late | Asynchrony::Random { .. } => Proxy::default(),
        };
        let state = seed ^ cluster.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        *self = Self { when, random: Pcg64Mcg::seed_from_u64(state), proxy, ..Self::default() };
    }

    /// Whether nothing is pending.
    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Whether operations do not see what no fence has shown them, and what was not waited for finds its memory gone.
    pub(crate) fn is_adversarial(&self) -> bool {
        self.when == Asynchrony::Adversarial
    }

    /// Whether operations are performed at random times.
    pub(crate) fn is_random(&self) -> bool {
        matches!(self.when, Asynchrony::Random { .. })
    }

    /// Whether chance has it that something happens now which happens once in so many times.
    pub(crate) fn by_chance(&mut self, once_in: u32) -> bool {
        self.is_random() && self.random.next_u32().is_multiple_of(once_in)
    }

    /// Issues an operation.
    pub(crate) fn issue(
        &mut self,
        place: Place,
        lanes: Mask,
        (files, stale): (Arc<Files>, Stale),
        until: Until,
    ) {
        self.bytes += size(&files, &stale);
        self.issued += 1;
        let (number, read, old) = (self.issued, None, false);
        self.records.push_back(Record { number, place, lanes, files, stale, read, until, old });
    }

    /// Whether it is more than is kept.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes > MAX_BYTES
    }

    /// Where the record is that is to be performed first of those for which something holds.
    pub(crate) fn first(&self, is: impl Fn(&Record) -> bool) -> Option<usize> {
        match self.is_adversarial() {
            true => self.records.iter().rposition(is),
            false => self.records.iter().position(is),
        }
    }

    /// Where the one is that was issued first.
    pub(crate) fn oldest(&self, is: impl Fn(&Record) -> bool) -> Option<usize> {
        self.records.iter().position(is)
    }

    /// The record at a place.
    pub(crate) fn get(&mut self, at: usize) -> &mut Record {
        &mut self.records[at]
    }

    /// All of them.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Record> {
        self.records.iter()
    }

    /// All of them, to be changed.
    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = &mut Record> {
        self.records.iter_mut()
    }

    /// Takes an operation out, for some of its lanes; what there is of it for others stays.
    pub(crate) fn take(&mut self, at: usize, lanes: &Mask) -> Option<Record> {
        let record = self.records.get_mut(at)?;
        let mut rest = record.lanes;
        rest.iter_mut().zip(lanes).for_each(|(rest, taken)| *rest &= !taken);
        if rest == EMPTY {
            let record = self.records.remove(at)?;
            self.bytes -= size(&record.files, &record.stale);
            return Some(record);
        }
        let mut taken = record.lanes;
        taken.iter_mut().zip(lanes).for_each(|(taken, lanes)| *taken &= lanes);
        record.lanes = rest;
        let until = match &record.until {
            Until::Group(of) => Until::Group(Membership::new(of.group, of.open, of.product)),
            Until::Nothing => Until::Nothing,
            &Until::Phase { object, arrival, asked } => Until::Phase { object, arrival, asked },
        };
        let (place, files) = (record.place.clone(), Arc::clone(&record.files));
        let stale = Arc::clone(&record.stale);
        let Record { number, old, .. } = *record;
        Some(Record { number, place, lanes: taken, files, stale, read: None, until, old })
    }

    /// An operation that was taken out whole has read its source, and has still to write.
    pub(crate) fn put_back(&mut self, at: usize, record: Record) {
        self.bytes += size(&record.files, &record.stale);
        self.records.insert(at, record);
    }

    /// It needs its registers no more.
    pub(crate) fn forget_registers(&mut self, at: usize) {
        let record = &mut self.records[at];
        self.bytes -= size(&record.files, &record.stale);
        (record.files, record.stale) = Default::default();
    }

    /// What it is for becomes nothing.
    pub(crate) fn drop_all(&mut self, is: impl Fn(&Record) -> bool) {
        let bytes = &mut self.bytes;
        self.records.retain(|record| {
            let gone = is(record);
            *bytes -= if gone { size(&record.files, &record.stale) } else { 0 };
            !gone
        });
    }

    /// Lanes commit a group.
    pub(crate) fn commit(&mut self, issuer: Issuer, group: Group, lanes: &Mask) {
        for record in self.records.iter_mut().filter(|record| record.place.issuer == issuer) {
            let Until::Group(of) = &mut record.until else { continue };
            if of.group != group {
                continue;
            }
            for warp in 0..MAX_WARPS {
                let committed = lanes[warp] & !of.open[warp];
                of.open[warp] &= !lanes[warp];
                for (lane, younger) in of.younger[warp].iter_mut().enumerate() {
                    *younger = younger.saturating_add(committed >> lane & 1);
                }
            }
        }
    }

    /// A turn ends.
    pub(crate) fn grow_old(&mut self) {
        self.records.iter_mut().for_each(|record| record.old = true);
    }
}

impl Record {
    /// The lanes that wait for it by waiting for the groups of a kind but the last `but`.
    pub(crate) fn awaited(
        &self,
        issuer: Issuer,
        (group, but): (Group, u32),
        lanes: &Mask,
        uncommitted: bool,
    ) -> Mask {
        match &self.until {
            Until::Group(of) if of.group == group && self.place.issuer == issuer => {
                let mut awaited = of.awaited(lanes, but, uncommitted);
                awaited.iter_mut().zip(self.lanes).for_each(|(awaited, here)| *awaited &= here);
                awaited
            }
            Until::Group(_) | Until::Nothing | Until::Phase { .. } => EMPTY,
        }
    }

    /// Whether it is of a group of this kind.
    pub(crate) fn is_of(&self, group: Group) -> bool {
        matches!(&self.until, Until::Group(of) if of.group == group)
    }

    /// Whether it ends phases of an mbarrier object of the CTA with a rank.
    pub(crate) fn tells_in(&self, rank: u32) -> bool {
        let of = |object: u64| (object & (WINDOW_SIZE - 1)) >> RANK_SHIFT == u64::from(rank);
        matches!(self.until, Until::Phase { object, .. } if of(object))
    }

    /// Whether it ends phases of an mbarrier object.
    pub(crate) fn tells(&self, at: u64) -> bool {
        matches!(self.until, Until::Phase { object, .. } if object == at)
    }

    /// Whether threads of the CTA with a rank have issued it, and it writes no registers.
    pub(crate) fn is_copy_of(&self, rank: u32) -> bool {
        self.place.issuer.0 == rank && !self.writes_registers()
    }

    /// Whether it writes registers, which are of the frame that has issued it.
    pub(crate) fn writes_registers(&self) -> bool {
        self.is_of(Group::Wgmma) || self.is_of(Group::TensorLoad)
    }

    /// The group whose operations, of the same lanes and issued before, are performed before it.
    pub(crate) fn comes_after(&self) -> Option<Group> {
        match &self.until {
            Until::Phase { arrival, .. } => *arrival,
            Until::Group(of) => (of.group == Group::TensorCore).then_some(of.group),
            Until::Nothing => None,
        }
    }

    /// Whether it has been there for more than a turn.
    pub(crate) fn is_old(&self) -> bool {
        self.old
    }
}
