//! Properties: what the grammar makes is read without a diagnostic and survives printing; what was damaged is read
//! without a panic, and if nothing is wrong with it after all, it survives printing too.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use ptx::diagnostic::Diagnostic;
use ptx::print::print;
use ptx::source::Source;
use ptx::syntax::{Parsed, codes, parse};
use std::sync::Arc;

fn read(text: String) -> (Arc<Source>, Parsed) {
    let source = Source::new("property", text);
    let parsed = parse(&source);
    (source, parsed)
}

fn syntax_errors(parsed: &Parsed) -> Vec<&Diagnostic> {
    parsed.diagnostics.iter().filter(|d| d.code != codes::UNKNOWN_INSTRUCTION).collect()
}

fn name() -> impl Strategy<Value = String> + Clone {
    prop_oneof!["[a-zA-Z][a-zA-Z0-9_$]{0,6}", "[_$%][a-zA-Z0-9_$]{1,6}", Just("generic".to_string())]
        .prop_filter("WARP_SZ is a constant", |name| name != "WARP_SZ")
}

fn literal() -> impl Strategy<Value = String> + Clone {
    prop_oneof![
        any::<u64>().prop_map(|v| (v >> (v % 64)).to_string()),
        any::<u64>().prop_map(|v| format!("{v:#x}")),
        any::<u32>().prop_map(|v| format!("0X{v:X}U")),
        any::<u64>().prop_map(|v| format!("0{v:o}")),
        any::<u16>().prop_map(|v| format!("{v:#b}")),
        any::<u32>().prop_map(|v| format!("0f{v:08x}")),
        any::<u64>().prop_map(|v| format!("0D{v:016X}")),
        (any::<f32>()).prop_filter("finite", |v| v.is_finite()).prop_map(|v| format!("{:e}", v.abs())),
        (any::<u16>(), any::<u16>()).prop_map(|(a, b)| format!("{a}.{b}")),
        Just("WARP_SZ".to_string()),
    ]
}

fn expression() -> impl Strategy<Value = String> + Clone {
    const BINARY: &[&str] =
        &["*", "/", " % ", "+", "-", "<<", ">>", "<", "<=", ">", ">=", "==", "!=", "&", "^", "|", "&&", "||"];
    literal().prop_recursive(6, 48, 3, |inner| {
        prop_oneof![
            1 => (select(&["+", "-", "!", "~", "(.s64)", "( .u64 ) "][..]), inner.clone())
                .prop_map(|(op, a)| format!("{op}{a}")),
            5 => (inner.clone(), select(BINARY), inner.clone()).prop_map(|(a, op, b)| format!("{a}{op}{b}")),
            3 => inner.clone().prop_map(|a| format!("({a})")),
            1 => (inner.clone(), inner.clone(), inner).prop_map(|(a, b, c)| format!("{a} ? {b} : {c}")),
        ]
    })
}

/// An expression that does not look like the argument list of a call.
fn operand_expression() -> impl Strategy<Value = String> + Clone {
    expression().prop_map(|e| if e.trim_start().starts_with('(') { format!("+{e}") } else { e })
}

fn operand() -> impl Strategy<Value = String> {
    const SELECTORS: &[&str] =
        &[".x", ".y", ".z", ".w", ".r", ".g", ".b", ".a", ".b0", ".b7654", ".h1", ".h32"];
    let leaf = prop_oneof![
        name(),
        operand_expression(),
        Just("_".to_string()),
        (name(), select(SELECTORS)).prop_map(|(n, s)| n + s),
        name().prop_map(|n| format!("!{n}")),
        (name(), prop_oneof![Just(""), select(SELECTORS)]).prop_map(|(n, s)| format!("-{n}{s}")),
        (name(), name()).prop_map(|(a, b)| format!("{a}|{b}")),
        (name(), expression()).prop_map(|(n, e)| format!("{n}+{e}")),
        name().prop_map(|n| format!("[{n}]")),
        (name(), expression()).prop_map(|(n, e)| format!("[{n} + {e}]")),
        operand_expression().prop_map(|e| format!("[{e}]")),
        (name(), name(), 0..99u32).prop_map(|(n, i, o)| format!("{n}[{i}+{o}]")),
    ];
    leaf.prop_recursive(2, 12, 4, |inner| {
        let list = vec(inner, 1..4).prop_map(|list| list.join(", "));
        (list, select(&[("[", "]"), ("{", "}")][..]))
            .prop_map(|(list, (open, close))| format!("{open}{list}{close}"))
    })
}

