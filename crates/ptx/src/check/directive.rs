//! Directives of functions: launch bounds, clusters, `.noreturn` (PTX ISA, "Performance-Tuning Directives" and
//! "Cluster Dimension Directives").

use super::codes;
use super::gate::{SM_20, SM_80, SM_90, gate};
use crate::ast::{self, FunctionDirectiveKind, FunctionKind, Spanned};
use crate::diagnostic::Diagnostic;
use crate::isa::Gate;
use crate::module::LaunchBounds;
use crate::resolve::Resolver;
use crate::source::Span;

/// The registers that a function can be made to preserve: those of a thread, without the ones that calls use.
const MOST_PRESERVED: u64 = 239;
/// The same of predicates and barriers.
const MOST_PRESERVED_CONTROL: u64 = 11;

impl Resolver<'_> {
    /// The launch bounds of a function, and whether it is `.noreturn`.
    pub(crate) fn function_directives(&mut self, function: &ast::Function) -> (LaunchBounds, bool) {
        let mut bounds = LaunchBounds::default();
        let mut noreturn = false;
        let is_entry = function.kind.value == FunctionKind::Entry;
        for directive in &function.directives {
            let (name, needs, place) = facts(&directive.value);
            let allowed = match place {
                AppliesTo::Entry => is_entry,
                AppliesTo::Func => !is_entry,
                AppliesTo::Both => true,
            };
            if !allowed {
                let owner = if is_entry { "an entry" } else { "a device function" };
                let message = format!("{owner} cannot have `{name}`");
                self.error(codes::DIRECTIVE_PLACE, directive.span, message);
                continue;
            }
            self.check_gate(&format!("`{name}`"), &needs, directive.span);
            match &directive.value {
                FunctionDirectiveKind::MaxNtid(sizes) => bounds.max_ntid = self.dimensions(sizes, name),
                FunctionDirectiveKind::ReqNtid(sizes) => bounds.req_ntid = self.dimensions(sizes, name),
                FunctionDirectiveKind::ReqNctaPerCluster(sizes) => {
                    bounds.req_nctapercluster = self.dimensions(sizes, name);
                }
                FunctionDirectiveKind::MinNctaPerSm(n) => bounds.min_nctapersm = self.positive(*n, name),
                FunctionDirectiveKind::MaxNctaPerSm(n) => bounds.max_nctapersm = self.positive(*n, name),
                FunctionDirectiveKind::MaxNreg(n) => bounds.max_nreg = self.positive(*n, name),
                FunctionDirectiveKind::MaxClusterRank(n) => bounds.max_clusterrank = self.positive(*n, name),
                FunctionDirectiveKind::ExplicitCluster => bounds.explicit_cluster = true,
                FunctionDirectiveKind::BlocksAreClusters => bounds.blocks_are_clusters = true,
                FunctionDirectiveKind::NoReturn => noreturn = true,
                FunctionDirectiveKind::LocalMaxNreg(_) if function.body.is_none() => {
                    let message = format!("a declaration cannot have `{name}`");
                    self.error(codes::DIRECTIVE_PLACE, directive.span, message);
                }
                FunctionDirectiveKind::LocalMaxNreg(n) => {
                    self.positive(*n, name);
                }
                FunctionDirectiveKind::AbiPreserve(n) => self.at_most(*n, MOST_PRESERVED, name),
                FunctionDirectiveKind::AbiPreserveControl(n) => {
                    self.at_most(*n, MOST_PRESERVED_CONTROL, name);
                }
                FunctionDirectiveKind::Pragma(_) => {}
            }
        }
        self.check_together(function, &bounds);
        if noreturn && !function.returns.is_empty() {
            let span = function.name.span;
            self.error(codes::DIRECTIVE_CONFLICT, span, "a `.noreturn` function has no return parameters");
        }
        (bounds, noreturn)
    }

    fn check_together(&mut self, function: &ast::Function, bounds: &LaunchBounds) {
        let span = |wanted: fn(&FunctionDirectiveKind) -> bool| {
            let found = function.directives.iter().rfind(|d| wanted(&d.value));
            found.map_or(function.name.span, |d| d.span)
        };
        if bounds.max_ntid.is_some() && bounds.req_ntid.is_some() {
            let at =
                span(|d| matches!(d, FunctionDirectiveKind::ReqNtid(_) | FunctionDirectiveKind::MaxNtid(_)));
            self.error(codes::DIRECTIVE_CONFLICT, at, "`.maxntid` and `.reqntid` exclude one another");
        }
        if bounds.max_nctapersm.is_some() && bounds.max_ntid.is_none() {
            let at = span(|d| matches!(d, FunctionDirectiveKind::MaxNctaPerSm(_)));
            self.report(
                Diagnostic::error(codes::DIRECTIVE_CONFLICT, at, "`.maxnctapersm` needs `.maxntid`")
                    .hint("add `.maxntid`, or use `.minnctapersm`"),
            );
        }
        if bounds.req_nctapercluster.is_some() && bounds.max_clusterrank.is_some() {
            let at = span(|d| {
                matches!(
                    d,
                    FunctionDirectiveKind::ReqNctaPerCluster(_) | FunctionDirectiveKind::MaxClusterRank(_)
                )
            });
            let message = "`.reqnctapercluster` and `.maxclusterrank` exclude one another";
            self.error(codes::DIRECTIVE_CONFLICT, at, message);
        }
        if bounds.blocks_are_clusters && (bounds.req_ntid.is_none() || bounds.req_nctapercluster.is_none()) {
            let at = span(|d| matches!(d, FunctionDirectiveKind::BlocksAreClusters));
            let message = "`.blocksareclusters` needs `.reqntid` and `.reqnctapercluster`";
            self.error(codes::DIRECTIVE_CONFLICT, at, message);
        }
        if bounds.min_nctapersm.is_some() && bounds.max_ntid.is_none() && bounds.req_ntid.is_none() {
            let at = span(|d| matches!(d, FunctionDirectiveKind::MinNctaPerSm(_)));
            self.report(
                Diagnostic::warning(codes::DIRECTIVE_IGNORED, at, "`.minnctapersm` without effect")
                    .hint("add `.maxntid` or `.reqntid`"),
            );
        }
    }

    /// One to three positive numbers; those not written are 1.
    fn dimensions(&mut self, sizes: &[Spanned<u64>], name: &str) -> Option<[u32; 3]> {
        let mut dimensions = [1; 3];
        for (dimension, size) in dimensions.iter_mut().zip(sizes) {
            *dimension = self.positive(*size, name)?;
        }
        let total = dimensions.iter().try_fold(1_u32, |total, n| total.checked_mul(*n));
        if total.is_none() {
            let first = sizes.first().map_or(Span::default(), |size| size.span);
            self.error(
                codes::DIRECTIVE_VALUE,
                first,
                format!("the dimensions of `{name}` multiply to too many"),
            );
            return None;
        }
        Some(dimensions)
    }

    fn at_most(&mut self, number: Spanned<u64>, most: u64, name: &str) {
        if number.value > most {
            let message = format!("`{name}` takes at most {most}, not {}", number.value);
            self.error(codes::DIRECTIVE_VALUE, number.span, message);
        }
    }

    fn positive(&mut self, number: Spanned<u64>, name: &str) -> Option<u32> {
        let positive = u32::try_from(number.value).ok().filter(|value| *value > 0);
        if positive.is_none() {
            let message = format!("`{name}` takes a positive 32-bit number, not {}", number.value);
            self.error(codes::DIRECTIVE_VALUE, number.span, message);
        }
        positive
    }
}

