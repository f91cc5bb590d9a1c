//! Opcodes as real compilers write them, wrong ones, and what follows from an opcode.

use ptx::isa::{
    FormId, Mnemonic, Modifier, Opcode, OpcodeError, OpcodeErrorKind, Sem, Slot, SpecialRegister,
    arbitrary_instruction, compatible, lookup,
};
use ptx::types::{Arch, ArchVariant, ScalarType, StateSpace, Version};

fn only(text: &str) -> Opcode {
    let found = lookup(text).unwrap_or_else(|e| panic!("{text}: {}", e.message(text)));
    assert_eq!(found.len(), 1, "{text} has {} forms", found.len());
    found.into_iter().next().expect("it is one")
}

fn error(text: &str) -> OpcodeError {
    lookup(text).map(|found| found.len()).expect_err(text)
}

/// The types of the operands that must be written, `-` for none.
fn types(opcode: &Opcode) -> String {
    let operands = opcode.data().operands.iter().zip(opcode.operand_types());
    let required = operands.filter(|(spec, _)| !spec.optional);
    let names = required.map(|(_, ty)| ty.map_or("-", ScalarType::name));
    names.collect::<Vec<_>>().join(" ")
}

#[test]
fn every_form_has_a_meaning() {
    let without: Vec<_> = FormId::all().filter(|form| form.data().sem.is_none()).collect();
    assert!(without.is_empty(), "nothing says what {} forms do: {without:?}", without.len());
}

