//! Launches on several host threads: what is found is what one finds, and nothing is left of a first try.

mod programs;

use programs::{BYTES, Program, WORDS, check, random_kernels, sanitizer};
use sanitizer::Moment;

/// Each thread adds one to its word.
const OWN: &str = "ld.global.u32 %r3, [%d1];\nadd.u32 %r3, %r3, 1;\nst.global.u32 [%d1], %r3;";
/// Each thread does so behind a shared tile that it fills for another one.
const TILE: &str = "ld.global.u32 %r3, [%d1];\nmov.u32 %r4, tile;\nshl.b32 %r5, %r0, 2;\nadd.u32 %r6, %r4, %r5;\n\
    st.shared.u32 [%r6], %r3;\nbar.sync 0;\nxor.b32 %r5, %r5, 4;\nadd.u32 %r6, %r4, %r5;\nld.shared.u32 %r3, [%r6];\n\
    st.global.u32 [%d1], %r3;";
/// The same by a function.
const CALL: &str = "{\n.param .b64 a;\nst.param.b64 [a], %d1;\ncall.uni increment, (a);\n}";
/// The first thread of each CTA adds one to the first word of all.
const ALL: &str = "setp.ne.u32 %p0, %r0, 0;\n@%p0 bra done;\nld.global.u32 %r3, [%d0];\nadd.u32 %r3, %r3, 1;\n\
    st.global.u32 [%d0], %r3;\ndone:";
/// The first two threads of each CTA read and write one word of the CTA.
const INSIDE: &str = "setp.gt.u32 %p0, %r0, 1;\n@%p0 bra done;\nmul.wide.u32 %d1, %r1, 4;\nadd.u64 %d1, %d0, %d1;\n\
    ld.global.u32 %r3, [%d1];\nadd.u32 %r3, %r3, 1;\nst.global.u32 [%d1], %r3;\ndone:";
/// Some accesses are outside of the memory.
const OUTSIDE: &str = "ld.global.u32 %r3, [%d1];\nadd.u32 %r3, %r3, 1;\nst.global.u32 [%d1], %r3;\nst.global.u32 [%d1+4096], %r3;";
/// All threads count at the first words, and each behind its own store to another one.
const COUNTS: &str = "red.relaxed.gpu.global.add.u32 [%d0], 1;\natom.global.max.u32 %r5, [%d0+4], %r2;\n\
    red.global.add.u64 [%d0+8], 1;\nsetp.lt.u32 %p0, %r2, 16;\n@%p0 bra done;\nst.global.u32 [%d1], 7;\n\
    atom.global.add.u32 %r5, [%d1], 1;\ndone:";
/// One reads what others count.
const COUNTS_READ: &str = "red.global.add.u32 [%d0], 1;\nsetp.ne.u32 %p0, %r2, 100;\n@%p0 bra done;\nld.global.u32 %r3, [%d0];\ndone:";
/// One stores there.
const COUNTS_STORED: &str = "red.global.add.u32 [%d0], 1;\nsetp.ne.u32 %p0, %r2, 100;\n@%p0 bra done;\nst.global.u32 [%d0], 5;\ndone:";
/// One counts in eight bytes where the others do in four.
const COUNTS_MIXED: &str = "mov.u64 %d2, 1;\nsetp.eq.u32 %p0, %r2, 100;\n@!%p0 red.global.add.u32 [%d0], 1;\n\
    @%p0 red.global.add.u64 [%d0], %d2;";
/// Atomics of a scope that does not have the other CTAs' threads.
const NARROW: &str = "red.relaxed.cta.global.add.u32 [%d0], 1;";
/// An atomic whose result is read, one that releases, and one that reads what it has found itself; results in an address and in a vector.
const TICKET: &str = "atom.global.add.u32 %r4, [%d0], 0;\nadd.u32 %r4, %r4, 1;";
const RELEASES: &str = "red.release.gpu.global.add.u32 [%d0], 1;";
const POINTS: &str = "atom.global.add.u64 %d3, [%d0], 0;\nand.b64 %d2, %d3, 0;\nadd.u64 %d2, %d2, %d0;\nld.global.u32 %r4, [%d2+64];";
const GUARDS: &str = "atom.global.add.u32 %r4, [%d0], 0;\n@%p0 st.global.v2.u32 [%d0], {%r4, %r4};";
const AGAIN: &str = "mov.u32 %r4, 1;\natom.global.add.u32 %r4, [%d0], %r4;";