fn statement() -> impl Strategy<Value = String> {
    let opcode = select(&["add.s32", "ld.shared::cta.v4.f32", "ret", "mov . u32x", "call.uni"][..])
        .prop_map(|opcode| opcode.replace(" . ", " ."));
    let guard = prop_oneof![
        Just(String::new()),
        name().prop_map(|n| format!("@{n} ")),
        name().prop_map(|n| format!("@!{n} "))
    ];
    let instruction = (guard, opcode, vec(operand(), 0..4))
        .prop_map(|(guard, opcode, operands)| format!("{guard}{opcode} {};", operands.join(",")));
    prop_oneof![
        9 => instruction,
        1 => name().prop_map(|n| format!("{n}:")),
        1 => name().prop_map(|n| format!("{n}: .branchtargets {n}, {n}<3>;")),
        1 => name().prop_map(|n| format!("{n}: .callprototype (.param .b32 _) _ (.reg .u64 {n});")),
        1 => (name(), vec(operand(), 0..3))
            .prop_map(|(f, list)| format!("call ({f}), {f}, ({});", list.join(","))),
        1 => (1..9u32, name()).prop_map(|(n, l)| format!(".loc {n} 2 3, function_name {l}, inlined_at 1 2 3")),
        1 => declaration(),
        1 => Just("{ }".to_string()),
        1 => Just(".pragma \"nounroll\", \"x\";".to_string()),
    ]
}

fn declaration() -> impl Strategy<Value = String> {
    let space =
        select(&[".reg", ".param", ".shared", ".global", ".local", ".const", ".const[3]", ".tex"][..]);
    let before = select(&["", ".align 8", ".v2", ".attribute(.managed)", ".align 4 .v4"][..]);
    let ty = select(&[".b8", ".u32", ".f64", ".pred", ".b128", ".texref"][..]);
    let address = (name(), prop_oneof![Just(String::new()), expression().prop_map(|e| format!("+{e}"))]);
    let value = prop_oneof![
        expression(),
        address.clone().prop_map(|(n, offset)| n + &offset),
        address.clone().prop_map(|(n, offset)| format!("generic({n}){offset}")),
        address.prop_map(|(n, offset)| format!("0xFF00({n}{offset})")),
        (name(), 0..9u32).prop_map(|(n, v)| format!("{n} = {v}")),
    ];
    let initialiser = value.prop_recursive(2, 8, 4, |inner| {
        vec(inner, 0..4).prop_map(|list| format!("{{{}}}", list.join(", ")))
    });
    let declarator = (
        name(),
        select(&["", "<100>"][..]),
        vec(prop_oneof![Just(String::new()), expression()], 0..3),
        proptest::option::of(initialiser),
    );
    let declarator = declarator.prop_map(|(name, count, dimensions, initialiser)| {
        let dimensions: String = dimensions.iter().map(|d| format!("[{d}]")).collect();
        let initialiser = initialiser.map(|i| format!(" = {i}")).unwrap_or_default();
        format!("{name}{count}{dimensions}{initialiser}")
    });
    (space, before, ty, vec(declarator, 1..3))
        .prop_map(|(space, before, ty, list)| format!("{space} {before} {ty} {};", list.join(", ")))
}

