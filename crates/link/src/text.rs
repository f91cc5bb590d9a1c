//! Writing the result: the trees of all modules, with names and linkage changed, printed in one order.

use crate::Input;
use crate::header::Header;
use crate::order::Node;
use crate::symbols::Resolution;
use ptx::ast::{
    DeclaratorList, File, Function, FunctionDirectiveKind, FunctionId, FunctionKind, Item, ItemKind, Module,
    Names, Spanned, VariableId,
};
use ptx::module::Symbol;
use ptx::print::print;
use ptx::source::Span;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

/// The whole.
pub(crate) fn write(inputs: &[Input], header: &Header, resolution: &Resolution, order: &[Node]) -> String {
    let mut out = format!(".version {}\n.target {}", header.version, header.arch);
    // Writing to a string cannot fail.
    for option in &header.options {
        let _ = write!(out, ", {option}");
    }
    let _ = writeln!(out, "\n.address_size {}\n", header.address_size);
    let mut parts: Vec<Part> =
        inputs.iter().enumerate().map(|(i, input)| Part::new(input, &resolution.renamed[i])).collect();
    files(&mut parts, &mut out);
    pragmas(&parts, &mut out);
    for (i, part) in parts.iter_mut().enumerate() {
        part.prototypes(i, inputs, resolution, &mut out);
    }
    let mut written = HashSet::new();
    for node in order {
        let variable = &inputs[node.input].module.variables[node.variable.index()];
        parts[node.input].variable(variable.span, &mut written, node.input, &mut out);
    }
    for (i, (part, input)) in parts.iter_mut().zip(inputs).enumerate() {
        part.definitions(i, input, resolution, &mut out);
    }
    out
}

/// A module's tree under its new names.
struct Part {
    tree: Module,
    items: Vec<Item>,
    /// Where the declarators of variables are, by the place of their names: declaration and position.
    declarators: HashMap<Span, (VariableId, u32)>,
}

impl Part {
    fn new(input: &Input, renamed: &HashMap<String, String>) -> Self {
        let mut tree = input.tree.clone();
        let mut names = Names::default();
        for name in input.tree.names.iter() {
            // New names are in no module, so that every text keeps its number.
            names.intern(renamed.get(name).map_or(name, String::as_str));
        }
        tree.names = names;
        let items = std::mem::take(&mut tree.items);
        let mut declarators = HashMap::new();
        for item in &items {
            let ItemKind::Variable(id) = item.value else { continue };
            let list = tree[id].declarators;
            for (at, declarator) in (list.start..).zip(&tree[list]) {
                declarators.extend(declarator.name.map(|name| (name.span, (id, at))));
            }
        }
        Self { tree, items, declarators }
    }

    fn print(&mut self, kind: ItemKind) -> String {
        self.tree.items = vec![Spanned::new(kind, Span::default())];
        print(&self.tree)
    }

    /// The functions of the module in the order of the text.
    fn functions(&self) -> Vec<FunctionId> {
        let of = |item: &Item| match item.value {
            ItemKind::Function(id) => Some(id),
            _ => None,
        };
        self.items.iter().filter_map(of).collect()
    }

