//! `tests/clients/clients.toml`: which programs, in which versions, and which of their tests.

use crate::root;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// A program that uses CUDA, and how its tests are run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Client {
    /// What it is, in a line.
    pub(crate) about: String,
    /// Packages of Python's registry, with their versions, that an environment of its own gets.
    #[serde(default)]
    pub(crate) python: Vec<String>,
    /// A package whose source distribution is unpacked, since its tests are only there.
    #[serde(default)]
    pub(crate) source: Option<String>,
    /// A package of Python's registry that is compiled here, in a toolkit of NVIDIA's packages among `python` and our
    /// libraries.
    #[serde(default)]
    pub(crate) built: Option<Built>,
    /// A package of Rust's registry whose unit tests are compiled.
    #[serde(default)]
    pub(crate) package: Option<RustPackage>,
    /// Where its repository is, for tests that no package has.
    #[serde(default)]
    pub(crate) repository: Option<Repository>,
    /// Where the tests run: a folder of the source or the checkout.
    #[serde(default)]
    pub(crate) folder: PathBuf,
    /// More variables; `{env}` is the folder of the environment, `{toolkit}` that of the toolkit, `{root}` ours, `{path}` the
    /// folders of commands.
    #[serde(default)]
    pub(crate) environment: BTreeMap<String, String>,
    /// More arguments of pytest.
    #[serde(default)]
    pub(crate) arguments: Vec<String>,
    /// What the name of every unit begins with.
    #[serde(default)]
    pub(crate) prefix: String,
    /// Modules or files of tests; `name*4` is run in four parts.
    #[serde(default)]
    pub(crate) tests: Vec<String>,
    /// Seconds that a test may take.
    #[serde(default = "some_minutes")]
    pub(crate) limit: u64,
}

/// A package that is compiled.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Built {
    /// Its name and version.
    pub(crate) package: String,
    /// Variables for that, with the same places.
    #[serde(default)]
    pub(crate) environment: BTreeMap<String, String>,
}

/// A repository, as it was once.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Repository {
    /// Where it is cloned from.
    pub(crate) url: String,
    /// The commit.
    pub(crate) commit: String,
    /// The variable that names a checkout to be used instead.
    pub(crate) variable: String,
}

/// A package of Rust's registry.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RustPackage {
    /// Its name.
    pub(crate) name: String,
    /// Its version.
    pub(crate) version: String,
    /// Its features, without the default ones; all default ones if there is none.
    #[serde(default)]
    pub(crate) features: Vec<String>,
    /// Variables for its compilation.
    #[serde(default)]
    pub(crate) environment: BTreeMap<String, String>,
    /// Tests that are left out, each with its reason beside it in the file.
    #[serde(default)]
    pub(crate) without: Vec<String>,
}

fn some_minutes() -> u64 {
    240
}

/// Tests that run in a process of their own.
pub(crate) struct Unit {
    /// What it is called in the ledger.
    pub(crate) name: String,
    /// The module or file.
    pub(crate) target: String,
    /// Which part, from 1, of how many.
    pub(crate) part: (u32, u32),
}

/// All clients, by name.
pub(crate) fn read() -> Result<BTreeMap<String, Client>> {
    let path = root().join("tests/clients/clients.toml");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    toml::from_str(&text).with_context(|| path.display().to_string())
}

impl Client {
    /// Its units.
    pub(crate) fn units(&self, name: &str) -> Vec<Unit> {
        if self.package.is_some() {
            return vec![Unit { name: name.to_owned(), target: String::new(), part: (1, 1) }];
        }
        let unit = |text: &String| -> Vec<Unit> {
            let (target, parts) = match text.rsplit_once('*') {
                Some((target, parts)) => (target, parts.parse().unwrap_or(1)),
                None => (text.as_str(), 1),
            };
            let named = |part| match parts {
                1 => target.to_owned(),
                _ => format!("{target}#{part}"),
            };
            let full = format!("{}{target}", self.prefix).replace("{root}", &root().display().to_string());
            let made = |part| Unit { name: named(part), target: full.clone(), part: (part, parts) };
            (1..=parts).map(made).collect()
        };
        self.tests.iter().flat_map(unit).collect()
    }
}
