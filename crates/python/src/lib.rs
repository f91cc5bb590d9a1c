//! `warploom._warploom`: what the Python package [`warploom`](../../../python/warploom) needs of the toolchain.
//!
//! | file | what it knows |
//! | --- | --- |
//! | `text` | checking, formatting, assembling, disassembling, litmus tests |
//! | `module` | modules on a virtual GPU, launches |
//! | `arguments` | from Python objects to a parameter buffer, and arrays back |
//! | `value` | JSON as Python objects |
//!
//! Results are dictionaries, the same that the command prints with `--json`; the package makes classes of them. What takes time
//! runs without the interpreter's lock, and stops when Python is told to (Ctrl-C).

mod arguments;
mod module;
mod text;
mod value;

use pyo3::prelude::*;

/// The module.
#[pymodule]
fn _warploom(python: &Bound<'_, PyModule>) -> PyResult<()> {
    python.add("__version__", env!("CARGO_PKG_VERSION"))?;
    python.add_class::<module::Module>()?;
    python.add_function(wrap_pyfunction!(text::check, python)?)?;
    python.add_function(wrap_pyfunction!(text::format, python)?)?;
    python.add_function(wrap_pyfunction!(text::assemble, python)?)?;
    python.add_function(wrap_pyfunction!(text::disassemble, python)?)?;
    python.add_function(wrap_pyfunction!(text::litmus, python)?)?;
    python.add_function(wrap_pyfunction!(text::findings_page, python)?)?;
    python.add_function(wrap_pyfunction!(module::devices, python)?)?;
    python.add_function(wrap_pyfunction!(module::compiler, python)?)?;
    Ok(())
}
