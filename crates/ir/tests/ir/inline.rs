//! Calls in place.

use crate::compile::module;
use crate::corpus;
use ir::inline::{inline, written};
use ir::{Cfg, Function, Liveness, Op, Ssa};
use ptx::module::{FuncId, Module};

/// The instructions of an entry as a list, without its name and braces.
fn code(module: &Module, name: &str) -> Vec<String> {
    let id = module.function(name).expect("it is there");
    let function = Function::lower(module, id).expect("it has code");
    let text = function.to_string();
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// How many calls an entry has.
fn calls(module: &Module, name: &str) -> usize {
    let id = module.function(name).expect("it is there");
    let function = Function::lower(module, id).expect("it has code");
    function.instructions.iter().flatten().filter(|i| matches!(i.op, Op::Call(_))).count()
}

const SUM: &str = "
.func (.param .b32 s) sum (.param .b32 a, .param .b32 b)
{
    .reg .u32 %r<3>;
    .reg .pred %p;
    ld.param.u32 %r0, [a];
    ld.param.u32 %r1, [b];
    setp.eq.u32 %p, %r0, 0;
    @%p bra NONE;
    add.u32 %r2, %r0, %r1;
    st.param.b32 [s], %r2;
    ret;
NONE:
    st.param.b32 [s], %r1;
    ret;
}
";

#[test]
fn parameters_become_registers() {
    let kernel = ".entry k (.param .u64 d) {
        .reg .u32 %r<4>;
        .reg .u64 %rd;
        .reg .pred %q;
        ld.param.u64 %rd, [d];
        mov.u32 %r1, %tid.x;
        setp.gt.u32 %q, %r1, 3;
        .param .b32 x; .param .b32 y; .param .b32 z;
        st.param.b32 [x], %r1;
        st.param.b32 [y], 7;
        @%q call (z), sum, (x, y);
        ld.param.b32 %r2, [z];
        st.global.u32 [%rd], %r2;
        ret;
    }";
    let module = module(&format!("{SUM}{kernel}"));
    let inlined = inline(&module).expect("there is a call");
    assert_eq!(calls(&module, "k"), 1);
    let text = code(&inlined, "k").join("\n");
    assert_eq!(calls(&inlined, "k"), 0, "{text}");
    // What is left is the kernel's own parameter.
    assert_eq!(text.matches("ld sem").count(), 1, "{text}");
    assert_eq!(text.matches(":param").count(), 1, "{text}");
    assert_eq!(text.matches("mov type=b32").count(), 7, "{text}");
    // The guard leads around the code.
    assert_eq!(text.matches("@!").count(), 1, "{text}");
    // The function itself stays as it was.
    assert_eq!(code(&inlined, "sum"), code(&module, "sum"));
}

#[test]
fn instructions_are_found_where_they_were_written() {
    let kernel = ".entry k () {
        .reg .u32 %r<4>;
        .param .b32 x; .param .b32 y; .param .b32 z;
        call (z), sum, (x, y);
        call (z), sum, (x, y);
        ret;
    }";
    let module = module(&format!("{SUM}{kernel}"));
    let inlined = inline(&module).expect("there are calls");
    let (sum, k) = (module.function("sum").unwrap(), module.function("k").unwrap());
    let body = inlined.functions[k.index()].body.as_ref().unwrap();
    let places: Vec<_> = body.instructions.iter().map(|i| written(&module, i.span).unwrap()).collect();
    let once: Vec<_> = (0..9).map(|at| (sum, at)).take(8).collect();
    let expected: Vec<_> = once.iter().chain(&once).copied().chain([(k, 2)]).collect();
    assert_eq!(places, expected);
}

