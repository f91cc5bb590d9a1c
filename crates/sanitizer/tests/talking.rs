//! Launches whose CTAs talk, on several host threads: waiting for flags, meeting at counters, behind locks. What is found is what one
//! host thread finds, whoever comes first, and nothing is left of a first try.

mod programs;

use machine::fault::Access;
use programs::{BYTES, Program, check, random_kernels, sanitizer};
use sanitizer::{Moment, Sanitizer, Suppressions};

/// Tries of each kernel: host threads come in another order each time.
const TRIES: usize = 4;

/// The first thread of each CTA waits for the flag of the CTA before, reads what that has written, writes its own and sets its own flag.
/// What is between the parts is told.
fn chain([wait, behind, before, set]: [&str; 4]) -> String {
    format!(
        "setp.ne.u32 %p0, %r0, 0;\n@%p0 bra done;\nmul.wide.u32 %d2, %r1, 256;\nadd.u64 %d2, %d0, %d2;\n\
        setp.eq.u32 %p1, %r1, 0;\n@%p1 bra first;\nwait:\n{wait} %r3, [%d2+-252];\nsetp.ne.u32 %p2, %r3, -1;\n\
        @%p2 bra wait;\n{behind}\nld.global.u32 %r4, [%d2+-256];\nfirst:\nmov.u32 %r5, -1;\n\
        st.global.u32 [%d2], %r5;\n{before}\n{set}\ndone:"
    )
}

const SET: &str = "st.release.gpu.global.u32 [%d2+4], %r5;";
const SET_RELAXED: &str = "st.relaxed.gpu.global.u32 [%d2+4], %r5;";
const WAIT: &str = "ld.acquire.gpu.global.u32";
const WAIT_RELAXED: &str = "ld.relaxed.gpu.global.u32";
const FENCE: &str = "fence.acq_rel.gpu;";

/// All threads store a word of theirs; CTAs meet at the first word, at which their first threads count; all read the word of another CTA. Twice.
fn meeting([count, wait]: [&str; 2]) -> String {
    let meet = |number: u32| {
        format!(
            "bar.sync 0;\n@%p0 bra met{number};\n{count}\nwait{number}:\n{wait} %r3, [%d0];\n\
            setp.lt.u32 %p1, %r3, {};\n@%p1 bra wait{number};\nmet{number}:\nbar.sync 0;\n",
            64 * number
        )
    };
    format!(
        "setp.ne.u32 %p0, %r0, 0;\nxor.b32 %r4, %r2, 0x40;\nmul.wide.u32 %d2, %r4, 4;\nadd.u64 %d2, %d0, %d2;\n\
        setp.eq.u32 %p2, %r0, 0;\n@!%p2 st.global.u32 [%d1], %r1;\n{}@!%p2 ld.global.u32 %r5, [%d2];\n{}\
        @!%p2 st.global.u32 [%d1], 5;",
        meet(1),
        meet(2)
    )
}

const COUNT: &str = "red.release.gpu.global.add.u32 [%d0], 1;";

/// The first thread of each CTA adds one to the second word behind a lock in the first one.
fn lock([take, give]: [&str; 2]) -> String {
    format!(
        "setp.ne.u32 %p0, %r0, 0;\n@%p0 bra done;\nlock:\n{take}\nsetp.ne.u32 %p1, %r3, 0;\n@%p1 bra lock;\n\
        ld.global.u32 %r4, [%d0+4];\nadd.u32 %r4, %r4, 1;\nst.global.u32 [%d0+4], %r4;\n{give}\ndone:"
    )
}

const TAKE: &str = "atom.cas.acquire.gpu.global.b32 %r3, [%d0], 0, 1;";
const GIVE: &str = "atom.exch.release.gpu.global.b32 %r5, [%d0], 0;";

