//! Learning from listings of code that we wrote (`dumps/README.md`): what is learned from one file holds for the other.

use proptest::prelude::*;
use sass::Arch;
use sass_learn::dump::{Repository, Sample, Verdict, Weight, read};

/// Each architecture with the listings of both files.
const LISTINGS: [(Arch, &str, &str); 4] = [
    (Arch::Sm75, include_str!("dumps/one.sm_75.sass"), include_str!("dumps/two.sm_75.sass")),
    (Arch::Sm80, include_str!("dumps/one.sm_80.sass"), include_str!("dumps/two.sm_80.sass")),
    (Arch::Sm90, include_str!("dumps/one.sm_90.sass"), include_str!("dumps/two.sm_90.sass")),
    (Arch::Sm100, include_str!("dumps/one.sm_100.sass"), include_str!("dumps/two.sm_100.sass")),
];

fn samples(listing: &str, arch: Arch) -> Vec<Sample<'_>> {
    let listing = read(listing, arch).unwrap();
    assert_eq!(listing.skipped, []);
    listing.samples
}

fn learned(arch: Arch, samples: &[Sample<'_>]) -> Repository {
    let mut repository = Repository::new(arch);
    let update = repository.update(samples);
    assert_eq!(update.unreadable_count, 0, "{:?}", update.unreadable);
    repository
}

#[test]
fn its_own_samples_are_encoded() {
    for (arch, one, _) in LISTINGS {
        let samples = samples(one, arch);
        let verification = learned(arch, &samples).verify(&samples, false);
        assert_eq!(verification.right + verification.unexplained, samples.len(), "{verification:#?}");
        assert_eq!(verification.unexplained, unexplained(arch), "{arch}: {verification:#?}");
    }
}

#[test]
fn another_file_is_foretold_where_the_samples_suffice() {
    for (arch, one, two) in LISTINGS {
        let two = samples(two, arch);
        let verification = learned(arch, &samples(one, arch)).verify(&two, false);
        assert_eq!(verification.wrong, 0, "{arch}: {verification:#?}");
        assert!(verification.right > two.len() / 4, "{arch}: {verification:#?}");
        assert!(verification.open > 0 && verification.unknown > 0, "{arch}: {verification:#?}");
    }
}

/// nvdisasm names branch targets by labels and cuobjdump by addresses; both say the same.
#[test]
fn both_tools_listings_are_the_same_samples() {
    let by_text = |listing| {
        let mut samples = samples(listing, Arch::Sm90);
        samples.sort_by_key(|it| (it.function, it.address));
        samples.into_iter().map(|it| (it.address, it.text.into_owned(), it.word)).collect::<Vec<_>>()
    };
    let nvdisasm = by_text(include_str!("dumps/one.sm_90.nvdisasm"));
    assert!(nvdisasm.iter().any(|it| it.1.contains("BRA 0x")));
    assert_eq!(nvdisasm, by_text(LISTINGS[2].1));
}

#[test]
fn a_wrong_word_is_noticed() {
    let mut listing = samples(LISTINGS[2].1, Arch::Sm90);
    listing.extend(samples(LISTINGS[2].2, Arch::Sm90));
    let repository = learned(Arch::Sm90, &listing);
    let known = listing.iter().filter(|it| repository.judge(it) == Verdict::Right);
    let mut count = 0;
    for sample in known {
        // A bit of the first operand, which all of these have.
        let broken = Sample { word: sample.word ^ 1 << 17, ..sample.clone() };
        let right = sample.word & ((1 << 105) - 1);
        match repository.judge(&broken) {
            Verdict::Wrong(word) => assert_eq!(word & ((1 << 105) - 1), right),
            other => panic!("{}: {other:?}", sample.text),
        }
        count += 1;
    }
    assert!(count > 200, "{count}");
}

/// `LDG.E R7, [R2.64]` of sm_80 has a uniform register that its text does not show; four samples do not suffice to find its bits.
fn unexplained(arch: Arch) -> usize {
    if arch == Arch::Sm80 { 4 } else { 0 }
}

fn two_adds() -> Vec<Sample<'static>> {
    // By the fields of the table in reference/: opcode 0x221, Rd from bit 16, Ra from 24, Rb from 32, the guard from 12.
    let add = |d: u128, a: u128, b: u128| 0x221 | 7 << 12 | d << 16 | a << 24 | b << 32 | 1 << 109;
    let sample = |text: &'static str, word| Sample { function: 0, address: 0, text: text.into(), word };
    vec![
        sample("FADD R1, R2, R3", add(1, 2, 3)),
        sample("FADD R5, R2, R3", add(5, 2, 3)),
        sample("FADD R9, R2, R3", add(9, 2, 3)),
        sample("FADD R9, R8, R3", add(9, 8, 3)),
        sample("FADD R9, R8, R4", add(9, 8, 4)),
    ]
}

