//! Threads, frames, variables and memory.

use super::Starter;
use super::adapter::Adapter;
use crate::evaluate::Scene;
use crate::focus::block_text;
use crate::value::{Format, Types, Value, Where};
use crate::{Error, Expression, Focus, Sources, parse};
use base64::Engine as _;
use emmy_dap_types::requests::{
    ReadMemoryArguments, SetExpressionArguments, SetVariableArguments, StackTraceArguments,
};
use emmy_dap_types::responses::{
    EvaluateResponse, ReadMemoryResponse, ResponseBody, ScopesResponse, SetExpressionResponse,
    SetVariableResponse, StackTraceResponse, ThreadsResponse, VariablesResponse,
};
use emmy_dap_types::types::{Scope, ScopePresentationhint, Source, StackFrame, Thread, Variable};

/// Frames of a warp that have an identity.
const FRAMES: i64 = 1 << 12;
/// Warps of a CTA, CTAs that have numbers for editors, and threads that are told of, about.
const WARPS: i64 = 32;
const MOST_BLOCKS: i64 = 1 << 34;
const MOST_THREADS: usize = 1024;
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

impl<S: Starter> Adapter<S> {
    /// The number of a warp: those of the CTA that has stopped come first. `None` where a CTA's number is too large for one.
    fn thread_id(&self, block: [u32; 3], warp: u32) -> Result<Option<i64>, Error> {
        let stop = self.session()?.stop()?;
        if block == stop.snapshot.block {
            return Ok(Some(i64::from(warp) + 1));
        }
        let [gx, gy, _] = stop.grid.extent.map(i64::from);
        let [x, y, z] = block.map(i64::from);
        let number =
            gy.checked_mul(z).and_then(|rows| gx.checked_mul(rows + y)).and_then(|row| row.checked_add(x));
        let number = number.filter(|&number| number < MOST_BLOCKS);
        Ok(number.map(|number| (number + 1) * WARPS + i64::from(warp) + 1))
    }

    /// The warp of a number.
    fn warp_of(&self, thread: i64) -> Result<([u32; 3], u32), Error> {
        let missing = || Error::Command("there is no such thread".to_owned());
        let stop = self.session()?.stop()?;
        let index = u64::try_from(thread - 1).map_err(|_| missing())?;
        let (number, warp) = (index / WARPS as u64, (index % WARPS as u64) as u32);
        let Some(number) = number.checked_sub(1) else { return Ok((stop.snapshot.block, warp)) };
        let [gx, gy, gz] = stop.grid.extent.map(u64::from);
        if number / gx / gy >= gz {
            return Err(missing());
        }
        Ok(([(number % gx) as u32, (number / gx % gy) as u32, (number / gx / gy) as u32], warp))
    }

    /// The lane of a warp that is looked at.
    fn focus_of(&mut self, (block, warp): ([u32; 3], u32), frame: usize) -> Result<Focus, Error> {
        let session = &mut self.console()?.session;
        session.look(block)?;
        if let Some(focus) = session.focus().filter(|focus| (focus.block, focus.warp) == (block, warp)) {
            return Ok(Focus { frame, ..focus });
        }
        let focus = Focus::of_warp(session.snapshot(block)?, warp);
        let focus =
            focus.ok_or_else(|| Error::Command(format!("warp {warp} is not there, or has exited")))?;
        Ok(Focus { frame, ..focus })
    }

    fn focus_of_frame(&mut self, frame: Option<i64>) -> Result<Focus, Error> {
        match frame.filter(|&frame| frame > 0) {
            Some(frame) => {
                let warp = self.warp_of((frame - 1) / FRAMES)?;
                self.focus_of(warp, ((frame - 1) % FRAMES) as usize)
            }
            None => self.session()?.focused(),
        }
    }