/// Who does not ask for it has several host threads only where CTAs talk by loads and stores alone.
#[test]
fn who_does_not_share_has_one_host_thread_where_atomics_tell() {
    let loads_and_stores = chain([WAIT_RELAXED, FENCE, FENCE, SET_RELAXED]);
    let exchanges = chain([WAIT, "", "", "atom.exch.release.gpu.global.b32 %r6, [%d2+4], %r5;"]);
    let kernels =
        [(loads_and_stores, 4), (exchanges, 1), (meeting([COUNT, WAIT]), 1), (lock([TAKE, GIVE]), 1)];
    for (body, threads) in kernels {
        let program = Program::new(&body);
        let sanitizer = Sanitizer::new("all".parse().expect("all checks"), Suppressions::default());
        assert_eq!(program.launch(&sanitizer, 4, &sanitizer.now()).0, [threads], "{body}");
        assert_eq!(sanitizer.reports().len(), 0);
    }
}

#[test]
fn what_is_clean_runs_once_on_several_host_threads() {
    let clean = [
        chain([WAIT, "", "", SET]),
        chain([WAIT_RELAXED, FENCE, FENCE, SET_RELAXED]),
        chain(["ld.volatile.global.u32", "fence.sc.gpu;", FENCE, "st.volatile.global.u32 [%d2+4], %r5;"]),
        chain([WAIT, "", "", "atom.exch.release.gpu.global.b32 %r6, [%d2+4], %r5;"]),
        meeting([COUNT, WAIT]),
        meeting([&format!("{FENCE}\nred.global.add.u32 [%d0], 1;"), "ld.acquire.sys.global.u32"]),
        lock([TAKE, GIVE]),
        lock([TAKE, "st.release.gpu.global.u32 [%d0], 0;"]),
        // Generic addresses.
        lock([&TAKE.replace(".global", ""), &GIVE.replace(".global", "")]),
    ];
    for body in clean {
        for _ in 0..TRIES {
            assert_eq!(check(&body, false, &[4]).reports, [""; 0], "{body}");
        }
    }
}

#[test]
fn what_is_found_is_what_one_host_thread_finds() {
    let racy = [
        // No acquire, no release, scopes that are too narrow, a flag that is read or written plainly.
        chain([WAIT_RELAXED, "", "", SET]),
        chain([WAIT, "", "", SET_RELAXED]),
        chain(["ld.acquire.cta.global.u32", "", "", SET]),
        chain([WAIT, "", "", "st.release.cta.global.u32 [%d2+4], %r5;"]),
        chain([WAIT_RELAXED, "fence.acq_rel.cta;", "", SET]),
        chain([WAIT, "", "fence.acq_rel.cta;", SET_RELAXED]),
        chain(["ld.global.u32", FENCE, "", SET]),
        chain([WAIT, "", FENCE, "st.global.u32 [%d2+4], %r5;"]),
        // The fence stands on the wrong side.
        chain([WAIT, "", "", &format!("{SET_RELAXED}\n{FENCE}")]),
        meeting(["red.relaxed.gpu.global.add.u32 [%d0], 1;", WAIT]),
        meeting([COUNT, WAIT_RELAXED]),
        meeting(["red.release.cta.global.add.u32 [%d0], 1;", WAIT]),
        lock([&TAKE.replace("acquire", "relaxed"), GIVE]),
        lock([TAKE, &GIVE.replace("release", "relaxed")]),
        lock([TAKE, "st.global.u32 [%d0], 0;"]),
        lock([&TAKE.replace("gpu", "cta"), GIVE]),
    ];
    for body in racy {
        for _ in 0..TRIES {
            let outcome = check(&body, false, &[4, 1]);
            assert!(outcome.reports.iter().any(|report| report.starts_with("race: ")), "{body}");
        }
    }
}

#[test]
fn what_else_is_found_is_found_as_well() {
    let clean = chain([WAIT, "", "", SET]);
    // Behind the end of the memory, and what nobody has written.
    let outside = check(&format!("{clean}\nst.global.u32 [%d1+65536], 1;"), false, &[4, 1]);
    assert!(
        outside.reports.iter().any(|report| report.starts_with("out-of-bounds: ")),
        "{:?}",
        outside.reports
    );
    let unwritten = clean.replace("first:", "first:\nld.global.u32 %r6, [%d2+16];");
    let unwritten = check(&unwritten, true, &[4, 1]);
    assert!(
        unwritten.reports.iter().any(|report| report.starts_with("unwritten: ")),
        "{:?}",
        unwritten.reports
    );
    assert_eq!(check(&meeting([COUNT, WAIT]), false, &[4]).reports, [""; 0]);
}

