//! Requests and events.

use super::breakpoints::Set;
use super::data::Handles;
use super::wire::{Incoming, Outgoing};
use super::{Interrupt, Starter};
use crate::plan::{Calls, Unit};
use crate::{Console, Error, Outcome, Reason};
use emmy_dap_types::events::{Event, ExitedEventBody, OutputEventBody, StoppedEventBody};
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
pub(super) struct Adapter<S: Starter> {
    out: Outgoing,
    starter: S,
    interrupt: Interrupt,
    pub(super) console: Option<Console<S::Sources>>,
    pub(super) handles: Handles,
    pub(super) set: Set,
    stop_on_entry: bool,
}

/// What the kernel prints, as events.
struct Printed(Outgoing);

impl Write for Printed {
    fn write(&mut self, text: &[u8]) -> Result<usize> {
        if !text.is_empty() {
            output(&self.0, OutputEventCategory::Stdout, &String::from_utf8_lossy(text))?;
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

fn output(out: &Outgoing, category: OutputEventCategory, text: &str) -> Result<()> {
    let body =
        OutputEventBody { category: Some(category), output: text.to_owned(), ..OutputEventBody::default() };
    out.event(Event::Output(body))
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
    pub(super) fn new(out: Outgoing, starter: S, interrupt: Interrupt) -> Self {
        let (handles, set) = Default::default();
        Self { out, starter, interrupt, console: None, handles, set, stop_on_entry: false }
    }

    /// Answers a message; whether others are to follow.
    pub(super) fn handle(&mut self, message: Incoming) -> Result<bool> {
        let (seq, name, arguments, request) = match message {
            Incoming::Wrong(why) => {
                output(&self.out, OutputEventCategory::Stderr, &format!("{why}\n"))?;
                return Ok(true);
            }
            Incoming::Request { seq, command, arguments, request } => (seq, command, arguments, request),
        };
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
            self.console = None;
            let body = if ends { ResponseBody::Disconnect } else { ResponseBody::Terminate };
            self.out.respond(seq, body)?;
            if !ends {
                self.out.event(Event::Terminated(None))?;
            }
            return Ok(!ends);
        }
        match self.answer(command, &arguments) {
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
                let (session, sources) = self.starter.start(arguments, printed).map_err(Error::Command)?;
                self.interrupt.set(session.interrupt());
                self.stop_on_entry = arguments["stopOnEntry"].as_bool().unwrap_or(false);
                self.console = Some(Console::new(session, sources));
                ResponseBody::Launch
            }
            Command::SetExceptionBreakpoints(asked) => {
                let session = &mut self.console()?.session;
                session.stop_at_barriers = asked.filters.iter().any(|filter| filter == "barrier");
                let checks = session.program().checks.is_some();
                session.stop_at_findings = checks && asked.filters.iter().any(|filter| filter == "findings");
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
        self.handles.clear();
        self.interrupt.ready();
        let entry = matches!(run, Run::Begin { at_once: true });
        let Some(console) = &mut self.console else { return Ok(()) };
        let session = &mut console.session;
        let came = match run {
            Run::Begin { at_once } => session.run(at_once),
            Run::Continue => session.go_on(),
            Run::ReverseContinue => session.go_back(),
            Run::Step(unit, calls) => session.step(unit, calls),
            Run::StepBack(unit, calls) => session.step_back(unit, calls),
        };
        let failed = came.err();
        if let Some(error) = &failed {
            output(&self.out, OutputEventCategory::Console, &format!("{error}\n"))?;
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
            Outcome::Ended(_, result) => {
                let exit_code = i64::from(result.is_err());
                let text = console.report();
                output(&self.out, OutputEventCategory::Console, &text)?;
                self.out.event(Event::Exited(ExitedEventBody { exit_code }))?;
                self.out.event(Event::Terminated(None))
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
