//! A memory model: its texts in `model/`, chosen by family and version.

use crate::language::{self, ModelError, Version};
use crate::plan::Plan;
use std::fmt;

/// Whose reading of the PTX memory model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// The manual's text.
    Isa,
    /// The files of the model checker Dartagnan.
    Dartagnan,
}

impl Family {
    /// The family of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "isa" => Some(Self::Isa),
            "dartagnan" => Some(Self::Dartagnan),
            _ => None,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Isa => "isa",
            Self::Dartagnan => "dartagnan",
        }
    }

    /// The versions of it whose text is known, from the oldest.
    pub fn versions(self) -> &'static [Version] {
        match self {
            Self::Isa => &[Version(6, 0), Version(7, 4), Version(7, 5), Version(7, 8), Version(8, 6)],
            Self::Dartagnan => &[Version(6, 0), Version(7, 5)],
        }
    }

    /// The text in force at a version: that of the latest known version which is not newer.
    pub fn text_of(self, version: Version) -> Option<Version> {
        self.versions().iter().copied().rfind(|&known| known <= version)
    }
}

/// The files of the model: one for each notion, in the order in which they rest on one another, and one for each axiom.
pub const FILES: [(&str, &str); 11] = [
    ("morally-strong", include_str!("../model/morally-strong.model")),
    ("release-acquire", include_str!("../model/release-acquire.model")),
    ("base-causality", include_str!("../model/base-causality.model")),
    ("proxies", include_str!("../model/proxies.model")),
    ("causality-order", include_str!("../model/causality-order.model")),
    ("coherence", include_str!("../model/coherence.model")),
    ("fence-sc", include_str!("../model/fence-sc.model")),
    ("atomicity", include_str!("../model/atomicity.model")),
    ("no-thin-air", include_str!("../model/no-thin-air.model")),
    ("sc-per-location", include_str!("../model/sc-per-location.model")),
    ("causality", include_str!("../model/causality.model")),
];

/// A memory model of one family and version, compiled.
#[derive(Clone, Debug)]
pub struct Model {
    /// Whose reading.
    pub family: Family,
    /// Which version's text.
    pub version: Version,
    /// Whether both halves of an atomic can be sequentially consistent, as in C++.
    pub(crate) sc_atomics: bool,
    pub(crate) plan: Plan,
}

impl Model {
    /// The model in force at a PTX version; there is none before 6.0.
    pub fn new(family: Family, version: Version) -> Option<Self> {
        let version = family.text_of(version)?;
        Self::from_text(family, version, &text()).ok()
    }

    /// A model from another text, in the notation of [`language`].
    pub fn from_text(family: Family, version: Version, text: &str) -> Result<Self, ModelError> {
        let plan = Plan::new(&language::parse(text, family, version)?)?;
        Ok(Self { family, version, sc_atomics: false, plan })
    }

    /// The same definitions with one axiom alone.
    pub(crate) fn without_axioms_but(&self, axiom: &str) -> Self {
        let mut model = self.clone();
        model.plan.requirements.retain(|requirement| requirement.axiom == axiom);
        model
    }

    /// The names of the axioms, in the order of their files.
    pub fn axioms(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.plan.requirements.iter().map(|r| &*r.axiom).collect();
        names.dedup();
        names
    }
}

/// All files of the model, one behind the other.
pub fn text() -> String {
    FILES.iter().map(|(_, text)| *text).collect()
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.family.name(), self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_version_compiles() {
        for family in [Family::Isa, Family::Dartagnan] {
            for &version in family.versions() {
                let model = Model::from_text(family, version, &text());
                let model = model.unwrap_or_else(|error| panic!("{} {version}: {error}", family.name()));
                let missing = usize::from(family == Family::Dartagnan && version >= Version(7, 5));
                assert_eq!(model.axioms().len(), 6 - missing, "{model}");
            }
        }
    }

    #[test]
    fn each_file_opens_with_words_and_a_relation() {
        for (name, text) in &FILES {
            let comment: Vec<&str> = text.lines().take_while(|line| line.starts_with('#')).collect();
            assert!(comment.iter().any(|line| line.starts_with("#     ")), "{name}: no relational form");
            assert!(comment.len() > 4, "{name}: no words");
        }
    }
}
