//! From tables as they are written to flat arrays. What is the same stands once, whichever architecture has it.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use crate::operand::{Lookup, Operand};
use crate::resolve::{self, Found, Values};
use crate::roles::{Flow, Roles};
use crate::source::{self, BadLine, Source};
use crate::table::{
    Form, ILLEGAL, Listed, Memory, Mnemonics, Piece, Range, Set, Strings, Table, Vocabulary, opcode, pairs,
};
use crate::tree::Growing;

/// The most numbers of a kind: one is [`ILLEGAL`].
const MOST: usize = ILLEGAL as usize;

/// Things that are the same stand once; each has a number.
#[derive(Debug)]
struct Pool<T> {
    all: Vec<T>,
    numbers: HashMap<T, u16>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Pool { all: Vec::new(), numbers: HashMap::new() }
    }
}

impl<T: Clone + Eq + Hash> Pool<T> {
    fn number(&mut self, thing: T) -> Result<u16, String> {
        if let Some(&number) = self.numbers.get(&thing) {
            return Ok(number);
        }
        let number = u16::try_from(self.all.len()).ok().filter(|&it| usize::from(it) < MOST);
        let number = number.ok_or("the tables have too much for numbers of 16 bits")?;
        self.numbers.insert(thing.clone(), number);
        self.all.push(thing);
        Ok(number)
    }
}

/// Strings that are the same stand once, end to end.
#[derive(Debug, Default)]
struct Texts<'s> {
    text: String,
    ends: Vec<u32>,
    numbers: HashMap<&'s str, u16>,
}

impl<'s> Texts<'s> {
    fn number(&mut self, text: &'s str) -> Result<u16, String> {
        if let Some(&number) = self.numbers.get(text) {
            return Ok(number);
        }
        let number = u16::try_from(self.ends.len()).ok().filter(|&it| usize::from(it) < MOST);
        let number = number.ok_or("the tables have too many strings for numbers of 16 bits")?;
        self.text.push_str(text);
        self.ends.push(u32::try_from(self.text.len()).map_err(|_| "the tables' strings are too long")?);
        self.numbers.insert(text, number);
        Ok(number)
    }
}

/// Lists that are the same stand once, end to end.
#[derive(Debug)]
struct Lists<T> {
    all: Vec<T>,
    places: HashMap<Vec<T>, Range>,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Lists { all: Vec::new(), places: HashMap::new() }
    }
}

impl<T: Clone + Eq + Hash> Lists<T> {
    fn range(&mut self, list: Vec<T>) -> Range {
        if list.is_empty() {
            return Range::default();
        }
        let all = &mut self.all;
        *self.places.entry(list).or_insert_with_key(|list| {
            let first = all.len() as u32;
            all.extend_from_slice(list);
            Range { first, len: list.len() as u16 }
        })
    }
}

/// Tables as flat arrays. The strings are those of the sources.
#[derive(Debug, Default)]
pub struct Packed<'s> {
    strings: Texts<'s>,
    sets: Vec<Set>,
    codes: Vec<u16>,
    order: Vec<u16>,
    trees: Growing,
    known: HashMap<&'s source::Set, u16>,
    pieces: Pool<Piece>,
    memories: Pool<Memory>,
    templates: Lists<u16>,
    partial: Lists<u16>,
    operands: Lists<Operand>,
    names: Vec<Box<str>>,
    numbers: Lists<u8>,
    tables: Vec<Forms>,
}

/// The forms of one table.
#[derive(Debug, Default)]
struct Forms {
    forms: Vec<Form>,
    opcodes: Vec<u16>,
    mnemonics: BTreeMap<Box<str>, Vec<u16>>,
}

impl<'s> Packed<'s> {
    /// Packs tables, with the operands of their forms if roles are given.
    ///
    /// # Errors
    /// All forms whose operands are not known, or that there is no room for.
    pub fn new(sources: &[&'s Source], roles: Option<&Roles>) -> Result<Packed<'s>, Vec<BadLine>> {
        let mut packed = Packed::default();
        let mut bad = Vec::new();
        for source in sources {
            let mut forms = Forms { opcodes: vec![0; 2 * 8192], ..Forms::default() };
            for (at, form) in source.forms.iter().enumerate() {
                if let Err(message) = packed.add(source, form, source.mnemonics_of(at), roles, &mut forms) {
                    bad.push(BadLine { line: form.line.clone(), message });
                }
            }
            packed.tables.push(forms);
        }
        if bad.is_empty() { Ok(packed) } else { Err(bad) }
    }

    fn add(
        &mut self,
        source: &'s Source,
        form: &'s source::Form,
        mnemonics: Vec<Box<str>>,
        roles: Option<&Roles>,
        forms: &mut Forms,
    ) -> Result<(), String> {
        let mut row = self.form(source, form)?;
        if let Some(roles) = roles {
            let operands = resolve::operands(source, form, &mnemonics, roles)?;
            row.operands = self.operands(operands);
            row.flow = mnemonics.first().map(|it| roles.flow(it)).unwrap_or_default();
        }
        let number = u16::try_from(forms.forms.len()).map_err(|_| "there are too many forms")?;
        let own = 2 * opcode(form.value);
        if forms.opcodes[own + 1] == 0 {
            forms.opcodes[own] = number;
        }
        forms.opcodes[own + 1] = number + 1;
        for name in mnemonics {
            let named = forms.mnemonics.entry(name).or_default();
            if named.last() != Some(&number) {
                named.push(number);
            }
        }
        forms.forms.push(row);
        Ok(())
    }
}

impl<'s> Packed<'s> {
    /// What the tables share.
    pub fn vocabulary(&self) -> Vocabulary<'_> {
        Vocabulary {
            strings: Strings { text: &self.strings.text, ends: &self.strings.ends },
            names: &[],
            sets: &self.sets,
            codes: &self.codes,
            order: &self.order,
            trees: self.trees.trees(),
            pieces: &self.pieces.all,
            memories: &self.memories.all,
            templates: &self.templates.all,
            partial: &self.partial.all,
            operands: &self.operands.all,
            numbers: &self.numbers.all,
        }
    }

    /// The names of operands.
    pub fn names(&self) -> &[Box<str>] {
        &self.names
    }

    /// How many tables there are.
    pub fn count(&self) -> usize {
        self.tables.len()
    }

    /// A table, for decoding and printing; its mnemonics stand beside it.
    pub fn table(&self, number: usize) -> Table<'_> {
        let Forms { forms, opcodes, .. } = &self.tables[number];
        Table { vocabulary: self.vocabulary(), forms, opcodes, mnemonics: Mnemonics::NONE }
    }

