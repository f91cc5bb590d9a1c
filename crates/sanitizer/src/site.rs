//! What every instruction of a module is to the memory model: order, scope, proxy, bytes; and what the model's text says of
//! that ([`memory_model::definitions`]).

use crate::anchors::{Anchor, anchors};
use crate::looks::Looking;
use crate::products::{self, Step};
use crate::talking::is_held;
use crate::together::{Follower, Followers, Teams};
use machine::fault::Access;
use memory_model::definitions::NEWEST;
use memory_model::event::{Order, Scope};
use ptx::isa::{
    self, Convergence, Effects, Fence, Footprint, Group, GroupEffect, MbarrierAction, Modifier, Opcode,
    Proxy, Slot,
};
use ptx::module::{FuncId, Module};
use ptx::types::StateSpace;
use std::sync::Arc;

/// An instruction of a loaded module: its index in [`Sites`].
pub(crate) type SiteId = u32;

/// What an instruction does that the sanitizer follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Nothing.
    None,
    /// Each lane accesses memory: `ld`, `st`, `atom`, `red`.
    Access(Access),
    /// The same, but memory changes only where the comparison holds.
    CompareAndSwap,
    /// Rows of 8 elements, one address for each of the first lanes.
    Rows { access: Access, lanes: u32 },
    /// What the machine tells the bytes of: matrices, blocks, all places of a multicast address, surfaces.
    Told(Access),
    /// The same through the texture proxy.
    Texture,
    /// The same of `wgmma`, which reads through the async proxy, later.
    Product,
    /// `tcgen05.mma`, `.cp`, `.shift`, `.ld`, `.st`: what they access is told.
    Tensor(Pipe),
    /// `tcgen05.commit`: what is before it arrives with it.
    TensorCommit,
    /// `tcgen05.wait`: all that was issued before is done.
    TensorWait(Pipe),
    /// `fence`, `membar`.
    Fence,
    /// `fence.proxy.async`.
    ProxyFence,
    /// `cp.async`.
    Copy,
    /// `cp.async.mbarrier.arrive`.
    CopyArrive,
    /// `cp.async.commit_group`; of bulk copies; of `wgmma`.
    Commit(Queue),
    /// `cp.async.wait_group`, `wait_all`: all but so many groups are done.
    Wait { of: Queue, but: Option<u32>, reads: bool },
    /// `mbarrier.init`.
    MbarrierInit,
    /// `st.async`, `red.async`.
    AsyncAccess(Access),
}

/// Who does what a thread has issued to the tensor core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pipe {
    /// Products, copies and shifts, those of a thread one after the other.
    Products,
    /// `tcgen05.ld`.
    Loads,
    /// `tcgen05.st`.
    Stores,
}

impl Pipe {
    fn of(group: Group) -> Option<Self> {
        match group {
            Group::TensorCore => Some(Self::Products),
            Group::TensorLoad => Some(Self::Loads),
            Group::TensorStore => Some(Self::Stores),
            Group::Copy | Group::Bulk | Group::Wgmma | Group::Mbarrier => None,
        }
    }
}

/// What groups of asynchronous operations are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queue {
    /// `cp.async`.
    Copies,
    /// Bulk copies.
    Bulk,
    /// `wgmma`.
    Products,
}

