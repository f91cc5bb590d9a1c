//! Threads that are alike are not tried in each other's place: verdicts are the same as those of a search that tries all.

use memory_model::answer::{Options, Question};
use memory_model::checker::Checker;
use memory_model::dialect;
use memory_model::language::Version;
use memory_model::model::{Family, Model};
use memory_model::program::Term;

/// Lines of code of a thread; `{n}` is a number that may differ between threads, `{s}` a scope.
const CODES: [&[&str]; 10] = [
    &["atom.relaxed.{s}.add r0, x, {n}"],
    &["red.release.{s}.add x, {n}"],
    &["atom.acquire.{s}.exch r0, x, {n}"],
    &["atom.relaxed.{s}.max r0, x, {n}"],
    &["atom.relaxed.{s}.add r0, x, {n}", "st.relaxed.{s} y, r0"],
    &["atom.acquire.{s}.cas r0, x, 0, {n}", "st.weak y, r0"],
    &["ld.relaxed.{s} r0, x", "st.relaxed.{s} x, {n}"],
    &["st.relaxed.{s} x, {n}", "fence.sc.{s}", "ld.relaxed.{s} r0, y", "st.relaxed.{s} y, 1"],
    &["ld.acquire.{s} r0, y", "atom.relaxed.{s}.add r1, x, {n}", "st.release.{s} y, {n}"],
    &["atom.relaxed.{s}.or r0, x, {n}"],
];

/// What another thread does beside.
const OTHERS: [&str; 2] = ["ld.relaxed.gpu r0, x", "st.relaxed.gpu y, 8"];

fn text(code: &[&str], scope: &str, numbers: [u32; 3], other: &str, condition: &str) -> String {
    let mut out =
        "PTX symmetry\n{ x=0; y=0; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 | P2@cta 2,gpu 0 | P3@cta 3,gpu 0 ;\n"
            .to_owned();
    for (row, line) in code.iter().enumerate() {
        let cells = numbers.map(|number| line.replace("{n}", &number.to_string()).replace("{s}", scope));
        let last = if row == 0 { other } else { "" };
        out += &format!(" {} | {last} ;\n", cells.join(" | "));
    }
    out + condition
}

#[test]
fn verdicts_are_those_of_a_search_that_tries_all() {
    let model = Model::new(Family::Isa, Version(8, 6)).unwrap();
    let options = Options::default();
    let mut verdicts = 0;
    for code in CODES {
        for scope in ["gpu", "cta"] {
            for numbers in [[1, 1, 1], [1, 2, 4]] {
                for other in OTHERS {
                    // Conditions on the register of a thread keep it from being like others.
                    for register in ["", " /\\ P0:r0 == 1"] {
                        if !register.is_empty() && code[0].starts_with("red") {
                            continue;
                        }
                        let all = text(code, scope, numbers, other, &format!("exists (x == y{register})"));
                        let program = dialect::parse(&all).unwrap();
                        let outcomes = Question::new(&program, &model, options).outcomes().unwrap();
                        for x in [0, 1, 2, 3, 6, 7] {
                            let asked = format!("exists (x == {x}{register})");
                            let asked = text(code, scope, numbers, other, &asked);
                            let program_x = dialect::parse(&asked).unwrap();
                            let name = |term: &Term| program.term_name(*term);
                            let allowed = outcomes.list.iter().any(|outcome| {
                                outcomes.terms.iter().zip(&outcome.values).all(|(term, value)| {
                                    match &*name(term) {
                                        "x" => *value == x,
                                        "P0:r0" => *value == 1,
                                        _ => true,
                                    }
                                })
                            });
                            let question = Question::new(&program_x, &model, options);
                            let verdict = question.verdict().unwrap();
                            assert_eq!(verdict.holds, allowed, "{asked}");
                            let certificate = question.certificate(&verdict).unwrap();
                            let checker =
                                Checker::new(&program_x, model.family, model.version, options.bound);
                            assert!(checker.accepts(&certificate), "{asked}");
                            verdicts += 1;
                        }
                    }
                }
            }
        }
    }
    assert!(verdicts > 800);
}
