//! The tests that are known by name, in every style: what is run on hardware.
//!
//! A shape such as message passing says what each thread reads and writes; a style says with which orders, scopes and
//! fences. [`all`] joins them with places, and adds all programs of a small [`crate::generate::Shape`], barriers and
//! dependencies.

use crate::dialect;
use crate::event::Scope;
use crate::generate::{self, Shape};
use crate::kernel;
use crate::program::{Comparison, Condition, Program, Quantifier, Term};
use crate::text::Problem;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// Where a thread runs: in which cluster, CTA of the cluster and warp of the CTA. Equal numbers are one warp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadPosition {
    /// The cluster.
    pub cluster: u32,
    /// The CTA.
    pub cta: u32,
    /// The warp.
    pub warp: u32,
}

impl ThreadPosition {
    /// As the model has it, which knows no warps.
    pub fn text(self) -> String {
        format!("cta {},cluster {},gpu 0", self.cta, self.cluster)
    }
}

impl fmt::Display for ThreadPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.cluster, self.cta, self.warp)
    }
}

impl FromStr for ThreadPosition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Result<Vec<u32>, _> = text.split('.').map(str::parse).collect();
        match numbers.as_deref() {
            Ok(&[cluster, cta, warp]) => Ok(Self { cluster, cta, warp }),
            _ => Err(format!("`{text}` is no place")),
        }
    }
}

/// The code of each thread, instructions separated by `;`.
pub type Columns = Vec<String>;

/// The test of these columns in these places, in the dialect.
pub fn text(name: &str, columns: &[String], places: &[ThreadPosition]) -> String {
    let places: Vec<String> = places.iter().map(|place| place.text()).collect();
    let places: Vec<&str> = places.iter().map(String::as_str).collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    generate::from_columns(name, &places, &columns)
}

/// That test, asking for every value that a kernel reports ([`kernel::terms`]).
///
/// # Errors
/// If an instruction is none of the dialect.
pub fn program(name: &str, columns: &[String], places: &[ThreadPosition]) -> Result<Program, Problem> {
    let mut program = dialect::parse(&text(name, columns, places))?;
    let is_zero = |term: Term| Condition::Compare(Comparison::Eq, term, Term::Constant(0));
    let all = kernel::terms(&program).into_iter().map(is_zero);
    let joined = all.reduce(|all, next| Condition::And(Box::new(all), Box::new(next)));
    program.condition = joined.unwrap_or_else(|| is_zero(Term::Constant(0)));
    program.quantifier = Quantifier::Exists;
    Ok(program)
}

/// The shapes, with what each thread does in turn: a read or a write, and the location.
pub const SHAPES: [(&str, &str); 24] = [
    ("MP", "Wx Wy|Ry Rx"),
    ("SB", "Wx Ry|Wy Rx"),
    ("LB", "Rx Wy|Ry Wx"),
    ("R", "Wx Wy|Wy Rx"),
    ("S", "Wx Wy|Ry Wx"),
    ("2+2W", "Wx Wy|Wy Wx"),
    ("CoRR", "Wx|Rx Rx"),
    ("CoWR", "Wx|Wx Rx"),
    ("CoRW", "Wx|Rx Wx"),
    ("CoWW", "Wx Wx|Rx Rx"),
    ("WRC", "Wx|Rx Wy|Ry Rx"),
    ("RWC", "Wx|Rx Ry|Wy Rx"),
    ("WWC", "Wx|Rx Wy|Ry Wx"),
    ("WRW+2W", "Wx|Rx Wy|Wy Wx"),
    ("WRR+2W", "Wx|Rx Ry|Wy Wx"),
    ("ISA2", "Wx Wy|Ry Wz|Rz Rx"),
    ("W+RWC", "Wx Wy|Ry Rz|Wz Rx"),
    ("Z6.3", "Wx Wy|Wy Wz|Rz Rx"),
    ("3.SB", "Wx Ry|Wy Rz|Wz Rx"),
    ("3.LB", "Rx Wy|Ry Wz|Rz Wx"),
    ("IRIW", "Wx|Wy|Rx Ry|Ry Rx"),
    ("IRRWIW", "Wx|Wy|Rx Ry|Ry Wx"),
    ("IRWIW", "Wx|Wy|Rx Wy|Ry Wx"),
    ("CoIRIW", "Wx|Wx|Rx Rx|Rx Rx"),
];

