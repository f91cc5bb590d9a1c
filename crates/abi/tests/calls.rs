//! Chapters 3, 4 and 6 of the guide: the table of parameters in both directions, sequences that PTX takes, system calls, the
//! example.

use abi::call::{Passed, Site, convention, fitting, passed};
use abi::data::{Host, Target, Type};
use abi::{c, check};
use ptx::diagnostic::Diagnostic;
use ptx::module::{Checked, Module};
use ptx::source::Source;
use ptx::types::ScalarType::{B64, F32, F64, S32, S64, U32, U64};

fn functions(text: &str, host: Host) -> Vec<c::Function> {
    c::parse(text, host.into()).unwrap_or_else(|problem| panic!("{problem}\n{text}")).functions
}

fn ty(text: &str, host: Host) -> Type {
    functions(&format!("void f({text});"), host).remove(0).parameters.remove(0).ty
}

fn module(text: &str) -> Checked<Module> {
    let compiled = ptx::compile(&Source::new("test.ptx", text));
    assert_eq!(compiled.diagnostics, [], "{text}");
    compiled.module.unwrap()
}

fn findings(text: &str) -> Vec<Diagnostic> {
    check::check(&module(text))
}

const HOSTS: [Host; 2] = [Host::Bits32, Host::Bits64];

/// Section 3.3: source types, hosts, and the PTX type.
#[test]
fn the_table_of_parameters() {
    let rows = [
        ("char", &HOSTS[..], S32),
        ("signed char", &HOSTS, S32),
        ("unsigned char", &HOSTS, U32),
        ("short", &HOSTS, S32),
        ("unsigned short", &HOSTS, U32),
        ("int", &HOSTS, S32),
        ("unsigned", &HOSTS, U32),
        ("long long", &HOSTS, S64),
        ("unsigned long long", &HOSTS, U64),
        ("long", &HOSTS[..1], S32),
        ("long", &HOSTS[1..], S64),
        ("void *", &HOSTS[..1], U32),
        ("void *", &HOSTS[1..], U64),
        ("int (*)(int)", &HOSTS[1..], U64),
        ("float", &HOSTS, F32),
        ("double", &HOSTS, F64),
        ("cudaTextureObject_t", &HOSTS, B64),
        ("cudaSurfaceObject_t", &HOSTS, B64),
    ];
    for (text, hosts, expected) in rows {
        for host in hosts {
            for site in [Site::Argument, Site::Result] {
                let Ok(Passed::Scalar { ty, short }) = passed(&ty(text, *host), site, (*host).into()) else {
                    panic!("{text} is a scalar")
                };
                assert_eq!(ty, expected, "{text}");
                // Note A: shorter values are extended, by their signs.
                let is_short = text.contains("char") || text.contains("short");
                assert_eq!(short.is_some(), is_short, "{text}");
                assert!(short.is_none_or(|short| short.kind() == ty.kind()), "{text}");
            }
        }
    }
    // Aggregates and unions of any size, with their alignment.
    for (text, size, align) in [
        ("struct { char a; }", 1, 1),
        ("struct { char a; short b; }", 4, 2),
        ("union { int a; double b; }", 8, 8),
        ("struct { float4 a; char b; }", 32, 16),
        ("struct { int a __attribute__((aligned(128))); }", 128, 128),
        ("float2", 8, 8),
        ("float3", 12, 4),
        ("__half", 2, 2),
    ] {
        let expected = Passed::Bytes { size, align };
        assert_eq!(
            passed(&ty(text, Host::Bits64), Site::Argument, Host::Bits64.into()),
            Ok(expected),
            "{text}"
        );
        let declaration = format!(".param .align {align} .b8 name[{size}]");
        assert_eq!(expected.declaration("name"), declaration);
    }
    // Notes C and D: 16-bit floats are for storage, alignments end at 128.
    for text in ["_Float16", "__bf16", "struct { int a __attribute__((aligned(256))); }"] {
        assert!(passed(&ty(text, Host::Bits64), Site::Argument, Host::Bits64.into()).is_err(), "{text}");
    }
}