#[test]
fn what_cannot_stand_in_place_stays_a_call() {
    let functions = "
.func (.reg .u32 f) own (.reg .u32 n)
{
    .reg .u32 t;
    .reg .pred p;
    setp.eq.u32 p, n, 0;
    mov.u32 f, 1;
    @p ret;
    sub.u32 t, n, 1;
    call (f), own, (t);
    mul.lo.u32 f, f, n;
    ret;
}
.func takes ()
{
    .reg .u64 a;
    alloca.u64 a, 64;
    ret;
}
.func changes (.param .b32 x)
{
    .reg .u64 a;
    mov.u64 a, x;
    st.u32 [a], 1;
    ret;
}
.extern .func outside ();
.entry k ()
{
    .reg .u32 r;
    .param .b32 y;
    call (r), own, (5);
    call takes, ();
    call changes, (y);
    call outside, ();
    ret;
}
.entry none ()
{
    call outside, ();
    ret;
}";
    let module = module(functions);
    let inlined = inline(&module).expect("one call can be replaced");
    let text = code(&inlined, "k").join("\n");
    // The first round of the function that calls itself is in place.
    assert_eq!(calls(&inlined, "k"), 4, "{text}");
    assert_eq!(text.matches("mul_int").count(), 1, "{text}");
    assert_eq!(calls(&inlined, "none"), 1);
    let alone = crate::compile::module(".extern .func outside ();\n.entry k () { call outside, (); ret; }");
    assert!(inline(&alone).is_none());
}

#[test]
fn kernels_do_not_grow_without_bound() {
    // Each calls the one before it twice: 2^40 instructions, if all were in place.
    let mut text = ".func f0 () { .reg .u32 r; add.u32 r, r, 1; ret; }\n".to_owned();
    for n in 1..40 {
        let before = n - 1;
        text += &format!(".func f{n} () {{ call f{before}, (); call f{before}, (); ret; }}\n");
    }
    // More kernels than there is room for in the end.
    let kernels = (0..64).map(|n| format!(".entry k{n} () {{ call f{}, (); ret; }}\n", n % 40));
    text.extend(kernels);
    let module = module(&text);
    let inlined = inline(&module).expect("there are calls");
    let size = |kernel: &ptx::module::Function| kernel.body.as_ref().unwrap().instructions.len();
    let sizes: Vec<usize> = inlined.entries().map(|(_, kernel)| size(kernel)).collect();
    assert!(sizes.iter().all(|&size| size <= 8192));
    assert!(sizes.iter().sum::<usize>() < 64 << 13);
}

#[test]
fn inlined_kernels_are_sound() {
    let (mut changed, mut calls_before, mut calls_after) = (0, 0, 0);
    for (path, module) in corpus::modules() {
        let Some(inlined) = inline(&module) else { continue };
        changed += 1;
        for (id, entry) in inlined.entries() {
            let function = Function::lower(&inlined, id).expect("it has code");
            let violations = function.verify();
            assert!(violations.is_empty(), "{}: {}\n{function}", path.display(), violations[0]);
            let cfg = Cfg::new(&function);
            let liveness = Liveness::new(&function, &cfg);
            let violations = Ssa::new(&function, cfg, &liveness).expect("a form").verify();
            assert!(violations.is_empty(), "{}: {}", path.display(), violations[0]);
            calls_before += calls(&module, &entry.name);
            calls_after += calls(&inlined, &entry.name);
            let body = entry.body.as_ref().unwrap();
            assert!(
                body.instructions.iter().all(|i| written(&module, i.span).is_some()),
                "{}: an instruction that nobody wrote",
                path.display()
            );
        }
        let same = |id: u32| {
            let [a, b] = [&*module, &inlined].map(|module| Function::lower(module, FuncId(id)));
            a.map(|f| f.instructions) == b.map(|f| f.instructions)
        };
        let is_func = |id: &u32| module.entries().all(|(entry, _)| entry.0 != *id);
        assert!((0..module.functions.len() as u32).filter(is_func).all(same), "{}", path.display());
    }
    assert!(changed > 10, "{changed}");
    // Those left are of the system's functions, of any number of arguments, and recursions.
    assert!(calls_after * 5 < calls_before * 3, "{calls_after} of {calls_before} calls are left");
}
