//! Running compiled code: a CTA's rows, from barrier to barrier, and what they ask of the host.

use crate::code::Loaded;
use crate::context::{Context, end};
use crate::emit::Emitted;
use crate::sites::{Action, Site, lists};
use machine::Trap;
use machine::compiled::{Code, Cta, Row, RowTrap, Single, Stopped};
use ptx::module::FuncId;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Bytes to which frames are aligned.
const FRAME_ALIGN: usize = 64;

/// One row, from a barrier to the next or to its end.
type Resume = unsafe extern "C" fn(*mut Context, *mut u8, i32, u32) -> i32;

/// All rows of a kernel without barriers.
type All = unsafe extern "C" fn(*mut Context, u32) -> i32;

enum Entry {
    Resume(Resume),
    All(All),
}

/// A kernel's machine code.
pub(crate) struct Compiled {
    entry: Entry,
    kernel: FuncId,
    sites: Vec<Site>,
    /// Bytes of a row's frame.
    frame: usize,
    /// Rows of a CTA, and threads of a row.
    rows: u32,
    width: u32,
    /// What `entry` is in.
    _loaded: Loaded,
}

impl Compiled {
    /// A kernel whose text has been compiled.
    pub(crate) fn new(
        emitted: Emitted,
        kernel: FuncId,
        loaded: Loaded,
        rows: u32,
        width: u32,
    ) -> Result<Self, String> {
        let name = if emitted.has_barriers { "resume" } else { "all" };
        let address = loaded.address_of(name).ok_or_else(|| format!("there is no function `{name}`"))?;
        // SAFETY: the text defines the function with this type, and its code lives as long as the entry.
        let entry = unsafe {
            match emitted.has_barriers {
                true => Entry::Resume(std::mem::transmute::<usize, Resume>(address)),
                false => Entry::All(std::mem::transmute::<usize, All>(address)),
            }
        };
        Ok(Self { entry, kernel, sites: emitted.sites, frame: emitted.frame, rows, width, _loaded: loaded })
    }
}

/// What the host keeps behind [`Context::host`] while a CTA runs.
struct Host<'a, 'b> {
    code: &'a Compiled,
    cta: &'a mut Cta<'b>,
    stopped: Option<Stopped>,
    /// What fuel there was when the machine was last asked.
    fuel: i64,
}

impl Host<'_, '_> {
    /// Fuel for the time until the machine is asked again.
    fn refuel(&mut self) -> i64 {
        self.fuel = i64::try_from(self.cta.allowance()).unwrap_or(i64::MAX);
        self.fuel
    }

    /// Accounts for what was burnt; whether the CTA may go on.
    fn account(&mut self, left: i64) -> bool {
        self.cta.spend(u64::try_from(self.fuel.saturating_sub(left)).unwrap_or(0))
    }
}

impl Code for Compiled {
    fn run(&self, cta: &mut Cta<'_>, scratch: &mut Vec<u64>) -> Result<(), Stopped> {
        let rows = self.rows as usize;
        let states = rows.div_ceil(2);
        let frames = rows * self.frame;
        let words = states + (frames + FRAME_ALIGN) / 8 + 1;
        if scratch.len() < words {
            scratch.resize(words, 0);
        }
        let pages = cta.pages();
        let (ctaid, nctaid) = (cta.ctaid(), cta.nctaid());
        let params = cta.params().as_ptr();
        let local_bytes = u64::from(cta.local_bytes());
        // One pointer for each row, if there is anything to point to.
        let threads = (0..self.rows).filter(|_| local_bytes != 0).map(|row| row * self.width);
        let local: Vec<*mut u8> = threads.map(|thread| cta.local(thread).as_mut_ptr()).collect();
        let shared = cta.shared();
        let (shared, shared_bytes) = (shared.as_mut_ptr(), shared.len() as u64);
        let mut host = Host { code: self, cta, stopped: None, fuel: 0 };
        let fuel = host.refuel();
        let mut context = Context {
            base: pages.base,
            size: pages.size,
            valid: pages.valid,
            params,
            shared,
            shared_bytes,
            local: local.as_ptr(),
            local_bytes,
            fuel,
            ctaid: [ctaid[0], ctaid[1], ctaid[2], 0],
            nctaid: [nctaid[0], nctaid[1], nctaid[2], 0],
            call,
            poll,
            host: (&raw mut host).cast(),
        };
        let context_at = &raw mut context;
        let stops = match self.entry {
            // SAFETY: the context is as the code expects it and lives until the code returns; what the code does with it is
            // argued in `crate::emit`.
            Entry::All(all) => unsafe { all(context_at, self.rows) == end::STOP },
            Entry::Resume(resume) => {
                let (states, frames) = scratch.split_at_mut(states);
                let mut running = rows;
                let state_of = |states: &[u64], row: usize| (states[row / 2] >> (row % 2 * 32)) as u32 as i32;
                states.fill(0);
                let first = frames.as_mut_ptr().cast::<u8>();
                let first = first.wrapping_add(first.align_offset(FRAME_ALIGN));
                let mut stops = false;
                while running > 0 && !stops {
                    for row in 0..rows {
                        let state = state_of(states, row);
                        if state == end::STOP {
                            continue;
                        }
                        let frame = first.wrapping_add(row * self.frame);
                        // SAFETY: as above; the frame has the bytes that the text stores, and the state is 0 or what the
                        // row ended with.
                        let ended = unsafe { resume(context_at, frame, state, row as u32) };
                        if ended == end::STOP {
                            stops = true;
                            break;
                        }
                        // A row that is done is not called again.
                        let next = if ended == end::DONE { end::STOP } else { ended };
                        running -= usize::from(ended == end::DONE);
                        let shift = row % 2 * 32;
                        states[row / 2] =
                            states[row / 2] & !(0xffff_ffff << shift) | u64::from(next as u32) << shift;
                    }
                }
                stops
            }
        };
        if stops {
            return Err(host.stopped.take().unwrap_or(Stopped::Told));
        }
        match host.account(context.fuel) {
            true => Ok(()),
            false => Err(Stopped::Told),
        }
    }
}

