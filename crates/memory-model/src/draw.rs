//! Executions as pictures: for Graphviz, and as SVG with a column for each thread.

use crate::answer::Execution;
use crate::event::Placement;
use crate::explain::{Edge, describe, letter, shown_edges};
use crate::model::Model;
use crate::program::{Program, Thread};
use std::fmt::Write as _;

fn colour(name: &str) -> &'static str {
    match name {
        "rf" => "#1b7837",
        "co" => "#2166ac",
        "fr" => "#b35806",
        "sync" => "#762a83",
        "scf" => "#b2182b",
        "bar" | "async" => "#01665e",
        _ => "#777777",
    }
}

fn is_marked(edge: &Edge, marked: &[Edge]) -> bool {
    marked.iter().any(|other| (other.from, &other.name, other.to) == (edge.from, &edge.name, edge.to))
}

/// The edges to draw: those of the execution, and marked ones that are not among them. Of the others those are left out that
/// the boxes or other edges say: what comes of initial values, in a thread against its order, and beside synchronisation.
fn edges(model: &Model, execution: &Execution, marked: &[Edge]) -> Vec<Edge> {
    let mut edges = shown_edges(model, execution);
    let missing: Vec<Edge> = marked.iter().filter(|edge| !edges.contains(edge)).cloned().collect();
    edges.extend(missing);
    let thread = |event: usize| execution.events()[event].thread;
    let has = |name: &str, from: usize, to: Option<usize>| {
        edges.iter().any(|edge| edge.name == name && edge.from == from && to.is_none_or(|to| edge.to == to))
    };
    let tells = |edge: &Edge| match edge.name.as_str() {
        "co" => thread(edge.from).is_some() && thread(edge.from) != thread(edge.to),
        "fr" => thread(edge.from) != thread(edge.to),
        // What is read of the initial value is before whatever overwrites it.
        "rf" if thread(edge.from).is_none() => !has("fr", edge.to, None),
        "rf" => !has("sync", edge.from, Some(edge.to)),
        _ => true,
    };
    edges.iter().filter(|edge| is_marked(edge, marked) || tells(edge)).cloned().collect()
}

fn touches(edges: &[Edge], event: usize) -> bool {
    edges.iter().any(|edge| edge.from == event || edge.to == event)
}

/// The execution in the language of Graphviz. Marked edges, such as a cycle, are thick.
pub fn dot(program: &Program, model: &Model, execution: &Execution, marked: &[Edge]) -> String {
    let quote = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let mut out =
        format!("digraph \"{}\" {{\n  node [shape=box, fontname=monospace];\n", quote(&program.name));
    let label = |event| quote(&format!("{}: {}", letter(event), describe(program, execution, event)));
    let edges = edges(model, execution, marked);
    for (event, of) in execution.events().iter().enumerate() {
        if of.thread.is_none() && touches(&edges, event) {
            let _ = writeln!(out, "  e{event} [label=\"{}\"];", label(event));
        }
    }
    for (index, thread) in program.threads.iter().enumerate() {
        let place = heading(thread);
        let _ = writeln!(out, "  subgraph cluster_{index} {{\n    label=\"{}\";", quote(&place));
        for (event, of) in execution.events().iter().enumerate() {
            if of.thread == Some(index as u32) {
                let _ = writeln!(out, "    e{event} [label=\"{}\"];", label(event));
            }
        }
        out.push_str("  }\n");
    }
    for edge in edges {
        let width = if is_marked(&edge, marked) { ", penwidth=3" } else { "" };
        let (Edge { from, name, to }, colour) = (&edge, colour(&edge.name));
        let _ = writeln!(
            out,
            "  e{from} -> e{to} [label=\"{name}\", color=\"{colour}\", fontcolor=\"{colour}\"{width}];"
        );
    }
    out.push_str("}\n");
    out
}

/// A thread's name and where it runs; the first cluster goes without saying.
fn heading(thread: &Thread) -> String {
    let Placement { cta, cluster, gpu } = thread.placement;
    match cluster {
        0 => format!("{}: cta {cta}, gpu {gpu}", thread.name),
        _ => format!("{}: cta {cta}, cluster {cluster}, gpu {gpu}", thread.name),
    }
}

const ROW: usize = 64;
/// Where the first row of threads is, below initial writes or at the top; the threads' names are so far above.
const FIRST: [usize; 2] = [110, 44];
const HEADING: usize = 14;
const BOX_HEIGHT: usize = 28;
const CHARACTER: usize = 8;
const GAP: usize = 110;

