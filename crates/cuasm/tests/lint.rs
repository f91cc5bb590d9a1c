//! Hazards: a kernel without any, and what breaking each part of its control codes reports.

use cuasm::Options;
use ptx::source::Source;

/// A kernel of sm_90 with every kind of dependence, its control codes as ptxas would set them.
const KERNEL: &str = "\
	.target sm_90
	.kernel k, 8, 4
[B------:R-:W0:-:S02] S2R R0, SR_TID.X ;
[B------:R-:W-:-:S04] ULDC.64 UR4, c[0x0][0x208] ;
[B------:R-:W1:-:S01] LDC.64 R2, c[0x0][0x210] ;
[B0-----:R-:W-:Y:S13] ISETP.GT.AND P0, PT, R0, 0x1f, PT ;
[B------:R-:W-:-:S05] @P0 EXIT ;
[B-1----:R-:W-:-:S05] IMAD.WIDE R2, R0, 0x4, R2 ;
[B------:R-:W2:-:S04] LDG.E R4, desc[UR4][R2.64] ;
[B--2---:R-:W-:-:S04] FADD R5, R4, 1 ;
[B------:R-:W-:-:S05] FMUL R6, R5, R5 ;
[B------:R-:W3:-:S02] MUFU.RCP R7, R6 ;
[B---3--:R-:W-:-:S05] FADD R7, R7, R5 ;
[B------:R4:W-:-:S02] STG.E desc[UR4][R2.64], R7 ;
[B----4-:R-:W-:-:S05] IADD3 R7, R0, 0x1, RZ ;
[B------:R-:W-:-:S04] LOP3.LUT R8, R7, 0x3, RZ, 0xc0, !PT ;
[B------:R5:W-:-:S01] STG.E desc[UR4][R2.64+0x4], R8 ;
[B------:R-:W-:-:S05] EXIT ;
";

/// What the lint says: the line of each warning, from 1, and its message.
fn lint(text: &str) -> Vec<(u32, String)> {
    let source = Source::new("test", text);
    let options = Options { hazards: true };
    let found = cuasm::assemble_with(&source, options).unwrap_or_else(|found| panic!("{found:#?}\n{text}"));
    let place = |span: ptx::source::Span| source.line_column(span.start).0;
    found.warnings.into_iter().map(|warning| (place(warning.span), warning.message)).collect()
}

#[test]
fn right_control_codes_are_not_reported() {
    assert_eq!(lint(KERNEL), []);
}

#[test]
fn each_broken_control_code_is_reported() {
    for (right, broken, line, message) in [
        // A wait that is missing: for a result, for a special register, for an operand.
        (
            "[B--2---:R-:W-:-:S04] FADD R5",
            "[B------:R-:W-:-:S04] FADD R5",
            10,
            "without waiting for scoreboard 2",
        ),
        ("[B0-----:R-:W-:Y:S13]", "[B------:R-:W-:Y:S13]", 6, "R0 is read without waiting for scoreboard 0"),
        ("[B----4-", "[B------", 15, "whose instruction still reads it"),
        // A wait for another scoreboard.
        ("[B---3--", "[B-----5", 13, "without waiting for scoreboard 3"),
        // A stall count that is too small: between two pipes, before a store, before a guard, after a uniform load.
        (
            "[B------:R-:W-:-:S05] FMUL",
            "[B------:R-:W-:-:S03] FMUL",
            12,
            "R6 is read 3 cycles after it was written, which takes 4",
        ),
        (
            "[B--2---:R-:W-:-:S04]",
            "[B--2---:R-:W-:-:S01]",
            11,
            "R5 is read 1 cycle after it was written, which takes 4",
        ),
        ("[B------:R-:W-:-:S04] LOP3", "[B------:R-:W-:-:S02] LOP3", 17, "R8 is read 2 cycles"),
        (
            "[B0-----:R-:W-:Y:S13]",
            "[B0-----:R-:W-:Y:S07]",
            7,
            "P0 is read 7 cycles after it was written, which takes 13",
        ),
        // A scoreboard that is not set: nobody can know when the result is there.
        ("[B------:R-:W2:-:S04]", "[B------:R-:W-:-:S04]", 10, "sets no scoreboard"),
        ("[B------:R-:W3:-:S02]", "[B------:R-:W-:-:S02]", 13, "sets no scoreboard"),
    ] {
        assert!(KERNEL.contains(right), "{right}");
        let found = lint(&KERNEL.replacen(right, broken, 1));
        let expected = found.iter().any(|(at, text)| *at == line && text.contains(message));
        assert!(expected, "{broken}: {found:#?}");
    }
}

