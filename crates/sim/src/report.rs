//! What a launch cost, and the names that Nsight Compute has for it.

use crate::counters::{Counters, Line, STALLS, Stall, Stalls};
use crate::device::Device;
use crate::placement::Occupancy;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A CTA's time on an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The SM.
    pub sm: u32,
    /// Its place there.
    pub place: u32,
    /// The CTA.
    pub block: [u32; 3],
    /// Its first cycle, and the one behind its last.
    pub begun: u64,
    /// The cycle behind its last.
    pub ended: u64,
}

/// What a launch cost.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The kernel.
    pub kernel: String,
    /// CTAs along each axis.
    pub grid: [u32; 3],
    /// Threads of a CTA along each axis.
    pub block: [u32; 3],
    /// Cycles from its beginning to its end.
    pub cycles: u64,
    /// CTAs that were executed, where not all of them were: cycles and counts are then extrapolated.
    pub sampled: Option<u64>,
    /// What was counted.
    pub counters: Counters,
    /// By instruction.
    pub lines: Vec<Line>,
    /// Where and when each CTA was, in the order of their ends.
    pub spans: Vec<Span>,
    /// What an SM has room for.
    pub occupancy: Occupancy,
}

/// A number with the name that Nsight Compute gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// The name.
    pub name: String,
    /// The number.
    pub value: f64,
}

impl Line {
    /// Adds its counts to an object.
    pub fn write(&self, value: &mut Value) {
        let stalls: serde_json::Map<String, Value> = STALLS
            .iter()
            .filter(|(stall, _)| self.stalls.of(*stall) > 0)
            .map(|(stall, name)| ((*name).to_owned(), json!(self.stalls.of(*stall))))
            .collect();
        value["warps"] = json!(self.warps);
        value["threads"] = json!(self.threads);
        value["stalls"] = stalls.into();
    }
}

/// A part of a whole; of nothing nothing.
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

impl Report {
    /// Why warps waited, of all instructions.
    #[must_use]
    pub fn stalls(&self) -> Stalls {
        self.lines.iter().fold(Stalls::default(), |mut all, line| {
            all.add_all(&line.stalls);
            all
        })
    }

    /// Nanoseconds, at the clock of the device's file.
    #[must_use]
    pub fn nanoseconds(&self, device: &Device) -> f64 {
        self.cycles as f64 * 1000.0 / device.parameters.clock as f64
    }

    /// The names of all numbers, in their order.
    #[must_use]
    pub fn metric_names(device: &Device) -> Vec<String> {
        Self::default().metrics(device).into_iter().map(|metric| metric.name).collect()
    }

