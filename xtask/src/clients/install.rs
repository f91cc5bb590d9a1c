//! Bringing a client here: an environment of Python, an unpacked source, or a compiled test program.

use super::cache;
use super::suite::{Built, Client, Repository, RustPackage};
use super::toolkit;
use crate::root;
use anyhow::{Context, Result, ensure};
use cargo_metadata::MetadataCommand;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use walkdir::WalkDir;

/// Where a client is.
pub(crate) struct Installation {
    /// Its environment of Python.
    pub(crate) environment: PathBuf,
    /// A toolkit of NVIDIA's packages in it and our libraries.
    pub(crate) toolkit: PathBuf,
    /// Where its tests run.
    pub(crate) folder: PathBuf,
    /// Its compiled tests.
    pub(crate) program: Option<PathBuf>,
}

/// Runs a command that must succeed.
fn must(command: &mut Command) -> Result<()> {
    let shown = format!("{command:?}");
    let output = command.output().with_context(|| shown.clone())?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{shown}: {}\n{errors}", output.status);
    Ok(())
}

/// Installs a client, unless that was done; or says what is missing that only the caller can give.
pub(crate) fn install(
    name: &str,
    client: &Client,
    libraries: &Path,
    command: &Path,
) -> Result<Result<Installation, String>> {
    let base = cache().join(name);
    fs::create_dir_all(base.join("work"))?;
    let mut place = Installation {
        environment: base.join("env"),
        toolkit: base.join("toolkit"),
        folder: base.join("work"),
        program: None,
    };
    python(&place.environment, &client.python)?;
    toolkit::make(&place.toolkit, &place.environment, libraries, command)?;
    if let Some(built) = &client.built {
        compile(&place, built)?;
    }
    if let Some(package) = &client.source {
        place.folder = source(&base, &place.environment, package)?.join(&client.folder);
    }
    if let Some(repository) = &client.repository {
        match checkout(&base.join("checkout"), repository) {
            Ok(checkout) => place.folder = checkout.join(&client.folder),
            Err(why) => {
                let variable = &repository.variable;
                return Ok(Err(format!(
                    "its tests are in no package; {variable} can name a checkout; {why:#}"
                )));
            }
        }
    }
    if let Some(package) = &client.package {
        place.program = Some(rust(&base, package, &place.toolkit)?);
    }
    Ok(Ok(place))
}

impl Installation {
    /// A variable's value with the folders that it names.
    pub(crate) fn fill(&self, value: &str) -> String {
        let places = [("{env}", &self.environment), ("{toolkit}", &self.toolkit), ("{root}", &root())];
        let filled = places
            .into_iter()
            .fold(value.to_owned(), |text, (name, folder)| text.replace(name, &folder.display().to_string()));
        filled.replace("{path}", &std::env::var("PATH").unwrap_or_default())
    }
}

/// Compiles a package, unless that was done.
fn compile(place: &Installation, built: &Built) -> Result<()> {
    let stamp = place.environment.join("built.txt");
    if fs::read_to_string(&stamp).is_ok_and(|found| found == built.package) {
        return Ok(());
    }
    println!("compiling {}: this may take an hour", built.package);
    let name = built.package.split("==").next().unwrap_or_default();
    let mut pip = Command::new(place.environment.join("bin/pip"));
    pip.args(["install", "--quiet", "--no-deps", "--no-build-isolation", "--no-binary", name]);
    pip.arg(&built.package);
    for (variable, value) in &built.environment {
        pip.env(variable, place.fill(value));
    }
    must(&mut pip)?;
    Ok(fs::write(stamp, &built.package)?)
}

/// An environment with exactly these packages.
fn python(environment: &Path, packages: &[String]) -> Result<()> {
    let (stamp, wanted) = (environment.join("packages.txt"), packages.join("\n"));
    if packages.is_empty() || fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    println!("installing into {}", environment.display());
    let _ = fs::remove_dir_all(environment);
    must(Command::new("python3").args(["-m", "venv"]).arg(environment))?;
    must(Command::new(environment.join("bin/pip")).args(["install", "--quiet"]).args(packages))?;
    Ok(fs::write(stamp, wanted)?)
}