#[test]
fn what_compilers_write() {
    let mut wrong = String::new();
    let mut count = 0;
    for line in include_str!("opcodes.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let (text, expected) = line.split_once(' ').unwrap_or((line, ""));
        count += 1;
        match lookup(text) {
            Ok(found) if found.iter().any(|opcode| types(opcode) == expected.trim()) => {}
            Ok(found) => wrong += &format!("{text}: {:?}\n", found.iter().map(types).collect::<Vec<_>>()),
            Err(e) => wrong += &format!("{text}: {}\n", e.message(text)),
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count >= 150, "only {count} opcodes");
}

#[test]
fn modifiers_are_found_in_their_slots() {
    let opcode = only("ld.global.L1::no_allocate.L2::128B.v4.b32");
    assert_eq!(opcode.mnemonic(), Mnemonic::Ld);
    assert_eq!(opcode.sem(), Some(Sem::Ld));
    assert_eq!(opcode.get(Slot::Space), Some(Modifier::Global));
    assert_eq!(opcode.get(Slot::Evict1), Some(Modifier::L1NoAllocate));
    assert_eq!(opcode.get(Slot::PrefetchSize), Some(Modifier::L2_128B));
    assert_eq!(opcode.ty(Slot::Type), Some(ScalarType::B32));
    assert_eq!(opcode.operand_length(0), Some(4));
    assert_eq!(opcode.operand_space(1), Some(StateSpace::Global));
    assert!(opcode.has(Modifier::V4) && !opcode.has(Modifier::Nc));
    assert_eq!(only("ld.u32").operand_space(1), Some(StateSpace::Generic));
    assert_eq!(only("ld.u32").operand_length(0), Some(1));
    assert_eq!(only("st.shared::cluster.u32").operand_space(0), Some(StateSpace::Shared));
}

/// Modifiers may be permuted, but not those of one kind: `cvt.f32.f16` and `cvt.f16.f32` differ.
#[test]
fn order_of_modifiers() {
    for text in [
        "atom.global.gpu.relaxed.add.f32",
        "atom.add.relaxed.gpu.global.f32",
        "atom.f32.add.gpu.relaxed.global",
    ] {
        let opcode = only(text);
        assert_eq!(opcode.get(Slot::Sem), Some(Modifier::Relaxed), "{text}");
        assert_eq!(opcode.text(), text);
    }
    let opcode = only("cvt.f32.f16");
    assert_eq!(
        (opcode.ty(Slot::Dtype), opcode.ty(Slot::Atype)),
        (Some(ScalarType::F32), Some(ScalarType::F16))
    );
    assert!(lookup("cvt.f16.f32").is_err(), "a narrowing conversion needs a rounding");
}

/// Forms that share a text differ by their operands.
#[test]
fn several_forms() {
    let names = |text: &str| lookup(text).expect(text).iter().map(Opcode::sem).collect::<Vec<_>>();
    assert_eq!(names("mov.b64"), [Some(Sem::Mov), Some(Sem::MovPack), Some(Sem::MovUnpack)]);
    assert_eq!(names("call"), [Some(Sem::Call), Some(Sem::CallIndirect)]);
    assert_eq!(names("tex.2d.v4.f32.f32"), [Some(Sem::Tex)]);
}

/// Registers of a fragment, as the manual's tables of matrix fragments list them.
#[test]
fn matrix_fragments() {
    let lengths = |text: &str, n: usize| {
        let opcode = lookup(text).expect(text).remove(0);
        (0..n).map(|i| opcode.operand_length(i).expect("a fragment has a length")).collect::<Vec<_>>()
    };
    assert_eq!(lengths("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 4), [4, 4, 2, 4]);
    assert_eq!(lengths("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", 4), [2, 2, 1, 2]);
    assert_eq!(lengths("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", 4), [8, 2, 2, 8]);
    assert_eq!(lengths("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", 4), [2, 1, 1, 2]);
    assert_eq!(lengths("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 4), [4, 4, 2, 4]);
    assert_eq!(lengths("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc", 4), [4, 4, 2, 4]);
    assert_eq!(lengths("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", 4), [4, 4, 4, 4]);
    assert_eq!(lengths("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16", 4), [8, 8, 8, 4]);
    assert_eq!(lengths("wmma.mma.sync.aligned.row.col.m32n8k16.s32.u8.u8.s32", 4), [8, 4, 1, 8]);
    assert_eq!(lengths("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16", 1), [128]);
    assert_eq!(lengths("wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16", 1), [2]);
    assert_eq!(lengths("tcgen05.ld.sync.aligned.16x256b.x4.b32", 1), [16]);
}

#[test]
fn errors_say_where_and_what_instead() {
    let expected = [
        ("addd.u32", 0..4, "unknown instruction `addd` (did you mean `add`?)"),
        ("qqqqqqqq", 0..8, "unknown instruction `qqqqqqqq`"),
        ("add.f16x3", 3..9, "`.f16x3` is not a modifier (did you mean `.f16x2`?)"),
        ("fma.rn.f32.zzzzzzzz", 10..19, "`.zzzzzzzz` is not a modifier"),
        ("mul.lo.s32.ftz", 10..14, "`.ftz` is not allowed on `mul`, which is complete without it"),
        ("bra.ftz", 3..7, "`.ftz` is not allowed here on `bra` (allowed: .uni)"),
        ("ex2", 0..3, "`ex2` needs a `.accuracy` modifier (.approx)"),
        ("mul.u32", 0..7, "`mul` needs a `.mode` modifier (.hi .lo .wide)"),
        ("ld.global.ca.L1::evict_first.b32", 12..28, "`.L1::evict_first` does not go with `.ca`"),
        (
            "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f16",
            32..36,
            "`.f32` does not go with `.f16` (allowed: .f16)",
        ),
    ];
    for (text, span, message) in expected {
        let error = error(text);
        assert_eq!((error.span.clone(), error.message(text).as_str()), (span, message), "{text}");
    }
    let OpcodeErrorKind::NotAllowed { allowed } = error("add.sat.u32").kind else {
        panic!("another kind of error")
    };
    assert_eq!(allowed[0], Modifier::S32, "the modifiers of the same kind come first");
}

/// No input panics or takes long.
#[test]
fn hostile_texts() {
    let long = format!("add{}", ".f32".repeat(10_000));
    let ambiguous = format!("cvt{}", ".f32".repeat(64));
    for text in
        ["", ".", "..", "add.", "add..u32", ".u32", "add.\u{e9}", "\u{1f600}.x", "ADD.U32", &long, &ambiguous]
    {
        let error = error(text);
        assert!(text.get(error.span.clone()).is_some(), "{text:.20}: {:?}", error.span);
        assert!(!error.message(text).is_empty());
    }
}

#[test]
fn arbitrary_opcodes_are_legal() {
    let mut state = 1_u32;
    let mut choose = |n: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % n.max(1)
    };
    for _ in 0..2_000 {
        let opcode = arbitrary_instruction(&mut choose);
        let text = opcode.text();
        let found = lookup(&text).unwrap_or_else(|e| panic!("{text}: {}", e.message(&text)));
        assert!(
            found.iter().any(|other| other.form == opcode.form),
            "{text} is not found as {}",
            opcode.data().template
        );
    }
}

#[test]
fn gates() {
    let sm = |sm, variant| Arch { sm, variant };
    let ptx = |major, minor| Version { major, minor };
    let form = |text: &str| only(text).data().gate;
    let add = form("add.u16x2");
    assert!(
        add.permits(ptx(8, 0), sm(90, ArchVariant::Base))
            && add.permits(ptx(9, 0), sm(100, ArchVariant::Specific))
    );
    assert!(
        !add.permits(ptx(7, 8), sm(90, ArchVariant::Base))
            && !add.permits(ptx(8, 0), sm(89, ArchVariant::Base))
    );
    let registers = form("setmaxnreg.inc.sync.aligned.u32");
    let on = |arch| registers.permits_target(arch);
    assert!(
        on(sm(90, ArchVariant::Specific))
            && on(sm(100, ArchVariant::Specific))
            && on(sm(103, ArchVariant::Family))
    );
    assert!(!on(sm(90, ArchVariant::Base)) && !on(sm(100, ArchVariant::Base)));
    let shuffle = only("shfl.bfly.b32").data().gate;
    assert!(
        shuffle.permits_target(sm(62, ArchVariant::Base))
            && !shuffle.permits_target(sm(70, ArchVariant::Base))
    );
    let gates: Vec<_> = only("ld.global.L1::evict_last.b128").gates().map(|(m, g)| (m, g.ptx)).collect();
    assert!(
        gates.contains(&(Some(Modifier::L1EvictLast), ptx(7, 4)))
            && gates.contains(&(Some(Modifier::B128), ptx(8, 3)))
    );
    assert_eq!(registers.to_string(), "PTX 8.0, sm_90a or sm_100f or sm_101f or sm_120f");
}

/// As ptxas judges registers of other types than the instruction's.
#[test]
fn register_types() {
    use ScalarType::*;
    let cases = [
        (U32, S32, false, true),
        (U32, B32, false, true),
        (B32, F32, false, true),
        (F32, B32, false, true),
        (U32, F32, false, false),
        (F32, U32, false, false),
        (U32, U64, false, false),
        (F16x2, B32, false, true),
        (F16x2, U32, false, false),
        (F16x2, F32, false, false),
        (U32, F16x2, false, true),
        (Bf16, B16, false, true),
        (Bf16, F16, false, false),
        (Bf16, U16, false, false),
        (U16x2, B32, false, true),
        (U16x2, U32, false, false),
        (Pred, Pred, false, true),
        (Pred, B16, false, false),
        (U8, U32, true, true),
        (U8, F32, true, false),
        (B16, F32, true, true),
        (B32, F64, true, true),
        (F32, B64, true, true),
        (F16, B32, true, true),
        (F16, F32, true, false),
        (U32, U16, true, false),
        (U8, U16, false, false),
    ];
    for (instruction, register, relaxed, expected) in cases {
        assert_eq!(
            compatible(instruction, register, relaxed),
            expected,
            "{instruction} with {register}, {relaxed}"
        );
    }
}

#[test]
fn special_registers() {
    let tid = SpecialRegister::from_text("%tid").expect("it exists");
    assert_eq!((tid.ty(), tid.components(), tid.text()), (ScalarType::U32, 4, "%tid"));
    assert_eq!(SpecialRegister::from_text("%clock64").map(SpecialRegister::ty), Some(ScalarType::U64));
    assert_eq!(
        SpecialRegister::from_text("%cluster_ctarank").map(|r| r.gate().ptx),
        Some(Version { major: 7, minor: 8 })
    );
    for name in ["%envreg0", "%envreg31", "%pm7", "%pm3_64", "%reserved_smem_offset_1"] {
        assert!(SpecialRegister::from_text(name).is_some(), "{name}");
    }
    for name in ["%envreg32", "%pm8", "tid", "%tid.x", ""] {
        assert!(SpecialRegister::from_text(name).is_none(), "{name}");
    }
}

/// An optional operand that a modifier announces names one that the form has.
#[test]
fn announced_operands_are_optional() {
    for form in FormId::all() {
        for spec in form.data().operands.iter().filter(|spec| spec.with.is_some()) {
            assert!(spec.optional, "{} of {}", spec.name, form.data().template);
        }
    }
}
