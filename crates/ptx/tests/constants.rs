//! The values of constant expressions. Each was found by giving the expression to ptxas as the initialiser of a
//! `.u64` and reading the bytes from the cubin, except where a comment says otherwise.

use ptx::ast::{Constant, ConstantErrorKind, InitialiserKind, Module};
use ptx::source::Source;
use ptx::syntax::parse;

fn evaluate(expression: &str) -> Result<Constant, ConstantErrorKind> {
    let source = Source::new("constants", format!(".global .u64 x = {expression};"));
    let parsed = parse(&source);
    assert!(parsed.diagnostics.is_empty(), "{expression}: {:?}", parsed.diagnostics);
    let module: &Module = &parsed.module;
    let InitialiserKind::Constant(id) = module.initialisers[0].value else {
        panic!("{expression} is not a constant expression");
    };
    module.evaluate(id).map_err(|error| error.kind)
}

fn value(expression: &str) -> i64 {
    evaluate(expression).unwrap().as_integer().unwrap() as i64
}

#[test]
fn signedness() {
    assert_eq!(value("-1 >> 1"), -1);
    assert_eq!(value("-1U >> 1"), i64::MAX);
    assert_eq!(value("0x8000000000000000 >> 1"), 1 << 62);
    assert_eq!(value("9223372036854775808 >> 1"), 1 << 62);
    assert_eq!(value("- 0x8000000000000000 >> 1"), 1 << 62);
    assert_eq!(value("0x7fffffffffffffff + 1 >> 1"), -(1 << 62));
    assert_eq!(value("~0 >> 1"), i64::MAX);
    assert_eq!(value("~0U >> 60"), 15);
    assert_eq!(value("~-5"), 4);
    assert_eq!(value("(~1 - ~1 - 1) >> 1"), i64::MAX);
    assert_eq!(value("(-1 & -1) >> 60"), -1);
    assert_eq!(value("(-1 ^ 0) >> 60"), -1);
    assert_eq!(value("(-1 | 0) >> 60"), -1);
    assert_eq!(value("(-1 | 0U) >> 60"), 15);
    assert_eq!(value("(-1 & 1U) >> 1"), 0);
    assert_eq!(value("(.s64)(-1U) >> 1"), -1);
    assert_eq!(value("(.u64)(-1) >> 1"), i64::MAX);
    assert_eq!(value("WARP_SZ - 33 >> 1"), -1);
}

#[test]
fn division() {
    assert_eq!(value("-7 / 2"), -3);
    assert_eq!(value("-3 / 2 * 2"), -2);
    assert_eq!(value("-7U / 2"), 9223372036854775804);
    assert_eq!(value("-7 / 2U"), 9223372036854775804);
    assert_eq!(value("0x8000000000000000 / 3"), 3074457345618258602);
    assert_eq!(value("7 % 4"), 3);
    assert_eq!(value("-7 % 4"), 1);
    assert_eq!(value("7 % -4"), 7);
    assert_eq!(value("(-1 % 10) < 0"), 0);
    assert_eq!(value("(0-7 % 4) >> 1"), 0x7FFF_FFFF_FFFF_FFFE);
    // ptxas 13.0 dies of this one; wrapping is the only value that 64 bits leave.
    assert_eq!(value("(-9223372036854775807 - 1) / -1"), i64::MIN);
    for expression in ["5 / 0", "5 % 0", "5U / 0", "1 ? 3 : 5 / 0", "1 || 5 / 0", "0 && 5 / 0"] {
        assert_eq!(evaluate(expression), Err(ConstantErrorKind::DivisionByZero), "{expression}");
    }
}

#[test]
fn shifts() {
    assert_eq!(value("1 << 63"), i64::MIN);
    assert_eq!(value("1 << 64"), 1);
    assert_eq!(value("1 << -1"), i64::MIN);
    assert_eq!(value("-8 >> -1"), -1);
    assert_eq!(value("-1 >> 64"), -1);
    assert_eq!(value("-1 << 1U >> 1"), -1);
    assert_eq!(value("8 >> 1 >> 1"), 2);
    assert_eq!(value("1 << 2 + 1"), 8);
}

#[test]
fn comparisons_and_logic() {
    assert_eq!(value("-1 < 1U"), 0);
    assert_eq!(value("-1 < 1"), 1);
    assert_eq!(value("1U < -1"), 1);
    assert_eq!(value("3U - 4 > 0"), 1);
    assert_eq!(value("0U - 1 < 0"), 0);
    assert_eq!(value("(3 == 3U) - 2 >> 1"), -1);
    assert_eq!(value("!5"), 0);
    assert_eq!(value("!0 - 2 >> 1"), -1);
    assert_eq!(value("(5 && 0U) - 1 >> 1"), -1);
    assert_eq!(value("(5 || 0) - 2 >> 1"), -1);
    assert_eq!(value("1.5 < 2.5"), 1);
}

#[test]
fn precedence() {
    assert_eq!(value("2 + 3 * 4"), 14);
    assert_eq!(value("(1+2)*3"), 9);
    assert_eq!(value("3 - 2 - 1"), 0);
    assert_eq!(value("2 * 3 % 4"), 2);
    assert_eq!(value("100 / 7 * 7"), 98);
    assert_eq!(value("5 - 3 < 1 + 2"), 1);
    assert_eq!(value("1 == 1 > 0"), 1);
    assert_eq!(value("1 < 2 == 1"), 1);
    assert_eq!(value("6 & 3 == 3"), 0);
    assert_eq!(value("!0 == 1"), 1);
    assert_eq!(value("1 | 2 ^ 3 & 4"), 3);
    assert_eq!(value("- - 5"), 5);
    assert_eq!(value("010 + 0b11 + 0x1F"), 42);
}

#[test]
fn conditional() {
    assert_eq!(value("1 ? 2 : 0 ? 3 : 4"), 2);
    assert_eq!(value("0 ? 2 : 0 ? 3 : 4"), 4);
    assert_eq!(value("1 ? 0 ? 5 : 6 : 7"), 6);
    assert_eq!(value("5 ? 1 : 2 + 3"), 1);
    assert_eq!(value("(1 ? -1 : 1U) >> 1"), -1);
    assert_eq!(value("(0 ? 1U : -1) >> 1"), -1);
    assert_eq!(value("(1 ? 1U : -1) - 2 >> 1"), i64::MAX);
}

#[test]
fn floating_point() {
    let double = |value: f64| Ok(Constant::Double(value.to_bits()));
    assert_eq!(evaluate("1.5 + 2.0"), double(3.5));
    assert_eq!(evaluate("-1.5"), double(-1.5));
    assert_eq!(evaluate("0d3FF0000000000000 * .5"), double(0.5));
    assert_eq!(evaluate("1e5 / 1.e1"), double(1e4));
    assert_eq!(evaluate("0f3F800000"), Ok(Constant::Single(0x3F80_0000)));
    assert_eq!(evaluate("-0f3F800000"), Err(ConstantErrorKind::FloatOperand));
    assert_eq!(evaluate("1.5 + 2"), Err(ConstantErrorKind::MixedOperands));
    assert_eq!(evaluate("!1.0"), Err(ConstantErrorKind::FloatOperand));
    assert_eq!(evaluate("(.s64)1.0"), Err(ConstantErrorKind::FloatOperand));
    assert_eq!(evaluate("1.5 % 2.0"), Err(ConstantErrorKind::FloatOperand));
}
