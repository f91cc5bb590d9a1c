//! Pictures of executions: everything lies inside, and no name of an edge lies on a box or on another name.

use memory_model::answer::{Options, Question};
use memory_model::language::Version;
use memory_model::model::{Family, Model};
use memory_model::{dialect, draw};
use std::fs;
use std::path::Path;

/// The value of an attribute of each element that has it, in turn.
fn attribute(line: &str, name: &str) -> Option<f64> {
    let (_, rest) = line.split_once(&format!(" {name}=\""))?;
    rest.split('"').next()?.parse().ok()
}

/// Left, top, right and bottom.
type Area = [f64; 4];

fn meet(a: Area, b: Area) -> bool {
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}

#[test]
fn pictures_are_readable() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/litmus");
    let model = Model::new(Family::Isa, Version(8, 6)).unwrap();
    let mut drawn = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let program = dialect::parse(&fs::read_to_string(&path).unwrap()).unwrap();
        let question = Question::new(&program, &model, Options::default());
        let allowed = question.verdict().unwrap().execution;
        let forbidden = question.forbidden().unwrap();
        let (execution, marked) = match (&allowed, &forbidden) {
            (Some(execution), _) => (&**execution, &[][..]),
            (None, Some(forbidden)) => (&forbidden.execution, &forbidden.edges[..]),
            (None, None) => continue,
        };
        let svg = draw::svg(&program, &model, execution, marked);
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.svg")), &svg).unwrap();
        let (mut width, mut height) = (0.0, 0.0);
        let (mut boxes, mut names) = (Vec::new(), Vec::new());
        for element in svg.split('<') {
            let at = |name: &str| attribute(element, name).unwrap_or(0.0);
            if element.starts_with("svg") {
                (width, height) = (at("width"), at("height"));
            } else if element.starts_with("rect") && element.contains("rx=") {
                boxes.push([at("x"), at("y"), at("x") + at("width"), at("y") + at("height")]);
            } else if element.starts_with("text") && element.contains("class=\"edge\"") {
                let text = element.split('>').nth(1).unwrap();
                let half = text.chars().count() as f64 * 3.6;
                names
                    .push((text.to_owned(), [at("x") - half, at("y") - 10.0, at("x") + half, at("y") + 2.0]));
            }
        }
        assert!(!boxes.is_empty() && !names.is_empty(), "{name}");
        for (i, (text, area)) in names.iter().enumerate() {
            assert!(boxes.iter().all(|other| !meet(*area, *other)), "{name}: {text} {area:?} on a box");
            for (other_text, other) in &names[..i] {
                assert!(!meet(*area, *other), "{name}: {text} {area:?} on {other_text} {other:?}");
            }
        }
        for area in boxes.iter().chain(names.iter().map(|(_, area)| area)) {
            let inside = area[0] >= 0.0 && area[1] >= 0.0 && area[2] <= width && area[3] <= height;
            assert!(inside, "{name}: {area:?} outside of {width} by {height}");
        }
        drawn += 1;
    }
    assert!(drawn > 40, "{drawn}");
}
