//! What needs no virtual GPU: PTX, cubins and litmus tests as text.

use crate::value::object;
use memory_model::answer::{Options, Undecided};
use memory_model::language::parse_version;
use memory_model::model::{Family, Model};
use memory_model::{dialect, draw, from_ptx};
use ptx::diagnostic::{Diagnostic, Severity};
use ptx::source::Source;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use reports::diagnostics;
use reports::findings::Findings;
use reports::litmus::{Answers, Test, Wanted};
use serde_json::Value;

/// Diagnostics as JSON, each with its text for people in `text`, without colours.
pub(crate) fn told(source: &Source, diagnostics: &[Diagnostic]) -> Value {
    let one = |diagnostic: &Diagnostic| {
        let mut value = diagnostics::value(source, diagnostic);
        value["text"] = diagnostics::plain(source, diagnostic).into();
        value
    };
    diagnostics.iter().map(one).collect::<Vec<_>>().into()
}

/// All diagnostics of a PTX text.
#[pyfunction]
pub(crate) fn check<'py>(py: Python<'py>, text: &str, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let told = py.detach(|| {
        let source = Source::new(name, text);
        let found = match ptx::compile(&source).into_result() {
            Ok((_, warnings)) => warnings,
            Err(found) => found,
        };
        told(&source, &found)
    });
    object(py, &told)
}

/// The canonical text of a PTX text that can be parsed, or else diagnostics.
#[pyfunction]
pub(crate) fn format<'py>(
    py: Python<'py>,
    text: &str,
    name: &str,
) -> PyResult<(Option<String>, Bound<'py, PyAny>)> {
    let (text, told) = py.detach(|| {
        let source = Source::new(name, text);
        let parsed = ptx::syntax::parse(&source);
        let wrong = parsed.diagnostics.iter().any(|found| found.severity == Severity::Error);
        let text = (!wrong).then(|| ptx::print::print(&parsed.module));
        (text, told(&source, &parsed.diagnostics))
    });
    Ok((text, object(py, &told)?))
}

/// A cubin of a text, and diagnostics.
#[pyfunction]
pub(crate) fn assemble<'py>(
    py: Python<'py>,
    text: &str,
    name: &str,
    hazards: bool,
) -> PyResult<(Option<Vec<u8>>, Bound<'py, PyAny>)> {
    let (bytes, told) = py.detach(|| {
        let source = Source::new(name, text);
        match cuasm::assemble_with(&source, cuasm::Options { hazards }) {
            Ok(assembled) => (Some(assembled.bytes), told(&source, &assembled.warnings)),
            Err(found) => (None, told(&source, &found)),
        }
    });
    Ok((bytes, object(py, &told)?))
}

/// The text of a cubin.
#[pyfunction]
pub(crate) fn disassemble(py: Python<'_>, bytes: &[u8]) -> PyResult<String> {
    py.detach(|| cuasm::disassemble(bytes)).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// What the memory model says about a test.
#[pyfunction]
#[pyo3(signature = (text, name, *, model, ptx, outcomes, liveness, bound))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn litmus<'py>(
    py: Python<'py>,
    text: &str,
    name: &str,
    model: &str,
    ptx: Option<&str>,
    outcomes: bool,
    liveness: bool,
    bound: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let family = match model {
        "isa" => Family::Isa,
        "dartagnan" => Family::Dartagnan,
        _ => {
            return Err(PyValueError::new_err(format!("there is no model `{model}`, but isa and dartagnan")));
        }
    };
    let default = Options::default();
    let options = Options { bound: bound.unwrap_or(default.bound), ..default };
    let wanted = Wanted { outcomes, liveness };
    let said = py.detach(|| -> PyResult<Value> {
        let test = test(text, name, family, ptx).map_err(PyValueError::new_err)?;
        let undecided = |why: Undecided| PyRuntimeError::new_err(format!("{name}: not decided: {why}"));
        let answers = Answers::of(&test, options, wanted).map_err(undecided)?;
        let mut said = answers.json(name);
        said["text"] = answers.text(name).map_err(undecided)?.into();
        said["svg"] = answers.picture(draw::svg).map_err(undecided)?.into();
        said["dot"] = answers.picture(draw::dot).map_err(undecided)?.into();
        Ok(said)
    })?;
    object(py, &said)
}

/// A test in either notation, with the model of a version.
fn test(text: &str, name: &str, family: Family, version: Option<&str>) -> Result<Test, String> {
    let asked =
        version.map(|text| parse_version(text).ok_or_else(|| format!("`{text}` is no version like 7.5")));
    let asked = asked.transpose()?;
    let (program, own) = if name.ends_with(".ptx") {
        let source = Source::new(name, text);
        let module = ptx::compile(&source).into_result();
        let (module, _) = module
            .map_err(|found| found.iter().map(|one| diagnostics::plain(&source, one)).collect::<String>())?;
        let test = from_ptx::parse(&module).map_err(|problem| format!("{name}:{problem}"))?;
        (test.program, Some(test.version))
    } else {
        (dialect::parse(text).map_err(|problem| format!("{name}:{problem}"))?, None)
    };
    let newest = family.versions().last().copied();
    let version = asked.or(own).or(newest).ok_or("there is no memory model")?;
    let model =
        Model::new(family, version).ok_or_else(|| format!("there is no memory model for PTX {version}"))?;
    Ok(Test { program, model })
}

/// A page of HTML with what checks have found, whose reports are JSON.
#[pyfunction]
pub(crate) fn findings_page(name: &str, reports: &str, cut_short: Vec<String>) -> PyResult<String> {
    let reports: Vec<Value> =
        serde_json::from_str(reports).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(Findings { name, reports: &reports, cut_short: &cut_short }.html())
}
