//! A page and a picture of what was seen: how often tests ended as no taking of turns explains.

use crate::root;
use anyhow::{Context, Result, anyhow, ensure};
use memory_model::answer::{Options, Question};
use memory_model::catalogue::{self, Columns, ThreadPosition};
use memory_model::histogram::{Histograms, Seen};
use memory_model::model::{Family, Model};
use memory_model::program::Program;
use memory_model::{interleaving, kernel};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

/// A test, judged.
#[derive(Clone, Debug, Default)]
pub(super) struct Judged {
    allowed: usize,
    seen: usize,
    /// Of these, what no interleaving explains.
    weak_allowed: usize,
    weak_seen: usize,
    weak_instances: u64,
    instances: u64,
    /// What was seen and is forbidden.
    pub(super) forbidden: Vec<String>,
}

type Key = (Columns, Vec<ThreadPosition>);

/// Asks the newest model about every test.
pub(super) fn judge(seen: &Histograms) -> Result<BTreeMap<Key, Judged>> {
    let newest = Family::Isa.versions().last().context("a version")?;
    let model = Model::new(Family::Isa, *newest).context("a model")?;
    let tests: Vec<(&Columns, &Vec<ThreadPosition>, &Seen)> = seen
        .tests
        .iter()
        .flat_map(|(columns, by_places)| by_places.iter().map(move |(places, seen)| (columns, places, seen)))
        .collect();
    tests
        .into_par_iter()
        .map(|(columns, places, seen)| {
            let program = catalogue::program("recorded", columns, places);
            let program = program.map_err(|problem| anyhow!("{columns:?}: {problem}"))?;
            Ok(((columns.clone(), places.clone()), judge_one(&program, columns, places, seen, &model)?))
        })
        .collect()
}

fn judge_one(
    program: &Program,
    columns: &Columns,
    places: &[ThreadPosition],
    seen: &Seen,
    model: &Model,
) -> Result<Judged> {
    let question = Question::new(program, model, Options::default());
    let terms = kernel::terms(program);
    ensure!(question.terms() == terms, "the values are in another order");
    let outcomes = question.outcomes().map_err(|error| anyhow!("{error}"))?;
    let allowed: BTreeSet<Vec<i64>> = outcomes.list.into_iter().map(|outcome| outcome.values).collect();
    let turns = interleaving::outcomes(program, &terms).context("an instruction that takes no turn")?;
    let mut judged = Judged {
        allowed: allowed.len(),
        seen: seen.ways.len(),
        weak_allowed: allowed.difference(&turns).count(),
        instances: seen.instances(),
        ..Judged::default()
    };
    for (way, count) in &seen.ways {
        match way {
            Some(way) if allowed.contains(way) && turns.contains(way) => {}
            Some(way) if allowed.contains(way) => {
                judged.weak_seen += 1;
                judged.weak_instances += count;
            }
            _ => judged.forbidden.push(format!(
                "{} @ {}: {way:?}, {count} times",
                columns.join(" | "),
                written(places)
            )),
        }
    }
    Ok(judged)
}

fn written(places: &[ThreadPosition]) -> String {
    places.iter().map(ThreadPosition::to_string).collect::<Vec<_>>().join(" ")
}

/// Where all threads of a test are, in words.
fn distance(places: &[ThreadPosition]) -> &'static str {
    let alike = |part: fn(&ThreadPosition) -> u32| places.iter().all(|place| part(place) == part(&places[0]));
    let apart = |part: fn(&ThreadPosition) -> u32| {
        places.iter().map(part).collect::<BTreeSet<_>>().len() == places.len()
    };
    let (cluster, cta, warp) =
        (|p: &ThreadPosition| p.cluster, |p: &ThreadPosition| p.cta, |p: &ThreadPosition| p.warp);
    match () {
        () if alike(cluster) && alike(cta) && alike(warp) => "one warp",
        () if alike(cluster) && alike(cta) => "warps of a CTA",
        () if alike(cluster) && apart(cta) => "CTAs of a cluster",
        () if apart(cluster) => "clusters",
        () => "mixed",
    }
}

