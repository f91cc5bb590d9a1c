//! What the console shows of lanes that part, of calls, and of calls that were inlined.

mod common;

use common::{Nowhere, PARTING, shown};
use debugger::Console;

fn console(text: &str, kernel: &str, block: u32, pointers: usize, numbers: &[u32]) -> Console<Nowhere> {
    common::console(text, kernel, [1, block], None, pointers, numbers)
}

/// Eight lanes go one way, 24 the other: where each is, what it waits for, where they meet; and that they do.
#[test]
fn parted_lanes_are_shown() {
    let mut console = console(PARTING, "part", 32, 1, &[]);
    shown(&mut console, "break ptx:13");
    shown(&mut console, "break ptx:16");
    shown(&mut console, "run");
    // One side has begun, the other one is ready or waits; no lane has come to the meeting yet, or all of one side.
    let warps = shown(&mut console, "info cuda warps");
    assert!(warps.contains("of ffffffff at part, ptx:18"), "{warps}");
    let lanes = shown(&mut console, "info cuda lanes");
    let (few, many) = (lanes.matches("part, ptx:16").count(), lanes.matches("part, ptx:13").count());
    assert_eq!((few, many), (8, 24), "{lanes}");
    shown(&mut console, "continue");
    // The first side waits where they meet.
    let threads = shown(&mut console, "info cuda threads");
    assert!(threads.contains("waits where lanes meet again"), "{threads}");
    shown(&mut console, "tbreak ptx:18");
    shown(&mut console, "continue");
    // Lanes 0 to 7 have 5 - lane, the others 5 + lane.
    let table = shown(&mut console, "lanes/d (int)%r2");
    for lane in 0..32_i32 {
        let value = if lane < 8 { 5 - lane } else { 5 + lane };
        let line = table.lines().find(|line| line[1..].starts_with(&format!("{lane} ")));
        assert!(line.is_some_and(|line| line.ends_with(&format!("  {value}"))), "{lane}: {table}");
    }
    let all = shown(&mut console, "info cuda threads");
    assert!(all.contains("ffffffff"), "{all}");
}

/// Into a function, out of it, and back into it backwards.
#[test]
fn calls_are_stepped_into_and_out_of() {
    let text = include_str!("../../cli/tests/debug/total.ptx");
    let mut console = console(text, "_Z3sumPiPKi", 32, 2, &[]);
    shown(&mut console, "break 9");
    shown(&mut console, "run");
    assert!(shown(&mut console, "step").contains("add(int*, int) at total.cu"));
    let calls = shown(&mut console, "backtrace");
    assert!(
        calls.starts_with("*#0 add(int*, int)") && calls.contains(" #1 sum(int*, int const*) at total.cu:9"),
        "{calls}"
    );
    assert!(shown(&mut console, "finish").contains("] sum(int*, int const*) at total.cu:9"));
    assert!(shown(&mut console, "reverse-step").contains("] add(int*, int) at total.cu"));
    assert!(shown(&mut console, "reverse-finish").contains("] sum(int*, int const*) at total.cu:9"));
    assert!(shown(&mut console, "next").contains("] sum(int*, int const*) at total.cu:10"));
    assert!(shown(&mut console, "reverse-next").contains("] sum(int*, int const*) at total.cu:9"));
}

/// A call that was inlined is a frame, and is stepped over as one.
#[test]
fn inlined_calls_are_frames() {
    let text = include_str!("../../debug-info/tests/samples/nvcc-lineinfo.ptx");
    let mut console = console(text, "_Z6smoothIfEvPT_PKfi", 32, 2, &[32]);
    shown(&mut console, "tbreak 12");
    assert!(shown(&mut console, "run").contains("] scaled(int, int) at /src/sample.cu:12"));
    let calls = shown(&mut console, "backtrace");
    let expected = "*#0 scaled(int, int) at /src/sample.cu:12 (inlined)\n \
                    #1 void smooth<float>(float*, float const*, int) at /src/sample.cu:30\n";
    assert_eq!(calls, expected);
    assert!(shown(&mut console, "next").contains("scaled(int, int) at /src/sample.cu:13"));
    let out = shown(&mut console, "finish");
    assert!(out.contains("] void smooth<float>(float*, float const*, int) at /src/sample.cu:30"), "{out}");
}

/// Assignments at the console: a value, what is said when one is undone, what is no assignment.
#[test]
fn assignments_are_typed() {
    let text = include_str!("../../cli/tests/debug/total.ptx");
    let mut console = console(text, "_Z3sumPiPKi", 32, 2, &[]);
    shown(&mut console, "break 8");
    shown(&mut console, "run");
    assert_eq!(shown(&mut console, "print/x *total = 31"), "0x1f\n");
    shown(&mut console, "set var *total = *total + 1");
    assert_eq!(shown(&mut console, "print *total"), "32\n");
    assert_eq!(shown(&mut console, "print *total == 32"), "1\n");
    let back = shown(&mut console, "reverse-step");
    assert!(back.starts_with("2 assignments are undone: the launch is as it was without them.\n"), "{back}");
    assert_eq!(shown(&mut console, "print *total"), "0\n");
    let refused = console.follow("set var 7 = 1");
    assert!(refused.failed, "{}", refused.text);
    assert!(console.follow("set *total").text.starts_with("set takes"));
}