/// What C makes of a type and back: the type is among those that fit.
#[test]
fn declarations_fit_the_types_that_they_come_from() {
    for host in HOSTS {
        for text in [
            "bool",
            "char",
            "unsigned char",
            "short",
            "unsigned short",
            "int",
            "unsigned int",
            "long",
            "long long",
            "float",
            "double",
            "void *",
            "float2",
            "float4",
            "int3",
            "uchar4",
            "double2",
            "ulonglong1",
            "cudaTextureObject_t",
        ] {
            let prototype = format!("{text} f({text});");
            let made = convention(&functions(&prototype, host)[0], &[], host.into()).unwrap();
            let module = module(&made.module());
            let (returns, params) = fitting(&module, &module.functions[0], host.into());
            for fit in returns.iter().chain(&params) {
                assert!(fit.types.iter().any(|ty| ty == text), "{text}: {fit:?}");
                assert_eq!(fit.note, None);
            }
        }
    }
    let odd = module(
        ".version 8.0\n.target sm_70\n.address_size 64\n\
         .func f(.param .u16 a, .param .align 8 .b8 b[24], .reg .b32 c, .param .align 8 .b8 d[]) { ret; }",
    );
    let (_, params) = fitting(&odd, &odd.functions[0], Host::Bits64.into());
    assert!(params[0].types.is_empty() && params[0].note.is_some());
    assert_eq!(params[1].types[0], "a structure or union of 24 bytes, aligned to 8");
    assert!(
        params[1].types.iter().any(|ty| ty == "longlong3")
            && params[1].types.iter().any(|ty| ty == "double3")
    );
    assert!(params[2].note.is_some());
    assert_eq!(params[3].types, ["..."]);
}

/// Every sequence is PTX, and keeps the ABI.
#[test]
fn sequences_are_ptx() {
    let types = "enum E { a, b }; struct T { int x; int y : 3, z : 9; float v; };\n\
        struct __attribute__((packed)) P { char a; double b; int c : 20; float2 d; };\n\
        struct U { char c; union { int i; double d; } u; struct T t[2]; __int128 w; };\n";
    for prototype in [
        "void f(void);",
        "char f(char, signed char, unsigned char, bool);",
        "short f(unsigned short a, enum E e);",
        "float f(float2 a, float3 b, float4 c, double2 d, double4_32a e);",
        "float4 f(int *p, cudaTextureObject_t t, __half h);",
        "struct T f(struct T a, struct T b);",
        "struct P f(struct P a);",
        "struct U f(struct U a, char last);",
        "__int128 f(__int128 a);",
        "__global__ void f(char c, struct U u, float4 *p);",
    ] {
        for host in HOSTS {
            if host == Host::Bits32 && (prototype.contains("U") || prototype.contains("__int128")) {
                continue;
            }
            let text =
                if host == Host::Bits32 { types.replace("__int128 w; ", "") } else { types.to_owned() };
            let function = functions(&(text + prototype), host).remove(0);
            let made = convention(&function, &[], Target::from(host)).unwrap();
            assert_eq!(findings(&made.module()), [], "{prototype}\n{}", made.module());
        }
    }
}

/// None, one, many, mixed sizes, alignments of 8 and 16.
#[test]
fn variadic_functions() {
    let function = &functions("int f(int n, ...);", Host::Bits64)[0];
    for (rest, bytes) in [
        ("", None),
        ("int", Some((8, 4))),
        ("int, int, int, int, int", Some((8, 20))),
        ("char, short, float, long long, int", Some((8, 28))),
        ("int, double", Some((8, 16))),
        ("int, float4, char", Some((16, 36))),
        ("struct { char a[3]; }, double2", Some((16, 32))),
    ] {
        let rest_types: Vec<Type> = functions(&format!("void g({rest});"), Host::Bits64)
            .remove(0)
            .parameters
            .into_iter()
            .map(|parameter| parameter.ty)
            .collect();
        let made = convention(function, &rest_types, Host::Bits64.into()).unwrap();
        assert_eq!(findings(&made.module()), [], "{rest}\n{}", made.module());
        let caller = made.caller.as_ref().unwrap().text();
        match bytes {
            Some((align, size)) => {
                assert!(made.declaration.contains(&format!(".align {align} .b8 f_rest[]")));
                assert!(
                    caller.contains(&format!(".param .align {align} .b8 rest[{size}];")),
                    "{rest}: {caller}"
                );
            }
            None => assert!(caller.contains("call.uni (retval), f, (param0);")),
        }
    }
    assert!(convention(function, &[ty("_Float16", Host::Bits64)], Host::Bits64.into()).is_err());
}

