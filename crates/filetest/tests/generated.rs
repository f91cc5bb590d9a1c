//! Made-up programs and every form of the instruction table: the machine runs them or says why not, and never panics.
//!
//! The fuzz target `machine` makes the same programs from a fuzzer's choices.

use filetest::generate;
use ptx::isa;
use std::collections::BTreeMap;

/// Numbers that follow from a seed (Marsaglia's xorshift64).
fn choices(seed: u64) -> impl FnMut(u32) -> u32 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as u32 % below.max(1)
    }
}

#[test]
fn made_up_programs() {
    let mut ends: BTreeMap<String, u32> = BTreeMap::new();
    for seed in 0..3000 {
        let mut choose = choices(seed);
        let text = generate::program(&mut choose);
        for end in generate::run(&text, &mut choose) {
            let kind = end.split([':', '\n']).next().unwrap_or_default().to_owned();
            *ends.entry(kind).or_default() += 1;
        }
    }
    // The law says something only if many programs get far.
    let count = |kind: &str| ends.get(kind).copied().unwrap_or(0);
    assert!(count("finished") > 100 && count("not compiled") < 300, "{ends:?}");
    assert!(count("illegal address") > 50, "{ends:?}");
}

/// Every form with a semantic function is executed.
#[test]
fn every_form_with_semantics_runs() {
    let mut wrong = Vec::new();
    let mut ran = 0;
    for form in isa::FormId::all() {
        for opcode in isa::sample_opcodes(form).into_iter().filter(|opcode| opcode.sem().is_some()) {
            for full in [false, true] {
                let Some(text) = isa::instance(&opcode, full) else { continue };
                for end in generate::run(&text, &mut choices(1)) {
                    // The one refusal of operands, of which the generator makes one kind.
                    let lone_offset = end.contains("a texture offset of fewer dimensions than the texture");
                    match end.starts_with("unsupported") && !lone_offset {
                        false => ran += 1,
                        true => {
                            let why = end.lines().next().unwrap_or_default();
                            wrong.push(format!("{}: {why}", opcode.text()));
                        }
                    }
                }
            }
        }
    }
    wrong.dedup();
    assert!(wrong.is_empty() && ran > 1000, "{ran} ran; not executed:\n{}", wrong.join("\n"));
}
