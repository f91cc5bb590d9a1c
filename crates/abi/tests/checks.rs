//! What `check` finds, by example, and that it finds nothing in what compilers write.

use abi::check::{self, codes};
use ptx::source::Source;
use std::path::{Path, PathBuf};

const HEAD: &str = ".version 8.0\n.target sm_70\n.address_size 64\n";
const CALLEE: &str = ".func (.param .b32 r) f(.param .b32 a) { .reg .b32 %x; ld.param.b32 %x, [a]; st.param.b32 [r], %x; ret; }\n";
const REGISTERS: &str =
    ".reg .b32 %x; .reg .pred %p; .param .b32 a; .param .b32 b; .param .b32 r; setp.eq.u32 %p, %x, 0;\n";

/// The codes that are found in a text, which PTX itself has nothing against.
fn found(text: &str) -> Vec<&'static str> {
    let compiled = ptx::compile(&Source::new("test.ptx", text));
    let module = compiled.module.unwrap_or_else(|| panic!("{:?}\n{text}", compiled.diagnostics));
    check::check(&module).iter().map(|diagnostic| diagnostic.code).collect()
}

fn in_caller(body: &str) -> Vec<&'static str> {
    found(&format!("{HEAD}{CALLEE}.visible .entry k() {{ {REGISTERS}{body}\nret; }}"))
}

#[test]
fn parameters() {
    let declared = |text: &str| found(&format!("{HEAD}{text}"));
    for (text, expected) in [
        (".func f(.param .align 128 .b8 a[256]) { ret; }", vec![]),
        (".func f(.reg .b32 %a) { ret; }", vec![]),
        (".func f(.reg .b16 %a) { ret; }", vec![codes::NARROW_REGISTER]),
        (".func (.reg .u16 %r) f(.reg .f64 %a) { ret; }", vec![codes::NARROW_REGISTER]),
        (
            ".func f(.param .u8 a, .param .s16 b) { ret; }",
            vec![codes::SHORT_PARAMETER, codes::SHORT_PARAMETER],
        ),
        (".func (.param .f16 r) f() { ret; }", vec![codes::SHORT_PARAMETER]),
        (".func f(.param .align 1 .b8 a[1], .param .b16 half) { ret; }", vec![]),
        (".visible .entry f(.param .u8 a, .param .s16 b) { ret; }", vec![]),
    ] {
        assert_eq!(declared(text), expected, "{text}");
    }
    // PTX itself refuses larger alignments.
    let text = format!("{HEAD}.func f(.param .align 256 .b8 a[256]) {{ ret; }}");
    let compiled = ptx::compile(&Source::new("test.ptx", text));
    assert_eq!(compiled.diagnostics[0].code, ptx::resolve::codes::ALIGNMENT);
}

#[test]
fn call_sites() {
    let call = "call (r), f, (a);";
    let store = "st.param.b32 [a], %x;";
    let load = "ld.param.b32 %x, [r];";
    for (body, expected) in [
        (format!("{store} {call} {load}"), vec![]),
        (format!("{store} add.u32 %x, %x, 1; {call} mul.lo.u32 %x, %x, 2; {load}"), vec![]),
        // A label that no branch goes to is no border, nor is a guarded call.
        (format!("{store} L: {call} M: {load}"), vec![]),
        (format!("{store} @%p {call} {load}"), vec![]),
        (format!("@%p {store} {call} {load}"), vec![codes::GUARDED]),
        (format!("{store} {call} @%p {load}"), vec![codes::GUARDED]),
        (format!("{store} L: {call} {load} @%p bra L;"), vec![codes::STORE_PLACE]),
        (format!("{store} @%p bra L; {call} {load} L:"), vec![codes::STORE_PLACE]),
        (format!("{store} {call} @%p bra L; {load} L:"), vec![codes::LOAD_PLACE]),
        (format!("{store} {call} L: {load} @%p bra L;"), vec![codes::LOAD_PLACE]),
        (format!("{store} st.param.b32 [b], %x; call (r), f, (b); {call} {load}"), vec![codes::STORE_PLACE]),
        (format!("{store} {call} st.param.b32 [b], %x; call (_), f, (b); {load}"), vec![codes::LOAD_PLACE]),
        (format!("{store} exit;"), vec![codes::STORE_PLACE]),
        (load.to_owned(), vec![codes::LOAD_PLACE]),
    ] {
        assert_eq!(in_caller(&body), expected, "{body}");
    }
}

