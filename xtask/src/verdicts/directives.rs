//! Questions about what is not an instruction: directives of functions and modules, declarations, initial values,
//! names, special registers, guards.

use super::canonical::{NEWEST, instruction, joined, operands};
use super::questions::{Questions, add, targets, versions};
use ptx::isa::{FormId, SpecialRegister, minimal_opcode};

const FILE: &str = "directives";
const HOME: &str = "9.0/sm_90a";

/// Every type that a declaration might name, and some that none can.
const TYPES: &[&str] = &[
    ".u8",
    ".u16",
    ".u32",
    ".u64",
    ".s8",
    ".s16",
    ".s32",
    ".s64",
    ".b8",
    ".b16",
    ".b32",
    ".b64",
    ".b128",
    ".f16",
    ".f16x2",
    ".bf16",
    ".bf16x2",
    ".tf32",
    ".e4m3",
    ".e4m3x2",
    ".f32",
    ".f32x2",
    ".f64",
    ".u16x2",
    ".pred",
    ".texref",
    ".samplerref",
    ".surfref",
    ".b4",
    ".u128",
    ".v2 .u32",
    ".v2 .u64",
    ".v2 .b128",
    ".v2 .f16",
    ".v3 .u32",
    ".v4 .u8",
    ".v4 .u32",
    ".v4 .f64",
    ".v4 .pred",
    ".v8 .u8",
    ".v8 .u32",
    "",
];

const DIRECTIVES: &[(&str, &str)] = &[
    (".maxntid", "32"),
    (".reqntid", "32"),
    (".minnctapersm", "1"),
    (".maxnctapersm", "1"),
    (".maxnreg", "32"),
    (".noreturn", ""),
    (".explicitcluster", ""),
    (".reqnctapercluster", "2"),
    (".maxclusterrank", "4"),
    (".blocksareclusters", ""),
    (".abi_preserve", "8"),
    (".abi_preserve_control", "1"),
    (".local_maxnreg", "32"),
    (".pragma \"nounroll\";", ""),
    (".pragma \"unknown\";", ""),
];

const NUMBERS: &[&str] = &[
    "",
    "0",
    "1",
    "2",
    "8",
    "9",
    "15",
    "16",
    "17",
    "24",
    "32",
    "64",
    "255",
    "256",
    "1024",
    "1025",
    "4096",
    "65535",
    "65536",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "1,1",
    "1,1,1",
    "1,1,1,1",
    "1024,1,1",
    "1024,1024,64",
    "2147483647,1,1",
    "1,65535,65535",
    "1,65536,1",
    "1,1,65536",
    "32,0",
    "-1",
    "1.0",
    "x",
    "4+4",
    "(8)",
];

/// Initial values.
const VALUES: &[&str] = &[
    "0",
    "1",
    "-1",
    "127",
    "128",
    "-128",
    "-129",
    "255",
    "256",
    "-256",
    "32767",
    "32768",
    "65535",
    "65536",
    "-32769",
    "2147483647",
    "2147483648",
    "-2147483649",
    "4294967295",
    "4294967296",
    "-4294967296",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1U",
    "0x1F",
    "017",
    "0b11",
    "1.0",
    "-1.0",
    "1e10",
    "1e400",
    "0f3F800000",
    "0d3FF0000000000000",
    "0f3F8",
    "{1}",
    "{}",
    "{1,2}",
    "(1+2)*3",
    "1/0",
    "1?2:3",
    "1.0+2.0",
    "!1",
    "~1",
    "g",
    "g+4",
    "g-4",
    "4+g",
    "g+g",
    "-g",
    "generic(g)",
    "generic(g)+4",
    "generic(s)",
    "s",
    "c",
    "f",
    "k",
    "0xFF(g)",
    "0xFF00(g)",
    "0xFF(generic(g))",
    "0xFFFF(g)",
    "mask(g)",
    "a",
    "undefined",
    "\"text\"",
    "WARP_SZ",
    "(s64)1",
    "(u32)1",
    "(.s64)1",
    "(.u64)-1",
    "1<2",
    "1<<3",
    "7%4",
    "1&&0",
    "g+1.0",
    "g*2",
    "sizeof(g)",
];

