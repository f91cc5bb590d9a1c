//! Breakpoints of all kinds. An editor sets those of a kind, or of a file, as a whole: what was there before goes.

use super::Starter;
use super::adapter::Adapter;
use crate::plan::WatchKind;
use crate::value::Where;
use crate::{Error, Target, parse};
use emmy_dap_types::requests::{
    DataBreakpointInfoArguments, SetBreakpointsArguments, SetDataBreakpointsArguments,
    SetFunctionBreakpointsArguments,
};
use emmy_dap_types::responses::{
    DataBreakpointInfoResponse, ResponseBody, SetBreakpointsResponse, SetDataBreakpointsResponse,
    SetFunctionBreakpointsResponse,
};
use emmy_dap_types::types::{Breakpoint, DataBreakpointAccessType};
use std::collections::HashMap;

/// The numbers of what is set.
#[derive(Default)]
pub(super) struct Set {
    lines: HashMap<String, Vec<u32>>,
    functions: Vec<u32>,
    data: Vec<u32>,
}

impl<S: Starter> Adapter<S> {
    pub(super) fn set_lines(&mut self, asked: &SetBreakpointsArguments) -> Result<ResponseBody, Error> {
        let path = asked.source.path.clone().or_else(|| asked.source.name.clone()).unwrap_or_default();
        let old = self.set.lines.remove(&path).unwrap_or_default();
        self.forget(&old)?;
        let file = path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
        let of_ptx =
            self.session()?.program().module().source.name().rsplit('/').next() == Some(file.as_str());
        let mut numbers = Vec::new();
        let mut told = Vec::new();
        for wanted in asked.breakpoints.iter().flatten() {
            let line = u32::try_from(wanted.line).unwrap_or(0);
            let target =
                if of_ptx { Target::Ptx(line) } else { Target::Line { file: Some(file.clone()), line } };
            told.push(self.add(target, wanted.condition.as_deref(), &mut numbers)?);
            if let Some(told) = told.last_mut() {
                told.source = Some(asked.source.clone());
                told.line = Some(wanted.line);
            }
        }
        self.set.lines.insert(path, numbers);
        Ok(ResponseBody::SetBreakpoints(SetBreakpointsResponse { breakpoints: told }))
    }

    pub(super) fn set_functions(
        &mut self,
        asked: &SetFunctionBreakpointsArguments,
    ) -> Result<ResponseBody, Error> {
        let old = std::mem::take(&mut self.set.functions);
        self.forget(&old)?;
        let mut numbers = Vec::new();
        let told = asked.breakpoints.iter().map(|wanted| {
            let target = Target::Function(wanted.name.clone());
            self.add(target, wanted.condition.as_deref(), &mut numbers)
        });
        let breakpoints = told.collect::<Result<_, _>>()?;
        self.set.functions = numbers;
        Ok(ResponseBody::SetFunctionBreakpoints(SetFunctionBreakpointsResponse { breakpoints }))
    }

    /// Adds a breakpoint. One that nothing comes of is told so.
    fn add(
        &mut self,
        target: Target,
        condition: Option<&str>,
        numbers: &mut Vec<u32>,
    ) -> Result<Breakpoint, Error> {
        let condition = condition.filter(|condition| !condition.trim().is_empty());
        Ok(match self.console()?.session.add_breakpoint(target, condition, false) {
            Ok(added) => {
                numbers.push(added.number);
                // One that has no place yet may get one with another module.
                let (id, verified) = (Some(added.number.into()), !added.places.is_empty());
                Breakpoint { id, verified, ..Breakpoint::default() }
            }
            Err(error) => {
                Breakpoint { verified: false, message: Some(error.to_string()), ..Breakpoint::default() }
            }
        })
    }

    fn forget(&mut self, numbers: &[u32]) -> Result<(), Error> {
        let session = &mut self.console()?.session;
        numbers.iter().for_each(|&number| {
            session.delete(number);
        });
        Ok(())
    }

    /// Whether the memory of a variable can be watched. Its name stands for it later.
    pub(super) fn data_info(&mut self, asked: &DataBreakpointInfoArguments) -> Result<ResponseBody, Error> {
        let name =
            asked.variables_reference.and_then(|container| self.handles.expression(container, &asked.name));
        let name = name.unwrap_or_else(|| asked.name.clone());
        let scene = self.scene_of_frame(asked.frame_id)?;
        let value = parse(&name).and_then(|expression| scene.evaluate(&expression));
        let in_memory = matches!(value.map(|value| value.place), Ok(Where::Memory(_)));
        Ok(ResponseBody::DataBreakpointInfo(DataBreakpointInfoResponse {
            data_id: in_memory.then(|| name.clone()),
            description: if in_memory { name } else { format!("{name} is not in memory") },
            access_types: Some(vec![
                DataBreakpointAccessType::Write,
                DataBreakpointAccessType::Read,
                DataBreakpointAccessType::ReadWrite,
            ]),
            can_persist: Some(false),
        }))
    }

    pub(super) fn set_data(&mut self, asked: &SetDataBreakpointsArguments) -> Result<ResponseBody, Error> {
        let old = std::mem::take(&mut self.set.data);
        // What stays keeps the address that it had where it was set.
        let stays = |adapter: &Self, number: u32| -> Result<bool, Error> {
            let known = adapter.session()?.watchpoints().iter().find(|watch| watch.number == number);
            Ok(known.is_some_and(|known| asked.breakpoints.iter().any(|wanted| wanted.data_id == known.text)))
        };
        let mut kept = Vec::new();
        for number in old {
            match stays(self, number)? {
                true => kept.push(number),
                false => self.forget(&[number])?,
            }
        }
        let mut told = Vec::new();
        for wanted in &asked.breakpoints {
            let kind = match wanted.access_type {
                Some(DataBreakpointAccessType::Read) => WatchKind::Read,
                Some(DataBreakpointAccessType::ReadWrite) => WatchKind::Access,
                Some(DataBreakpointAccessType::Write) | None => WatchKind::Change,
            };
            let session = &mut self.console()?.session;
            let known =
                session.watchpoints().iter().find(|w| kept.contains(&w.number) && w.text == wanted.data_id);
            let added = match known {
                Some(known) => Ok(known.number),
                None => session.add_watchpoint(&wanted.data_id, kind).map(|added| added.number),
            };
            told.push(match added {
                Ok(number) => {
                    self.set.data.push(number);
                    Breakpoint { id: Some(number.into()), verified: true, ..Breakpoint::default() }
                }
                Err(error) => {
                    Breakpoint { verified: false, message: Some(error.to_string()), ..Breakpoint::default() }
                }
            });
        }
        Ok(ResponseBody::SetDataBreakpoints(SetDataBreakpointsResponse { breakpoints: told }))
    }
}
