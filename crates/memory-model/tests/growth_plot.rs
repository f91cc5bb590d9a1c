//! The cost of tests against their size, as a picture: `docs/images/litmus-growth.svg`.

use memory_model::answer::{Options, Question};
use memory_model::dialect;
use memory_model::language::Version;
use memory_model::model::{Family, Model};
use std::fmt::Write as _;
use std::time::Instant;

/// A test of so many threads; each thread by its number has lines of code.
fn test(threads: usize, code: impl Fn(usize) -> Vec<String>, assertion: &str) -> String {
    let columns: Vec<Vec<String>> = (0..threads).map(code).collect();
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    let locations: String = (0..threads).map(|thread| format!("y{thread}=0; ")).collect();
    let mut out = format!("PTX growth\n{{ x=0; l=0; {locations}}}\n ");
    let places: Vec<String> = (0..threads).map(|thread| format!("P{thread}@cta {thread},gpu 0")).collect();
    let _ = writeln!(out, "{} ;", places.join(" | "));
    for row in 0..rows {
        let cells: Vec<&str> =
            columns.iter().map(|column| column.get(row).map_or("", String::as_str)).collect();
        let _ = writeln!(out, " {} ;", cells.join(" | "));
    }
    out + assertion
}

type Growing = (&'static str, fn(usize) -> String);

/// Families of tests by the number of their threads.
const FAMILIES: [Growing; 5] = [
    ("spin lock", |n| {
        let code = |thread| {
            let take = format!("L{thread}: atom.acquire.gpu.cas r0, l, 0, 1");
            let again = format!("bne r0, 0, L{thread}");
            let rest = ["ld.weak r1, x", "add r1, r1, 1", "st.weak x, r1", "st.release.gpu l, 0"];
            [take, again].into_iter().chain(rest.map(str::to_owned)).collect()
        };
        test(n, code, &format!("forall (x == {n})"))
    }),
    ("additions of one", |n| {
        test(n, |_| vec!["atom.relaxed.gpu.add r0, x, 1".into()], &format!("forall (x == {n})"))
    }),
    ("additions of different numbers", |n| {
        let code = |thread| vec![format!("atom.relaxed.gpu.add r0, x, {}", 1u64 << thread)];
        test(n, code, &format!("forall (x == {})", (1u64 << n) - 1))
    }),
    ("ring of fence.sc", |n| {
        let code = |thread| {
            let next = (thread + 1) % n;
            vec![format!("st.weak y{thread}, 1"), "fence.sc.gpu".into(), format!("ld.weak r0, y{next}")]
        };
        let zero: Vec<String> = (0..n).map(|thread| format!("P{thread}:r0 == 0")).collect();
        test(n, code, &format!("exists ({})", zero.join(" /\\ ")))
    }),
    ("relaxed writers", |n| {
        let code = |thread| vec![format!("st.relaxed.gpu x, {}", thread + 1)];
        test(n, code, &format!("exists (x == {n})"))
    }),
];

/// The most threads, and what a verdict may take before a family goes on no further.
const MOST: usize = 16;
const LIMIT: f64 = 10.0;

#[test]
#[ignore = "writes a picture; a minute"]
fn cost_against_size() {
    let model = Model::new(Family::Isa, Version(8, 6)).unwrap();
    let mut lines = Vec::new();
    for (name, make) in FAMILIES {
        let mut points = Vec::new();
        for threads in 2..=MOST {
            let program = dialect::parse(&make(threads)).unwrap();
            let begin = Instant::now();
            let decided = Question::new(&program, &model, Options::default()).verdict();
            let took = begin.elapsed().as_secs_f64();
            println!("{name:32} {threads:3} threads {took:9.4} s {:?}", decided.as_ref().map(|v| v.holds));
            if decided.is_err() || took > LIMIT {
                break;
            }
            points.push((threads, took));
        }
        lines.push((name, points));
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/images/litmus-growth.svg");
    std::fs::write(path, picture(&lines)).unwrap();
}

/// Seconds on a scale of powers of ten, from a tenth of a millisecond to a hundred seconds.
fn picture(lines: &[(&str, Vec<(usize, f64)>)]) -> String {
    let (width, height, left, top) = (640.0, 360.0, 60.0, 20.0);
    let x = |threads: usize| left + (threads - 2) as f64 / (MOST - 2) as f64 * (width - left - 20.0);
    let y = |seconds: f64| top + (2.0 - seconds.max(1e-4).log10()) / 6.0 * (height - top - 40.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" \
         font-size=\"11\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    for power in -4..=2 {
        let at = y(10f64.powi(power));
        let label = if power < 0 {
            format!("{} ms", 10f64.powi(power + 3))
        } else {
            format!("{} s", 10u32.pow(power as u32))
        };
        let _ = writeln!(out, "<path d=\"M{left} {at:.1}H{}\" stroke=\"#ddd\"/>", width - 20.0);
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            left - 6.0,
            at + 4.0
        );
    }
    for threads in (2..=MOST).step_by(2) {
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{threads}</text>",
            x(threads),
            height - 24.0
        );
    }
    let _ = writeln!(out, "<text x=\"{}\" y=\"{}\">threads</text>", width / 2.0, height - 8.0);
    let colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#555555"];
    for (index, ((name, points), colour)) in lines.iter().zip(colours).enumerate() {
        let path: Vec<String> =
            points.iter().map(|&(threads, took)| format!("{:.1} {:.1}", x(threads), y(took))).collect();
        let _ = writeln!(
            out,
            "<path d=\"M{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            path.join("L")
        );
        let at = 34 + 15 * index;
        let _ = writeln!(out, "<text x=\"{}\" y=\"{at}\" fill=\"{colour}\">{name}</text>", left + 12.0);
    }
    out + "</svg>\n"
}
