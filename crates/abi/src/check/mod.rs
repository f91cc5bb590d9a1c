//! Whether a module keeps the ABI, beyond what PTX itself asks (guide, chapters 2 to 4 and 7).
//!
//! What nvcc, clang and Triton write has no findings. Mixed address sizes are an error of the linker, `K0002`.

mod call_sites;
pub mod codes;
mod cpp;
mod parameters;

pub use codes::explain;
use ptx::diagnostic::Diagnostic;
use ptx::module::Module;
use ptx::source::Span;
use ptx::types::Version;

/// The first version of PTX with this ABI.
const FIRST: Version = Version { major: 2, minor: 0 };

/// Everything that a module does against the ABI, in the order of its text.
pub fn check(module: &Module) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    if module.version < FIRST {
        let message = format!("PTX {} has no ABI", module.version);
        found.push(
            Diagnostic::error(codes::VERSION, directive(module, ".version"), message)
                .hint("`.version 2.0` is the first that conforms"),
        );
    }
    parameters::check(module, &mut found);
    call_sites::check(module, &mut found);
    cpp::check(module, &mut found);
    found.sort_by_key(|diagnostic| (diagnostic.span, diagnostic.code));
    found
}

/// The line of a directive that stands once.
fn directive(module: &Module, name: &str) -> Span {
    let text = module.source.text();
    let start = text.find(name).unwrap_or(0);
    let end = text[start..].find('\n').map_or(text.len(), |length| start + length);
    Span::new(start as u32, end as u32)
}