/// How the accesses of a thread are written: instructions with holes, as in [`Shape`], but for the register's name.
#[derive(Clone, Debug)]
struct Style {
    name: String,
    write: String,
    read: String,
    /// The last access, if it is a write.
    last: String,
    /// The first access, if it is a read.
    first: String,
    between: Option<String>,
}

impl Style {
    fn new(write: &str, read: &str) -> Self {
        let name = if write == read { write.to_owned() } else { format!("{write}, {read}") };
        let (write, read) = (format!("st.{write} {{x}}, {{v}}"), format!("ld.{read} {{r}}, {{x}}"));
        Self { name, last: write.clone(), first: read.clone(), write, read, between: None }
    }

    fn fenced(order: &str, fence: &str) -> Self {
        let name = format!("{order}, fence.{fence}");
        Self { name, between: Some(format!("fence.{fence}")), ..Self::new(order, order) }
    }

    /// Releases and acquires at the ends of a thread, and weak accesses otherwise.
    fn patterns(scope: Scope) -> Self {
        let strong = Self::new(&format!("release.{scope}"), &format!("acquire.{scope}"));
        let name = format!("weak, then release.{scope}; acquire.{scope}, then weak");
        Self { name, last: strong.last, first: strong.first, ..Self::new("weak", "weak") }
    }

    /// Exchanges for writes, and additions of zero for reads.
    fn atomic(order: &str, scope: Scope) -> Self {
        let write = format!("atom.{order}.{scope}.exch r8, {{x}}, {{v}}");
        let read = format!("atom.{order}.{scope}.add {{r}}, {{x}}, 0");
        let name = format!("atom.{order}.{scope}");
        Self { name, last: write.clone(), first: read.clone(), write, read, between: None }
    }

    /// Every style that is the same in all threads.
    fn all() -> Vec<Self> {
        let mut all = vec![Self::new("weak", "weak"), Self::new("volatile", "volatile")];
        for scope in Scope::ALL {
            let relaxed = format!("relaxed.{scope}");
            all.push(Self::new(&relaxed, &relaxed));
            all.push(Self::patterns(scope));
            all.push(Self::new(&format!("release.{scope}"), &format!("acquire.{scope}")));
            for order in ["acq_rel", "sc", "acquire", "release"] {
                all.push(Self::fenced(&relaxed, &format!("{order}.{scope}")));
            }
            all.extend(["acq_rel", "sc"].map(|order| Self::fenced("weak", &format!("{order}.{scope}"))));
            all.extend(["relaxed", "acq_rel"].map(|order| Self::atomic(order, scope)));
        }
        for (access, fence) in
            [("sys", "cta"), ("cta", "gpu"), ("gpu", "cta"), ("cluster", "gpu"), ("gpu", "cluster")]
        {
            all.extend(
                ["acq_rel", "sc"]
                    .map(|order| Self::fenced(&format!("relaxed.{access}"), &format!("{order}.{fence}"))),
            );
        }
        all
    }

    /// Styles to be mixed, one a thread.
    fn mixed() -> Vec<Self> {
        let (cta, gpu) = (Scope::Cta, Scope::Gpu);
        let mut all = vec![
            Self::new("weak", "weak"),
            Self::atomic("acq_rel", gpu),
            Self::fenced("weak", "acq_rel.gpu"),
        ];
        for scope in [cta, gpu] {
            let relaxed = format!("relaxed.{scope}");
            all.push(Self::new(&relaxed, &relaxed));
            all.push(Self::patterns(scope));
            all.extend(["acq_rel", "sc"].map(|order| Self::fenced(&relaxed, &format!("{order}.{scope}"))));
        }
        all
    }
}

