//! The launch, on a thread of its own. It runs until its monitor says that a goal is reached, and then waits for the next
//! one, or is given up and begun again from a checkpoint.
//!
//! A launch on one host thread under a fixed scheduler repeats itself exactly, so that the number of instructions issued
//! before names a moment of it: its position.

use crate::Error;
use crate::history::{Checkpoint, History};
use crate::monitor::{Monitor, Orders};
use crate::output::Printed;
use crate::plan::Plan;
use crate::program::{Grid, Memory, Program};
use crate::symbols::Symbols;
use machine::inspect::Snapshot;
use machine::{Launch, LaunchError, LaunchOptions, LaunchReport, Masks};
use ptx::module::FuncId;
use sanitizer::{Sanitizer, Suppressions};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// Memory that checkpoints may take altogether, and how many there may be.
const CHECKPOINT_BYTES: u64 = 256 << 20;
const MOST_CHECKPOINTS: u64 = 16;

/// A warp instruction that is issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issued {
    /// How many were issued before it.
    pub position: u64,
    /// [`Grid::number`].
    pub grid: u32,
    /// The function and the instruction.
    pub place: (FuncId, u32),
    /// `%ctaid`.
    pub block: [u32; 3],
    /// `%warpid`.
    pub warp: u32,
    /// Lanes that execute it.
    pub mask: u32,
    /// Lanes that are active, whether their guard holds or not.
    pub active: u32,
}

/// What a goal was reached by. Numbers are those that the session has given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A breakpoint, and the lanes for which its condition holds.
    Breakpoint {
        /// Its number.
        number: u32,
        /// Lanes.
        lanes: u32,
    },
    /// Watched memory has changed.
    Changed {
        /// The watchpoint.
        number: u32,
        /// The bytes before.
        old: Vec<u8>,
        /// The bytes now.
        new: Vec<u8>,
        /// Who has done it, if it is known.
        by: Option<Issued>,
    },
    /// Watched memory is about to be accessed.
    Accessed {
        /// The watchpoint.
        number: u32,
        /// Lanes that access it.
        lanes: u32,
        /// `read`, `write` or `atomic operation`.
        access: String,
    },
    /// A step has ended.
    Step,
    /// A thread that was stepped has exited.
    Exited,
    /// A warp is about to arrive at a CTA barrier.
    Barrier,
    /// The checks have found something.
    Found(String),
    /// The position that was asked for.
    Position,
    /// Somebody has interrupted.
    Interrupted,
    /// The kernel was stopped by a fault, at this instruction.
    Fault(String),
    /// There is nothing before this.
    Beginning,
}

/// A moment at which the launch stands still.
#[derive(Clone, Debug)]
pub struct Stop {
    /// Why.
    pub reason: Reason,
    /// The instruction that is issued next.
    pub next: Issued,
    /// The grid that it is of.
    pub grid: Grid,
    /// What the threads of its CTA have.
    pub snapshot: Snapshot,
    /// How far the CTAs of the grid are.
    pub blocks: Blocks,
}

/// How far the CTAs of a grid are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// `%ctaid` of those whose threads are there.
    pub under_way: Vec<[u32; 3]>,
    /// How many have ended.
    pub ended: u64,
    /// How many have not begun.
    pub not_begun: u64,
}

impl Stop {
    /// Whether the kernel goes on nowhere but back.
    pub(crate) fn is_fault(&self) -> bool {
        matches!(self.reason, Reason::Fault(_))
    }
}

/// What comes of a plan.
#[derive(Debug)]
pub(crate) enum News {
    Stopped(Box<Stop>),
    /// The moment up to which was searched is reached: what was found last.
    Searched(Option<(u64, Reason)>),
    /// Where a CTA is that somebody looks for.
    Looked(Whereabouts),
    /// The launch is over.
    Ended(Box<Ended>),
}

/// The end of a launch.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) result: Result<(), LaunchError>,
    /// Instructions issued, and the last of them.
    pub(crate) issued: u64,
    pub(crate) last: Option<Issued>,
    /// What was found last, if it was searched.
    pub(crate) found: Option<(u64, Reason)>,
    /// Watched memory that the last instruction has changed.
    pub(crate) changed: Option<Reason>,
}

/// Where a CTA is.
#[derive(Debug)]
pub(crate) enum Whereabouts {
    Resident(Box<Snapshot>),
    Ended,
    NotBegun,
}

enum Work {
    Launch { from: Checkpoint, plan: Plan },
    Quit,
}

/// See the module.
pub(crate) struct Engine {
    work: Sender<Work>,
    orders: Sender<Orders>,
    news: Receiver<News>,
    thread: Option<JoinHandle<()>>,
    /// Whether a launch waits for orders.
    waits: bool,
    /// What was before.
    pub(crate) history: Arc<History>,
}

/// What executes a launch once, from memory as it is: the device, or a driver that knows more of the launch.
pub type Execute<'a> = dyn Fn(&Launch<'_>, &LaunchOptions<'_>) -> Result<LaunchReport, LaunchError> + 'a;

/// The side of a session that executes its launch, on whatever thread it is given.
pub struct Worker {
    works: Receiver<Work>,
    monitor: Monitor,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Worker")
    }
}

impl Worker {
    /// Executes the launch as often as its session asks, until that is gone; what the last execution that came to its end
    /// has to tell.
    pub fn serve(self, execute: &Execute<'_>) -> Option<LaunchReport> {
        let mut last = None;
        while let Ok(Work::Launch { from, plan }) = self.works.recv() {
            let (ended, report) = self.launch(execute, &from, plan);
            last = report.or(last);
            self.monitor.end(ended);
        }
        last
    }
}

