//! `warploom link`: one PTX file from several.

use crate::diagnostics::{self, Format, Mark, excerpts, paragraph};
use crate::failure::{EXIT_CODES, Exit, Failure};
use crate::{input, terminal};
use ::link::{Input, Problem};
use annotate_snippets::{AnnotationKind, Level};
use ptx::diagnostic::{Diagnostic, Severity};
use ptx::source::Source;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  warploom link main.ptx library.ptx -o whole.ptx
  nvcc -rdc=true -ptx a.cu b.cu && warploom link a.ptx b.ptx | warploom check -";

/// Join PTX files: one file with the code and variables of all.
///
/// What is `.extern` in one file is found where another defines it `.visible`, `.weak` or `.common`. Symbols without
/// linkage stay those of their file, under another name where two files have the same. What the system provides, such
/// as `vprintf`, stays `.extern`.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Arguments {
    /// PTX files; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Where the result goes; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
}

pub(crate) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    let mut inputs = Vec::new();
    let mut wrong = Vec::new();
    for path in &arguments.files {
        let source = input::read(path)?;
        match Input::new(&source) {
            Ok(input) => inputs.push(input),
            Err(found) => {
                note(&source, &found);
                wrong.push(source.name().to_owned());
            }
        }
    }
    if !wrong.is_empty() {
        let have = if wrong.len() == 1 { "has" } else { "have" };
        return Err(Failure::new(Exit::Findings, format!("{} {have} errors", wrong.join(", "))));
    }
    let text = ::link::link(&inputs, &machine::provides).map_err(|problems| {
        let rendered: String = problems.iter().map(|problem| render(&inputs, problem)).collect();
        terminal::note(rendered.trim_end());
        let errors = terminal::count(problems.len(), "error");
        Failure::new(Exit::Findings, format!("the files cannot be linked: {errors}"))
    })?;
    let whole = Source::new("<linked>", text);
    if let Err(found) = ptx::compile(&whole).into_result() {
        note(&whole, &found);
        return Err(Failure::new(Exit::Findings, "the files are legal one by one, but not as one module")
            .hint(
                "the whole has the newest `.version` and target of all files, which may forbid what one has",
            ));
    }
    if arguments.output == Path::new("-") {
        return terminal::result(whole.text()).map(|()| Exit::Ok);
    }
    std::fs::write(&arguments.output, whole.text())
        .map(|()| Exit::Ok)
        .map_err(|error| Failure::usage(format!("cannot write {}: {error}", arguments.output.display())))
}

/// Prints errors.
fn note(source: &Arc<Source>, found: &[Diagnostic]) {
    let errors = found.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
    let rendered: String = errors.map(|d| diagnostics::render(source, d, Format::Text)).collect();
    terminal::note(rendered.trim_end());
}

/// A problem with an excerpt of each module that it is about.
fn render(inputs: &[Input], problem: &Problem) -> String {
    let shown = problem.places.iter().enumerate().flat_map(|(index, place)| {
        let kind = if index == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
        excerpts(inputs[place.input].source(), &[Mark { span: place.span, label: &place.label, kind }])
    });
    let title = Level::ERROR.primary_title(problem.message.as_str()).id(problem.code);
    let mut group = title.elements(shown);
    if let Some(hint) = &problem.hint {
        group = group.element(Level::HELP.message(hint.as_str()));
    }
    paragraph(group)
}