    fn scene(&self, focus: Focus) -> Result<Scene<'_>, Error> {
        self.session()?.scene_at(focus)
    }

    pub(super) fn scene_of_frame(&mut self, frame: Option<i64>) -> Result<Scene<'_>, Error> {
        let focus = self.focus_of_frame(frame)?;
        self.scene(focus)
    }

    pub(super) fn threads(&mut self) -> Result<ResponseBody, Error> {
        let mut threads = Vec::new();
        // An editor asks before anything has begun, too.
        let Ok(stop) = self.session()?.stop() else {
            return Ok(ResponseBody::Threads(ThreadsResponse { threads }));
        };
        let stopped = stop.snapshot.block;
        let others = stop.blocks.under_way.clone().into_iter().filter(|&block| block != stopped);
        for block in std::iter::once(stopped).chain(others) {
            let focused = self.session()?.focus();
            let snapshot = self.console()?.session.peek(block)?;
            for warp in snapshot.warps.iter().filter(|warp| warp.live != 0) {
                let own = focused.filter(|focus| (focus.block, focus.warp) == (block, warp.number));
                let Some(focus) = own.or_else(|| Focus::of_warp(&snapshot, warp.number)) else { continue };
                let Some(id) = self.thread_id(block, warp.number)? else { continue };
                let [a, b, c] = warp.threads[focus.lane];
                let name = format!("{} warp {}, thread ({a},{b},{c})", block_text(block), warp.number);
                threads.push(Thread { id, name });
            }
            if threads.len() >= MOST_THREADS {
                break;
            }
        }
        Ok(ResponseBody::Threads(ThreadsResponse { threads }))
    }

    pub(super) fn stack(&mut self, asked: &StackTraceArguments) -> Result<ResponseBody, Error> {
        let warp = self.warp_of(asked.thread_id)?;
        let focus = self.focus_of(warp, 0)?;
        let frames = self.session()?.innermost_at(focus)?.frames();
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
                id: asked.thread_id * FRAMES + number as i64 + 1,
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
                let scene = self.scene(focus)?;
                // Something may have been assigned since.
                let now = parse(&of).and_then(|expression| scene.evaluate(&expression));
                let parts = scene.parts(&now.unwrap_or(value))?;
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
                Where::Register { .. } | Where::Bytes(_) | Where::Missing(_) => None,
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

    /// Assigns to a part of what a number stands for.
    pub(super) fn set_variable(&mut self, asked: &SetVariableArguments) -> Result<ResponseBody, Error> {
        let focus = match self.handles.get(asked.variables_reference)? {
            Handle::Arguments(focus) | Handle::Locals(focus) | Handle::Registers(focus) => focus,
            Handle::Parts(focus, ..) => focus,
        };
        let name = self.handles.expression(asked.variables_reference, &asked.name);
        let (value, type_field, reference) = self.assign(focus, &name.unwrap_or_default(), &asked.value)?;
        let variables_reference = Some(reference);
        Ok(ResponseBody::SetVariable(SetVariableResponse {
            value,
            type_field,
            variables_reference,
            ..SetVariableResponse::default()
        }))
    }

    pub(super) fn set_expression(&mut self, asked: &SetExpressionArguments) -> Result<ResponseBody, Error> {
        let focus = self.focus_of_frame(asked.frame_id)?;
        let (value, type_field, reference) = self.assign(focus, &asked.expression, &asked.value)?;
        let variables_reference = Some(reference);
        Ok(ResponseBody::SetExpression(SetExpressionResponse {
            value,
            type_field,
            variables_reference,
            ..SetExpressionResponse::default()
        }))
    }

    /// Assigns; the value then, its type, and what its parts are asked by.
    fn assign(
        &mut self,
        focus: Focus,
        to: &str,
        value: &str,
    ) -> Result<(String, Option<String>, i64), Error> {
        let session = &mut self.console()?.session;
        session.assign_at(focus, to, value)?;
        session.look(focus.block)?;
        let now = self.scene(focus)?.evaluate(&parse(to)?)?;
        let (text, ty, parts) = self.shown(focus, &now)?;
        let reference = match parts {
            true => self.handles.add(Handle::Parts(focus, now, to.to_owned())),
            false => 0,
        };
        Ok((text, Some(ty), reference))
    }

    pub(super) fn memory(&mut self, asked: &ReadMemoryArguments) -> Result<ResponseBody, Error> {
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
