//! What stops a launch: breakpoints, and memory that is watched.

use crate::Error;
use crate::engine::Reason;
use crate::evaluate::Scene;
use crate::expression::{self, Expression};
use crate::plan::{Armed, Owner, Watch, WatchKind};
use crate::target::Target;
use crate::value::{Ty, Types, Where};
use machine::memory::{LOCAL_WINDOW, SHARED_WINDOW};
use ptx::module::{Checked, FuncId, Module};
use std::sync::Arc;

/// A breakpoint.
#[derive(Clone, Debug)]
pub struct Breakpoint {
    /// Its number.
    pub number: u32,
    /// The place as it was written.
    pub target: Target,
    /// The condition as it was written.
    pub condition: Option<String>,
    /// Where it is.
    pub places: Vec<(FuncId, u32)>,
    /// Whether it stops the launch.
    pub enabled: bool,
    /// Whether it goes when it has stopped the launch.
    pub temporary: bool,
    /// How often it has stopped the launch.
    pub hits: u32,
    pub(crate) parsed: Option<Expression>,
}

/// A watchpoint.
#[derive(Clone, Debug)]
pub struct Watchpoint {
    /// Its number.
    pub number: u32,
    /// The expression as it was written.
    pub text: String,
    /// What it tells of.
    pub kind: WatchKind,
    /// A generic address, and how many bytes are watched.
    pub address: u64,
    /// How many bytes.
    pub bytes: usize,
    /// The type of what is watched.
    pub ty: Ty,
    /// How often it has stopped the launch.
    pub hits: u32,
    pub(crate) watch: Watch,
}

/// All of them. They are numbered together.
#[derive(Debug, Default)]
pub(crate) struct Breakpoints {
    pub(crate) breakpoints: Vec<Breakpoint>,
    pub(crate) watchpoints: Vec<Watchpoint>,
    last_number: u32,
    /// The module that places and types are of, where there may be several.
    module: Option<Arc<Checked<Module>>>,
}

impl Breakpoints {
    /// Adds a breakpoint.
    pub(crate) fn add(
        &mut self,
        module: &Module,
        target: Target,
        condition: Option<&str>,
        temporary: bool,
        may_wait: bool,
    ) -> Result<&Breakpoint, Error> {
        let places = target.places(module);
        let places = if may_wait { places.unwrap_or_default() } else { places? };
        let parsed = condition.map(expression::parse).transpose()?;
        let condition = condition.map(str::to_owned);
        let number = self.number();
        let (enabled, hits) = (true, 0);
        self.breakpoints.push(Breakpoint {
            number,
            target,
            condition,
            places,
            enabled,
            temporary,
            hits,
            parsed,
        });
        Ok(self.breakpoints.last().expect("it was added"))
    }

    /// Another launch begins, perhaps of another module: what is there is looked for again. Memory of CTAs is gone, and values
    /// of types that another module describes are bytes.
    pub(crate) fn settle(&mut self, module: &Arc<Checked<Module>>) {
        let same = self.module.as_ref().is_some_and(|known| Arc::ptr_eq(known, module));
        self.watchpoints.retain(|watchpoint| watchpoint.watch.of.is_none());
        if !same {
            for breakpoint in &mut self.breakpoints {
                breakpoint.places = breakpoint.target.places(module).unwrap_or_default();
            }
            self.watchpoints.iter_mut().for_each(|watchpoint| watchpoint.ty = Ty::Void);
        }
        self.module = Some(Arc::clone(module));
    }

    /// Adds a watchpoint that has no number yet.
    pub(crate) fn add_watchpoint(&mut self, mut watchpoint: Watchpoint) -> &Watchpoint {
        watchpoint.number = self.number();
        watchpoint.watch.number = watchpoint.number;
        self.watchpoints.push(watchpoint);
        self.watchpoints.last().expect("it was added")
    }

    fn number(&mut self) -> u32 {
        self.last_number += 1;
        self.last_number
    }

    /// Takes one away; whether there was one.
    pub(crate) fn delete(&mut self, number: u32) -> bool {
        let before = self.breakpoints.len() + self.watchpoints.len();
        self.breakpoints.retain(|breakpoint| breakpoint.number != number);
        self.watchpoints.retain(|watchpoint| watchpoint.number != number);
        before != self.breakpoints.len() + self.watchpoints.len()
    }

    /// Lets a breakpoint stop the launch, or not; whether there is one.
    pub(crate) fn enable(&mut self, number: u32, enabled: bool) -> bool {
        let found = self.breakpoints.iter_mut().find(|breakpoint| breakpoint.number == number);
        found.map(|breakpoint| breakpoint.enabled = enabled).is_some()
    }

    /// What the monitor is to look for.
    pub(crate) fn armed(&self) -> (Vec<Armed>, Vec<Watch>) {
        let enabled = self.breakpoints.iter().filter(|breakpoint| breakpoint.enabled);
        let armed = enabled.map(|breakpoint| Armed {
            number: breakpoint.number,
            places: breakpoint.places.clone(),
            condition: breakpoint.parsed.clone(),
        });
        (armed.collect(), self.watchpoints.iter().map(|watchpoint| watchpoint.watch.clone()).collect())
    }

    /// One has stopped the launch; the lanes that it is about, if it says so.
    pub(crate) fn hit(&mut self, reason: &Reason) -> Option<u32> {
        match reason {
            Reason::Breakpoint { number, lanes } => {
                if let Some(hit) = self.breakpoints.iter_mut().find(|breakpoint| breakpoint.number == *number)
                {
                    hit.hits += 1;
                }
                self.breakpoints.retain(|breakpoint| breakpoint.number != *number || !breakpoint.temporary);
                Some(*lanes)
            }
            Reason::Changed { number, .. } | Reason::Accessed { number, .. } => {
                if let Some(hit) = self.watchpoints.iter_mut().find(|watchpoint| watchpoint.number == *number)
                {
                    hit.hits += 1;
                }
                match reason {
                    Reason::Accessed { lanes, .. } => Some(*lanes),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

impl Watchpoint {
    /// Watches the memory of an expression; its number comes later.
    pub(crate) fn of(scene: &Scene<'_>, text: &str, kind: WatchKind) -> Result<Self, Error> {
        let value = scene.evaluate(&expression::parse(text)?)?;
        let bytes = scene.symbols.info.size_of_ty(&value.ty).unwrap_or(0);
        let Where::Memory(address) = value.place else {
            return Err(Error::Command(format!("`{text}` is not in memory: only memory can be watched")));
        };
        let bytes = usize::try_from(bytes).ok().filter(|bytes| (1..=4096).contains(bytes));
        let bytes = bytes.ok_or_else(|| Error::Command("1 to 4096 bytes can be watched".to_owned()))?;
        let of = (address >= SHARED_WINDOW).then(|| Owner {
            grid: scene.grid.number,
            block: scene.snapshot.block,
            thread: (address >= LOCAL_WINDOW).then_some((scene.warp.number, scene.lane)),
        });
        let watch = Watch { number: 0, address, bytes, kind, of };
        let (text, ty) = (text.to_owned(), value.ty);
        Ok(Self { number: 0, text, kind, address, bytes, ty, hits: 0, watch })
    }
}
