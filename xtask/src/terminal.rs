//! `cargo xtask terminal`: what a command prints, as a picture of a terminal for the documentation.

use crate::root;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// What to run, and where its picture goes.
#[derive(Debug, clap::Args)]
pub(crate) struct Choice {
    /// The picture, an SVG file.
    picture: PathBuf,
    /// The terminal's width.
    #[arg(long, default_value_t = 110)]
    columns: u16,
    /// What is shown as typed, in the place of the command.
    #[arg(long)]
    typed: Option<String>,
    /// Exit statuses other than 0 that are no failure, such as that of tests which fail on purpose.
    #[arg(long)]
    exits: Vec<i32>,
    /// The command, in bash's syntax; run in the repository's root.
    command: String,
}

pub(crate) fn run(choice: &Choice) -> Result<()> {
    // `script` gives the command a terminal, without which there are no colours.
    let output = Command::new("script")
        .args(["--quiet", "--return", "--command"])
        .arg(format!("stty cols {}; {}", choice.columns, choice.command))
        .arg("/dev/null")
        .current_dir(root())
        .env("SHELL", "/bin/bash")
        .env("TERM", "xterm-256color")
        .output()
        .context("script")?;
    let printed = String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n");
    let code = output.status.code();
    ensure!(
        code.is_some_and(|code| code == 0 || choice.exits.contains(&code)),
        "{}: {printed}",
        output.status
    );
    let typed = choice.typed.as_ref().unwrap_or(&choice.command);
    let picture =
        anstyle_svg::Term::new().render_svg(&format!("\x1b[1m$ {typed}\x1b[0m\n{}", printed.trim_end()));
    fs::write(&choice.picture, picture).with_context(|| choice.picture.display().to_string())
}