/// Chapter 4: the prototypes, and the call of `vprintf`.
#[test]
fn system_calls() {
    for (bits, size) in [(32, "b32"), (64, "b64")] {
        let text = format!(
            ".version 4.2\n.target sm_20\n.address_size {bits}\n\
             .extern .func (.param .s32 status) vprintf (.param .{size} format, .param .{size} valist);\n\
             .extern .func (.param .{size} ptr) malloc (.param .{size} size);\n\
             .extern .func free (.param .{size} ptr);\n\
             .extern .func __assertfail (.param .{size} message, .param .{size} file, .param .b32 line, \
             .param .{size} function, .param .{size} charSize);\n\
             .global .align 1 .b8 _fmt[3] = {{37, 100, 0}};\n\
             .visible .entry k()\n{{\n\
             .local .align 8 .b8 valist_array[8];\n.reg .{size} %r2, %r3;\n.reg .b32 %r4;\n\
             .param .{size} param0;\n.param .{size} param1;\n.param .s32 status;\n\
             mov.u{bits} %r2, _fmt;\ncvta.global.u{bits} %r2, %r2;\nst.param.{size} [param0], %r2;\n\
             mov.u{bits} %r3, valist_array;\ncvta.local.u{bits} %r3, %r3;\nst.param.{size} [param1], %r3;\n\
             call.uni (status), vprintf, (param0, param1);\nld.param.b32 %r4, [status];\nret;\n}}\n"
        );
        assert_eq!(findings(&text), []);
        let wrong = text.replace("vprintf (.param .b64 format", "vprintf (.param .align 8 .b8 format[8]");
        if bits == 64 {
            let compiled = ptx::compile(&Source::new("test.ptx", wrong.split(".visible").next().unwrap()));
            let codes: Vec<_> =
                check::check(&compiled.module.unwrap()).iter().map(|found| found.code).collect();
            assert_eq!(codes, [check::codes::SYSTEM_CALL]);
        }
    }
}

/// Chapter 6: the guide's program, as the sequences make it.
#[test]
fn the_example() {
    let function = &functions("int foo(int i, int j);", Host::Bits64)[0];
    let made = convention(function, &[], Host::Bits64.into()).unwrap();
    assert_eq!(
        made.declaration,
        ".func (.param .s32 foo_retval) foo(.param .s32 foo_param_0, .param .s32 foo_param_1)"
    );
    let text = ".version 4.2\n.target sm_20\n.address_size 64\n\
        .visible .func (.param .b32 func_retval0) _Z3fooii (.param .b32 _Z3fooii_param_0, .param .b32 _Z3fooii_param_1)\n\
        {\n.reg .s32 %r<4>;\nfunc_begin0:\n\
        ld.param.u32 %r1, [_Z3fooii_param_0];\nld.param.u32 %r2, [_Z3fooii_param_1];\n\
        add.s32 %r3, %r1, %r2;\nst.param.b32 [func_retval0+0], %r3;\nret;\nfunc_end0:\n}\n\
        .visible .entry _Z4testPi (.param .u64 _Z4testPi_param_0)\n{\n.reg .s32 %r<4>;\n.reg .s64 %rd<2>;\nfunc_begin1:\n\
        ld.param.u64 %rd1, [_Z4testPi_param_0];\nmov.u32 %r1, 1;\nmov.u32 %r2, 2;\n\
        .param .b32 param0;\nst.param.b32 [param0+0], %r1;\n.param .b32 param1;\nst.param.b32 [param1+0], %r2;\n\
        .param .b32 retval0;\ncall.uni (retval0), _Z3fooii, (param0, param1);\n\
        ld.param.b32 %r3, [retval0+0];\nst.u32 [%rd1], %r3;\nret;\nfunc_end1:\n}\n";
    assert_eq!(findings(text), []);
    let module = module(text);
    let (returns, params) = fitting(&module, &module.functions[0], Host::Bits64.into());
    assert_eq!((returns.len(), params.len()), (1, 2));
    assert!(params.iter().all(|fit| fit.types.iter().any(|ty| ty == "int")));
    assert_eq!(abi::names::demangled(&module.functions[0].name), "foo(int, int)");
}
