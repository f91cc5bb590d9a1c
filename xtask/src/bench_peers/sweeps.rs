//! What a kernel costs as its size, its CTAs and the host threads change.

use super::kernels::{KERNELS, Kernel};
use super::measure::{Effort, measure};
use super::peers::{Task, Workshop};
use anyhow::{Context, Result};
use indicatif::ProgressBar;
use serde::Serialize;
use std::collections::BTreeMap;

/// What changes.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Axis {
    Size,
    Cta,
    Threads,
}

impl Axis {
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Size => "n",
            Self::Cta => "threads of a CTA",
            Self::Threads => "host threads",
        }
    }
}

/// A kernel at several points of an axis.
struct Sweep {
    kernel: &'static str,
    axis: Axis,
    points: Vec<u32>,
}

/// A curve for each peer.
#[derive(Serialize)]
pub(super) struct Curves {
    pub(super) kernel: &'static str,
    pub(super) axis: Axis,
    /// What a nanosecond is divided by.
    pub(super) per: &'static str,
    /// Nanoseconds by peer, at each point.
    pub(super) points: Vec<(u32, BTreeMap<&'static str, f64>)>,
}

fn sweeps(threads: usize) -> Vec<Sweep> {
    let powers = |from: u32, to: u32, by: usize| (from..=to).step_by(by).map(|power| 1 << power).collect();
    let host: Vec<u32> = (0..).map(|power| 1 << power).take_while(|&count| count <= threads as u32).collect();
    vec![
        Sweep { kernel: "saxpy", axis: Axis::Size, points: powers(10, 24, 2) },
        Sweep { kernel: "sgemm", axis: Axis::Size, points: powers(5, 9, 1) },
        Sweep { kernel: "saxpy", axis: Axis::Cta, points: powers(5, 10, 1) },
        Sweep { kernel: "blackscholes", axis: Axis::Cta, points: powers(5, 10, 1) },
        Sweep { kernel: "sgemm", axis: Axis::Threads, points: host.clone() },
        Sweep { kernel: "mandelbrot", axis: Axis::Threads, points: host },
    ]
}

/// Names of kernels that are swept.
pub(super) fn swept() -> Vec<&'static str> {
    sweeps(1).iter().map(|sweep| sweep.kernel).collect()
}

/// What a kernel of size `n` is made of, and how many there are.
fn work(kernel: &Kernel, n: u32) -> (&'static str, f64) {
    let n = f64::from(n);
    match kernel.name {
        "sgemm" => ("fma", n * n * n),
        "mandelbrot" => ("point", n * n),
        _ => ("element", n),
    }
}

/// All of them; for host threads with peers of their own, since they are told at the start.
pub(super) fn run(
    workshop: &Workshop,
    threads: usize,
    effort: Effort,
    bar: &ProgressBar,
) -> Result<Vec<Curves>> {
    let mut peers = workshop.peers(threads)?;
    let mut all = Vec::new();
    for Sweep { kernel, axis, points } in sweeps(threads) {
        let kernel = KERNELS.iter().find(|each| each.name == kernel).context(kernel)?;
        let mut curves = Curves { kernel: kernel.name, axis, per: work(kernel, 1).0, points: Vec::new() };
        for point in points {
            bar.set_message(format!("{}, {point} {}", kernel.name, axis.label()));
            let mut task = Task { kernel, n: kernel.n, block: kernel.block };
            let measured = match axis {
                Axis::Size => {
                    task.n = point;
                    measure(&task, &mut peers, effort)
                }
                Axis::Cta => {
                    task.block = [point, 1];
                    measure(&task, &mut peers, effort)
                }
                Axis::Threads => measure(&task, &mut workshop.peers(point as usize)?, effort),
            };
            let (_, parts) = work(kernel, task.n);
            let costs = measured.milliseconds.into_iter().map(|(name, time)| (name, time * 1e6 / parts));
            curves.points.push((point, costs.collect()));
        }
        all.push(curves);
        bar.inc(1);
    }
    Ok(all)
}
