//! The public PTX suite of Dartagnan, if it is at hand: `WARPLOOM_LITMUS_SUITE` names a checkout of its repository.

use memory_model::answer::{Options, Question};
use memory_model::checker::Checker;
use memory_model::dialect;
use memory_model::language::Version;
use memory_model::model::{Family, Model};
use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs};

const TABLES: [(&str, Version, bool); 4] = [
    ("PTXv6_0", Version(6, 0), false),
    ("PTXv7_5", Version(7, 5), false),
    ("PTXv6_0-Liveness", Version(6, 0), true),
    ("PTXv7_5-Liveness", Version(7, 5), true),
];

#[test]
fn every_expected_row_is_met() {
    let Some(root) = env::var_os("WARPLOOM_LITMUS_SUITE") else {
        println!("SKIPPED: 581 rows of the public suite; set WARPLOOM_LITMUS_SUITE");
        return;
    };
    let root = Path::new(&root);
    let (mut rows, mut slowest) = (0, Duration::ZERO);
    let (mut certified, mut checking, mut slowest_certificate) = (0, Duration::ZERO, Duration::ZERO);
    let begin = Instant::now();
    for (table, version, liveness) in TABLES {
        let model = Model::new(Family::Dartagnan, version).unwrap();
        let table = root.join(format!("dartagnan/src/test/resources/{table}-expected.csv"));
        for row in fs::read_to_string(table).unwrap().lines().filter(|row| !row.trim().is_empty()) {
            let (file, expected) = row.split_once(',').unwrap();
            let start = Instant::now();
            let program = dialect::parse(&fs::read_to_string(root.join(file)).unwrap()).unwrap();
            let question = Question::new(&program, &model, Options::default());
            let verdict = (!liveness).then(|| question.verdict().unwrap());
            let found = match &verdict {
                Some(verdict) => verdict.holds,
                None => question.liveness().unwrap().terminates,
            };
            assert_eq!(found, expected.trim() == "1", "{file} under {model}");
            slowest = slowest.max(start.elapsed());
            rows += 1;
            if let Some(verdict) = &verdict {
                let start = Instant::now();
                let checker = Checker::new(&program, model.family, model.version, Options::default().bound);
                let certificate = question.certificate(verdict).unwrap();
                assert!(checker.accepts(&certificate), "{file} under {model}: the certificate is rejected");
                slowest_certificate = slowest_certificate.max(start.elapsed());
                certified += 1;
                checking += start.elapsed();
            }
        }
    }
    println!("{rows} rows in {:?}, the slowest {slowest:?}", begin.elapsed() - checking);
    println!(
        "{certified} certificates made and checked in {checking:?}, the slowest {slowest_certificate:?}"
    );
    assert_eq!(rows, 581);
}
