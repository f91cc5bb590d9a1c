//! What every package holds, as a tree below a prefix such as `/usr`.

use super::{Options, PROFILE, llvm, must, runs_with_old_libraries, smaller};
use crate::root;
use anyhow::{Context, Result};
use indicatif::ProgressBar;
use jit::BROUGHT;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The tree.
pub(super) struct Stage {
    pub(super) folder: PathBuf,
}

/// Where each shell looks for what completes a command, and what the file is called there.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/warploom"),
    ("zsh", "share/zsh/site-functions/_warploom"),
    ("fish", "share/fish/vendor_completions.d/warploom.fish"),
];
/// Whose terms come with the parts of theirs that are in LLVM's library, where Debian has them.
const COPYRIGHT: [(&str, &str); 3] =
    [("llvm-19-dev", "llvm"), ("zlib1g-dev", "zlib"), ("libzstd-dev", "zstd")];

impl Stage {
    /// Builds everything.
    pub(super) fn make(options: &Options) -> Result<Self> {
        let base = root().join(&options.to);
        let folder = base.join("stage");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        let stage = Self { folder };
        let library = match &options.llvm {
            Some(library) => library.clone(),
            None => llvm::make(&options.llvm_config, &base.join("llvm"))?,
        };
        stage.pack(&library, &format!("lib/warploom/{BROUGHT}"))?;
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo
            .args(["build", "--profile", PROFILE, "--package", "warploom", "--target-dir"])
            .arg(root().join("target"));
        must(smaller(&mut cargo).current_dir(root()))?;
        let command = root().join("target").join(PROFILE).join("warploom");
        runs_with_old_libraries(&command)?;
        let command = stage.put(&command, "bin/warploom")?;
        must(Command::new(&command).arg("man").arg(stage.folder.join("share/man/man1")))?;
        for (shell, file) in COMPLETIONS {
            let output = Command::new(&command).args(["completions", shell]).output()?;
            stage.write(file, &output.stdout)?;
        }
        for name in ["LICENSE-APACHE", "LICENSE-MIT", "README.md"] {
            stage.put(&root().join(name), &format!("share/doc/warploom/{name}"))?;
        }
        for (package, name) in COPYRIGHT {
            let terms = Path::new("/usr/share/doc").join(package).join("copyright");
            if terms.exists() {
                stage.put(&terms, &format!("share/doc/warploom/LICENSE-{name}"))?;
            }
        }
        Ok(stage)
    }

    /// Copies a file to a place.
    fn put(&self, from: &Path, place: &str) -> Result<PathBuf> {
        let to = self.place(place)?;
        fs::copy(from, &to).with_context(|| from.display().to_string())?;
        Ok(to)
    }

    /// Compresses a file to a place.
    fn pack(&self, from: &Path, place: &str) -> Result<()> {
        let mut file = File::open(from).with_context(|| from.display().to_string())?;
        let bar = ProgressBar::new(file.metadata()?.len()).with_message("packing LLVM");
        let mut packer = packing::packer(File::create(self.place(place)?)?)?;
        std::io::copy(&mut bar.wrap_read(&mut file), &mut packer)?;
        packer.finish()?;
        bar.finish_and_clear();
        Ok(())
    }

    fn write(&self, place: &str, content: &[u8]) -> Result<()> {
        Ok(fs::write(self.place(place)?, content)?)
    }

    /// A place whose folder is there.
    fn place(&self, place: &str) -> Result<PathBuf> {
        let path = self.folder.join(place);
        fs::create_dir_all(path.parent().context("a file is in a folder")?)?;
        Ok(path)
    }
}
