//! Requests and events.

use super::breakpoints::Set;
use super::data::Handles;
use super::wire::{Incoming, Outgoing};
use super::{Debuggee, Interrupt, Launched, Starter};
use crate::plan::{Calls, Unit};
use crate::{Console, Error, Outcome, Reason};
use emmy_dap_types::events::{Event, StoppedEventBody};
use emmy_dap_types::requests::{Command, Request};
use emmy_dap_types::responses::{
    ContinueResponse, EvaluateResponse, ResponseBody, SetExceptionBreakpointsResponse,
};
use emmy_dap_types::types::{
    Capabilities, EvaluateArgumentsContext, ExceptionBreakpointsFilter, OutputEventCategory,
    SteppingGranularity, StoppedEventReason,
};
use serde_json::Value;
use std::io::{Result, Write};

/// See the module.
pub(crate) struct Adapter<S: Starter> {
    out: Outgoing,
    starter: S,
    interrupt: Interrupt,
    pub(super) console: Option<Console<S::Sources>>,
    pub(super) handles: Handles,
    pub(super) set: Set,
    stop_on_entry: bool,
    /// A program that answers what is asked, where one was launched.
    debuggee: Option<Box<dyn Debuggee>>,
    /// Whether the program is to have the launch back.
    done_with: bool,
}

/// What the kernel prints, as events.
struct Printed(Outgoing);

