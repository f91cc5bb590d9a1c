//! Assignments to what threads have of their own, and what becomes of them.

mod common;

use common::{Nowhere, PARTING, column, console, shown};
use debugger::Console;

fn parting() -> Console<Nowhere> {
    console(PARTING, "part", [1, 32], None, 1, &[])
}

/// The predicate of a branch, before it is executed, in one lane and in another: each goes the other way.
#[test]
fn a_predicate_is_assigned_before_its_branch() {
    let mut console = parting();
    shown(&mut console, "break ptx:12");
    shown(&mut console, "run");
    shown(&mut console, "cuda lane 20");
    shown(&mut console, "set var %p = 1");
    shown(&mut console, "cuda lane 3");
    assert_eq!(shown(&mut console, "print %p = 0"), "false\n");
    shown(&mut console, "delete");
    shown(&mut console, "break ptx:22");
    shown(&mut console, "continue");
    let stored = column(&shown(&mut console, "lanes (int)*(unsigned int *)%rd3"));
    let goes = |lane: i32| lane == 20 || lane < 8 && lane != 3;
    let expected: Vec<_> =
        (0..32).map(|lane| if goes(lane) { 5 - lane } else { 5 + lane }.to_string()).collect();
    assert_eq!(stored, expected);
}

/// A value in all lanes, each its own; an address in one of them, out of the row that they store to; a register that is the same in
/// all threads, in one of them. Going back undoes it.
#[test]
fn registers_are_assigned_lane_by_lane() {
    let mut console = parting();
    shown(&mut console, "break ptx:21");
    shown(&mut console, "run");
    shown(&mut console, "cuda lane 5");
    shown(&mut console, "set var %rd3 = %rd1 + 400");
    let tripled: Vec<_> = (0..32).map(|lane| (3 * lane).to_string()).collect();
    assert_eq!(column(&shown(&mut console, "lanes %r2 = %laneid * 3")), tripled);
    shown(&mut console, "cuda lane 7");
    let whole = shown(&mut console, "print/x %rd1");
    shown(&mut console, "set var %rd1 = 1");
    let bases = column(&shown(&mut console, "lanes/x %rd1"));
    assert_eq!(bases[7], "0x1");
    assert!(bases.iter().enumerate().all(|(lane, base)| lane == 7 || *base == whole.trim()), "{bases:?}");
    shown(&mut console, "stepi");
    assert_eq!(column(&shown(&mut console, "lanes *(unsigned int *)%rd3")), tripled);
    shown(&mut console, "cuda lane 0");
    assert_eq!(shown(&mut console, "print *(unsigned int *)(%rd1 + 20)"), "0\n");
    assert_eq!(shown(&mut console, "print *(unsigned int *)(%rd1 + 400)"), "15\n");
    // At the moment of the assignments they hold; before it they do not, nor when it comes again.
    shown(&mut console, "reverse-stepi");
    assert_eq!(column(&shown(&mut console, "lanes %r2")), tripled);
    let back = shown(&mut console, "reverse-stepi");
    assert!(back.starts_with("3 assignments are undone: the launch is as it was without them.\n"), "{back}");
    shown(&mut console, "stepi");
    let computed: Vec<_> =
        (0..32_i64).map(|lane| (if lane < 8 { 5 - lane } else { 5 + lane } as u32).to_string()).collect();
    assert_eq!(column(&shown(&mut console, "lanes %r2")), computed);
}

const KEEPING: &str = "\
.version 8.0
.target sm_80
.address_size 64
.func (.param .u32 twice) twice(.param .u32 n)
{
    .reg .u32 %n;
    ld.param.u32 %n, [n];
    add.u32 %n, %n, %n;
    st.param.u32 [twice], %n;
    ret;
}
.visible .entry keep(.param .u64 p)
{
    .local .align 8 .u32 kept[2];
    .shared .align 4 .u32 common[64];
    .reg .u32 %r<8>;
    .reg .f16 %h;
    .reg .u64 %rd<4>;
    .param .u32 a, b;
    mov.u32 %r1, %tid.x;
    st.local.u32 [kept+4], %r1;
    shl.b32 %r2, %r1, 2;
    mov.u32 %r3, common;
    add.u32 %r3, %r3, %r2;
    st.shared.u32 [%r3], %r1;
    bar.sync 0;
    ld.local.u32 %r4, [kept+4];
    ld.shared.u32 %r5, [%r3];
    mad.lo.u32 %r6, %r4, 1000, %r5;
    st.param.u32 [a], %r6;
    call (b), twice, (a);
    ld.param.u32 %r7, [b];
    ld.param.u64 %rd1, [p];
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r7;
    cvt.rn.f16.u32 %h, %r7;
    cvt.rzi.u32.f16 %r7, %h;
    ret;
}
";