/// What ptxas does on purpose.
#[test]
fn what_the_hardware_orders_is_not_reported() {
    for code in [
        // A unit keeps its order: the second scoreboard guards the first result too.
        "[B------:R-:W-:-:S01] LDS R4, [R0] ;\n[B------:R-:W2:-:S02] LDS R5, [R0+0x4] ;\n\
         [B--2---:R-:W-:-:S05] IADD3 R6, R4, R5, RZ ;\n",
        // Opposite guards.
        "[B------:R-:W5:-:S02] @!P0 LDS R4, [R0] ;\n[B------:R-:W-:-:S05] @P0 MOV R4, R9 ;\n",
        // A guard is read at issue.
        "[B------:R0:W-:-:S01] @!P0 STS [R0], R4 ;\n[B------:R-:W-:-:S04] ISETP.GT.AND P0, PT, R0, 0x1f, PT ;\n",
        // Who waits for a result need not wait for its operands.
        "[B------:R0:W2:-:S02] LDS R4, [R4] ;\n[B--2---:R-:W-:-:S04] IADD3 R4, R4, 0x1, RZ ;\n",
        // A load takes its turn behind the store.
        "[B------:R5:W-:-:S01] STG.E desc[UR4][R2.64], R4 ;\n[B------:R-:W2:-:S02] LDS R4, [R0] ;\n",
        // An operand that was kept is taken by the second instruction behind.
        "[B------:R-:W-:-:S01] IMAD R6, R4.reuse, R5, R8 ;\n[B------:R-:W-:-:S02] ISETP.NE.AND P1, PT, R9, RZ, PT ;\n\
         [B------:R-:W-:-:S05] IMAD R7, R4, R10, R8 ;\n[B------:R-:W-:-:S05] MOV R4, R8 ;\n\
         [B------:R-:W-:-:S05] IMAD R7, R4, R10, R8 ;\n",
        // Another register of its bank has come through its place.
        "[B------:R-:W-:-:S05] IMAD R6, R4.reuse, R5, R9 ;\n[B------:R-:W-:-:S05] IMAD R7, R8, R5, R9 ;\n\
         [B------:R-:W-:-:S05] MOV R4, R9 ;\n[B------:R-:W-:-:S05] IMAD R7, R4, R10, R9 ;\n",
        // Nothing is kept over a branch.
        "[B------:R-:W-:-:S05] IMAD R6, R4.reuse, R5, R9 ;\n[B------:R-:W-:-:S05] @P0 BRA `(.L_on) ;\n.L_on:\n\
         [B------:R-:W-:-:S05] MOV R4, R9 ;\n[B------:R-:W-:-:S05] IMAD R7, R4, R10, R9 ;\n",
        // Whoever reads the register takes it through another place.
        "[B------:R-:W-:-:S05] IMAD R6, R4.reuse, R5, R9 ;\n[B------:R-:W-:-:S05] MOV R4, R9 ;\n\
         [B------:R-:W-:-:S05] IMAD R7, R10, R4, R9 ;\n",
        // The upper half of an addend is read two cycles later.
        "[B------:R-:W-:-:S03] IADD3 R5, R8, 0x1, RZ ;\n[B------:R-:W-:-:S05] IMAD.WIDE R6, R9, 0x4, R4 ;\n",
    ] {
        let text = format!("\t.target sm_90\n\t.kernel k\n{code}[B------:R-:W-:-:S05] EXIT ;\n");
        assert_eq!(lint(&text), [], "{code}");
    }
}