    /// The numbers by Nsight Compute's names.
    #[must_use]
    pub fn metrics(&self, device: &Device) -> Vec<Metric> {
        let of = &device.parameters;
        let counters = &self.counters;
        let sub_cores = of.sms * of.sub_cores;
        let busiest = self.spans.iter().map(|span| span.ended).max().unwrap_or(0)
            - self.spans.iter().map(|span| span.begun).min().unwrap_or(0);
        let l2 = counters.l2_read + counters.l2_write + counters.l2_atomic;
        let exact = [
            ("sm__cycles_elapsed.max", self.cycles),
            ("sm__cycles_active.max", busiest),
            ("sm__cycles_active.sum", counters.active),
            ("smsp__inst_executed.sum", counters.instructions),
            ("smsp__thread_inst_executed.sum", counters.threads),
            ("launch__grid_size", counters.ctas),
            ("launch__occupancy_limit_warps", self.occupancy.limits[0].1),
            ("launch__occupancy_limit_registers", self.occupancy.limits[1].1),
            ("launch__occupancy_limit_shared_mem", self.occupancy.limits[2].1),
            ("launch__occupancy_limit_blocks", self.occupancy.limits[3].1),
            ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", counters.load_requests),
            ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", counters.global_load),
            ("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", counters.global_store),
            ("l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", counters.local_load),
            ("l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum", counters.local_store),
            ("l1tex__t_sectors_lookup_hit.sum", counters.l1_hit),
            ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", counters.shared_load),
            ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", counters.shared_store),
            ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", counters.load_conflicts),
            ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum", counters.store_conflicts),
            ("lts__t_sectors_srcunit_tex_op_read.sum", counters.l2_read),
            ("lts__t_sectors_srcunit_tex_op_write.sum", counters.l2_write),
            ("lts__t_sectors_op_read.sum", counters.l2_read),
            ("lts__t_sectors_op_write.sum", counters.l2_write),
            ("lts__t_sectors.sum", l2),
            ("lts__t_sectors_op_read_lookup_hit.sum", counters.l2_read_hit),
            ("dram__sectors_read.sum", counters.dram_read),
            ("dram__sectors_write.sum", counters.dram_write),
        ];
        let mut metrics: Vec<Metric> = exact
            .iter()
            .map(|&(name, value)| Metric { name: name.to_owned(), value: value as f64 })
            .collect();
        let issued = counters.instructions;
        let mut add = |name: &str, value: f64| metrics.push(Metric { name: name.to_owned(), value });
        add("gpu__time_duration.sum", self.nanoseconds(device));
        add("sm__inst_executed.avg.per_cycle_elapsed", ratio(issued, self.cycles * of.sms));
        add("sm__inst_executed.avg.per_cycle_active", ratio(issued, counters.active));
        add(
            "sm__warps_active.avg.pct_of_peak_sustained_active",
            100.0 * ratio(counters.resident, counters.active * of.warps),
        );
        add(
            "smsp__issue_active.avg.pct_of_peak_sustained_elapsed",
            100.0 * ratio(issued, self.cycles * sub_cores),
        );
        let stalls = self.stalls();
        for (stall, name) in STALLS {
            let name = format!("smsp__average_warps_issue_stalled_{name}_per_issue_active.ratio");
            add(&name, ratio(stalls.of(stall), issued));
        }
        metrics
    }

    /// All of it. `text` says what an instruction at an address is.
    #[must_use]
    pub fn json(&self, device: &Device, text: impl Fn(u64) -> String) -> Value {
        let metrics: serde_json::Map<String, Value> =
            self.metrics(device).into_iter().map(|metric| (metric.name, json!(metric.value))).collect();
        let lines = self.lines.iter().enumerate().filter(|(_, line)| line.warps > 0).map(|(at, line)| {
            let address = at as u64 * sass_machine::BYTES;
            let mut value = json!({ "address": address, "instruction": text(address) });
            line.write(&mut value);
            value
        });
        json!({
            "device": device.name,
            "kernel": self.kernel,
            "grid": self.grid,
            "block": self.block,
            "cycles": self.cycles,
            "sampled_ctas": self.sampled,
            "occupancy": {
                "ctas": self.occupancy.ctas,
                "warps": self.occupancy.ctas * self.occupancy.warps,
                "limit": self.occupancy.limit(),
            },
            "metrics": metrics,
            "lines": lines.collect::<Vec<_>>(),
        })
    }

    /// What was counted by whatever an instruction at an address belongs to.
    pub fn by<K: Ord>(&self, of: impl Fn(u64) -> Option<K>) -> BTreeMap<K, Line> {
        let mut all: BTreeMap<K, Line> = BTreeMap::new();
        for (at, line) in self.lines.iter().enumerate() {
            if let Some(key) = of(at as u64 * sass_machine::BYTES) {
                all.entry(key).or_default().add_all(line);
            }
        }
        all
    }

    /// The reason for which warps waited longest in front of an instruction, and for how many cycles.
    #[must_use]
    pub fn reason(line: &Line) -> (&'static str, u64) {
        let waits = STALLS.iter().filter(|(stall, _)| *stall != Stall::Selected);
        let waits = waits.map(|(stall, name)| (*name, line.stalls.of(*stall)));
        waits.max_by_key(|(_, cycles)| *cycles).unwrap_or(("", 0))
    }
}
