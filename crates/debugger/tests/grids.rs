//! The other CTAs of a grid, and the grids that kernels launch.

mod common;

use common::{Nowhere, column, console, shown};
use debugger::Console;

const WAITING: &str = include_str!("../../cli/tests/debug/waits.ptx");

/// Block 0 waits for block 1, so that both are there while block 2 is not.
fn waiting(cluster: Option<[u32; 3]>, grid: u32) -> Console<Nowhere> {
    let mut console = console(WAITING, "waits", [grid, 32], cluster, 1, &[]);
    shown(&mut console, "break ptx:23");
    assert!(shown(&mut console, "run").contains("[block (1,0,0), thread (0,0,0)"));
    console
}

/// Where each CTA is, what threads of another one have, and that those which have none are told of by name.
#[test]
fn all_blocks_are_told_of() {
    let mut console = waiting(None, 3);
    let blocks = shown(&mut console, "info cuda blocks");
    let rows: Vec<Vec<_>> = blocks.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[1][..5], ["(0,0,0)", "under", "way", "1", "waits,"]);
    assert_eq!(rows[2], ["*(1,0,0)", "has", "stopped", "1", "waits,", "ptx:23", "next"]);
    assert_eq!(blocks.lines().last(), Some("0 have ended, 1 have not begun"));
    let there = shown(&mut console, "cuda block 0 lane 3");
    assert!(there.starts_with("[block (0,0,0), thread (3,0,0), warp 0, lane 3] waits\nptx:"), "{there}");
    let value = |console: &mut Console<Nowhere>, text: &str| shown(console, &format!("print {text}"));
    assert_eq!([value(&mut console, "%r4"), value(&mut console, "mark")], ["40\n", "40\n"]);
    assert_eq!(value(&mut console, "blockIdx.x"), "0\n");
    assert_eq!(column(&shown(&mut console, "lanes %r1")), vec!["0"; 32]);
    assert!(shown(&mut console, "backtrace").starts_with("*#0 waits at ptx:"));
    assert!(shown(&mut console, "info cuda warps").lines().nth(1).is_some_and(|row| row.starts_with("*0")));
    let told = |console: &mut Console<Nowhere>, block: u32| {
        let reply = console.follow(&format!("cuda block {block}"));
        assert!(reply.failed, "{}", reply.text);
        reply.text
    };
    assert!(told(&mut console, 2).starts_with("block (2,0,0) has not begun"));
    assert_eq!(told(&mut console, 7), "there is no block (7,0,0)\n");
    // What was refused changes no focus. Then the last one, where the second has ended.
    assert_eq!(value(&mut console, "blockIdx.x"), "0\n");
    assert!(shown(&mut console, "continue").contains("[block (2,0,0)"));
    assert!(told(&mut console, 1).starts_with("block (1,0,0) has ended"));
}

/// What other CTAs have is assigned, and their threads are stepped.
#[test]
fn other_blocks_are_assigned_to_and_stepped() {
    for (cluster, grid) in [(None, 3), (Some([2, 1, 1]), 2)] {
        let mut console = waiting(cluster, grid);
        shown(&mut console, "cuda block 0 lane 4");
        shown(&mut console, "set var mark = 77");
        // Before its loop ends, so that it stays.
        shown(&mut console, "set var %r4 = 1234");
        let value = |console: &mut Console<Nowhere>, text: &str| shown(console, &format!("print {text}"));
        assert_eq!([value(&mut console, "mark"), value(&mut console, "%r4")], ["77\n", "1234\n"]);
        let stepped = shown(&mut console, "stepi");
        assert!(stepped.contains("[block (0,0,0), thread (4,0,0)"), "{stepped}");
        assert_eq!([value(&mut console, "mark"), value(&mut console, "%r4")], ["77\n", "1234\n"]);
        shown(&mut console, "cuda lane 5");
        assert_eq!(value(&mut console, "%r4"), "40\n");
        let back = shown(&mut console, "goto 3");
        assert!(back.starts_with("2 assignments are undone"), "{back}");
    }
}

const CHILDREN: &str = "\
.version 8.5
.target sm_90
.address_size 64
.extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2
    (.param .b64 f, .param .align 4 .b8 g[12], .param .align 4 .b8 b[12], .param .b32 s);
.extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 buffer, .param .b64 stream);
.visible .entry child(.param .u64 out, .param .u32 base)
{
    .shared .u32 own;
    .reg .u32 %r<6>;
    .reg .u64 %rd<4>;
    mov.u32 %r1, %tid.x;
    ld.param.u32 %r2, [base];
    mad.lo.u32 %r3, %r1, %r1, %r2;
    mov.u32 %r4, %ctaid.x;
    st.shared.u32 [own], %r4;
    mad.lo.u32 %r5, %r4, 32, %r1;
    ld.param.u64 %rd1, [out];
    mul.wide.u32 %rd2, %r5, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r3;
    ret;
}
.visible .entry parent(.param .u64 out)
{
    .reg .u32 %r<4>;
    .reg .u64 %rd<6>;
    .reg .pred %p;
    .param .b64 f, buffer, to, stream;
    .param .align 4 .b8 g[12], b[12];
    .param .b32 s, done;
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p, %r1, 0;
    @%p bra end;
    mov.u64 %rd1, child;
    st.param.b64 [f], %rd1;
    mov.u32 %r2, 1;
    st.param.b32 [g], 2;
    st.param.b32 [g+4], %r2;
    st.param.b32 [g+8], %r2;
    st.param.b32 [b], 32;
    st.param.b32 [b+4], %r2;
    st.param.b32 [b+8], %r2;
    st.param.b32 [s], 0;
    call (buffer), __cudaCDP2GetParameterBufferV2, (f, g, b, s);
    ld.param.b64 %rd2, [buffer];
    ld.param.u64 %rd3, [out];
    st.u64 [%rd2], %rd3;
    mov.u32 %r3, 100;
    st.u32 [%rd2+8], %r3;
    st.param.b64 [to], %rd2;
    st.param.b64 [stream], 0;
    call (done), __cudaCDP2LaunchDeviceV2, (to, stream);
end:
    ret;
}
";

/// A kernel that a kernel launches is stopped in, looked at, gone back from, and assigned to.
#[test]
fn children_are_stopped_in() {
    let mut console = console(CHILDREN, "parent", [1, 64], None, 1, &[]);
    shown(&mut console, "break ptx:21 if blockIdx.x == 1");
    shown(&mut console, "break parent");
    let parent = shown(&mut console, "run");
    assert!(parent.contains("[block (0,0,0), thread (0,0,0), warp 0, lane 0] parent"), "{parent}");
    shown(&mut console, "disable 2");
    let child = shown(&mut console, "continue");
    assert!(child.contains("[grid 1, block (1,0,0), thread (0,0,0), warp 0, lane 0] child"), "{child}");
    assert_eq!(
        shown(&mut console, "info cuda kernels"),
        "child: grid (2,1,1), block (32,1,1), grid 1, launched by a kernel; block (1,0,0) has stopped\n"
    );
    let value = |console: &mut Console<Nowhere>, text: &str| shown(console, &format!("print {text}"));
    assert_eq!(value(&mut console, "gridDim"), "{x = 2, y = 1, z = 1}\n");
    assert_eq!([value(&mut console, "blockDim.x"), value(&mut console, "own")], ["32\n", "1\n"]);
    let squares = |base: u32| (0..32).map(|lane| (base + lane * lane).to_string()).collect::<Vec<_>>();
    assert_eq!(column(&shown(&mut console, "lanes %r3")), squares(100));
    assert!(console.follow("cuda block 0").text.starts_with("block (0,0,0) has ended"));
    let position = shown(&mut console, "info position");
    // Instruction by instruction, from one block of the child to the other, and to its parent.
    shown(&mut console, "reverse-stepi");
    assert!(shown(&mut console, "stepi").contains("grid 1, block (1,0,0)"));
    assert_eq!(shown(&mut console, "info position"), position);
    shown(&mut console, "enable 2");
    let back = shown(&mut console, "reverse-continue");
    assert!(back.contains("] parent"), "{back}");
    assert!(shown(&mut console, "continue").contains("[grid 1, block (1,0,0)"));
    assert_eq!(shown(&mut console, "info position"), position);
    shown(&mut console, "lanes %r3 = %r3 + 1000");
    shown(&mut console, "stepi");
    assert_eq!(column(&shown(&mut console, "lanes *(unsigned int *)%rd3")), squares(1100));
    shown(&mut console, "disable 1 2");
    shown(&mut console, "watch *(unsigned int *)%rd1");
    let writer = shown(&mut console, "reverse-continue");
    // Block 0 of the child has written its first element.
    assert!(writer.contains("old value = 0\nnew value = 100\n"), "{writer}");
    shown(&mut console, "delete");
    assert!(shown(&mut console, "continue").starts_with("The kernel is over"));
}
