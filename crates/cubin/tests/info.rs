//! Attributes, taken apart and put together.

use cubin::info::{Attribute, Bank, Branch, Error, Parameter, Payload, Value, decode, encode, table};
use proptest::prelude::*;

/// What ptxas 13.0 writes for a kernel with three parameters, in words.
const KERNEL: [u32; 22] = [
    0x0004_3704,
    0x82,
    0x000c_1704,
    0,
    0x0010_0002,
    0x0011_f000,
    0x000c_1704,
    0,
    0x0008_0001,
    0x0021_f500,
    0x00ff_1b03,
    0x0101_5f03,
    0x0008_1c04,
    0x90,
    0xb0,
    0x0014_1903,
    0x0008_0a04,
    5,
    0x0014_0210,
    0x0004_3604,
    8,
    0x0001_4c02,
];

fn kernel() -> Vec<u8> {
    KERNEL.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn attributes_have_names_and_meanings() {
    let attributes = decode(&kernel()).unwrap();
    let found: Vec<_> = attributes.iter().map(|a| (a.name().unwrap(), a.payload())).collect();
    let parameter = |ordinal, offset, size, space| {
        let usual =
            Parameter { index: 0, ordinal, offset, size, shared: false, bank: 0x1f, space, log_alignment: 0 };
        Payload::Parameter(usual)
    };
    assert_eq!(
        found,
        [
            ("EIATTR_CUDA_API_VERSION", Payload::Numbers(vec![0x82])),
            ("EIATTR_KPARAM_INFO", parameter(2, 16, 4, 0)),
            ("EIATTR_KPARAM_INFO", parameter(1, 8, 8, 5)),
            ("EIATTR_MAXREG_COUNT", Payload::Number(0xff)),
            ("EIATTR_MERCURY_ISA_VERSION", Payload::Number(0x101)),
            ("EIATTR_EXIT_INSTR_OFFSETS", Payload::Offsets(vec![0x90, 0xb0])),
            ("EIATTR_CBANK_PARAM_SIZE", Payload::Number(0x14)),
            ("EIATTR_PARAM_CBANK", Payload::Bank(Bank { symbol: 5, offset: 0x210, size: 0x14 })),
            ("EIATTR_SW_WAR", Payload::Numbers(vec![8])),
            ("EIATTR_NUM_BARRIERS", Payload::Number(1)),
        ]
    );
    assert_eq!(encode(&attributes).unwrap(), kernel());
}

#[test]
fn payloads_can_be_changed() {
    let mut attributes = decode(&kernel()).unwrap();
    attributes[5].set_payload(&Payload::Offsets(vec![0x100]));
    attributes[9].set_payload(&Payload::Number(16));
    let bytes = encode(&attributes).unwrap();
    assert_eq!(bytes.len(), kernel().len() - 4);
    let again = decode(&bytes).unwrap();
    assert_eq!(again[5].value, Value::Sized(vec![0, 1, 0, 0]));
    assert_eq!(again[9].value, Value::Byte(16, 0));
}

#[test]
fn indirect_branches_have_targets() {
    let code = table::code("EIATTR_INDIRECT_BRANCH_TARGETS").unwrap();
    let words = [0x40_u32, 7, 2, 0x80, 0x90, 0x50, 0, 1, 0xa0];
    let value = Value::Sized(words.iter().flat_map(|word| word.to_le_bytes()).collect());
    let branches = vec![
        Branch { offset: 0x40, unknown: 7, targets: vec![0x80, 0x90] },
        Branch { offset: 0x50, unknown: 0, targets: vec![0xa0] },
    ];
    assert_eq!(Attribute { code, value }.payload(), Payload::Branches(branches));
}

#[test]
fn damage_has_a_name() {
    assert_eq!(decode(&[4, 0x1c, 8]), Err(Error::CutOff { at: 0, needs: 4, left: 3 }));
    assert_eq!(decode(&[1, 4, 0, 0, 4, 0x1c, 8, 0, 1]), Err(Error::CutOff { at: 4, needs: 12, left: 5 }));
    assert_eq!(decode(&[9, 0x1c, 8, 0]), Err(Error::Format { at: 0, format: 9 }));
    let large = Attribute { code: 0x1c, value: Value::Sized(vec![0; 70_000]) };
    assert_eq!(encode(&[large]), Err(Error::TooLarge(70_000)));
}

proptest! {
    #[test]
    fn nothing_is_lost(code: u8, words in prop::collection::vec(0u32..9, 0..8), odd in 0usize..4) {
        let mut payload: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        payload.resize(payload.len() + odd, 1);
        let attribute = Attribute { code, value: Value::Sized(payload.clone()) };
        prop_assert_eq!(attribute.payload().encode(), payload);
        let bytes = encode(std::slice::from_ref(&attribute)).unwrap();
        prop_assert_eq!(decode(&bytes).unwrap(), [attribute]);
    }
}
