//! Codes of a form's fields that an earlier form of the opcode takes. No word of the form has them, but while they stand there, the
//! assembler may choose one where the text leaves a choice.

use super::emit::rewritten;
use super::tables::Tables;
use sass_table::source::{Form, Listed, Piece, Source};
use sass_table::table::opcode;

/// The table without them, and without the sets that all tables share.
pub(super) fn remove(tables: &Tables, text: &str) -> Result<String, String> {
    let mut table = tables.read(text)?;
    let mut forms = table.forms.clone();
    for at in 0..forms.len() {
        let first = table.forms_of(opcode(forms[at].value)).start;
        let (earlier, form) = forms.split_at_mut(at);
        for nth in 0..form[0].pieces.len() {
            lighten(&mut table, &earlier[first..], &mut form[0], nth);
        }
    }
    Ok(rewritten(text, &table, tables.sets()?, |at| vec![forms[at].clone()]))
}

/// Makes those codes of a piece illegal that are all that an earlier form asks for.
fn lighten(table: &mut Source, earlier: &[Form], form: &mut Form, nth: usize) {
    let &Piece::Set(Listed { set, bits }) = &form.pieces[nth] else { return };
    let taken = |code: usize| {
        let word = bits.put(form.value, code as u64);
        let known = form.mask | bits.mask();
        // Codes that the form's own condition excludes stay as they are, so that its forms can share sets.
        word & form.mask == form.value
            && earlier.iter().any(|it| it.mask & !known == 0 && word & it.mask == it.value)
    };
    let mut strings = table.sets[set as usize].strings.clone();
    let mut changed = false;
    for (code, text) in strings.iter_mut().enumerate() {
        if text.is_some() && taken(code) {
            *text = None;
            changed = true;
        }
    }
    if changed {
        form.pieces[nth] = Piece::Set(Listed { set: table.set_of(strings), bits });
    }
}
