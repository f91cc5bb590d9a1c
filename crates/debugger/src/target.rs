//! Places that breakpoints name: kernels and functions, source lines, PTX lines.

use crate::Error;
use abi::names::demangled;
use ptx::module::{FuncId, Module};

/// A place as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The beginning of a kernel or function, by its name in PTX or in C++.
    Function(String),
    /// A source line; of any file if none is named.
    Line {
        /// The end of the file's name.
        file: Option<String>,
        /// The line.
        line: u32,
    },
    /// A line of the PTX text.
    Ptx(u32),
}

impl Target {
    /// Reads `NAME`, `LINE`, `FILE:LINE` or `ptx:LINE`.
    ///
    /// # Errors
    /// If it is none of them.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let number = |text: &str| text.parse::<u32>().ok().filter(|&line| line > 0);
        if let Some(line) = number(text) {
            return Ok(Self::Line { file: None, line });
        }
        match text.rsplit_once(':') {
            Some(("ptx", line)) => {
                number(line).map(Self::Ptx).ok_or_else(|| Error::Command(format!("`{line}` is not a line")))
            }
            Some((file, line)) if number(line).is_some() && !file.ends_with(':') => {
                Ok(Self::Line { file: Some(file.to_owned()), line: number(line).unwrap_or(1) })
            }
            _ if text.is_empty() => {
                Err(Error::Command("a place is missing: a function, a line, or ptx:LINE".to_owned()))
            }
            _ => Ok(Self::Function(text.to_owned())),
        }
    }

    /// The instructions at which it begins, sorted.
    ///
    /// # Errors
    /// If there are none.
    pub fn places(&self, module: &Module) -> Result<Vec<(FuncId, u32)>, Error> {
        let bodies = module
            .functions
            .iter()
            .enumerate()
            .filter_map(|(index, function)| Some((FuncId(index as u32), function.body.as_ref()?)));
        let mut places = Vec::new();
        for (id, body) in bodies {
            match self {
                Self::Function(name) => {
                    if is_called(&module.functions[id.index()].name, name) && !body.instructions.is_empty() {
                        places.push((id, first_of(module, id)));
                    }
                }
                Self::Ptx(line) => {
                    let on_line = |instruction: &ptx::module::Instruction| {
                        module.source.line_column(instruction.span.start).0 == *line
                    };
                    places.extend(body.instructions.iter().position(on_line).map(|index| (id, index as u32)));
                }
                Self::Line { file, line } => places.extend(of_line(module, id, file.as_deref(), *line)),
            }
        }
        if places.is_empty() {
            return Err(Error::Command(match self {
                Self::Function(name) => format!("no function with code is called `{name}`"),
                Self::Ptx(line) => format!("no instruction begins in line {line} of the PTX"),
                Self::Line { line, .. } if module.files.is_empty() => {
                    format!("the module has no source lines: compile with -G or -lineinfo, or say ptx:{line}")
                }
                Self::Line { file: None, line } => format!("no code belongs to line {line}"),
                Self::Line { file: Some(file), line } => format!("no code belongs to line {line} of {file}"),
            }));
        }
        places.sort_unstable();
        places.dedup();
        Ok(places)
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Function(name) => f.write_str(name),
            Self::Line { file: None, line } => write!(f, "line {line}"),
            Self::Line { file: Some(file), line } => write!(f, "{file}:{line}"),
            Self::Ptx(line) => write!(f, "ptx:{line}"),
        }
    }
}

/// Whether a function goes by a name: as PTX or C++ has it, with or without arguments.
pub(crate) fn is_called(function: &str, name: &str) -> bool {
    if function == name {
        return true;
    }
    let written = demangled(function);
    // `void smooth<float>(float*)`: the name stands before the arguments, behind what is returned.
    let without = written.split_once('(').map_or(written.as_str(), |(before, _)| before);
    let bare = without.rsplit_once(' ').map_or(without, |(_, name)| name);
    let template = bare.split_once('<').map_or(bare, |(name, _)| name);
    [written.as_str(), bare, template].contains(&name) || bare.rsplit("::").next() == Some(name)
}

/// The first instruction that stands behind the fetching of parameters: the first of the second source line, if lines are known.
fn first_of(module: &Module, function: FuncId) -> u32 {
    let line = |index| module.loc(function, index).map(|loc| (loc.file, loc.line));
    let count =
        module.functions[function.index()].body.as_ref().map_or(0, |body| body.instructions.len() as u32);
    let Some(first) = line(0) else { return 0 };
    (0..count).find(|&index| line(index) != Some(first)).unwrap_or(0)
}

/// Where a source line begins in a function: each instruction of it that does not follow another one of it. Lines of inlined
/// calls count for their own line, and for that of the call where no instruction is of that alone.
fn of_line(module: &Module, function: FuncId, file: Option<&str>, line: u32) -> Vec<(FuncId, u32)> {
    let body = module.functions[function.index()].body.as_ref();
    let count = body.map_or(0, |body| body.instructions.len() as u32);
    let is_file = |index: u32| {
        let name = module.file_name(index);
        file.is_none_or(|file| {
            name == file || name.ends_with(file) && name[..name.len() - file.len()].ends_with('/')
        })
    };
    let starts = |is_of: &dyn Fn(u32) -> bool| -> Vec<(FuncId, u32)> {
        let starts = (0..count).filter(|&index| is_of(index) && (index == 0 || !is_of(index - 1)));
        starts.map(|index| (function, index)).collect()
    };
    let own = |index| module.loc(function, index).is_some_and(|loc| loc.line == line && is_file(loc.file));
    let around = |index| {
        let chain = module.loc(function, index).into_iter().flat_map(|loc| loc.chain());
        chain.skip(1).any(|loc| loc.line == line && is_file(loc.file))
    };
    let found = starts(&own);
    if found.is_empty() { starts(&around) } else { found }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read() {
        let line = |file: Option<&str>, line| Target::Line { file: file.map(str::to_owned), line };
        for (text, target) in [
            ("17", line(None, 17)),
            ("a/k.cu:3", line(Some("a/k.cu"), 3)),
            ("ptx:9", Target::Ptx(9)),
            ("space::f", Target::Function("space::f".into())),
            ("_Z1fv", Target::Function("_Z1fv".into())),
        ] {
            assert_eq!(Target::parse(text).ok(), Some(target.clone()), "{text}");
        }
        assert!(Target::parse("").is_err() && Target::parse("ptx:0").is_err());
    }

    #[test]
    fn functions_go_by_several_names() {
        for name in ["_Z6smoothIfEvPT_i", "smooth", "smooth<float>", "void smooth<float>(float*, int)"] {
            assert!(is_called("_Z6smoothIfEvPT_i", name), "{name}");
        }
        assert!(!is_called("_Z6smoothIfEvPT_i", "smoo"));
        assert!(is_called("_ZN1a1b1fEv", "f") && is_called("_ZN1a1b1fEv", "a::b::f"));
    }
}