impl Queue {
    fn of(group: Group) -> Option<Self> {
        match group {
            Group::Copy => Some(Self::Copies),
            Group::Bulk => Some(Self::Bulk),
            Group::Wgmma => Some(Self::Products),
            Group::Mbarrier | Group::TensorCore | Group::TensorLoad | Group::TensorStore => None,
        }
    }
}

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) action: Action,
    pub(crate) order: Order,
    pub(crate) scope: Scope,
    /// Whether it is a strong operation.
    pub(crate) strong: bool,
    /// Whether it begins release patterns: a fence, or a write by itself.
    pub(crate) releases: bool,
    /// Whether it ends acquire patterns: a fence, or a read by itself.
    pub(crate) acquires: bool,
    /// Whether a read of it may begin an acquire pattern: that of a reduction may not.
    pub(crate) seen: bool,
    /// Whether it is a compare-and-swap or an exchange.
    pub(crate) exchanges: bool,
    /// Whether it accesses memory of its threads' own, or the kernel's parameters, by its text.
    pub(crate) own: bool,
    /// Bytes of an element: vectors are accesses of their elements.
    pub(crate) element: u32,
    /// What its addresses are computed of, once that is [known](Sites::find_anchors).
    pub(crate) anchor: Option<Anchor>,
    /// Loads that are judged with it, and whether it is [judged with another one](crate::together).
    pub(crate) followers: Followers,
    pub(crate) follows: bool,
    /// The module, function and index.
    pub(crate) module: u32,
    pub(crate) function: FuncId,
    pub(crate) instruction: u32,
}

impl Site {
    /// An instruction that accesses nothing and orders nothing.
    fn plain(module: u32, function: FuncId, instruction: u32) -> Self {
        Self {
            action: Action::None,
            order: Order::Weak,
            scope: Scope::Gpu,
            strong: false,
            releases: false,
            acquires: false,
            seen: true,
            exchanges: false,
            own: false,
            element: 1,
            anchor: None,
            followers: Followers::default(),
            follows: false,
            module,
            function,
            instruction,
        }
    }

    /// Whether it is a strong operation.
    pub(crate) fn is_strong(&self) -> bool {
        self.strong
    }
}

/// For whom an instruction is of interest: each host thread of each launch asks that of every instruction, and no lock is taken for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interest {
    /// Whether it does something that is followed; nobody but who looks into locks asks what happens to memory of a thread's own.
    acts: bool,
    own: bool,
    /// Whether it is [told of by another one](crate::together).
    follows: bool,
    /// Whether it is [held](crate::talking::is_held).
    pub(crate) held: bool,
    /// Whether it is of a function that multiplies matrices.
    multiplies: bool,
}

/// The same of each instruction of each function of a module.
pub(crate) type Interests = Arc<Vec<Vec<Interest>>>;

impl Interest {
    /// Whether somebody is to be told of it: who looks into locks or does not, is told of followers with their leaders, and checks
    /// how instructions work together.
    pub(crate) fn is_told(self, by_locks: bool, together: bool, sync: bool) -> bool {
        let matters = self.acts && (by_locks || !self.own);
        matters && !(self.follows && together) || sync && self.multiplies
    }
}

/// State spaces that nobody else accesses, or nobody writes.
const OWN: [StateSpace; 3] = [StateSpace::Local, StateSpace::ParamEntry, StateSpace::ParamFunc];

fn scope_of(opcode: &Opcode) -> Scope {
    let volatile = opcode.order() == Some(isa::Order::Volatile);
    opcode.scope().unwrap_or(if volatile { Scope::Sys } else { Scope::Gpu })
}

