//! Asynchronous operations that are performed later than they are issued ([`crate::asynchrony`]): how they are issued, what
//! waits for them, and how they are performed, which is by the functions that would have performed them at once.

use super::address::lane_address;
use super::bulk::told;
use super::control::{fence, run_until};
use super::matrix::assemble;
use crate::asynchrony::pending::{Issued, Issuer, Membership, Place, Record, Until, Write};
use crate::asynchrony::proxy::Stale;
use crate::exec::{Exec, LaneTrap, event};
use crate::fault::Trap;
use crate::image::Image;
use crate::image::asynchronous::Completes;
use crate::image::copy::Ranks;
use crate::image::matrix::{FactorSource, Product};
use crate::lanes::{EMPTY, Files, LANES, Mask, PlaneId};
use crate::matrix::WARPGROUP;
use crate::memory::{RANK_SHIFT, SHARED_WINDOW};
use crate::operation::kinds::{AwaitGroups, CommitGroup, Fence, Postpone, ShowFragments, ShowMemory};
use crate::operation::{Address, Operation};
use ptx::isa::Group;
use std::ops::Range;
use std::sync::Arc;

/// Products that a pack may have issued and not computed; beyond that the first is.
const MAX_PRODUCTS: usize = 64;

/// A random operation is performed once in so many times.
const ONCE_IN: u32 = 4;

/// What the memory of a CTA that has exited holds.
const GONE: u8 = 0xa5;

type Done = Result<(), LaneTrap>;

/// Who is executing.
fn issuer(x: &Exec<'_>) -> Issuer {
    (x.threads.rank, x.threads.first_warp)
}

/// Goes on behind an operation, or faults.
fn go_on(x: &mut Exec<'_>, done: Done, to: u32) -> u32 {
    match done {
        Ok(()) => to,
        Err(trap) => {
            x.trap = Some(trap);
            event::FAULT
        }
    }
}

/// Issues the operations behind this one.
pub(crate) fn postpone(x: &mut Exec<'_>, op: &Postpone, pc: u32) -> u32 {
    let behind = pc + 1 + u32::from(op.operations);
    let completes = *x.grid.image.site(op.site);
    let multiplies = matches!(completes, Completes::Group(Group::Wgmma));
    if multiplies && let Some(next) = assemble(x, WARPGROUP) {
        return next;
    }
    let operations = pc + 1..behind;
    let done = match completes {
        Completes::Group(group) => issue_to_group(x, group, operations),
        Completes::Nothing => {
            let (issuer, files) = (issuer(x), (Arc::new(x.files.clone()), unseen(x)));
            let place = Place { issuer, operations, local_base: x.local_base };
            x.pending.issue(place, x.mask, files, Until::Nothing);
            Ok(())
        }
        Completes::Phase { object, ranks, arrival } => {
            issue_to_phase(x, (object, ranks), arrival, operations);
            Ok(())
        }
    };
    let done = done.and_then(|()| keep_bounds(x)).and_then(|()| pass_time(x));
    go_on(x, done, behind)
}

fn issue_to_group(x: &mut Exec<'_>, group: Group, operations: Range<u32>) -> Done {
    let (who, mask, files, stale) = (issuer(x), x.mask, Arc::new(x.files.clone()), unseen(x));
    let place = Place { issuer: who, operations, local_base: x.local_base };
    let issue = |x: &mut Exec<'_>, lanes, product| {
        let until = Until::Group(Membership::new(group, lanes, product));
        x.pending.issue(place.clone(), lanes, (Arc::clone(&files), Arc::clone(&stale)), until);
    };
    match group {
        Group::Wgmma => {
            let saw_a = see_fragments(x, &place.operations);
            issue(x, mask, Some(Issued { saw_a, done: false }));
            let uncomputed = |r: &Record| r.place.issuer == who && is_uncomputed(r);
            while x.pending.all().filter(|r| uncomputed(r)).count() > MAX_PRODUCTS
                || x.pending.by_chance(ONCE_IN)
            {
                let Some(at) = x.pending.oldest(uncomputed) else { break };
                compute(x, at)?;
            }
        }
        // What a copy reads ahead of its wait is kept for one lane.
        Group::Bulk => {
            for (warp, lane) in x.active_lanes() {
                issue(x, one(warp, lane), None);
            }
        }
        Group::TensorLoad => {
            issue(x, mask, None);
            let own = |r: &Record| r.place.issuer == who && r.is_of(Group::TensorLoad);
            while x.pending.all().filter(|r| own(r)).count() > MAX_PRODUCTS {
                let Some(at) = x.pending.oldest(own) else { break };
                load(x, at, &mask)?;
            }
        }
        Group::Copy | Group::Mbarrier | Group::TensorCore | Group::TensorStore => issue(x, mask, None),
    }
    Ok(())
}