/// Behind a launch nothing races with what it did, beside it everything does.
#[test]
fn what_they_did_is_remembered() {
    let chain = Program::new(&chain([WAIT, "", "", SET]));
    // What was written weakly and read, what was written strongly and read so, and what nobody has accessed.
    for (at, reads, writes) in [(256, true, true), (260, true, true), (264, false, false)] {
        let all = [(Access::Load, reads), (Access::Store, writes)];
        for ((access, races), ordered) in all.into_iter().flat_map(|of| [(of, true), (of, false)]) {
            let sanitizer = sanitizer();
            chain.reset();
            let (tries, moment) = chain.launch(&sanitizer, 4, &sanitizer.now());
            assert_eq!(tries, [4]);
            let after = if ordered { moment } else { Moment::default() };
            sanitizer.copied("a copy", &[(chain.buffer + at, 4, access)], &after);
            let found = sanitizer.reports();
            assert_eq!(found.is_empty(), ordered || !races, "{at} {access:?} {found:?}");
        }
    }
    // A launch that comes after the first one goes on with it; one beside it races.
    for ordered in [true, false] {
        let sanitizer = sanitizer();
        sanitizer.copied("a copy", &[(chain.buffer, BYTES, Access::Store)], &sanitizer.now());
        chain.reset();
        let (_, moment) = chain.launch(&sanitizer, 4, &sanitizer.now());
        let after = if ordered { moment } else { Moment::default() };
        chain.reset();
        chain.launch(&sanitizer, 4, &after);
        assert_eq!(sanitizer.reports().is_empty(), ordered, "{:?}", sanitizer.reports());
    }
}

/// One access by each thread, of one kind in some CTAs and of another one in the others, to words that threads have alone or
/// share. Whatever comes first, the same races.
fn random_body(next: &mut impl FnMut(u32) -> u32) -> String {
    let accesses = [
        ("ld.global.u32 %r6, [%d2];", 4),
        ("st.global.u32 [%d2], %r2;", 4),
        ("ld.relaxed.gpu.global.u32 %r6, [%d2];", 4),
        ("st.relaxed.gpu.global.u32 [%d2], 3;", 4),
        ("st.release.sys.global.u32 [%d2], 3;", 4),
        ("atom.acq_rel.gpu.global.or.b32 %r6, [%d2], 7;", 4),
        ("atom.cas.relaxed.gpu.global.b32 %r6, [%d2], -1, 2;", 4),
        ("atom.relaxed.gpu.global.or.b64 %d3, [%d2], 7;", 8),
        ("ld.volatile.global.u64 %d3, [%d2];", 8),
        ("ld.global.u8 %r6, [%d2+1];", 4),
        ("st.relaxed.cta.global.u32 [%d2], 3;", 4),
    ];
    let (at, bytes) = ([next(32), 32, 64][next(3) as usize], [4, 8][next(2) as usize]);
    let mut body = format!("setp.lt.u32 %p0, %r1, {at};\n");
    let fits: Vec<_> = accesses.iter().filter(|(_, least)| *least <= bytes).collect();
    for guard in ["@%p0", "@!%p0"] {
        let (access, _) = fits[next(fits.len() as u32) as usize];
        let own = 16384 / bytes - 1;
        let mask = [own, own, own, 63, 0][next(5) as usize];
        let moved = [0, 0, 0, 1, 64][next(5) as usize];
        body += &format!(
            "add.u32 %r5, %r2, {moved};\nand.b32 %r5, %r5, {mask};\nmul.wide.u32 %d2, %r5, {bytes};\n\
            add.u64 %d2, %d0, %d2;\n{guard} {access}\n"
        );
    }
    // That makes CTAs of any kernel talk.
    body + "fence.acq_rel.gpu;"
}

#[test]
fn random_kernels_are_judged_alike() {
    let mut clean = 0;
    random_kernels(
        80,
        |mut next| random_body(&mut next),
        |body, several, one| {
            let tries: &[usize] = if one.reports.is_empty() { &[4] } else { &[4, 1] };
            assert_eq!(several.tries, tries, "{body}");
            clean += u32::from(one.reports.is_empty());
        },
    );
    // Both have been tried.
    assert!((15..65).contains(&clean), "{clean}");
}
