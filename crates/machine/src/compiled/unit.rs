//! Kernels that an engine compiles, from the first question to the code.
//!
//! An engine that compiles at once is asked when a kernel is first launched. One that compiles beside the launches
//! ([`Background`]) is asked once so much of the kernel has been interpreted that compiling it is worth its time, measured in
//! warp instructions so that it does not depend on what else the host does. Until its code is there, the kernel goes on being
//! interpreted.

use super::{Background, Code, Engine, Source};
use crate::launch::Inlined;
use ptx::module::FuncId;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};

/// What a CTA that is interpreted costs beside its instructions, in instructions.
const CTA: u64 = 64;

/// A kernel in blocks of one shape, and what an engine makes of it.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) module: Arc<Inlined>,
    pub(crate) addresses: Arc<[Option<u64>]>,
    pub(crate) kernel: FuncId,
    pub(crate) block: [u32; 3],
    pub(crate) shared_start: u32,
    pub(crate) state: State,
}

/// What has become of it.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// Warp instructions of it that were interpreted.
    interpreted: AtomicU64,
    requested: AtomicBool,
    /// Whether it was said why it is interpreted.
    declined: AtomicBool,
    made: OnceLock<Result<Arc<dyn Code>, String>>,
}

impl Unit {
    fn source(&self) -> Source<'_> {
        Source::new(&self.module, &self.addresses, self.kernel, self.block, self.shared_start)
    }

    /// What the engine has made of it, now.
    pub(crate) fn compile(&self, engine: &dyn Engine) -> &Result<Arc<dyn Code>, String> {
        let made = self.state.made.get_or_init(|| engine.compile(&self.source()));
        if let Err(why) = made {
            self.decline(engine, why);
        }
        made
    }

    /// The engine is told, once, that the interpreter runs it.
    pub(crate) fn decline(&self, engine: &dyn Engine, why: &str) {
        if !self.state.declined.swap(true, Relaxed) {
            engine.declined(&self.module.functions[self.kernel.index()].name, why);
        }
    }
}

/// A kernel that an engine is to compile, beside what else happens.
#[derive(Debug)]
pub struct Request(Weak<Unit>);

impl Request {
    /// Compiles it, unless its module has been unloaded.
    pub fn carry_out(&self, engine: &dyn Engine) {
        if let Some(unit) = self.0.upgrade() {
            unit.compile(engine);
        }
    }
}

/// The code of a kernel that runs, which may come meanwhile.
#[derive(Clone)]
pub(crate) struct Promise<'a> {
    unit: Arc<Unit>,
    background: Option<&'a dyn Background>,
}

impl<'a> Promise<'a> {
    pub(crate) fn new(unit: Arc<Unit>, engine: &'a dyn Engine) -> Self {
        let background = engine.background();
        if background.is_none() {
            unit.compile(engine);
        }
        Self { unit, background }
    }

    /// The code, if it is there.
    pub(crate) fn code(&self) -> Option<&Arc<dyn Code>> {
        self.unit.state.made.get()?.as_ref().ok()
    }

    /// A CTA, or a part of one, was interpreted.
    pub(crate) fn interpreted(&self, instructions: u64) {
        let Some(background) = self.background else { return };
        let state = &self.unit.state;
        if state.requested.load(Relaxed) {
            return;
        }
        let spent = instructions + CTA;
        let all = state.interpreted.fetch_add(spent, Relaxed) + spent;
        if all >= background.threshold() && !state.requested.swap(true, Relaxed) {
            background.submit(Request(Arc::downgrade(&self.unit)));
        }
    }

    /// What became of it: whether there is code, or why not.
    pub(crate) fn outcome(&self) -> Result<(), String> {
        match self.unit.state.made.get() {
            Some(made) => made.as_ref().map(|_| ()).map_err(String::clone),
            None => Err("it has not run for long enough to be compiled".to_owned()),
        }
    }
}
