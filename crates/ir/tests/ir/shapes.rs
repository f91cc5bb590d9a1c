//! Shapes in the files of `tests/ir/shapes`.
//!
//! `// block: x y z` gives the dimensions of a CTA. `//= shape` behind an instruction is the shape of what it reads from the
//! base of its address, if it has an address in a register, and else of the first register that it writes as a whole:
//! `invariant`, `varying`, `affine 4`, or `affine 4 in 16` for groups of 16 lanes.

use ir::{Access, Cfg, Function, LaneOrder, Shape, Shapes};
use ptx::module::{AddressBase, FuncId, Operand};
use std::path::Path;

/// What an annotation is about.
fn subject(function: &Function<'_>, index: u32, shapes: &Shapes) -> (Shape, u32) {
    let body = function.body;
    let base = body.operands(&body.instructions[index as usize]).iter().find_map(|operand| match operand {
        Operand::Address { base: AddressBase::Register(register), .. } => Some(*register),
        _ => None,
    });
    if let Some(base) = base {
        return shapes.at(index, base);
    }
    let mut written = None;
    function.registers(index, &mut |register, access| {
        if access != Access::Read {
            written = written.or(Some(register));
        }
    });
    let written = written.unwrap();
    (shapes.of(written), shapes.lanes(written))
}

fn describe((shape, lanes): (Shape, u32)) -> String {
    let lanes = match lanes {
        32 => String::new(),
        lanes => format!(" in {lanes}"),
    };
    match shape {
        Shape::Invariant => "invariant".to_owned(),
        Shape::Affine { stride } => format!("affine {stride}{lanes}"),
        Shape::Varying => "varying".to_owned(),
    }
}

/// Checks the annotations of a file and counts them.
fn check(path: &Path) -> usize {
    let text = std::fs::read_to_string(path).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    let block: Vec<u32> = text
        .lines()
        .find_map(|line| line.strip_prefix("// block: "))
        .unwrap_or_else(|| panic!("{name} has no block"))
        .split(' ')
        .map(|size| size.parse().unwrap())
        .collect();
    let module = crate::compile::compile(name, &text);
    let mut annotations = 0;
    for id in (0..module.functions.len() as u32).map(FuncId) {
        let Some(function) = Function::lower(&module, id) else { continue };
        let cfg = Cfg::new(&function);
        let shapes = Shapes::new(&function, &cfg, LaneOrder::of_block([block[0], block[1], block[2]]));
        for (index, instruction) in (0..).zip(&function.body.instructions) {
            let (line, _) = module.source.line_column(instruction.span.start);
            let written = text.lines().nth(line as usize - 1).unwrap();
            let Some((_, expected)) = written.split_once("//= ") else { continue };
            let found = describe(subject(&function, index, &shapes));
            assert_eq!(found, expected, "{name}:{line}: {written}");
            annotations += 1;
        }
    }
    assert_eq!(annotations, text.matches("//= ").count(), "{name} has annotations behind no instruction");
    annotations
}

#[test]
fn annotated_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ir/shapes");
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let annotations: usize = files.iter().map(|path| check(path)).sum();
    assert!(files.len() >= 6 && annotations > 100);
}
