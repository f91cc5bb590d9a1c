//! Where lanes that a branch has parted come together again.

use ptx::source::Source;
use ptxas::{Level, Options};

/// Quicksort of a row by each lane, in a function that calls itself: its loops leave lanes apart at each level. Where they did not meet
/// inside, an H100 executed three times the instructions. No thread waits for others in this kernel.
#[test]
fn lanes_meet_in_a_function_that_calls_itself() {
    let source = Source::new("sort.ptx", include_str!("../../../tests/clang/sort.ptx"));
    let module = ptx::compile(&source).module.expect("it is right");
    let options = Options { text: true, ..Level::Overlapped.into() };
    let compiled = ptxas::compile_entries(&module, options, |name| name == "sort_rows").expect("compiled");
    let meetings = |name: &str| compiled.text.matches(&format!("{name} B")).count();
    assert!(meetings("BSSY") >= 3 && meetings("BSYNC") >= 3, "{}", compiled.text);
}
