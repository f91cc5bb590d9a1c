//! The calls around a thread, the innermost first, inlined ones among them.

use crate::evaluate::Scene;
use abi::names::demangled;
use machine::SourceLocation;
use ptx::module::Loc;

/// A function that a thread is in.
#[derive(Clone, Debug)]
pub struct CallFrame<'a> {
    /// The activation, at the instruction that it has come to.
    pub scene: Scene<'a>,
    /// The function's name, as its author wrote it.
    pub name: String,
    /// The source line.
    pub source: Option<SourceLocation>,
    /// Whether its code stands in that of the next frame.
    pub inlined: bool,
}

impl<'a> Scene<'a> {
    /// The calls around the thread.
    pub fn frames(self) -> Vec<CallFrame<'a>> {
        let module = self.program.module();
        let mut frames = Vec::new();
        for scene in std::iter::successors(Some(self), Scene::caller) {
            let (function, instruction) = scene.place;
            let own = demangled(&module.functions[function.index()].name);
            let chain: Vec<&Loc> =
                module.loc(function, instruction).into_iter().flat_map(Loc::chain).collect();
            let place = |loc: &Loc| (loc.line != 0).then(|| SourceLocation::of(module, loc));
            for loc in chain.iter().take(chain.len().saturating_sub(1)) {
                let name = loc.function.as_deref().map_or_else(|| "??".to_owned(), demangled);
                frames.push(CallFrame { scene, name, source: place(loc), inlined: true });
            }
            let source = chain.last().and_then(|loc| place(loc));
            frames.push(CallFrame { scene, name: own, source, inlined: false });
        }
        frames
    }

    /// The PTX line of the instruction, and its text.
    pub fn ptx(&self) -> (u32, String) {
        let module = self.program.module();
        let body = module.functions[self.place.0.index()].body.as_ref();
        let instruction = body.and_then(|body| body.instructions.get(self.place.1 as usize));
        instruction.map_or_else(Default::default, |instruction| {
            let text = module.source.slice(instruction.span).split_whitespace().collect::<Vec<_>>().join(" ");
            (module.source.line_column(instruction.span.start).0, text)
        })
    }
}
