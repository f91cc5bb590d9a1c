//! What compilers write, read and compared with the source that they compiled.

#[allow(dead_code)]
mod common;

use abi::names::demangled;
use common::Sample;
use debug_info::ScopeKind;
use debug_info::location::AddressClass;
use debug_info::types::{Encoding, Type};

const SMOOTH: &str = "_Z6smoothIfEvPT_PKfi";

/// The guide's example: entries, types, registers, address classes, and the lines of its two functions.
#[test]
fn the_example_of_the_guide() {
    let sample = Sample::read("guide.ptx");
    let (info, module) = (&sample.info, &sample.module);
    assert_eq!(info.problems, []);
    let [unit] = &info.units[..] else { panic!("one unit") };
    assert_eq!(unit.version, 2);
    assert_eq!(unit.producer.as_deref(), Some("lgenfe: EDG 4.9"));
    assert_eq!(
        (unit.name.as_deref(), unit.directory.as_deref()),
        (Some("call1.cu"), Some("/home/mmurphy/test"))
    );
    assert_eq!(unit.language.as_deref(), Some("DW_LANG_C_plus_plus"));
    let entries = info.entries(module);
    let offsets: Vec<_> =
        entries.iter().map(|entry| (entry.offset, entry.depth, entry.tag.as_str())).collect();
    let expected = [
        (11, 0, "DW_TAG_compile_unit"),
        (69, 1, "DW_TAG_subprogram"),
        (119, 2, "DW_TAG_formal_parameter"),
        (141, 2, "DW_TAG_formal_parameter"),
        (164, 1, "DW_TAG_base_type"),
        (174, 1, "DW_TAG_subprogram"),
        (226, 2, "DW_TAG_formal_parameter"),
        (253, 1, "DW_TAG_unspecified_type"),
        (259, 1, "DW_TAG_pointer_type"),
    ];
    assert_eq!(offsets, expected);
    let foo = sample.function("_Z3fooii");
    let test = sample.function("_Z4testPi");
    assert_eq!(["i", "j"].map(|name| sample.place(foo, 2, name)), ["%r1", "%r2"]);
    assert_eq!(["i", "j"].map(|name| sample.ty(foo, 2, name)), ["int", "int"]);
    let class = |function, name| sample.variable(function, 0, name).2.class;
    assert_eq!(class(foo, "i"), Some(AddressClass::Register));
    assert_eq!((class(test, "p"), sample.ty(test, 0, "p").as_str()), (Some(AddressClass::Param), "int *"));
    assert_eq!(sample.place(test, 0, "p"), "[_Z4testPi_param_0]");
    let pointer = sample.variable(test, 0, "p").2.ty.expect("a type");
    assert!(matches!(info.types[&pointer], Type::Pointer { class: Some(AddressClass::Generic), .. }));
    // Its second function begins where the labels say.
    let scope = info.scope(info.function(test).expect("a scope"));
    assert_eq!(scope.ranges, [info.addresses.function(test).expect("it has code")]);
    assert_eq!(demangled(scope.linkage_name.as_deref().unwrap_or_default()), "test(int*)");
    let lines = |function| -> Vec<u32> {
        let count =
            module.functions[function_index(function)].body.as_ref().map_or(0, |b| b.instructions.len());
        (0..count as u32).filter_map(|i| Some(module.loc(function, i)?.line)).collect()
    };
    assert_eq!(lines(foo), [1, 1, 3, 3, 3]);
    assert_eq!(lines(test), [6, 6, 6, 8, 8, 8, 8, 8, 9]);
}

fn function_index(function: ptx::module::FuncId) -> usize {
    function.index()
}

/// `nvcc -G`: parameters, registers, lists of places, structures in local memory, shared arrays.
#[test]
fn nvcc_for_debugging() {
    let sample = Sample::read("nvcc-G.ptx");
    let info = &sample.info;
    assert_eq!(info.problems, []);
    let smooth = sample.function(SMOOTH);
    let at = sample.instruction(smooth, "bar.sync", 0);
    assert_eq!(sample.place(smooth, at, "out"), format!("[{SMOOTH}_param_0]"));
    assert_eq!(sample.ty(smooth, at, "out"), "float *");
    assert_eq!(sample.ty(smooth, at, "in"), "Input");
    assert_eq!(sample.ty(smooth, at, "tile"), "float[64]");
    assert_eq!(sample.ty(smooth, at, "pair"), "Pair");
    let class = |name| sample.variable(smooth, at, name).2.class;
    let classes = ["n", "tile", "pair", "i"].map(class);
    let expected = [AddressClass::Param, AddressClass::Shared, AddressClass::Local, AddressClass::Register];
    assert_eq!(classes, expected.map(Some));
    assert!(sample.place(smooth, at, "pair").starts_with("[__local_depot"));
    // `sum` has a list of places; it is set at the first of them, behind the barrier.
    let sum = sample.variable(smooth, at, "sum");
    assert!(info.locations(sum.0, sum.2).len() > 1);
    assert_eq!(sample.place(smooth, at, "sum"), "optimized out");
    let add = sample.instruction(smooth, "add.f32", at);
    assert!(sample.place(smooth, add, "sum").starts_with("%f"));
    // `at` is in sight only in the block where it is declared.
    let inner = sample.variable(smooth, add, "at").1;
    assert_eq!(inner.kind, ScopeKind::Block);
    let in_sight = |at| info.scopes_at(smooth, at).iter().any(|&s| has(info.scope(s), "at"));
    assert!(in_sight(add) && !in_sight(at));
    // Types, as the source has them.
    let pair = sample.variable(smooth, at, "pair").2.ty.expect("a type");
    let Some((_, Type::Structure { members, size, .. })) = info.plain(pair) else { panic!("a structure") };
    let members: Vec<_> = members
        .iter()
        .map(|m| (m.name.as_deref().unwrap_or_default(), m.offset, info.type_name(m.ty)))
        .collect();
    let expected = [("a", 0, "int"), ("b", 4, "float"), ("c", 8, "short[3]")];
    assert_eq!(members, expected.map(|(name, offset, ty)| (name, offset, ty.to_owned())));
    assert_eq!(*size, Some(16));
    let kind = sample.variable(smooth, add, "kind").2.ty.expect("a type");
    let Some((_, Type::Enumeration { enumerators, .. })) = info.plain(kind) else { panic!("an enumeration") };
    assert_eq!(enumerators[..], [("Small".to_owned(), 0), ("Large".to_owned(), 7)]);
    let table =
        info.scopes[0].variables.iter().find(|variable| variable.name == "table").expect("a variable");
    assert_eq!((info.type_name(table.ty).as_str(), table.class), ("int[4]", Some(AddressClass::Constant)));
}