    /// Declarations of all device functions, and of those entries that are named before they are defined: by a variable, or by a
    /// kernel of any module that declares the entry, since it launches it.
    fn prototypes(&mut self, i: usize, inputs: &[Input], resolution: &Resolution, out: &mut String) {
        let input = &inputs[i];
        let declared_by = |input: &Input, name| input.function(name).is_some_and(|f| f.body.is_none());
        let named: HashSet<&str> = input
            .module
            .variables
            .iter()
            .flat_map(|variable| &variable.relocations)
            .filter_map(|relocation| match relocation.target {
                Symbol::Function(id) => Some(input.module.functions[id.index()].name.as_str()),
                Symbol::Variable(_) => None,
            })
            .collect();
        let mut declared = HashSet::new();
        for id in self.functions() {
            let name = input.tree.text(input.tree[id].name.value);
            // What the module says in several declarations is one function to it.
            let Some(linkage) = input.function(name).map(|function| function.linkage) else { continue };
            if !resolution.keeps(i, name) {
                continue;
            }
            let entry = input.tree[id].kind.value == FunctionKind::Entry;
            let early = input.tree[id].body.is_none()
                || named.contains(name)
                || inputs.iter().any(|input| declared_by(input, name));
            if entry && !early || !declared.insert(name) {
                continue;
            }
            let prototype = Function {
                linkage: Spanned::new(linkage, Span::default()),
                directives: self.tree[id]
                    .directives
                    .iter()
                    .filter(|directive| matches!(directive.value, FunctionDirectiveKind::NoReturn))
                    .cloned()
                    .collect(),
                body: None,
                ..self.tree[id].clone()
            };
            self.tree.functions.push(prototype);
            let text = self.print(ItemKind::Function(FunctionId(self.tree.functions.len() as u32 - 1)));
            out.push_str(text.trim_start());
        }
    }

    /// The declarator that stands at a span, once.
    fn variable(&mut self, span: Span, written: &mut HashSet<(usize, Span)>, i: usize, out: &mut String) {
        // The members of a parameterised set have one declarator.
        if !written.insert((i, span)) {
            return;
        }
        let Some(&(id, at)) = self.declarators.get(&span) else { return };
        let mut variable = self.tree[id].clone();
        variable.declarators = DeclaratorList { start: at, end: at + 1 };
        self.tree.variables.push(variable);
        let text = self.print(ItemKind::Variable(VariableId(self.tree.variables.len() as u32 - 1)));
        out.push_str(text.trim_start());
    }

    /// Definitions of functions, and aliases.
    fn definitions(&mut self, i: usize, input: &Input, resolution: &Resolution, out: &mut String) {
        for item in std::mem::take(&mut self.items) {
            let name = match &item.value {
                ItemKind::Function(id) if input.tree[*id].body.is_some() => input.tree[*id].name.value,
                ItemKind::Alias { name, .. } => name.value,
                _ => continue,
            };
            if resolution.keeps(i, input.tree.text(name)) {
                let text = self.print(item.value);
                out.push_str(&text);
            }
        }
    }
}

/// One list of `.file`s: equal ones are one, and lines name them by their new numbers.
fn files(parts: &mut [Part], out: &mut String) {
    let mut numbers: HashMap<(String, Option<(u64, u64)>), u64> = HashMap::new();
    for part in parts {
        let mut new: HashMap<u64, u64> = HashMap::new();
        let of = |item: &Item| if let ItemKind::File(file) = &item.value { Some(file.clone()) } else { None };
        for file in part.items.iter().filter_map(of).collect::<Vec<File>>() {
            let next = numbers.len() as u64 + 1;
            let key = (part.tree.text(file.name.value).to_owned(), file.stamp);
            let number = *numbers.entry(key).or_insert(next);
            new.insert(file.index.value, number);
            if number == next {
                let index = Spanned::new(number, Span::default());
                let text = part.print(ItemKind::File(File { index, ..file }));
                out.push_str(text.trim_start());
            }
        }
        for loc in &mut part.tree.locs {
            let file = &mut loc.place.file.value;
            *file = new.get(file).copied().unwrap_or(*file);
            // The name of an inlined function is in a DWARF section.
            loc.inlined = None;
        }
    }
}

/// The pragmas of all modules, each once.
fn pragmas(parts: &[Part], out: &mut String) {
    let mut written = HashSet::new();
    for part in parts {
        for item in &part.items {
            let ItemKind::Pragma(strings) = &item.value else { continue };
            for string in strings.iter().map(|string| part.tree.text(string.value)) {
                if written.insert(string) {
                    let _ = writeln!(out, ".pragma \"{string}\";");
                }
            }
        }
    }
}
