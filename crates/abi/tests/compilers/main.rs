//! Random structures and prototypes: their layouts are those of gcc, clang and both sides of nvcc, their parameters those of
//! clang and nvcc.
//!
//! `cargo test -p warploom-abi --test compilers -- --ignored --nocapture` asks the compilers that are installed (`GCC`,
//! `CLANG`, `NVCC`) about `WARPLOOM_LAYOUTS` structures (100,000) and `WARPLOOM_PROTOTYPES` prototypes (2,000) from
//! `WARPLOOM_SEED` (0) on.

mod compilers;
mod generate;
mod leaves;
mod prototypes;

use abi::c;
use abi::data::{Host, Side, Target};
use compilers::Compiler;
use generate::Flavor;
use leaves::{Questions, questions};

/// How many structures are compiled at once.
const BATCH: u64 = 1000;

#[derive(Default)]
struct Tally {
    records: u64,
    facts: u64,
    images: u64,
    left_out: u64,
    wrong: u64,
}

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
#[ignore = "minutes, and compilers"]
fn random_layouts_are_those_of_compilers() {
    let (count, seed) = (setting("WARPLOOM_LAYOUTS", 100_000), setting("WARPLOOM_SEED", 0));
    let compilers = compilers::installed();
    assert!(!compilers.is_empty());
    let mut tallies: Vec<Tally> = compilers.iter().map(|_| Tally::default()).collect();
    for batch in 0..count.div_ceil(BATCH) {
        for host in [Host::Bits64, Host::Bits32] {
            let mut rng = fastrand::Rng::with_seed((seed << 32) + batch);
            let flavor = Flavor { wide: host == Host::Bits64 };
            let size = BATCH.min(count - batch * BATCH);
            let texts: Vec<String> =
                (0..size).map(|at| generate::record(&mut rng, flavor, &format!("S{at}"))).collect();
            let source = generate::PRELUDE.to_owned() + &texts.concat();
            let ask_for = |side| {
                let target = Target { host, side };
                let declarations = c::parse(&source, target).unwrap_or_else(|problem| {
                    panic!("{problem}\n{}", source.lines().nth(problem.line - 1).unwrap_or(""))
                });
                assert_eq!(declarations.records.len(), texts.len());
                declarations.records.iter().map(|record| questions(record, target)).collect::<Vec<_>>()
            };
            let asked = [(Side::Gnu, ask_for(Side::Gnu)), (Side::NvccDevice, ask_for(Side::NvccDevice))];
            for (compiler, tally) in compilers.iter().zip(&mut tallies) {
                if compiler.host == host {
                    ask(compiler, &texts, &source, &asked, tally);
                }
            }
        }
        if batch % 10 == 9 {
            println!("{} structures", (batch + 1) * BATCH);
        }
    }
    let mut wrong = 0;
    for (compiler, tally) in compilers.iter().zip(&tallies) {
        let Tally { records, facts, images, left_out, wrong: differ } = tally;
        let name = &compiler.name;
        println!(
            "{name}: {records} records, {facts} numbers, {images} bit fields ({left_out} not asked), {differ} wrong"
        );
        wrong += differ;
    }
    assert_eq!(wrong, 0);
}

/// Has a batch compiled, and compares.
fn ask(
    compiler: &Compiler,
    texts: &[String],
    source: &str,
    asked: &[(Side, Vec<Questions>)],
    tally: &mut Tally,
) {
    let mut text = source.to_owned();
    for (at, questions) in asked[0].1.iter().enumerate() {
        let numbers: Vec<&str> = questions.facts.iter().map(|fact| &*fact.text).collect();
        text += &format!("VARIABLE unsigned long long NAME_fact{at}[] = {{ {} }};\n", numbers.join(", "));
        if !questions.images.is_empty() {
            let keyword = if texts[at].starts_with("union") { "union" } else { "struct" };
            let values: Vec<&str> = questions.images.iter().map(|image| &*image.text).collect();
            // nvcc has internal errors where it initialises bit fields of unions, and of packed structures.
            let plain = !["union", "__attribute__", "aint"].iter().any(|word| texts[at].contains(word));
            let mark = if plain { "" } else { compilers::HOST_ONLY };
            text +=
                &format!("VARIABLE {keyword} S{at} NAME_image{at}[] = {{ {} }};{mark}\n", values.join(", "));
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let sides = compiler.symbols(&text, folder.path()).unwrap_or_else(|error| {
        let _ = std::fs::write(std::env::temp_dir().join("warploom-layouts-batch.cpp"), &text);
        panic!("{}: {error}", compiler.name)
    });
    for (side, symbols) in sides {
        let asked = asked.iter().filter(|(known, _)| *known == side).flat_map(|(_, asked)| asked);
        for (at, questions) in asked.enumerate() {
            tally.records += 1;
            let mut differ = Vec::new();
            let facts = symbols.get(&format!("fact{at}")).unwrap_or_else(|| panic!("no symbol fact{at}"));
            for (fact, bytes) in questions.facts.iter().zip(facts.chunks_exact(8)) {
                let found = u64::from_le_bytes(bytes.try_into().unwrap());
                tally.facts += 1;
                if found != fact.value {
                    differ.push(format!("{} is {found}, not {}", fact.text, fact.value));
                }
            }
            assert_eq!(facts.len(), questions.facts.len() * 8);
            let expected = &questions.images;
            let found = symbols.get(&format!("image{at}"));
            assert!(found.is_some() || expected.is_empty() || side == Side::NvccDevice);
            tally.left_out += if found.is_none() { expected.len() as u64 } else { 0 };
            if differ.is_empty()
                && let Some(found) = found
            {
                let size = expected[0].bytes.len();
                assert_eq!(found.len(), size * expected.len(), "{}", texts[at]);
                for (image, bytes) in expected.iter().zip(found.chunks_exact(size)) {
                    tally.images += 1;
                    if image.bytes != bytes {
                        let bits = |bytes: &[u8]| {
                            let set = (0..bytes.len() * 8).filter(|at| bytes[at / 8] >> (at % 8) & 1 == 1);
                            (bytes.len(), set.clone().min(), set.max())
                        };
                        let (found, ours) = (bits(bytes), bits(&image.bytes));
                        differ.push(format!("{} has bytes and bits {found:?}, not {ours:?}", image.text));
                    }
                }
            }
            if !differ.is_empty() {
                tally.wrong += 1;
                if tally.wrong < 12 {
                    println!("{} {side:?}: {}  {}\n", compiler.name, texts[at], differ.join("\n  "));
                }
            }
        }
    }
}
