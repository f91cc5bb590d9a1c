//! Canonical text of a syntax tree: `parse(print(module)) == module`.
//!
//! The layout is about that of NVIDIA's compilers: one declaration, label or instruction a line, instructions indented
//! by a tab with another before the operands. Literals keep their base and floating-point literals their form; an
//! expression gets the parentheses that it needs and no others.

mod body;
mod declaration;
mod expression;
mod operand;

use crate::ast::{File, InitialiserKind, ItemKind, Module, Name, Section, SectionLine, Spanned};
use std::fmt::{self, Write};

/// The canonical text of a module.
pub fn print(module: &Module) -> String {
    let mut printer = Printer { module, out: String::new() };
    // Writing to a string cannot fail.
    let _ = printer.file();
    printer.out
}

/// A module and its text so far.
struct Printer<'a> {
    module: &'a Module,
    out: String,
}

impl<'a> Printer<'a> {
    fn name(&self, name: Name) -> &'a str {
        self.module.text(name)
    }

    /// Writes things with `, ` between.
    fn commas<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut print: impl FnMut(&mut Self, T) -> fmt::Result,
    ) -> fmt::Result {
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self.out.write_str(", ")?;
            }
            print(self, item)?;
        }
        Ok(())
    }

    fn file(&mut self) -> fmt::Result {
        let module = self.module;
        let mut header = true;
        for item in &module.items {
            let is_header =
                matches!(item.value, ItemKind::Version(_) | ItemKind::Target(_) | ItemKind::AddressSize(_));
            if (header && !is_header) || matches!(item.value, ItemKind::Function(_)) {
                self.out.push('\n');
            }
            header = is_header;
            self.item(&item.value)?;
        }
        Ok(())
    }

    fn item(&mut self, item: &ItemKind) -> fmt::Result {
        let module = self.module;
        match item {
            ItemKind::Version(version) => writeln!(self.out, ".version {}", version.value),
            ItemKind::Target(names) => {
                self.out.write_str(".target ")?;
                self.commas(names, |p, name| p.out.write_str(p.name(name.value)))?;
                self.out.write_char('\n')
            }
            ItemKind::AddressSize(size) => writeln!(self.out, ".address_size {}", size.value),
            ItemKind::Variable(id) => {
                self.declaration(&module[*id])?;
                self.out.write_char('\n')
            }
            ItemKind::Function(id) => self.function(&module[*id]),
            ItemKind::Alias { name, aliasee } => {
                let (name, aliasee) = (self.name(name.value), self.name(aliasee.value));
                writeln!(self.out, ".alias {name}, {aliasee};")
            }
            ItemKind::Pragma(strings) => {
                self.pragma(strings)?;
                self.out.write_char('\n')
            }
            ItemKind::File(file) => self.debug_file(file),
            ItemKind::Section(id) => self.section(&module[*id]),
            ItemKind::Dwarf(words) => writeln!(self.out, "@@DWARF {}", self.module.text(words.value)),
        }
    }

    fn pragma(&mut self, strings: &[Spanned<Name>]) -> fmt::Result {
        self.out.write_str(".pragma ")?;
        self.commas(strings, |p, string| write!(p.out, "\"{}\"", p.module.text(string.value)))?;
        self.out.write_char(';')
    }

    fn debug_file(&mut self, file: &File) -> fmt::Result {
        write!(self.out, ".file {} \"{}\"", file.index.value, self.module.text(file.name.value))?;
        if let Some((time, size)) = file.stamp {
            write!(self.out, ", {time}, {size}")?;
        }
        self.out.write_char('\n')
    }

    fn section(&mut self, section: &Section) -> fmt::Result {
        let module = self.module;
        writeln!(self.out, ".section {}\n{{", self.name(section.name.value))?;
        for line in &section.lines {
            match line {
                SectionLine::Label(label) => writeln!(self.out, "{}:", self.module.text(label.value))?,
                SectionLine::Data { bits, values } => {
                    write!(self.out, ".b{bits} ")?;
                    self.commas(&module[*values], |p, value| p.initialiser(&value.value))?;
                    self.out.write_char('\n')?;
                }
            }
        }
        self.out.write_str("}\n")
    }

    fn initialiser(&mut self, initialiser: &InitialiserKind) -> fmt::Result {
        let module = self.module;
        match *initialiser {
            InitialiserKind::Constant(id) => self.expression(id),
            InitialiserKind::Address { symbol, generic, offset } => {
                let symbol = self.name(symbol);
                if generic {
                    write!(self.out, "generic({symbol})")?;
                } else {
                    self.out.write_str(symbol)?;
                }
                self.offset(offset)
            }
            InitialiserKind::Masked { mask, value } => {
                self.expression(mask)?;
                self.out.write_char('(')?;
                self.initialiser(&module[value].value)?;
                self.out.write_char(')')
            }
            InitialiserKind::List(list) => {
                self.out.write_char('{')?;
                self.commas(&module[list], |p, element| p.initialiser(&element.value))?;
                self.out.write_char('}')
            }
            InitialiserKind::Field { name, value } => {
                write!(self.out, "{} = ", self.module.text(name))?;
                self.initialiser(&module[value].value)
            }
            InitialiserKind::Difference { left, right } => {
                write!(self.out, "{}-{}", self.module.text(left), self.module.text(right))
            }
        }
    }
}
