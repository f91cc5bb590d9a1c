//! The generator of the instruction table: what it makes of small tables, and what it says about wrong ones.

#[allow(dead_code, reason = "the build script uses the rest")]
#[path = "../isa-gen/mod.rs"]
mod isa_gen;

use isa_gen::model::{Kind, Table, Type};
use isa_gen::{TableError, emit, parse::Parser};

const VOCABULARY: &str = "type: .u32 .s32 .f32\nsat: .sat\nvec: .v2 .v4\ndtype atype:\n";

fn parse(forms: &str) -> Result<Table, TableError> {
    let mut parser = Parser::default();
    parser.vocabulary("words", VOCABULARY)?;
    parser.forms("forms", &format!("chapter 1 One\nsection 1.1 add\n{forms}"))?;
    parser.finish()
}

#[test]
fn a_form() {
    let table = parse(
        ".type = .u32 .s32@8.0/sm_90a,sm_100f\nadd{.sat}.type d|_:type a:type {c}:!pred @7.4 => add_int\ndoes add_int: pure\n",
    );
    let table = table.expect("the table is right");
    let form = &table.forms[0];
    assert_eq!(
        (form.mnemonic.as_str(), form.section.as_str(), form.chapter.as_str()),
        ("add", "1.1", "1 One")
    );
    assert_eq!(form.sem.as_deref(), Some("add_int"));
    assert_eq!(form.gate.ptx, Some((7, 4)));
    let slots: Vec<_> = form.slots.iter().map(|s| (s.name.as_str(), s.optional, s.choices.len())).collect();
    assert_eq!(slots, [("sat", true, 1), ("type", false, 2)]);
    let gate = &form.slots[1].choices[1].gate;
    assert_eq!((gate.ptx, gate.targets[1].sm, gate.targets[1].variant), (Some((8, 0)), 100, "Family"));
    let [d, a, c] = &form.operands[..] else { panic!("three operands") };
    assert!(matches!(d.kind, Kind::Register { sink: true }) && d.role == "Write");
    assert!(
        matches!(a.kind, Kind::Value { special: false })
            && matches!(&a.ty, Type::Rule("Of", slot) if slot == "type")
    );
    assert!(matches!(c.kind, Kind::Predicate { negatable: true, constant: true, sink: false }) && c.optional);
    assert!(
        emit::forms(&table).contains("template: \"add{.sat}.type d, a{, {!}c}\""),
        "{}",
        emit::forms(&table)
    );
}

#[test]
fn an_indented_line_continues() {
    let table =
        parse("add.dtype=u32|s32\n        d:dtype a:.f32 # a comment\n        => add\ndoes add: pure\n")
            .expect("the table is right");
    assert_eq!((table.forms.len(), table.forms[0].operands.len()), (1, 2));
}

#[test]
fn rules() {
    let table = parse(
        "add{.sat}{.vec=v2|v4}.type=u32|s32 d:type ; vec without sat ; sat needs type .s32 ; .v4 allows sat .sat\n",
    );
    let rules = &table.expect("the table is right").forms[0].rules;
    let shown: Vec<_> =
        rules.iter().map(|r| (r.when.1.as_str(), r.slot.as_str(), r.choices.len(), r.required)).collect();
    assert_eq!(
        shown,
        [
            (".v2", "sat", 0, false),
            (".v4", "sat", 0, false),
            (".sat", "type", 1, true),
            (".v4", "sat", 1, false)
        ]
    );
}

#[test]
fn mistakes_have_a_place() {
    let cases = [
        ("add.u33 d:.u32", "forms:3: modifier `.u33` is not in the vocabulary"),
        (".kind = .u32", "forms:3: slot `kind` is not in the vocabulary"),
        (".type =", "forms:3: a class needs a modifier"),
        ("add{.sat d:.u32", "forms:3: `{` without `}` in the template"),
        ("add.u32.s32 d:.u32", "forms:3: slot `type` stands twice: name one `.slot=modifier`"),
        ("add.u32 d:.u33", "forms:3: `.u33` is not a type"),
        ("add.u32 d:vec", "forms:3: this form has no slot `vec`"),
        ("add.u32 d:vec*.u32", "forms:3: this form has no slot `vec`"),
        ("add.u32 d:half(type)", "forms:3: `half` is not a rule for types"),
        ("add.u32 a|_:type", "forms:3: operand `a` is not a register: it cannot be `_`"),
        (
            "add.u32 a:#.u32(1-3)",
            "forms:3: expected `type(low..high)`, `type(low..)`, `type(1|2)` or `type(%step)`",
        ),
        ("add.u32 [a]:.stack", "forms:3: `stack` is not a state space"),
        ("add.u32 [a]:picture(.f32)", "forms:3: `picture` is not a kind of memory operand"),
        ("add.u32 {c}:.u32?.sat", "forms:3: no slot of this form takes `.sat`"),
        ("add.u32 d:type @8", "forms:3: `8` is not a version or target"),
        ("add.u32 d:type @sm_90x", "forms:3: `sm_90x` is not a target"),
        ("add.u32 d:type => Add-Int", "forms:3: `Add-Int` is not the name of a semantic function"),
        ("add.u32 d:type ; sat needs type .u32", "forms:3: this form has no slot and no modifier `sat`"),
        (
            "add.u32 d:type ; .u32 likes type",
            "forms:3: expected `needs`, `allows`, `with` or `without`, not `likes`",
        ),
        ("add.u32 d:type ; .u32 needs type .s32", "forms:3: slot `type` of this form does not take `.s32`"),
        ("add.u32 d:type ; .u32 without type", "forms:3: slot `type` of this form cannot be empty"),
        ("ADD.u32 d:type", "forms:3: expected `chapter`, `section`, `does`, a class `.name = ...` or a form"),
        ("section 1.1 again", "forms:3: section 1.1 is there twice"),
        ("section 2.1 other", "forms:3: section 2.1 is not in chapter 1"),
        ("chapter 2 Two\nadd.u32 d:type", "forms:4: a form before the first section"),
        ("\n\nadd.u32 d:type\n  @8.x", "forms:5: `8.x` is not a version or target"),
    ];
    for (forms, expected) in cases {
        assert_eq!(parse(forms).expect_err(forms).to_string(), expected);
    }
}