/// Issues for the objects of all lanes.
fn issue_to_phase(
    x: &mut Exec<'_>,
    ((address, window), ranks): ((Address, u64), Option<Ranks>),
    arrival: Option<Group>,
    operations: Range<u32>,
) {
    let (files, stale) = (Arc::new(x.files.clone()), unseen(x));
    let place = Place { issuer: issuer(x), operations, local_base: x.local_base };
    let mut objects: Vec<(u64, Mask, Arc<Files>)> = Vec::new();
    for (warp, lane) in x.active_lanes() {
        let at = lane_address(x, address, warp, lane).wrapping_add(window);
        match ranks {
            None => match objects.iter_mut().find(|(object, ..)| *object == at) {
                Some((_, lanes, _)) => lanes[warp] |= 1 << lane,
                None => objects.push((at, one(warp, lane), Arc::clone(&files))),
            },
            // A copy for each CTA.
            Some(Ranks { mask: plane, by_pairs }) => {
                let mask = files.h[plane.index() + warp].0[lane];
                for rank in (0..u16::BITS).filter(|rank| mask >> rank & 1 != 0) {
                    let mut files = (*files).clone();
                    files.h[plane.index() + warp].0[lane] = 1 << rank;
                    let at = SHARED_WINDOW | told(at.wrapping_sub(SHARED_WINDOW), rank.into(), by_pairs);
                    objects.push((at, one(warp, lane), Arc::new(files)));
                }
            }
        }
    }
    for (object, lanes, files) in objects {
        let until = Until::Phase { object, arrival, asked: false };
        x.pending.issue(place.clone(), lanes, (files, Arc::clone(&stale)), until);
    }
}

/// What an operation that is issued now misses of shared memory.
fn unseen(x: &Exec<'_>) -> Stale {
    let proxy = &x.pending.proxy;
    if !proxy.is_apart() {
        return Stale::default();
    }
    let own = (x.threads.rank as usize, &*x.shared);
    let peers = x.peers.iter().enumerate().map(|(rank, memory)| (rank, memory.as_slice()));
    let all = peers.filter(|(_, memory)| !memory.is_empty()).chain([own]);
    all.flat_map(|(rank, memory)| proxy.unseen(rank, memory)).collect()
}

fn one(warp: usize, lane: usize) -> Mask {
    let mut mask = EMPTY;
    mask[warp] = 1 << lane;
    mask
}

fn both(a: &Mask, b: &Mask) -> Mask {
    std::array::from_fn(|warp| a[warp] & b[warp])
}

/// `cp.async.commit_group` and its relatives.
pub(crate) fn commit(x: &mut Exec<'_>, op: &CommitGroup, pc: u32) -> u32 {
    let mask = x.mask;
    x.pending.commit(issuer(x), op.group, &mask);
    let done = pass_time(x);
    go_on(x, done, pc + 1)
}

/// `cp.async.wait_group` and its relatives.
pub(crate) fn wait(x: &mut Exec<'_>, op: &AwaitGroups, pc: u32) -> u32 {
    let done = pass_time(x).and_then(|()| match op.group {
        Group::Wgmma => wait_for_products(x, op),
        Group::TensorLoad => wait_for_loads(x, op),
        Group::Copy | Group::Bulk | Group::Mbarrier | Group::TensorCore | Group::TensorStore => {
            wait_for_copies(x, op)
        }
    });
    go_on(x, done, pc + 1)
}

fn wait_for_copies(x: &mut Exec<'_>, op: &AwaitGroups) -> Done {
    let (who, mask) = (issuer(x), x.mask);
    let awaited = |r: &Record| r.awaited(who, (op.group, op.but), &mask, op.uncommitted);
    let forced = |r: &Record| awaited(r) != EMPTY && !(op.reads && r.read.is_some());
    while let Some(at) = x.pending.first(forced) {
        match op.reads {
            true => read(x, at)?,
            false => {
                let lanes = awaited(x.pending.get(at));
                perform(x, at, &lanes)?;
            }
        }
    }
    Ok(())
}

