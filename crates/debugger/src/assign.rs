//! Assignments: to memory of all state spaces that a thread can write, and to registers.
//!
//! What is assigned becomes a part of the launch's history at the moment at which it stands still. Global memory is written at once. What
//! threads have of their own they are given by the launch, which is executed again up to here.

use crate::Error;
use crate::evaluate::Scene;
use crate::expression::{self, Expression};
use crate::focus::Focus;
use crate::history::{Edit, Edited};
use crate::session::Session;
use crate::value::{Kind, Types, Value, Where};
use machine::inspect::{Change, Changed};
use machine::lanes::LANES;
use machine::memory::{PARAM_WINDOW, SHARED_WINDOW, WINDOW_SIZE};
use ptx::module::RegId;

impl Session {
    /// Assigns a value to what an expression stands for, for the thread in focus. From here on the launch has another history,
    /// which is repeated as this one is; going back before this moment undoes it.
    ///
    /// # Errors
    /// If it has no place that can be written, or no value of that type.
    pub fn assign(&mut self, to: &str, value: &str) -> Result<(), Error> {
        self.assign_at(self.focused()?, to, value)
    }

    /// The same for another thread.
    ///
    /// # Errors
    /// The same.
    pub fn assign_at(&mut self, focus: Focus, to: &str, value: &str) -> Result<(), Error> {
        let edit = self.scene_at(focus)?.edit(&expression::parse(to)?, &expression::parse(value)?)?;
        self.edit(vec![edit])
    }

    /// The same for all lanes of the warp in focus that are in the same activation, each with its own value.
    ///
    /// # Errors
    /// The same, of any of them. Then nothing is assigned.
    pub fn assign_in_lanes(&mut self, to: &str, value: &str) -> Result<(), Error> {
        let (to, value) = (expression::parse(to)?, expression::parse(value)?);
        let scene = self.scene()?;
        // Of each lane the activation in focus, be it the innermost or one that has called that.
        let in_lane = |lane| {
            let Scene { program, symbols, grid, snapshot, warp, frame, .. } = scene;
            let innermost = Scene::innermost(program, symbols, grid, snapshot, warp.number, lane);
            std::iter::successors(innermost, Scene::caller).find(|there| there.frame == frame)
        };
        let edits = (0..LANES).filter_map(in_lane).map(|scene| scene.edit(&to, &value));
        let edits = edits.collect::<Result<Vec<_>, _>>()?;
        self.edit(edits)
    }

    fn edit(&mut self, edits: Vec<Edited>) -> Result<(), Error> {
        let position = self.stop()?.next.position;
        // All of it is there, or none is assigned.
        let mut byte = [0];
        for edit in &edits {
            if let Edited::Memory { address, bytes } = edit {
                let last = address.saturating_add(bytes.len().saturating_sub(1) as u64);
                let device = &self.program.device;
                if !device.read(*address, &mut byte) || !device.read(last, &mut byte) {
                    return Err(Error::Expression(format!("cannot access memory at address {address:#x}")));
                }
            }
        }
        for edit in &edits {
            if let Edited::Memory { address, bytes } = edit {
                self.program.device.write(*address, bytes);
            }
        }
        let of_threads = edits.iter().any(|edit| matches!(edit, Edited::Thread(_)));
        self.engine.history.edit(Edit { position, of: edits });
        self.printed.fork();
        self.forgive();
        if of_threads {
            self.repeat()?;
            if let Some(focus) = self.focus {
                self.look(focus.block)?;
            }
        }
        Ok(())
    }
}

impl Scene<'_> {
    /// What it takes to assign.
    fn edit(&self, to: &Expression, value: &Expression) -> Result<Edited, Error> {
        let (to, value) = (self.evaluate(to)?, self.evaluate(value)?);
        let info = &self.symbols.info;
        let whole = || Error::Expression(format!("a {} cannot be assigned as a whole", info.ty_name(&to.ty)));
        let bytes = match info.kind(&to.ty) {
            Kind::Structure(_) | Kind::Array(..) | Kind::Dim3 if to.ty == value.ty => self.bytes(&value)?,
            Kind::Structure(_) | Kind::Array(..) | Kind::Dim3 | Kind::Void => return Err(whole()),
            kind => {
                let size = info.size_of_ty(&to.ty).and_then(|size| usize::try_from(size).ok()).unwrap_or(0);
                self.number(&value)?.bytes(&kind, size).ok_or_else(whole)?
            }
        };
        let (block, warp) = (self.snapshot.block, self.warp.number);
        match &to.place {
            &Where::Memory(address) if address < SHARED_WINDOW => Ok(Edited::Memory { address, bytes }),
            &Where::Memory(address) => {
                if address & !(WINDOW_SIZE - 1) == PARAM_WINDOW {
                    let why = "it is a parameter of the kernel, which nobody can write";
                    return Err(Error::Expression(why.to_owned()));
                }
                // What cannot be read is not there.
                self.bytes_at(&to.place, bytes.len())?;
                Ok(Edited::Thread(Change {
                    block,
                    warp,
                    of: Changed::Memory { lane: self.lane, address, bytes },
                }))
            }
            &Where::Register { register, offset, .. } => {
                let value = self.extended(&to, register, offset, &bytes);
                let frame = self.warp.frames[self.frame].number;
                let lanes = 1 << self.lane;
                Ok(Edited::Thread(Change {
                    block,
                    warp,
                    of: Changed::Register { frame, register, lanes, value },
                }))
            }
            Where::Bytes(_) => {
                Err(Error::Expression("it has no place of its own, so that it cannot be assigned".to_owned()))
            }
            Where::Missing(why) => Err(Error::Expression(why.clone())),
        }
    }

    /// What a register is when it gets bytes: a number fills it, as conversions do; a part of it leaves the rest alone.
    fn extended(&self, to: &Value, register: RegId, offset: usize, bytes: &[u8]) -> u128 {
        let row = self.warp.register(self.frame, register);
        let mut all = row.map_or(0, |row| row.lane(self.lane)).to_le_bytes();
        let is_signed = match self.symbols.info.kind(&to.ty) {
            Kind::Integer { signed } | Kind::Character { signed } => Some(signed),
            Kind::Enumeration(_) => Some(true),
            _ => None,
        };
        if let Some(signed) = is_signed.filter(|_| offset == 0) {
            let negative = signed && bytes.last().is_some_and(|byte| byte >> 7 != 0);
            all = [if negative { 0xff } else { 0 }; 16];
        }
        if let Some(part) = all.get_mut(offset..offset + bytes.len()) {
            part.copy_from_slice(bytes);
        }
        u128::from_le_bytes(all)
    }
}