fn has(scope: &debug_info::Scope, name: &str) -> bool {
    scope.variables.iter().any(|variable| variable.name == name)
}

/// `nvcc -lineinfo`: no entries, but the calls that were inlined, with their names.
#[test]
fn nvcc_with_lines() {
    let sample = Sample::read("nvcc-lineinfo.ptx");
    assert_eq!(sample.info.problems, []);
    assert!(!sample.info.has_entries());
    let smooth = sample.function(SMOOTH);
    // `value * by`, of `scaled`, which the last line of the kernel calls.
    let product = sample.instruction(smooth, "shl.b32", sample.instruction(smooth, "call", 0));
    let chain: Vec<_> = sample.module.loc(smooth, product).expect("a line").chain().collect();
    let [inner, outer] = chain[..] else { panic!("one call was inlined: {chain:?}") };
    assert_eq!((inner.line, outer.line), (12, 30));
    assert_eq!(inner.function.as_deref().map(demangled).as_deref(), Some("scaled(int, int)"));
    assert_eq!(outer.function, None);
    assert_eq!(sample.module.file_name(inner.file), "/src/sample.cu");
}

/// `clang -O0 -g`: everything lies in local memory.
#[test]
fn clang_for_debugging() {
    let sample = Sample::read("clang-O0.ptx");
    let info = &sample.info;
    assert_eq!(info.problems, []);
    assert_eq!(info.units[0].directory.as_deref(), Some("/src"));
    let smooth = sample.function(SMOOTH);
    let at = sample.instruction(smooth, "bar.sync", 0);
    for name in ["out", "in", "n", "i", "sum", "pair", "kind"] {
        let place = sample.place(smooth, at, name);
        assert!(place.starts_with("[__local_depot"), "{name}: {place}");
        assert_eq!(sample.variable(smooth, at, name).2.class, Some(AddressClass::Local), "{name}");
    }
    assert_eq!(sample.place(smooth, at, "tile"), "[_ZZ6smoothIfEvPT_PKfiE4tile]");
    let bits = sample.variable(smooth, at, "bits").2.ty.expect("a type");
    let Some((_, Type::Structure { members, .. })) = info.plain(bits) else { panic!("a structure") };
    assert_eq!([members[0].bits, members[1].bits], [Some((3, 0)), Some((5, 3))]);
    let low = members[0].ty.and_then(|ty| info.plain(ty)).map(|(_, ty)| ty.clone());
    assert!(matches!(low, Some(Type::Base { encoding: Encoding::Unsigned, size: 4, .. })));
}

/// `clang -O2 -g`: inlined functions are scopes with the names of their origins.
#[test]
fn clang_optimised() {
    let sample = Sample::read("clang-O2.ptx");
    assert_eq!(sample.info.problems, []);
    let smooth = sample.function(SMOOTH);
    let inlined = sample.info.scopes.iter().filter(|scope| scope.kind == ScopeKind::Inlined);
    let [scope] = inlined.collect::<Vec<_>>()[..] else { panic!("one call was inlined") };
    assert_eq!((scope.name.as_deref(), scope.called.line), (Some("scaled"), Some(30)));
    let parameters: Vec<_> = scope.variables.iter().map(|variable| variable.name.as_str()).collect();
    assert_eq!(parameters, ["value", "by", "product"]);
    assert_eq!(scope.declared.line, Some(11));
    assert!(
        sample.info.addresses.function(smooth).is_some_and(|range| range.contains(&scope.ranges[0].start))
    );
}

/// Triton names lines of Python files, and has calls into its library inlined, one within the other.
#[test]
fn triton() {
    let sample = Sample::read("triton.ptx");
    assert_eq!(sample.info.problems, []);
    let softmax = sample.function("softmax");
    let maximum = sample.instruction(softmax, "max.f32", 0);
    let chain: Vec<_> = sample.module.loc(softmax, maximum).expect("a line").chain().collect();
    let files = chain.iter().map(|loc| sample.module.file_name(loc.file));
    let files: Vec<_> = files.map(|name| name.rsplit('/').next().unwrap_or_default().to_owned()).collect();
    assert_eq!(files, ["standard.py", "standard.py", "kernels.py"]);
    // `tl.max(x, axis=0)`.
    assert_eq!(chain[2].line, 26);
    assert!(sample.info.units.iter().any(|unit| unit.producer.as_deref() == Some("triton")));
}
