//! The figures as pictures.

use super::peers::REFERENCE;
use super::report::Report;
use super::sweeps::Curves;
use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;
use std::fs;
use std::path::Path;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

const FONT: &str = "sans-serif";
/// Pixels of a bar, and between the bars of two kernels.
const BAR: i32 = 7;
const GAP: i32 = 6;
/// Pixels of a line of a legend.
const LEGEND: i32 = 18;

fn color(peer: &str) -> RGBColor {
    match peer {
        REFERENCE => RGBColor(60, 60, 60),
        "PoCL" => RGBColor(150, 150, 150),
        "interp" => RGBColor(66, 133, 190),
        _ => RGBColor(222, 121, 44),
    }
}

/// Draws what the report has.
pub(super) fn draw(report: &Report, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    // A plotting error borrows the file's name.
    let owned = |error: &dyn std::fmt::Display| anyhow!("a plot is not drawn: {error}");
    if report.kernels.iter().any(|(_, measured)| !measured.milliseconds.is_empty()) {
        ratios(report, &folder.join("peers-kernels.svg")).map_err(|error| owned(&error))?;
    }
    if !report.curves.is_empty() {
        costs(report, &folder.join("peers-costs.svg")).map_err(|error| owned(&error))?;
    }
    Ok(())
}

type Drawn = Result<(), Box<dyn std::error::Error>>;

/// Kernels from top to bottom, a bar for each peer from 1, the reference, to its ratio.
fn ratios(report: &Report, path: &Path) -> Drawn {
    let others: Vec<&str> = report.peers.iter().copied().filter(|&name| name != REFERENCE).collect();
    let of = |measured, name: &&str| Report::ratio(measured, name);
    let all = report
        .kernels
        .iter()
        .flat_map(|(_, measured)| others.iter().filter_map(move |name| of(measured, name)));
    let (least, most) =
        all.fold((0.5_f64, 2.0_f64), |(least, most), ratio| (least.min(ratio), most.max(ratio)));
    let count = report.kernels.len();
    let tall = count as u32 * (others.len() as i32 * BAR + GAP) as u32 + 100;
    let area = SVGBackend::new(path, (860, tall)).into_drawing_area();
    area.fill(&WHITE)?;
    let caption = "Time, in times of plain C++ with OpenMP (left of 1: faster)";
    let mut chart = ChartBuilder::on(&area)
        .margin(12)
        .caption(caption, (FONT, 16))
        .x_label_area_size(34)
        .y_label_area_size(96)
        .build_cartesian_2d(
            (least * 0.8..most * 1.25).log_scale().base(2.0),
            (0..count - 1).into_segmented(),
        )?;
    // The first kernel is the highest.
    let name = |at: usize| report.kernels.get(count - 1 - at).map_or("", |(name, _)| *name);
    chart
        .configure_mesh()
        .disable_y_mesh()
        .x_labels(12)
        .y_labels(count)
        .x_label_formatter(&|ratio| short(*ratio))
        .y_label_formatter(&|at| match at {
            SegmentValue::CenterOf(at) => name(*at).to_owned(),
            SegmentValue::Exact(_) | SegmentValue::Last => String::new(),
        })
        .draw()?;
    for (kernel, (_, measured)) in report.kernels.iter().enumerate() {
        let middle = || SegmentValue::CenterOf(count - 1 - kernel);
        for (peer, name) in others.iter().enumerate() {
            let Some(ratio) = Report::ratio(measured, name) else { continue };
            let (one, y) = chart.backend_coord(&(1.0, middle()));
            let (end, _) = chart.backend_coord(&(ratio, middle()));
            let top = y - others.len() as i32 * BAR / 2 + peer as i32 * BAR;
            let (left, right) = (one.min(end), one.max(end).max(one.min(end) + 1));
            area.draw(&Rectangle::new([(left, top), (right, top + BAR - 1)], color(name).filled()))?;
        }
    }
    legend(&area, &others, (700, tall as i32 - 54 - LEGEND * others.len() as i32))?;
    area.present()?;
    Ok(())
}

/// Names beside their colours.
fn legend(area: &Area<'_>, names: &[&str], (x, y): (i32, i32)) -> Drawn {
    let (wide, tall) = (92, LEGEND * names.len() as i32 + 8);
    area.draw(&Rectangle::new([(x, y), (x + wide, y + tall)], WHITE.filled()))?;
    area.draw(&Rectangle::new([(x, y), (x + wide, y + tall)], BLACK.mix(0.3)))?;
    for (at, name) in names.iter().enumerate() {
        let top = y + 8 + LEGEND * at as i32;
        area.draw(&Rectangle::new([(x + 8, top), (x + 22, top + 9)], color(name).filled()))?;
        area.draw(&Text::new((*name).to_owned(), (x + 30, top - 3), (FONT, 14)))?;
    }
    Ok(())
}

/// A panel for each kernel and axis.
fn costs(report: &Report, path: &Path) -> Drawn {
    let rows = report.curves.len().div_ceil(2);
    let tall = LEGEND * report.peers.len() as i32;
    let area = SVGBackend::new(path, (860, 260 * rows as u32 + tall as u32 + 12)).into_drawing_area();
    area.fill(&WHITE)?;
    let (panels, below) = area.split_vertically(260 * rows as u32);
    for (curves, panel) in report.curves.iter().zip(panels.split_evenly((rows, 2))) {
        cost(curves, &report.peers, &panel)?;
    }
    legend(&below, &report.peers, (20, 0))?;
    area.present()?;
    Ok(())
}

/// A number as short as an axis wants it.
fn short(value: f64) -> String {
    match value {
        value if value >= 1048576.0 => format!("{} M", (value / 1048576.0).round()),
        value if value >= 8192.0 => format!("{} K", (value / 1024.0).round()),
        value if value >= 1.0 => format!("{}", value.round()),
        value => format!("{value:.3}").trim_end_matches('0').to_owned(),
    }
}

fn cost(curves: &Curves, peers: &[&'static str], panel: &Area<'_>) -> Drawn {
    let spread = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::INFINITY, 0.0_f64), |(least, most), value| (least.min(value), most.max(value)))
    };
    let (first, last) = spread(&mut curves.points.iter().map(|(point, _)| f64::from(*point)));
    let (least, most) = spread(&mut curves.points.iter().flat_map(|(_, costs)| costs.values().copied()));
    let mut chart = ChartBuilder::on(panel)
        .margin(10)
        .caption(format!("{}: ns per {}", curves.kernel, curves.per), (FONT, 14))
        .x_label_area_size(34)
        .y_label_area_size(58)
        .build_cartesian_2d(
            (first..last * 1.01).log_scale().base(2.0),
            (least * 0.8..most * 1.25).log_scale(),
        )?;
    chart
        .configure_mesh()
        .x_desc(curves.axis.label())
        .x_labels(8)
        .light_line_style(TRANSPARENT)
        .x_label_formatter(&|x| short(*x))
        .y_label_formatter(&|y| short(*y))
        .draw()?;
    for &name in peers {
        let points =
            curves.points.iter().filter_map(|(point, costs)| Some((f64::from(*point), *costs.get(name)?)));
        let points: Vec<(f64, f64)> = points.collect();
        let style = color(name).stroke_width(2);
        chart.draw_series(LineSeries::new(points.iter().copied(), style).point_size(2))?;
    }
    Ok(())
}