fn action_of(opcode: &Opcode, effects: &Effects, count: Option<u32>) -> Action {
    match effects.groups {
        Some(GroupEffect::Commit(of)) => return Queue::of(of).map_or(Action::None, Action::Commit),
        Some(GroupEffect::Wait(of)) => {
            let wait = |of| Action::Wait { of, but: count, reads: opcode.has(Modifier::Read) };
            let of_pipe = || Pipe::of(of).map_or(Action::None, Action::TensorWait);
            return Queue::of(of).map_or_else(of_pipe, wait);
        }
        Some(GroupEffect::Arrive(Group::Copy | Group::Bulk)) => return Action::CopyArrive,
        // It is told as what happens to the mbarrier.
        Some(GroupEffect::Arrive(Group::TensorCore | Group::TensorLoad | Group::TensorStore)) => {
            return Action::TensorCommit;
        }
        None => {}
        // `wgmma.fence` is about registers: accesses to memory are ordered by a proxy fence.
        Some(GroupEffect::Arrive(Group::Wgmma | Group::Mbarrier) | GroupEffect::Order(_)) => {
            return Action::None;
        }
    }
    match effects.fence {
        // That of a warp's barrier is told as the barrier.
        Some(Fence::Memory) if effects.convergence == Convergence::Thread => return Action::Fence,
        // That of a copied tensor map is between proxies that are not followed.
        Some(Fence::Proxy) if effects.memory.is_empty() => {
            return match opcode.get(Slot::ProxyKind) {
                Some(Modifier::Async | Modifier::AsyncGeneric) => Action::ProxyFence,
                _ => Action::None,
            };
        }
        Some(Fence::Memory | Fence::Proxy) | None => {}
    }
    // Tensor memory is none of the spaces that operands name.
    if let Some(pipe) = effects.asynchronous.and_then(Pipe::of) {
        return Action::Tensor(pipe);
    }
    let Some(first) = effects.memory.first() else { return Action::None };
    match effects.asynchronous {
        Some(Group::Copy) => return Action::Copy,
        Some(Group::Mbarrier) => return access_of(first.access).map_or(Action::None, Action::AsyncAccess),
        Some(Group::Wgmma) => return Action::Product,
        // They are told as copies.
        Some(Group::Bulk) => return Action::None,
        Some(Group::TensorCore | Group::TensorLoad | Group::TensorStore) | None => {}
    }
    match (first.proxy, first.footprint, access_of(first.access)) {
        (Proxy::Generic, Footprint::Lane, Some(_)) if first.access == isa::Access::CompareAndSwap => {
            Action::CompareAndSwap
        }
        (Proxy::Generic, Footprint::Lane, Some(access)) => Action::Access(access),
        (Proxy::Generic, Footprint::Lane, None)
            if first.access == isa::Access::Mbarrier(MbarrierAction::Init) =>
        {
            Action::MbarrierInit
        }
        (Proxy::Generic, Footprint::Lane, None) => Action::None,
        (Proxy::Generic, Footprint::Rows, Some(access)) => {
            let matrices = opcode.get(Slot::Vec).and_then(Modifier::vector_length).unwrap_or(4);
            Action::Rows { access, lanes: if matrices >= 4 { !0 } else { (1 << (8 * matrices)) - 1 } }
        }
        (Proxy::Generic, Footprint::Matrix | Footprint::Block, Some(access))
        | (Proxy::Multimem | Proxy::Surface, _, Some(access)) => Action::Told(access),
        (Proxy::Texture, _, Some(_)) => Action::Texture,
        (
            Proxy::Generic,
            Footprint::Rows | Footprint::Matrix | Footprint::Block | Footprint::Descriptor,
            _,
        )
        | (Proxy::Multimem | Proxy::Surface | Proxy::Texture, _, None)
        | (Proxy::Async | Proxy::Tensormap, _, _) => Action::None,
    }
}

/// How the machine tells of an access; `None` of what is done to an mbarrier.
fn access_of(access: isa::Access) -> Option<Access> {
    match access {
        isa::Access::Load => Some(Access::Load),
        isa::Access::Store => Some(Access::Store),
        isa::Access::Atomic | isa::Access::CompareAndSwap | isa::Access::Reduce => Some(Access::Atomic),
        isa::Access::Mbarrier(_) => None,
    }
}

/// The module of sites that are no instructions: copies and fills that the program asks the driver for.
pub(crate) const DRIVER: u32 = u32::MAX;

/// The sites of the driver's reads and writes.
pub(crate) const DRIVER_READ: SiteId = 0;
pub(crate) const DRIVER_WRITE: SiteId = 1;