/// Executes operations with the registers of those who have issued them, and says what has become of these.
fn execute(
    x: &mut Exec<'_>,
    place: &Place,
    lanes: Mask,
    (files, stale): (Files, Stale),
) -> Result<Files, LaneTrap> {
    x.pending.proxy.begin(stale);
    let own = (std::mem::replace(&mut x.files, files), x.mask, x.local_base, x.at);
    x.set_mask(lanes);
    x.local_base = place.local_base;
    x.pending.performed_for = Some(place.issuer.0);
    let image: &Image = x.grid.image;
    let Range { start: mut pc, end } = place.operations;
    let stopped = run_until(x, &image.ops, &mut pc, end).is_some();
    x.pending.proxy.begin(Stale::default());
    x.pending.performed_for = None;
    let files = std::mem::replace(&mut x.files, own.0);
    x.set_mask(own.1);
    (x.local_base, x.at) = (own.2, own.3);
    if !stopped {
        return Ok(files);
    }
    x.trap_at = Some(pc);
    let trap = x.trap.take().unwrap_or(LaneTrap { trap: Trap::Trap, lane: None });
    // Lanes of another pack are not this one's.
    Err(LaneTrap { lane: trap.lane.filter(|_| place.issuer == issuer(x)), ..trap })
}

/// Performs an operation for some of its lanes.
pub(crate) fn perform(x: &mut Exec<'_>, at: usize, lanes: &Mask) -> Done {
    let Some(mut record) = x.pending.take(at, lanes) else { return Ok(()) };
    let Some(writes) = record.read.take() else {
        let files = Arc::unwrap_or_clone(std::mem::take(&mut record.files));
        return execute(x, &record.place, record.lanes, (files, record.stale)).map(drop);
    };
    let write = |Write { end, address, bytes, reduction }: Write| match reduction {
        None => end.write(x, address, &bytes),
        Some(how) => end.combine(x, address, &bytes, &how),
    };
    let written = writes.into_iter().try_for_each(write);
    written.map_err(|trap| LaneTrap { trap, lane: crate::exec::lanes_of(record.lanes).next() })
}

/// Lets a copy read its source.
fn read(x: &mut Exec<'_>, at: usize) -> Done {
    let lanes = x.pending.get(at).lanes;
    let Some(mut record) = x.pending.take(at, &lanes) else { return Ok(()) };
    let files = Arc::unwrap_or_clone(std::mem::take(&mut record.files));
    x.pending.held = Some(Vec::new());
    let done = execute(x, &record.place, record.lanes, (files, Arc::clone(&record.stale)));
    record.read = x.pending.held.take();
    done?;
    x.pending.put_back(at, record);
    Ok(())
}

/// Performs all of an operation, and first what it comes after.
pub(crate) fn complete(x: &mut Exec<'_>, at: usize) -> Done {
    let record = x.pending.get(at);
    let (number, issuer, lanes) = (record.number, record.place.issuer, record.lanes);
    if let Some(group) = record.comes_after() {
        let before = |r: &Record| {
            r.number < number && r.place.issuer == issuer && r.is_of(group) && both(&r.lanes, &lanes) != EMPTY
        };
        while let Some(before) = x.pending.oldest(before) {
            perform(x, before, &lanes)?;
        }
    }
    match x.pending.oldest(|r| r.number == number) {
        Some(at) => perform(x, at, &lanes),
        None => Ok(()),
    }
}

/// Performs everything for which something holds.
fn complete_all(x: &mut Exec<'_>, is: impl Fn(&Record) -> bool) -> Done {
    while let Some(at) = x.pending.first(&is) {
        complete(x, at)?;
    }
    Ok(())
}

/// Performs everything that this CTA has issued and for which something holds. Products need the frame that they are of.
pub(crate) fn complete_own(x: &mut Exec<'_>, is: impl Fn(&Record) -> bool) -> Done {
    let rank = x.threads.rank;
    complete_all(x, |r| r.is_copy_of(rank) && is(r))
}

