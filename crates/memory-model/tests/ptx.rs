//! Tests written as PTX, in `tests/ptx`: the line `// expect:` says what the model of the module's version answers.

use memory_model::answer::{Options, Question};
use memory_model::checker::Checker;
use memory_model::from_ptx;
use memory_model::model::{Family, Model};
use ptx::source::Source;
use std::fs;
use std::path::Path;

#[test]
fn modules_are_decided() {
    let mut count = 0;
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ptx")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let expected = text.lines().find_map(|line| line.strip_prefix("// expect: ")).unwrap().to_owned();
        let compiled = ptx::compile(&Source::new(name.clone(), text));
        let module = compiled.module.unwrap_or_else(|| panic!("{name}: {:?}", compiled.diagnostics));
        let test = from_ptx::parse(&module).unwrap_or_else(|problem| panic!("{name}:{problem}"));
        assert_eq!(test.program.name, name);
        let model = Model::new(Family::Isa, test.version).unwrap();
        let question = Question::new(&test.program, &model, Options::default());
        let verdict = question.verdict().unwrap();
        let mixed = question.race().unwrap().is_some_and(|race| race.mixed_size);
        let found = match (mixed, verdict.holds) {
            (true, _) => "mixed-size race",
            (_, true) => "holds",
            (_, false) => "does not hold",
        };
        assert_eq!(found, expected, "{name}");
        let checker = Checker::new(&test.program, model.family, model.version, Options::default().bound);
        assert!(checker.accepts(&question.certificate(&verdict).unwrap()), "{name}");
        count += 1;
    }
    assert!(count >= 10);
}
