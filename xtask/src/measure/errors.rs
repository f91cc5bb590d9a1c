//! How far the model is off, as the tables of docs/sim.md: by halves of the set, by counts, by launches.

use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

const CYCLES: &str = "sm__cycles_elapsed.max";

/// What is counted, by Nsight Compute's names; the short ones are those of columns.
const COUNTS: [(&str, &str, &str); 10] = [
    ("instructions executed", "instructions", "smsp__inst_executed.sum"),
    ("sectors of global loads at the L1", "L1, loads", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"),
    ("sectors of global stores at the L1", "", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"),
    ("sectors read at the L2", "L2, reads", "lts__t_sectors_srcunit_tex_op_read.sum"),
    ("sectors written at the L2", "L2, writes", "lts__t_sectors_srcunit_tex_op_write.sum"),
    ("sectors read from DRAM", "DRAM, reads", "dram__sectors_read.sum"),
    (
        "rounds of shared memory, loads",
        "rounds of shared memory, loads",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    ),
    ("rounds of shared memory, stores", "", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"),
    ("bank conflicts, loads", "", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"),
    ("bank conflicts, stores", "", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"),
];

/// A count of less on the GPU is not compared.
const LEAST: f64 = 1000.0;

/// A launch, with what a GPU and the model say of it.
struct Launch<'t> {
    kernel: &'t str,
    n: &'t str,
    aside: bool,
    metrics: BTreeMap<&'t str, (f64, f64)>,
}

/// In percent.
fn error((gpu, model): (f64, f64)) -> f64 {
    if gpu == model { 0.0 } else { 100.0 * (model - gpu) / gpu }
}

impl Launch<'_> {
    fn cycles(&self) -> Result<(f64, f64)> {
        self.metrics.get(CYCLES).copied().with_context(|| format!("cycles of {} {}", self.kernel, self.n))
    }

    /// A count that is large enough.
    fn count(&self, metric: &str) -> Option<(f64, f64)> {
        self.metrics.get(metric).copied().filter(|(gpu, _)| *gpu >= LEAST)
    }
}

/// The launches of a table of `model::kernels` of which both have something to say, in its order.
fn launches(table: &str) -> Result<Vec<Launch<'_>>> {
    let mut launches: Vec<Launch<'_>> = Vec::new();
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let [kernel, n, aside, metric, gpu, model, _] = cells[..] else { bail!("`{line}`") };
        let (Ok(gpu), Ok(model)) = (gpu.parse(), model.parse()) else { continue };
        let metrics = match launches.last_mut() {
            Some(last) if (last.kernel, last.n) == (kernel, n) => &mut last.metrics,
            _ => {
                launches.push(Launch { kernel, n, aside: aside == "true", metrics: BTreeMap::new() });
                &mut launches.last_mut().context("a launch")?.metrics
            }
        };
        metrics.insert(metric, (gpu, model));
    }
    Ok(launches)
}

fn mean(of: &[f64]) -> f64 {
    of.iter().sum::<f64>() / of.len().max(1) as f64
}

fn largest(of: &[f64]) -> f64 {
    of.iter().copied().fold(0.0, f64::max)
}

/// Pearson's.
fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let of = |pick: fn(&(f64, f64)) -> f64| {
        let all: Vec<f64> = pairs.iter().map(pick).collect();
        let middle = mean(&all);
        all.into_iter().map(move |it| it - middle).collect::<Vec<f64>>()
    };
    let (gpu, model) = (of(|it| it.0), of(|it| it.1));
    let product = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
    product(&gpu, &model) / (product(&gpu, &gpu) * product(&model, &model)).sqrt()
}

