//! Packed tables as Rust text: static data, for a build script.

use std::collections::HashMap;
use std::fmt::Write;

use crate::bits::Bits;
use crate::operand::{Lookup, Operand};
use crate::pack::Packed;
use crate::table::{Form, Listed, Memory, Piece, Range};
use crate::tree::Node;

/// The text of a module with the vocabulary, and for each table a static of the given name.
pub fn rust(packed: &Packed<'_>, names: &[&str]) -> String {
    let mut out = Out { text: String::new(), fields: HashMap::new() };
    let vocabulary = packed.vocabulary();
    let strings = out.strings("STRINGS", vocabulary.strings.text, vocabulary.strings.ends);
    out.array("NAMES", "&str", packed.names().iter().map(|it| format!("{it:?}")));
    let sets = vocabulary
        .sets
        .iter()
        .map(|it| format!("Set{{name:{},width:{},first:{},root:{}}}", it.name, it.width, it.first, it.root));
    out.array("SETS", "Set", sets);
    out.numbers("CODES", vocabulary.codes);
    out.numbers("ORDER", vocabulary.order);
    let nodes = vocabulary.trees.nodes.iter().map(|&Node { first, count, branches, len }| {
        format!("Node{{first:{first},count:{count},branches:{branches},len:{len}}}")
    });
    out.array("NODES", "Node", nodes);
    out.bytes("LETTERS", vocabulary.trees.letters);
    out.numbers("NEXT", vocabulary.trees.next);
    out.numbers("TEMPLATES", vocabulary.templates);
    out.numbers("PARTIAL", vocabulary.partial);
    out.bytes("NUMBERS", vocabulary.numbers);
    let pieces: Vec<String> = vocabulary.pieces.iter().map(|it| out.piece(it)).collect();
    out.array("PIECES", "Piece", pieces.into_iter());
    let memories: Vec<String> = vocabulary.memories.iter().map(|it| out.memory(it)).collect();
    out.array("MEMORIES", "Memory", memories.into_iter());
    let operands: Vec<String> = vocabulary.operands.iter().map(|it| out.operand(it)).collect();
    out.array("OPERANDS", "Operand", operands.into_iter());
    let _ = writeln!(
        out.text,
        "const VOCABULARY: Vocabulary<'static> = Vocabulary {{ strings: {strings}, names: &NAMES, sets: &SETS, codes: &CODES, \
         order: &ORDER, trees: Trees {{ nodes: &NODES, letters: &LETTERS, next: &NEXT }}, pieces: &PIECES, memories: &MEMORIES, templates: &TEMPLATES, partial: &PARTIAL, \
         operands: &OPERANDS, numbers: &NUMBERS }};"
    );
    for (number, name) in names.iter().enumerate() {
        let table = packed.table(number);
        out.array(&format!("FORMS_{name}"), "Form", table.forms.iter().map(form));
        out.numbers(&format!("OPCODES_{name}"), table.opcodes);
        let mnemonics = out.mnemonics(name, packed.mnemonics(number));
        let _ = writeln!(
            out.text,
            "pub(crate) static {name}: Table<'static> = Table {{ vocabulary: VOCABULARY, forms: &FORMS_{name}, \
             opcodes: &OPCODES_{name}, mnemonics: {mnemonics} }};"
        );
    }
    for (bits, number) in sorted(&out.fields) {
        let _ = writeln!(out.text, "const B{number}: Bits = Bits::of_runs(&{:?});", bits.runs());
    }
    out.text
}

fn sorted(fields: &HashMap<Bits, usize>) -> Vec<(Bits, usize)> {
    let mut all: Vec<(Bits, usize)> = fields.iter().map(|(&bits, &number)| (bits, number)).collect();
    all.sort_unstable_by_key(|it| it.1);
    all
}

/// Bytes as a literal: a compiler reads one faster than thousands of numbers.
fn bytes(all: &[u8]) -> String {
    let mut text = String::from("b\"");
    for byte in all {
        let _ = write!(text, "\\x{byte:02x}");
    }
    text.push('"');
    text
}

fn range(range: Range) -> String {
    format!("Range{{first:{},len:{}}}", range.first, range.len)
}

fn form(form: &Form) -> String {
    format!(
        "Form{{mask:{:#x},value:{:#x},rest:{:#x},pairs:{:#x},template:{},partial:{},operands:{},flow:Flow::{:?},remark:{:?}}}",
        form.mask,
        form.value,
        form.rest,
        form.pairs,
        range(form.template),
        range(form.partial),
        range(form.operands),
        form.flow,
        form.remark
    )
}

struct Out {
    text: String,
    /// The fields so far, each a constant.
    fields: HashMap<Bits, usize>,
}

