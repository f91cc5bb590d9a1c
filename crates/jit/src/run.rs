//! Running compiled code: CTA by CTA, its rows from barrier to barrier, and what they ask of the host.

use crate::context::{Context, Window, end};
use crate::emit::{Barrier, Emitted, Span};
use crate::lists::{self, Lists};
use crate::sites::{Access, Action, Site};
use crate::tiers::Tiers;
use crate::windows::{self, Epoch};
use machine::Trap;
use machine::compiled::{Code, Cta, Row, RowTrap, Single, Stopped};
use ptx::module::FuncId;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Words of what a host thread keeps that say when its windows were made.
const EPOCH: usize = 2;

/// Bytes to which frames are aligned.
const FRAME_ALIGN: usize = 64;

/// A kernel's machine code.
pub(crate) struct Compiled {
    tiers: Tiers,
    kernel: FuncId,
    sites: Vec<Site>,
    windows: Vec<Span>,
    addresses: Vec<u64>,
    barriers: Vec<Barrier>,
    /// Bytes of a row's frame.
    frame: usize,
    /// Rows of a CTA, and threads of a row.
    rows: u32,
    width: u32,
}

impl Compiled {
    /// A kernel whose text has been compiled.
    pub(crate) fn new(emitted: Emitted, kernel: FuncId, tiers: Tiers, rows: u32, width: u32) -> Self {
        let Emitted { sites, windows, addresses, barriers, frame, .. } = emitted;
        Self { tiers, kernel, sites, windows, addresses, barriers, frame, rows, width }
    }
}

/// What the host keeps behind [`Context::host`] while a CTA runs.
struct Host<'a, 'b> {
    code: &'a Compiled,
    cta: &'a mut Cta<'b>,
    stopped: Option<Stopped>,
    /// What fuel there was when the machine was last asked.
    fuel: i64,
    /// For values of lanes in 64 bits.
    lanes: Vec<u64>,
}

impl Host<'_, '_> {
    /// Fuel for the time until the machine is asked again.
    fn refuel(&mut self) -> i64 {
        self.fuel = i64::try_from(self.cta.allowance()).unwrap_or(i64::MAX);
        self.fuel
    }

    /// What a lane of a row has run into.
    fn trap(&self, site: &Site, first: u32, (lane, trap): RowTrap) -> Stopped {
        let place = (self.code.kernel, site.instruction);
        Stopped::Trap { trap, thread: Some(first + lane as u32), place }
    }

    /// Accounts for what was burnt; whether the CTA, or the one behind it, may go on.
    fn account(&mut self, left: i64) -> bool {
        let spent = u64::try_from(self.fuel.saturating_sub(left)).unwrap_or(0);
        self.code.tiers.executed(spent);
        self.cta.spend(spent)
    }
}

impl Compiled {
    /// The fault of rows that wait at different barriers, as the interpreter has it.
    fn never_completes(&self, states: &[i32]) -> Option<Stopped> {
        let barrier = |&state: &i32| self.barriers.get(usize::try_from(state).ok()?.checked_sub(1)?);
        let mut waiting = states.iter().enumerate().filter_map(|(row, state)| Some((row, barrier(state)?)));
        let (row, &Barrier { number, instruction }) = waiting.next()?;
        let (together, apart): (Vec<_>, Vec<_>) = waiting.partition(|(_, other)| other.number == number);
        if apart.is_empty() {
            return None;
        }
        let threads = |rows: usize| rows as u32 * self.width;
        let together = together.len() + 1;
        let (arrived, live) = (threads(together), threads(together + apart.len()));
        let why =
            format!("barrier {number} waits for all threads, but only {arrived} of {live} can ever arrive");
        let (trap, place) = (Trap::InvalidBarrier(why), (self.kernel, instruction));
        Some(Stopped::Trap { trap, thread: Some(threads(row)), place })
    }