const DISTANCES: [&str; 5] = ["one warp", "warps of a CTA", "CTAs of a cluster", "clusters", "mixed"];

/// How often a test ended in weak ways, of a million times; what is forbidden and what was not seen is told apart.
fn rate(judged: &Judged) -> String {
    let rate = judged.weak_instances as f64 * 1e6 / judged.instances.max(1) as f64;
    match () {
        () if judged.weak_allowed == 0 => "forbidden".into(),
        () if judged.weak_instances == 0 => "0".into(),
        () if rate < 10.0 => format!("{rate:.2}"),
        () => format!("{rate:.0}"),
    }
}

/// Writes the page and the picture.
pub(super) fn write(seen: &Histograms) -> Result<()> {
    let judged = judge(seen)?;
    let (page, picture) =
        (root().join("docs/litmus-silicon.md"), root().join("docs/images/litmus-silicon.svg"));
    fs::write(&page, text(seen, &judged)).with_context(|| page.display().to_string())?;
    fs::write(&picture, draw(&judged)).with_context(|| picture.display().to_string())?;
    println!("{}\n{}", page.display(), picture.display());
    Ok(())
}

fn text(seen: &Histograms, judged: &BTreeMap<Key, Judged>) -> String {
    let mut out = String::from(BEGIN);
    let forbidden: usize = judged.values().map(|test| test.forbidden.len()).sum();
    let _ = writeln!(
        out,
        "{}: {} programs, {} tests, {}. **{forbidden} of the outcomes that were seen are forbidden by the model.**\n",
        seen.remarks[0],
        seen.tests.len(),
        judged.len(),
        seen.remarks.get(1).map_or("", String::as_str)
    );
    out.push_str("| threads in | tests | outcomes allowed | seen | of them weak: allowed | seen | tests with weak outcomes seen |\n");
    out.push_str("| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    for name in DISTANCES {
        let of: Vec<&Judged> =
            judged.iter().filter(|((_, places), _)| distance(places) == name).map(|(_, test)| test).collect();
        let sum = |part: fn(&Judged) -> usize| of.iter().map(|test| part(test)).sum::<usize>();
        let (allowed, seen) = (sum(|t| t.allowed), sum(|t| t.seen));
        let (weak, weak_seen) = (sum(|t| t.weak_allowed), sum(|t| t.weak_seen));
        let tests = sum(|t| usize::from(t.weak_seen > 0));
        let _ =
            writeln!(out, "| {name} | {} | {allowed} | {seen} | {weak} | {weak_seen} | {tests} |", of.len());
    }
    out.push_str(TABLE);
    let classics = catalogue::classics();
    out.push_str("| shape | threads | one warp | warps of a CTA | CTAs of a cluster | clusters |\n| --- | --- | ---: | ---: | ---: | ---: |\n");
    for ((name, shape), columns) in catalogue::SHAPES.iter().zip(of_style(&classics, "relaxed.gpu")) {
        let _ = write!(out, "| {name} | {} |", shape.replace('|', " &#124; "));
        for distance_name in &DISTANCES[..4] {
            let test =
                judged.iter().find(|((own, places), _)| own == columns && distance(places) == *distance_name);
            let _ = write!(out, " {} |", test.map_or("-".into(), |(_, test)| rate(test)));
        }
        out.push('\n');
    }
    out.push_str(END);
    out
}

fn of_style<'a>(
    classics: &'a [(&'static str, String, Columns)],
    style: &'a str,
) -> impl Iterator<Item = &'a Columns> {
    classics.iter().filter(move |(_, own, _)| own == style).map(|(.., columns)| columns)
}

const BEGIN: &str = "# What a GPU does with litmus tests

Written by `cargo xtask litmus-silicon report`, from [the recording](../crates/memory-model/tests/silicon).

`cargo xtask litmus-silicon run` makes a kernel of each test of the catalogue (`crates/memory-model/src/catalogue.rs`:
known shapes in many styles, all programs of a small shape, barriers, dependencies) and runs it in every placement: the
threads of an instance in one warp, in warps of a CTA, in CTAs of a cluster, in clusters, or mixed. A launch has hundreds
of thousands of instances, at random places; threads wait for random times and touch neighbouring memory, others make
traffic, and the layout of memory changes from launch to launch. `cargo xtask litmus-silicon judge`, and a test of the
memory model's crate, ask the model about every outcome.

