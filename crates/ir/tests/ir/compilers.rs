//! What is found in the PTX that compilers print for ordinary kernels, `tests/ir/compilers`, against what their source says.

use ir::analysis::{Analysis, Note};
use ir::shape::converged::Pattern;
use ir::{Function, Group, LaneOrder};
use ptx::isa::Access;
use ptx::module::FuncId;
use std::collections::BTreeSet;
use std::path::Path;

/// The accesses of a kernel, `load global: contiguous`, once each, and how its branches go.
fn accesses(file: &str, kernel: &str, block: [u32; 3]) -> (BTreeSet<String>, Vec<Option<Group>>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ir/compilers").join(file);
    let module = crate::compile::compile(file, &std::fs::read_to_string(path).unwrap());
    let id = module.functions.iter().position(|function| function.name == kernel).unwrap();
    let function = Function::lower(&module, FuncId(id as u32)).unwrap();
    let analysis = Analysis::new(&function, LaneOrder::of_block(block)).unwrap();
    assert!(!analysis.progress.needs_lanes() && !analysis.progress.needs_turns(), "{file} {kernel}");
    let (mut found, mut branches) = (BTreeSet::new(), vec![]);
    for (index, notes) in analysis.notes() {
        let op = &function.instruction(index).unwrap().op;
        for note in notes {
            match note {
                Note::Branch(group) => branches.push(group),
                Note::Access(pattern, ..) => {
                    let effect = &op.effects().memory[0];
                    let access = if effect.access == Access::Load { "load" } else { "store" };
                    let mut space = "";
                    op.fields(&mut |_, field| {
                        if let ir::instruction::FieldValue::Address(address) = field {
                            space = address.space.name();
                        }
                    });
                    let pattern = match pattern {
                        Pattern::Uniform(_) => "one address".to_owned(),
                        other => other.to_string(),
                    };
                    found.insert(format!("{access} {space}: {pattern}"));
                }
                _ => {}
            }
        }
    }
    (found, branches)
}

/// Checks the accesses that a kernel has, whichever compiler printed it.
fn check(kernel: &str, block: [u32; 3], expected: &[&str]) {
    for file in ["nvcc.ptx", "clang.ptx"] {
        let (found, _) = accesses(file, kernel, block);
        assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), expected, "{file} {kernel}");
    }
}

#[test]
fn saxpy_reads_and_writes_neighbours_in_every_round() {
    check("saxpy", [256, 1, 1], &["load global: contiguous", "store global: contiguous"]);
}

#[test]
fn transpose_reads_its_tile_by_columns() {
    // A row of the tile has 33 floats.
    let tile = "load shared: 132 bytes apart";
    let rows = ["load global: contiguous", tile, "store global: contiguous", "store shared: contiguous"];
    check("transpose", [32, 8, 1], &rows);
}

#[test]
fn a_tiled_product_reads_one_element_of_a_row_and_neighbours_of_a_column() {
    let expected = [
        "load global: contiguous",
        "load shared: contiguous",
        "load shared: one address",
        "store global: contiguous",
        "store shared: contiguous",
    ];
    check("sgemm", [32, 32, 1], &expected);
    // Of its loops all threads run the same rounds; which threads copy tiles differs.
    for file in ["nvcc.ptx", "clang.ptx"] {
        let (_, branches) = accesses(file, "sgemm", [32, 32, 1]);
        assert!(branches.iter().filter(|way| **way == Some(Group::Grid)).count() >= 2, "{file} {branches:?}");
        assert!(branches.contains(&None), "{file} {branches:?}");
    }
}

#[test]
fn softmax_reads_rows_as_neighbours_unless_lanes_have_skipped_rounds() {
    let rows = ["load global: contiguous", "store global: contiguous"];
    let (found, _) = accesses("clang.ptx", "softmax", [32, 1, 1]);
    assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), rows);
    // nvcc unrolls by four behind a loop that takes what is left over. How much that is differs between lanes, so that
    // behind it each stands in a round of its own.
    let (found, _) = accesses("nvcc.ptx", "softmax", [32, 1, 1]);
    let both = [rows[0], "load global: scattered", rows[1], "store global: scattered"];
    assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), both);
}

#[test]
fn triton_reads_vectors_side_by_side() {
    let rows = ["load global: contiguous", "store global: contiguous"];
    let (found, _) = accesses("triton-add.ptx", "add", [128, 1, 1]);
    assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), rows);
    let (found, _) = accesses("triton-softmax.ptx", "softmax", [128, 1, 1]);
    assert!(found.contains(rows[0]) && found.contains(rows[1]), "{found:?}");
}