    /// Runs all rows of a CTA to their ends. If they must stop, the fault of the CTA as a whole, unless the host knows why.
    ///
    /// # Safety
    /// The context is as the code expects it, and there are as many frames as rows.
    unsafe fn run_rows(
        &self,
        context: &mut Context,
        frames: *mut u8,
        states: &mut [u64],
    ) -> Result<(), Option<Stopped>> {
        // Where rows go on is only looked at where they can wait.
        if !self.barriers.is_empty() {
            states.fill(0);
        }
        let states = states.as_mut_ptr().cast::<i32>();
        let context = &raw mut *context;
        let code = self.tiers.rows();
        let mut at = 0;
        loop {
            // SAFETY: the caller's promise; there are as many states as rows. What the code does with them is argued in `crate::emit`.
            at = unsafe { code(context, frames, states, self.rows, at) };
            match at {
                end::MIXED => {}
                end::STOP => return Err(None),
                _ => return Ok(()),
            }
            // SAFETY: there are as many, and the code does not run.
            let states = unsafe { std::slice::from_raw_parts(states, self.rows as usize) };
            if let Some(fault) = self.never_completes(states) {
                return Err(Some(fault));
            }
        }
    }
}

impl Code for Compiled {
    fn run(&self, cta: &mut Cta<'_>, scratch: &mut Vec<u64>) -> Result<(), Stopped> {
        let rows = self.rows as usize;
        let (states, windows) = (rows.div_ceil(2), self.windows.len() * (size_of::<Window>() / 8));
        let frames = rows * self.frame;
        let words = EPOCH + windows + states + (frames + FRAME_ALIGN) / 8 + 1;
        if scratch.len() < words {
            scratch.resize(words, 0);
        }
        let (epoch, scratch) = scratch.split_at_mut(EPOCH);
        let (windows, scratch) = scratch.split_at_mut(windows);
        let (states, frames) = scratch.split_at_mut(states);
        let windows = windows.as_mut_ptr().cast::<Window>();
        let frames = frames.as_mut_ptr().cast::<u8>();
        let frames = frames.wrapping_add(frames.align_offset(FRAME_ALIGN));
        let nctaid = cta.nctaid();
        let params = cta.params().as_ptr();
        let local_bytes = u64::from(cta.local_bytes());
        let mut local: Vec<*mut u8> = Vec::new();
        let local_changed = vec![Cell::new(0_u8); if local_bytes == 0 { 0 } else { rows }];
        let mut host = Host { code: self, cta, stopped: None, fuel: 0, lanes: Vec::new() };
        let fuel = host.refuel();
        let mut context = Context {
            windows,
            params,
            addresses: self.addresses.as_ptr(),
            shared: std::ptr::null_mut(),
            local: std::ptr::null(),
            local_bytes,
            local_changed: local_changed.as_ptr().cast_mut().cast(),
            fuel,
            votes: 0,
            voters: 0,
            all_votes: 0,
            all_voters: 0,
            ctaid: [0; 4],
            nctaid: [nctaid[0], nctaid[1], nctaid[2], 0],
            call,
            poll,
            special: crate::special::functions().as_ptr(),
            scattered: crate::scattered::FUNCTIONS.as_flattened().as_ptr(),
            zero: 0,
            host: std::ptr::null_mut(),
        };
        loop {
            let now = Epoch::of(host.cta).words();
            if *epoch != now {
                epoch.copy_from_slice(&now);
                // SAFETY: so many windows are there, and nobody else uses them.
                let windows = unsafe { std::slice::from_raw_parts_mut(windows, self.windows.len()) };
                windows::reset(windows, &self.windows, host.cta);
            }
            let [x, y, z] = host.cta.ctaid();
            context.ctaid = [x, y, z, 0];
            context.shared = host.cta.shared().as_mut_ptr();
            // One pointer for each row, if there is anything to point to.
            if local_bytes != 0 {
                local.clear();
                local.extend((0..self.rows).map(|row| host.cta.local(row * self.width).as_mut_ptr()));
                context.local = local.as_ptr();
            }
            context.host = (&raw mut host).cast();
            // SAFETY: the context is as the code expects it and lives until the code returns, as does what it points to.
            if let Err(fault) = unsafe { self.run_rows(&mut context, frames, states) } {
                return Err(host.stopped.take().or(fault).unwrap_or(Stopped::Told));
            }
            for (row, changed) in (0..).zip(&local_changed) {
                if changed.take() != 0 {
                    host.cta.note_local_change(row * self.width);
                }
            }
            // What does not loop has not asked.
            if context.fuel < 0 {
                if !host.account(context.fuel) {
                    return Err(Stopped::Told);
                }
                context.fuel = host.refuel();
            }
            if !host.cta.advance() {
                break;
            }
        }
        match host.account(context.fuel) {
            true => Ok(()),
            false => Err(Stopped::Told),
        }
    }
}

