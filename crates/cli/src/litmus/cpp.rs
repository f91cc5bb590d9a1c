//! `warploom litmus --cpp FILE`: C++ atomics under scoped RC11, and under PTX once they are compiled.

use super::undecided;
use crate::failure::{Exit, Failure};
use crate::{input, terminal};
use memory_model::answer::{Options, Question};
use memory_model::cpp::{self, Mapping, Verdicts};
use memory_model::explain;
use memory_model::language::Version;
use memory_model::model::Model;
use memory_model::program::{Program, Term};
use serde_json::json;
use std::path::Path;

pub(super) fn execute(arguments: &super::Arguments, path: &Path) -> Result<Exit, Failure> {
    let fail = undecided(path);
    let program = cpp::parse(input::read(path)?.text())
        .map_err(|problem| Failure::usage(format!("{}:{problem}", path.display())))?;
    let compiled = cpp::compile(&program, Mapping::GUIDE);
    let family = arguments.model.family();
    let newest = family.versions().last().copied();
    let version = arguments.ptx.or(newest).unwrap_or(Version(6, 0));
    let ptx = Model::new(family, version)
        .ok_or_else(|| Failure::usage(format!("there is no memory model for PTX {version}")))?;
    let model = cpp::scoped_rc11();
    let options = Options { bound: arguments.bound, ..Options::default() };
    let of_cpp = Question::new(&program, &model, options).verdict().map_err(&fail)?;
    let of_ptx = Question::new(&compiled, &ptx, options).verdict().map_err(&fail)?;
    let verdicts = cpp::compare(&program, &compiled, &model, &ptx, options).map_err(&fail)?;
    let excess = verdicts.excess();
    let defined = verdicts.race.is_none();
    if arguments.json {
        terminal::json(&json!({
            "file": path.display().to_string(),
            "assertion": program.assertion,
            "cpp": if defined { Some(of_cpp.holds) } else { None },
            "race": !defined,
            "ptx": of_ptx.holds,
            "model": ptx.to_string(),
            "cpp_outcomes": verdicts.cpp.len(),
            "ptx_outcomes": verdicts.ptx.len(),
            "excess": excess.iter().map(|values| named(&program, &verdicts, values)).collect::<Vec<_>>(),
            "bounded": of_cpp.truncated || of_ptx.truncated,
        }))?;
    } else {
        let holds = |holds: bool| if holds { "holds" } else { "does not hold" };
        let mut out = format!("{}: {}\n", path.display(), program.assertion);
        match &verdicts.race {
            None => out.push_str(&format!("  C++ (scoped RC11): {}\n", holds(of_cpp.holds))),
            Some(race) => {
                let of = |event| explain::describe(&program, &race.execution, event);
                let (a, b) = (of(race.pair.0), of(race.pair.1));
                out.push_str(&format!("  C++ (scoped RC11): undefined: data race of {a} and {b}\n"));
            }
        }
        out.push_str(&format!("  PTX ({ptx}), compiled: {}\n", holds(of_ptx.holds)));
        if defined {
            let (of_ptx, of_cpp) = (verdicts.ptx.len(), verdicts.cpp.len());
            out.push_str(&format!("  outcomes: PTX allows {of_ptx}, C++ {of_cpp}; "));
            out.push_str(if excess.is_empty() { "none that C++ forbids\n" } else { "C++ forbids of them\n" });
            for values in &excess {
                out.push_str(&format!("    {}\n", named(&program, &verdicts, values)));
            }
        }
        if of_cpp.truncated || of_ptx.truncated {
            out.push_str(&format!("  loops with effects: at most {} iterations\n", arguments.bound));
        }
        terminal::result(&out)?;
    }
    let wrong = !of_ptx.holds || (defined && !of_cpp.holds) || !excess.is_empty();
    Ok(if wrong { Exit::Findings } else { Exit::Ok })
}

/// `0:r0=1 x=2`
fn named(program: &Program, verdicts: &Verdicts, values: &[i64]) -> String {
    let terms = verdicts.terms.iter().zip(values);
    let one = |(term, value): (&Term, &i64)| format!("{}={value}", program.term_name(*term));
    terms.map(one).collect::<Vec<_>>().join(" ")
}
