//! Checks on a host thread of their own, behind the one that runs the kernel.
//!
//! What the machine tells goes into batches in the order in which it is told, and the other thread judges them in that order; so
//! the verdict is the same. Whoever asks what was found, or tells of anything else than a running launch, waits until
//! all batches are judged. So a launch takes as long as the slower one of both.

use crate::detectors::Detectors;
use crate::runs::{address_of, lane_alone};
use machine::fault::Access;
use machine::inspect::{Extent, Snapshot, State};
use machine::lanes::Plane;
use machine::memory::SpaceKind;
use machine::observe::{Happening, Issue, Lanes, PackAccess, PackAddresses};
use ptx::module::FuncId;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Something that was told; what has no fixed size is in the [`Batch`].
#[derive(Clone, Copy)]
enum Told {
    Issue(Issued),
    WarpBarrier(Lanes),
    BarrierArrived { lanes: Lanes, number: usize, waits: bool, threads: Option<u32>, live: u32 },
    BarrierCompleted { block: [u32; 3], number: usize },
    BarrierPassed { block: [u32; 3], number: usize, place: (FuncId, u32), warps: usize },
    Swapped(Lanes),
    BlockDone { block: [u32; 3] },
}

/// See [`Issue`].
#[derive(Clone, Copy)]
struct Issued {
    function: FuncId,
    instruction: u32,
    block: [u32; 3],
    first_warp: u32,
    warps: usize,
    access: Option<(SpaceKind, Access, u32, Addresses, Option<i64>)>,
}

/// See [`PackAddresses`].
#[derive(Clone, Copy)]
enum Addresses {
    Uniform(u64),
    Narrow(u32),
    Wide(u64),
}

/// What was told, each with its launch. Masks and addresses stand in the order in which they are needed.
#[derive(Default)]
struct Batch {
    told: Vec<(usize, Told)>,
    masks: Vec<u32>,
    narrow: Vec<Plane<u32>>,
    wide: Vec<Plane<u64>>,
}

/// So many things that were told are a batch, or so many planes.
const TOLD: usize = 512;
const PLANES: usize = 512;
/// For how long is judged here before the other thread takes part: about as long as it takes to begin.
const ALONE: Duration = Duration::from_micros(200);
/// Batches that wait, at most.
const WAITING: usize = 4;

impl Batch {
    fn is_full(&self) -> bool {
        self.told.len() >= TOLD || self.narrow.len() + 2 * self.wide.len() >= PLANES
    }

    fn clear(&mut self) {
        let Self { told, masks, narrow, wide } = self;
        told.clear();
        masks.clear();
        narrow.clear();
        wide.clear();
    }

    fn issue(&mut self, launch: usize, issue: &Issue<'_>) {
        let &Issue { function, instruction, block, first_warp, masks, active, access, .. } = issue;
        let warps = masks.len();
        self.masks.extend(masks);
        self.masks.extend(active);
        let access = access.map(|PackAccess { space, access, bytes, addresses, step }| {
            let addresses = match (lane_alone(masks), addresses) {
                (Some((warp, lane)), addresses) => Addresses::Uniform(address_of(&addresses, warp, lane)),
                (None, PackAddresses::Uniform(address)) => Addresses::Uniform(address),
                (None, PackAddresses::Narrow(planes, offset)) => {
                    self.narrow.extend(&planes[..warps]);
                    Addresses::Narrow(offset)
                }
                (None, PackAddresses::Wide(planes, offset)) => {
                    self.wide.extend(&planes[..warps]);
                    Addresses::Wide(offset)
                }
            };
            (space, access, bytes, addresses, step)
        });
        let issued = Issued { function, instruction, block, first_warp, warps, access };
        self.told.push((launch, Told::Issue(issued)));
    }

    /// Judges everything in it, and is empty then.
    fn judge(&mut self, detectors: &mut Detectors) {
        self.judge_all(detectors);
        self.clear();
    }