/// The same, but where the order is not kept.
#[test]
fn what_nothing_orders_is_reported() {
    for (code, message) in [
        // Another unit's scoreboard guards nothing.
        (
            "[B------:R-:W-:-:S01] LDS R4, [R0] ;\n[B------:R-:W2:-:S02] MUFU.RCP R5, R9 ;\n\
             [B--2---:R-:W-:-:S05] IADD3 R6, R4, R5, RZ ;\n",
            "R4 is read, but the instruction that writes it sets no scoreboard",
        ),
        // The guard has another value by then.
        (
            "[B------:R-:W5:-:S02] @!P0 LDS R4, [R0] ;\n[B------:R-:W-:Y:S13] ISETP.GT.AND P0, PT, R0, 0x1f, PT ;\n\
             [B------:R-:W-:-:S05] @P0 MOV R4, R9 ;\n",
            "R4 is written without waiting for scoreboard 5",
        ),
        // The operand that is kept is the old value.
        (
            "[B------:R-:W-:-:S05] FADD R4, R4.reuse, R5 ;\n",
            "R4 is kept for the next instruction, but this one writes it",
        ),
        // It is kept for a comparison, which takes it elsewhere: the second operand of a sum comes through the place of addends.
        (
            "[B------:R-:W-:-:S02] FADD R6, R4, R5.reuse ;\n[B------:R-:W-:-:S05] FSETP.LT.AND P0, PT, R4, R5, PT ;\n\
             [B------:R-:W-:-:S05] MOV R5, R8 ;\n[B------:R-:W-:-:S05] IADD3 R7, R9, R10, R5 ;\n",
            "R5 is taken as it was kept, but has been written since",
        ),
        // A register of another bank makes no room.
        (
            "[B------:R-:W-:-:S05] IMAD R6, R4.reuse, R5, R9 ;\n[B------:R-:W-:-:S05] IMAD R7, R9, R5, R9 ;\n\
             [B------:R-:W-:-:S05] MOV R4, R9 ;\n[B------:R-:W-:-:S05] @P0 IMAD R7, R4, R10, R9 ;\n",
            "R4 is taken as it was kept, but has been written since",
        ),
        // The lower half of an addend is read at once.
        (
            "[B------:R-:W-:-:S03] IADD3 R4, R8, 0x1, RZ ;\n[B------:R-:W-:-:S05] IMAD.WIDE R6, R9, 0x4, R4 ;\n",
            "R4 is read 3 cycles after it was written, which takes 5",
        ),
        // A copy reads its predicate as guards are read.
        (
            "[B------:R-:W-:-:S06] ISETP.NE.U32.AND P0, PT, R0, RZ, PT ;\n\
             [B------:R2:W-:-:S02] LDGSTS.E [R6], desc[UR4][R4.64], P0 ;\n",
            "P0 is read 6 cycles after it was written, which takes 13",
        ),
        // Around a loop: the load of one round is read in the next.
        (
            ".L_again:\n[B------:R-:W-:-:S04] IADD3 R5, R4, 0x1, RZ ;\n[B------:R-:W2:-:S02] LDS R4, [R0] ;\n\
             [B------:R-:W-:-:S05] @P0 BRA `(.L_again) ;\n",
            "R4 is read without waiting for scoreboard 2",
        ),
    ] {
        let text = format!("\t.target sm_90\n\t.kernel k\n{code}[B------:R-:W-:-:S05] EXIT ;\n");
        let found = lint(&text);
        assert!(found.iter().any(|(_, text)| text.contains(message)), "{code}{found:#?}");
    }
}
