//! What Nsight Compute says of launches, as it writes it with `--csv`: a line a metric, or with `--page raw` a line a launch.

use std::collections::BTreeMap;

/// A launch as Nsight Compute saw it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// The kernel's name, without its parameters.
    pub kernel: String,
    /// CTAs along each axis, where that is told.
    pub grid: Option<[u32; 3]>,
    /// Threads of a CTA along each axis, where that is told.
    pub block: Option<[u32; 3]>,
    /// Metrics by their names; times in nanoseconds.
    pub metrics: BTreeMap<String, f64>,
}

/// Columns that say which launch it is, and those of a line for each metric.
const WHICH: [&str; 4] = ["ID", "Kernel Name", "Grid Size", "Block Size"];
const METRIC: [&str; 3] = ["Metric Name", "Metric Unit", "Metric Value"];

/// The launches of such a text, in their order. What the profiler and the program print around its lines is skipped.
#[must_use]
pub fn profiles(text: &str) -> Vec<Profile> {
    let begin = text.lines().position(|line| line.starts_with("\"ID\""));
    let lines = text.lines().skip(begin.unwrap_or(usize::MAX)).filter(|line| line.starts_with('"'));
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let Ok(head) = reader.headers().cloned() else { return Vec::new() };
    let column = |name: &str| head.iter().position(|it| it == name);
    let which = WHICH.map(column);
    let metric = METRIC.map(column);
    let mut units: Vec<String> = Vec::new();
    let mut found: BTreeMap<u64, Profile> = BTreeMap::new();
    for record in reader.records().filter_map(Result::ok) {
        let cell = |at: Option<usize>| at.and_then(|at| record.get(at)).unwrap_or("");
        let Ok(id) = cell(which[0]).parse() else {
            // Of a line a launch, the units stand in one of their own.
            units = record.iter().map(str::to_owned).collect();
            continue;
        };
        let profile = found.entry(id).or_default();
        profile.kernel = cell(which[1]).split(['(', '<']).next().unwrap_or("").trim().to_owned();
        (profile.grid, profile.block) = (extents(cell(which[2])), extents(cell(which[3])));
        if let [Some(name), Some(unit), Some(value)] = metric {
            let value = number(cell(Some(value)), cell(Some(unit)));
            profile.metrics.extend(value.map(|value| (cell(Some(name)).to_owned(), value)));
        } else {
            let named = head.iter().enumerate().filter(|(_, name)| name.contains("__"));
            profile.metrics.extend(named.filter_map(|(at, name)| {
                let unit = units.get(at).map_or("", String::as_str);
                Some((name.to_owned(), number(cell(Some(at)), unit)?))
            }));
        }
    }
    found.into_values().collect()
}

/// `(256, 1, 1)`.
fn extents(text: &str) -> Option<[u32; 3]> {
    let parts = text.trim_matches(['(', ')']).split(',').map(|part| part.trim().parse().ok());
    <[u32; 3]>::try_from(parts.collect::<Option<Vec<u32>>>()?).ok()
}

/// A number with separators of thousands; one of time in nanoseconds, any other in the unit without its prefix.
fn number(text: &str, unit: &str) -> Option<f64> {
    let value: f64 = text.replace(',', "").parse().ok()?;
    Some(match unit {
        "us" | "usecond" => value * 1e3,
        "ms" | "msecond" => value * 1e6,
        "s" | "second" => value * 1e9,
        _ if unit.starts_with('K') => value * 1e3,
        _ if unit.starts_with('M') => value * 1e6,
        _ if unit.starts_with('G') => value * 1e9,
        _ => value,
    })
}

#[cfg(test)]
mod tests {
    use super::profiles;

    #[test]
    fn a_line_a_metric() {
        let text = "==PROF== Connected\n\
            \"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n\
            \"0\",\"saxpy(float *, float *)\",\"(256, 1, 1)\",\"(1,024)\",\"sm__cycles_elapsed.max\",\"cycle\",\"7,468\"\n\
            \"0\",\"saxpy(float *, float *)\",\"(256, 1, 1)\",\"(64, 2, 1)\",\"gpu__time_duration.sum\",\"us\",\"3.5\"\n\
            \"1\",\"copy\",\"(32, 1, 1)\",\"(1, 1, 1)\",\"a__b.sum\",\"\",\"n/a\"\n";
        let found = profiles(text);
        assert_eq!(found.len(), 2);
        assert_eq!(
            (found[0].kernel.as_str(), found[0].grid, found[0].block),
            ("saxpy", Some([64, 2, 1]), Some([256, 1, 1]))
        );
        assert_eq!(found[0].metrics["sm__cycles_elapsed.max"], 7468.0);
        assert_eq!(found[0].metrics["gpu__time_duration.sum"], 3500.0);
        assert!(found[1].metrics.is_empty());
    }

    #[test]
    fn a_line_a_launch() {
        let text = "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"dram__sectors_read.sum\",\"sm__cycles_elapsed.max\"\n\
            \"\",\"\",\"\",\"\",\"Ksector\",\"cycle\"\n\
            \"0\",\"scan\",\"(256, 1, 1)\",\"(4, 1, 1)\",\"1.5\",\"900\"\n";
        let found = profiles(text);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].metrics["dram__sectors_read.sum"], 1500.0);
        assert_eq!(found[0].metrics["sm__cycles_elapsed.max"], 900.0);
        assert!(profiles("no profile").is_empty());
    }
}
