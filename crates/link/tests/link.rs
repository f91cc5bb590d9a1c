//! Modules in, one module or a problem out.

use link::{Input, codes, link};
use ptx::source::Source;

const HEADER: &str = ".version 8.0\n.target sm_70\n.address_size 64\n";

fn inputs(texts: &[&str]) -> Vec<Input> {
    let input = |(i, text): (usize, &&str)| {
        let text = if text.contains(".version") { (*text).to_owned() } else { format!("{HEADER}{text}") };
        let source = Source::new(format!("{i}.ptx"), text);
        Input::new(&source).unwrap_or_else(|found| panic!("{}: {found:?}", source.text()))
    };
    texts.iter().enumerate().map(input).collect()
}

/// The linked module, which must be legal PTX.
fn linked(texts: &[&str]) -> (String, ptx::module::Checked<ptx::module::Module>) {
    let text = link(&inputs(texts), &|name| name == "vprintf").unwrap();
    let source = Source::new("linked.ptx", text.clone());
    match ptx::compile(&source).into_result() {
        Ok((module, _)) => (text, module),
        Err(found) => panic!("{found:?}\n{text}"),
    }
}

/// The codes of all problems, and what is said about their places.
fn problems(texts: &[&str]) -> Vec<(&'static str, String)> {
    let found = link(&inputs(texts), &|name| name == "vprintf").unwrap_err();
    let places = |p: &link::Problem| {
        let labels: Vec<_> =
            p.places.iter().map(|place| format!("{}: {}", place.input, place.label)).collect();
        labels.join("; ")
    };
    found.iter().map(|p| (p.code, format!("{} [{}]", p.message, places(p)))).collect()
}

fn initial(module: &ptx::module::Module, name: &str) -> Vec<u8> {
    module.variables.iter().find(|v| v.name == name).unwrap().init.clone()
}

#[test]
fn references_find_definitions() {
    let user = ".extern .global .u32 counter;\n.extern .func (.param .b32 r) twice(.param .b32 x);
        .visible .entry k() { .reg .b32 %r; .param .b32 a; .param .b32 b; ld.global.u32 %r, [counter];
        st.param.b32 [a], %r; call (b), twice, (a); ret; }";
    let owner = ".visible .global .u32 counter = 7;
        .visible .func (.param .b32 r) twice(.param .b32 x) { .reg .b32 %v; ld.param.b32 %v, [x];
        add.u32 %v, %v, %v; st.param.b32 [r], %v; ret; }";
    for order in [[user, owner], [owner, user]] {
        let (text, module) = linked(&order);
        assert_eq!(initial(&module, "counter"), [7, 0, 0, 0], "{text}");
        assert_eq!(module.variables.iter().filter(|v| v.name == "counter").count(), 1);
        let twice = module.function("twice").unwrap();
        assert!(module.functions[twice.index()].body.is_some());
        assert!(!text.contains(".extern"), "{text}");
    }
}

/// A kernel launches one of another module by its address.
#[test]
fn an_entry_that_another_module_names_is_declared_first() {
    let outer = ".extern .entry inner();\n.visible .global .u64 kept;
        .visible .entry outer() { .reg .b64 %a; mov.u64 %a, inner; st.global.u64 [kept], %a; ret; }";
    let inner = ".visible .entry inner() { ret; }";
    for order in [[outer, inner], [inner, outer]] {
        let (text, module) = linked(&order);
        let inner = module.function("inner").unwrap();
        assert!(module.functions[inner.index()].body.is_some(), "{text}");
    }
}