#[test]
fn mistakes_in_the_vocabulary() {
    let said = |text: &str| Parser::default().vocabulary("words", text).expect_err(text).to_string();
    assert_eq!(said("type .u32"), "words:1: expected `slot: .modifier ...`");
    assert_eq!(said("type: u32"), "words:1: modifier `u32` must begin with a dot");
    assert_eq!(said("type: .u32\nother: .u32"), "words:2: modifier `.u32` is declared twice");
    assert_eq!(said("type: .u32\ntype: .s32"), "words:2: slot `type` is declared twice");
    let table = parse("add.u32 d:.u32\n").expect("the table is right");
    assert_eq!(
        emit::names(&table).expect_err("most of it is unused"),
        "slot `atype` is declared, but no form uses it"
    );
}

#[test]
fn special_registers() {
    let mut parser = Parser::default();
    parser.special_registers("special", "%tid .v4.u32\n%pm<3>_64 .u64 @4.0/sm_50\n").expect("they are right");
    let table = parser.finish().expect("nothing is missing");
    let shown: Vec<_> =
        table.specials.iter().map(|s| (s.name.as_str(), s.ty.as_str(), s.components)).collect();
    assert_eq!(
        shown,
        [("%tid", "u32", 4), ("%pm0_64", "u64", 1), ("%pm1_64", "u64", 1), ("%pm2_64", "u64", 1)]
    );
    let said = |text: &str| Parser::default().special_registers("special", text).expect_err(text).to_string();
    assert_eq!(said("tid .u32"), "special:1: a special register's name begins with `%`");
    assert_eq!(said("%tid"), "special:1: a special register needs a type");
    assert_eq!(said("%tid .u33"), "special:1: `u33` is not a type");
    assert_eq!(said("%tid<x> .u32"), "special:1: expected `%name<count>`");
}

/// Spellings in Rust are legal, and two modifiers never share one.
#[test]
fn rust_names() {
    for (text, name) in [
        (".L2::128B", "L2_128B"),
        (".shared::cta", "SharedCta"),
        (".mbarrier::complete_tx::bytes", "MbarrierCompleteTxBytes"),
        (".16x64b", "N16x64b"),
        (".m16n8k16", "M16n8k16"),
        (".cta_group::1", "CtaGroup1"),
        ("add_int_x2", "AddIntX2"),
    ] {
        assert_eq!(emit::camel_case(text), name);
    }
    let mut parser = Parser::default();
    parser.vocabulary("words", "type: .u32 .u::32\n").expect("the words differ");
    parser.forms("forms", "chapter 1 One\nsection 1.1 a\na.type=u32|u::32\n").expect("the form is right");
    let error = emit::names(&parser.finish().expect("nothing is missing")).expect_err("both are U32");
    assert!(error.contains("would both be called `U32`"), "{error}");
}

#[test]
fn effects() {
    let table = parse(
        "does ld: load(a).async.rows order=weak\ndoes add: pure\n\
         add.type=u32 d:type a:type => add\nld.type=u32 d:type [a] => ld\n",
    )
    .expect("the lines are right");
    assert_eq!(table.effects["add"].expression(), "Effects { ..Effects::PURE }");
    assert_eq!(
        table.effects["ld"].expression(),
        "Effects { order: Some(Order::Weak), memory: &[MemoryEffect { operand: \"a\", access: Access::Load, \
         proxy: Proxy::Async, footprint: Footprint::Rows }, ], ..Effects::PURE }"
    );
}

#[test]
fn what_effects_cannot_be() {
    let add = "add.type=u32 d:type a:type => add\n";
    for (lines, message) in [
        ("", "no line `does add: ...` says what `add` does"),
        ("does add: pure\ndoes sub: pure\n", "`does sub`, but no form is executed by `sub`"),
        ("does add: pure\ndoes add: outside\n", "what `add` does is said twice"),
        ("does add: load(b)\n", "`add` touches `b`, which is no operand of it"),
        ("does add: fast\n", "`fast` is not an effect"),
        ("does add: load(a).quick\n", "`quick` is neither a proxy nor a footprint"),
        ("does add: order=weak order=sc\n", "two effects say `order`"),
        ("does add:\n", "what does nothing else is `pure`"),
    ] {
        let error = parse(&format!("{lines}{add}")).expect_err(lines);
        assert_eq!(error.message, message, "{lines}");
    }
}
