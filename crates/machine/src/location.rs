//! Where an instruction stands, for people.

use ptx::module::{FuncId, Loc, Module};
use std::fmt;

/// A line of a source text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// File name as the module has it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 if unknown.
    pub column: u32,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// Where an instruction stands, for people. It is written as lines below a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// The PTX line.
    pub ptx: Option<SourceLocation>,
    /// The instruction's text.
    pub text: Option<String>,
    /// The source line, where `.loc` tells it.
    pub source: Option<SourceLocation>,
    /// The function that this line is in, if it was inlined, and the calls around it, the innermost first.
    pub inlined: Vec<Inlined>,
}

/// A call that was inlined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inlined {
    /// The function that was called, as the module names it.
    pub function: Option<String>,
    /// Where it was called.
    pub at: SourceLocation,
}

impl SourceLocation {
    /// The place that a `.loc` names.
    pub fn of(module: &Module, loc: &Loc) -> Self {
        Self { file: module.file_name(loc.file), line: loc.line, column: loc.column }
    }
}

impl Location {
    /// The place of an instruction of a function's body.
    pub fn of(module: &Module, function: FuncId, instruction: u32) -> Self {
        let function = &module.functions[function.index()];
        let Some(body) = &function.body else { return Self::default() };
        let Some(instruction) = body.instructions.get(instruction as usize) else { return Self::default() };
        let (line, column) = module.source.line_column(instruction.span.start);
        let chain: Vec<&Loc> =
            instruction.loc.iter().flat_map(|&loc| body.locs[loc as usize].chain()).collect();
        let inlined = chain.windows(2).map(|pair| Inlined {
            function: pair[0].function.as_deref().map(str::to_owned),
            at: SourceLocation::of(module, pair[1]),
        });
        Self {
            ptx: Some(SourceLocation { file: module.source.name().to_owned(), line, column }),
            text: Some(module.source.slice(instruction.span).to_owned()),
            source: chain.first().map(|loc| SourceLocation::of(module, loc)),
            inlined: inlined.collect(),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(ptx) = &self.ptx {
            write!(f, "\n  at {ptx}")?;
            if let Some(text) = &self.text {
                write!(f, ": {text}")?;
            }
        }
        if let Some(source) = &self.source {
            write!(f, "\n  source {source}")?;
        }
        self.inlined.iter().try_for_each(|call| write!(f, "\n  inlined at {}", call.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx::source::Source;

    const PTX: &str = "\
.version 8.0
.target sm_80
.address_size 64
.entry k()
{
    .reg .u32 %r<2>;
    .loc 1 7 3
    .loc 1 20 5, function_name $middle, inlined_at 1 7 3
    .loc 1 30 9, function_name $inner, inlined_at 1 20 5
    mov.u32 %r1, 1;
    .loc 1 8 1
    ret;
}
.file 1 \"k.cu\"
.section .debug_str
{
$middle:
.b8 109, 105, 100, 0
$inner:
.b8 105, 110, 0
}
";

    #[test]
    fn inlined_calls_are_told_from_within() {
        let module = ptx::compile(&Source::new("k.ptx", PTX)).module.expect("it compiles");
        let place = |line, column| SourceLocation { file: "k.cu".into(), line, column };
        let location = Location::of(&module, FuncId(0), 0);
        assert_eq!(location.source, Some(place(30, 9)));
        let call = |function: &str, at| Inlined { function: Some(function.into()), at };
        assert_eq!(location.inlined, [call("in", place(20, 5)), call("mid", place(7, 3))]);
        assert!(location.to_string().ends_with("source k.cu:30\n  inlined at k.cu:20\n  inlined at k.cu:7"));
        assert_eq!(Location::of(&module, FuncId(0), 1).inlined, []);
    }
}
