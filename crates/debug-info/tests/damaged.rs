//! Sections that are damaged: nothing panics, what is wrong is told.

#[allow(dead_code)]
mod common;

use common::Sample;
use debug_info::machine_code::variables::{Call, Home, Variables};
use debug_info::machine_code::{MachineCode, sections_with};
use debug_info::{Addresses, DebugInfo, Origin, Sections};
use proptest::prelude::*;
use ptx::module::{FuncId, VarId};
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
    write_for_a_machine(sample, info);
}

/// Writes it for machine code that has two instructions for each of a kernel's and of one that is inlined.
fn write_for_a_machine(sample: &Sample, info: &DebugInfo) {
    let module = &sample.module;
    let Some((kernel, _)) = module.entries().next() else { return };
    let functions: Vec<FuncId> = (0..module.functions.len() as u32).map(FuncId).collect();
    let inlined = functions.iter().copied().find(|&function| function != kernel).unwrap_or(kernel);
    let origins: Vec<Option<Origin>> = [(kernel, 0), (inlined, 1), (kernel, 0)]
        .into_iter()
        .flat_map(|(function, call)| {
            let count =
                module.functions[function.index()].body.as_ref().map_or(0, |body| body.instructions.len());
            (0..count as u32).map(move |instruction| Some(Origin { function, instruction, call }))
        })
        .collect();
    let homes = (0..module.variables.len() as u32).map(|id| match id % 4 {
        0 => ((0, VarId(id)), Home::Frame(16)),
        1 => ((0, VarId(id)), Home::Symbol),
        2 => ((0, VarId(id)), Home::Parameter(0x210)),
        _ => ((1, VarId(id)), Home::Shared(0x400)),
    });
    let variables = Variables {
        calls: vec![Call { function: kernel, site: None }, Call { function: inlined, site: Some((0, 3)) }],
        homes: homes.collect(),
        settled: Some(vec![1..4, 7..9]),
        own: origins.len() as u32,
        frame: 32,
        ..Variables::default()
    };
    let bytes = origins.len() as u64 * 16;
    let code = MachineCode { kernel, origins: &origins, bytes, variables: Some(&variables) };
    for section in sections_with(module, &[code], Some(info)) {
        let places = section.addresses.iter().map(|address| address.place);
        assert!(places.clone().all(|place| place + 8 <= section.bytes.len()), "{}", section.name);
        assert!(places.is_sorted(), "{}", section.name);
    }
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
