//! Whether the module's `.version` and `.target` have a feature.

use super::codes;
use crate::diagnostic::Diagnostic;
use crate::isa::{Gate, SpecialRegister};
use crate::resolve::Resolver;
use crate::source::Span;
use crate::types::{Arch, ArchVariant, Version};

impl Resolver<'_> {
    /// Reports what the module lacks for a feature, if anything.
    pub(crate) fn check_gate(&mut self, what: &str, gate: &Gate, span: Span) {
        let (version, arch) = (self.module.version, self.module.arch);
        if let Some(until) = gate.until.filter(|until| version >= *until) {
            let message = format!("{what} is not in PTX {until} or later");
            self.report(
                Diagnostic::error(codes::NEEDS_VERSION, span, message)
                    .label(format!("this module is `.version {version}`")),
            );
        } else if !gate.permits_version(version) {
            let message = format!("{what} needs PTX {} or later", gate.ptx);
            self.report(
                Diagnostic::error(codes::NEEDS_VERSION, span, message)
                    .label(format!("this module is `.version {version}`"))
                    .hint(format!("write `.version {}`", gate.ptx)),
            );
        }
        if !gate.permits_target(arch) {
            let message = format!("{what} is not available on {arch}");
            let targets: Vec<_> = gate.targets.iter().map(|arch| format!("`{arch}`")).collect();
            let hint = match gate.before {
                Some(sm) if arch.sm >= sm => format!("it ended with architectures before sm_{sm}"),
                _ => format!("it needs {}", targets.join(" or ")),
            };
            self.report(
                Diagnostic::error(codes::NEEDS_TARGET, span, message)
                    .label(format!("this module is `.target {arch}`"))
                    .hint(hint),
            );
        }
    }

    /// Reports a special register that the module cannot have.
    pub(crate) fn check_special_gate(&mut self, register: SpecialRegister, span: Span) {
        self.check_gate(&format!("`{}`", register.text()), &register.gate(), span);
    }
}

/// A gate of directives, which the instruction table does not list.
pub(crate) const fn gate(major: u8, minor: u8, targets: &'static [Arch]) -> Gate {
    Gate { ptx: Version { major, minor }, targets, before: None, until: None }
}

pub(super) const SM_20: &[Arch] = &[Arch { sm: 20, variant: ArchVariant::Base }];
pub(crate) const SM_70: &[Arch] = &[Arch { sm: 70, variant: ArchVariant::Base }];
pub(super) const SM_80: &[Arch] = &[Arch { sm: 80, variant: ArchVariant::Base }];
pub(super) const SM_90: &[Arch] = &[Arch { sm: 90, variant: ArchVariant::Base }];