const NAMES: &[&str] = &[
    "a",
    "A1",
    "_a",
    "__",
    "_",
    "$a",
    "$",
    "%a",
    "%",
    "%%",
    "a$",
    "a%",
    "1a",
    "a.b",
    ".a",
    "a-b",
    "%tid",
    "%clock",
    "%envreg0",
    "%envreg32",
    "%r1",
    "WARP_SZ",
    "add",
    "ld",
    "entry",
    "u32",
    "k",
    "_1",
    "$1",
    "%1",
    "a@b",
    "a_$_b",
    "generic",
    "if",
    "\u{e4}",
    "a b",
];

const SPACES: &[&str] = &[
    ".global",
    ".const",
    ".shared",
    ".local",
    ".param",
    ".reg",
    ".sreg",
    ".tex",
    ".generic",
    ".shared::cta",
];

/// Adds them all.
pub(crate) fn questions(questions: &mut Questions) {
    // Each is a process of ptxas: a third of the products, chosen by their text, must do.
    let chosen = |template: &str, fill: &str| {
        let hash =
            (template.bytes().chain(fill.bytes())).fold(7_u32, |h, b| h.wrapping_mul(31) ^ u32::from(b));
        !template.starts_with("module ") || hash % 3 == 0
    };
    let mut ask = |header: &str, template: String, fill: String| {
        if !chosen(&template, &fill) {
            return;
        }
        let fill = if fill.is_empty() { "~".to_owned() } else { fill };
        add(questions, FILE, header, template, fill);
    };
    functions(&mut ask);
    variables(&mut ask);
    parameters(&mut ask);
    modules(&mut ask);
    special_registers(&mut ask);
    for form in FormId::all() {
        let Some(opcode) = minimal_opcode(form) else { continue };
        let Some(home) = super::canonical::home(&opcode, false) else { continue };
        let text = instruction(&opcode.text(), &joined(&operands(&opcode, false)));
        for guard in ["@%p9", "@!%p9"] {
            ask(&format!("{NEWEST}/{home}"), format!("$ {text}"), guard.to_owned());
        }
    }
    for guard in ["@%r9", "@!%r9", "@1", "@%p9.x", "@_", "@%tid", "@!!%p9", "@-%p9", "@undefined"] {
        ask(HOME, "$ add.u32 %r0,%r1,%r2".to_owned(), guard.to_owned());
    }
}

type Ask<'a> = &'a mut dyn FnMut(&str, String, String);

fn functions(ask: Ask) {
    let owners =
        ["module .entry k() $ { ret; }", "module .func f() $ { ret; }", "module .extern .func f() $ ;"];
    for owner in owners {
        for (directive, _) in DIRECTIVES {
            for number in NUMBERS {
                ask(HOME, owner.to_owned(), format!("{directive} {number}").trim_end().to_owned());
            }
        }
    }
    for (directive, usual) in DIRECTIVES {
        let own = format!("{directive} {usual}");
        let own = own.trim_end();
        for (other, number) in DIRECTIVES {
            ask(
                HOME,
                format!("module .entry k() {own} $ {{ ret; }}"),
                format!("{other} {number}").trim_end().to_owned(),
            );
        }
        for function in [".entry k()", ".func f()"] {
            let template = format!("module {function} {own} {{ ret; }}");
            for version in versions() {
                ask("$", template.clone(), format!("{version}/sm_75"));
            }
            for arch in targets() {
                ask("$", template.clone(), format!("{NEWEST}/{arch}"));
            }
        }
    }
    for linking in [
        "",
        ".visible",
        ".extern",
        ".weak",
        ".common",
        ".visible .extern",
        ".extern .visible",
        ".weak .visible",
        ".static",
    ] {
        for function in [
            "$ .entry k() { ret; }",
            "$ .entry k();",
            "$ .func f() { ret; }",
            "$ .func f();",
            "$ .func (.reg .u32 r) f(.reg .u32 a) { ret; }",
            ".func f(); $ .func f() { ret; }",
            ".visible .func f(); $ .func f() { ret; }",
            ".extern .func f(); $ .func f() { ret; }",
            "$ .func f() { ret; } .func f();",
            ".entry k(); $ .entry k() { ret; }",
            "$ .alias f, g;",
            ".func g() { ret; } .func f(); $ .alias f, g;",
        ] {
            ask(HOME, format!("module {function}"), linking.to_owned());
        }
    }
    for name in NAMES {
        for template in [
            "module .global .u32 $;",
            "module .entry $() { ret; }",
            "module .func $() { ret; }",
            "module .entry q(.param .u32 $) { ret; }",
            "module .entry q() { .reg .u32 $; ret; }",
            "module .entry q() { $: ret; }",
            "module .entry q() { .shared .u32 $; ret; }",
            "module .entry q() { .reg .u32 $<3>; ret; }",
            "module .shared .u32 $;",
            "module .entry q() { .reg .u32 k; .reg .u32 $; ret; }",
        ] {
            ask(HOME, template.to_owned(), (*name).to_owned());
        }
    }
}

