//! Properties on all PTX of the repository's tests: forms are sound, before and after passes, and their texts come back.

use ir::{Cfg, Function, Liveness, Ssa, pass};
use ptx::module::{Checked, FuncId, Module};
use ptx::source::Source;
use std::path::{Path, PathBuf};

/// The PTX files below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "ptx") {
            found.push(path);
        }
    }
}

/// Every module of the tests that compiles, with its path.
pub(crate) fn modules() -> Vec<(PathBuf, Checked<Module>)> {
    let mut found = Vec::new();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in ["../../tests", "../sanitizer/tests", "../ptx/tests/sources", "tests"] {
        let folder = here.join(folder);
        if folder.is_dir() {
            files(&folder, &mut found);
        }
    }
    let modules = found.into_iter().filter_map(|path| {
        let text = std::fs::read_to_string(&path).ok()?;
        // Tests of refusals do not compile.
        let (module, _) = ptx::compile(&Source::new(path.to_str()?, &text)).into_result().ok()?;
        Some((path, module))
    });
    modules.collect()
}

fn check(path: &Path, ssa: &Ssa<'_>, when: &str) {
    let violations = ssa.verify();
    assert!(violations.is_empty(), "{} {when}: {}\n{ssa}", path.display(), violations[0]);
    let text = ssa.to_string();
    match Ssa::parse(ssa.function, &text) {
        Ok(parsed) => {
            assert_eq!(parsed.to_string(), text, "{}", path.display());
            assert!(parsed.verify().is_empty(), "{}", path.display());
        }
        Err(error) => panic!("{} {when}: {error}\n{text}", path.display()),
    }
}

#[test]
fn forms_are_sound_and_their_texts_come_back() {
    let mut unsound: Vec<String> = Vec::new();
    let (mut functions, mut parameters, mut before, mut after) = (0, 0, 0, 0);
    for (path, module) in modules() {
        for id in (0..module.functions.len() as u32).map(FuncId) {
            let Some(function) = Function::lower(&module, id) else { continue };
            unsound
                .extend(function.verify().iter().map(|violation| format!("{}: {violation}", path.display())));
            let text = function.to_string();
            match function.parse(&text) {
                // Of labels that stand together it does not say which.
                Ok(parsed) => assert_eq!(parsed.to_string(), text, "{}", path.display()),
                Err(error) => panic!("{}: {error}\n{text}", path.display()),
            }

            let cfg = Cfg::new(&function);
            let liveness = Liveness::new(&function, &cfg);
            let mut ssa = Ssa::new(&function, cfg, &liveness).unwrap();
            check(&path, &ssa, "as constructed");
            let count =
                |ssa: &Ssa<'_>| ssa.blocks.iter().map(|block| block.instructions.len()).sum::<usize>();
            functions += 1;
            parameters += ssa.blocks.iter().map(|block| block.parameters.len()).sum::<usize>();
            before += count(&ssa);
            pass::simplify(&mut ssa);
            check(&path, &ssa, "simplified");
            after += count(&ssa);
        }
    }
    assert!(unsound.is_empty(), "{}", unsound.join("\n"));
    // The test would say nothing if there were nothing to do.
    assert!(
        functions > 500 && parameters > 500 && after < before,
        "{functions} {parameters} {before} {after}"
    );
}
