//! When each CTA was where, as Perfetto and Chrome show it: an SM is a process, a CTA's place there a thread, a cycle a microsecond.

use crate::report::Report;
use serde_json::{Value, json};

/// A trace in the trace event format.
#[must_use]
pub fn timeline(report: &Report) -> Value {
    let mut sms: Vec<u32> = report.spans.iter().map(|span| span.sm).collect();
    sms.sort_unstable();
    sms.dedup();
    let names = sms.iter().map(
        |sm| json!({ "name": "process_name", "ph": "M", "pid": sm, "args": { "name": format!("SM {sm}") } }),
    );
    let spans = report.spans.iter().map(|span| {
        let [x, y, z] = span.block;
        json!({
            "name": format!("CTA {x},{y},{z}"),
            "ph": "X",
            "pid": span.sm,
            "tid": span.place,
            "ts": span.begun,
            "dur": span.ended - span.begun,
        })
    });
    let launch = json!({
        "name": report.kernel,
        "ph": "X",
        "pid": u32::MAX,
        "tid": 0,
        "ts": 0,
        "dur": report.cycles,
    });
    json!({ "displayTimeUnit": "ns", "traceEvents": names.chain(spans).chain([launch]).collect::<Vec<_>>() })
}
