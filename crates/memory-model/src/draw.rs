//! Executions as pictures: for Graphviz, and as SVG with a column for each thread.

use crate::answer::Execution;
use crate::explain::{Edge, describe, letter, shown_edges};
use crate::model::Model;
use crate::program::Program;
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

/// The edges to draw: those of the execution, and marked ones that are not among them.
fn edges(model: &Model, execution: &Execution, marked: &[Edge]) -> Vec<Edge> {
    let mut edges = shown_edges(model, execution);
    let missing: Vec<Edge> = marked.iter().filter(|edge| !edges.contains(edge)).cloned().collect();
    edges.extend(missing);
    edges
}

/// The execution in the language of Graphviz. Marked edges, such as a cycle, are thick.
pub fn dot(program: &Program, model: &Model, execution: &Execution, marked: &[Edge]) -> String {
    let quote = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let mut out =
        format!("digraph \"{}\" {{\n  node [shape=box, fontname=monospace];\n", quote(&program.name));
    let label = |event| quote(&format!("{}: {}", letter(event), describe(program, execution, event)));
    for (event, of) in execution.events().iter().enumerate() {
        if of.thread.is_none() {
            let _ = writeln!(out, "  e{event} [label=\"{}\"];", label(event));
        }
    }
    for (index, thread) in program.threads.iter().enumerate() {
        let place = format!("{}: cta {}, gpu {}", thread.name, thread.placement.cta, thread.placement.gpu);
        let _ = writeln!(out, "  subgraph cluster_{index} {{\n    label=\"{}\";", quote(&place));
        for (event, of) in execution.events().iter().enumerate() {
            if of.thread == Some(index as u32) {
                let _ = writeln!(out, "    e{event} [label=\"{}\"];", label(event));
            }
        }
        out.push_str("  }\n");
    }
    for edge in edges(model, execution, marked) {
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

const ROW: usize = 64;
const TOP: usize = 70;
const BOX_HEIGHT: usize = 28;
const CHARACTER: usize = 8;
const GAP: usize = 110;

/// The execution as SVG: initial writes above, a column for each thread below.
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
    let mut next = vec![0; program.threads.len()];
    let mut initial = 30;
    // The box of each event: left, top and width.
    let mut boxes = Vec::new();
    for event in 0..labels.len() {
        match thread_of(event) {
            None => {
                let width = labels[event].chars().count() * CHARACTER + 20;
                boxes.push((initial, 12, width));
                initial += width + GAP;
            }
            Some(thread) => {
                boxes.push((left(thread), TOP + 40 + next[thread] * ROW, widths[thread]));
                next[thread] += 1;
            }
        }
    }
    let width = left(program.threads.len()).max(initial) + 30;
    let height = TOP + 60 + next.iter().max().unwrap_or(&0) * ROW;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"monospace\" font-size=\"13\">\n<title>{}</title>\n<rect width=\"100%\" height=\"100%\" \
         fill=\"white\"/>\n",
        escape(&program.name)
    );
    for (thread, of) in program.threads.iter().enumerate() {
        let place = format!("{}: cta {}, gpu {}", of.name, of.placement.cta, of.placement.gpu);
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{}\" font-weight=\"bold\">{}</text>",
            left(thread),
            TOP + 26,
            escape(&place)
        );
    }
    for (index, edge) in edges(model, execution, marked).iter().enumerate() {
        out.push_str(&arrow(edge, &boxes, is_marked(edge, marked), index));
    }
    for (label, &(x, y, width)) in labels.iter().zip(&boxes) {
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

/// A curve between two boxes, with a head and its name. Edges of one pair are kept apart by their place in the list.
fn arrow(edge: &Edge, boxes: &[(usize, usize, usize)], marked: bool, index: usize) -> String {
    let ((x1, y1, w1), (x2, y2, w2)) = (boxes[edge.from], boxes[edge.to]);
    let middle = BOX_HEIGHT as f64 / 2.0;
    let (from, to) = ((x1 as f64, y1 as f64, w1 as f64), (x2 as f64, y2 as f64, w2 as f64));
    let spread = (index % 5) as f64 * 7.0 - 14.0;
    let (start, control, end) = if x1 == x2 {
        if edge.name == "po" {
            // Straight down beside the label.
            let x = from.0 + 24.0;
            ((x, from.1 + 2.0 * middle), (x, (from.1 + to.1) / 2.0 + middle), (x, to.1))
        } else {
            let x = from.0 + from.2;
            ((x, from.1 + middle), (x + 60.0 + spread, (from.1 + to.1) / 2.0 + middle), (x, to.1 + middle))
        }
    } else {
        let (x1, x2) = if from.0 < to.0 { (from.0 + from.2, to.0) } else { (from.0, to.0 + to.2) };
        let (y1, y2) = (from.1 + middle, to.1 + middle);
        ((x1, y1), ((x1 + x2) / 2.0, (y1 + y2) / 2.0 + spread * 2.0), (x2, y2))
    };
    let (dx, dy) = (end.0 - control.0, end.1 - control.1);
    let length = (dx * dx + dy * dy).sqrt().max(1.0);
    let (ux, uy) = (dx / length, dy / length);
    let corner = |side: f64| (end.0 - 9.0 * ux + side * 4.0 * uy, end.1 - 9.0 * uy - side * 4.0 * ux);
    let ((ax, ay), (bx, by)) = (corner(1.0), corner(-1.0));
    let label = (
        0.25 * start.0 + 0.5 * control.0 + 0.25 * end.0,
        0.25 * start.1 + 0.5 * control.1 + 0.25 * end.1 - 4.0,
    );
    let (colour, width) = (colour(&edge.name), if marked { 3.5 } else { 1.5 });
    format!(
        "<path d=\"M{:.1} {:.1} Q{:.1} {:.1} {:.1} {:.1}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"/>\
         <polygon points=\"{:.1},{:.1} {ax:.1},{ay:.1} {bx:.1},{by:.1}\" fill=\"{colour}\"/>\
         <text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\" font-size=\"12\">{}</text>\n",
        start.0, start.1, control.0, control.1, end.0, end.1, end.0, end.1, label.0, label.1, edge.name
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
