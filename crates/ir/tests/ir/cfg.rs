//! Graphs of small bodies: blocks, edges, and where lanes meet again.

use ir::{BlockId, Cfg, Exit, Function};

/// The graph of an entry with this code.
fn graph(code: &str) -> Cfg {
    let declarations = ".extern .func stop() .noreturn;\n.func back() { ret; }\n";
    let text = format!("{declarations}.entry k() {{ .reg .pred %p<4>; .reg .b32 %r<8>;\n{code}\n}}");
    let module = crate::compile::module(&text);
    let (id, _) = module.entries().next().unwrap();
    Cfg::new(&Function::lower(&module, id).unwrap())
}

/// The ranges and successors of all blocks: `0..2 -> 2 1`.
fn edges(cfg: &Cfg) -> Vec<String> {
    let line = |block: &ir::Block| {
        let to: Vec<String> = block.successors.iter().map(|to| to.0.to_string()).collect();
        format!("{}..{} -> {}", block.first, block.end, to.join(" ")).trim_end().to_owned()
    };
    cfg.blocks.iter().map(line).collect()
}

fn numbers(blocks: Vec<Option<BlockId>>) -> Vec<Option<u32>> {
    blocks.into_iter().map(|block| block.map(|block| block.0)).collect()
}

#[test]
fn a_diamond_meets_at_its_join() {
    let cfg = graph(
        "@%p0 bra THEN;
         add.u32 %r0, %r0, 1;
         bra JOIN;
         THEN: add.u32 %r0, %r0, 2;
         JOIN: ret;",
    );
    assert_eq!(edges(&cfg), ["0..1 -> 2 1", "1..3 -> 3", "3..4 -> 3", "4..5 ->"]);
    assert_eq!(numbers(cfg.reconvergence()), [Some(3), Some(3), Some(3), None]);
    assert_eq!(numbers(cfg.dominators()), [None, Some(0), Some(0), Some(0)]);
    assert_eq!(cfg.blocks[3].predecessors, [BlockId(1), BlockId(2)]);
    assert_eq!(cfg.blocks[3].exit, Some(Exit::Return));
    assert_eq!((0..5).map(|i| cfg.block_of(i).0).collect::<Vec<_>>(), [0, 1, 1, 2, 3]);
}

#[test]
fn a_loop_meets_behind_it() {
    let cfg = graph(
        "mov.u32 %r0, 0;
         LOOP: add.u32 %r0, %r0, 1;
         setp.lt.u32 %p0, %r0, %r1;
         @%p0 bra LOOP;
         ret;",
    );
    assert_eq!(edges(&cfg), ["0..1 -> 1", "1..4 -> 1 2", "4..5 ->"]);
    assert_eq!(numbers(cfg.reconvergence()), [Some(1), Some(2), None]);
    assert_eq!(numbers(cfg.dominators()), [None, Some(0), Some(1)]);
}

#[test]
fn a_guarded_exit_goes_on_and_lanes_that_left_are_not_waited_for() {
    let cfg = graph(
        "@%p0 bra ELSE;
         @%p1 exit;
         @%p2 ret;
         mov.u32 %r0, 1;
         bra JOIN;
         ELSE: @%p3 bra DIE;
         mov.u32 %r0, 2;
         bra JOIN;
         DIE: trap;
         JOIN: ret;",
    );
    assert_eq!(
        edges(&cfg),
        [
            "0..1 -> 4 1",
            "1..2 -> 2",
            "2..3 -> 3",
            "3..5 -> 7",
            "5..6 -> 6 5",
            "6..8 -> 7",
            "8..9 ->",
            "9..10 ->"
        ]
    );
    let meet = numbers(cfg.reconvergence());
    assert_eq!((meet[0], meet[4], meet[6]), (Some(7), Some(5), None));
    assert_eq!(cfg.blocks[1].exit, Some(Exit::Thread));
    assert_eq!(cfg.blocks[2].exit, Some(Exit::Return));
    assert_eq!(cfg.blocks[6].exit, Some(Exit::Abort));
}

#[test]
fn a_call_ends_a_block_only_if_it_never_returns() {
    let cfg = graph("call back; @%p0 bra END; call stop; mov.u32 %r0, 1; END: ret;");
    assert_eq!(edges(&cfg), ["0..2 -> 3 1", "2..3 ->", "3..4 -> 3", "4..5 ->"]);
    assert!(!cfg.is_reachable(BlockId(2)));
    assert_eq!(numbers(cfg.reconvergence()), [Some(3), None, None, None]);
    assert_eq!(cfg.blocks[3].predecessors, [BlockId(0)], "edges from unreachable blocks do not count");
}

#[test]
fn a_table_branch_goes_to_each_target_once() {
    let cfg = graph(
        "T: .branchtargets A, B, A, END;
         brx.idx %r0, T;
         A: bra END;
         B: mov.u32 %r0, 1;
         END: ret;",
    );
    assert_eq!(edges(&cfg), ["0..1 -> 1 2 3", "1..2 -> 3", "2..3 -> 3", "3..4 ->"]);
    assert_eq!(numbers(cfg.reconvergence())[0], Some(3));
}

#[test]
fn a_guarded_table_branch_may_fall_through() {
    let cfg = graph("T: .branchtargets A; @%p0 brx.idx %r0, T; ret; A: ret;");
    assert_eq!(edges(&cfg), ["0..1 -> 2 1", "1..2 ->", "2..3 ->"]);
    assert_eq!(numbers(cfg.reconvergence()), [None, None, None]);
}

#[test]
fn lanes_meet_inside_a_loop_that_nothing_leaves() {
    let cfg = graph(
        "LOOP: @%p0 bra ODD;
         mov.u32 %r0, 1;
         bra NEXT;
         ODD: mov.u32 %r0, 2;
         NEXT: bra LOOP;",
    );
    assert_eq!(edges(&cfg), ["0..1 -> 2 1", "1..3 -> 3", "3..4 -> 3", "4..5 -> 0"]);
    assert_eq!(numbers(cfg.reconvergence())[..3], [Some(3), Some(3), Some(3)]);
}

#[test]
fn a_loop_that_some_lanes_never_leave_does_not_keep_the_others_apart() {
    let cfg = graph("@%p0 bra HANG; @%p1 bra B; mov.u32 %r0, 1; B: ret; HANG: bra HANG;");
    assert_eq!(numbers(cfg.reconvergence()), [Some(1), Some(3), Some(3), None, None]);
}

#[test]
fn the_end_of_the_body_is_a_return() {
    let cfg = graph("@%p0 bra END; mov.u32 %r0, 1; END:");
    assert_eq!(edges(&cfg), ["0..1 -> 2 1", "1..2 -> 2", "2..2 ->"]);
    assert_eq!(numbers(cfg.reconvergence()), [Some(2), Some(2), None]);
    assert_eq!(cfg.block_of(2), BlockId(2));
    assert_eq!(cfg.blocks[2].exit, Some(Exit::Return));

    assert_eq!(edges(&graph("")), ["0..0 ->"]);
    assert_eq!(edges(&graph("ret;")), ["0..1 ->"]);
    assert_eq!(edges(&graph("@%p0 ret;")), ["0..1 -> 1", "1..1 ->"]);
}
