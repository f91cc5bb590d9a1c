//! Chapter 2 of the guide: its tables and its figures.

use abi::c;
use abi::data::types::{Handle, vector_alignment};
use abi::data::{Host, Record, Scalar, Target, Type};
use ptx::types::{ScalarType, TypeKind};
use std::rc::Rc;

fn records(text: &str, host: Host) -> Vec<Rc<Record>> {
    c::parse(text, host.into()).unwrap_or_else(|problem| panic!("{problem}\n{text}")).records
}

fn record(text: &str) -> Rc<Record> {
    let both = [Host::Bits32, Host::Bits64].map(|host| records(text, host).remove(0));
    // The figures are the same on both hosts.
    assert_eq!(both[0].layout(), both[1].layout());
    Rc::clone(&both[0])
}

/// Names, first bits and widths, of what has a name.
fn places(record: &Record) -> Vec<(&str, u64, u64)> {
    let members = record.members().iter().zip(&record.layout().places);
    members.filter_map(|(member, place)| Some((member.name.as_deref()?, place.bit, place.bits))).collect()
}

#[test]
fn fundamental_types() {
    use TypeKind::{Float, Signed, Unsigned, Untyped};
    let table = [
        ("b8", 1, Untyped),
        ("b16", 2, Untyped),
        ("b32", 4, Untyped),
        ("b64", 8, Untyped),
        ("s8", 1, Signed),
        ("s16", 2, Signed),
        ("s32", 4, Signed),
        ("s64", 8, Signed),
        ("u8", 1, Unsigned),
        ("u16", 2, Unsigned),
        ("u32", 4, Unsigned),
        ("u64", 8, Unsigned),
        ("f16", 2, Float),
        ("f32", 4, Float),
        ("f64", 8, Float),
    ];
    for (name, size, kind) in table {
        let ty = ScalarType::from_name(name).unwrap();
        assert_eq!((ty.bytes(), ty.kind()), (size, kind), "{name}");
        // Whatever C type it holds has that size, and that alignment.
        for host in [Host::Bits32, Host::Bits64] {
            for scalar in Scalar::ALL.into_iter().filter(|scalar| scalar.ptx(host) == ty) {
                let extent = Type::Scalar(scalar).extent(host.into()).unwrap();
                assert_eq!((extent.size, extent.align), (size.into(), size.into()), "{}", scalar.name());
            }
        }
    }
}

#[test]
fn the_host_decides_pointers_and_long() {
    for (host, bytes) in [(Host::Bits32, 4), (Host::Bits64, 8)] {
        let all = records("struct S { void *p; long l; unsigned long u; size_t s; };", host);
        assert_eq!(
            places(&all[0]),
            ["p", "l", "u", "s"]
                .map(|name| name)
                .iter()
                .enumerate()
                .map(|(i, name)| (*name, i as u64 * bytes * 8, bytes * 8))
                .collect::<Vec<_>>()
        );
        let handle = Type::Handle(Handle::Surface).extent(Target::from(host)).unwrap();
        assert_eq!((handle.size, handle.align), (8, 8));
    }
}

#[test]
fn native_vectors() {
    for (count, alignment) in [(1, 4), (2, 8), (3, 4), (4, 16)] {
        assert_eq!(vector_alignment(4, count), alignment);
    }
    for (name, size, align) in [
        ("char3", 3, 1),
        ("uchar4", 4, 4),
        ("short2", 4, 4),
        ("ushort3", 6, 2),
        ("int1", 4, 4),
        ("uint2", 8, 8),
        ("float3", 12, 4),
        ("float4", 16, 16),
        ("longlong1", 8, 8),
        ("double2", 16, 16),
    ] {
        let all = records(&format!("struct S {{ char c; {name} v; }};"), Host::Bits64);
        assert_eq!(places(&all[0])[1], ("v", align * 8, size * 8), "{name}");
    }
}

#[test]
fn widths_of_bit_fields() {
    for (ty, most) in [("char", 8), ("short", 16), ("int", 32), ("long long", 64)] {
        for sign in ["signed", "unsigned"] {
            let text = |bits| format!("struct S {{ {sign} {ty} b : {bits}; }};");
            assert_eq!(places(&record(&text(most))), [("b", 0, most)]);
            assert_eq!(places(&record(&text(1))), [("b", 0, 1)]);
            let problem = c::parse(&text(most + 1), Host::Bits64.into()).unwrap_err();
            assert!(problem.message.contains(&format!("at most {most}")), "{problem}");
        }
    }
    assert!(c::parse("struct S { int b : 0; };", Host::Bits64.into()).is_err());
    assert!(c::parse("struct S { float b : 3; };", Host::Bits64.into()).is_err());
}