/// Executes an instruction for a row: [`crate::context::Call`].
unsafe extern "C" fn call(
    context: *mut Context,
    site: u32,
    row: u32,
    mask: u32,
    arguments: *mut u8,
    address: u64,
    last: u32,
) -> i32 {
    // SAFETY: compiled code hands back the context that it was called with, whose host lives until the code returns and is
    // used by nobody else meanwhile.
    let (context, host) = unsafe { (&mut *context, &mut *(*context).host.cast::<Host<'_, '_>>()) };
    let code = host.code;
    let (first, width) = (row * code.width, code.width);
    let site = &code.sites[site as usize];
    // SAFETY: the code has room for as many lists as any of its calls needs.
    let arguments = unsafe { std::slice::from_raw_parts_mut(arguments, lists::bytes(&site.action, width)) };
    let mut lists = Lists { bytes: arguments, width, at: 0 };
    // SAFETY: they are as many as the code has, and used by nobody else while it waits.
    let windows = unsafe { std::slice::from_raw_parts_mut(context.windows, code.windows.len()) };
    let done = catch_unwind(AssertUnwindSafe(|| match &site.action {
        Action::Interpret { reads, writes, is_whole } => {
            let (live, instruction) = (is_whole.then_some(mask), site.instruction);
            let before = host.cta.revocations();
            let single = Single { first, width: width as usize, mask, live, instruction, reads, writes };
            let done = host.cta.interpret(&single, lists.bytes);
            // The machine may have freed memory.
            if host.cta.revocations() != before {
                windows::reset(windows, &code.windows, host.cta);
            }
            done
        }
        Action::Trap => {
            Err((mask.trailing_zeros() as usize, Trap::Trap)).map_err(|bad| host.trap(site, first, bad))
        }
        Action::Load(access) | Action::Store(access) | Action::Update { access, .. } => {
            let addresses = lists.addresses(access, address, last);
            let active = addresses.get(mask.trailing_zeros() as usize);
            if let (Some(window), Some(&active)) = (access.window, active) {
                let (window, span) = (&mut windows[window as usize], &code.windows[window as usize]);
                *window = windows::moved(*window, span, active, host.cta);
            }
            let row = Row {
                instruction: site.instruction,
                first,
                mask,
                addresses: &addresses[..width as usize],
                space: access.space,
                bytes: access.bytes,
                elements: access.elements,
            };
            let done = access_row(host.cta, &site.action, access, &row, &mut lists, &mut host.lanes);
            done.map_err(|bad| host.trap(site, first, bad))
        }
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

/// Accesses memory for a row.
fn access_row(
    cta: &mut Cta<'_>,
    action: &Action,
    access: &Access,
    row: &Row<'_>,
    lists: &mut Lists<'_>,
    values: &mut Vec<u64>,
) -> Result<(), RowTrap> {
    let (bits, width, elements) = (access.bytes * 8, lists.width as usize, access.elements);
    values.clear();
    match action {
        Action::Load(_) => {
            values.resize(width * elements, 0);
            cta.load(row, &mut values.chunks_mut(width).collect::<Vec<_>>())?;
            // A value that the lanes have in common is read in lane 0.
            let first = row.mask.trailing_zeros() as usize;
            for list in values.chunks_mut(width).filter(|_| row.mask & 1 == 0 && first < width) {
                list[0] = list[first];
            }
            let mut results = &values[..];
            (0..elements).for_each(|_| results = lists.put(bits, results));
            Ok(())
        }
        Action::Store(_) => {
            (0..elements).for_each(|_| lists.take(bits, values));
            cta.store(row, &values.chunks(width).collect::<Vec<_>>())
        }
        Action::Update { atomic, .. } => {
            (0..2).for_each(|_| lists.take(bits, values));
            values.resize(3 * width, 0);
            let (operands, old) = values.split_at_mut(2 * width);
            let (b, c) = operands.split_at(width);
            cta.update(row, *atomic, b, c, old)?;
            lists.put(bits, old);
            Ok(())
        }
        Action::Interpret { .. } | Action::Trap => Ok(()),
    }
}