/// The CTA of this pack has exited, and its memory goes.
pub(crate) fn exit(x: &mut Exec<'_>) -> Done {
    let rank = x.threads.rank;
    x.pending.drop_all(|r| r.place.issuer.0 == rank && r.writes_registers());
    complete_all(x, |r| r.place.issuer.0 == rank && !r.is_of(Group::Bulk) || r.tells_in(rank))?;
    let has_not_read = |r: &Record| r.place.issuer.0 == rank && r.read.is_none();
    if x.pending.is_adversarial() && x.pending.oldest(has_not_read).is_some() {
        x.shared.fill(GONE);
    }
    complete_all(x, |r| r.place.issuer.0 == rank)
}

/// More than is kept of registers is performed.
fn keep_bounds(x: &mut Exec<'_>) -> Done {
    let rank = x.threads.rank;
    while x.pending.is_full()
        && let Some(at) = x.pending.oldest(|r| r.is_copy_of(rank))
    {
        complete(x, at)?;
    }
    Ok(())
}

/// Performs what chance says.
pub(crate) fn pass_time(x: &mut Exec<'_>) -> Done {
    if !x.pending.is_random() {
        return Ok(());
    }
    let rank = x.threads.rank;
    let copies: Vec<u64> = x.pending.all().filter(|r| r.is_copy_of(rank)).map(|r| r.number).collect();
    for number in copies {
        if !x.pending.by_chance(ONCE_IN) {
            continue;
        }
        let Some(at) = x.pending.oldest(|r| r.number == number) else { continue };
        let unread = x.pending.get(at).is_of(Group::Bulk) && x.pending.get(at).read.is_none();
        match unread && x.pending.by_chance(2) {
            true => read(x, at)?,
            false => complete(x, at)?,
        }
    }
    Ok(())
}

/// The product that an operation is.
fn product<'a>(image: &'a Image, operations: &Range<u32>) -> Option<&'a Product> {
    match image.ops[operations.start as usize].operation() {
        Operation::MultiplyMatrices(op) => Some(image.site(op.site)),
        _ => None,
    }
}

/// The registers that hold A.
fn fragments_of_a(product: &Product) -> &[PlaneId] {
    match &product.a.source {
        FactorSource::Registers(fragment) => fragment.planes(),
        FactorSource::Shared { .. } => &[],
    }
}

fn is_uncomputed(record: &Record) -> bool {
    matches!(&record.until, Until::Group(Membership { product: Some(Issued { done: false, .. }), .. }))
}

/// The registers that products of this pack have still to show.
fn unshown(x: &Exec<'_>) -> Vec<PlaneId> {
    let (image, who) = (x.grid.image, issuer(x));
    let own = x.pending.all().filter(|r| r.place.issuer == who && r.is_of(Group::Wgmma));
    own.filter_map(|r| product(image, &r.place.operations)).flat_map(|p| p.d.planes()).copied().collect()
}

/// A product is issued: without a fence it sees registers as they are all the same, unless it is to see what no fence has
/// shown. Returns whether it sees A.
fn see_fragments(x: &mut Exec<'_>, operations: &Range<u32>) -> bool {
    let Some(product) = product(x.grid.image, operations) else { return true };
    let a = fragments_of_a(product);
    let warps = (0..x.warps).filter(|&warp| x.mask[warp] != 0);
    if x.pending.is_adversarial() {
        return warps.into_iter().all(|warp| x.threads.fragments.sees(&x.files, a, warp));
    }
    let unshown = unshown(x);
    for warp in warps {
        for &plane in product.d.planes().iter().filter(|plane| !unshown.contains(plane)) {
            x.threads.fragments.see(&x.files, plane, warp);
        }
    }
    true
}

/// `wgmma.fence`.
pub(crate) fn show_fragments(x: &mut Exec<'_>, _: &ShowFragments, pc: u32) -> u32 {
    let unshown = unshown(x);
    for warp in (0..x.warps).filter(|&warp| x.mask[warp] != 0) {
        x.threads.fragments.see_all(&x.files, (warp, x.warps), &unshown);
    }
    pc + 1
}

