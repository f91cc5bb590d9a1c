//! The command that shows a fault again.

/// The command line that runs the same again with one host thread and this scheduler.
pub(crate) fn command(command: impl IntoIterator<Item = String>, scheduler: &str) -> String {
    let mut words = command.into_iter();
    let mut kept = vec!["warploom".to_owned()];
    words.next();
    while let Some(word) = words.next() {
        match word.as_str() {
            // What follows `--` are the kernel's arguments.
            "--" => {
                let rest: Vec<_> = std::iter::once(word).chain(words).collect();
                return join(kept, scheduler, rest);
            }
            "--threads" | "--scheduler" => {
                words.next();
            }
            _ if word.starts_with("--threads=") || word.starts_with("--scheduler=") => {}
            _ => kept.push(word),
        }
    }
    join(kept, scheduler, Vec::new())
}

fn join(mut words: Vec<String>, scheduler: &str, rest: Vec<String>) -> String {
    words.extend(["--threads", "1", "--scheduler", scheduler].map(str::to_owned));
    words.extend(rest);
    // A command line has no zero byte, all that cannot be quoted.
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_replay_replaces_threads_and_scheduler() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            command(
                words("/x/warploom run k.ptx --threads 4 --scheduler=adversarial zeros:f32[4] 1"),
                "random:7"
            ),
            "warploom run k.ptx 'zeros:f32[4]' 1 --threads 1 --scheduler random:7"
        );
        assert_eq!(
            command(words("warploom run k.ptx -- -1 --threads"), "round-robin"),
            "warploom run k.ptx --threads 1 --scheduler round-robin -- -1 --threads"
        );
    }
}