fn variables(ask: Ask) {
    for space in SPACES {
        for ty in TYPES {
            ask(HOME, format!("module {space} $ a;"), (*ty).to_owned());
            ask(HOME, format!("module {space} $ a[4];"), (*ty).to_owned());
            ask(HOME, format!("module .entry k() {{ {space} $ a; ret; }}"), (*ty).to_owned());
            ask(HOME, format!("module .entry k() {{ {space} $ a[4]; ret; }}"), (*ty).to_owned());
        }
        for align in [
            "",
            "0",
            "1",
            "2",
            "3",
            "4",
            "6",
            "8",
            "16",
            "32",
            "64",
            "128",
            "256",
            "512",
            "1024",
            "4096",
            "65536",
            "2147483648",
            "-4",
            "1.0",
            "x",
        ] {
            for declared in [".b8 a[16];", ".u32 a;", ".v4 .u32 a;", ".b64 a[2];", ".f64 a;", ".b128 a;"] {
                ask(HOME, format!("module {space} .align $ {declared}"), align.to_owned());
                ask(
                    HOME,
                    format!("module .entry k() {{ {space} .align $ {declared} ret; }}"),
                    align.to_owned(),
                );
            }
        }
        for size in [
            "",
            "[]",
            "[0]",
            "[1]",
            "[-1]",
            "[1.0]",
            "[2][2]",
            "[][2]",
            "[2][]",
            "[][]",
            "[65536]",
            "[x]",
            "[2+2]",
            "[2*3][(4)]",
            "<4>",
            "<0>",
            "[4]<2>",
            "[16384]",
            "[16385]",
        ] {
            for start in ["", ".extern ", ".visible ", ".weak ", ".common "] {
                ask(HOME, format!("module {start}{space} .b32 a$;"), size.to_owned());
            }
            ask(HOME, format!("module .entry k() {{ {space} .b32 a$; ret; }}"), size.to_owned());
            ask(HOME, format!("module .entry k() {{ .extern {space} .b32 a$; ret; }}"), size.to_owned());
        }
        for linking in [
            "",
            ".visible",
            ".extern",
            ".weak",
            ".common",
            ".extern .visible",
            ".extern .weak",
            ".weak .common",
            ".managed",
            ".attribute(.managed)",
            ".attribute(.unified(1,2))",
        ] {
            for value in ["a", "a = 1", "a[2]", "a[2] = {1,2}", "a[] = {1,2}", "a[]"] {
                ask(HOME, format!("module $ {space} .u32 {value};"), linking.to_owned());
                ask(HOME, format!("module {space} $ .u32 {value};"), linking.to_owned());
            }
        }
    }
    let scope = ".global .u64 g; .shared .u32 s; .const .u32 c; .func f() { ret; } .entry k() { ret; }";
    for value in VALUES {
        for ty in [
            ".u8", ".s8", ".b8", ".u16", ".b16", ".u32", ".s32", ".b32", ".u64", ".s64", ".b64", ".b128",
            ".f16", ".f32", ".f64", ".pred",
        ] {
            ask(HOME, format!("module {scope} .global {ty} a = $;"), (*value).to_owned());
        }
        for declared in ["u32 a[2]", "u64 a[2]", "u8 a[2]", "f32 a[2]", "u8 a[]", "v2 .u32 a"] {
            ask(HOME, format!("module {scope} .global .{declared} = $;"), (*value).to_owned());
            ask(HOME, format!("module {scope} .global .{declared} = {{$,1}};"), (*value).to_owned());
        }
        ask(HOME, format!("module {scope} .const .u64 a = $;"), (*value).to_owned());
        ask(HOME, format!("module {scope} .shared .u64 a = $;"), (*value).to_owned());
        if value.len() < 7 {
            ask(HOME, format!("module {scope} .global .u32 a[$];"), (*value).to_owned());
        }
        ask(
            HOME,
            format!("module {scope} .entry z() {{ .reg .u32 a; mov.u32 a, $; ret; }}"),
            (*value).to_owned(),
        );
        ask(
            HOME,
            format!("module {scope} .entry z() {{ .reg .u64 a; mov.u64 a, $; ret; }}"),
            (*value).to_owned(),
        );
        ask(
            HOME,
            format!("module {scope} .entry z() {{ .reg .f32 a; add.f32 a, a, $; ret; }}"),
            (*value).to_owned(),
        );
        ask(
            HOME,
            format!("module {scope} .entry z() {{ .reg .s16 a; add.s16 a, a, $; ret; }}"),
            (*value).to_owned(),
        );
    }
}

