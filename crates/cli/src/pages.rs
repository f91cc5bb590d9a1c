//! `warploom completions` and `warploom man`: what packages install beside the command, made from its description of itself.

use crate::failure::{Exit, Failure};
use crate::{Cli, terminal};
use clap::CommandFactory;
use clap_complete::Shell;
use std::path::PathBuf;

const SHELLS: &str = "\
Examples:
  warploom completions bash > ~/.local/share/bash-completion/completions/warploom
  warploom completions zsh > ~/.zfunc/_warploom
  warploom completions fish > ~/.config/fish/completions/warploom.fish";

/// Print what a shell completes this command by
#[derive(Debug, clap::Args)]
#[command(after_help = SHELLS)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

const PAGES: &str = "\
Examples:
  warploom man ~/.local/share/man/man1
  man warploom-run";

/// Write the manual pages of this command and of its subcommands
#[derive(Debug, clap::Args)]
#[command(after_help = PAGES)]
pub(crate) struct Man {
    /// The folder to write them to, which is made if it is not there
    folder: PathBuf,
}

pub(crate) fn completions(arguments: &Completions) -> Result<Exit, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "warploom", &mut text);
    terminal::result(&String::from_utf8_lossy(&text)).map(|()| Exit::Ok)
}

pub(crate) fn man(arguments: &Man) -> Result<Exit, Failure> {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), folder))
        .map_err(|error| Failure::usage(format!("cannot write to {}: {error}", folder.display())))?;
    Ok(Exit::Ok)
}
