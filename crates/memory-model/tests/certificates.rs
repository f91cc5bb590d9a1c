//! The certificates of random tests: each is accepted, and none of its damaged copies is.

use memory_model::answer::{Options, Question};
use memory_model::certificate::{Certificate, Choices, Name, Proof};
use memory_model::checker::Checker;
use memory_model::dialect;
use memory_model::generate::from_columns;
use memory_model::language::Version;
use memory_model::model::{Family, Model};

const INSTRUCTIONS: [&str; 15] = [
    "st.weak x, 1",
    "st.release.gpu y, 2",
    "st.relaxed.gpu x, r1",
    "st.relaxed.cta y, 3",
    "ld.weak r0, y",
    "ld.acquire.gpu r1, x",
    "ld.relaxed.cta r2, y",
    "atom.acq_rel.gpu.add r3, x, 1",
    "atom.relaxed.gpu.cas r4, y, 0, 5",
    "atom.relaxed.gpu.exch r5, x, 7",
    "red.relaxed.gpu.add y, 2",
    "fence.sc.gpu",
    "fence.acq_rel.gpu",
    "bar.cta.sync 1",
    "bar.cta.sync 2",
];

/// A generator of pseudorandom numbers (xorshift), so that a test is known by its number.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % bound
    }
}

/// The choices with one of them changed into what cannot be.
fn damaged(choices: &Choices) -> Vec<Choices> {
    let mut all = vec![Choices { barriers: None, ..choices.clone() }];
    for reader in choices.sources.keys() {
        let mut without = choices.clone();
        without.sources.remove(reader);
        all.push(without);
        let mut nowhere = choices.clone();
        nowhere.sources.insert(*reader, Name { thread: Some(0), index: 99 });
        all.push(nowhere);
    }
    for &(a, b) in &choices.coherence {
        let mut both = choices.clone();
        both.coherence.insert((b, a));
        all.push(both);
    }
    all
}

/// A proof that ends at once, or lacks the last of its cases.
fn cut(proof: &Proof) -> Vec<Proof> {
    let mut all =
        vec![Proof::Violated("no axiom".into()), Proof::Mirrored(vec![0, 0]), Proof::Mirrored(vec![1, 0])];
    if let Proof::Source { reader, cases, later } = proof {
        let rest = cases[..cases.len().saturating_sub(1)].to_vec();
        all.push(Proof::Source { reader: *reader, cases: rest, later: later.clone() });
    }
    all
}

fn certify(tests: u64) {
    let models =
        [(Family::Isa, Version(8, 6)), (Family::Isa, Version(7, 4)), (Family::Dartagnan, Version(7, 5))];
    for (family, version) in models {
        let model = Model::new(family, version).unwrap();
        let (mut executions, mut proofs, mut rejected) = (0, 0, 0);
        for number in 1..=tests {
            let mut random = Random(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let place = ["cta 0,gpu 0", "cta 1,gpu 0"];
            let places: Vec<&str> = (0..2 + random.below(2)).map(|_| place[random.below(2)]).collect();
            let mut column = || {
                let length = 1 + random.below(3);
                let one = |_| INSTRUCTIONS[random.below(INSTRUCTIONS.len())];
                (0..length).map(one).collect::<Vec<_>>().join(";")
            };
            let columns: Vec<String> = places.iter().map(|_| column()).collect();
            let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
            let text = from_columns("random", &places, &columns);
            let program = dialect::parse(&text).unwrap();
            let question = Question::new(&program, &model, Options::default());
            let checker = Checker::new(&program, family, version, Options::default().bound);
            let certificate = question.certificate(&question.verdict().unwrap()).unwrap();
            assert!(checker.accepts(&certificate), "{model}, test {number}: {certificate:?}\n{text}");
            let wrong: Vec<Certificate> = match &certificate {
                Certificate::Execution(choices) => {
                    executions += 1;
                    damaged(choices).into_iter().map(Certificate::Execution).collect()
                }
                Certificate::Proof(proof) => {
                    proofs += 1;
                    cut(proof).into_iter().map(Certificate::Proof).collect()
                }
            };
            for wrong in wrong {
                assert!(!checker.accepts(&wrong), "{model}, test {number}: {wrong:?}\n{text}");
                rejected += 1;
            }
        }
        println!(
            "{model}: {executions} executions and {proofs} proofs accepted, {rejected} damaged ones rejected"
        );
        assert!(executions > tests / 20 && proofs > tests / 20 && rejected > tests);
    }
}

#[test]
fn certificates_of_random_tests() {
    certify(500);
}

#[test]
#[ignore = "minutes; run with -- --ignored"]
fn certificates_of_twenty_thousand_random_tests() {
    certify(20_000);
}