fn function() -> impl Strategy<Value = String> {
    let linkage = select(&["", ".visible", ".weak", ".extern"][..]);
    let directives = select(&["", ".noreturn", ".maxntid 1,2,3 .minnctapersm 2", ".reqntid 7"][..]);
    let body = proptest::option::weighted(0.9, vec(statement(), 0..16));
    (linkage, name(), name(), directives, body).prop_map(|(linkage, name, param, directives, body)| {
        let body = body.map_or(";".to_string(), |body| format!("{{\n{}\n}}", body.join("\n")));
        format!("{linkage} .func (.param .b32 _) {name} (.param .u64 .ptr .global .align 8 {param}) {directives} {body}")
    })
}

fn module() -> impl Strategy<Value = String> {
    let item = prop_oneof![
        4 => declaration(),
        6 => function(),
        1 => (name(), name()).prop_map(|(a, b)| format!(".alias {a}, {b};")),
        1 => name().prop_map(|n| format!(".file 1 \"{n}\", 2, 3")),
        1 => name().prop_map(|n| format!(
            ".section .{n}a {{ .b8 1, 2, -3 {n}: .b32 {n}+4 .b64 {n} .b32 {n}-{n} .b32 .{n}b }}"
        )
        .replace(".$", ".d")
        .replace(".%", ".d")),
        1 => Just("@@DWARF .byte 1".to_string()),
        1 => Just("// a comment".to_string()),
    ];
    vec(item, 0..12).prop_map(|items| format!(".version 8.3\n.target sm_90a, debug\n{}\n", items.join("\n")))
}

fn survives_printing(text: String) -> Result<(), TestCaseError> {
    let (_, parsed) = read(text);
    let printed = print(&parsed.module);
    let (_, again) = read(printed.clone());
    prop_assert_eq!(syntax_errors(&again), Vec::<&Diagnostic>::new(), "{}", printed);
    prop_assert!(parsed.module == again.module, "changes when printed:\n{printed}");
    prop_assert_eq!(print(&again.module), printed);
    Ok(())
}

/// Texts with every construct, to be damaged.
const WHOLE: [&str; 2] =
    [include_str!("syntax/accepted/directives.ptx"), include_str!("syntax/accepted/statements.ptx")];

/// What to put in the place of a few bytes.
fn damage() -> impl Strategy<Value = (Index, usize, String)> {
    const PIECES: &[&str] = &[
        "",
        ";",
        "}",
        "{",
        "(",
        ")",
        "[",
        "]",
        ",",
        ".",
        ":",
        "@",
        "!",
        "%",
        "\"",
        "/*",
        "*/",
        "//",
        "#",
        "\n",
        "é",
        "0x",
        "0f",
        "1e",
        "<",
        ">",
        "|",
        ".global",
        ".entry k() {",
        "call (a), f, (b);",
        "WARP_SZ",
        "_",
        "-",
        "?",
    ];
    (any::<Index>(), 0..12usize, prop_oneof![select(PIECES).prop_map(str::to_string), "\\PC{0,4}"])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn generated_modules(text in module()) {
        let (_, parsed) = read(text.clone());
        prop_assert_eq!(syntax_errors(&parsed), Vec::<&Diagnostic>::new(), "{}", text);
        survives_printing(text)?;
    }

    #[test]
    fn generated_expressions(list in vec(expression(), 1..8)) {
        survives_printing(format!(".global .u64 x[] = {{{}}};", list.join(", ")))?;
    }

    #[test]
    fn damaged_modules(whole in select(&WHOLE[..]), damages in vec(damage(), 1..4)) {
        let mut text = whole.to_string();
        for (at, length, piece) in damages {
            let boundary = |mut i: usize| {
                while !text.is_char_boundary(i) {
                    i -= 1;
                }
                i
            };
            let start = boundary(at.index(text.len()));
            let end = boundary((start + length).min(text.len()));
            text.replace_range(start..end, &piece);
        }
        let (source, parsed) = read(text.clone());
        for diagnostic in &parsed.diagnostics {
            source.slice(diagnostic.span);
        }
        if syntax_errors(&parsed).is_empty() {
            survives_printing(text)?;
        } else {
            // What is left after errors is whole, too.
            let (_, again) = read(print(&parsed.module));
            prop_assert_eq!(syntax_errors(&again), Vec::<&Diagnostic>::new());
        }
    }
}