#[test]
fn nothing_is_guessed() {
    let samples = two_adds();
    let repository = learned(Arch::Sm90, &samples[..2]);
    // The first register is known now; the others were never anything else.
    assert_eq!(repository.judge(&samples[2]), Verdict::Right);
    assert!(matches!(repository.judge(&samples[3]), Verdict::Open(_)));
    let repository = learned(Arch::Sm90, &samples[..4]);
    assert!(matches!(repository.judge(&samples[4]), Verdict::Open(_)));
    let all = learned(Arch::Sm90, &samples);
    let key = all.keys().next().unwrap();
    let weight = |name: &str| key.weights.iter().find(|it| it.0 == name).unwrap().1.clone();
    for (name, bit) in [("#1", 16), ("#2", 24), ("#3", 32)] {
        assert_eq!(weight(name).to_string(), format!("bit {bit}"));
    }
    assert_eq!((weight("opcode"), weight("guard")), (Weight::Open, Weight::Open));
}

#[test]
fn bits_that_the_text_does_not_say_are_hidden() {
    let mut samples = two_adds();
    let other = Sample { word: samples[4].word | 1 << 66, ..samples[4].clone() };
    samples.push(other.clone());
    let repository = learned(Arch::Sm90, &samples);
    assert_eq!(repository.keys().next().unwrap().hidden, 1 << 66);
    let verdicts: Vec<Verdict> = samples.iter().map(|it| repository.judge(it)).collect();
    assert_eq!(verdicts[..5], [const { Verdict::Right }; 5]);
    assert_eq!(verdicts[5], Verdict::RightButHidden);
}

#[test]
fn merging_is_as_good_as_learning_all() {
    for (arch, one, two) in LISTINGS {
        let (one, two) = (samples(one, arch), samples(two, arch));
        let mut merged = learned(arch, &one);
        merged.merge(&learned(arch, &two));
        for samples in [&one, &two] {
            let verification = merged.verify(samples, false);
            let known = verification.right + verification.hidden + verification.unexplained;
            assert_eq!(known, samples.len(), "{verification:#?}");
            assert!(verification.unexplained <= unexplained(arch), "{verification:#?}");
        }
    }
}

#[test]
fn a_contradiction_between_two_repositories_is_reported() {
    let samples = two_adds();
    let mut repository = learned(Arch::Sm90, &samples);
    let broken = Sample { word: samples[4].word ^ 1 << 40, ..samples[4].clone() };
    let update = repository.merge(&learned(Arch::Sm90, &[broken]));
    assert_eq!(update.contradiction_count, 1);
    assert_eq!(update.contradictions[0].text, "FADD R9, R8, R4");
    assert_eq!(update.contradictions[0].expected.map(|it| it >> 32 & 0xff), Some(4));
}

#[test]
fn what_is_saved_is_loaded() {
    for (arch, one, two) in LISTINGS {
        let repository = learned(arch, &samples(one, arch));
        let text = repository.save();
        let (loaded, update) = Repository::load(&text).unwrap();
        assert_eq!(update.unreadable_count, 0);
        assert_eq!(loaded.arch(), arch);
        let two = samples(two, arch);
        assert_eq!(loaded.verify(&two, false), repository.verify(&two, false));
        assert_eq!(Repository::load(&loaded.save()).unwrap().0.save(), loaded.save());
    }
    for (text, message) in [
        ("", "line 1: this is no repository of SASS samples"),
        ("sass-repository sm_90\nFADD", "line 2: a hexadecimal word should come first"),
        ("sass-repository sm_90\n\n0x1 FADD", "line 3: a hexadecimal address should come second"),
        ("sass-repository sm_90\n0x1 0x0", "line 2: the text is missing"),
    ] {
        assert_eq!(Repository::load(text).unwrap_err().to_string(), message);
    }
    assert!(Repository::load("sass-repository sm_42").unwrap_err().message.contains("sm_42"));
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "(/\\*[0-9a-f]{1,4}\\*/ [A-Z@!.\\[\\]{}|~+0-9a-fx, -]{0,30};? (/\\* 0x[0-9a-f]{1,3} \\*/)?\n){0,8}") {
        if let Ok(listing) = read(&text, Arch::Sm90) {
            Repository::new(Arch::Sm90).update(&listing.samples);
        }
    }

    #[test]
    fn any_instruction_is_taken_or_not(texts in prop::collection::vec(("[A-Z]{2}(\\.[A-Z]{1,2}){0,2} [-~!|R0-9PUxT\\[\\]+., {}]{0,16}", any::<u128>()), 0..12)) {
        let samples: Vec<Sample<'_>> = texts
            .iter()
            .map(|(text, word)| Sample { function: 0, address: 16, text: text.as_str().into(), word: *word })
            .collect();
        let mut repository = Repository::new(Arch::Sm100);
        repository.update(&samples);
        let _ = Repository::load(&repository.save());
    }
}
