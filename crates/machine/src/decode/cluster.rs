//! Clusters that are not launched (PTX ISA, "clusterlaunchcontrol"). Of an answer, [`crate::ops::cancel`] knows the words.

use super::decoder::{Decoded, Decoder, Memory, Missing, decoders};
use super::mbarrier::phase;
use crate::image::copy::Cancellation;
use crate::memory::SHARED_WINDOW;
use crate::operation::kinds::{CancelCluster, ExtractElement, Nonzero, Outcome};
use crate::operation::{Address as Pointer, Immediate};
use crate::ops::element;
use ir::instruction::Component;
use ir::operand::{Address, Def, Value};

decoders! { d, op:
    TryCancel => {
        let (answer, barrier) = (in_shared(d, &op.addr, 16)?, in_shared(d, &op.mbar, 8)?);
        // Of several objects each would have to wait for the one request.
        if !op.multicast {
            let completes = phase(d, &op.mbar, None)?;
            d.performed_later(completes);
        }
        d.emit_with(Cancellation { answer, barrier, to_all: op.multicast }, |site| CancelCluster { site })
    };
    CancelQueryPred => {
        let (to, flag) = (d.write_predicate_somewhere(Some(op.p))?, d.frame.temporary(32));
        let [_, high] = d.read_pair(&op.a)?;
        d.emit_part(element::extract(64, 32).with(ExtractElement { d: flag, a: high, at: 32, bits: 32 }));
        d.emit(Nonzero { a: flag, outcome: Outcome { p: Some(to), q: None, with: None, combine: None } })
    };
    CancelQuery => {
        let word = match op.component {
            Component::GetFirstCtaidX => 0,
            Component::GetFirstCtaidY => 1,
            Component::GetFirstCtaidZ => 2,
        };
        word_of(d, &op.a, word, op.d)
    };
    // The manual has no fourth one.
    CancelQueryCtaid => (0..3).zip(&op.d).try_for_each(|(word, &to)| word_of(d, &op.a, word, to));
}

/// An address of shared memory, which may be given as a generic one.
fn in_shared(d: &mut Decoder<'_>, operand: &Address, bytes: u32) -> Result<Pointer, Missing> {
    let Memory { address, space, .. } = d.memory(operand, bytes)?;
    let offset = address.offset.0.wrapping_add(space.window()).wrapping_sub(SHARED_WINDOW);
    Ok(Pointer { offset: Immediate(offset), ..address })
}

/// A word of an answer.
fn word_of(d: &mut Decoder<'_>, answer: &Value, word: usize, to: Def) -> Decoded {
    let halves = d.read_pair(answer)?;
    let Some(to) = d.write_or_drop(to, 32)? else { return Ok(()) };
    let extract = ExtractElement { d: to, a: halves[word / 2], at: (word % 2 * 32) as u8, bits: 32 };
    d.emit(element::extract(64, 32).with(extract))
}