/// The execution as SVG: initial writes above, if they matter, a column for each thread below.
pub fn svg(program: &Program, model: &Model, execution: &Execution, marked: &[Edge]) -> String {
    let labels: Vec<String> = (0..execution.events().len())
        .map(|event| format!("{}: {}", letter(event), describe(program, execution, event)))
        .collect();
    let thread_of = |event: usize| execution.events()[event].thread.map(|thread| thread as usize);
    let widths: Vec<usize> = (0..program.threads.len())
        .map(|thread| {
            let own = (0..labels.len()).filter(|&event| thread_of(event) == Some(thread));
            own.map(|event| labels[event].chars().count()).max().unwrap_or(0).max(18) * CHARACTER + 20
        })
        .collect();
    let left = |thread: usize| 30 + widths[..thread].iter().map(|width| width + GAP).sum::<usize>();
    let edges = edges(model, execution, marked);
    let is_drawn = |event: usize| thread_of(event).is_some() || touches(&edges, event);
    let first =
        FIRST[usize::from((0..labels.len()).all(|event| thread_of(event).is_some() || !is_drawn(event)))];
    let mut next = vec![0; program.threads.len()];
    let mut initial = 30;
    // The box of each event: left, top and width.
    let mut boxes = Vec::new();
    for event in 0..labels.len() {
        match thread_of(event) {
            None => {
                let width = labels[event].chars().count() * CHARACTER + 20;
                boxes.push((initial, 12, width));
                initial += if is_drawn(event) { width + GAP } else { 0 };
            }
            Some(thread) => {
                boxes.push((left(thread), first + next[thread] * ROW, widths[thread]));
                next[thread] += 1;
            }
        }
    }
    let width = (left(program.threads.len()).max(initial) + 30).saturating_sub(GAP - 40);
    let height = first + next.iter().max().unwrap_or(&0) * ROW;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"monospace\" font-size=\"13\">\n<title>{}</title>\n<rect width=\"100%\" height=\"100%\" \
         fill=\"white\"/>\n",
        escape(&program.name)
    );
    for (thread, of) in program.threads.iter().enumerate() {
        let place = heading(of);
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{}\" font-weight=\"bold\">{}</text>",
            left(thread),
            first - HEADING,
            escape(&place)
        );
    }
    let area =
        |&(x, y, width): &(usize, usize, usize)| [x, y, x + width, y + BOX_HEIGHT].map(|side| side as f64);
    let drawn = || boxes.iter().enumerate().filter(|(event, _)| is_drawn(*event)).map(|(_, of)| of);
    let mut taken: Vec<Area> = drawn().map(area).collect();
    let headings = (0..program.threads.len())
        .map(|thread| [left(thread), first - 30, left(thread) + widths[thread], first - 8]);
    taken.extend(headings.map(|sides| sides.map(|side| side as f64)));
    // Where some are marked the others step back.
    let mut in_order: Vec<(usize, &Edge)> = edges.iter().enumerate().collect();
    in_order.sort_by_key(|(_, edge)| is_marked(edge, marked));
    for (index, edge) in in_order {
        let curve = Curve::new(edge, &boxes, index, first);
        let at = place(&curve, &edge.name, &mut taken, (width, height));
        let weight = match (marked.is_empty(), is_marked(edge, marked)) {
            (_, true) => Weight::Marked,
            (true, false) => Weight::Plain,
            (false, false) => Weight::Pale,
        };
        out.push_str(&arrow(edge, &curve, weight, at));
    }
    for (label, &(x, y, width)) in
        labels.iter().zip(&boxes).enumerate().filter(|(e, _)| is_drawn(*e)).map(|(_, b)| b)
    {
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{BOX_HEIGHT}\" rx=\"4\" fill=\"#f7f7f7\" \
             stroke=\"#444\"/><text x=\"{}\" y=\"{}\">{}</text>",
            x + 10,
            y + 19,
            escape(label)
        );
    }
    out.push_str("</svg>\n");
    out
}

type Point = (f64, f64);

/// The way of an edge: a quadratic curve.
struct Curve {
    start: Point,
    control: Point,
    end: Point,
}