#[test]
fn symbols_of_a_module_stay_its_own() {
    let module = |value: u32| {
        format!(
            ".global .u32 mine = {value};\n.func f() {{ .reg .b32 %mine; ld.global.u32 %mine, [mine]; ret; }}
             .global .u64 self{value} = mine;\n.visible .entry k{value}() {{ call f; ret; }}"
        )
    };
    let (text, linked) = linked(&[&module(1), &module(2), ".visible .func f() { ret; }"]);
    let of = |name: &str| (linked.variables.iter().position(|v| v.name == name), initial(&linked, name));
    let (first, second) = (of("mine"), of("mine$2"));
    assert_eq!((first.1, second.1), (vec![1, 0, 0, 0], vec![2, 0, 0, 0]), "{text}");
    // Each pointer points to the variable of its own module.
    for (name, owner) in [("self1", first.0), ("self2", second.0)] {
        let variable = linked.variables.iter().find(|v| v.name == name).unwrap();
        let ptx::module::Symbol::Variable(id) = variable.relocations[0].target else { panic!() };
        assert_eq!(Some(id.index()), owner);
    }
    let names: Vec<_> = linked.functions.iter().map(|f| f.name.as_str()).collect();
    assert!(["f", "f$1", "f$2"].iter().all(|name| names.contains(name)), "{names:?}");
}

#[test]
fn weak_gives_way_and_common_is_the_largest() {
    let weak = ".weak .global .u32 w = 1;\n.weak .func f() { trap; ret; }";
    let (_, module) = linked(&[weak, ".weak .global .u32 w = 2;\n.visible .func f() { ret; }"]);
    assert_eq!(initial(&module, "w"), [1, 0, 0, 0]);
    let f = &module.functions[module.function("f").unwrap().index()];
    assert_eq!(f.body.as_ref().unwrap().instructions.len(), 1);
    let (_, module) = linked(&[weak, ".visible .global .u32 w = 3;"]);
    assert_eq!(initial(&module, "w"), [3, 0, 0, 0]);

    let (_, module) =
        linked(&[".common .global .b8 c[4];", ".common .global .b8 c[16];", ".common .global .b8 c[8];"]);
    assert_eq!(module.variables[0].size, 16);
    let found = problems(&[".common .global .b8 c[4] = {1};", ".common .global .b8 c[16];"]);
    assert_eq!(found[0].0, codes::COMMON);
}

#[test]
fn what_contradicts_is_said() {
    for (texts, code, message) in [
        (
            [".visible .global .u32 x;", ".visible .global .u32 x;"],
            codes::DUPLICATE,
            "`x` is defined twice [1: defined again; 0: first defined here]",
        ),
        (
            [".visible .entry k() { ret; }", ".entry k() { ret; }"],
            codes::DUPLICATE,
            "`k` is defined twice [1: defined again; 0: first defined here]",
        ),
        (
            [".extern .global .u32 x[];\n.global .u64 p = x;", ".global .u32 x;"],
            codes::UNDEFINED,
            "`x` is not defined [0: declared here, and used]",
        ),
        (
            [".extern .func f();\n.entry k() { call f; ret; }", ".visible .global .u32 f;"],
            codes::MISMATCH,
            "`f` is not the same in two modules [0: a device function here; 1: a variable in .global here]",
        ),
        (
            [".extern .global .u32 x[2];", ".visible .global .u32 x[3];"],
            codes::MISMATCH,
            "`x` is not the same in two modules [0: 8 bytes here; 1: 12 bytes here]",
        ),
        (
            [".extern .const .u32 x;", ".visible .global .u32 x;"],
            codes::MISMATCH,
            "`x` is not the same in two modules [0: a variable in .const here; 1: a variable in .global here]",
        ),
        (
            [".extern .func f(.param .b32 a);", ".visible .func f(.param .b64 a) { ret; }"],
            codes::MISMATCH,
            "`f` is not the same in two modules [0: parameter 1 has 4 bytes here; 1: parameter 1 has 8 bytes here]",
        ),
        (
            [
                ".extern .global .u64 b;\n.visible .global .u64 a = b;",
                ".extern .global .u64 a;\n.visible .global .u64 b = a;",
            ],
            codes::CYCLE,
            "the initialisers of a, b name one another [0: one of them; 1: one of them]",
        ),
        (
            [".version 6.4\n.target sm_70\n.address_size 32\n", ".global .u32 x;"],
            codes::ADDRESS_SIZE,
            "addresses of 64 bits and of 32 bits [1: 64 bits here; 0: 32 bits here]",
        ),
        (
            [
                ".version 8.7\n.target sm_90a\n.address_size 64\n",
                ".version 8.7\n.target sm_100\n.address_size 64\n",
            ],
            codes::TARGET,
            "no device runs both sm_100 and sm_90a [1: needs sm_100; 0: needs sm_90a]",
        ),
    ] {
        assert_eq!(problems(&texts), [(code, message.to_owned())]);
    }
    assert_eq!(link(&[], &|_| false).unwrap_err()[0].code, codes::NOTHING);
}