/// A line of the first table.
fn half(name: &str, launches: &[&Launch<'_>]) -> Result<String> {
    let cycles = launches.iter().map(|it| it.cycles()).collect::<Result<Vec<_>>>()?;
    let mut errors: Vec<f64> = cycles.iter().map(|it| error(*it).abs()).collect();
    let worst = errors.iter().zip(launches).max_by(|a, b| a.0.total_cmp(b.0));
    let (_, Launch { kernel, n, .. }) = worst.context("no launch")?;
    let (mean, far) = (mean(&errors), errors.iter().filter(|it| **it > 30.0).count());
    errors.sort_by(f64::total_cmp);
    let median = (errors[(errors.len() - 1) / 2] + errors[errors.len() / 2]) / 2.0;
    let kernels = launches.iter().map(|it| it.kernel).collect::<BTreeSet<_>>().len();
    Ok(format!(
        "| {name} | {kernels}, {} | {mean:.1} % | {median:.1} % | {:.1} % (`{kernel}` {}) | {far} | {:.4} |\n",
        errors.len(),
        largest(&errors),
        thousands(n),
        correlation(&cycles),
    ))
}

/// Digits in threes.
fn thousands(digits: &str) -> String {
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The tables of such a table, in Markdown.
pub(crate) fn markdown(table: &str) -> Result<String> {
    let launches = launches(table)?;
    let [seen, aside] =
        [false, true].map(|aside| launches.iter().filter(|it| it.aside == aside).collect::<Vec<_>>());
    let mut text = String::from(
        "| half | kernels, launches | mean | median | largest | off by more than 30 % | correlation |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    let all: Vec<&Launch<'_>> = launches.iter().collect();
    for (name, of) in [("seen", &seen), ("kept aside", &aside), ("both", &all)] {
        if !of.is_empty() {
            text += &half(name, of)?;
        }
    }
    text += "\n| count | seen: mean, largest | kept aside: mean, largest | launches |\n| --- | --- | --- | --- |\n";
    for (name, _, metric) in COUNTS {
        let [seen, aside] = [&seen, &aside]
            .map(|of| of.iter().filter_map(|it| Some(error(it.count(metric)?).abs())).collect::<Vec<f64>>());
        let cell = |of: &[f64]| match of {
            [] => "-".to_owned(),
            of => format!("{:.1} %, {:.0} %", mean(of), largest(of)),
        };
        writeln!(text, "| {name} | {} | {} | {} |", cell(&seen), cell(&aside), seen.len() + aside.len())?;
    }
    let columns = COUNTS.into_iter().filter(|(_, short, _)| !short.is_empty()).collect::<Vec<_>>();
    text += "\n| kernel | n | half | cycles, GPU | model | error |";
    columns.iter().for_each(|(_, short, _)| text += &format!(" {short} |"));
    text += &format!("\n|{}\n", " --- |".repeat(6 + columns.len()));
    for launch in &launches {
        let (gpu, model) = launch.cycles()?;
        write!(
            text,
            "| {} | {} | {} | {} | {} | {:+.1} % |",
            launch.kernel,
            thousands(launch.n),
            if launch.aside { "aside" } else { "seen" },
            thousands(&gpu.to_string()),
            thousands(&model.to_string()),
            error((gpu, model))
        )?;
        for (_, _, metric) in &columns {
            match launch.count(metric) {
                Some(pair) => write!(text, " {:+.1} % |", error(pair))?,
                None => text += " - |",
            }
        }
        text.push('\n');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::markdown;

    #[test]
    fn what_is_off_by_how_much() {
        let table = "kernel,n,aside,metric,gpu,model,error_percent\n\
            copy,1024,false,sm__cycles_elapsed.max,1000,1100,10.0\n\
            copy,1024,false,smsp__inst_executed.sum,2000,1990,-0.5\n\
            scan,64,true,sm__cycles_elapsed.max,4000,2000,-50.0\n\
            scan,64,true,smsp__inst_executed.sum,999,1,-99.9\n\
            fft,64,true,other code,,,\n";
        let text = markdown(table).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[2], "| seen | 1, 1 | 10.0 % | 10.0 % | 10.0 % (`copy` 1,024) | 0 | NaN |");
        assert_eq!(lines[4], "| both | 2, 2 | 30.0 % | 30.0 % | 50.0 % (`scan` 64) | 1 | 1.0000 |");
        assert_eq!(lines[8], "| instructions executed | 0.5 %, 0 % | - | 1 |");
        assert!(text.contains("\n| copy | 1,024 | seen | 1,000 | 1,100 | +10.0 % | -0.5 % | - |"));
        assert!(text.ends_with("| scan | 64 | aside | 4,000 | 2,000 | -50.0 % | - | - | - | - | - | - |\n"));
    }
}