    fn judge_all(&self, detectors: &mut Detectors) {
        let (mut masks, mut narrow, mut wide) = (&self.masks[..], &self.narrow[..], &self.wide[..]);
        for &(launch, told) in &self.told {
            let happening = match told {
                Told::Issue(issued) => {
                    let warps = issued.warps;
                    let access = issued.access.map(|(space, access, bytes, addresses, step)| {
                        let addresses = match addresses {
                            Addresses::Uniform(address) => PackAddresses::Uniform(address),
                            Addresses::Narrow(offset) => {
                                PackAddresses::Narrow(taken(&mut narrow, warps), offset)
                            }
                            Addresses::Wide(offset) => PackAddresses::Wide(taken(&mut wide, warps), offset),
                        };
                        PackAccess { space, access, bytes, addresses, step }
                    });
                    let issue = Issue {
                        function: issued.function,
                        instruction: issued.instruction,
                        block: issued.block,
                        first_warp: issued.first_warp,
                        masks: taken(&mut masks, warps),
                        active: taken(&mut masks, warps),
                        access,
                        taken: None,
                        state: &Past,
                    };
                    detectors.issue(launch, &issue);
                    continue;
                }
                Told::WarpBarrier(lanes) => Happening::WarpBarrier(lanes),
                Told::BarrierArrived { lanes, number, waits, threads, live } => {
                    Happening::BarrierArrived { lanes, number, waits, threads, live }
                }
                Told::BarrierCompleted { block, number } => Happening::BarrierCompleted { block, number },
                Told::BarrierPassed { block, number, place, warps } => {
                    let masks = taken(&mut masks, warps);
                    Happening::BarrierPassed { block, number, place, masks }
                }
                Told::Swapped(lanes) => Happening::Swapped(lanes),
                Told::BlockDone { block } => Happening::BlockDone { block },
            };
            detectors.happening(launch, &happening);
        }
    }
}

/// The first so many elements, which are taken away.
fn taken<'a, T>(rest: &mut &'a [T], count: usize) -> &'a [T] {
    let (first, behind) = rest.split_at(count);
    *rest = behind;
    first
}

/// What threads had when something was told; nobody knows any more.
pub(crate) struct Past;

impl State for Past {
    fn snapshot(&self, _: Extent) -> Snapshot {
        let (block, shared_base) = Default::default();
        Snapshot { block, warps: Vec::new(), shared: Vec::new(), shared_base, params: Vec::new() }
    }

    fn depth(&self) -> usize {
        0
    }

    fn resident(&self) -> Vec<[u32; 3]> {
        Vec::new()
    }

    fn snapshot_of(&self, _: [u32; 3]) -> Option<Snapshot> {
        None
    }

    fn read(&self, _: u32, _: usize, _: u64, _: &mut [u8]) -> bool {
        false
    }
}

/// What the other thread is given.
enum Work {
    Judge(Batch),
    /// Everything before is judged when this is dropped.
    Tell(Sender<()>),
}

/// The other thread.
struct Worker {
    work: SyncSender<Work>,
    /// Batches to be filled again.
    emptied: Receiver<Batch>,
    thread: JoinHandle<()>,
}

impl Worker {
    fn new(detectors: &Arc<Mutex<Detectors>>) -> Option<Self> {
        let (work, from_machine) = sync_channel(WAITING);
        let (to_machine, emptied) = channel();
        let detectors = Arc::clone(detectors);
        let judge = move || {
            for work in from_machine {
                match work {
                    Work::Judge(mut batch) => {
                        batch.judge(&mut lock(&detectors));
                        // Nobody takes it back when everything ends.
                        let _ = to_machine.send(batch);
                    }
                    Work::Tell(tell) => drop(tell),
                }
            }
        };
        let thread = std::thread::Builder::new().name("sanitizer".to_owned()).spawn(judge).ok()?;
        Some(Self { work, emptied, thread })
    }
}

