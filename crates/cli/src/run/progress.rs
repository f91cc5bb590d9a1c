//! A progress bar for launches and sweeps that take long: on a terminal, after half a second.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// Before a bar is worth the flicker.
const PATIENCE: Duration = Duration::from_millis(500);
const REFRESH: Duration = Duration::from_millis(100);

/// Told how many are done.
pub(crate) type Report<'a> = &'a (dyn Fn(u64) + Sync);

/// Runs `work` with a bar for so many of what it is made of, or a count if nobody knows how many those are (0); `what` names those, and the
/// whole.
pub(crate) fn watch(total: u64, what: (&str, &str), work: impl FnOnce(Option<Report<'_>>)) {
    if !std::io::stderr().is_terminal() {
        return work(None);
    }
    let done = AtomicU64::new(0);
    let (working, over) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let done = &done;
        scope.spawn(move || show(total, what, done, &over));
        work(Some(&|n| {
            done.fetch_max(n, Relaxed);
        }));
        drop(working);
    });
}

/// Draws until the other end of the channel is dropped.
fn show(total: u64, (parts, whole): (&str, &str), done: &AtomicU64, over: &mpsc::Receiver<()>) {
    if over.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
        return;
    }
    let template = match total {
        0 => format!("{{msg}}: {{human_pos}} {parts}, {{elapsed}}"),
        _ => format!("{{msg}} [{{wide_bar}}] {{human_pos}}/{{human_len}} {parts}, {{elapsed}} + {{eta}}"),
    };
    let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    bar.set_style(style.progress_chars("=> "));
    bar.set_message(whole.to_owned());
    while over.recv_timeout(REFRESH) == Err(RecvTimeoutError::Timeout) {
        bar.set_position(done.load(Relaxed));
        bar.tick();
    }
    bar.finish_and_clear();
}