impl Curve {
    /// Between two boxes. Edges of one pair are kept apart by their place in the list.
    fn new(edge: &Edge, boxes: &[(usize, usize, usize)], index: usize, first: usize) -> Self {
        let place = |(x, y, width): (usize, usize, usize)| (x as f64, y as f64, width as f64);
        let (from, to) = (place(boxes[edge.from]), place(boxes[edge.to]));
        let middle = BOX_HEIGHT as f64 / 2.0;
        let spread = (index % 5) as f64 * 7.0 - 14.0;
        let (start, control, end) = if from.0 == to.0 && edge.name == "po" {
            // Straight down beside the label.
            let x = from.0 + 24.0;
            ((x, from.1 + 2.0 * middle), (x, (from.1 + to.1) / 2.0 + middle), (x, to.1))
        } else if from.1 + 40.0 < first as f64 {
            // From an initial write: from below it, to the top of the first row and to the near side of others.
            let (x1, y1) = (from.0 + from.2 / 2.0, from.1 + 2.0 * middle);
            let (x2, y2) = match to {
                (x, y, width) if y <= first as f64 => (x1.clamp(x + 40.0, x + width - 20.0) + spread, y),
                (x, y, _) if x1 < x => (x, y + middle),
                (x, y, width) => (x + width, y + middle),
            };
            let bow = if to.1 <= first as f64 { 0.0 } else { 30.0 };
            let aside = if x1 < x2 { -bow } else { bow };
            ((x1, y1), ((x1 + x2) / 2.0 + aside, (y1 + y2) / 2.0), (x2, y2))
        } else if from.0 == to.0 {
            let x = from.0 + from.2;
            ((x, from.1 + middle), (x + 60.0 + spread, (from.1 + to.1) / 2.0 + middle), (x, to.1 + middle))
        } else {
            let (x1, x2) = if from.0 < to.0 { (from.0 + from.2, to.0) } else { (from.0, to.0 + to.2) };
            let (y1, y2) = (from.1 + middle, to.1 + middle);
            ((x1, y1), ((x1 + x2) / 2.0, (y1 + y2) / 2.0 + spread * 2.0), (x2, y2))
        };
        Self { start, control, end }
    }

    fn at(&self, t: f64) -> Point {
        let mix = |a: f64, b: f64, c: f64| a * (1.0 - t) * (1.0 - t) + 2.0 * b * t * (1.0 - t) + c * t * t;
        let (a, b, c) = (self.start, self.control, self.end);
        (mix(a.0, b.0, c.0), mix(a.1, b.1, c.1))
    }
}

/// Left, top, right and bottom.
type Area = [f64; 4];

/// Where the name of an edge stands: on its curve or close to it, and clear of all that is there already.
fn place(curve: &Curve, name: &str, taken: &mut Vec<Area>, (width, height): (usize, usize)) -> Point {
    let half = name.chars().count() as f64 * 3.6 + 2.0;
    let area = |(x, y): Point| [x - half, y - 11.0, x + half, y + 3.0];
    let clear = |area: &Area| {
        let inside = area[0] > 0.0 && area[1] > 0.0 && area[2] < width as f64 && area[3] < height as f64;
        let meets = |other: &Area| {
            area[0] < other[2] && other[0] < area[2] && area[1] < other[3] && other[1] < area[3]
        };
        inside && !taken.iter().any(meets)
    };
    let along = [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8, 0.1, 0.9];
    let around = (0..40).flat_map(|far| {
        let far = f64::from(far) * 7.0;
        [(0.0, far), (0.0, -far), (far, 0.0), (-far, 0.0), (far, far), (-far, -far)]
    });
    let mut candidates = around.flat_map(|(dx, dy)| {
        along.map(|t| {
            let (x, y) = curve.at(t);
            (x + dx, y + dy + 4.0)
        })
    });
    let found = candidates.find(|&at| clear(&area(at))).unwrap_or_else(|| curve.at(0.5));
    taken.push(area(found));
    found
}

/// How much an edge stands out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Weight {
    Pale,
    Plain,
    Marked,
}

/// A curve with a head and its name.
fn arrow(edge: &Edge, curve: &Curve, weight: Weight, at: Point) -> String {
    let (start, control, end) = (curve.start, curve.control, curve.end);
    let (dx, dy) = (end.0 - control.0, end.1 - control.1);
    let length = (dx * dx + dy * dy).sqrt().max(1.0);
    let (ux, uy) = (dx / length, dy / length);
    let corner = |side: f64| (end.0 - 9.0 * ux + side * 4.0 * uy, end.1 - 9.0 * uy - side * 4.0 * ux);
    let ((ax, ay), (bx, by)) = (corner(1.0), corner(-1.0));
    let (colour, width) = (colour(&edge.name), if weight == Weight::Marked { 3.5 } else { 1.5 });
    let opacity = if weight == Weight::Pale { 0.4 } else { 1.0 };
    let half = edge.name.chars().count() as f64 * 3.6;
    let weight = if weight == Weight::Marked { " font-weight=\"bold\"" } else { "" };
    format!(
        "<g opacity=\"{opacity}\"><path d=\"M{:.1} {:.1} Q{:.1} {:.1} {:.1} {:.1}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"/>\
         <polygon points=\"{:.1},{:.1} {ax:.1},{ay:.1} {bx:.1},{by:.1}\" fill=\"{colour}\"/>\
         <rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"12\" fill=\"white\" fill-opacity=\"0.85\"/>\
         <text class=\"edge\" x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\" font-size=\"12\" text-anchor=\"middle\"\
         {weight}>{}</text></g>\n",
        start.0,
        start.1,
        control.0,
        control.1,
        end.0,
        end.1,
        end.0,
        end.1,
        at.0 - half,
        at.1 - 9.0,
        2.0 * half,
        at.0,
        at.1,
        edge.name
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