/// Executes an instruction for a row: [`crate::context::Call`].
unsafe extern "C" fn call(context: *mut Context, site: u32, row: u32, mask: u32, arguments: *mut u64) -> i32 {
    // SAFETY: compiled code hands back the context that it was called with, whose host lives until the code returns and is
    // used by nobody else meanwhile.
    let host = unsafe { &mut *(*context).host.cast::<Host<'_, '_>>() };
    let width = host.code.width as usize;
    let site = &host.code.sites[site as usize];
    // SAFETY: the code has room for as many lists as any of its calls needs.
    let lists = unsafe { std::slice::from_raw_parts_mut(arguments, width * site.action.lists()) };
    let first = row * host.code.width;
    let done = catch_unwind(AssertUnwindSafe(|| match &site.action {
        Action::Interpret { reads, writes, is_whole } => {
            let live = is_whole.then_some(mask);
            let instruction = site.instruction;
            host.cta.interpret(&Single { first, width, mask, live, instruction, reads, writes }, lists)
        }
        action => access(host.cta, action, first, mask, lists, width).map_err(|(lane, trap)| {
            let place = (host.code.kernel, site.instruction);
            Stopped::Trap { trap, thread: Some(first + lane as u32), place }
        }),
    }));
    let stopped = match done {
        Ok(Ok(())) => return 0,
        Ok(Err(stopped)) => stopped,
        Err(_) => {
            let trap = Trap::IllegalInstruction("the host failed to execute it".to_owned());
            Stopped::Trap { trap, thread: None, place: (host.code.kernel, site.instruction) }
        }
    };
    host.stopped = Some(stopped);
    1
}

/// Asks the machine whether the CTA may go on: [`crate::context::Poll`].
unsafe extern "C" fn poll(context: *mut Context) -> i32 {
    // SAFETY: as in `call`.
    let (context, host) = unsafe { (&mut *context, &mut *(*context).host.cast::<Host<'_, '_>>()) };
    let asked = catch_unwind(AssertUnwindSafe(|| {
        let goes_on = host.account(context.fuel);
        context.fuel = host.refuel();
        goes_on
    }));
    i32::from(!asked.unwrap_or(false))
}

impl Action {
    /// Lists of lanes that it reads and writes.
    fn lists(&self) -> usize {
        match self {
            Self::Load { elements, .. } | Self::Store { elements, .. } => 1 + elements,
            Self::Update { .. } => 4,
            Self::Interpret { reads, writes, .. } => lists(reads) + lists(writes),
            Self::Trap => 0,
        }
    }
}

/// Accesses memory for a row, or traps.
fn access(
    cta: &mut Cta<'_>,
    action: &Action,
    first: u32,
    mask: u32,
    lists: &mut [u64],
    width: usize,
) -> Result<(), RowTrap> {
    match *action {
        Action::Load { space, bytes, elements } => {
            let (addresses, into) = lists.split_at_mut(width);
            let row = Row { first, mask, addresses, space, bytes, elements };
            let mut into: Vec<&mut [u64]> = into.chunks_mut(width).collect();
            cta.load(&row, &mut into)
        }
        Action::Store { space, bytes, elements } => {
            let (addresses, from) = lists.split_at(width);
            let row = Row { first, mask, addresses, space, bytes, elements };
            let from: Vec<&[u64]> = from.chunks(width).collect();
            cta.store(&row, &from)
        }
        Action::Update { space, bytes, atomic } => {
            let (operands, old) = lists.split_at_mut(3 * width);
            let [addresses, b, c] = [0, 1, 2].map(|list| &operands[list * width..][..width]);
            let row = Row { first, mask, addresses, space, bytes, elements: 1 };
            cta.update(&row, atomic, b, c, old)
        }
        Action::Interpret { .. } => Ok(()),
        Action::Trap => Err((mask.trailing_zeros() as usize, Trap::Trap)),
    }
}
