//! Replays what an H200's tensor cores computed (`hardware/tensor.gz`, written by `hardware/tensor.py`).

#[path = "hardware/tensor.rs"]
mod tensor;

use tensor::{Case, DISTRIBUTIONS};

#[test]
fn raw() {
    let Ok(prefix) = std::env::var("RAW") else { return };
    let filter = std::env::var("FILTER").unwrap_or_default();
    let show: usize = std::env::var("SHOW").map_or(0, |x| x.parse().unwrap());
    let text = std::fs::read_to_string(format!("{prefix}.txt")).unwrap();
    let raw = std::fs::read(format!("{prefix}.bin")).unwrap();
    let mut offset = 0;
    for line in text.lines() {
        let mut words = line.split(' ');
        let name = words.next().unwrap();
        let tiles: usize = words.next().unwrap().parse().unwrap();
        let case = Case::new(name);
        let size = match name.split('.').find(|x| ["f16", "f32", "s32", "f64"].contains(x)).unwrap() {
            "f16" => 2,
            "f64" => 8,
            _ => 4,
        };
        let count = case.m * case.n;
        let start = offset;
        offset += tiles * count * size;
        if !filter.split(',').all(|f| if let Some(f) = f.strip_prefix('!') { !name.contains(f) } else { name.contains(f) }) {
            continue;
        }
        let mut wrong = [0; DISTRIBUTIONS];
        let mut total = [0; DISTRIBUTIONS];
        let mut shown = 0;
        let limit = std::env::var("TILES").map_or(tiles, |x| x.parse::<usize>().unwrap().min(tiles));
        for tile in 0..limit {
            let got = case.results(tile);
            for (i, got) in got.iter().enumerate() {
                let at = start + (tile * count + i) * size;
                let mut bytes = [0; 8];
                bytes[..size].copy_from_slice(&raw[at..at + size]);
                let want = u64::from_le_bytes(bytes);
                let kind = tile % DISTRIBUTIONS;
                total[kind] += 1;
                if *got != want {
                    wrong[kind] += 1;
                    if shown < show && std::env::var("KIND").map_or(true, |x| x == kind.to_string()) {
                        shown += 1;
                        let t = case.tile(tile);
                        let (row, col) = (i / case.n, i % case.n);
                        let (ka, kb) = (t.a.len() / case.m, t.b.len() / case.n);
                        println!("kind {kind} tile {tile} ({row},{col}) got {got:x} want {want:x} c {:x}", t.c[i]);
                        println!("   a {:x?}", &t.a[row * ka..][..ka]);
                        println!("   b {:x?}", &t.b[col * kb..][..kb]);
                    }
                }
            }
        }
        let sum: usize = wrong.iter().sum();
        println!("{} {name}: {sum}/{} {wrong:?}", if sum == 0 { "ok" } else { "BAD" }, total.iter().sum::<usize>());
    }
}
