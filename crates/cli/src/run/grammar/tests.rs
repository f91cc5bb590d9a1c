//! Arguments as users write them, right and wrong.

use super::*;
use proptest::prelude::*;

fn element(name: &str) -> Element {
    Element::from_name(name).unwrap_or_else(|| panic!("{name}"))
}

fn value_of(text: &str) -> Value {
    let argument = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(argument.actions, [], "{text}");
    argument.value
}

fn actions_of(text: &str) -> Vec<Action> {
    parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).actions
}

#[test]
fn scalars() {
    let scalar = |element, number: &str| Value::Scalar { element, number: number.into() };
    assert_eq!(value_of("42"), scalar(None, "42"));
    assert_eq!(value_of("-1.5e3"), scalar(None, "-1.5e3"));
    assert_eq!(value_of("f32:1.5"), scalar(Some(element("f32")), "1.5"));
    assert_eq!(value_of("i64:-1"), scalar(Some(element("s64")), "-1"));
    assert_eq!(value_of("null"), Value::Null);
    assert_eq!(value_of("bytes:00ff_7E"), Value::Bytes(vec![0, 0xff, 0x7e]));
    assert_eq!(value_of("file:a:b.bin"), Value::File("a:b.bin".into()));
    assert_eq!(value_of("same:0"), Value::Same { parameter: "0".into(), offset: 0 });
    assert_eq!(value_of("same:out_param+256"), Value::Same { parameter: "out_param".into(), offset: 256 });
}

#[test]
fn buffers() {
    let generated =
        |ty, shape: &[u64], fill| Value::Generated { element: element(ty), shape: shape.into(), fill };
    assert_eq!(value_of("zeros:f32[64x8]"), generated("f32", &[64, 8], Fill::Zeros));
    assert_eq!(value_of("fill:s16[3]=-1"), generated("s16", &[3], Fill::Constant(0xffff)));
    assert_eq!(value_of("range:i32[1_000]"), generated("s32", &[1000], Fill::Range { start: 0, step: 1 }));
    assert_eq!(
        value_of("range:u8[4]:step=2:start=10"),
        generated("u8", &[4], Fill::Range { start: 10, step: 2 })
    );
    assert_eq!(value_of("list:u8[1,2, 3]"), generated("u8", &[3], Fill::List(vec![1, 2, 3])));
    assert!(matches!(value_of("random:f32[8]:seed=7:lo=-1:hi=1"), Value::Generated { .. }));
}

#[test]
fn files() {
    let input = |path: &str, ty: Option<&str>, shape: Option<&[u64]>| Value::Input {
        path: path.into(),
        element: ty.map(element),
        shape: shape.map(Vec::from),
    };
    assert_eq!(value_of("in:data.npy"), input("data.npy", None, None));
    assert_eq!(value_of("in:raw.bin:f32"), input("raw.bin", Some("f32"), None));
    assert_eq!(value_of("in:raw.bin:f32[2x3]"), input("raw.bin", Some("f32"), Some(&[2, 3])));
    assert_eq!(value_of("in:C:/a,b:c.bin"), input("C:/a,b:c.bin", None, None));
}

#[test]
fn actions() {
    assert_eq!(
        actions_of("zeros:f32[4],print,print:2:hex,out:a,b.npy,expect:[1, 2]:rel=1e-3:ulp=2"),
        [
            Action::Print { limit: None, hex: false },
            Action::Print { limit: Some(2), hex: true },
            Action::Output("a,b.npy".into()),
            Action::Expect {
                expected: Expected::List(vec!["1".into(), "2".into()]),
                tolerance: Tolerance { abs: 0.0, rel: 1e-3, ulp: 2 }
            },
        ]
    );
    let expected = |text: &str| match &actions_of(&format!("zeros:u8[1],expect:{text}"))[..] {
        [Action::Expect { expected, .. }] => expected.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(expected("zeros"), Expected::Fill("0".into()));
    assert_eq!(expected("fill=1.5:abs=1"), Expected::Fill("1.5".into()));
    assert_eq!(
        expected("range:start=1:step=2:ulp=1"),
        Expected::Range { start: Some("1".into()), step: Some("2".into()) }
    );
    assert_eq!(expected("a:b.npy:abs=0.5"), Expected::File("a:b.npy".into()));
    assert_eq!(expected("ranges.npy"), Expected::File("ranges.npy".into()));
}

#[test]
fn errors_name_what_is_wrong() {
    for (text, part) in [
        ("", "empty"),
        ("zeros:f32", "f32[64]"),
        ("zeros:f33[4]", "`f33` is not a type"),
        ("zeros:f32[4", "no `]`"),
        ("zeros:f32[0]", "`0` is not a number of elements"),
        ("zeros:f32[4]x", "`x` has no meaning"),
        ("zeros:f64[4294967296x4294967296]", "larger than any memory"),
        ("fill:f32[4]", "needs a number"),
        ("fill:f32[4]=x", "`x` is not a number"),
        ("range:u8[4]:by=2", "`by=2` is not one of start=..., step=..."),
        ("range:u8[4]:step=2:step=3", "given twice"),
        ("random:u8[4]:lo=7:hi=7", "lo must be below hi"),
        ("random:u8[4]:seed=x", "`x` is not a seed"),
        ("list:u8[1,,2]", "`` is not a whole number"),
        ("list:u8[1,2", "ends with `]`"),
        ("bytes:123", "3 hexadecimal digits"),
        ("bytes:1g", "not hexadecimal"),
        ("in:", "name is missing"),
        ("nope:1", "`nope:` is neither"),
        ("same:", "needs the name"),
        ("same:a+b", "`b` is not a number of bytes"),
        ("zeros:u8[1]=>print", "actions follow a comma"),
        ("zeros:u8[1],print:x", "neither a number"),
        ("zeros:u8[1],expect:a.npy:abs=-1", "`-1` is not a tolerance"),
        ("zeros:u8[1],expect:[1", "ends with `]`"),
    ] {
        let error = parse(text).map(|argument| panic!("{text}: {argument:?}")).unwrap_err();
        assert!(error.contains(part), "{text}: {error}");
    }
}

/// Pieces of the grammar, so that random texts get past its first word.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "in:", "zeros:", "fill:", "range:", "random:", "list:", "same:", "bytes:", "file:", "null",
            ",print", ",out:", ",expect:", ":seed=", ":lo=", ":hi=", ":start=", ":step=", ":abs=", ":rel=",
            ":ulp=", "f32", "u8", "bf16", "[", "]", "x", "1", "-1", "0x", "1.5", "=", ":", ",", "+", "nan",
            "é",
        ])
        .prop_map(str::to_owned),
        any::<String>(),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn parsing_never_panics(text in pieces()) {
        let _ = parse(&text);
    }
}
