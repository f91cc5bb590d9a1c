//! `WARPLOOM_DEBUG`: a socket, at whose other end somebody debugs the launches of this process.

use debugger::attached::{Attached, Wishes};
use debugger::files::Files;
use debugger::{Printed, Program};
use driver::debug::{Debugging, Execute};
use machine::output::Output;
use machine::{Launch, LaunchError, LaunchReport, LoadedModule, SchedulerKind};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// The longest line in which somebody says what is wanted.
const LONGEST: u64 = 1 << 20;

struct Debugger(Attached<Files>);

/// The debugger that the environment asks for. A socket where nobody listens is that of another process of the program.
pub(crate) fn wanted() -> Option<Arc<dyn Debugging>> {
    let path = std::env::var_os("WARPLOOM_DEBUG").filter(|path| !path.is_empty())?;
    let stream = match UnixStream::connect(&path) {
        Ok(stream) => stream,
        Err(error) => {
            log::info!("WARPLOOM_DEBUG: {}: {error}", path.display());
            return None;
        }
    };
    attach(stream).map_err(|error| log::error!("WARPLOOM_DEBUG: {error}")).ok()
}

fn attach(stream: UnixStream) -> std::io::Result<Arc<dyn Debugging>> {
    let mut from = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    from.by_ref().take(LONGEST).read_line(&mut line)?;
    let wishes = serde_json::from_str(&line).ok().and_then(|value| Wishes::read(&value));
    let wishes = wishes.ok_or_else(|| std::io::Error::other("what is wanted cannot be understood"))?;
    let sources = Files::new(wishes.folders.clone());
    let printed = Printed::new(std::io::stdout());
    Ok(Arc::new(Debugger(Attached::new(wishes, from, stream, sources, printed)?)))
}

impl Debugging for Debugger {
    fn output(&self) -> Output {
        Output::new(self.0.printed().clone())
    }

    fn wants(&self, launch: &Launch<'_>) -> bool {
        self.0.wants(launch.kernel.name())
    }

    fn launch(
        &self,
        device: &Arc<machine::Device>,
        module: &Arc<LoadedModule>,
        launch: &Launch<'_>,
        execute: &Execute<'_>,
    ) -> Result<LaunchReport, LaunchError> {
        let program = Program {
            device: Arc::clone(device),
            loaded: Arc::clone(module),
            kernel: launch.kernel.name().to_owned(),
            grid: launch.grid,
            block: launch.block,
            cluster: launch.cluster,
            nonportable_cluster: launch.nonportable_cluster,
            dynamic_shared: launch.dynamic_shared,
            params: launch.params.clone(),
            scheduler: SchedulerKind::default(),
            budget: None,
            checks: None,
        };
        self.0.launch(program, execute)
    }
}
