//! Threads, frames, variables and memory.

use super::Starter;
use super::adapter::Adapter;
use crate::evaluate::Scene;
use crate::value::{Format, Types, Value, Where};
use crate::{CallFrame, Error, Expression, Focus, Sources, parse};
use base64::Engine as _;
use emmy_dap_types::requests::{ReadMemoryArguments, StackTraceArguments};
use emmy_dap_types::responses::{
    EvaluateResponse, ReadMemoryResponse, ResponseBody, ScopesResponse, StackTraceResponse, ThreadsResponse,
    VariablesResponse,
};
use emmy_dap_types::types::{Scope, ScopePresentationhint, Source, StackFrame, Thread, Variable};

/// Frames of a warp that have an identity.
const FRAMES: i64 = 1 << 12;
/// Bytes that are read at a time.
const MOST_BYTES: i64 = 1 << 20;

/// What variables are asked of.
#[derive(Clone)]
enum Handle {
    Arguments(Focus),
    Locals(Focus),
    Registers(Focus),
    /// The parts of a value, and the expression that it is.
    Parts(Focus, Value, String),
}

/// What editors refer to by a number until the launch goes on.
#[derive(Default)]
pub(super) struct Handles(Vec<Handle>);

impl Handles {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    fn add(&mut self, handle: Handle) -> i64 {
        self.0.push(handle);
        self.0.len() as i64
    }

    fn get(&self, reference: i64) -> Result<Handle, Error> {
        let index = usize::try_from(reference - 1).ok();
        let handle = index.and_then(|index| self.0.get(index).cloned());
        handle.ok_or_else(|| Error::Command("the launch has gone on since".to_owned()))
    }

    /// The expression for a part of what a number stands for.
    pub(super) fn expression(&self, reference: i64, name: &str) -> Option<String> {
        match self.get(reference).ok()? {
            Handle::Arguments(_) | Handle::Locals(_) | Handle::Registers(_) => Some(name.to_owned()),
            Handle::Parts(_, _, of) => Some(part_of(&of, name)),
        }
    }
}

/// The expression for a part.
fn part_of(of: &str, name: &str) -> String {
    match name.starts_with(['[', '*']) {
        true if name.starts_with('*') => format!("*({of})"),
        true => format!("({of}){name}"),
        false => format!("({of}).{name}"),
    }
}

fn frame_id(focus: Focus) -> i64 {
    i64::from(focus.warp) * FRAMES + focus.frame as i64 + 1
}

impl<S: Starter> Adapter<S> {
    /// The lane of a warp that is looked at.
    fn focus_of(&self, warp: u32, frame: usize) -> Result<Focus, Error> {
        let session = self.session()?;
        if let Some(focus) = session.focus().filter(|focus| focus.warp == warp) {
            return Ok(Focus { frame, ..focus });
        }
        let warp_state = session.stop()?.snapshot.warp(warp);
        let group = warp_state.and_then(|warp| warp.groups.first());
        let group = group.ok_or_else(|| Error::Command(format!("warp {warp} has exited")))?;
        Ok(Focus { warp, lane: group.mask.trailing_zeros() as usize, frame })
    }