fn parameters(ask: Ask) {
    let sized = |n: u32| format!(".b8 p[{n}]");
    let mut declared: Vec<String> = TYPES.iter().map(|ty| format!("{ty} p")).collect();
    declared.extend([1, 16, 4095, 4096, 4097, 4352, 4353, 32760, 32764, 32765, 32768, 65536].map(sized));
    declared.extend(
        ["0", "1", "2", "3", "4", "8", "16", "32", "64", "128", "256", "512"]
            .map(|n| format!(".align {n} .b8 p[64]")),
    );
    for text in [
        ".align 16 .u32 p",
        ".u32 p[]",
        ".b8 p[]",
        ".u32 p[4]",
        ".u32 p[2][2]",
        ".u32 p[0]",
        ".u64 .ptr p",
        ".u64 .ptr .global p",
        ".u64 .ptr .const p",
        ".u64 .ptr .local p",
        ".u64 .ptr .shared p",
        ".u64 .ptr .param p",
        ".u64 .ptr .align 4 p",
        ".u64 .ptr .global .align 16 p",
        ".u64 .ptr .align 16 .global p",
        ".u64 .ptr .global .align 3 p",
        ".u32 .ptr .shared .align 8 p",
        ".u16 .ptr p",
        ".b64 .ptr p",
        ".s64 .ptr p",
        ".f64 .ptr p",
        ".f32 .ptr p",
        ".b8 .ptr p",
        ".b8 .ptr p[8]",
        ".u32 p = 1",
        "u32 p",
        ".u32",
        ".u32 p,",
        ".u32 p, .u32 q",
        ".u32 p, .param .u32 q",
        ".u32 p, .param .u32 p",
        ".u32 %p",
        ".u32 p<2>",
    ] {
        declared.push(text.to_owned());
    }
    for text in declared {
        for template in [
            "module .entry k(.param $) { ret; }",
            "module .func f(.param $) { ret; }",
            "module .func (.param $) f() { ret; }",
            "module .func f(.reg $) { ret; }",
            "module .func (.reg $) f() { ret; }",
            "module .entry k(.reg $) { ret; }",
            "module .extern .func (.param $) f(.param .u32 a);",
            "module .entry k() { .param $; ret; }",
        ] {
            ask(HOME, template.to_owned(), text.clone());
        }
        for header in ["8.0/sm_90", "9.0/sm_60", "4.0/sm_30"] {
            ask(header, "module .entry k(.param $) { ret; }".to_owned(), text.clone());
        }
    }
}

