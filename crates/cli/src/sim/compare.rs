//! The model beside what Nsight Compute said of the same launch.

use super::page::number;
use crate::failure::Failure;
use crate::terminal;
use serde_json::{Value, json};
use sim::{Device, Profile, Report, profiles};
use std::path::Path;

/// The launch of a profile that is this one: of its kernel, grid and CTAs, as far as the profile tells them.
pub(super) fn find(path: &Path, report: &Report) -> Result<Profile, Failure> {
    let wrong = |why: &str| Failure::usage(format!("{}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(&error.to_string()))?;
    let mut launches = profiles(&text);
    if launches.is_empty() {
        return Err(wrong("has no launches as Nsight Compute writes them with --csv"));
    }
    let is_it = |launch: &Profile| {
        launch.kernel == report.kernel
            && launch.grid.is_none_or(|grid| grid == report.grid)
            && launch.block.is_none_or(|block| block == report.block)
    };
    let found = launches.iter().position(is_it).ok_or_else(|| wrong("has no such launch"))?;
    Ok(launches.swap_remove(found))
}

/// What both know: the name, the model's number, the GPU's, and by how many percent the model is off, if the GPU's is not zero.
fn both(report: &Report, device: &Device, profile: &Profile) -> Vec<(String, f64, f64, Option<f64>)> {
    let metrics = report.metrics(device).into_iter().filter_map(|metric| {
        let gpu = *profile.metrics.get(&metric.name)?;
        let error = (gpu != 0.0).then(|| 100.0 * (metric.value - gpu) / gpu);
        Some((metric.name, metric.value, gpu, error))
    });
    metrics.collect()
}

pub(super) fn table(report: &Report, device: &Device, profile: &Profile) -> String {
    let rows = both(report, device, profile).into_iter().map(|(name, model, gpu, error)| {
        vec![name, number(model), number(gpu), error.map_or(String::new(), |error| format!("{error:+.1} %"))]
    });
    terminal::table(&["metric", "model", "GPU", "error"], rows.collect(), true)
}

pub(super) fn json(report: &Report, device: &Device, profile: &Profile) -> Value {
    let all = both(report, device, profile).into_iter().map(|(name, model, gpu, error)| {
        (name, json!({ "model": model, "gpu": gpu, "error_percent": error }))
    });
    Value::Object(all.collect())
}
