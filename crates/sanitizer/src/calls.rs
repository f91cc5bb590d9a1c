//! Places as the program's author knows them: which calls an instruction was inlined by.

use machine::SourceLocation;
use ptx::module::{FuncId, Loc, Module};

/// The places of the calls by which an instruction came to where it is, the innermost first: `inlined_at` of its `.loc`.
pub(crate) fn of(module: &Module, function: FuncId, instruction: u32) -> Vec<SourceLocation> {
    let body = module.functions.get(function.index()).and_then(|function| function.body.as_ref());
    let loc = body.and_then(|body| {
        let index = body.instructions.get(instruction as usize)?.loc?;
        body.locs.get(index as usize)
    });
    let callers = std::iter::successors(loc, |loc| loc.inlined_at.as_deref()).skip(1);
    let place = |loc: &Loc| {
        let named = module.files.get(&loc.file);
        let file = named.map_or_else(|| format!("file {}", loc.file), String::clone);
        SourceLocation { file, line: loc.line, column: loc.column }
    };
    callers.map(place).collect()
}