/// What is not judged yet.
#[derive(Default)]
struct Waiting {
    batch: Batch,
    /// How long was judged here since somebody asked last: what is short is not worth another thread.
    judged: Duration,
    worker: Option<Worker>,
    /// Whether there may be batches that the worker has not judged.
    sent: bool,
}

/// See the module.
pub(crate) struct Queue {
    detectors: Arc<Mutex<Detectors>>,
    waiting: Mutex<Waiting>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Queue {
    /// One whose batches are judged by another thread; `None` if the host has no second one.
    pub(crate) fn new(detectors: Arc<Mutex<Detectors>>) -> Option<Self> {
        // That is asked of the host's files.
        static SEVERAL: LazyLock<bool> =
            LazyLock::new(|| std::thread::available_parallelism().is_ok_and(|threads| threads.get() > 1));
        SEVERAL.then(|| Self { detectors, waiting: Mutex::default() })
    }

    /// The warps of a pack execute an instruction.
    pub(crate) fn issue(&self, launch: usize, issue: &Issue<'_>) {
        self.tell(|batch| batch.issue(launch, issue));
    }

    /// Something else happens. Returns whether it is among what is queued: what is rare is not.
    pub(crate) fn happening(&self, launch: usize, happening: &Happening<'_>) -> bool {
        let told = match *happening {
            Happening::WarpBarrier(lanes) => Told::WarpBarrier(lanes),
            Happening::BarrierArrived { lanes, number, waits, threads, live } => {
                Told::BarrierArrived { lanes, number, waits, threads, live }
            }
            Happening::BarrierCompleted { block, number } => Told::BarrierCompleted { block, number },
            Happening::BarrierPassed { block, number, place, masks } => {
                self.tell(|batch| {
                    batch.masks.extend(masks);
                    let warps = masks.len();
                    batch.told.push((launch, Told::BarrierPassed { block, number, place, warps }));
                });
                return true;
            }
            Happening::Swapped(lanes) => Told::Swapped(lanes),
            // That only locks look at, which have no queue.
            Happening::Exited(_) => return true,
            Happening::BlockDone { block } => Told::BlockDone { block },
            _ => return false,
        };
        self.tell(|batch| batch.told.push((launch, told)));
        true
    }

    fn tell(&self, told: impl FnOnce(&mut Batch)) {
        let mut waiting = lock(&self.waiting);
        let Waiting { batch, judged, worker, sent } = &mut *waiting;
        told(batch);
        if !batch.is_full() {
            return;
        }
        if *judged < ALONE {
            let begun = Instant::now();
            batch.judge(&mut lock(&self.detectors));
            return *judged += begun.elapsed();
        }
        if worker.is_none() {
            *worker = Worker::new(&self.detectors);
        }
        let Some(worker) = worker else { return batch.judge(&mut lock(&self.detectors)) };
        let full = std::mem::replace(batch, worker.emptied.try_recv().unwrap_or_default());
        // If the thread is gone, it has panicked, and so do we when everything ends.
        let _ = worker.work.send(Work::Judge(full));
        *sent = true;
    }

    /// Waits until everything that was told is judged.
    pub(crate) fn settle(&self) {
        let mut waiting = lock(&self.waiting);
        let Waiting { batch, judged, worker, sent } = &mut *waiting;
        *judged = Duration::ZERO;
        if let Some(worker) = worker.as_ref().filter(|_| std::mem::take(sent)) {
            let (tell, told) = channel();
            let _ = worker.work.send(Work::Tell(tell));
            let _ = told.recv();
        }
        batch.judge(&mut lock(&self.detectors));
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let waiting = self.waiting.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(Worker { work, thread, .. }) = waiting.worker.take() else { return };
        drop(work);
        if thread.join().is_err() && !std::thread::panicking() {
            panic!("the sanitizer's thread has panicked");
        }
    }
}
