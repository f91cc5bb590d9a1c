//! Going back: what was seen on the way there is seen again, whichever way a moment is come to.

use debugger::{Calls, Outcome, Printed, Program, Reason, Session, Target, Unit, WatchKind};
use machine::output::Output;
use machine::{Device, DeviceOptions, Profile, SchedulerKind};
use ptx::source::Source;
use std::sync::Arc;

/// Bytes of the buffers.
const BYTES: u64 = 1 << 20;

/// A session with `scatter.cu`, in so many blocks of so many threads.
fn session(grid: u32, block: u32, scheduler: SchedulerKind) -> Session {
    session_of([grid, block], None, scheduler, |out, from| (out, from))
}

/// The same with other pointers.
fn session_of(
    [grid, block]: [u32; 2],
    cluster: Option<[u32; 3]>,
    scheduler: SchedulerKind,
    passed: impl Fn(u64, u64) -> (u64, u64),
) -> Session {
    let text = include_str!("../../cli/tests/debug/scatter.ptx");
    let module = ptx::compile(&Source::new("scatter.ptx", text)).module.expect("it compiles");
    let printed = Printed::new(std::io::sink());
    let options = DeviceOptions { output: Output::new(printed.clone()), ..DeviceOptions::default() };
    let device = Device::new(Profile::default(), options).expect("a device");
    let loaded = device.load(module).expect("it loads");
    let [out, from] = [(); 2].map(|()| device.memory().allocate(BYTES).expect("memory"));
    let numbers: Vec<u8> = (0..BYTES as u32 / 4).flat_map(|i| (100 + i).to_le_bytes()).collect();
    device.memory().write(from, &numbers).expect("it is there");
    let (out, from) = passed(out, from);
    let mut params = Vec::new();
    params.extend(out.to_le_bytes());
    params.extend(from.to_le_bytes());
    params.extend((grid * block).to_le_bytes());
    let program = Program {
        device,
        loaded: Arc::new(loaded),
        kernel: "_Z7scatterPiPKii".to_owned(),
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        cluster,
        nonportable_cluster: false,
        dynamic_shared: 0,
        params,
        scheduler,
        budget: None,
        checks: None,
    };
    Session::new(program, printed).expect("a session")
}

/// What is seen at a moment: where, the whole CTA, and the first elements of the result.
fn seen(session: &Session) -> (u64, String) {
    let stop = session.stop().expect("it stands still");
    let scene = session.innermost().expect("a thread");
    let value = debugger::parse("out[0]@15").and_then(|expression| scene.evaluate(&expression));
    let out = value.and_then(|value| scene.text(&value, debugger::Format::Natural));
    (stop.next.position, format!("{:?} {:?} {}", stop.next, stop.snapshot, out.unwrap_or_default()))
}

/// The same without addresses, which differ from session to session.
fn seen_anywhere(session: &Session) -> String {
    let stop = session.stop().expect("it stands still");
    let scene = session.innermost().expect("a thread");
    let value = debugger::parse("out[0]@15").and_then(|expression| scene.evaluate(&expression));
    let out = value.and_then(|value| scene.text(&value, debugger::Format::Natural)).unwrap_or_default();
    let body = session.program().module().functions[0].body.as_ref().expect("a body");
    let warp = &stop.snapshot.warps[0];
    let narrow =
        body.registers.iter().zip(&warp.frames[0].registers).filter(|(register, _)| register.ty.bits() <= 32);
    let rows: Vec<_> = narrow.map(|(_, row)| row).collect();
    format!("{:?} {:?} {rows:?} {out}", stop.next, warp.groups)
}

/// Forwards instruction by instruction, then back: every moment is the same. So it is under schedulers that switch at will.
#[test]
fn every_step_back_undoes_a_step() {
    for scheduler in
        [SchedulerKind::RoundRobin, SchedulerKind::Random { seed: 3 }, SchedulerKind::Adversarial]
    {
        let mut session = session(3, 64, scheduler);
        session.run(true).expect("it begins");
        let mut moments = vec![seen(&session)];
        for _ in 0..12 {
            session.step(Unit::Instruction, Calls::Into).expect("a step");
            moments.push(seen(&session));
        }
        moments.pop();
        while let Some(moment) = moments.pop() {
            session.step_back(Unit::Instruction, Calls::Into).expect("a step back");
            assert_eq!(seen(&session), moment, "{scheduler}");
        }
        session.step_back(Unit::Instruction, Calls::Into).expect("there is nothing before");
        assert_eq!(session.stop().expect("it stands still").reason, Reason::Beginning);
        // Any moment, in any order.
        session.go_to(40).expect("it is there");
        let at_forty = seen(&session);
        session.go_to(90).expect("it is there");
        session.go_to(40).expect("it is there");
        assert_eq!(seen(&session), at_forty);
    }
}

/// A launch of so many CTAs that checkpoints are taken: moments come to from one are those come to from the beginning.
#[test]
fn checkpoints_change_nothing() {
    checkpoints_do_so_in_clusters(None);
}

/// The same where CTAs come in clusters.
#[test]
fn checkpoints_of_clusters_change_nothing() {
    checkpoints_do_so_in_clusters(Some([4, 1, 1]));
}