#[test]
fn plain_bit_fields_are_signed_and_int_where_nothing_is_said() {
    let all = record("struct S { char a : 3; signed b : 6; unsigned c : 6; };");
    let scalars: Vec<_> =
        all.members().iter().map(|member| member.ty.bit_field_scalar(Host::Bits64).unwrap()).collect();
    assert_eq!(scalars, [Scalar::Char, Scalar::Int, Scalar::UnsignedInt]);
    assert!(Scalar::Char.is_signed(Host::Bits64) && Scalar::Int.is_signed(Host::Bits64));
}

/// Figure 1: the bits of 0x01020304 in memory, numbered from the right.
#[test]
fn figure_1() {
    let all = record("struct S { unsigned a : 8, b : 8, c : 8, d : 8; };");
    assert_eq!(places(&all), [("a", 0, 8), ("b", 8, 8), ("c", 16, 8), ("d", 24, 8)]);
    let word = 0x0102_0304_u32;
    let bytes = word.to_le_bytes();
    for ((_, bit, bits), value) in places(&all).into_iter().zip([4, 3, 2, 1]) {
        assert_eq!(word >> bit & ((1 << bits) - 1), value);
        assert_eq!(u32::from(bytes[(bit / 8) as usize]), value);
    }
}

#[test]
fn figure_2() {
    let all = record("struct S { int a:6; int b:7; int c:8; };");
    assert_eq!((all.layout().size, all.layout().align), (4, 4));
    // Edges of the figure: 0, 6, 13, 21.
    assert_eq!(places(&all), [("a", 0, 6), ("b", 6, 7), ("c", 13, 8)]);
}

#[test]
fn figure_3() {
    let all = record("struct S { short s1:9; long long l1:9; char c1; short s2:9; short s3:9; char c2; };");
    assert_eq!((all.layout().size, all.layout().align), (16, 8));
    let expected = [
        ("s1", 0, 9),
        ("l1", 9, 9),
        ("c1", 24, 8),
        // In the word at byte 4: bits 0 to 8, and 16 to 24.
        ("s2", 32, 9),
        ("s3", 48, 9),
        ("c2", 64, 8),
    ];
    assert_eq!(places(&all), expected);
}

#[test]
fn figure_4() {
    let all = record("struct S { char c; short s:8; };");
    assert_eq!((all.layout().size, all.layout().align), (2, 2));
    assert_eq!(places(&all), [("c", 0, 8), ("s", 8, 8)]);
}

#[test]
fn figure_5() {
    let all = record("union S { char c; short s:8; };");
    assert_eq!((all.layout().size, all.layout().align), (2, 2));
    assert_eq!(places(&all), [("c", 0, 8), ("s", 0, 8)]);
}

#[test]
fn figure_6() {
    let all = record("struct S { char c1; int :0; char c2; short :9; char c3; char :0; };");
    assert_eq!((all.layout().size, all.layout().align), (9, 1));
    assert_eq!(places(&all), [("c1", 0, 8), ("c2", 32, 8), ("c3", 64, 8)]);
}

/// Pictures come from the layout: every bit is in one cell, and the figure's edges are there.
#[test]
fn pictures_have_every_bit_once() {
    use abi::data::picture::{strips, text};
    for source in [
        "struct S { int a:6; int b:7; int c:8; };",
        "struct S { short s1:9; long long l1:9; char c1; short s2:9; short s3:9; char c2; };",
        "struct S { char c; union { int i; float f[40]; struct { char x; int y:3; } n; } u; double d; };",
        "union S { char c; short s:8; };",
        "struct S { char c1; int :0; char c2; short :9; char c3; char :0; };",
    ] {
        let all = record(source);
        for strip in strips(&all) {
            let mut next = 0;
            for cell in &strip.cells {
                assert_eq!(cell.bit, next, "{source}");
                assert!(cell.bits > 0);
                next += cell.bits;
            }
            assert_eq!(next % 8, 0);
            assert!(strip.offset + next / 8 <= all.layout().size, "{source}");
        }
        assert!(text(&all, Host::Bits64.into()).contains('|'));
        assert!(abi::data::svg::drawing([&*all]).ends_with("</svg>\n"));
    }
}
