//! `warploom lsp`: the language server, on standard input and output.

use crate::failure::{EXIT_CODES, Exit, Failure};

const HELP: &str = "\
Languages: ptx, litmus (.litmus), cuasm (.cuasm).

Settings, as initializationOptions or `warploom` in workspace/didChangeConfiguration:
  { \"hints\": { \"types\": false, \"live\": true, \"shapes\": true }, \"debounce\": 100 }

Example, for Neovim 0.7 or later:
  vim.lsp.start({ name = 'warploom', cmd = { 'warploom', 'lsp' } })";

/// Serve an editor: PTX, litmus tests and cuasm by the Language Server Protocol, on standard input and output.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct Arguments {
    /// What editors pass to say that they speak on standard input and output; it is always so
    #[arg(long)]
    stdio: bool,
}

pub(crate) fn execute(_: &Arguments) -> Result<Exit, Failure> {
    let (connection, threads) = lsp_server::Connection::stdio();
    let served = ::lsp::serve(&connection).map_err(|error| Failure::usage(format!("the client: {error}")));
    // The writing thread ends when nobody can send any more.
    drop(connection);
    served?;
    threads.join().map_err(|error| Failure::usage(format!("standard output: {error}")))?;
    Ok(Exit::Ok)
}