fn modules(ask: Ask) {
    let rest = ".entry k() { ret; }";
    for target in [
        "sm_90a",
        "sm_90",
        "sm_80",
        "sm_60",
        "sm_10",
        "sm_90b",
        "sm_91",
        "sm_90f",
        "sm_80a",
        "compute_90",
        "90",
        "",
        "sm_90,sm_80",
        "sm_90,texmode_unified",
        "sm_90,texmode_independent",
        "sm_90,debug",
        "sm_90,map_f64_to_f32",
        "sm_90,texmode_unified,debug",
        "texmode_unified,sm_90",
        "debug",
        "sm_90,unknown",
        "sm_90,texmode_unified,texmode_independent",
        "sm_90,debug,debug",
        "sm_13,map_f64_to_f32",
        "sm_12,map_f64_to_f32",
    ] {
        ask("9.0/sm_90a", format!("file .version 9.0 .target $ .address_size 64 {rest}"), target.to_owned());
        ask("9.0/sm_90", format!("file .version 9.0 .target $ .address_size 64 {rest}"), target.to_owned());
    }
    for version in [
        "9.0", "9", "9.00", "9.1", "8.9", "10.0", "1.0", "0.9", "1.6", "5.1", "7.9", "2.4", "3.3", "4.4",
        "6.6", "6.0", "x", "", "9.0.1", "-9.0", "9.0f", "2.2",
    ] {
        for target in ["sm_75", "sm_60", "sm_30", "sm_20", "sm_10"] {
            ask("9.0/sm_75", format!("file .version $ .target {target} {rest}"), version.to_owned());
        }
    }
    for size in ["64", "32", "16", "", "0", "128", "x", "64 .address_size 64", "64;"] {
        ask("9.0/sm_90", format!("file .version 9.0 .target sm_90 .address_size $ {rest}"), size.to_owned());
    }
    for order in [
        ".version 9.0 .target sm_90",
        ".target sm_90 .version 9.0",
        ".version 9.0",
        ".target sm_90",
        ".version 9.0 .version 9.0 .target sm_90",
        ".version 9.0 .target sm_90 .target sm_90",
        ".version 9.0 .address_size 64 .target sm_90",
        "",
        ".address_size 64 .version 9.0 .target sm_90",
        ".version 9.0 .target sm_90 .target sm_80",
        ".version 9.0 .target sm_90 .global .u32 a; .target sm_90",
    ] {
        ask("9.0/sm_90", format!("file $ {rest}"), order.to_owned());
    }
    for statement in [
        ".pragma \"nounroll\";",
        ".pragma \"a\", \"b\";",
        ".pragma nounroll;",
        ".pragma \"x\"",
        ".pragma ;",
        ".file 1 \"a.cu\"",
        ".file 1 \"a.cu\", 1, 2",
        ".file \"a.cu\"",
        ".file 1",
        ".file 0 \"a.cu\"",
        ".file -1 \"a.cu\"",
        ".loc 1 1 1",
        ".section .debug_info { .b8 1 }",
        ".section .debug_str { .b8 1,2 \n }",
        ".section .x { .b8 1 }",
        ";",
        "{}",
        "ret;",
        ".reg .u32 r;",
        ".global .u32 a",
        "add.u32 a,b,c;",
        ".dwarf",
        ".func",
        ".entry",
        "// c",
        "/* c */",
        "/* c",
        "#line 1 \"a\"",
        "# 1 \"a\"",
        "@p ret;",
        ".visible",
        ".extern",
        ".weak",
        ".noreturn",
        ".tex .u32 t;",
        ".global .texref t;",
        ".global .samplerref t;",
        ".global .surfref t;",
        ".global .texref t[4];",
        ".param .texref t;",
        ".global .texref t = {};",
        ".global .samplerref t = { addr_mode_0 = wrap };",
        ".global .texref t = 1;",
        ".maxnreg 32;",
        ".alias a, b;",
    ] {
        ask(HOME, format!("module $ {rest}"), statement.to_owned());
        ask(HOME, "module .entry k() { $ ret; }".to_owned(), statement.to_owned());
    }
}

fn special_registers(ask: Ask) {
    for register in SpecialRegister::ALL {
        let name = register.text();
        let mut variants = vec![name.to_owned()];
        variants.extend(["x", "y", "z", "w", "r"].map(|component| format!("{name}.{component}")));
        for variant in variants {
            for mov in [
                "mov.u32 %r0",
                "mov.b32 %r0",
                "mov.s32 %r0",
                "mov.f32 %f0",
                "mov.u64 %d0",
                "mov.b64 %d0",
                "mov.u16 %h0",
                "mov.pred %p0",
                "cvt.u32.u32 %r0",
                "cvt.u16.u32 %h0",
                "cvt.u64.u32 %d0",
                "mov.v4.u32 {%r0,%r1,%r2,%r3}",
            ] {
                ask(HOME, format!("{mov},$"), variant.clone());
            }
        }
        let component = if register.components() > 1 { ".x" } else { "" };
        let mov = match register.ty() {
            ptx::types::ScalarType::Pred => "mov.pred %p0",
            ty if ty.bits() == 64 => "mov.u64 %d0",
            _ => "mov.u32 %r0",
        };
        let text = format!("{mov},{name}{component}");
        for version in versions() {
            ask("$", text.clone(), format!("{version}/sm_75"));
            ask("$", text.clone(), format!("{version}/sm_90"));
        }
        for arch in targets() {
            ask("$", text.clone(), format!("{NEWEST}/{arch}"));
        }
    }
}
