//! Every file of `tests/run` and `tests/clang`, at every vector level of this host; and of `tests/nvcc`, where
//! `WARPLOOM_NVCC_PTX` names the folder with what nvcc made of them (`cargo xtask corpus --nvcc PATH` does).
//!
//! The machine chooses its vector level once a process, so this program runs itself once for each level, unless
//! `WARPLOOM_SIMD` names one. Arguments are those of `cargo test`: a part of a file's name chooses.

use filetest::schedule::{Choice, level_name};
use libtest_mimic::{Arguments, Failed, Trial};
use machine::lanes::simd::Level;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use walkdir::WalkDir;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let best = Level::detect();
    if std::env::var_os("WARPLOOM_SIMD").is_some() || arguments.list {
        return run(arguments, best);
    }
    let levels = match best {
        Level::Baseline => &[Level::Baseline][..],
        Level::Avx2 => &[Level::Baseline, Level::Avx2],
        Level::Avx512 => &[Level::Baseline, Level::Avx2, Level::Avx512],
    };
    let mut failed = false;
    for &level in levels {
        let mut again = Command::new(std::env::current_exe().expect("the running program has a path"));
        again.args(std::env::args_os().skip(1)).env("WARPLOOM_SIMD", level_name(level));
        failed |= !again.status().is_ok_and(|status| status.success());
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn run(arguments: Arguments, level: Level) -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // Names of tests, and of files in messages, are paths from the root of the repository.
    std::env::set_current_dir(&root).expect("the repository is there");
    let schedules = match Choice::from_environment() {
        Ok(schedules) => schedules,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::FAILURE;
        }
    };
    let trials = files().into_iter().map(|(file, ptx)| {
        let name = file.display().to_string();
        let run = move || filetest::run_file(&file, &ptx, &schedules).map_err(Failed::from);
        Trial::test(name, run).with_kind(level_name(level))
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

/// Files with directives, in order, each with the file of its program.
fn files() -> Vec<(PathBuf, PathBuf)> {
    let under = |folder: &str, extension: &'static str| {
        let entries =
            WalkDir::new(folder).max_depth(2).sort_by_file_name().into_iter().filter_map(Result::ok);
        let paths = entries.map(walkdir::DirEntry::into_path);
        paths.filter(move |path| path.extension().is_some_and(|e| e == extension)).collect::<Vec<_>>()
    };
    let beside = |file: PathBuf| (file.clone(), file.with_extension("ptx"));
    let mut files: Vec<_> =
        under("tests/run", "ptx").into_iter().chain(under("tests/clang", "cu")).map(beside).collect();
    if let Some(made) = std::env::var_os("WARPLOOM_NVCC_PTX").map(PathBuf::from) {
        for file in under("tests/nvcc", "cu")
            .into_iter()
            .filter(|file| file.parent().is_some_and(|folder| !folder.ends_with("compile-only")))
        {
            let ptx = made.join(file.with_extension("ptx").file_name().unwrap_or_default());
            files.push((file, ptx));
        }
    }
    files
}
