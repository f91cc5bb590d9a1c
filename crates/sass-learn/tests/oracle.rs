//! The tables against nvdisasm itself, where there is one: `WARPLOOM_NVDISASM` is its path.

use std::path::Path;

use sass::Arch;
use sass_learn::{Nvdisasm, Report, Tables, compare};

/// Random words of every form. `WARPLOOM_NVDISASM_WORDS` sets how many; the default takes seconds.
#[test]
fn random_words_read_like_nvdisasm() {
    let Some(program) = std::env::var_os("WARPLOOM_NVDISASM") else {
        eprintln!("SKIPPED: set WARPLOOM_NVDISASM to the path of nvdisasm to compare the tables with it");
        return;
    };
    let each = std::env::var("WARPLOOM_NVDISASM_WORDS").ok().and_then(|it| it.parse().ok()).unwrap_or(4);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sass/isa");
    let tables = Tables::open(&folder).expect("the tables");
    for arch in Arch::ALL {
        let oracle = Nvdisasm::open(Path::new(&program), arch).expect("a program");
        let mut report = Report::default();
        compare(&oracle, &tables, arch, each, 7, 1, &mut report).expect("nvdisasm answers");
        eprintln!("{arch}: {} of {} words the same", report.same, report.legal);
        assert!(report.same > 0, "{arch}: no table");
        assert_eq!(report.legal, report.same, "{arch}: {:?}", report.sorted().first());
    }
}
