//! A graph as text that Graphviz draws.

use super::nodes::{EdgeData, Graph, Node};
use super::task::Task;
use std::fmt::{self, Write as _};
use std::sync::Arc;

/// What a description shows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Detail {
    /// What each node works on.
    pub parameters: bool,
    /// Numbers that tell nodes apart in the process.
    pub handles: bool,
}

impl Graph {
    /// The graph in the language of Graphviz.
    pub fn dot(self: &Arc<Self>, detail: Detail) -> String {
        let mut out = String::from("digraph warploom {\n");
        let mut numbers = 0;
        // Strings take everything.
        let _ = self.describe(&mut out, detail, &mut numbers);
        out.push_str("}\n");
        out
    }

    fn describe(self: &Arc<Self>, out: &mut String, detail: Detail, graphs: &mut usize) -> fmt::Result {
        let number = *graphs;
        *graphs += 1;
        writeln!(out, "subgraph cluster_{number} {{\nlabel=\"graph_{number}\"")?;
        let nodes = self.nodes();
        let name = |node: &Node| {
            let index = nodes.iter().position(|other| other.id() == node.id()).unwrap_or(0);
            format!("\"graph_{number}_node_{index}\"")
        };
        for (index, node) in nodes.iter().enumerate() {
            let task = node.task();
            let shape = if matches!(task, Task::Kernel(_)) { "octagon" } else { "rectangle" };
            write!(out, "{}[shape={shape} label=\"{index}\\n{}", name(node), title(&task))?;
            if detail.parameters {
                out.push_str(&parameters(&task));
            }
            if detail.handles {
                write!(out, "\\nid {}", node.id().0)?;
            }
            out.push_str("\"]\n");
        }
        for edge in self.edges() {
            let style = match edge.data {
                EdgeData { kind: 0, from_port: 0, .. } => "",
                _ => " [style=dashed label=\"programmatic\"]",
            };
            writeln!(out, "{} -> {}{style}", name(&edge.from), name(&edge.to))?;
        }
        for node in &nodes {
            for graph in node.task().graphs() {
                graph.describe(out, detail, graphs)?;
            }
        }
        out.push_str("}\n");
        Ok(())
    }
}

fn title(task: &Task) -> String {
    match task {
        Task::Kernel(work) => escaped(work.function().name()),
        Task::Copy(_) => "MEMCPY".to_owned(),
        Task::Fill(_) => "MEMSET".to_owned(),
        Task::Host(_) => "HOST".to_owned(),
        Task::Child(_) => "CHILD GRAPH".to_owned(),
        Task::Empty => "EMPTY".to_owned(),
        Task::Wait(_) => "EVENT_WAIT".to_owned(),
        Task::Record(_) => "EVENT_RECORD".to_owned(),
        Task::Allocate(_) => "MEM_ALLOC".to_owned(),
        Task::Free(_) => "MEM_FREE".to_owned(),
        Task::Values(_) => "BATCH_MEM_OP".to_owned(),
        Task::Conditional(conditional) => format!("CONDITIONAL {:?}", conditional.kind),
    }
}

fn parameters(task: &Task) -> String {
    match task {
        Task::Kernel(work) => {
            let c = work.configuration();
            format!("\\ngrid {:?} block {:?} shared {}", c.grid, c.block, c.dynamic_shared)
        }
        Task::Copy(copy) => {
            let request = copy.request();
            format!("\\n{:#x} to {:#x}, {:?}", request.from.address, request.to.address, request.extent)
        }
        Task::Fill(fill) => {
            let p = fill.pattern();
            format!("\\n{:#x}: {:#x} x {} x {}", p.address, p.value, p.width, p.height)
        }
        Task::Host(call) => format!("\\n{:#x}({:#x})", call.function, call.argument),
        Task::Allocate(allocation) => format!("\\n{:#x}, {} bytes", allocation.address(), allocation.bytes()),
        Task::Free(address) => format!("\\n{address:#x}"),
        Task::Values(values) => format!("\\n{} operations", values.operations().len()),
        Task::Wait(event) | Task::Record(event) => format!("\\nevent {}", event.id().0),
        Task::Child(_) | Task::Empty | Task::Conditional(_) => String::new(),
    }
}

/// A name of the program's, inside quotation marks.
fn escaped(name: &str) -> String {
    name.replace('\\', "\\\\").replace('"', "\\\"")
}
