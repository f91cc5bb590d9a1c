//! Tables of what functions answer to wrong calls, recorded on a GPU with NVIDIA's libraries and replayed with ours.
//!
//! `answers.c` makes the calls and says what the lines of a table mean. A recording is its output on a machine with an
//! H200; the replay is the same program with the recording as its plan.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// What is not an answer: the call ended its process, or an object that it needs could not be made.
const NO_ANSWERS: [&str; 5] = ["signal", "never", "missing", "unmade", "unasked"];

/// Answers by function and condition, in the order of the table.
fn facts(table: &str) -> Vec<(&str, &str, &str)> {
    let mut function = "";
    let mut facts = Vec::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        match line.strip_prefix("    ").and_then(|fact| fact.split_once(" = ")) {
            Some((condition, answer)) => facts.push((function, condition, answer)),
            None => function = line.split('(').next().unwrap_or(line),
        }
    }
    facts
}

/// Where we answer otherwise: functions with a name or the begin of names (`cuMulticast*`), under conditions if it is not
/// about all of them.
struct Exception<'a> {
    reason: &'a str,
    function: &'a str,
    conditions: Option<Vec<&'a str>>,
}

impl Exception<'_> {
    fn fits(&self, function: &str, condition: &str) -> bool {
        let named = match self.function.strip_suffix('*') {
            Some(begin) => function.starts_with(begin),
            None => function == self.function,
        };
        // `* gone` is about any argument that is gone.
        let meant = |wanted: &&str| match wanted.strip_prefix("* ") {
            Some(other) => condition.split_once(' ').is_some_and(|(_, kind)| kind == other),
            None => condition == *wanted,
        };
        named && self.conditions.as_ref().is_none_or(|wanted| wanted.iter().any(meant))
    }
}

/// Exceptions as a file has them: a line with a reason, and behind it the functions, each on an indented line, with the
/// conditions behind a colon.
struct Exceptions<'a>(Vec<Exception<'a>>);

impl<'a> Exceptions<'a> {
    fn read(text: &'a str) -> Self {
        let mut reason = "";
        let mut all = Vec::new();
        for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
            match line.strip_prefix("    ") {
                None => reason = line,
                Some(which) => {
                    let (function, conditions) =
                        which.split_once(": ").map_or((which, None), |(function, listed)| {
                            (function, Some(listed.split(", ").collect()))
                        });
                    all.push(Exception { reason, function, conditions });
                }
            }
        }
        Self(all)
    }

    /// The number of the exception that a fact is.
    fn of(&self, function: &str, condition: &str) -> Option<usize> {
        self.0.iter().position(|exception| exception.fits(function, condition))
    }
}

/// Asks `library` what the table `name` of the recordings says, and compares; the driver is in `folder`. Files go
/// to `scratch`.
///
/// # Panics
/// If they differ otherwise than the exceptions say, as tests do.
pub fn replay(library: &Path, folder: &Path, name: &str, scratch: &Path) {
    let (table, exceptions) = (format!("{name}.txt"), format!("{name}-exceptions.txt"));
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../libcuda/tests/answers");
    let program = scratch.join("answers");
    let compiled = Command::new("cc")
        .args(["-std=gnu11", "-Wall", "-Werror", "-O1", "-o"])
        .args([&program, &here.join("answers.c")])
        .args(["-ldl", "-lpthread"])
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let jobs = std::thread::available_parallelism().map_or(1, usize::from).to_string();
    let output = Command::new(&program)
        .args([library, &here.join(&table)])
        .arg(jobs)
        .env("LD_LIBRARY_PATH", folder)
        .env("WARPLOOM_LOG", "off")
        .output()
        .unwrap();
    let ours = String::from_utf8(output.stdout).unwrap();
    // For a look at all of it.
    std::fs::write(scratch.join(&table), &ours).unwrap();
    let recorded = std::fs::read_to_string(here.join(&table)).unwrap();
    let exceptions = std::fs::read_to_string(here.join(&exceptions)).unwrap();
    let exceptions = Exceptions::read(&exceptions);
    compare(&facts(&recorded), &facts(&ours), &exceptions);
}

fn compare(recorded: &[(&str, &str, &str)], ours: &[(&str, &str, &str)], exceptions: &Exceptions<'_>) {
    assert_eq!(recorded.len(), ours.len(), "the program makes other calls than those that were recorded");
    let answers = |answer: &str| !NO_ANSWERS.iter().any(|none| answer.starts_with(none));
    let mut wrong = Vec::new();
    let mut excused = vec![0; exceptions.0.len()];
    let (mut asked, mut same) = (0, 0);
    for (recorded, ours) in recorded.iter().zip(ours) {
        let (function, condition, answer) = *recorded;
        assert_eq!((function, condition), (ours.0, ours.1));
        let crashed = ours.2.starts_with("signal") || ours.2 == "never";
        asked += usize::from(answers(answer));
        if !crashed && (!answers(answer) || answer == ours.2) {
            same += usize::from(answers(answer));
        } else if let Some(number) = exceptions.of(function, condition) {
            excused[number] += 1;
        } else {
            wrong.push(format!("{function}: {condition} = {} here, {answer} there", ours.2));
        }
    }
    println!("{same} of {asked} answers are an H200's");
    let mut reasons = BTreeMap::new();
    for (exception, count) in exceptions.0.iter().zip(&excused) {
        *reasons.entry(exception.reason).or_insert(0) += count;
    }
    for (reason, count) in reasons {
        println!("{count}: {reason}");
    }
    assert!(wrong.is_empty(), "{} answers differ:\n{}", wrong.len(), wrong.join("\n"));
    for (Exception { reason, function, conditions }, count) in exceptions.0.iter().zip(&excused) {
        assert!(*count > 0, "`{function}` ({conditions:?}) is no exception any more: {reason}");
    }
}
