//! Development driver of the learner.
use std::path::Path;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let arch: sass::Arch = args[1].parse().unwrap();
    let scratch = Path::new("/work/wt-sass/target/learn");
    std::fs::create_dir_all(scratch).unwrap();
    let oracle = sass::learn::Nvdisasm::new(
        Path::new("/tmp/ref/nv/lib/python3.11/site-packages/nvidia/cu13/bin/nvdisasm"),
        arch,
        scratch,
    );
    let start = std::time::Instant::now();
    if args[2] == "samples" {
        print!("{}", sass::learn::samples(&oracle, arch).unwrap());
        return;
    }
    if args[2] == "merge" {
        let opcodes = sass::learn::scan(&oracle).unwrap();
        let o = sass::learn::merge(&oracle, &opcodes, &args[4..].iter().map(|f| std::fs::read_to_string(f).unwrap()).collect::<Vec<_>>()).unwrap();
        std::fs::write(&args[3], &o.table).unwrap();
        for o in &o.open { println!("{o}"); }
        return;
    }
    if args[2] == "settle" {
        let bytes: Vec<u8> = args[4..].iter().flat_map(|f| std::fs::read(f).unwrap()).collect();
        let words: Vec<u128> =
            bytes.chunks_exact(16).map(|c| u128::from_le_bytes(c.try_into().unwrap())).collect();
        std::fs::write(&args[3], sass::learn::settle(arch, &words)).unwrap();
        return;
    }
    if args[2] == "words" {
        // A raw file of words: text against the oracle's, and the way back.
        let bytes = std::fs::read(&args[3]).unwrap();
        let words: Vec<u128> =
            bytes.chunks_exact(16).map(|c| u128::from_le_bytes(c.try_into().unwrap())).collect();
        let theirs = sass::learn::Oracle::ask(&oracle, &words, 0).unwrap();
        let (mut same, mut diff, mut unknown, mut residues, mut back) = (0, 0, 0, 0, 0);
        for (at, (&word, t)) in words.iter().zip(&theirs).enumerate() {
            let Some(i) = sass::decode(arch, word) else {
                if t.is_some() {
                    unknown += 1;
                    println!("UNKNOWN {word:#034x} {t:?}");
                }
                continue;
            };
            let mut text = String::new();
            i.print(16 * at as u64, &mut text);
            if Some(&text) == t.as_ref() {
                same += 1
            } else {
                diff += 1;
                println!("DIFF {text} | {t:?}");
            }
            let r = i.residue();
            if r != 0 {
                residues += 1;
                if residues < 40 {
                    println!("RESIDUE {r:#x} {text}");
                }
            }
            let exact = i.to_string();
            match sass::parse(arch, &exact, i.control(), 0, &mut sass::NoSymbols) {
                Ok(b) if b.word() == word => back += 1,
                e => println!("BACK {exact} {e:?}"),
            }
        }
        println!(
            "{} words: same {same} diff {diff} unknown {unknown} residues {residues} back {back}",
            words.len()
        );
        return;
    }
    if args[2] == "compare" {
        let v = sass::learn::compare(
            &oracle,
            arch,
            args[3].parse().unwrap(),
            args.get(4).map_or(1, |s| s.parse().unwrap()),
        )
        .unwrap();
        println!(
            "same {} different {} missing {} extra {} in {:?}",
            v.same,
            v.different.len(),
            v.missing.len(),
            v.extra.len(),
            start.elapsed()
        );
        let mut seen = std::collections::HashMap::<u32, usize>::new();
        for (w, a, b) in v.different.iter() {
            let n = seen.entry(*w as u32 & 0xfff).or_default();
            *n += 1;
            if *n <= 2 {
                println!("DIFF {w:#034x}\n   ours   {a}\n   theirs {b}");
            }
        }
        let mut seen = std::collections::HashMap::<u32, usize>::new();
        for (w, b) in v.missing.iter() {
            let n = seen.entry(*w as u32 & 0xfff).or_default();
            *n += 1;
            if *n <= 1 {
                println!("MISS {w:#034x} {b}");
            }
        }
        let mut seen = std::collections::HashMap::<u32, usize>::new();
        for (w, b) in v.extra.iter() {
            let n = seen.entry(*w as u32 & 0xfff).or_default();
            *n += 1;
            if *n <= 1 {
                println!("EXTRA {w:#034x} {b}");
            }
        }
        return;
    }
    let opcodes = if args[2] == "all" {
        sass::learn::scan(&oracle).unwrap()
    } else {
        args[2].split(',').map(|s| usize::from_str_radix(s, 16).unwrap()).collect()
    };
    eprintln!("{} opcodes {:?}", opcodes.len(), start.elapsed());
    let outcome = sass::learn::learn(
        &oracle,
        &opcodes,
        &args[4..].iter().map(|f| std::fs::read_to_string(f).unwrap()).collect::<Vec<_>>(),
        &|s| eprintln!("{:?} {s}", start.elapsed()),
    )
    .unwrap();
    std::fs::write(&args[3], &outcome.table).unwrap();
    println!("asked {} in {:?}, {} open", outcome.asked, start.elapsed(), outcome.open.len());
    for o in &outcome.open {
        println!("{o}");
    }
}