#[test]
fn what_is_clean_runs_once_on_several_host_threads() {
    for body in [OWN, TILE, CALL] {
        assert_eq!(check(body, false, &[4]).reports, [""; 0]);
    }
}

#[test]
fn what_is_found_is_found_on_one_host_thread() {
    for (body, found) in [(ALL, "race: "), (INSIDE, "race: "), (OUTSIDE, "out-of-bounds: ")] {
        let outcome = check(body, false, &[4, 1]);
        assert!(outcome.reports.iter().any(|report| report.starts_with(found)), "{:?}", outcome.reports);
    }
    let outcome = check(OWN, true, &[4, 1]);
    assert!(outcome.reports[0].starts_with("unwritten: "), "{:?}", outcome.reports);
}

#[test]
fn atomics_whose_results_nobody_reads_count() {
    assert_eq!(check(COUNTS, false, &[4]).reports, [""; 0]);
    for body in [COUNTS_READ, COUNTS_STORED, COUNTS_MIXED] {
        let outcome = check(body, false, &[4, 1]);
        assert!(outcome.reports.iter().any(|report| report.starts_with("race: ")), "{:?}", outcome.reports);
    }
    let outcome = check(COUNTS, true, &[4, 1]);
    assert!(outcome.reports[0].starts_with("unwritten: "), "{:?}", outcome.reports);
}

#[test]
fn atomics_that_tell_ctas_of_one_another_are_followed() {
    let tries_of_few = |body| {
        let (program, sanitizer) = (Program { ctas: 16, ..Program::new(body) }, sanitizer());
        program.launch(&sanitizer, 4, &sanitizer.now()).0
    };
    for body in [TICKET, RELEASES, AGAIN, POINTS, GUARDS] {
        assert_eq!(check(body, false, &[4]).reports, [""; 0], "{body}");
        assert_eq!(tries_of_few(body), [1], "{body}");
    }
    assert_eq!(tries_of_few(COUNTS), [4]);
    assert!(check(NARROW, false, &[4, 1]).reports[0].starts_with("race: "));
}

/// Behind a launch nothing races with what it has counted, beside it all weak accesses do, and strong ones of another size.
#[test]
fn what_a_spread_launch_has_counted_is_remembered() {
    let counts = Program::new("red.global.add.u32 [%d0], 1;\nred.global.add.u64 [%d0+8], 1;");
    for (at, bytes) in [(0, 4), (8, 8), (12, 4)] {
        let accesses = [machine::fault::Access::Load, machine::fault::Access::Store];
        for (access, ordered) in accesses.into_iter().flat_map(|access| [(access, true), (access, false)]) {
            let sanitizer = sanitizer();
            let (tries, moment) = counts.launch(&sanitizer, 4, &sanitizer.now());
            assert_eq!(tries, [4]);
            let after = if ordered { moment } else { Moment::default() };
            sanitizer.copied("a copy", &[(counts.buffer + at, bytes, access)], &after);
            let found = sanitizer.reports();
            assert_eq!(found.is_empty(), ordered, "{at} {access:?} {found:?}");
        }
    }
}

#[test]
fn what_a_spread_launch_did_is_remembered() {
    let program = Program::new("st.global.u32 [%d1], %r2;");
    for (ordered, races) in [(true, 0), (false, 1)] {
        let sanitizer = sanitizer();
        sanitizer.allocated(program.buffer, BYTES);
        let (tries, moment) = program.launch(&sanitizer, 4, &sanitizer.now());
        assert_eq!(tries, [4]);
        // It has written all of it: who reads it there finds something.
        let reads =
            sanitizer.copied("a copy", &[(program.buffer, BYTES, machine::fault::Access::Load)], &moment);
        let after = if ordered { reads } else { Moment::default() };
        program.launch(&sanitizer, 4, &after);
        let found = sanitizer.reports();
        let names: Vec<_> =
            found.iter().map(|report| report.missing.as_ref().map(|(name, _)| *name)).collect();
        assert_eq!(names, vec![Some("launch-order"); races], "{found:?}");
    }
}