/// Computes a product. It is one of this pack, in the frame that is executed.
fn compute(x: &mut Exec<'_>, at: usize) -> Done {
    let image = x.grid.image;
    let record = x.pending.get(at);
    let (place, lanes, mut files) = (record.place.clone(), record.lanes, Files::clone(&record.files));
    let stale = Arc::clone(&record.stale);
    let Until::Group(Membership { product: Some(issued), .. }) = &mut record.until else { return Ok(()) };
    let saw_a = std::mem::replace(issued, Issued { done: true, ..*issued }).saw_a;
    let Some(product) = product(image, &place.operations) else { return Ok(()) };
    let warps = || (0..x.warps).filter(|&warp| lanes[warp] != 0);
    for warp in warps() {
        for &plane in fragments_of_a(product) {
            match saw_a {
                true => files.w[plane.index() + warp] = x.files.w[plane.index() + warp],
                false => x.threads.fragments.show(&mut files, plane, warp),
            }
        }
        for &plane in product.d.planes() {
            x.threads.fragments.show(&mut files, plane, warp);
        }
    }
    let files = execute(x, &place, lanes, (files, stale))?;
    for warp in (0..x.warps).filter(|&warp| lanes[warp] != 0) {
        for &plane in product.d.planes() {
            x.threads.fragments.see(&files, plane, warp);
        }
    }
    x.pending.forget_registers(at);
    Ok(())
}

/// Computes products, as they were issued, and shows them.
fn wait_for_products(x: &mut Exec<'_>, op: &AwaitGroups) -> Done {
    let (who, mask) = (issuer(x), x.mask);
    let awaited = |r: &Record| r.awaited(who, (op.group, op.but), &mask, op.uncommitted);
    while let Some(at) = x.pending.oldest(|r| awaited(r) != EMPTY) {
        if is_uncomputed(x.pending.get(at)) {
            compute(x, at)?;
        }
        let lanes = awaited(x.pending.get(at));
        let operations = x.pending.get(at).place.operations.clone();
        if let Some(product) = product(x.grid.image, &operations) {
            for warp in (0..x.warps).filter(|&warp| lanes[warp] != 0) {
                for &plane in product.d.planes() {
                    x.threads.fragments.show(&mut x.files, plane, warp);
                }
            }
        }
        x.pending.take(at, &lanes);
    }
    Ok(())
}

/// Loads from tensor memory, and shows what they have loaded, where threads wait for it.
fn wait_for_loads(x: &mut Exec<'_>, op: &AwaitGroups) -> Done {
    let (who, mask) = (issuer(x), x.mask);
    let awaited = |r: &Record| r.awaited(who, (op.group, op.but), &mask, op.uncommitted) != EMPTY;
    while let Some(at) = x.pending.oldest(awaited) {
        load(x, at, &mask)?;
    }
    Ok(())
}

/// Performs a load from tensor memory for some of its lanes. It is one of this pack, in the frame that is executed.
fn load(x: &mut Exec<'_>, at: usize, lanes: &Mask) -> Done {
    let Some(record) = x.pending.take(at, lanes) else { return Ok(()) };
    let files = Arc::unwrap_or_clone(record.files);
    let files = execute(x, &record.place, record.lanes, (files, record.stale))?;
    let image = x.grid.image;
    for op in &image.ops[record.place.operations.start as usize..record.place.operations.end as usize] {
        let Operation::LoadTensorMemory(load) = op.operation() else { continue };
        for plane in image.planes(image.site(load.site).planes).iter().flatten() {
            for warp in (0..x.warps).filter(|&warp| record.lanes[warp] != 0) {
                let (from, to) = (&files.w[plane.index() + warp], &mut x.files.w[plane.index() + warp]);
                for lane in (0..LANES).filter(|lane| record.lanes[warp] >> lane & 1 != 0) {
                    to.0[lane] = from.0[lane];
                }
            }
        }
    }
    Ok(())
}

/// `fence.proxy.async`.
pub(crate) fn show_memory(x: &mut Exec<'_>, _: &ShowMemory, pc: u32) -> u32 {
    if x.pending.proxy.is_apart() {
        x.pending.proxy.see((x.shared_base >> RANK_SHIFT) as usize, x.shared);
        for (rank, memory) in x.peers.iter().enumerate().filter(|(_, memory)| !memory.is_empty()) {
            x.pending.proxy.see(rank, memory);
        }
    }
    fence(x, &Fence {}, pc)
}

/// So many lanes are of a mask.
pub(crate) fn count(lanes: &Mask) -> u32 {
    lanes.iter().map(|lanes| lanes.count_ones()).sum::<u32>().min((LANES * lanes.len()) as u32)
}