/// The columns of a shape, with a style for each thread in turn.
fn columns(shape: &str, styles: &[&Style]) -> Columns {
    let mut values = std::collections::BTreeMap::new();
    let thread = |(thread, accesses): (usize, &str)| {
        let style = styles[thread % styles.len()];
        let accesses: Vec<(&str, &str)> = accesses.split(' ').map(|access| access.split_at(1)).collect();
        let mut lines = Vec::new();
        let mut registers = 0;
        for (at, &(kind, location)) in accesses.iter().enumerate() {
            if let Some(between) = style.between.as_ref().filter(|_| at > 0) {
                lines.push(between.clone());
            }
            let template = match kind {
                "W" if at + 1 == accesses.len() => &style.last,
                "W" => &style.write,
                _ if at == 0 => &style.first,
                _ => &style.read,
            };
            let mut line = template.replace("{x}", location).replace("{r}", &format!("r{registers}"));
            if kind == "W" {
                let value: &mut u32 = values.entry(location.to_owned()).or_default();
                *value += 1;
                line = line.replace("{v}", &value.to_string());
            } else {
                registers += 1;
            }
            lines.push(line);
        }
        lines.join("; ")
    };
    shape.split('|').enumerate().map(thread).collect()
}

/// Places for so many threads, written as clusters, CTAs and warps: alike from the nearest to the farthest, then mixed.
fn places(threads: usize) -> Vec<Vec<ThreadPosition>> {
    let alike = |place: fn(u32) -> ThreadPosition| (0..threads as u32).map(place).collect::<Vec<_>>();
    let mut all = vec![
        alike(|_| ThreadPosition::default()),
        alike(|n| ThreadPosition { warp: n, ..ThreadPosition::default() }),
        alike(|n| ThreadPosition { cta: n, ..ThreadPosition::default() }),
        alike(|n| ThreadPosition { cluster: n, ..ThreadPosition::default() }),
    ];
    let mixed: &[&str] = match threads {
        3 => &["0.0.0 0.0.1 1.0.0", "0.0.0 1.0.0 1.0.1", "0.0.0 0.1.0 1.0.0"],
        4 => &["0.0.0 1.0.0 0.0.1 1.0.1", "0.0.0 0.0.1 1.0.0 1.0.1"],
        _ => &[],
    };
    let parse = |text: &&str| text.split(' ').filter_map(|place| place.parse().ok()).collect();
    all.extend(mixed.iter().map(parse));
    all
}

/// Barriers and dependencies, with the shapes that they are for.
const OTHERS: [&[&str]; 12] = [
    &["st.weak x, 1; bar.cta.sync 1", "bar.cta.sync 1; ld.weak r0, x"],
    &["st.weak x, 1; bar.cta.sync 1; ld.weak r0, y", "st.weak y, 1; bar.cta.sync 1; ld.weak r0, x"],
    &["ld.weak r0, y; bar.cta.sync 1; st.weak x, 1", "ld.weak r0, x; bar.cta.sync 1; st.weak y, 1"],
    &["st.weak x, 1; bar.cta.sync 1; st.weak y, 1", "st.weak y, 2; bar.cta.sync 1; st.weak x, 2"],
    &["st.weak x, 1; bar.cluster.sync 1", "bar.cluster.sync 1; ld.weak r0, x"],
    &[
        "st.weak x, 1; bar.cluster.arrive 1; bar.cluster.wait 1; ld.weak r0, y",
        "st.weak y, 1; bar.cluster.arrive 1; bar.cluster.wait 1; ld.weak r0, x",
    ],
    &["ld.relaxed.gpu r0, x; st.relaxed.gpu y, r0", "ld.relaxed.gpu r0, y; st.relaxed.gpu x, r0"],
    &["ld.weak r0, x; st.weak y, r0", "ld.weak r0, y; st.weak x, r0"],
    &[
        "ld.relaxed.gpu r0, x; add r1, r0, 1; st.relaxed.gpu y, r1",
        "ld.relaxed.gpu r0, y; st.relaxed.gpu x, r0",
    ],
    &[
        "ld.relaxed.gpu r0, x; beq r0, 0, END; st.relaxed.gpu y, 1; END:",
        "ld.relaxed.gpu r0, y; beq r0, 0, END; st.relaxed.gpu x, 1; END:",
    ],
    &[
        "st.weak x, 1; st.release.gpu y, 1",
        "ld.relaxed.gpu r0, y; beq r0, 0, END; fence.acq_rel.gpu; END:; ld.weak r1, x",
    ],
    &[
        "atom.relaxed.gpu.cas r0, x, 0, 1; st.relaxed.gpu y, 1",
        "atom.relaxed.gpu.cas r0, x, 0, 2; ld.relaxed.gpu r1, y",
    ],
];