#[test]
fn system_calls_and_versions() {
    let declared = |text: &str| found(&format!("{HEAD}{text}"));
    for (text, expected) in [
        (".extern .func (.param .b64 p) malloc (.param .b64 size);", vec![]),
        (".extern .func (.param .b64 p) malloc (.param .b32 size);", vec![codes::SYSTEM_CALL]),
        (".extern .func malloc (.param .b64 size);", vec![codes::SYSTEM_CALL]),
        (".extern .func free (.param .b64 p);", vec![]),
        (".extern .func (.param .b32 r) free (.param .b64 p);", vec![codes::SYSTEM_CALL]),
        (".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 l);", vec![]),
        (".extern .func (.param .b32 r) vprintf (.param .b64 f);", vec![codes::SYSTEM_CALL]),
        (
            ".extern .func __assertfail (.param .b64 m, .param .b64 f, .param .b64 line, .param .b64 n, .param .b64 s);",
            vec![codes::SYSTEM_CALL],
        ),
        // What a module defines itself is its own.
        (".func malloc (.param .b32 size) { ret; }", vec![]),
    ] {
        assert_eq!(declared(text), expected, "{text}");
    }
    assert_eq!(found(".version 1.4\n.target sm_10\n.entry k() { exit; }"), [codes::VERSION]);
    assert_eq!(found(".version 2.0\n.target sm_20\n.entry k() { exit; }"), [""; 0]);
}

#[test]
fn what_device_cpp_lacks() {
    let declared = |text: &str| found(&format!("{HEAD}{text}"));
    for (text, expected) in [
        (".extern .func __cxa_throw (.param .b64 a, .param .b64 b, .param .b64 c);", codes::EXCEPTION),
        (".extern .func _Unwind_Resume (.param .b64 a);", codes::EXCEPTION),
        (".extern .func (.param .b64 r) __dynamic_cast (.param .b64 a);", codes::RTTI),
        (".extern .global .align 8 .b8 _ZTI4Base[16];", codes::RTTI),
        (".global .align 1 .b8 _ZTS4Base[6];", codes::RTTI),
        (".func _GLOBAL__sub_I_main_cu () { ret; }", codes::GLOBAL_CONSTRUCTOR),
        (".extern .func (.param .b32 r) __cxa_guard_acquire (.param .b64 a);", codes::GLOBAL_CONSTRUCTOR),
        (".extern .func (.param .b32 r) __cxa_atexit (.param .b64 a);", codes::GLOBAL_CONSTRUCTOR),
        (".extern .global .align 8 .b8 _ZTV4Base[24];", codes::HOST_VTABLE),
    ] {
        assert_eq!(declared(text), [expected], "{text}");
    }
    // A module's own table is what device code uses.
    assert_eq!(declared(".global .align 8 .u64 _ZTV4Base[3] = {0, 0, 0};"), [""; 0]);
}

#[test]
fn messages_have_the_names_of_the_source() {
    let text = format!("{HEAD}.func _Z3fooh(.param .u8 _Z3fooh_param_0) {{ ret; }}");
    let module = ptx::compile(&Source::new("test.ptx", text)).module.unwrap();
    assert!(check::check(&module)[0].message.contains("foo(unsigned char)"));
}

#[test]
fn codes_are_unique_and_in_order() {
    assert!(codes::CATALOGUE.is_sorted_by(|a, b| a.0 < b.0));
    assert!(check::explain("A0101").is_some() && check::explain("C0101").is_none());
}

fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "ptx") {
            into.push(path);
        }
    }
}

/// clang's and Triton's output among the tests, kernels by hand; with `WARPLOOM_PTX_CORPUS=folder` whatever lies there.
#[test]
fn what_compilers_write_has_no_findings() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let mut all = Vec::new();
    files(&root, &mut all);
    // Guards calls, and passes predicates, on purpose.
    let on_purpose = ["run/control/indirect-call.ptx", "run/control/predicate-parameters.ptx"];
    all.retain(|path| !on_purpose.iter().any(|file| path.ends_with(file)));
    // From before there was an ABI.
    all.retain(|path| !path.parent().is_some_and(|folder| folder.ends_with("run/early")));
    match std::env::var_os("WARPLOOM_PTX_CORPUS") {
        Some(folder) => files(Path::new(&folder), &mut all),
        None => println!("SKIPPED: WARPLOOM_PTX_CORPUS names no folder"),
    }
    let mut modules = 0;
    for path in &all {
        let text = std::fs::read(path).unwrap();
        let text = String::from_utf8_lossy(&text).into_owned();
        let compiled = ptx::compile(&Source::new(path.display().to_string(), text));
        let Some(module) = compiled.module else { continue };
        modules += 1;
        assert_eq!(check::check(&module), [], "{}", path.display());
    }
    println!("{modules} modules");
    assert!(modules > 100);
}
