//! Warnings about control codes.

use super::draft::{Body, Draft};
use super::emit::Emitted;
use crate::codes::{self, Findings};
use crate::flow::graph::{Graph, steps};
use crate::flow::hazards;
use ptx::diagnostic::Diagnostic;
use ptx::source::Span;
use rustc_hash::FxHashMap as HashMap;
use sass::latency;

/// Warns of dependences that control codes break, at the control code of the instruction that comes too early.
pub(super) fn hazards(draft: &Draft, emitted: &[Emitted], findings: &mut Findings) {
    let (Some(isa), Some(latencies)) = (draft.isa, latency::table(draft.sm)) else { return };
    for (section, emitted) in draft.sections.iter().zip(emitted) {
        if !section.is_code() {
            continue;
        }
        let mut at = 0;
        let mut controls: HashMap<u64, Span> = HashMap::default();
        for item in &section.items {
            if let Body::Instruction(instruction) = &item.body {
                controls.insert(at, instruction.control_span);
                at += 16;
            }
        }
        // Bytes between instructions would move them.
        if at != emitted.bytes.len() as u64 {
            continue;
        }
        let graph = Graph::new(steps(isa, &emitted.bytes));
        for hazard in hazards::hazards(&graph, latencies) {
            let (Some(&span), Some(&on)) = (controls.get(&hazard.offset), controls.get(&hazard.on)) else {
                continue;
            };
            let mut warning = Diagnostic::warning(codes::HAZARD, span, hazard.message);
            if hazard.on != hazard.offset {
                warning = warning.related(on, "the instruction that it depends on");
            }
            findings.push(warning);
        }
    }
}