    fn frames(&self, focus: Focus) -> Result<Vec<CallFrame<'_>>, Error> {
        let session = self.session()?;
        Ok(session.scene_of(&session.stop()?.snapshot, focus.warp, focus.lane)?.frames())
    }

    fn scene(&self, focus: Focus) -> Result<Scene<'_>, Error> {
        let frame = self.frames(focus)?.get(focus.frame).map(|frame| frame.scene);
        frame.ok_or_else(|| Error::Command("there is no such frame".to_owned()))
    }

    fn focus_of_frame(&self, frame: Option<i64>) -> Result<Focus, Error> {
        match frame.filter(|&frame| frame > 0) {
            Some(frame) => self.focus_of(((frame - 1) / FRAMES) as u32, ((frame - 1) % FRAMES) as usize),
            None => {
                let session = self.session()?;
                session.focus().ok_or_else(|| Error::Command("the kernel does not stand still".to_owned()))
            }
        }
    }

    pub(super) fn scene_of_frame(&self, frame: Option<i64>) -> Result<Scene<'_>, Error> {
        self.scene(self.focus_of_frame(frame)?)
    }

    pub(super) fn threads(&self) -> Result<ResponseBody, Error> {
        let threads = match self.session()?.stop() {
            Ok(stop) => {
                let [x, y, z] = stop.snapshot.block;
                let live = stop.snapshot.warps.iter().filter(|warp| warp.live != 0);
                let thread = |warp: &machine::inspect::Warp| {
                    let focus = self.focus_of(warp.number, 0).ok();
                    let lane = focus.map_or(0, |focus| focus.lane);
                    let [a, b, c] = warp.threads[lane];
                    let name = format!("block ({x},{y},{z}) warp {}, thread ({a},{b},{c})", warp.number);
                    Thread { id: i64::from(warp.number) + 1, name }
                };
                live.map(thread).collect()
            }
            // An editor asks before anything has begun, too.
            Err(_) => Vec::new(),
        };
        Ok(ResponseBody::Threads(ThreadsResponse { threads }))
    }

    pub(super) fn stack(&self, asked: &StackTraceArguments) -> Result<ResponseBody, Error> {
        let warp = u32::try_from(asked.thread_id - 1)
            .map_err(|_| Error::Command("there is no such thread".to_owned()))?;
        let focus = self.focus_of(warp, 0)?;
        let frames = self.frames(focus)?;
        let total = frames.len() as i64;
        let start = asked.start_frame.unwrap_or(0).max(0) as usize;
        let levels = asked.levels.filter(|&levels| levels > 0).unwrap_or(FRAMES) as usize;
        let shown = frames.iter().enumerate().skip(start).take(levels).map(|(number, frame)| {
            let (source, line, column) = match &frame.source {
                Some(place) => (self.source(&place.file), place.line, place.column),
                None => {
                    let ptx =
                        self.session().map(|session| session.program().module().source.name().to_owned());
                    (self.source(&ptx.unwrap_or_default()), frame.scene.ptx().0, 0)
                }
            };
            StackFrame {
                id: frame_id(Focus { frame: number, ..focus }),
                name: frame.name.clone(),
                source: Some(source),
                line: line.into(),
                column: column.into(),
                ..StackFrame::default()
            }
        });
        let stack_frames = shown.collect();
        Ok(ResponseBody::StackTrace(StackTraceResponse { stack_frames, total_frames: Some(total) }))
    }

    fn source(&self, file: &str) -> Source {
        let found = self.console.as_ref().and_then(|console| console.sources().path(file));
        let name = file.rsplit('/').next().map(str::to_owned);
        Source { name, path: Some(found.unwrap_or_else(|| file.to_owned())), ..Source::default() }
    }

    pub(super) fn scopes(&mut self, frame: i64) -> Result<ResponseBody, Error> {
        let focus = self.focus_of_frame(Some(frame))?;
        self.scene(focus)?;
        let mut scope = |name: &str, handle, hint, expensive| Scope {
            name: name.to_owned(),
            variables_reference: self.handles.add(handle),
            presentation_hint: Some(hint),
            expensive,
            ..Scope::default()
        };
        let scopes = vec![
            scope("Locals", Handle::Locals(focus), ScopePresentationhint::Locals, false),
            scope("Arguments", Handle::Arguments(focus), ScopePresentationhint::Arguments, false),
            scope("Registers", Handle::Registers(focus), ScopePresentationhint::Registers, true),
        ];
        Ok(ResponseBody::Scopes(ScopesResponse { scopes }))
    }

    pub(super) fn variables(&mut self, reference: i64) -> Result<ResponseBody, Error> {
        let handle = self.handles.get(reference)?;
        // Name, value, and the expression that it is.
        let mut found: Vec<(String, Value, String)> = Vec::new();
        let focus = match handle {
            Handle::Arguments(focus) | Handle::Locals(focus) => {
                let parameters = matches!(handle, Handle::Arguments(_));
                let scene = self.scene(focus)?;
                for (scope, variable) in scene.variables() {
                    let of_unit = scene.symbols.info.scope(scope).parent.is_none();
                    if variable.parameter == parameters && !of_unit && !variable.name.is_empty() {
                        let value = scene.variable(scope, variable);
                        found.push((variable.name.clone(), value, variable.name.clone()));
                    }
                }
                focus
            }
            Handle::Registers(focus) => {
                let scene = self.scene(focus)?;
                let module = scene.program.module();
                let body = module.functions[scene.place.0.index()].body.as_ref();
                for register in body.iter().flat_map(|body| &body.registers) {
                    let name = module.text(register.name).to_owned();
                    if let Ok(value) = scene.evaluate(&Expression::Register(name.clone())) {
                        found.push((name.clone(), value, name));
                    }
                }
                focus
            }
            Handle::Parts(focus, value, of) => {
                let parts = self.scene(focus)?.parts(&value)?;
                found.extend(
                    parts.into_iter().map(|(name, value)| (name.clone(), value, part_of(&of, &name))),
                );
                focus
            }
        };
        let variables = found.into_iter().map(|(name, value, expression)| {
            let (text, ty, parts) = self.shown(focus, &value)?;
            let variables_reference = match parts {
                true => self.handles.add(Handle::Parts(focus, value.clone(), expression.clone())),
                false => 0,
            };
            let memory_reference = match value.place {
                Where::Memory(address) => Some(format!("{address:#x}")),
                Where::Bytes(_) | Where::Missing(_) => None,
            };
            Ok(Variable {
                name,
                value: text,
                type_field: Some(ty),
                evaluate_name: Some(expression),
                variables_reference,
                memory_reference,
                ..Variable::default()
            })
        });
        let variables = variables.collect::<Result<_, Error>>()?;
        Ok(ResponseBody::Variables(VariablesResponse { variables }))
    }

    /// A value as text, its type, and whether it has parts.
    fn shown(&self, focus: Focus, value: &Value) -> Result<(String, String, bool), Error> {
        let scene = self.scene(focus)?;
        let text = scene.text(value, Format::Natural).unwrap_or_else(|error| format!("<{error}>"));
        Ok((text, scene.symbols.info.ty_name(&value.ty), scene.has_parts(value)))
    }

    pub(super) fn evaluate(&mut self, text: &str, frame: Option<i64>) -> Result<ResponseBody, Error> {
        let focus = self.focus_of_frame(frame)?;
        let value = self.scene(focus)?.evaluate(&parse(text)?)?;
        let (result, ty, parts) = self.shown(focus, &value)?;
        let variables_reference = match parts {
            true => self.handles.add(Handle::Parts(focus, value, text.to_owned())),
            false => 0,
        };
        let type_field = Some(ty);
        Ok(ResponseBody::Evaluate(EvaluateResponse {
            result,
            type_field,
            variables_reference,
            ..EvaluateResponse::default()
        }))
    }

    pub(super) fn memory(&self, asked: &ReadMemoryArguments) -> Result<ResponseBody, Error> {
        let reference = asked.memory_reference.trim_start_matches("0x");
        let start = u64::from_str_radix(reference, 16);
        let start =
            start.map_err(|_| Error::Command(format!("`{}` is not an address", asked.memory_reference)))?;
        let address = start.wrapping_add_signed(asked.offset.unwrap_or(0));
        let scene = self.scene_of_frame(None)?;
        let count = asked.count.clamp(0, MOST_BYTES) as usize;
        // As much as is there.
        let read = |count: usize| scene.bytes_at(&Where::Memory(address), count).ok();
        let (mut there, mut beyond) = (0, count + 1);
        while beyond - there > 1 {
            let middle = (there + beyond) / 2;
            match read(middle) {
                Some(_) => there = middle,
                None => beyond = middle,
            }
        }
        let bytes = read(there).unwrap_or_default();
        Ok(ResponseBody::ReadMemory(ReadMemoryResponse {
            address: format!("{address:#x}"),
            unreadable_bytes: Some((count - bytes.len()) as i64),
            data: Some(base64::engine::general_purpose::STANDARD.encode(bytes)),
        }))
    }
}