impl Write for Printed {
    fn write(&mut self, text: &[u8]) -> Result<usize> {
        if !text.is_empty() {
            self.0.printed(text, false)?;
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// What runs the launch on.
enum Run {
    Begin { at_once: bool },
    Continue,
    ReverseContinue,
    Step(Unit, Calls),
    StepBack(Unit, Calls),
}

impl<S: Starter> Adapter<S> {
    pub(crate) fn new(output: impl Write + Send + 'static, starter: S, interrupt: Interrupt) -> Self {
        let (handles, set, out) = (Handles::default(), Set::default(), Outgoing::new(output));
        let (stop_on_entry, done_with) = (false, false);
        Self {
            out,
            starter,
            interrupt,
            console: None,
            handles,
            set,
            stop_on_entry,
            debuggee: None,
            done_with,
        }
    }

    /// A program launches a kernel.
    pub(crate) fn attach(&mut self, console: Console<S::Sources>) {
        self.handles.clear();
        self.console = Some(console);
        self.done_with = false;
    }

    /// Runs a launch that is not the first, as the one before was run on.
    pub(crate) fn begin_next(&mut self, number: u64, about: &str) -> Result<()> {
        self.out.text(OutputEventCategory::Console, &format!("[Launch {number}: {about}]\n"))?;
        let at_once = self.session().is_ok_and(|session| session.stops.beginnings);
        self.run_on(&Run::Begin { at_once }, at_once)
    }

    /// Whether the program is to have the launch back.
    pub(crate) fn is_done_with(&self) -> bool {
        self.done_with
    }

    /// The program has the launch back.
    pub(crate) fn detach(&mut self) -> Option<Console<S::Sources>> {
        self.handles.clear();
        self.console.take()
    }

    /// Answers a message; whether others are to follow.
    pub(crate) fn handle(&mut self, message: Incoming) -> Result<bool> {
        let (seq, name, arguments, request, raw) = match message {
            Incoming::Wrong(why) => {
                self.out.text(OutputEventCategory::Stderr, &format!("{why}\n"))?;
                return Ok(true);
            }
            Incoming::Request { seq, command, arguments, request, raw } => {
                (seq, command, arguments, request, raw)
            }
        };
        let ends = ["disconnect", "terminate"].contains(&name.as_str());
        if let Some(debuggee) = self.debuggee.as_mut().filter(|_| !ends) {
            return match debuggee.pass(&raw) {
                Ok(()) => Ok(true),
                Err(_) => self.out.refuse(seq, &name, "the program is over").map(|()| true),
            };
        }
        let Some(Request { command, .. }) = request.map(|request| *request) else {
            self.out.refuse(seq, &name, &format!("`{name}` is not understood, or its arguments are not"))?;
            return Ok(true);
        };
        let run = match &command {
            Command::ConfigurationDone => Some(Run::Begin { at_once: self.stop_on_entry }),
            Command::Continue(_) => Some(Run::Continue),
            Command::ReverseContinue(_) => Some(Run::ReverseContinue),
            Command::Next(step) => Some(Run::Step(unit(step.granularity.as_ref()), Calls::Over)),
            Command::StepIn(step) => Some(Run::Step(unit(step.granularity.as_ref()), Calls::Into)),
            Command::StepOut(step) => Some(Run::Step(unit(step.granularity.as_ref()), Calls::Out)),
            Command::StepBack(step) => Some(Run::StepBack(unit(step.granularity.as_ref()), Calls::Over)),
            _ => None,
        };
        if let Some(run) = run {
            let ready = self.session().map(|_| ());
            return self.run(seq, &name, &command, run, ready).map(|()| true);
        }
        if let Command::Disconnect(_) | Command::Terminate(_) = &command {
            let ends = matches!(command, Command::Disconnect(_));
            (self.console, self.debuggee, self.done_with) = (None, None, true);
            let body = if ends { ResponseBody::Disconnect } else { ResponseBody::Terminate };
            self.out.respond(seq, body)?;
            if !ends {
                self.out.event(Event::Terminated(None))?;
            }
            return Ok(!ends);
        }
        match self.answer(command, &arguments) {
            // The program answers, when it launches a kernel.
            Ok(ResponseBody::Launch) if self.debuggee.is_some() => {
                let out = self.out.clone();
                let debuggee = self.debuggee.iter_mut();
                let mut passed =
                    debuggee.map(|debuggee| debuggee.listen(out.clone()).and_then(|()| debuggee.pass(&raw)));
                if let Some(Err(error)) = passed.next() {
                    self.out.refuse(seq, &name, &error.to_string())?;
                }
            }
            Ok(body) => {
                let launched = matches!(body, ResponseBody::Launch);
                self.out.respond(seq, body)?;
                if launched {
                    self.out.event(Event::Initialized)?;
                }
            }
            Err(error) => self.out.refuse(seq, &name, &error.to_string())?,
        }
        Ok(true)
    }

    /// What needs no launch to run.
    fn answer(&mut self, command: Command, arguments: &Value) -> std::result::Result<ResponseBody, Error> {
        Ok(match command {
            Command::Initialize(_) => ResponseBody::Initialize(capabilities()),
            Command::Launch(_) => {
                let printed = Box::new(Printed(self.out.clone()));
                self.stop_on_entry = arguments["stopOnEntry"].as_bool().unwrap_or(false);
                match self.starter.start(arguments, printed).map_err(Error::Command)? {
                    Launched::Kernel(session, sources) => {
                        self.interrupt.set(session.interrupt());
                        self.console = Some(Console::new(*session, sources));
                    }
                    Launched::Program(debuggee) => self.debuggee = Some(debuggee),
                    Launched::Here => {}
                }
                ResponseBody::Launch
            }
            Command::SetExceptionBreakpoints(asked) => {
                let session = &mut self.console()?.session;
                session.stops.barriers = asked.filters.iter().any(|filter| filter == "barrier");
                let checks = session.program().checks.is_some();
                session.stops.findings = checks && asked.filters.iter().any(|filter| filter == "findings");
                ResponseBody::SetExceptionBreakpoints(SetExceptionBreakpointsResponse::default())
            }
            Command::SetBreakpoints(asked) => self.set_lines(&asked)?,
            Command::SetFunctionBreakpoints(asked) => self.set_functions(&asked)?,
            Command::DataBreakpointInfo(asked) => self.data_info(&asked)?,
            Command::SetDataBreakpoints(asked) => self.set_data(&asked)?,
            Command::Threads => self.threads()?,
            Command::StackTrace(asked) => self.stack(&asked)?,
            Command::Scopes(asked) => self.scopes(asked.frame_id)?,
            Command::Variables(asked) => self.variables(asked.variables_reference)?,
            Command::SetVariable(asked) => self.set_variable(&asked)?,
            Command::SetExpression(asked) => self.set_expression(&asked)?,
            Command::ReadMemory(asked) => self.memory(&asked)?,
            Command::Evaluate(asked) => {
                let typed = matches!(asked.context, Some(EvaluateArgumentsContext::Repl));
                match typed.then(|| self.follow(&asked.expression)).transpose()?.flatten() {
                    Some(result) => {
                        ResponseBody::Evaluate(EvaluateResponse { result, ..EvaluateResponse::default() })
                    }
                    None => self.evaluate(&asked.expression, asked.frame_id)?,
                }
            }
            // The launch stands still by the time that this is read.
            Command::Pause(_) => ResponseBody::Pause,
            _ => return Err(Error::Command("the debugger does not do this".to_owned())),
        })
    }

    /// A command of the console; `None` if the text is none. Those that run the launch have buttons, which tell the editor.
    fn follow(&mut self, text: &str) -> std::result::Result<Option<String>, Error> {
        let word = text.split([' ', '/']).next().unwrap_or_default();
        let quiet = [
            "info",
            "i",
            "cuda",
            "thread",
            "lanes",
            "x",
            "print",
            "set",
            "p",
            "whatis",
            "ptype",
            "backtrace",
            "bt",
            "where",
            "list",
            "l",
            "disassemble",
            "disas",
            "help",
            "h",
            "frame",
            "f",
            "up",
            "down",
            "catch",
        ];
        if !quiet.contains(&word) {
            return Ok(None);
        }
        let reply = self.console()?.follow(text);
        match reply.failed {
            true => Err(Error::Command(reply.text.trim_end().to_owned())),
            false => Ok(Some(reply.text)),
        }
    }

    pub(super) fn console(&mut self) -> std::result::Result<&mut Console<S::Sources>, Error> {
        self.console.as_mut().ok_or_else(|| Error::Command("nothing is launched".to_owned()))
    }

    pub(super) fn session(&self) -> std::result::Result<&crate::Session, Error> {
        let console = self.console.as_ref();
        console
            .map(|console| &console.session)
            .ok_or_else(|| Error::Command("nothing is launched".to_owned()))
    }

    /// Runs the launch on, and tells where it has come to.
    fn run(
        &mut self,
        seq: i64,
        name: &str,
        command: &Command,
        run: Run,
        ready: std::result::Result<(), Error>,
    ) -> Result<()> {
        if let Err(error) = ready {
            return self.out.refuse(seq, name, &error.to_string());
        }
        self.out.respond(
            seq,
            match command {
                Command::ConfigurationDone => ResponseBody::ConfigurationDone,
                Command::Next(_) => ResponseBody::Next,
                Command::StepIn(_) => ResponseBody::StepIn,
                Command::StepOut(_) => ResponseBody::StepOut,
                Command::StepBack(_) => ResponseBody::StepBack,
                Command::ReverseContinue(_) => ResponseBody::ReverseContinue,
                _ => ResponseBody::Continue(ContinueResponse { all_threads_continued: Some(true) }),
            },
        )?;
        let entry = matches!(run, Run::Begin { at_once: true });
        self.interrupt.ready();
        self.run_on(&run, entry)
    }

    fn run_on(&mut self, run: &Run, entry: bool) -> Result<()> {
        self.handles.clear();
        let Some(console) = &mut self.console else { return Ok(()) };
        let session = &mut console.session;
        let of_program = session.stops.of_program;
        if of_program && session.is_done() && matches!(run, Run::Continue | Run::Step(..)) {
            self.done_with = true;
            return Ok(());
        }
        let came = match *run {
            Run::Begin { at_once } => session.run(at_once),
            Run::Continue => session.go_on(),
            Run::ReverseContinue => session.go_back(),
            Run::Step(unit, calls) => session.step(unit, calls),
            Run::StepBack(unit, calls) => session.step_back(unit, calls),
        };
        let failed = came.err();
        if let Some(error) = &failed {
            self.out.text(OutputEventCategory::Console, &format!("{error}\n"))?;
        }
        match session.outcome() {
            Outcome::Stopped(stop) => {
                let (reason, numbers) = match &stop.reason {
                    _ if entry => (StoppedEventReason::Entry, None),
                    Reason::Breakpoint { number, .. } => (StoppedEventReason::Breakpoint, Some(*number)),
                    Reason::Changed { number, .. } | Reason::Accessed { number, .. } => {
                        (StoppedEventReason::Data, Some(*number))
                    }
                    Reason::Fault(_) | Reason::Found(_) | Reason::Barrier => {
                        (StoppedEventReason::Exception, None)
                    }
                    Reason::Interrupted => (StoppedEventReason::Pause, None),
                    Reason::Position => (StoppedEventReason::Goto, None),
                    Reason::Step | Reason::Exited | Reason::Beginning => (StoppedEventReason::Step, None),
                };
                let thread = session.focus().map_or(stop.next.warp, |focus| focus.warp);
                let text = console.report();
                let body = StoppedEventBody {
                    reason,
                    description: text.lines().next().map(str::to_owned),
                    thread_id: Some(i64::from(thread) + 1),
                    preserve_focus_hint: None,
                    text: Some(text),
                    all_threads_stopped: Some(true),
                    hit_breakpoint_ids: numbers.map(|number| vec![i64::from(number)]),
                };
                self.out.event(Event::Stopped(body))
            }
            Outcome::Ended(..) if of_program && session.ends_silently() => {
                self.done_with = true;
                Ok(())
            }
            Outcome::Ended(..) if of_program => {
                let text = console.report();
                self.out.event(Event::Stopped(StoppedEventBody {
                    reason: StoppedEventReason::Pause,
                    description: text.lines().next().map(str::to_owned),
                    thread_id: None,
                    preserve_focus_hint: None,
                    text: Some(text),
                    all_threads_stopped: Some(true),
                    hit_breakpoint_ids: None,
                }))
            }
            Outcome::Ended(_, result) => {
                let exit_code = i64::from(result.is_err());
                let text = console.report();
                self.out.text(OutputEventCategory::Console, &text)?;
                self.out.ended(exit_code)
            }
            Outcome::NotBegun => Ok(()),
        }
    }
}

fn unit(granularity: Option<&SteppingGranularity>) -> Unit {
    match granularity {
        Some(SteppingGranularity::Instruction) => Unit::Instruction,
        Some(SteppingGranularity::Line | SteppingGranularity::Statement) | None => Unit::Line,
    }
}

fn capabilities() -> Capabilities {
    let filter = |filter: &str, label: &str, default| ExceptionBreakpointsFilter {
        filter: filter.to_owned(),
        label: label.to_owned(),
        default: Some(default),
        ..ExceptionBreakpointsFilter::default()
    };
    Capabilities {
        supports_configuration_done_request: Some(true),
        supports_function_breakpoints: Some(true),
        supports_conditional_breakpoints: Some(true),
        supports_evaluate_for_hovers: Some(true),
        supports_step_back: Some(true),
        supports_set_variable: Some(true),
        supports_set_expression: Some(true),
        supports_data_breakpoints: Some(true),
        supports_read_memory_request: Some(true),
        supports_stepping_granularity: Some(true),
        supports_terminate_request: Some(true),
        exception_breakpoint_filters: Some(vec![
            filter("findings", "Data races and the like (with \"check\")", true),
            filter("barrier", "CTA barriers", false),
        ]),
        ..Capabilities::default()
    }
}