/// The instructions of all modules that were launched from.
#[derive(Clone, Debug)]
pub(crate) struct Sites {
    sites: Vec<Site>,
    /// For each module, where each function begins in `sites`.
    starts: Vec<Vec<SiteId>>,
    /// For each module, what instructions of functions that multiply matrices are to these.
    steps: Vec<Vec<Option<Arc<[Step]>>>>,
    /// For each module, whether it has asynchronous operations.
    asynchronous: Vec<bool>,
    /// For each module, of which functions it is known what addresses are computed of.
    anchored: Vec<Vec<bool>>,
    /// For each module, which instructions are strong loads.
    looking: Vec<Looking>,
    /// For each module, what is of interest.
    interests: Vec<Interests>,
    /// Of all instructions.
    followers: Vec<Follower>,
    /// Whether any function of any module multiplies matrices.
    pub(crate) have_products: bool,
}

impl Default for Sites {
    fn default() -> Self {
        let of_driver = |access| Site {
            action: Action::Access(access),
            scope: Scope::Sys,
            ..Site::plain(DRIVER, FuncId(0), 0)
        };
        let sites = vec![of_driver(Access::Load), of_driver(Access::Store)];
        let (starts, steps, asynchronous, anchored, looking, interests, followers) = Default::default();
        let have_products = false;
        Self { sites, starts, steps, asynchronous, anchored, looking, interests, followers, have_products }
    }
}

impl Sites {
    /// Adds a module; its number.
    pub(crate) fn add(&mut self, module: &Module) -> u32 {
        let number = self.starts.len() as u32;
        let functions = (0..module.functions.len() as u32).map(FuncId);
        let steps: Vec<_> = functions.map(|function| products::steps(module, function)).collect();
        let mut starts = Vec::with_capacity(module.functions.len());
        let mut asynchronous = false;
        let mut looking = vec![Vec::new(); module.functions.len()];
        for (index, function) in module.functions.iter().enumerate() {
            starts.push(self.sites.len() as SiteId);
            let Some(body) = &function.body else { continue };
            // Where matrices are multiplied every instruction is told.
            let of_function = FuncId(index as u32);
            let mut teams = if steps[index].is_none() { Teams::new(module, of_function) } else { None };
            for (place, instruction) in body.instructions.iter().enumerate() {
                let opcode = module.opcode(instruction);
                let effects = opcode.sem().map(|sem| sem.effects());
                let plain = Site::plain(number, of_function, place as u32);
                let Some(effects) = effects.filter(|effects| !effects.is_pure()) else {
                    looking[index].push(false);
                    self.sites.push(plain);
                    if let Some(teams) = &mut teams {
                        teams.add(instruction, &plain, effects);
                    }
                    continue;
                };
                let count = body.operands(instruction).iter().find_map(|operand| match operand {
                    ptx::module::Operand::Immediate(value) => Some(*value as u32),
                    _ => None,
                });
                let (order, scope) = (opcode.order().map_or(Order::Weak, Order::from), scope_of(opcode));
                let action = action_of(opcode, effects, count);
                let fence = action == Action::Fence;
                let by_another = |proxy| matches!(proxy, Proxy::Async | Proxy::Tensormap);
                asynchronous |= effects.asynchronous.is_some()
                    || effects.groups.is_some()
                    || effects.memory.iter().any(|effect| by_another(effect.proxy));
                let reduces = effects.memory.iter().any(|effect| effect.access == isa::Access::Reduce);
                looking[index].push(action == Action::Access(Access::Load) && NEWEST.is_strong(order));
                let mut spaces = (0..opcode.data().operands.len()).filter_map(|i| opcode.operand_space(i));
                let site = Site {
                    action,
                    order,
                    scope,
                    strong: NEWEST.is_strong(order),
                    releases: if fence { NEWEST.fence_releases(order) } else { NEWEST.write_releases(order) },
                    acquires: if fence { NEWEST.fence_acquires(order) } else { NEWEST.read_acquires(order) },
                    seen: NEWEST.read_is_seen(!reduces),
                    exchanges: opcode.has(Modifier::Cas) || opcode.has(Modifier::Exch),
                    own: spaces.any(|space| OWN.contains(&space)),
                    element: opcode.ty(Slot::Type).map_or(16, |ty| ty.bytes()).max(1),
                    ..plain
                };
                self.sites.push(site);
                if let Some(teams) = &mut teams {
                    teams.add(instruction, &site, Some(effects));
                }
            }
            for (leader, followers) in teams.map_or_else(Vec::new, Teams::finish) {
                let leader = (starts[index] + leader) as usize;
                followers.iter().for_each(|of| self.sites[leader + of.behind as usize].follows = true);
                self.sites[leader].followers = Followers::added(&mut self.followers, &followers);
            }
        }
        self.starts.push(starts);
        let any = looking.iter().flatten().any(|looks| *looks);
        self.looking.push(if any { Arc::new(looking) } else { Arc::default() });
        self.asynchronous.push(asynchronous);
        self.anchored.push(vec![false; module.functions.len()]);
        self.interests.push(self.interests_in(number, module, &steps));
        self.have_products |= steps.iter().any(Option::is_some);
        self.steps.push(steps);
        number
    }