/// Local memory of one lane, shared memory of the CTA, before another warp reads them.
#[test]
fn memory_of_threads_is_assigned() {
    let mut console = console(KEEPING, "keep", [1, 64], None, 1, &[]);
    shown(&mut console, "break ptx:27");
    shown(&mut console, "run");
    shown(&mut console, "cuda thread 40");
    shown(&mut console, "set var kept[1] = 7");
    shown(&mut console, "set var common[3] = 500");
    shown(&mut console, "print common[41] = common[3] + 1");
    // Of a lane's local memory a generic address tells.
    shown(&mut console, "cuda thread 50");
    shown(&mut console, "set var *(@local unsigned int *)&kept[1] = 8");
    shown(&mut console, "delete");
    shown(&mut console, "break ptx:35 if threadIdx.x == 63");
    shown(&mut console, "continue");
    for (thread, value) in [(40, 7040), (41, 41501), (50, 8050), (51, 51051)] {
        shown(&mut console, &format!("cuda thread {thread}"));
        assert_eq!(shown(&mut console, "print %r7"), format!("{}\n", 2 * value));
        assert_eq!(shown(&mut console, "print %r6"), format!("{value}\n"));
    }
}

/// A register of the function that has called, from within the called one; one of 16 bits; what cannot be assigned.
#[test]
fn registers_of_callers_are_assigned() {
    let mut console = console(KEEPING, "keep", [1, 32], None, 1, &[]);
    shown(&mut console, "break twice");
    shown(&mut console, "run");
    shown(&mut console, "cuda lane 9");
    shown(&mut console, "set var %n = 21");
    shown(&mut console, "up");
    shown(&mut console, "set var %r1 = 30");
    assert_eq!(shown(&mut console, "print %r1"), "30\n");
    shown(&mut console, "tbreak ptx:36");
    shown(&mut console, "continue");
    shown(&mut console, "cuda lane 9");
    // It was loaded again, behind the assignment; the index was not.
    assert_eq!(shown(&mut console, "print %r7"), "18018\n");
    assert_eq!(shown(&mut console, "print %rd3 - %rd1"), "120\n");
    shown(&mut console, "tbreak ptx:38");
    shown(&mut console, "continue");
    shown(&mut console, "cuda lane 9");
    shown(&mut console, "set var %h = 2.5");
    assert_eq!(shown(&mut console, "print %h"), "2.5\n");
    for (command, why) in [
        ("set var threadIdx.x = 1", "no place of its own"),
        ("set var %r1 = nothing", "no symbol"),
        ("set var kept = 1", "cannot be assigned as a whole"),
        ("set var *(@shared int *)0x100000 = 1", "cannot access memory"),
        ("set var %rd2 = %tid", ""),
    ] {
        let reply = console.follow(command);
        assert_eq!(reply.failed, !why.is_empty(), "{command}: {}", reply.text);
        assert!(reply.text.contains(why), "{command}: {}", reply.text);
    }
}

/// A fault, stood still before; with another address the kernel goes on.
#[test]
fn a_fault_is_repaired() {
    let mut console = console(PARTING, "part", [1, 32], None, 0, &[0, 0]);
    let at = console.session.program().device.memory().allocate(4096).expect("memory");
    assert!(shown(&mut console, "run").starts_with("Fault: illegal address"));
    assert!(console.follow("continue").failed);
    shown(&mut console, &format!("lanes %rd3 = {at} + 4 * %laneid"));
    assert!(shown(&mut console, "continue").starts_with("The kernel is over"));
    let mut bytes = [0; 128];
    console.session.program().device.memory().read(at, &mut bytes).expect("it is there");
    let stored: Vec<i32> = bytes.as_chunks::<4>().0.iter().map(|bytes| i32::from_le_bytes(*bytes)).collect();
    assert_eq!(stored, (0..32).map(|lane| if lane < 8 { 5 - lane } else { 5 + lane }).collect::<Vec<_>>());
}