/// The same of reads, which are only listed, and of parts of words and rows.
#[test]
fn reads_of_a_spread_launch_race_with_later_writes() {
    let bodies = [
        "ld.global.u32 %r3, [%d1];",
        // Every CTA reads all that one has.
        "mul.wide.u32 %d1, %r0, 4;\nadd.u64 %d1, %d0, %d1;\nld.global.u32 %r3, [%d1];",
        "ld.global.u8 %r3, [%d1+1];",
        // Lanes access a byte each, side by side.
        "cvt.u64.u32 %d1, %r2;\nadd.u64 %d1, %d0, %d1;\nld.global.u8 %r3, [%d1];",
        "setp.gt.u32 %p0, %r0, 2;\n@%p0 bra done;\nld.global.u32 %r3, [%d1];\ndone:",
    ];
    for body in bodies {
        let (program, sanitizer) = (Program::new(body), sanitizer());
        let (tries, moment) = program.launch(&sanitizer, 4, &sanitizer.now());
        assert_eq!(tries, [4], "{body}");
        let write = [(program.buffer, 8, machine::fault::Access::Store)];
        sanitizer.copied("ordered", &write, &moment);
        assert_eq!(sanitizer.reports().len(), 0, "{body}");
        program.launch(&sanitizer, 4, &sanitizer.now());
        let other = [(program.buffer + 8, 4, machine::fault::Access::Store)];
        sanitizer.copied("not ordered", &other, &Moment::default());
        let found = sanitizer.reports();
        assert!(
            found.iter().any(|report| report.actors.iter().any(|actor| actor.kernel == "k")),
            "{body}: {found:?}"
        );
    }
}

/// A kernel of a few accesses, each by all threads or by one CTA, to words that threads have alone, or that several share.
fn random_body(mut next: impl FnMut(u32) -> u32) -> String {
    let mut body = String::new();
    for _ in 0..=next(3) {
        let access = match next(8) {
            0 | 1 => ("ld.global.u32 %r6, [%d2];", 4),
            2 => ("st.global.u32 [%d2], %r2;", 4),
            3 => ("ld.global.u8 %r6, [%d2+1];", 4),
            4 => ("red.global.add.u64 [%d2], 1;", 8),
            5 => ("atom.global.add.u32 %r7, [%d2], %r2;", 4),
            6 => ("red.relaxed.sys.global.add.u32 [%d2], 1;", 4),
            _ => ("red.global.add.u32 [%d2], 1;", 4),
        };
        let (access, bytes) = access;
        let own = 4 * WORDS as u32 / bytes - 1;
        let mask = [own, own, own, 63, 0][next(5) as usize];
        let moved = [0, 0, 0, 1, 64][next(5) as usize];
        let guard = ["", "", "@%p0 "][next(3) as usize];
        body += &format!(
            "setp.eq.u32 %p0, %r1, {};\nadd.u32 %r5, %r2, {moved};\nand.b32 %r5, %r5, {mask};\n\
            mul.wide.u32 %d2, %r5, {bytes};\nadd.u64 %d2, %d0, %d2;\n{guard}{access}\n{}",
            next(32),
            ["", "bar.sync 0;\n"][next(2) as usize]
        );
    }
    body
}

#[test]
fn random_kernels_are_judged_alike() {
    let mut clean = 0;
    random_kernels(
        60,
        |next| random_body(next),
        |body, several, one| {
            assert!(!one.reports.is_empty() || several.changed == one.changed, "{body}");
            clean += u32::from(several.tries == [4]);
        },
    );
    // Both have been tried.
    assert!((10..50).contains(&clean), "{clean}");
}
