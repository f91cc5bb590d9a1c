//! No text panics a parser, and what is generated is read.

use memory_model::answer::{Options, Question};
use memory_model::checker::Checker;
use memory_model::generate::from_columns;
use memory_model::language::{self, Version};
use memory_model::model::{Family, Model};
use memory_model::{dialect, from_ptx};
use proptest::prelude::*;
use ptx::source::Source;

/// Pieces of tests, so that random texts come far.
fn piece() -> impl Strategy<Value = String> {
    let pieces = [
        "PTX t",
        "{",
        "}",
        "x=0;",
        "P0:r0=1;",
        "s @ surface aliases x;",
        "P0@cta 0,gpu 0",
        "|",
        ";",
        "st.weak x, 1",
        "ld.acquire.gpu r0, x",
        "LC00:",
        "goto LC00",
        "bne r0, 0, LC00",
        "bar.cta.sync 1, r0, 2",
        "atom.relaxed.gpu.cas r0, x, 0, 1",
        "fence.sc.cta",
        "exists",
        "(P0:r0 == 1)",
        "/\\",
        "~",
        "forall",
        "0 == 0",
        "\"",
        "(*",
        "*)",
        "99999999999999999999",
        "\u{e9}",
    ];
    prop_oneof![4 => prop::sample::select(pieces.to_vec()).prop_map(str::to_owned), 1 => ".{0,6}"]
}

fn instruction() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "st.weak x, 1",
        "st.release.gpu y, 2",
        "st.relaxed.gpu x, r1",
        "ld.weak r0, y",
        "ld.acquire.gpu r1, x",
        "ld.relaxed.cta r2, y",
        "atom.acq_rel.gpu.add r3, x, 1",
        "atom.relaxed.gpu.cas r4, y, 0, 5",
        "red.relaxed.gpu.add y, 2",
        "fence.sc.gpu",
        "fence.acq_rel.gpu",
        "sust.weak sx, 3",
        "suld.weak r5, sx",
        "fence.proxy.surface",
        "cp.async y, x",
        "cp.async.wait",
    ])
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(pieces in prop::collection::vec(piece(), 0..40)) {
        let text = pieces.join(" ");
        if let Ok(program) = dialect::parse(&text) {
            let model = Model::new(Family::Isa, Version(8, 6)).unwrap();
            let options = Options { budget: 2_000, ..Options::default() };
            // Any answer will do, "not decided" too.
            let _ = Question::new(&program, &model, options).liveness();
        }
        let _ = language::parse(&text, Family::Isa, Version(8, 6));
    }

    #[test]
    fn any_directive_is_read_or_refused(directive in ".{0,60}") {
        let text = format!("//: thread P0 k cta 0\n//: {directive}\n.version 8.0\n.target sm_80\n.address_size 64\n.global .u32 x;\n.visible .entry k() {{ ret; }}\n");
        if let Some(module) = ptx::compile(&Source::new("test", text)).module {
            let _ = from_ptx::parse(&module);
        }
    }

    #[test]
    fn random_tests_are_decided_and_certified(
        first in prop::collection::vec(instruction(), 1..4),
        second in prop::collection::vec(instruction(), 1..4),
        family in prop::sample::select(vec![(Family::Isa, Version(8, 6)), (Family::Isa, Version(7, 4)), (Family::Dartagnan, Version(7, 5))]),
    ) {
        let text = from_columns("random", &["cta 0,gpu 0", "cta 1,gpu 0"], &[&first.join(";"), &second.join(";")]);
        let program = dialect::parse(&text).unwrap();
        let model = Model::new(family.0, family.1).unwrap();
        let question = Question::new(&program, &model, Options::default());
        let checker = Checker::new(&program, model.family, model.version, Options::default().bound);
        let certificate = question.certificate(&question.verdict().unwrap()).unwrap();
        prop_assert!(checker.accepts(&certificate), "{text}");
    }
}
