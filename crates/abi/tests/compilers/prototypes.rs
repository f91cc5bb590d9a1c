//! Random prototypes: sizes, alignments and kinds of their parameters are those of clang's and nvcc's PTX.

use crate::{compilers, generate, setting};
use abi::c;
use abi::call::{Passed, Site, passed};
use abi::data::{Host, Side, Target, Type};
use fastrand::Rng;
use ptx::module::{Function, Module, Param};

const BATCH: u64 = 200;

const TYPES: [&str; 24] = [
    "bool",
    "char",
    "signed char",
    "unsigned char",
    "short",
    "unsigned short",
    "int",
    "unsigned",
    "long",
    "unsigned long",
    "long long",
    "unsigned long long",
    "float",
    "double",
    "void *",
    "const int *",
    "enum E",
    "enum N",
    "__int128",
    "char2",
    "short4",
    "float2",
    "float3",
    "float4",
];

/// A prototype, and what structures it needs.
fn prototype(rng: &mut Rng, at: u64, kernel: bool) -> (String, String) {
    let mut structures = String::new();
    let mut ty = |rng: &mut Rng, number: u32| {
        if rng.u32(..3) > 0 {
            return rng.choice(TYPES).unwrap_or("int").to_owned();
        }
        let tag = format!("S{at}_{number}");
        // Where a `typedef` lowers an alignment, nvcc's parameters are larger than its own `sizeof`.
        let text = generate::record(rng, generate::Flavor { wide: true }, &tag).replace("aint1 ", "int ");
        let keyword = if text.starts_with("union") { "union" } else { "struct" };
        structures.push_str(&text);
        format!("{keyword} {tag}")
    };
    let returns = if kernel || rng.u32(..5) == 0 { "void".to_owned() } else { ty(rng, 0) };
    let params: Vec<String> =
        (0..rng.u32(..6)).map(|number| format!("{} a{number}", ty(rng, number + 1))).collect();
    (structures, format!("{returns} f{at}({})", params.join(", ")))
}

/// As the PTX of a compiler has it: size, alignment, and whether it is an array.
fn shape(module: &Module, param: Param) -> (u64, u64, bool) {
    let Param::Memory(id) = param else { panic!("a parameter in a register") };
    let variable = &module.variables[id.index()];
    (variable.size, variable.align.into(), variable.size != u64::from(variable.ty.bytes()))
}

#[test]
#[ignore = "a minute, and compilers"]
fn random_prototypes_are_those_of_compilers() {
    let (count, seed) = (setting("WARPLOOM_PROTOTYPES", 2000), setting("WARPLOOM_SEED", 0));
    for (name, side) in [("clang", Side::Gnu), ("nvcc", Side::NvccDevice)] {
        let target = Target { host: Host::Bits64, side };
        let (mut compared, mut parameters, mut wrong) = (0, 0, 0);
        for batch in 0..count.div_ceil(BATCH) {
            let mut rng = Rng::with_seed((seed << 32) + batch);
            let (mut plain, mut text) = (generate::PRELUDE.to_owned(), generate::PRELUDE.to_owned());
            for at in 0..BATCH {
                let kernel = rng.bool();
                let (structures, prototype) = prototype(&mut rng, at, kernel);
                let mark = if kernel { "KERNEL" } else { "DEVICE" };
                let before = if kernel { "__global__ " } else { "" };
                plain += &format!("{structures}{before}{prototype};\n");
                text += &format!("{structures}{mark} {prototype} {{ }}\n");
            }
            let folder = tempfile::tempdir().unwrap();
            let Some(source) = compilers::device_code(name, &text, folder.path()) else { break };
            let compiled = ptx::compile(&source.unwrap_or_else(|error| panic!("{error}")));
            let module = compiled.module.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics));
            assert_eq!(abi::check::check(&module), [], "the checks are silent");
            let declared = c::parse(&plain, target).unwrap_or_else(|problem| panic!("{problem}"));
            for function in &declared.functions {
                let site = if function.kernel { Site::Kernel } else { Site::Argument };
                let Ok(ours) = convention(function, site, target) else { continue };
                let theirs = &module.functions[module.function(&function.name).unwrap().index()];
                compared += 1;
                parameters += ours.len();
                if let Some(problem) = differing(&module, theirs, &ours, name) {
                    wrong += 1;
                    if wrong < 10 {
                        let line = plain.lines().find(|line| line.contains(&format!(" {}(", function.name)));
                        println!("{name}: {}: {problem}", line.unwrap_or_default());
                    }
                }
            }
        }
        println!("{name}: {compared} prototypes, {parameters} parameters and results, {wrong} wrong");
        assert_eq!(wrong, 0);
    }
}

/// The result, if there is one, and the parameters.
fn convention(function: &c::Function, site: Site, target: Target) -> Result<Vec<Passed>, String> {
    let returns = (!matches!(function.returns, Type::Void)).then_some(&function.returns);
    let returns = returns.map(|ty| passed(ty, Site::Result, target));
    returns
        .into_iter()
        .chain(function.parameters.iter().map(|parameter| passed(&parameter.ty, site, target)))
        .collect()
}

/// LLVM aligns some parameters to more and results to less than their types, so that alignments are nvcc's alone.
fn differing(module: &Module, theirs: &Function, ours: &[Passed], name: &str) -> Option<String> {
    let known = |align| if name == "nvcc" { align } else { 0 };
    let theirs = theirs.returns.iter().chain(&theirs.params).map(|param| shape(module, *param));
    let theirs: Vec<_> = theirs.map(|(size, align, array)| (size, known(align), array)).collect();
    let ours: Vec<_> = ours
        .iter()
        .map(|passed| match passed {
            Passed::Scalar { ty, .. } => (u64::from(ty.bytes()), known(u64::from(ty.bytes())), false),
            Passed::Bytes { size, align } => (*size, known(*align), *size > 1),
        })
        .collect();
    (theirs != ours).then(|| format!("theirs {theirs:?}, ours {ours:?}"))
}
