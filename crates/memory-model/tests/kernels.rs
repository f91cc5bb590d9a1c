//! Kernels that nvcc compiled, of small launches, each with twins that have a mistake planted.
//!
//! `kernels/cases.txt` says what is expected. `nvcc -arch=sm_90 -std=c++17 -O3 -ptx` makes the modules of the programs beside.

use memory_model::answer::{Options, Question};
use memory_model::checker::Checker;
use memory_model::from_kernel::{self, Buffer, Launch};
use memory_model::model::{Family, Model};
use std::collections::BTreeSet;
use std::time::Instant;

/// The parameters of a launch: their bytes, and the buffers.
fn parameters(text: &str) -> (Vec<u8>, Vec<Buffer>) {
    let (mut bytes, mut buffers) = (Vec::new(), Vec::new());
    for word in text.split_whitespace() {
        let Some((name, rest)) = word.split_once('[') else {
            bytes.extend(word.parse::<u32>().unwrap().to_le_bytes());
            continue;
        };
        let (name, element) = name.split_once(':').map_or((name, 4), |(name, _)| (name, 8));
        let (count, fill) = rest.split_once(']').unwrap();
        let fill: u64 = fill.strip_prefix('=').map_or(0, |fill| fill.parse().unwrap());
        let one = &fill.to_le_bytes()[..element];
        let address = 0x7000_0000_0000 + 0x1000 * buffers.len() as u64;
        let contents = one.repeat(count.parse().unwrap());
        bytes.extend(address.to_le_bytes());
        buffers.push(Buffer { name: name.to_owned(), address, bytes: contents, element: element as u32 });
    }
    (bytes, buffers)
}

fn findings(
    file: &str,
    kernel: &str,
    shape: &str,
    arguments: &str,
    condition: &str,
) -> BTreeSet<&'static str> {
    let path = format!("{}/tests/kernels/{file}.ptx", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    let module = ptx::compile(&ptx::source::Source::new(path, text)).into_result().unwrap().0;
    let (grid, block) = shape.split_once('x').unwrap();
    let (parameters, buffers) = parameters(arguments);
    let launch = Launch {
        kernel: kernel.to_owned(),
        grid: [grid.parse().unwrap(), 1, 1],
        block: [block.parse().unwrap(), 1, 1],
        cluster: [1; 3],
        shared: 0,
        parameters,
        buffers,
        condition: Some(condition.to_owned()),
    };
    let test =
        from_kernel::parse(&module, &launch).unwrap_or_else(|error| panic!("{file} {kernel}: {error}"));
    let model = Model::new(Family::Isa, test.version).unwrap();
    let options = Options::default();
    let mut found = BTreeSet::new();
    let failing = test.failing();
    for (program, name) in [(Some(&test.program), "condition"), (failing.as_ref(), "fails")] {
        let Some(program) = program else { continue };
        let question = Question::new(program, &model, options);
        let verdict = question.verdict().unwrap();
        let certificate = question.certificate(&verdict).unwrap();
        let checker = Checker::new(program, model.family, model.version, options.bound);
        assert!(checker.accepts(&certificate), "{file} {kernel}: the certificate is rejected");
        if !verdict.holds {
            found.insert(name);
        }
        if verdict.truncated {
            found.insert("bounded");
        }
    }
    let question = Question::new(&test.program, &model, options);
    if question.race().unwrap().is_some() {
        found.insert("race");
    }
    let liveness = question.liveness().unwrap();
    if !liveness.terminates {
        found.insert("stuck");
    }
    if liveness.truncated {
        found.insert("bounded");
    }
    found
}

#[test]
fn planted_mistakes_are_found_and_nothing_else() {
    let cases = include_str!("kernels/cases.txt");
    let only = std::env::var("KERNELS_ONLY").ok();
    let mut wrong = Vec::new();
    let mut count = 0;
    for case in cases.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let parts: Vec<&str> = case.split(" : ").map(str::trim).collect();
        let [launch, arguments, condition, expected] = parts[..] else { panic!("{case}") };
        let words: Vec<&str> = launch.split_whitespace().collect();
        let [file, kernel, shape] = words[..] else { panic!("{case}") };
        if only.as_ref().is_some_and(|only| !launch.contains(only.as_str())) {
            continue;
        }
        let expected: BTreeSet<&str> = expected.split_whitespace().filter(|word| *word != "clean").collect();
        let begin = Instant::now();
        let found = findings(file, kernel, shape, arguments, condition);
        println!("{:9.1} ms  {launch}: {found:?}", begin.elapsed().as_secs_f64() * 1e3);
        if found != expected {
            wrong.push(format!("{launch}: {found:?}, expected {expected:?}"));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 40 || only.is_some());
}
