//! Names and places as the program's author knows them: which calls an instruction was inlined by, and names without C++'s
//! mangling.

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

/// A name as it was written in C++, if it is mangled.
pub(crate) fn demangled(name: &str) -> String {
    let symbol = if name.starts_with("_Z") { cpp_demangle::Symbol::new(name).ok() } else { None };
    symbol.and_then(|symbol| symbol.demangle().ok()).unwrap_or_else(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mangled_names_are_read() {
        assert_eq!(demangled("_Z5scaleILi4EEvPfi"), "void scale<4>(float*, int)");
        assert_eq!(["k", "_Zx", "_Z"].map(demangled), ["k", "_Zx", "_Z"]);
    }
}
