//! The server alone on standard input and output: what `warploom lsp` is, without the minutes that the rest of the command
//! takes to build. For work on the server, and for the editors' tests.

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let (connection, threads) = lsp_server::Connection::stdio();
    let served = warploom_lsp::serve(&connection);
    drop(connection);
    served?;
    Ok(threads.join()?)
}
