//! No text makes the reader panic, overflow the stack or run for long.

use abi::c;
use abi::call::convention;
use abi::data::{Host, picture, svg};

const PIECES: [&str; 56] = [
    "struct",
    "union",
    "enum",
    "typedef",
    "S",
    "T",
    "a",
    "b",
    "int",
    "char",
    "long",
    "unsigned",
    "float4",
    "__int128",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    ":",
    "*",
    "=",
    "-",
    "~",
    "0",
    "3",
    "8",
    "100000000000000",
    "0x7fffffff",
    "__attribute__((packed))",
    "__attribute__((aligned(",
    "))",
    "__align__(16)",
    "alignas(",
    "[[",
    "]]",
    "sizeof",
    "extern",
    "\"C\"",
    "__global__",
    "void",
    "...",
    "\n#define N 4\n",
    "\n#ifdef N\n",
    "\n#else\n",
    "\n#endif\n",
    "N",
    "/*",
    "*/",
    "//",
    "'a'",
    "\\",
    "é",
];

fn read(text: &str) {
    for host in [Host::Bits32, Host::Bits64] {
        if let Ok(declarations) = c::parse(text, host.into()) {
            for record in &declarations.records {
                picture::text(record, host.into());
                svg::drawing([&**record]);
            }
            for function in &declarations.functions {
                let _ = convention(function, &[], host.into());
            }
        }
    }
}

#[test]
fn random_pieces() {
    let mut rng = fastrand::Rng::with_seed(1);
    for _ in 0..4000 {
        let count = 1 + rng.usize(..60);
        let pieces: Vec<&str> = (0..count).map(|_| PIECES[rng.usize(..PIECES.len())]).collect();
        read(&pieces.join(" "));
    }
}

#[test]
fn texts_with_something_missing() {
    let text = "#define N 3\ntypedef struct __align__(8) { char a; int b:3, :0; float4 c[N][2]; } T;\n\
        enum E { x = 'a', y = (1 << 4) + sizeof(T) };\nextern \"C\" { struct __attribute__((packed)) S \
        { union { T t; enum E e:5; }; struct S *next; alignas(16) int z; } ; }\n\
        __global__ void k(struct S s, int n, ...) { return; }\n";
    assert!(c::parse(text, Host::Bits64.into()).is_ok());
    let mut rng = fastrand::Rng::with_seed(2);
    for start in 0..text.len() {
        let end = (start + 1 + rng.usize(..12)).min(text.len());
        read(&format!("{}{}", &text[..start], &text[end..]));
        read(&text[..start]);
    }
}

#[test]
fn what_nests_and_what_is_long() {
    let many = |piece: &str, count: usize| piece.repeat(count);
    for text in [
        format!("int a[{}1{}];", many("(", 60), many(")", 60)),
        format!("int a[{}1{}];", many("(", 100_000), many(")", 100_000)),
        format!("int a[{}1];", many("- ", 390)),
        format!("int a[{}1];", many("(int)", 130)),
        format!("int a[{}1];", many("sizeof ", 100_000)),
        format!("{}int x;{}", many("struct { ", 60), many("} a; ", 60)),
        format!("{}int x;{}", many("struct { ", 100_000), many("} a; ", 100_000)),
        format!("int {}x;", many("*", 100_000)),
        format!("int {}x{};", many("(*", 60), many(")", 60)),
        format!("int x{};", many("[2]", 90)),
        format!("int f({});", many("int (*)(", 60) + &many(")", 60)),
        many("\n#ifdef A\n", 100_000),
        many("struct S { int a; }; ", 10_000),
        format!("struct S {{ {} }};", many("int a; ", 50_000)),
        format!("struct S {{ int a[{}]; }};", "9".repeat(100_000)),
    ] {
        read(&text);
    }
    // Structures without members, which take no room in a picture and no instructions in a call.
    let mut text = "struct S0 { int :0; };".to_owned();
    for at in 1..40 {
        text += &format!("struct S{at} {{ struct S{} a, b; }};", at - 1);
    }
    read(&(text + "struct T { struct S0 a[100000000000]; }; void f(struct S39 s); void g(struct T t);"));
    // Each structure has the one before twice.
    let mut text = "struct S0 { char a, b; };".to_owned();
    for at in 1..60 {
        text += &format!("struct S{at} {{ struct S{} a, b; }};", at - 1);
    }
    let problem = c::parse(&text, Host::Bits64.into()).unwrap_err();
    assert!(problem.message.contains("too large"), "{problem}");
    read(&text[..text.find("struct S40").unwrap()]);
}
