//! The counters of a launch as JSON.

use machine::Location;
use machine::fault::Access;
use machine::stats::{Counts, Report, Traffic};
use ptx::module::Module;
use serde_json::{Value, json};

/// What a kind of access is called.
pub fn access(access: Access) -> &'static str {
    match access {
        Access::Load => "load",
        Access::Store => "store",
        Access::Atomic => "atomic",
    }
}

/// The whole report.
pub fn json(report: &Report, module: &Module) -> Value {
    let rows = |rows: &[(String, Counts)]| -> Vec<Value> {
        rows.iter().map(|(name, c)| with(counts(c), "name", name.as_str().into())).collect()
    };
    let instructions: Vec<_> = report
        .instructions
        .iter()
        .map(|(function, instruction, c)| {
            let location = Location::of(module, *function, *instruction);
            let name = module.functions[function.index()].name.as_str();
            let value = with(counts(c), "function", name.into());
            let value = with(value, "line", location.ptx.map(|place| place.line).into());
            with(value, "text", location.text.into())
        })
        .collect();
    json!({
        "total": counts(&report.total),
        "classes": rows(&report.classes),
        "opcodes": rows(&report.opcodes),
        "instructions": instructions,
    })
}

fn with(mut value: Value, key: &str, member: Value) -> Value {
    value[key] = member;
    value
}

fn counts(c: &Counts) -> Value {
    json!({
        "warp_instructions": c.warp_instructions,
        "thread_instructions": c.thread_instructions,
        "active_lanes": c.active_lanes,
        "branches": c.branches,
        "divergent_branches": c.divergent_branches,
        "memory": c.traffic.iter().map(traffic).collect::<Vec<_>>(),
    })
}

fn traffic(t: &Traffic) -> Value {
    json!({
        "space": t.space.name(),
        "access": access(t.access),
        "requests": t.requests,
        "accesses": t.accesses,
        "bytes": t.bytes,
        "sectors": t.sectors,
        "bytes_moved": t.bytes_moved(),
        "wavefronts": t.wavefronts,
        "ideal_wavefronts": t.ideal_wavefronts,
        "bank_conflicts": t.bank_conflicts(),
        "collisions": t.collisions,
    })
}