    /// The forms that a mnemonic of a table may be, in the order of mnemonics.
    pub fn mnemonics(&self, number: usize) -> impl Iterator<Item = (&str, &[u16])> {
        self.tables[number].mnemonics.iter().map(|(name, forms)| (&**name, &**forms))
    }

    fn form(&mut self, source: &'s Source, form: &'s source::Form) -> Result<Form, String> {
        let mut template = Vec::new();
        let mut partial = Vec::new();
        let mut spelled = 0;
        for piece in &form.pieces {
            let number = self.piece(source, piece)?;
            template.push(number);
            // Blanks may be left out.
            if let source::Piece::Text(text) = piece {
                spelled |= text.split(' ').fold(0, |all, word| all | pairs(word.as_bytes()));
            }
            if let &source::Piece::Set(source::Listed { set, .. }) = piece
                && source.sets[set as usize].strings.iter().any(Option::is_none)
            {
                partial.push(number);
            }
        }
        let remark = form.remark.as_deref().map(|it| self.strings.number(it)).transpose()?;
        Ok(Form {
            mask: form.mask,
            value: form.value,
            rest: form.rest,
            pairs: spelled,
            template: self.templates.range(template),
            partial: self.partial.range(partial),
            operands: Range::default(),
            flow: Flow::Next,
            remark,
        })
    }

    fn piece(&mut self, source: &'s Source, piece: &'s source::Piece) -> Result<u16, String> {
        let piece = match piece {
            source::Piece::Text(text) => Piece::Text(self.strings.number(text)?),
            source::Piece::Set(field) => Piece::Set(self.listed(source, *field)?),
            &source::Piece::Hex { bits, shift, signed } => Piece::Hex { bits, shift, signed },
            &source::Piece::Relative { bits, shift } => Piece::Relative { bits, shift },
            &source::Piece::Float { bits, format } => Piece::Float { bits, format },
            source::Piece::Memory(memory) => {
                let memory = memory.renumbered(|field| self.listed(source, field))?;
                Piece::Memory(self.memories.number(memory)?)
            }
        };
        self.pieces.number(piece)
    }

    fn listed(&mut self, source: &'s Source, field: source::Listed) -> Result<Listed, String> {
        let (set, bits) = (&source.sets[field.set as usize], field.bits);
        if let Some(&number) = self.known.get(set) {
            return Ok(Listed { set: number, bits });
        }
        let number = u16::try_from(self.sets.len()).map_err(|_| "there are too many sets")?;
        let first = self.codes.len() as u32;
        for string in &set.strings {
            let code = string.as_deref().map_or(Ok(ILLEGAL), |it| self.strings.number(it))?;
            self.codes.push(code);
        }
        let mut order: Vec<u16> = (0..set.strings.len()).map(|code| code as u16).collect();
        order.sort_by_key(|&code| {
            let string = set.strings[usize::from(code)].as_deref();
            (string.is_none(), string, code)
        });
        let strings: Vec<&str> =
            order.iter().filter_map(|&code| set.strings[usize::from(code)].as_deref()).collect();
        let root = self.trees.tree(&strings)?;
        self.order.extend(order);
        let name = self.strings.number(&set.name)?;
        self.sets.push(Set { name, width: set.width() as u8, first, root });
        self.known.insert(set, number);
        Ok(Listed { set: number, bits })
    }

    fn operands(&mut self, found: Vec<Found>) -> Range {
        let operands = found.into_iter().map(|it| {
            let name = self.names.iter().position(|known| *known == it.name).unwrap_or_else(|| {
                self.names.push(it.name.clone());
                self.names.len() - 1
            });
            Operand {
                name: name as u16,
                place: it.place,
                bracketed: it.bracketed,
                class: it.class,
                access: it.access,
                number: self.lookup(it.number),
                width: self.lookup(it.width),
                aligned: it.aligned,
                reuse: it.reuse.map(|it| self.lookup(it)),
            }
        });
        let operands = operands.collect();
        self.operands.range(operands)
    }

    /// A lookup without the bits that do not matter.
    fn lookup(&mut self, values: Values) -> Lookup {
        let Values { bits, values } = values;
        let same = values.iter().all(|it| Some(it) == values.first());
        let (bits, values) =
            if same { (crate::Bits::default(), values[..1].to_vec()) } else { (bits, values) };
        Lookup { bits, first: self.numbers.range(values).first }
    }
}
