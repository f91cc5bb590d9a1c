//! Who watches the dispatch loop, if anybody does.

use super::forgive::Forgiveness;
use super::frame::Frames;
use super::look::{Look, change};
use super::pack::{Group, Join, Pack};
use crate::exec::{Exec, Grid};
use crate::image::{Image, Meta, Origin};
use crate::lanes::{Condition, Mask, Source};
use crate::observe::{Issue, Observer, PackAccess, PackAddresses};
use crate::operation::{Address, Operation};
use slab::Slab;

/// What the dispatch loop is compiled for: with an observer or without.
pub(crate) trait Watch {
    const ACTIVE: bool;
    fn before(&mut self, x: &mut Exec<'_>, pc: u32, around: &mut Around<'_, '_>);
    /// Executes the operation at `pc`, which is what `step` does.
    fn execute(&mut self, x: &mut Exec<'_>, pc: u32, step: impl Fn(&mut Exec<'_>) -> u32) -> u32;
}

/// What stands around the lanes that execute an operation. The registers of their own frame are in [`Exec`] meanwhile.
pub(crate) struct Around<'a, 'o> {
    pub(crate) frames: &'a mut Frames,
    pub(crate) joins: &'a Slab<Join>,
    /// The other groups of the pack that run or wait.
    pub(crate) groups: &'a [Group],
    /// The frame of the lanes.
    pub(crate) frame: usize,
    pub(crate) others: &'a mut Others<'o>,
}

/// What else the host thread has.
pub(crate) struct Others<'a> {
    /// The packs of the CTA, before the one that runs and behind it.
    pub(crate) packs: [&'a mut [Pack]; 2],
    pub(crate) elsewhere: &'a mut (dyn Neighbours + 'a),
}

/// The other CTAs of a host thread that have threads. What runs CTAs implements it: packs, which it knows, know nothing of it.
pub(crate) trait Neighbours {
    /// Each of them; `peers` has the shared memory of those in the cluster that runs.
    fn all<'s>(&'s self, peers: &'s [Vec<u8>]) -> Vec<Resident<&'s [Pack], &'s [u8]>>;
    /// One of them, to change it.
    fn find<'s>(
        &'s mut self,
        block: [u32; 3],
        peers: &'s mut [Vec<u8>],
    ) -> Option<Resident<&'s mut [Pack], &'s mut [u8]>>;
}

/// A CTA that has threads.
pub(crate) struct Resident<P, S> {
    pub(crate) packs: P,
    pub(crate) shared: S,
}

/// No other CTA that anybody would look at.
pub(crate) struct Nobody;

impl Neighbours for Nobody {
    fn all<'s>(&'s self, _: &'s [Vec<u8>]) -> Vec<Resident<&'s [Pack], &'s [u8]>> {
        Vec::new()
    }
    fn find<'s>(
        &'s mut self,
        _: [u32; 3],
        _: &'s mut [Vec<u8>],
    ) -> Option<Resident<&'s mut [Pack], &'s mut [u8]>> {
        None
    }
}

/// Nobody watches.
pub(crate) struct Unwatched;

impl Watch for Unwatched {
    const ACTIVE: bool = false;
    fn before(&mut self, _: &mut Exec<'_>, _: u32, _: &mut Around<'_, '_>) {}
    #[inline(always)]
    fn execute(&mut self, x: &mut Exec<'_>, _: u32, step: impl Fn(&mut Exec<'_>) -> u32) -> u32 {
        step(x)
    }
}

/// Somebody does.
pub(crate) struct Watched<'a> {
    observer: &'a dyn Observer,
    image: &'a Image,
    /// Whether the observer wants to hear of an operation.
    wanted: Vec<bool>,
    /// Whether it wants to hear that the operation has been executed.
    followed: Vec<bool>,
    /// What is done about bad accesses, if kernels may go on after them.
    forgiveness: Option<Forgiveness<'a>>,
}

