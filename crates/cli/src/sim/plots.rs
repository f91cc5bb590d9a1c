//! Pictures of a launch: the roofline it stands under, and how many warps an SM has room for by what a CTA takes.

use plotters::prelude::*;
use sim::{Device, Report};
use std::error::Error;

const FONT: (&str, u32) = ("sans-serif", 14);
const SIZE: (u32, u32) = (760, 460);
const ROOF: RGBColor = RGBColor(60, 60, 60);
const LAUNCH: RGBColor = RGBColor(222, 121, 44);
const STEPS: RGBColor = RGBColor(66, 133, 190);

/// Bytes of a sector.
const SECTOR: f64 = 32.0;

/// Where a launch stands: instructions of threads by byte of DRAM, and by second, below what memory and issue allow.
pub(super) fn roofline(report: &Report, device: &Device) -> Result<String, Box<dyn Error>> {
    let of = &device.parameters;
    let counters = &report.counters;
    // A cycle's work in billions a second.
    let giga = of.clock as f64 / 1000.0;
    let issue = (of.sms * of.sub_cores * 32) as f64 * giga;
    let bandwidth = (of.channels * of.channel_rate) as f64 / 1000.0 * SECTOR * giga;
    let bytes = (counters.dram_read + counters.dram_write) as f64 * SECTOR;
    let reached = counters.threads as f64 / report.cycles.max(1) as f64 * giga;
    let intensity = counters.threads as f64 / bytes.max(SECTOR);
    let ridge = issue / bandwidth;
    let (left, right) = ((ridge / 100.0).min(intensity / 4.0), (ridge * 100.0).max(intensity * 4.0));
    let lowest = (bandwidth * left).min(reached / 4.0);
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .margin(14)
            .caption(format!("{} on {}", report.kernel, device.name), ("sans-serif", 16))
            .x_label_area_size(40)
            .y_label_area_size(76)
            .build_cartesian_2d((left..right).log_scale(), (lowest..issue * 3.0).log_scale())?;
        chart
            .configure_mesh()
            .x_desc("thread instructions a byte of DRAM")
            .y_desc("billion thread instructions a second")
            .label_style(FONT)
            .draw()?;
        let roof = [(left, bandwidth * left), (ridge, issue), (right, issue)];
        chart.draw_series(LineSeries::new(roof, ROOF.stroke_width(2)))?;
        let point = (intensity, reached);
        chart.draw_series([Circle::new(point, 5, LAUNCH.filled())])?;
        let most = issue.min(bandwidth * intensity);
        let said = format!("{:.1} % of the roof", 100.0 * reached / most);
        let at = chart.backend_coord(&point);
        area.draw(&Text::new(said, (at.0 + 10, at.1 - 6), FONT))?;
        area.present()?;
    }
    Ok(svg)
}

/// How many warps an SM has room for, by registers of a thread and by shared memory of a CTA; where the launch stands.
pub(super) fn occupancy(report: &Report, device: &Device) -> Result<String, Box<dyn Error>> {
    let of = &device.parameters;
    let own = &report.occupancy;
    let warps = own.warps.max(1);
    let with = |registers: u64, shared: u64| own.with(registers, shared, of).min(of.warps / warps) * warps;
    let registers = (16..=255_u64).map(|count| (count as f64, with(count, own.shared) as f64));
    let most = of.shared.max(1);
    let shared = (0..=128).map(|step| most * step / 128);
    let shared = shared.map(|bytes| (bytes as f64 / 1024.0, with(own.registers, bytes) as f64));
    let here = (warps * own.ctas) as f64;
    let panels = [
        ("registers of a thread", registers.collect::<Vec<_>>(), own.registers as f64),
        ("KiB of shared memory of a CTA", shared.collect(), own.shared as f64 / 1024.0),
    ];
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let area = area.titled(
            &format!("{}: warps of an SM, CTAs of {warps} warps", report.kernel),
            ("sans-serif", 16),
        )?;
        for ((what, line, own), panel) in panels.into_iter().zip(area.split_evenly((1, 2))) {
            let right = line.last().map_or(1.0, |last| last.0).max(own * 1.05);
            let mut chart = ChartBuilder::on(&panel)
                .margin(14)
                .x_label_area_size(40)
                .y_label_area_size(40)
                .build_cartesian_2d(0.0..right, 0.0..of.warps as f64 * 1.1)?;
            chart.configure_mesh().x_desc(what).x_labels(6).label_style(FONT).draw()?;
            chart.draw_series(LineSeries::new(line, STEPS.stroke_width(2)))?;
            chart.draw_series([Circle::new((own, here), 5, LAUNCH.filled())])?;
        }
        area.present()?;
    }
    Ok(svg)
}