/// The instructions of the small shapes.
const SMALL: [&str; 8] = [
    "ld.weak {r}, {x}",
    "ld.relaxed.gpu {r}, {x}",
    "ld.acquire.gpu {r}, {x}",
    "st.weak {x}, {v}",
    "st.relaxed.cta {x}, {v}",
    "st.release.gpu {x}, {v}",
    "atom.acq_rel.gpu.exch {r}, {x}, {v}",
    "fence.sc.gpu",
];

/// All programs of a small shape, with places of the first column's choice.
fn small(accesses: usize, others: usize, found: &mut BTreeSet<Columns>) {
    let shape = Shape {
        places: vec!["cta 0,gpu 0", "cta 1,gpu 0"],
        templates: SMALL.to_vec(),
        accesses,
        others,
        locations: 2,
        connected: true,
    };
    shape.programs(&mut |text| {
        if let Ok(program) = dialect::parse(&text) {
            found.insert(program.threads.iter().map(|thread| thread.texts.join("; ")).collect());
        }
        true
    });
}

/// Every program of the catalogue with the places that it runs in: those of a small shape only in one CTA and far apart.
/// All that is for threads of one CTA or cluster alone stands at the end.
pub fn all() -> Vec<(Columns, Vec<Vec<ThreadPosition>>)> {
    let mut programs = BTreeSet::new();
    for (_, shape) in SHAPES {
        programs.extend(Style::all().iter().map(|style| columns(shape, &[style])));
    }
    for (_, shape) in &SHAPES[..6] {
        let styles = Style::mixed();
        let pairs = styles.iter().flat_map(|a| styles.iter().map(move |b| [a, b]));
        programs.extend(pairs.map(|pair| columns(shape, &pair)));
    }
    let mut shaped = BTreeSet::new();
    small(3, 1, &mut shaped);
    let few: BTreeSet<Columns> = shaped.difference(&programs).cloned().collect();
    programs.extend(shaped);
    programs.extend(OTHERS.map(|columns| columns.iter().map(|&column| column.to_owned()).collect()));
    let in_order = programs.into_iter().map(|columns| {
        let mut places = places(columns.len());
        if few.contains(&columns) {
            places = vec![places[1].clone(), places[3].clone()];
        }
        if let Some(scope) = barrier_scope(&columns) {
            places.retain(|of| of.iter().all(|p| p.cluster == 0 && (p.cta == 0 || scope == Scope::Cluster)));
        }
        (columns, places)
    });
    let mut all: Vec<_> = in_order.collect();
    all.sort_by_key(|(columns, _)| barrier_scope(columns).is_some());
    all
}

/// The programs with one style in all threads: the names of shape and style, and the columns. Styles vary first.
pub fn classics() -> Vec<(&'static str, String, Columns)> {
    let styles = Style::all();
    let named = |name, shape| {
        styles.iter().map(move |style: &Style| (name, style.name.clone(), columns(shape, &[style])))
    };
    SHAPES.iter().flat_map(|(name, shape)| named(*name, shape)).collect()
}

/// The scope of the barriers of a program, if it has some.
pub fn barrier_scope(columns: &[String]) -> Option<Scope> {
    let has = |barrier: &str| columns.iter().any(|column| column.contains(barrier));
    match (has("bar.cluster"), has("bar.cta")) {
        (true, _) => Some(Scope::Cluster),
        (_, true) => Some(Scope::Cta),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_is_read_and_runs_on_hardware() {
        let all = all();
        let tests: usize = all.iter().map(|(_, places)| places.len()).sum();
        println!("{} programs, {tests} tests", all.len());
        for (columns, places) in &all {
            let program = program("test", columns, &places[0]).unwrap_or_else(|e| panic!("{columns:?}: {e}"));
            kernel::entry(&program, "k").unwrap_or_else(|e| panic!("{columns:?}: {e}"));
            assert!(kernel::terms(&program).len() <= 6, "{columns:?}");
        }
    }

    #[test]
    fn places_are_written_and_read() {
        let place = ThreadPosition { cluster: 1, cta: 2, warp: 3 };
        assert_eq!(place.to_string().parse(), Ok(place));
        assert!("1.2".parse::<ThreadPosition>().is_err());
    }
}
