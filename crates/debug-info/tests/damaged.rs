//! Sections that are damaged: nothing panics, what is wrong is told.

#[allow(dead_code)]
mod common;

use common::Sample;
use debug_info::{Addresses, DebugInfo, Sections};
use proptest::prelude::*;
use std::sync::LazyLock;

const SAMPLES: [&str; 5] = ["guide.ptx", "nvcc-G.ptx", "clang-O0.ptx", "clang-O2.ptx", "triton.ptx"];

static READ: LazyLock<Vec<Sample>> = LazyLock::new(|| SAMPLES.map(Sample::read).into());

/// Asks everything that can be asked.
fn look_at(sample: &Sample, info: &DebugInfo) {
    let module = &sample.module;
    info.entries(module);
    for (index, scope) in info.scopes.iter().enumerate() {
        for variable in &scope.variables {
            info.type_name(variable.ty);
            variable.ty.and_then(|ty| info.size_of(ty));
            for (_, place) in info.locations(debug_info::ScopeId(index), variable) {
                info.location_text(module, &place);
            }
        }
    }
    for &ty in info.types.keys() {
        info.type_name(Some(ty));
        info.size_of(ty);
    }
    info.elf(module).expect("bytes can be written whatever they are");
    info.problems.iter().for_each(|problem| assert!(!problem.to_string().is_empty()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Bytes are changed, a section is cut off.
    #[test]
    fn damage_is_survived(
        sample in 0..SAMPLES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 1..12),
        cut in prop::option::of((any::<prop::sample::Index>(), any::<prop::sample::Index>())),
    ) {
        let sample = &READ[sample];
        let addresses = Addresses::new(&sample.module);
        let mut sections = Sections::of(&sample.module, &addresses);
        let names: Vec<String> = sections.iter().map(|(name, _)| name.to_owned()).collect();
        for (section, at, byte) in changes {
            let name = section.get(&names);
            let mut bytes = sections.bytes(name).unwrap_or_default().to_vec();
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
                sections.replace(name, bytes);
            }
        }
        if let Some((section, at)) = cut {
            let name = section.get(&names);
            let mut bytes = sections.bytes(name).unwrap_or_default().to_vec();
            bytes.truncate(at.index(bytes.len() + 1));
            sections.replace(name, bytes);
        }
        let info = DebugInfo::of_sections(&sample.module, addresses, sections);
        look_at(sample, &info);
    }
}

/// A unit that ends too early, an abbreviation that is missing, a label that nobody defines: each is told.
#[test]
fn damage_is_told() {
    let sample = &READ[0];
    let problems = |change: &dyn Fn(&mut Sections)| {
        let addresses = Addresses::new(&sample.module);
        let mut sections = Sections::of(&sample.module, &addresses);
        change(&mut sections);
        let info = DebugInfo::of_sections(&sample.module, addresses, sections);
        info.problems.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(problems(&|_| ()), [""; 0]);
    let short = problems(&|sections| {
        let bytes = sections.bytes(".debug_info").unwrap_or_default()[..100].to_vec();
        sections.replace(".debug_info", bytes);
    });
    assert!(short.len() == 1 && short[0].starts_with(".debug_info"), "{short:?}");
    let without = problems(&|sections| sections.replace(".debug_abbrev", vec![0]));
    assert!(without.len() == 1 && without[0].starts_with(".debug_info at 0x0"), "{without:?}");
    let text = sample.module.source.text().replace("func_end1:", "");
    let module = ptx::compile(&ptx::source::Source::new("k.ptx", text)).module.expect("it compiles");
    let problems = DebugInfo::new(&module).problems;
    assert_eq!(problems.len(), 1);
    assert!(problems[0].message.starts_with("nothing is called `func_end1`, in line "), "{problems:?}");
}