/// The kind of function that a directive is for.
enum AppliesTo {
    Entry,
    Func,
    Both,
}

/// A directive's name, what introduced it, and where it may stand.
fn facts(directive: &FunctionDirectiveKind) -> (&'static str, Gate, AppliesTo) {
    match directive {
        FunctionDirectiveKind::MaxNtid(_) => (".maxntid", gate(1, 3, &[]), AppliesTo::Entry),
        FunctionDirectiveKind::ReqNtid(_) => (".reqntid", gate(2, 1, &[]), AppliesTo::Entry),
        FunctionDirectiveKind::MinNctaPerSm(_) => (".minnctapersm", gate(2, 0, SM_20), AppliesTo::Entry),
        FunctionDirectiveKind::MaxNctaPerSm(_) => (".maxnctapersm", gate(2, 0, &[]), AppliesTo::Entry),
        FunctionDirectiveKind::MaxNreg(_) => (".maxnreg", gate(1, 3, &[]), AppliesTo::Entry),
        FunctionDirectiveKind::NoReturn => (".noreturn", gate(6, 4, &[]), AppliesTo::Func),
        FunctionDirectiveKind::ExplicitCluster => (".explicitcluster", gate(7, 8, SM_90), AppliesTo::Entry),
        FunctionDirectiveKind::ReqNctaPerCluster(_) => {
            (".reqnctapercluster", gate(7, 8, SM_90), AppliesTo::Entry)
        }
        FunctionDirectiveKind::MaxClusterRank(_) => (".maxclusterrank", gate(7, 8, SM_90), AppliesTo::Entry),
        FunctionDirectiveKind::BlocksAreClusters => {
            (".blocksareclusters", gate(9, 0, SM_90), AppliesTo::Entry)
        }
        FunctionDirectiveKind::AbiPreserve(_) => (".abi_preserve", gate(9, 0, SM_80), AppliesTo::Func),
        FunctionDirectiveKind::AbiPreserveControl(_) => {
            (".abi_preserve_control", gate(9, 0, SM_80), AppliesTo::Func)
        }
        FunctionDirectiveKind::LocalMaxNreg(_) => (".local_maxnreg", gate(8, 8, &[]), AppliesTo::Both),
        FunctionDirectiveKind::Pragma(_) => (".pragma", gate(2, 0, &[]), AppliesTo::Entry),
    }
}
