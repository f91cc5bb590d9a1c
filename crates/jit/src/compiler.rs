//! From a kernel to code that can be called: text, object file, machine code in memory.

use crate::beside::Beside;
use crate::class::Rows;
use crate::llvm::Effort;
use crate::objects::Objects;
use crate::tiers::Tiers;
use crate::{Refusal, emit, run, width};
use ir::Function;
use machine::compiled::{Background, Code, Engine, EngineId, Source};
use std::sync::Arc;
use std::time::Instant;

/// An engine that compiles whatever it is asked for.
#[derive(Debug)]
pub(crate) struct Compiler {
    id: EngineId,
    pub(crate) objects: Arc<Objects>,
    /// What kernels are first compiled on, and what better code is made on: the first must not wait for the second.
    pub(crate) beside: Beside,
    later: Arc<Beside>,
    /// What is put into everything; without it, little at first, and all of it into what goes on running.
    pub(crate) effort: Option<Effort>,
}

impl Compiler {
    pub(crate) fn new(objects: Arc<Objects>, effort: Option<Effort>) -> Self {
        Self {
            id: EngineId::fresh(),
            objects,
            effort,
            beside: Beside::new("warploom-first"),
            later: Arc::new(Beside::new("warploom-better")),
        }
    }

    /// The machine code of a kernel's text, and how it came to be.
    fn code(&self, kernel: &str, text: String) -> Result<(Tiers, &'static str), String> {
        let how = |kept, compiled| if kept { "from the cache" } else { compiled };
        let of_llvm = |why| format!("LLVM: {why}");
        if let Some(effort) = self.effort {
            let (object, kept) = self.objects.object(&text, effort).map_err(of_llvm)?;
            return Ok((Tiers::always(&object)?, how(kept, "compiled")));
        }
        if let Some(object) = self.objects.kept(&text, Effort::Full) {
            return Ok((Tiers::always(&object)?, how(true, "")));
        }
        let (object, kept) = self.objects.object(&text, Effort::Quick).map_err(of_llvm)?;
        let tiers = Tiers::quick(&object, kernel, text, &self.objects, &self.later)?;
        Ok((tiers, how(kept, "compiled quickly")))
    }
}

/// The text that a kernel becomes.
pub(crate) fn emit_kernel(source: &Source<'_>) -> Result<(emit::Emitted, Rows), Refusal> {
    let missing = || Refusal::Instruction("a kernel without code".to_owned());
    let function = Function::lower(source.module(), source.kernel()).ok_or_else(missing)?;
    let rows = Rows { width: width(&function, source.block()), block: source.block() };
    emit::emit(source, &function, rows).map(|emitted| (emitted, rows))
}

impl Engine for Compiler {
    fn id(&self) -> EngineId {
        self.id
    }

    fn background(&self) -> Option<&dyn Background> {
        None
    }

    fn compile(&self, source: &Source<'_>) -> Result<Arc<dyn Code>, String> {
        let begun = Instant::now();
        let (mut emitted, rows) = emit_kernel(source).map_err(|refusal| refusal.to_string())?;
        let threads: u32 = rows.block.iter().product();
        let name = source.name();
        log::trace!("{name} as LLVM's text:\n{}", emitted.text);
        let written = begun.elapsed();
        let (tiers, how) = self.code(name, std::mem::take(&mut emitted.text))?;
        let code =
            run::Compiled::new(emitted, source.kernel(), tiers, threads.div_ceil(rows.width), rows.width);
        log::debug!("{name}: {how} in {:?}, {written:?} of it until its text was there", begun.elapsed());
        Ok(Arc::new(code))
    }

    fn declined(&self, kernel: &str, why: &str) {
        log::info!("kernel {kernel} is interpreted: {why}");
    }
}