    /// What is of interest in a module that has just been added, and whose functions' instructions are so much to products.
    fn interests_in(&self, number: u32, module: &Module, steps: &[Option<Arc<[Step]>>]) -> Interests {
        let of_function = |(index, multiplies): (u32, bool)| {
            let body = module.functions[index as usize].body.as_ref();
            let count = body.map_or(0, |body| body.instructions.len()) as u32;
            let interest = |at| {
                let site @ &Site { action, own, follows, .. } = self.get(self.id(number, FuncId(index), at));
                Interest { acts: action != Action::None, own, follows, held: is_held(site), multiplies }
            };
            (0..count).map(interest).collect()
        };
        Arc::new((0..).zip(steps.iter().map(Option::is_some)).map(of_function).collect())
    }

    /// What is of interest in a module.
    pub(crate) fn interests(&self, module: u32) -> &Interests {
        &self.interests[module as usize]
    }

    /// What the instructions of a function are to its products; `None` if it has none.
    pub(crate) fn steps(&self, module: u32, function: FuncId) -> Option<&Arc<[Step]>> {
        self.steps[module as usize][function.index()].as_ref()
    }

    /// Whether a module has asynchronous operations, as the driver's copies are.
    pub(crate) fn are_asynchronous(&self, module: u32) -> bool {
        self.asynchronous.get(module as usize).is_none_or(|asynchronous| *asynchronous)
    }

    /// Of each function of a module which instructions are strong loads; empty if none is.
    pub(crate) fn looking(&self, module: u32) -> &Looking {
        &self.looking[module as usize]
    }

    /// Finds out what the addresses of a function's accesses are computed of.
    pub(crate) fn find_anchors(&mut self, (number, module): (u32, &Module), function: FuncId) {
        let known = std::mem::replace(&mut self.anchored[number as usize][function.index()], true);
        for (instruction, anchor) in if known { Vec::new() } else { anchors(module, function) } {
            let site = self.id(number, function, instruction) as usize;
            self.sites[site].anchor = Some(anchor);
        }
    }

    /// Of how many functions that is known.
    pub(crate) fn functions_with_anchors(&self) -> usize {
        self.anchored.iter().flatten().filter(|known| **known).count()
    }

    /// How many modules there are.
    pub(crate) fn modules(&self) -> usize {
        self.starts.len()
    }

    /// All [followers](Followers).
    pub(crate) fn followers(&self) -> &[Follower] {
        &self.followers
    }

    /// The site of an instruction.
    pub(crate) fn id(&self, module: u32, function: FuncId, instruction: u32) -> SiteId {
        self.starts[module as usize][function.index()] + instruction
    }

    pub(crate) fn get(&self, site: SiteId) -> &Site {
        &self.sites[site as usize]
    }
}
