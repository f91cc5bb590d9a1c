//! What the assembler accepts and how it complains.

use sass::{Arch, Control, Field, NoSymbols, ParseError, Symbols, decode, parse};

fn word(text: &str) -> Result<u128, ParseError> {
    parse(Arch::Sm90, text, Control::default(), 0, &mut NoSymbols).map(|it| it.word())
}

fn complaint(text: &str) -> (String, String) {
    let error = word(text).expect_err(text);
    (text[error.span.clone()].to_string(), error.message)
}

#[test]
fn errors_point_at_the_token() {
    assert_eq!(complaint("FROB R1, R2").0, "FROB");
    assert_eq!(complaint("@P1 FADD.FTZ R1, Q2, R3").0, "Q2");
    assert_eq!(complaint("FADD R1, R2, R3, R4").0, ",");
    let (token, message) = complaint("LDG.E R2, desc[UR4][R2.64+0x1000000]");
    assert_eq!(token, "0x1000000");
    assert_eq!(message, "this must be from -0x800000 to 0x7fffff");
    let (token, _) = complaint("BRA 0x22");
    assert_eq!(token, "0x22");
}

#[test]
fn scoreboards_that_cannot_be_are_refused() {
    let with = |text: &str, control: &str| {
        let control: Control = control.parse().expect("a control code");
        parse(Arch::Sm90, text, control, 0, &mut NoSymbols).map(|it| it.control() == control)
    };
    assert_eq!(with("STG.E desc[UR4][R2.64], R7", "[B0-----:R1:W-:-:S02]"), Ok(true));
    let error =
        with("STG.E desc[UR4][R2.64], R7", "[B------:R1:W0:-:S02]").expect_err("a store writes no register");
    assert_eq!(error.message, "`STG.E desc[UR4][R2.64], R7` may not have a scoreboard for its results");
    let error = with("@P0 BRA 0x100", "[B------:R1:W-:-:S02]").expect_err("a branch reads at issue");
    assert_eq!(
        (error.span, error.message.as_str()),
        (4..13, "`BRA 0x100` may not have a scoreboard for its sources")
    );
    let error = with("WARPGROUP.ARRIVE", "[B---3--:R-:W-:-:S02]");
    assert!(error.is_ok(), "{error:?}");
}

#[test]
fn blanks_do_not_matter() {
    assert_eq!(word("FADD R1,R2,  R3 ;"), word("FADD R1, R2, R3"));
}

#[test]
fn floats_are_read_in_all_spellings() {
    let one = word("FADD R1, R2, 1").expect("a float");
    assert_eq!(word("FADD R1, R2, 0F3f800000"), Ok(one));
    assert_eq!((one >> 32) as u32, 0x3f80_0000);
    let word = word("FADD R1, R2, -QNAN").expect("a NaN");
    assert_eq!((word >> 32) as u32, 0xffc0_0000);
}

#[test]
fn targets_count_from_the_next_instruction() {
    let at = |address| parse(Arch::Sm90, "BRA 0x100", Control::default(), address, &mut NoSymbols);
    let near = at(0xf0).expect("a branch");
    assert_eq!(near.target(0xf0), Some(0x100));
    assert_eq!(near.target(0x1f0), Some(0x200));
    let mut text = String::new();
    near.print_with(0xf0, &mut text, |to, out| {
        out.push_str(&format!("`(.L_{to:x})"));
        true
    });
    assert_eq!(text, "BRA `(.L_100)");
}

struct OneSymbol;

impl Symbols for OneSymbol {
    fn value(&mut self, expression: &str, field: Field, _: u128) -> Option<u64> {
        match (expression, field) {
            ("`(.L_1)", Field::Target) => Some(0x40),
            ("32@lo(name)", Field::Immediate(32)) => Some(0x1234),
            _ => None,
        }
    }
}

#[test]
fn names_are_asked_for() {
    let parse = |text| parse(Arch::Sm90, text, Control::default(), 0, &mut OneSymbol);
    assert_eq!(parse("BRA `(.L_1)").expect("a branch").target(0), Some(0x40));
    assert_eq!((parse("MOV R1, 32@lo(name)").expect("a move").word() >> 32) as u32, 0x1234);
    let error = parse("BRA `(.L_2)").expect_err("no such label");
    assert_eq!((error.span.start, error.message.as_str()), (4, "`` `(.L_2) `` has no value here"));
}

#[test]
fn unknown_words_are_not_decoded() {
    assert_eq!(decode(Arch::Sm90, 0x10), None);
}