#[test]
fn unused_references_and_functions_of_the_system_are_no_error() {
    let prints = ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
        .extern .global .u32 nowhere;\n.extern .shared .align 8 .b8 dynamic[];
        .visible .entry k() { .reg .b64 %d; .reg .b32 %r; .param .b64 f; .param .b64 a; .param .b32 r;
        mov.u64 %d, 0; st.param.b64 [f], %d; st.param.b64 [a], %d; call (r), vprintf, (f, a);
        ld.shared.u32 %r, [dynamic]; ret; }";
    let other = ".extern .shared .align 16 .b8 dynamic[];
        .visible .entry j() { .reg .b32 %r; ld.shared.u32 %r, [dynamic]; ret; }";
    let (text, module) = linked(&[prints, other]);
    assert!(!text.contains("nowhere") && text.matches("vprintf").count() >= 2, "{text}");
    let dynamic: Vec<_> = module.variables.iter().filter(|v| v.name == "dynamic").map(|v| v.align).collect();
    assert_eq!(dynamic, [16]);
}

#[test]
fn the_header_is_of_all_and_variables_stand_in_order() {
    let texts = [
        ".version 7.0\n.target sm_80, debug\n.address_size 64\n.extern .global .u32 x;\n.visible .global .u64 p = x;",
        ".version 8.0\n.target sm_90a\n.address_size 64\n.extern .global .u64 p;\n.visible .global .u32 x = 1;
         .visible .global .u64 q = p;",
    ];
    let (text, module) = linked(&texts);
    assert!(text.starts_with(".version 8.0\n.target sm_90a, debug\n.address_size 64\n"), "{text}");
    let names: Vec<_> = module.variables.iter().map(|v| v.name.as_str()).collect();
    assert_eq!(names, ["x", "p", "q"]);
}

#[test]
fn lines_name_the_files_of_the_whole() {
    let module = |name: &str, file: &str| {
        format!(
            ".visible .entry {name}() {{\n.loc 1 5 3\nret;\n}}\n.file 1 \"{file}\"\n.file 2 \"common.h\"\n"
        )
    };
    let (_, linked) = linked(&[&module("a", "a.cu"), &module("b", "b.cu")]);
    let file = |name: &str| {
        let function = &linked.functions[linked.function(name).unwrap().index()];
        linked.files[&function.body.as_ref().unwrap().locs[0].file].clone()
    };
    assert_eq!((file("a"), file("b"), linked.files.len()), ("a.cu".to_owned(), "b.cu".to_owned(), 3));
}

#[test]
fn a_module_alone_is_left_as_it_is() {
    let text = format!("{HEADER}// a comment\n.visible .entry k() {{ ret; }}\n");
    assert_eq!(link(&inputs(&[&text]), &|_| false).unwrap(), text);
}

#[test]
fn aliases_are_symbols() {
    let definition = ".version 8.0\n.target sm_70\n.address_size 64\n.visible .func real() { ret; }
        .visible .func other();\n.alias other, real;\n";
    let user = ".extern .func other();\n.visible .entry k() { call other; ret; }";
    let (text, module) = linked(&[user, definition]);
    assert_eq!(module.aliases.len(), 1, "{text}");
}
