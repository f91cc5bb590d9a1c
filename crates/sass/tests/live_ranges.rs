//! What instructions read and write, against the live ranges that nvdisasm prints: `tests/samples/live_ranges.txt`.

use sass::{Access, Arch, Instruction, Name, decode};
use std::collections::BTreeSet;

/// Instructions for which the two do not agree, and why.
const APART: &[(&str, &[&str])] = &[
    // nvdisasm does not show the predicates that a mask has.
    ("masks", &["P2R", "R2P", "UP2UR", "UR2UP"]),
    // How many registers coordinates and texels are depends on the kind of texture, on the mask and on what is sampled: the table has one.
    ("textures", &["TEX", "TLD", "TLD4", "TXD", "TXQ", "TMML", "FOOTPRINT"]),
    // Single registers for factors with `.F32`. Of 256 bits each half is as many registers as its bits in the mask say, one at least:
    // for stores the lower four bits are the first operand's, for loads the second's. Both have four in the table.
    ("packed floats", &["FADD2", "FFMA2", "FMUL2"]),
    ("256 bits by a mask", &["LDG", "STG"]),
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
    let apart = |name: &str| APART.iter().any(|(_, names)| names.contains(&name));
    let (mut same, mut wrong) = (0, Vec::new());
    for line in include_str!("samples/live_ranges.txt").lines().filter(|line| !line.starts_with('#')) {
        let (head, rest) = line.split_once(" reads").expect("reads");
        let (reads, writes) = rest.split_once("writes").expect("writes");
        let (arch, word) = head.split_once(' ').expect("an architecture and a word");
        let arch: Arch = arch.parse().expect("an architecture");
        let word = u128::from_str_radix(word, 16).expect("a word");
        let instruction = decode(arch, word).expect("a word that is known");
        let listed = |text: &str| text.split_whitespace().map(str::to_owned).collect::<BTreeSet<String>>();
        let ours = (
            registers(&instruction, |access| access != Access::Write),
            registers(&instruction, |access| access != Access::Read),
        );
        if ours == (listed(reads), listed(writes)) {
            same += 1;
            continue;
        }
        let text = instruction.to_string();
        let name = Instruction::head(&text).split('.').next().unwrap_or("");
        if !apart(name) {
            wrong.push(format!("{arch} {text}\n  ours {ours:?}\n  nvdisasm reads{reads}writes{writes}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(same > 2500, "{same}");
}
