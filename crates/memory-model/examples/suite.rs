//! scratch runner
#![allow(warnings)]
use memory_model::{answer::*, dialect, language::Version, model::*};
use std::time::Instant;
fn main() {
    let dir = std::env::args().nth(1).unwrap();
    let only = std::env::args().nth(2);
    let (mut total, mut ok, mut slow) = (0, 0, Vec::new());
    let start = Instant::now();
    for (name, version, live) in [
        ("PTXv6_0", Version(6, 0), false),
        ("PTXv7_5", Version(7, 5), false),
        ("PTXv6_0-Liveness", Version(6, 0), true),
        ("PTXv7_5-Liveness", Version(7, 5), true),
    ] {
        let model = Model::new(Family::Dartagnan, version).unwrap();
        let text = std::fs::read_to_string(format!("{dir}/dartagnan/src/test/resources/{name}-expected.csv"))
            .unwrap();
        for row in text.lines().filter(|l| !l.trim().is_empty()) {
            let (file, expected) = row.split_once(',').unwrap();
            if only.as_ref().is_some_and(|o| !file.contains(o.as_str())) {
                continue;
            }
            let begin = Instant::now();
            total += 1;
            let source = std::fs::read_to_string(format!("{dir}/{file}")).unwrap();
            let program = match dialect::parse(&source) {
                Ok(p) => p,
                Err(e) => {
                    println!("{file}: {e}");
                    continue;
                }
            };
            let question = Question::new(&program, &model, Options { bound: 1, ..Options::default() });
            let got = if live {
                question.liveness().map(|l| l.terminates)
            } else {
                question.verdict().map(|v| v.holds)
            };
            if !live {
                let options = Options { bound: 1, ..Options::default() };
                for (family, version) in [(Family::Dartagnan, version), (Family::Isa, version)] {
                    let model = Model::new(family, version).unwrap();
                    let question = Question::new(&program, &model, options);
                    let begin = Instant::now();
                    let v = question.verdict().unwrap();
                    let checker = memory_model::checker::Checker::new(&program, family, version, options);
                    let good = match &v.execution {
                        Some(e) => checker.accepts_execution(e),
                        None => {
                            let p = question.proof().unwrap();
                            checker.accepts_proof(p.as_ref().unwrap())
                        }
                    };
                    if !good {
                        println!(
                            "{family:?} {version} {file}: certificate rejected, execution {}",
                            v.execution.is_some()
                        );
                    }
                    if begin.elapsed().as_millis() > 300 {
                        println!("slow {family:?} {version} {file} {:?}", begin.elapsed());
                    }
                    if std::env::args().nth(3).is_some() {
                        let begin = Instant::now();
                        let o = question.outcomes().unwrap();
                        let set: std::collections::BTreeSet<Vec<i64>> =
                            o.list.iter().map(|o| o.values.clone()).collect();
                        if let Some(all) = memory_model::checker::all_outcomes(&checker, &o.terms) {
                            if program.filter.is_none() && set != all {
                                println!("{family:?} {version} {file}: judge {all:?} search {set:?}");
                            }
                        }
                        if begin.elapsed().as_millis() > 1000 {
                            println!("slow judge {file} {:?}", begin.elapsed());
                        }
                    }
                }
            }
            slow.push((begin.elapsed(), file.to_owned()));
            match got {
                Ok(g) if g == (expected.trim() == "1") => ok += 1,
                g => println!("{name} {file}: expected {expected}, got {g:?}"),
            }
        }
    }
    slow.sort();
    println!("{ok} of {total} in {:?}; slowest {:?}", start.elapsed(), &slow[slow.len().saturating_sub(3)..]);
}
