//! DWARF sections with labels and symbols filled in.

use crate::{Addresses, Problem};
use ptx::ast;
use ptx::module::Module;
use ptx::section::{Layout, Reference, Target};
use std::collections::BTreeMap;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Sections {
    bytes: BTreeMap<String, Vec<u8>>,
    pub(crate) problems: Vec<Problem>,
}

/// What references are looked up in.
struct Scope<'a> {
    tree: &'a ast::Module,
    layouts: &'a BTreeMap<String, Layout>,
    symbols: std::collections::HashMap<String, u64>,
}

impl Scope<'_> {
    /// Where a section's label or another symbol is. The beginning of every section is zero, as DWARF counts.
    fn place(&self, name: ast::Name) -> Option<u64> {
        let text = self.tree.text(name);
        if text.starts_with('.') {
            return Some(0);
        }
        let label = self.layouts.values().find_map(|layout| layout.labels.get(&name).copied());
        label.or_else(|| self.symbols.get(text).copied())
    }

    fn value(&self, target: Target) -> Result<u64, String> {
        let place =
            |name| self.place(name).ok_or_else(|| format!("nothing is called `{}`", self.tree.text(name)));
        match target {
            Target::Place { symbol, addend } => Ok(place(symbol)?.wrapping_add_signed(addend)),
            Target::Distance { left, right } => Ok(place(left)?.wrapping_sub(place(right)?)),
        }
    }
}

impl Sections {
    /// Those of a module's text.
    pub fn of(module: &Module, addresses: &Addresses) -> Self {
        // A checked module has no sections any more: they mean nothing to who executes it.
        let tree = ptx::syntax::parse(&module.source).module;
        let mut layouts = BTreeMap::<String, Layout>::new();
        for section in &tree.sections {
            let name = tree.text(section.name.value).to_owned();
            layouts.entry(name).or_default().append(&tree, section);
        }
        let symbols = if layouts.is_empty() { Default::default() } else { addresses.symbols(module, &tree) };
        let scope = Scope { tree: &tree, layouts: &layouts, symbols };
        let mut sections = Self::default();
        for (name, layout) in &layouts {
            let mut bytes = layout.bytes.clone();
            for &Reference { offset, bytes: size, target, span } in &layout.references {
                match scope.value(target) {
                    Ok(value) => {
                        let place = offset as usize..offset as usize + size as usize;
                        bytes[place].copy_from_slice(&value.to_le_bytes()[..size as usize]);
                    }
                    Err(message) => {
                        let (line, _) = module.source.line_column(span.start);
                        sections.problems.push(Problem {
                            section: name.clone(),
                            offset: Some(offset),
                            message: format!("{message}, in line {line}"),
                        });
                    }
                }
            }
            sections.bytes.insert(name.clone(), bytes);
        }
        sections
    }

    /// A section's bytes.
    pub fn bytes(&self, name: &str) -> Option<&[u8]> {
        self.bytes.get(name).map(Vec::as_slice)
    }

    /// Gives a section other bytes.
    pub fn replace(&mut self, name: &str, bytes: Vec<u8>) {
        self.bytes.insert(name.to_owned(), bytes);
    }

    /// All sections by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.bytes.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
    }
}
