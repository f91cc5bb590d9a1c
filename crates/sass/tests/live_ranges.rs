//! What instructions read and write, against the live ranges that nvdisasm prints: `tests/samples/live_ranges.txt`.

use sass::{Access, Arch, Instruction, Name, decode};
use std::collections::BTreeSet;

/// Instructions for which the two do not agree, and why.
const APART: &[(&str, &[&str])] = &[
    // nvdisasm does not show the predicates that a mask has.
    ("masks", &["P2R", "R2P", "UP2UR", "UR2UP"]),
    // Of more than four scattered registers nvdisasm counts two and one, or one and one; on sm_100 and sm_120 of four, too.
    ("scattered registers", &["TEX.SCR", "TLD.SCR", "TLD4.SCR", "FOOTPRINT.SCR"]),
    // On sm_120 nvdisasm counts one derivative here, elsewhere four.
    ("derivatives and a level", &["FOOTPRINT.LL"]),
    // Without .E the uniform part of an address is one register; the table has two of the forms that may have .E.
    ("addresses of 32 bits", &["LDG.EF", "STG.EL"]),
    // Single registers for factors with `.F32`.
    ("packed floats", &["FADD2", "FFMA2", "FMUL2"]),
    ("tensor memory", &["UTCATOMSWS", "UTCHMMA", "UTCIMMA", "UTCOMMA", "UTCQMMA", "LDTM", "STTM"]),
    (
        "not understood",
        &[
            "ATOM", "ATOMG", "HGMMA", "HMMA", "IMMA", "LD", "LDGMC", "LDGSTS", "LDL", "QSPC", "REDAS",
            "SETCTAID", "ST", "STAS", "STL", "SYNCS", "UBLKCP", "UBLKRED", "ULDC",
        ],
    ),
];

fn registers(instruction: &Instruction, wanted: impl Fn(Access) -> bool) -> BTreeSet<String> {
    let operands = instruction.operands().filter(|operand| wanted(operand.access));
    let spelled = |name| match name {
        Name::Register(number) => Some(format!("R{number}")),
        Name::Uniform(number) => Some(format!("UR{number}")),
        Name::Predicate(number) => Some(format!("P{number}")),
        Name::UniformPredicate(number) => Some(format!("UP{number}")),
        _ => None,
    };
    operands.flat_map(|operand| operand.names()).filter_map(spelled).collect()
}

#[test]
fn operands_are_as_nvdisasms_live_ranges() {
    // A mnemonic, or one with a modifier.
    let is = |name: &str, text: &str| {
        let mut modifiers = text.split('.');
        name.split_once('.').map_or(name, |(mnemonic, _)| mnemonic) == modifiers.next().unwrap_or("")
            && name.split_once('.').is_none_or(|(_, modifier)| modifiers.any(|it| it == modifier))
    };
    let apart = |head: &str| APART.iter().any(|(_, names)| names.iter().any(|name| is(name, head)));
    let (mut same, mut wrong) = (0, Vec::new());
    for line in include_str!("samples/live_ranges.txt").lines().filter(|line| !line.starts_with('#')) {
        let (head, rest) = line.split_once(" reads").expect("reads");
        let (reads, writes) = rest.split_once("writes").expect("writes");
        let (arch, word) = head.split_once(' ').expect("an architecture and a word");
        let arch: Arch = arch.parse().expect("an architecture");
        let word = u128::from_str_radix(word, 16).expect("a word");
        let instruction = decode(arch, word).expect("a word that is known");
        let text = instruction.to_string();
        let head = Instruction::head(&text);
        let listed =
            |text: &str| -> BTreeSet<String> { text.split_whitespace().map(str::to_owned).collect() };
        let ours = (
            registers(&instruction, |access| access != Access::Write),
            registers(&instruction, |access| access != Access::Read),
        );
        if ours == (listed(reads), listed(writes)) {
            same += 1;
            continue;
        }
        if !apart(head) {
            wrong.push(format!("{arch} {text}\n  ours {ours:?}\n  nvdisasm reads{reads}writes{writes}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(same >= 3470, "{same} agree");
}
