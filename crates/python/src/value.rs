//! JSON as Python objects.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde_json::Value;

/// The object that `json.loads` would give.
pub(crate) fn object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(value) => value.into_bound_py_any(py),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => number.into_bound_py_any(py),
            (None, Some(number)) => number.into_bound_py_any(py),
            (None, None) => number.as_f64().into_bound_py_any(py),
        },
        Value::String(text) => text.into_bound_py_any(py),
        Value::Array(values) => {
            let objects = values.iter().map(|value| object(py, value));
            PyList::new(py, objects.collect::<PyResult<Vec<_>>>()?)?.into_bound_py_any(py)
        }
        Value::Object(members) => {
            let all = PyDict::new(py);
            for (name, value) in members {
                all.set_item(name, object(py, value)?)?;
            }
            all.into_bound_py_any(py)
        }
    }
}
