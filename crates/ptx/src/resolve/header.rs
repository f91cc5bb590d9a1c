//! `.version`, `.target` and `.address_size` (PTX ISA, "PTX Module Directives").

use super::{Resolver, codes};
use crate::ast::{ItemKind, Name, Spanned};
use crate::diagnostic::Diagnostic;
use crate::isa::TARGETS;
use crate::source::Span;
use crate::types::{Arch, ArchVariant, Version};

/// The newest PTX version that compilers were seen to write. The instruction table describes 9.0; what later ones add is
/// unknown to it. Minor versions only add, so that those yet to come are read too, with a warning.
const NEWEST_VERSION: Version = Version { major: 9, minor: 5 };

/// The words of `.target` beside the architecture.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    pub(crate) texmode_independent: bool,
    pub(crate) texmode_unified: bool,
}

/// The versions that exist: major numbers, each with its lowest and highest minor number.
const MINORS: [(u8, u8, u8); 9] = [
    (1, 0, 5),
    (2, 0, 3),
    (3, 0, 2),
    (4, 0, 3),
    (5, 0, 1),
    (6, 0, 5),
    (7, 0, 8),
    (8, 0, 8),
    (NEWEST_VERSION.major, 0, NEWEST_VERSION.minor),
];

impl Resolver<'_> {
    /// Reads the header, which the other items are then checked against.
    pub(super) fn header(&mut self) {
        let ast = self.ast;
        let start = ast.items.first().map_or(Span::default(), |item| item.span);
        let mut versions = 0;
        let mut arch = None;
        for (i, item) in ast.items.iter().enumerate() {
            match &item.value {
                ItemKind::Version(version) => {
                    versions += 1;
                    if i != 0 {
                        self.report(
                            Diagnostic::error(codes::MISSING_VERSION, item.span, "a misplaced `.version`")
                                .label("`.version` stands once, first of all"),
                        );
                    }
                    self.version(*version);
                }
                ItemKind::Target(words) => {
                    for word in words {
                        self.target(*word, &mut arch);
                    }
                }
                ItemKind::AddressSize(_)
                | ItemKind::Variable(_)
                | ItemKind::Function(_)
                | ItemKind::Alias { .. }
                | ItemKind::Pragma(_)
                | ItemKind::File(_)
                | ItemKind::Section(_)
                | ItemKind::Dwarf(_) => {}
            }
        }
        if versions == 0 {
            self.error(codes::MISSING_VERSION, start, "the module has no `.version`");
        }
        match arch {
            Some((arch, _)) => self.module.arch = arch,
            None => {
                self.error(codes::MISSING_TARGET, start, "the module has no `.target` with an architecture")
            }
        }
        if !matches!(ast.items.get(1).map(|item| &item.value), Some(ItemKind::Target(_))) && arch.is_some() {
            let span = ast.items.get(1).map_or(start, |item| item.span);
            self.error(codes::MISSING_TARGET, span, "`.target` must follow `.version` at once");
        }
        self.address_size();
    }

    fn version(&mut self, version: Spanned<Version>) {
        let Version { major, minor } = version.value;
        self.module.version = version.value;
        let exists = MINORS.iter().any(|&(m, low, high)| m == major && (low..=high).contains(&minor));
        if exists {
            return;
        }
        let newest = format!("the newest known version is {NEWEST_VERSION}");
        if major == NEWEST_VERSION.major && minor > NEWEST_VERSION.minor {
            let message = format!("what PTX {} adds is not known", version.value);
            self.report(Diagnostic::warning(codes::NEWER_VERSION, version.span, message).hint(newest));
        } else {
            let message = format!("PTX {} is not known", version.value);
            self.report(Diagnostic::error(codes::UNSUPPORTED_VERSION, version.span, message).hint(newest));
        }
    }

    fn target(&mut self, word: Spanned<Name>, arch: &mut Option<(Arch, Span)>) {
        let text = self.text(word.value);
        if let Some((found, since)) = architecture(text) {
            // Further architectures are alternatives that the first one stands for.
            if arch.is_some() {
                return;
            }
            *arch = Some((found, word.span));
            if self.module.version < since {
                let message = format!("PTX {} does not have {found}", self.module.version);
                self.report(
                    Diagnostic::error(codes::TARGET_NEEDS_VERSION, word.span, message)
                        .hint(format!("{found} needs `.version {since}` or later")),
                );
            }
            return;
        }
        match text {
            "texmode_independent" => self.options.texmode_independent = true,
            "texmode_unified" => self.options.texmode_unified = true,
            "debug" => {}
            "map_f64_to_f32" if arch.is_some_and(|(arch, _)| arch.sm < 13) => {}
            "map_f64_to_f32" => {
                self.error(codes::CONFLICTING_TARGET, word.span, "`map_f64_to_f32` ends with sm_12");
            }
            _ => {
                let message = format!("unknown target `{text}`");
                let number = text
                    .strip_prefix("sm_")
                    .and_then(|number| number.trim_end_matches(['a', 'f']).parse().ok());
                let near = number.and_then(|number: u16| {
                    TARGETS.iter().map(|(arch, _)| *arch).min_by_key(|arch| arch.sm.abs_diff(number))
                });
                let diagnostic = Diagnostic::error(codes::UNKNOWN_TARGET, word.span, message);
                self.report(match near {
                    Some(near) => diagnostic.hint(format!("the nearest is `{near}`")),
                    _ => diagnostic.hint("options are `texmode_unified`, `texmode_independent`, `debug`"),
                });
            }
        }
        if self.options.texmode_independent && self.options.texmode_unified {
            let message = "`texmode_independent` and `texmode_unified` exclude one another";
            self.error(codes::CONFLICTING_TARGET, word.span, message);
            self.options.texmode_unified = false;
        }
    }

    fn address_size(&mut self) {
        let ast = self.ast;
        // Without the directive, ptxas takes the size of the host that it compiles for.
        let mut first: Option<Span> = None;
        for (i, item) in ast.items.iter().enumerate() {
            let ItemKind::AddressSize(size) = &item.value else { continue };
            if let Some(first) = first {
                self.report(
                    Diagnostic::error(codes::ADDRESS_SIZE, item.span, "a second `.address_size`")
                        .related(first, "first here"),
                );
                continue;
            }
            first = Some(item.span);
            if !matches!(ast.items.get(i.wrapping_sub(1)).map(|item| &item.value), Some(ItemKind::Target(_)))
            {
                self.error(codes::ADDRESS_SIZE, item.span, "`.address_size` must follow `.target` at once");
            }
            match size.value {
                64 => {}
                32 if self.module.arch.sm < 90 => self.module.address_size = 32,
                32 => {
                    let message = format!("{} has no 32-bit addressing", self.module.arch);
                    self.error(codes::ADDRESS_SIZE, size.span, message);
                }
                other => {
                    let message = format!("`.address_size` is 32 or 64, not {other}");
                    self.error(codes::ADDRESS_SIZE, size.span, message);
                }
            }
        }
    }
}

/// The architecture called `sm_90a`, and the PTX version that introduced it.
fn architecture(name: &str) -> Option<(Arch, Version)> {
    let number = name.strip_prefix("sm_")?;
    let (number, variant) = match number.as_bytes().last()? {
        b'a' => (&number[..number.len() - 1], ArchVariant::Specific),
        b'f' => (&number[..number.len() - 1], ArchVariant::Family),
        _ => (number, ArchVariant::Base),
    };
    let arch = Arch { sm: number.parse().ok()?, variant };
    TARGETS.into_iter().find(|(known, _)| *known == arch)
}