impl Engine {
    /// The engine of a launch, and the worker that executes it.
    pub(crate) fn new(
        program: Arc<Program>,
        symbols: Arc<Symbols>,
        printed: Printed,
        interrupt: Arc<AtomicBool>,
    ) -> Result<(Self, Worker), Error> {
        let memory = Memory::of(&program.device)?;
        let used = program.device.memory().used().max(1);
        // What was found before an instruction is not known where the launch does not begin at its beginning.
        let most = if program.checks.is_some() { 0 } else { (CHECKPOINT_BYTES / used).min(MOST_CHECKPOINTS) };
        let history = Arc::new(History::new(memory, most as usize));
        let (work, works) = channel();
        let (orders, ordered) = channel();
        let (tell, news) = channel();
        let monitor = Monitor {
            program,
            symbols,
            printed,
            ordered: Mutex::new(ordered),
            tell,
            interrupt,
            history: Arc::clone(&history),
            heap: Mutex::default(),
        };
        let engine = Self { work, orders, news, thread: None, waits: false, history };
        Ok((engine, Worker { works, monitor }))
    }

    /// Lets the device execute the launch, on a thread of its own.
    pub(crate) fn start(&mut self, worker: Worker) -> Result<(), Error> {
        let run = move || {
            let program = Arc::clone(&worker.monitor.program);
            worker.serve(&|launch, options| program.device.launch(launch, options));
        };
        self.thread = Some(std::thread::Builder::new().name("launch".to_owned()).spawn(run)?);
        Ok(())
    }

    /// Goes on from where it is.
    pub(crate) fn resume(&mut self, plan: Plan) -> Result<News, Error> {
        self.orders.send(Orders::Resume(plan)).map_err(|_| Error::Gone)?;
        self.wait()
    }

    /// Where a CTA of the grid is, of a launch that waits.
    pub(crate) fn look(&mut self, block: [u32; 3]) -> Result<Whereabouts, Error> {
        self.orders.send(Orders::Look(block)).map_err(|_| Error::Gone)?;
        match self.wait()? {
            News::Looked(whereabouts) => Ok(whereabouts),
            News::Stopped(_) | News::Searched(_) | News::Ended(_) => Err(Error::Gone),
        }
    }

    /// Begins again from a checkpoint.
    pub(crate) fn begin(&mut self, from: Checkpoint, plan: Plan) -> Result<News, Error> {
        self.abandon()?;
        self.work.send(Work::Launch { from, plan }).map_err(|_| Error::Gone)?;
        self.wait()
    }

    /// Ends the launch that waits.
    pub(crate) fn abandon(&mut self) -> Result<(), Error> {
        if self.waits {
            self.orders.send(Orders::Abandon).map_err(|_| Error::Gone)?;
            while !matches!(self.wait()?, News::Ended(_)) {}
        }
        Ok(())
    }

    fn wait(&mut self) -> Result<News, Error> {
        let news = self.news.recv().map_err(|_| Error::Gone)?;
        self.waits = !matches!(news, News::Ended(_));
        Ok(news)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.abandon();
        let _ = self.work.send(Work::Quit);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Worker {
    /// Launches the program; the end of it, and what there is to tell if it was a good one.
    fn launch(&self, execute: &Execute<'_>, from: &Checkpoint, plan: Plan) -> (Ended, Option<LaunchReport>) {
        let program = &self.monitor.program;
        let refused = |why: String| {
            let result = Err(LaunchError::InvalidConfiguration(why));
            (Ended { result, issued: 0, last: None, found: None, changed: None }, None)
        };
        let kernel = match program.kernel() {
            Ok(kernel) => kernel,
            Err(error) => return refused(error.to_string()),
        };
        if let Err(error) = self.monitor.restore(&from.memory) {
            return refused(error.to_string());
        }
        let sanitizer = program
            .checks
            .map(|checks| Sanitizer::new(checks, Suppressions::default()).where_registers_change());
        let watch = sanitizer.as_ref().map(|sanitizer| {
            let cluster = program.cluster.unwrap_or([1; 3]);
            let (grid, block) = (program.grid, program.block);
            let shape = sanitizer::Shape { kernel: &program.kernel, grid, block, cluster };
            sanitizer.begin(program.loaded.shared_module(), shape)
        });
        let cancel = AtomicBool::new(false);
        let grid = Grid {
            number: 0,
            kernel: kernel.id(),
            extent: program.grid,
            block: program.block,
            cluster: program.cluster.unwrap_or([1; 3]),
        };
        let watching = self.monitor.begin(grid, from, plan, sanitizer.as_ref(), watch.as_ref(), &cancel);
        let options = LaunchOptions {
            threads: 1,
            scheduler: program.scheduler,
            budget: program.budget,
            observer: Some(&watching),
            debug: true,
            first_cluster: from.cluster,
            cancel: Some(&cancel),
            masks: Masks::Converged,
            ..LaunchOptions::default()
        };
        let result = execute(&program.launch(kernel), &options);
        let (result, report) = match result {
            Ok(report) => (Ok(()), Some(report)),
            Err(error) => (Err(error), None),
        };
        let ended = watching.end(result);
        if let Some(watch) = watch {
            watch.end();
        }
        (ended, report)
    }
}