impl<'a> Watched<'a> {
    pub(crate) fn new(observer: &'a dyn Observer, grid: &'a Grid<'a>) -> Self {
        let image = grid.image;
        let of_all = |wants: &dyn Fn(&Origin) -> bool| {
            let all = image.metas.iter().zip(&image.origins);
            all.map(|(meta, origin)| *meta != Meta::Part && wants(origin)).collect::<Vec<bool>>()
        };
        let wanted = of_all(&|origin| observer.watches(origin.function, origin.instruction));
        let followed = of_all(&|origin| observer.follows(origin.function, origin.instruction));
        let forgiveness = observer.forgives().then(|| Forgiveness::new(observer, grid));
        Self { observer, image, wanted, followed, forgiveness }
    }
}

impl Watch for Watched<'_> {
    const ACTIVE: bool = true;

    #[inline(always)]
    fn before(&mut self, x: &mut Exec<'_>, pc: u32, around: &mut Around<'_, '_>) {
        if self.wanted[pc as usize] {
            self.tell(x, pc, around);
            if self.image.purpose.debug {
                self.change(x, pc, around);
            }
        }
    }

    #[inline(always)]
    fn execute(&mut self, x: &mut Exec<'_>, pc: u32, step: impl Fn(&mut Exec<'_>) -> u32) -> u32 {
        let next = match &mut self.forgiveness {
            None => step(x),
            Some(forgiveness) => forgiveness.execute(x, pc, &step),
        };
        if self.followed[pc as usize] {
            self.observer.executed();
        }
        next
    }
}

impl Watched<'_> {
    /// What the observer wants to be another is, before the instruction is executed.
    #[inline(never)]
    fn change(&self, x: &mut Exec<'_>, pc: u32, around: &mut Around<'_, '_>) {
        loop {
            let changes = self.observer.changes();
            if changes.is_empty() {
                return;
            }
            changes.iter().for_each(|wanted| change(x, around, wanted));
            self.tell(x, pc, around);
        }
    }

    #[inline(never)]
    fn tell(&self, x: &Exec<'_>, pc: u32, around: &Around<'_, '_>) {
        let mut meta = self.image.metas[pc as usize];
        let mut op = self.image.ops[pc as usize].operation();
        let warps = x.warps;
        let holds = |condition: Condition, masks: &mut Mask| {
            for (mask, p) in masks[..warps].iter_mut().zip(&x.files.p[condition.index()..]) {
                *mask &= p ^ condition.flip();
            }
        };
        let mut masks = x.mask;
        if let Operation::Guard(guard) = op {
            holds(guard.condition, &mut masks);
            meta = self.image.metas[pc as usize + 1];
            op = self.image.ops[pc as usize + 1].operation();
        }
        let mut taken = None;
        if let Operation::Branch(branch) = op {
            holds(branch.condition, taken.insert(x.mask));
        }
        let access = match meta {
            Meta::Memory { space, access, bytes, address, step } => {
                let addresses = addresses_of_pack(x, address);
                Some(PackAccess { space, access, bytes, addresses, step })
            }
            Meta::Part | Meta::Plain => None,
        };
        let origin = self.image.origins[pc as usize];
        self.observer.issue(&Issue {
            function: origin.function,
            instruction: origin.instruction,
            block: x.threads.ctaid,
            first_warp: x.threads.first_warp,
            masks: &masks[..warps],
            active: &x.mask[..warps],
            access,
            taken: taken.as_ref().map(|taken| &taken[..warps]),
            state: &Look { x, pc, around },
        });
    }
}

/// The addresses of all warps.
fn addresses_of_pack<'x>(x: &'x Exec<'_>, address: Address) -> PackAddresses<'x> {
    let offset = address.offset.0;
    match address.base.source() {
        Source::Scalar(base) => PackAddresses::Uniform(x.files.s[base.index()].wrapping_add(offset)),
        Source::Plane(base) if base.bits() == 64 => {
            PackAddresses::Wide(&x.files.d[base.index()..][..x.warps], offset)
        }
        Source::Plane(base) => PackAddresses::Narrow(&x.files.w[base.index()..][..x.warps], offset as u32),
    }
}