/// The folder of an unpacked source distribution.
fn source(base: &Path, environment: &Path, package: &str) -> Result<PathBuf> {
    let folder = base.join(package.replace("==", "-"));
    if !folder.exists() {
        // Of this package alone: what it needs to be unpacked is not compiled.
        let name = package.split("==").next().unwrap_or_default();
        let options = ["download", "--quiet", "--no-deps", "--no-binary", name, "--dest"];
        must(Command::new(environment.join("bin/pip")).args(options).arg(base).arg(package))?;
        let archive = folder.with_file_name(format!("{}.tar.gz", package.replace("==", "-")));
        must(Command::new("tar").arg("xzf").arg(archive).arg("-C").arg(base))?;
    }
    Ok(folder)
}

/// The checkout that the caller names, or a clone of that one commit.
fn checkout(clone: &Path, repository: &Repository) -> Result<PathBuf> {
    let Repository { url, commit, variable } = repository;
    if let Some(named) = std::env::var_os(variable) {
        return Ok(named.into());
    }
    let head = clone.join(".git/HEAD");
    if !fs::read_to_string(&head).is_ok_and(|head| head.trim() == commit) {
        let _ = fs::remove_dir_all(clone);
        fs::create_dir_all(clone)?;
        let git = |arguments: &[&str]| must(Command::new("git").current_dir(clone).args(arguments));
        git(&["init", "--quiet"])?;
        git(&["fetch", "--quiet", "--depth", "1", url, commit])?;
        git(&["checkout", "--quiet", "--detach", "FETCH_HEAD"])?;
    }
    Ok(clone.to_owned())
}

/// Compiles the unit tests of a package of Rust's registry; the program.
fn rust(base: &Path, package: &RustPackage, toolkit: &Path) -> Result<PathBuf> {
    let folder = base.join(format!("{}-{}", package.name, package.version));
    if !folder.exists() {
        copy_package(base, package, &folder)?;
    }
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args(["test", "--lib", "--no-run", "--message-format", "json", "--target-dir"])
        .arg(base.join("target"));
    if !package.features.is_empty() {
        cargo.args(["--no-default-features", "--features", &package.features.join(",")]);
    }
    cargo.current_dir(&folder).env("CUDA_LIBRARY_PATH", toolkit).env_remove("CARGO_TARGET_DIR");
    cargo.envs(&package.environment);
    let output = cargo.output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let messages = cargo_metadata::Message::parse_stream(output.stdout.as_slice());
    let built = messages.filter_map(|message| match message {
        Ok(cargo_metadata::Message::CompilerArtifact(artifact)) => artifact.executable,
        _ => None,
    });
    built.last().map(Into::into).context("cargo says of no test program where it is")
}

/// Copies a package out of cargo's cache, as a workspace of its own.
fn copy_package(base: &Path, package: &RustPackage, to: &Path) -> Result<()> {
    let fetch = base.join("fetch");
    fs::create_dir_all(fetch.join("src"))?;
    fs::write(fetch.join("src/lib.rs"), "")?;
    let RustPackage { name, version, .. } = package;
    let manifest = format!(
        "[package]\nname = \"fetch\"\nedition = \"2024\"\n\n[dependencies]\n{name} = {{ version = \"={version}\", \
         default-features = false }}\n\n[workspace]\n"
    );
    fs::write(fetch.join("Cargo.toml"), manifest)?;
    let mut asked = MetadataCommand::new();
    asked.manifest_path(fetch.join("Cargo.toml"));
    let metadata = asked.exec()?;
    let found = metadata.packages.iter().find(|found| found.name.as_str() == name);
    let from = found.and_then(|found| found.manifest_path.parent()).context("cargo has not brought it")?;
    for entry in WalkDir::new(from) {
        let entry = entry?;
        let place = to.join(entry.path().strip_prefix(from)?);
        if entry.file_type().is_dir() {
            fs::create_dir_all(place)?;
        } else {
            fs::copy(entry.path(), place)?;
        }
    }
    let path = to.join("Cargo.toml");
    let text = fs::read_to_string(&path)?;
    Ok(fs::write(path, text + "\n[workspace]\n")?)
}
