//! A program whose launches are debugged: what lives in its process. The driver there hands over each launch before it runs; whoever
//! has a terminal or an editor is at the other end of a stream.
//!
//! ```text
//! driver ──launch──▶ Attached ──Session, Worker──▶ a face ◀──stream──▶ `warploom debug`, `warploom dap`
//!   ▲                                │
//!   └──── executes it, on its thread ┘
//! ```
//!
//! Each launch has a session of its own, with checkpoints and time backwards; breakpoints, watchpoints and what else stops go
//! from one to the next. A launch that comes to its end gives the program back, and the answer to the command that let it
//! run waits for the next stop, in whatever launch that is.
//!
//! | file | what it knows |
//! | --- | --- |
//! | `wishes` | what the other end wants, which it says first |
//! | `lines` | a console: lines that come in, replies that go out |
//! | `editor` | an adapter |

mod editor;
mod lines;
mod wishes;

use crate::engine::Execute;
use crate::output::Printed;
use crate::program::Program;
use crate::session::{Kept, Stops};
use crate::symbols::Symbols;
use crate::{Console, Session, Sources};
use editor::Editor;
use lines::Lines;
use machine::{LaunchError, LaunchReport, LoadedModule};
use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
pub use wishes::{Face, Wishes};

/// Whether a line ends a console.
pub fn ends(line: &str) -> bool {
    crate::console::named(line) == Some("quit")
}

/// Who talks of a launch to somebody.
trait Talk<S: Sources>: Send {
    /// Talks of a launch until the program is to have it back; `None` if it is to be given up. `number` counts them from 1, `about`
    /// says what it is.
    fn talk(&mut self, console: Console<S>, number: u64, about: &str) -> Option<Console<S>>;
}

/// See the module.
pub struct Attached<S> {
    wishes: Wishes,
    sources: S,
    printed: Printed,
    interrupt: Arc<AtomicBool>,
    /// Whether the other end is gone.
    alone: Arc<AtomicBool>,
    state: Mutex<State<S>>,
}

struct State<S> {
    face: Box<dyn Talk<S>>,
    launches: u64,
    kept: Kept,
    /// What names of the last module stand for.
    symbols: Option<(Arc<LoadedModule>, Arc<Symbols>)>,
}

impl<S> std::fmt::Debug for Attached<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attached").field("wishes", &self.wishes).finish_non_exhaustive()
    }
}

impl<S: Sources + Clone + Send + 'static> Attached<S> {
    /// Somebody at the other end of a stream has said what is wanted. What kernels print goes to a sink.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn new(
        wishes: Wishes,
        from: impl BufRead + Send + 'static,
        to: impl Write + Send + 'static,
        sources: S,
        printed: Printed,
    ) -> std::io::Result<Self> {
        let (interrupt, alone) = <(Arc<AtomicBool>, Arc<AtomicBool>)>::default();
        let ends = (Arc::clone(&interrupt), Arc::clone(&alone));
        let face: Box<dyn Talk<S>> = match wishes.face {
            Face::Console => Box::new(Lines::new(from, to, ends)?),
            Face::Editor => Box::new(Editor::<S>::new(from, to, ends)?),
        };
        let stops = Stops { of_program: true, findings: wishes.checks.is_some(), ..Stops::default() };
        let kept = Kept { stops, ..Kept::default() };
        let state = Mutex::new(State { face, launches: 0, kept, symbols: None });
        Ok(Self { wishes, sources, printed, interrupt, alone, state })
    }

    /// Whether a launch of a kernel is wanted.
    pub fn wants(&self, kernel: &str) -> bool {
        let wanted = self.wishes.kernel.as_ref().is_none_or(|name| crate::target::is_called(kernel, name));
        wanted && !self.alone.load(Ordering::Relaxed)
    }

    /// Where the device is to print.
    pub fn printed(&self) -> &Printed {
        &self.printed
    }

    /// Debugs a launch to its end; `execute` executes it once.
    ///
    /// # Errors
    /// What stopped it, in the end.
    pub fn launch(&self, program: Program, execute: &Execute<'_>) -> Result<LaunchReport, LaunchError> {
        let given_up = |why: String| LaunchError::InvalidConfiguration(why);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *state;
        state.launches += 1;
        let program = Program {
            scheduler: self.wishes.scheduler,
            budget: self.wishes.budget,
            checks: self.wishes.checks,
            ..program
        };
        let symbols = match &state.symbols {
            Some((module, known)) if Arc::ptr_eq(module, &program.loaded) => Arc::clone(known),
            _ => Arc::new(Symbols::new(&program)),
        };
        state.symbols = Some((Arc::clone(&program.loaded), Arc::clone(&symbols)));
        self.printed.renew();
        let about = about(&program);
        let made = Session::apart(program, symbols, self.printed.clone(), Arc::clone(&self.interrupt));
        let (mut session, worker) = made.map_err(|error| given_up(error.to_string()))?;
        session.keep(std::mem::take(&mut state.kept));
        let (face, sources, number) = (&mut state.face, self.sources.clone(), state.launches);
        let (report, left) = std::thread::scope(|scope| {
            let talk = move || {
                let console = face.talk(Console::new(session, sources), number, &about);
                console.map(|console| console.session.leave())
            };
            let talk = scope.spawn(talk);
            (worker.serve(execute), talk.join())
        });
        let Ok(Some((result, kept))) = left else {
            return Err(given_up("the debugger has given it up".to_owned()));
        };
        state.kept = kept;
        result?;
        report.ok_or_else(|| given_up("the launch was not executed".to_owned()))
    }
}

/// `sum(int*, int const*), grid (1,1,1), block (64,1,1)`.
fn about(program: &Program) -> String {
    let ([gx, gy, gz], [bx, by, bz]) = (program.grid, program.block);
    let name = abi::names::demangled(&program.kernel);
    format!("{name}, grid ({gx},{gy},{gz}), block ({bx},{by},{bz})")
}
