//! What C headers have, and layouts with attributes: the numbers are those of gcc 12, and where it says so of nvcc 13.0's device
//! side.

use abi::c::{self, Declarations};
use abi::data::{Host, Side, Target};

fn read(text: &str) -> Declarations {
    c::parse(text, Host::Bits64.into()).unwrap_or_else(|problem| panic!("{problem}\n{text}"))
}

/// Size, alignment, and the first bit of each member.
fn layout(text: &str, side: Side) -> (u64, u64, Vec<u64>) {
    let target = Target { host: Host::Bits64, side };
    let declarations = c::parse(text, target).unwrap_or_else(|problem| panic!("{problem}\n{text}"));
    let layout = declarations.records.last().unwrap().layout();
    (layout.size, layout.align, layout.places.iter().map(|place| place.bit).collect())
}

#[test]
fn attributes() {
    for (text, size, align, bits) in [
        ("struct __attribute__((packed)) S { char a; int b; };", 5, 1, vec![0, 8]),
        ("struct S { char a; int b; } __attribute__((packed));", 5, 1, vec![0, 8]),
        ("struct S { char a; int b __attribute__((packed)); short c; };", 8, 2, vec![0, 8, 48]),
        ("struct S { char a; int b __attribute__((aligned(16))), c; };", 32, 16, vec![0, 128, 160]),
        ("struct S { char a; __attribute__((aligned(16))) int b, c; };", 48, 16, vec![0, 128, 256]),
        ("struct S { char a; alignas(8) char b; _Alignas(double) char c; };", 24, 8, vec![0, 64, 128]),
        ("struct __align__(16) S { char a; };", 16, 16, vec![0]),
        ("#define N 32\nstruct __align__(N) S { char a[N]; };", 32, 32, vec![0]),
        ("typedef int A __attribute__((aligned(16))); struct S { char a; A b; };", 32, 16, vec![0, 128]),
        ("typedef int A __attribute__((aligned(1))); struct S { char a; A b; };", 5, 1, vec![0, 8]),
        ("struct __attribute__((packed)) S { int a:30, b:30; long long c:40; };", 13, 1, vec![0, 30, 60]),
        ("struct S { char a; int b:3 __attribute__((packed)), c:30; };", 8, 4, vec![0, 8, 32]),
        ("struct __attribute__((packed, aligned(4))) S { char a; double b; };", 12, 4, vec![0, 8]),
        ("struct S { struct { char a; int b[2]; } x[3]; char y; };", 40, 4, vec![0, 288]),
        ("struct S { union { char a; long b; }; int c; };", 16, 8, vec![0, 64]),
        ("union U { char a[5]; short b; int c:7; };", 8, 4, vec![0, 0, 0]),
        (
            "enum E { a = -1 }; enum F { b = 0x100000000 }; struct S { enum E e; enum F f; };",
            16,
            8,
            vec![0, 64],
        ),
        ("struct S { int n; long rest[]; };", 8, 8, vec![0, 64]),
        ("struct S { char a; __int128 b; unsigned __int128 c; };", 48, 16, vec![0, 128, 256]),
    ] {
        assert_eq!(layout(text, Side::Gnu), (size, align, bits), "{text}");
    }
}

#[test]
fn where_nvcc_differs() {
    for (text, gnu, nvcc) in [
        (
            "struct __attribute__((packed, aligned(2))) S { char a; int b __attribute__((aligned(8))); };",
            (16, 8),
            (12, 2),
        ),
        ("struct __attribute__((packed)) S { char a; int :0; char b; };", (5, 1), (2, 1)),
        (
            "struct __attribute__((packed)) S { char a; int b __attribute__((aligned(8))); };",
            (16, 8),
            (16, 8),
        ),
    ] {
        for (side, expected) in [(Side::Gnu, gnu), (Side::NvccDevice, nvcc)] {
            let (size, align, _) = layout(text, side);
            assert_eq!((size, align), expected, "{text}");
        }
    }
}

#[test]
fn headers() {
    let text = "#ifndef X_H\n#define X_H\n#pragma once\n#include <stdint.h>\n#define SIZE (4)\n\
        #ifdef __cplusplus\nextern \"C\" {\nclass C { };\n#endif\n\
        /* a comment; */ typedef struct node { struct node *next; uint8_t data[SIZE * 2 + sizeof(int)]; } node; // another\n\
        enum { A, B = 1 << 3, C };\nstruct T { int a[C]; int (*f)(node *, int), *p; const char *const names[2]; };\n\
        static inline __device__ int twice(int x) { if (x) { return 2 * x; } return 0; }\n\
        extern \"C\" __global__ void __launch_bounds__(128, 2) kernel(const float *__restrict__ in, [[maybe_unused]] node n, int a[3]);\n\
        void many(const char *format, ...), none(void), old();\nint variable = 3, *other;\n\
        #if 0\n#else\n#endif\n"
        .replace("#if 0\n#else\n#endif\n", "")
        + "#ifdef __cplusplus\n}\n#else\nstruct last { char c; };\n#endif\n#endif\n";
    let all = read(&text);
    let titles: Vec<_> = all.records.iter().map(|record| record.title()).collect();
    assert_eq!(titles, ["struct node", "struct T", "struct last"]);
    let sizes: Vec<_> = all.records.iter().map(|record| record.layout().size).collect();
    // 8 + 12, 9 * 4 and three pointers, 1.
    assert_eq!(sizes, [24, 72, 1]);
    let functions: Vec<_> =
        all.functions.iter().map(|f| (&*f.name, f.kernel, f.parameters.len(), f.variadic)).collect();
    assert_eq!(
        functions,
        [
            ("twice", false, 1, false),
            ("kernel", true, 3, false),
            ("many", false, 1, true),
            ("none", false, 0, false),
            ("old", false, 0, false),
        ]
    );
    let in_parameter = "void f(struct { int a __attribute__((aligned(32))); } s);";
    let ty = &read(in_parameter).functions[0].parameters[0].ty;
    assert_eq!(ty.extent(Host::Bits64.into()).map(|extent| extent.align), Ok(32));
}

#[test]
fn what_is_not_understood_is_named_with_its_place() {
    for (text, line, column, message) in [
        ("\n#pragma pack(1)\nstruct S { int a; };", 2, 1, "pragma pack"),
        ("#if X > 3\n#endif", 1, 1, "preprocess"),
        ("typedef int v __attribute__((vector_size(16)));", 1, 30, "vector_size"),
        ("struct S {\n  long double d; };", 2, 3, "long double"),
        ("struct S { unknown_t a; };", 1, 0, "this is not C"),
        ("struct S { int a[UNKNOWN]; };", 1, 18, "UNKNOWN"),
        ("struct S { struct U u; };", 1, 1, "`struct U` is not defined"),
        ("struct S { int a; }; struct S { int b; };", 1, 22, "defined twice"),
        ("struct S { int a : 3 __attribute__((aligned(8))); };", 1, 1, "compilers differ"),
        ("struct __align__(3) S { int a; };", 1, 18, "power of two"),
        ("int a[2", 1, 0, ""),
        ("/* never ends", 1, 1, "comment"),
    ] {
        let problem = c::parse(text, Host::Bits64.into()).unwrap_err();
        assert!(problem.message.contains(message), "{text}: {problem}");
        assert_eq!(problem.line, line, "{text}: {problem}");
        if column > 0 {
            assert_eq!(problem.column, column, "{text}: {problem}");
        }
    }
}
