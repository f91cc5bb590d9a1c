//! `warploom cache`: the compiled kernels that are kept on disk.

use crate::failure::{Exit, Failure};
use crate::terminal::{self, count};
use jit::Cache;
use serde_json::json;

const HELP: &str = "\
Examples:
  warploom cache            # where it is, and what is in it
  warploom cache clear

Environment:
  WARPLOOM_CACHE=0       compiled kernels are not kept
  WARPLOOM_CACHE_DIR     where they are kept, if not in the user's folder for caches ($XDG_CACHE_HOME/warploom)";

/// Show or clear the compiled kernels that are kept.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Arguments {
    /// What to do with it
    #[arg(value_enum, default_value_t, value_name = "ACTION")]
    action: Action,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Action {
    /// Say where it is, and what is in it
    #[default]
    Show,
    /// Remove everything
    Clear,
}

pub(crate) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    let cache = Cache::from_environment().ok_or_else(|| {
        Failure::usage("there is no cache: WARPLOOM_CACHE is 0, or there is no home folder")
    })?;
    let folder = cache.folder().display();
    let kept = match arguments.action {
        Action::Show => cache.kept(),
        Action::Clear => cache.clear(),
    };
    let kept = kept.map_err(|error| Failure::usage(format!("{folder}: {error}")))?;
    if arguments.json {
        let cleared = arguments.action == Action::Clear;
        let value = json!({
            "folder": cache.folder().to_string_lossy(),
            "kernels": kept.files,
            "bytes": kept.bytes,
            "cleared": cleared,
        });
        terminal::json(&value)?;
        return Ok(Exit::Ok);
    }
    let kernels = count(usize::try_from(kept.files).unwrap_or(usize::MAX), "kernel");
    let removed = if arguments.action == Action::Clear { " removed" } else { "" };
    terminal::result(&format!("{folder}: {kernels}, {} bytes{removed}\n", terminal::thousands(kept.bytes)))?;
    Ok(Exit::Ok)
}