fn checkpoints_do_so_in_clusters(cluster: Option<[u32; 3]>) {
    const BLOCKS: u32 = 3000;
    let session = || session_of([BLOCKS, 3], cluster, SchedulerKind::RoundRobin, |out, from| (out, from));
    let positions = [70_000, 41_234, 20_001, 69_999, 5, 45_000];
    let mut with = session();
    // The whole launch once, so that there are checkpoints.
    with.run(false).expect("it runs");
    let &Outcome::Ended(issued, Ok(())) = with.outcome() else { panic!("it is over: {:?}", with.outcome()) };
    assert!(issued > 70_000, "{issued}");
    for position in positions {
        // A session of its own for each, which has no checkpoint yet.
        let mut without = session();
        without.run(true).expect("it begins");
        without.go_to(position).expect("it is there");
        with.go_to(position).expect("it is there");
        assert_eq!(seen_anywhere(&with), seen_anywhere(&without), "{position}");
    }
}

/// Who has written an element last, and before, over the whole launch: what arithmetic says.
#[test]
fn all_writers_are_found_backwards() {
    let mut session = session(40, 3, SchedulerKind::RoundRobin);
    session.run(true).expect("it begins");
    session.add_watchpoint("out[5]", WatchKind::Change).expect("it is in memory");
    session
        .add_breakpoint(Target::parse("9").expect("a line"), Some("blockIdx.x == 39"), true)
        .expect("it is there");
    // Thread i writes element 5 i mod 15: of block b, threads 3 b + 1.
    let mut blocks = Vec::new();
    while !matches!(session.outcome(), Outcome::Stopped(stop) if matches!(stop.reason, Reason::Breakpoint { .. }))
    {
        session.go_on().expect("it goes on");
    }
    loop {
        session.go_back().expect("it goes back");
        let stop = session.stop().expect("it stands still");
        match &stop.reason {
            Reason::Changed { old, new, by: Some(by), .. } => {
                assert_eq!(by.position, stop.next.position);
                let value = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_le_bytes);
                let block = by.block[0];
                assert_eq!(value(new), 100 + 3 * block + 1);
                assert_eq!(value(old), if block == 0 { 0 } else { 100 + 3 * (block - 1) + 1 });
                blocks.push(block);
            }
            Reason::Beginning => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(blocks, (0..40).rev().collect::<Vec<_>>());
}

/// A fault is stood still before, and stepped back from.
#[test]
fn a_fault_can_be_looked_at() {
    let mut session = session_of([1, 4], None, SchedulerKind::RoundRobin, |out, _| (out, 0));
    session.run(false).expect("it runs");
    let stop = session.stop().expect("it stands still");
    let Reason::Fault(text) = &stop.reason else { panic!("{:?}", stop.reason) };
    assert!(text.starts_with("illegal address: load of 4 bytes at 0x0"), "{text}");
    // `int value = in[i];`
    let line =
        |session: &Session| session.innermost().expect("a thread").frames()[0].source.clone().map(|s| s.line);
    assert_eq!(line(&session), Some(6));
    assert!(session.go_on().is_err() && session.step(Unit::Line, Calls::Over).is_err());
    session.step_back(Unit::Line, Calls::Over).expect("a step back");
    session.step_back(Unit::Line, Calls::Over).expect("a step back");
    assert_eq!(line(&session), Some(5));
    session.go_on().expect("it goes on");
    assert!(matches!(session.stop().expect("it stands still").reason, Reason::Fault(_)));
}

/// What is assigned is part of the launch's history from there on, and undone by going back before.
#[test]
fn assignments_have_their_moment() {
    let mut session = session(5, 3, SchedulerKind::RoundRobin);
    let value = |session: &Session, text: &str| {
        let scene = session.innermost().expect("a thread");
        let value = debugger::parse(text).and_then(|expression| scene.evaluate(&expression));
        value.and_then(|value| scene.text(&value, debugger::Format::Natural)).expect("it has a value")
    };
    session.run(true).expect("it begins");
    session
        .add_breakpoint(Target::parse("6").expect("a line"), Some("blockIdx.x == 4"), false)
        .expect("it is there");
    session.go_on().expect("it goes on");
    let here = session.position().expect("it stands still");
    // The three threads of the last CTA read elements 12 to 14, and write elements 0, 5 and 10.
    session.assign("in[13]", "2 * 3500").expect("it is in global memory");
    assert_eq!(value(&session, "in[13]"), "7000");
    session.step(Unit::Line, Calls::Over).expect("a step");
    session.step(Unit::Line, Calls::Over).expect("a step");
    let behind = session.position().expect("it stands still");
    let written = |session: &Session| value(session, "out[0]@15");
    assert!(written(&session).contains("7000"), "{}", written(&session));
    // Back, not as far as it: it still holds. There, too; before that, not any more.
    session.go_to(behind).expect("it is there");
    assert_eq!(value(&session, "in[13]"), "7000");
    session.go_to(here).expect("it is there");
    assert_eq!(value(&session, "in[13]"), "7000");
    session.go_to(here - 1).expect("it is there");
    assert_eq!(value(&session, "in[13]"), "113");
    session.go_to(behind).expect("it is there");
    assert_eq!(value(&session, "in[13]"), "113");
    for (to, from) in [("in[0]", "nothing"), ("7", "8"), ("threadIdx.x", "0"), ("*(int *)0", "1")] {
        assert!(session.assign(to, from).is_err(), "{to}");
    }
}
