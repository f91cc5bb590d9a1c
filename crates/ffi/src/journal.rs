//! What a library says beside the results of its functions.
//!
//! `WARPLOOM_LOG=LEVEL` or `WARPLOOM_LOG=LEVEL:FILE`:
//!
//! | level | what is added |
//! | --- | --- |
//! | `off` | nothing is said |
//! | `error` | faults of kernels, failures of ours |
//! | `warn` | functions that are not implemented, code that is refused; this is the default |
//! | `info` | devices, modules with their kernels |
//! | `debug` | launches, as they begin |
//! | `trace` | every call with its arguments and its result, as with `WARPLOOM_TRACE=api` |
//!
//! `WARPLOOM_TRACE=code` adds the text of LLVM that each compiled kernel becomes.
//!
//! Standard error gets the plain message. In a file a line begins with the seconds since the start and the level; a file
//! that exists is continued, since a program may start others.

use env_logger::{Builder, Target};
use log::LevelFilter;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::OnceLock;
use std::time::Instant;

/// The target of what `WARPLOOM_TRACE=api` asks for.
pub const API: &str = "api";

/// What the environment asks for.
#[derive(Debug, PartialEq, Eq)]
struct Wish<'a> {
    level: LevelFilter,
    file: Option<&'a str>,
    /// What was not understood.
    wrong: Option<&'a str>,
}

/// `LEVEL` or `LEVEL:FILE`.
fn wish(text: &str) -> Wish<'_> {
    let (level, file) = text.split_once(':').map_or((text, None), |(level, file)| (level, Some(file)));
    match level.trim() {
        "" => Wish { level: LevelFilter::Warn, file, wrong: None },
        name => match name.parse() {
            Ok(level) => Wish { level, file, wrong: None },
            Err(_) => Wish { level: LevelFilter::Warn, file, wrong: Some(name) },
        },
    }
}

/// Begins to log, once; whether calls are logged.
pub fn calls_are_logged() -> bool {
    static CALLS: OnceLock<bool> = OnceLock::new();
    *CALLS.get_or_init(start)
}

fn start() -> bool {
    let variable = |name| std::env::var(name).unwrap_or_default();
    let trace = variable("WARPLOOM_TRACE");
    let traces = |name: &str| trace.split(',').any(|word| word.trim() == name);
    let traced = traces(API);
    let text = variable("WARPLOOM_LOG");
    let wish = wish(&text);
    let mut builder = Builder::new();
    builder.filter_level(wish.level.min(LevelFilter::Debug));
    if traced || wish.level == LevelFilter::Trace {
        builder.filter_module(API, LevelFilter::Trace);
    }
    if traces("code") {
        builder.filter_module("jit", LevelFilter::Trace);
    }
    let opened = wish.file.map(|path| OpenOptions::new().create(true).append(true).open(path));
    let failed = match opened {
        Some(Ok(file)) => {
            let begin = Instant::now();
            let form = move |line: &mut env_logger::fmt::Formatter, record: &log::Record<'_>| {
                let seconds = begin.elapsed().as_secs_f64();
                writeln!(line, "{seconds:.6} {} {}", record.level().as_str().to_lowercase(), record.args())
            };
            builder.format(form).target(Target::Pipe(Box::new(file)));
            None
        }
        other => {
            builder.format(|line, record| writeln!(line, "warploom: {}", record.args()));
            other.and_then(Result::err)
        }
    };
    // The library has its own copy of the crate `log`, so that nobody else can have set a logger.
    let _ = builder.try_init();
    if let Some(name) = wish.wrong {
        log::warn!(
            "WARPLOOM_LOG: `{name}` is not a level; there are off, error, warn, info, debug and trace"
        );
    }
    if let (Some(error), Some(path)) = (failed, wish.file) {
        log::warn!("WARPLOOM_LOG: {path}: {error}");
    }
    traced || wish.level == LevelFilter::Trace
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_and_a_file() {
        let plain = |level| Wish { level, file: None, wrong: None };
        assert_eq!(wish(""), plain(LevelFilter::Warn));
        assert_eq!(wish("off"), plain(LevelFilter::Off));
        assert_eq!(wish("Debug"), plain(LevelFilter::Debug));
        assert_eq!(wish("info:/tmp/a:b"), Wish { file: Some("/tmp/a:b"), ..plain(LevelFilter::Info) });
        assert_eq!(wish(":x"), Wish { file: Some("x"), ..plain(LevelFilter::Warn) });
        assert_eq!(wish("loud"), Wish { wrong: Some("loud"), ..plain(LevelFilter::Warn) });
    }
}