A **weak** outcome is one that no taking of turns on one memory explains. *Forbidden* means that the model allows none.

";

const TABLE: &str = "
## By shape and place

Weak outcomes of a million, all accesses `relaxed.gpu`. What each thread does is written as in `Wx Ry`: a write of x, then
a read of y.

";

const END: &str = "
## By shape and style

Threads in different clusters. The darker, the more often; white is allowed and was not seen, grey is forbidden.

![Weak outcomes by shape and style](images/litmus-silicon.svg)

Threads of one warp that take different branches run one after the other on this GPU: no weak outcome was seen there.

## What is not run

Shared memory, vectors and accesses of several sizes, textures, surfaces and constants, copies, barriers with thread
counts or without waiting, several GPUs and the host: `sys` is only ever the device.
";

/// The colour of a cell: by the logarithm of the rate.
fn colour(judged: &Judged) -> String {
    if judged.weak_allowed == 0 {
        return "#d4d4d4".into();
    }
    if judged.weak_instances == 0 {
        return "#ffffff".into();
    }
    let rate = judged.weak_instances as f64 / judged.instances.max(1) as f64;
    let depth = ((rate.log10() + 8.0) / 8.0).clamp(0.05, 1.0);
    let mix = |from: f64, to: f64| (from + (to - from) * depth) as u8;
    format!("#{:02x}{:02x}{:02x}", mix(255.0, 127.0), mix(237.0, 29.0), mix(200.0, 29.0))
}

fn draw(judged: &BTreeMap<Key, Judged>) -> String {
    const CELL: usize = 22;
    const LEFT: usize = 370;
    const TOP: usize = 70;
    let classics = catalogue::classics();
    let styles: Vec<&String> =
        classics.iter().take_while(|(name, ..)| *name == classics[0].0).map(|(_, style, _)| style).collect();
    let (width, height) = (LEFT + CELL * catalogue::SHAPES.len() + 40, TOP + CELL * styles.len() + 50);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    for (column, (name, _)) in catalogue::SHAPES.iter().enumerate() {
        let (x, y) = (LEFT + CELL * column + CELL / 2, TOP - 6);
        let _ = writeln!(out, "<text transform=\"translate({x},{y}) rotate(-60)\">{name}</text>");
    }
    for (row, style) in styles.iter().enumerate() {
        let y = TOP + CELL * row;
        let _ = writeln!(out, "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{style}</text>", LEFT - 8, y + 15);
        for (column, columns) in of_style(&classics, style).enumerate() {
            let test =
                judged.iter().find(|((own, places), _)| own == columns && distance(places) == "clusters");
            let Some((_, test)) = test else { continue };
            let _ = writeln!(
                out,
                "<rect x=\"{}\" y=\"{y}\" width=\"{CELL}\" height=\"{CELL}\" fill=\"{}\" stroke=\"#bbbbbb\"><title>{} of a million</title></rect>",
                LEFT + CELL * column,
                colour(test),
                rate(test)
            );
        }
    }
    legend(&mut out, LEFT, height - 32);
    out.push_str("</svg>\n");
    out
}

fn legend(out: &mut String, left: usize, y: usize) {
    let sample = |weak_instances, weak_allowed| Judged {
        weak_instances,
        weak_allowed,
        instances: 100_000_000,
        ..Judged::default()
    };
    let samples = [
        ("forbidden", sample(0, 0)),
        ("not seen", sample(0, 1)),
        ("1e-8", sample(1, 1)),
        ("1e-6", sample(100, 1)),
        ("1e-4", sample(10_000, 1)),
        ("1e-2", sample(1_000_000, 1)),
    ];
    for (i, (name, judged)) in samples.iter().enumerate() {
        let x = left + 92 * i;
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"16\" height=\"16\" fill=\"{}\" stroke=\"#bbbbbb\"/><text x=\"{}\" y=\"{}\">{name}</text>",
            colour(judged),
            x + 22,
            y + 13
        );
    }
}