impl Out {
    fn array(&mut self, name: &str, of: &str, elements: impl ExactSizeIterator<Item = String>) {
        let _ = writeln!(self.text, "static {name}: [{of}; {}] = [", elements.len());
        for (at, element) in elements.enumerate() {
            self.text.push_str(&element);
            self.text.push_str(if at % 16 == 15 { ",\n" } else { "," });
        }
        self.text.push_str("];\n");
    }

    fn numbers(&mut self, name: &str, all: &[u16]) {
        let all: Vec<u8> = all.iter().flat_map(|it| it.to_le_bytes()).collect();
        let _ = writeln!(self.text, "static {name}: [u16; {}] = numbers({});", all.len() / 2, bytes(&all));
    }

    /// Strings end to end, as an expression.
    fn strings(&mut self, name: &str, text: &str, ends: &[u32]) -> String {
        let all: Vec<u8> = ends.iter().flat_map(|it| it.to_le_bytes()).collect();
        let _ = writeln!(self.text, "const {name}_TEXT: &str = {text:?};");
        let _ = writeln!(self.text, "static {name}_ENDS: [u32; {}] = ends({});", ends.len(), bytes(&all));
        format!("Strings{{text:{name}_TEXT,ends:&{name}_ENDS}}")
    }

    /// The forms of mnemonics, as an expression.
    fn mnemonics<'a>(&mut self, name: &str, of: impl Iterator<Item = (&'a str, &'a [u16])>) -> String {
        let (mut text, mut names, mut ends, mut forms) = (String::new(), Vec::new(), Vec::new(), Vec::new());
        for (mnemonic, own) in of {
            text.push_str(mnemonic);
            names.push(text.len() as u32);
            forms.extend_from_slice(own);
            ends.push(forms.len() as u16);
        }
        let names = self.strings(&format!("MNEMONICS_{name}"), &text, &names);
        self.numbers(&format!("MNEMONICS_{name}_FORMS"), &forms);
        self.numbers(&format!("MNEMONICS_{name}_FORMS_END"), &ends);
        format!("Mnemonics{{names:{names},ends:&MNEMONICS_{name}_FORMS_END,forms:&MNEMONICS_{name}_FORMS}}")
    }

    fn bytes(&mut self, name: &str, all: &[u8]) {
        let _ = writeln!(self.text, "static {name}: [u8; {}] = *{};", all.len(), bytes(all));
    }

    fn bits(&mut self, bits: Bits) -> String {
        let next = self.fields.len();
        format!("B{}", self.fields.entry(bits).or_insert(next))
    }

    fn listed(&mut self, listed: Listed) -> String {
        format!("Listed{{set:{},bits:{}}}", listed.set, self.bits(listed.bits))
    }

    fn piece(&mut self, piece: &Piece) -> String {
        match *piece {
            Piece::Text(number) => format!("Piece::Text({number})"),
            Piece::Set(listed) => format!("Piece::Set({})", self.listed(listed)),
            Piece::Hex { bits, shift, signed } => {
                format!("Piece::Hex{{bits:{},shift:{shift},signed:{signed}}}", self.bits(bits))
            }
            Piece::Relative { bits, shift } => {
                format!("Piece::Relative{{bits:{},shift:{shift}}}", self.bits(bits))
            }
            Piece::Float { bits, format } => {
                format!("Piece::Float{{bits:{},format:Float::{format:?}}}", self.bits(bits))
            }
            Piece::Memory(number) => format!("Piece::Memory({number})"),
        }
    }

    fn memory(&mut self, memory: &Memory) -> String {
        let mut listed =
            |it: Option<Listed>| it.map_or("None".to_owned(), |it| format!("Some({})", self.listed(it)));
        let (register, suffix, uniform) =
            (listed(memory.register), listed(memory.suffix), listed(memory.uniform));
        let offset = memory.offset.map_or("None".to_owned(), |it| format!("Some({})", self.bits(it)));
        format!(
            "Memory{{register:{register},suffix:{suffix},uniform:{uniform},offset:{offset},shift:{},signed:{},keep:{},wrap:{},none:{}}}",
            memory.shift, memory.signed, memory.keep, memory.wrap, memory.none
        )
    }

    fn lookup(&mut self, lookup: Lookup) -> String {
        format!("Lookup{{bits:{},first:{}}}", self.bits(lookup.bits), lookup.first)
    }

    fn operand(&mut self, operand: &Operand) -> String {
        let reuse = operand.reuse.map_or("None".to_owned(), |it| format!("Some({})", self.lookup(it)));
        let (number, width) = (self.lookup(operand.number), self.lookup(operand.width));
        format!(
            "Operand{{name:{},place:{:?},bracketed:{},class:Class::{:?},access:Access::{:?},number:{number},width:{width},aligned:{},reuse:{reuse}}}",
            operand.name, operand.place, operand.bracketed, operand.class, operand.access, operand.aligned
        )
    }
}
