//! From a kernel to code that can be called: text, object file, machine code in memory.

use crate::cache::{Cache, Key};
use crate::class::Rows;
use crate::code::Loaded;
use crate::{Refusal, emit, llvm, run, width};
use ir::Function;
use machine::compiled::{Background, Code, Engine, EngineId, Source};
use std::sync::Arc;
use std::time::Instant;

/// An engine that compiles whatever it is asked for.
#[derive(Debug)]
pub(crate) struct Compiler {
    id: EngineId,
    cache: Option<Cache>,
}

impl Compiler {
    pub(crate) fn new(cache: Option<Cache>) -> Self {
        Self { id: EngineId::fresh(), cache }
    }

    /// The object file of a text, from the cache if it is there.
    fn object(&self, text: &str) -> Result<(Vec<u8>, bool), String> {
        let Some(cache) = &self.cache else { return llvm::compile(text).map(|object| (object, false)) };
        let key = Key::of(text, cache);
        if let Some(object) = key.as_ref().and_then(|key| cache.load(key)) {
            return Ok((object, true));
        }
        let object = llvm::compile(text)?;
        // Which LLVM there is may be known only now.
        if let Some(key) = key.or_else(|| Key::of(text, cache)) {
            cache.store(&key, &object);
        }
        Ok((object, false))
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
        let (emitted, rows) = emit_kernel(source).map_err(|refusal| refusal.to_string())?;
        let threads: u32 = rows.block.iter().product();
        let name = source.name();
        log::trace!("{name} as LLVM's text:\n{}", emitted.text);
        let written = begun.elapsed();
        let of_llvm = |why| format!("LLVM: {why}");
        let (object, kept) = self.object(&emitted.text).map_err(of_llvm)?;
        let loaded = Loaded::link(&object)?;
        let code =
            run::Compiled::new(emitted, source.kernel(), loaded, threads.div_ceil(rows.width), rows.width)?;
        let (how, all) = (if kept { "from the cache" } else { "compiled" }, begun.elapsed());
        log::debug!("{name}: {how} in {all:?}, {written:?} of it until its text was there");
        Ok(Arc::new(code))
    }

    fn declined(&self, kernel: &str, why: &str) {
        log::info!("kernel {kernel} is interpreted: {why}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second process finds what the first one has made; what has been damaged meanwhile is made anew.
    #[test]
    fn objects_are_found_again() {
        if let Err(why) = llvm::available() {
            return eprintln!("skipped: {why}");
        }
        let folder = tempfile::tempdir().unwrap();
        let process = || Compiler::new(Some(Cache::at(folder.path().join("warploom"))));
        let text = "define i32 @rows(ptr %context, i32 %rows) {\n  ret i32 %rows\n}\n";
        let (made, kept) = process().object(text).unwrap();
        assert!(!kept);
        assert_eq!(process().object(text), Ok((made.clone(), true)));
        assert!(Loaded::link(&made).unwrap().address_of("rows").is_some());
        let (_, kept) = process().object(&text.replace("@rows", "@others")).unwrap();
        assert!(!kept);
        let entries =
            std::fs::read_dir(folder.path().join("warploom")).unwrap().map(|entry| entry.unwrap().path());
        for path in entries.filter(|path| path.extension().is_some()) {
            let mut bytes = std::fs::read(&path).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            std::fs::write(&path, bytes).unwrap();
        }
        assert_eq!(process().object(text).map(|(_, kept)| kept), Ok(false));
        assert_eq!(process().object(text), Ok((made, true)));
    }
}
