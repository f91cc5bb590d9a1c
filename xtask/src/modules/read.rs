//! From source files to their uses of one another.

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use syn::{Attribute, Item, ItemUse, UseTree, Visibility};

/// A path of modules and, at its end perhaps, an item.
type Names = Vec<String>;

/// Names of files, and the files that each one uses.
type Graph = (Vec<String>, Vec<BTreeSet<usize>>);

/// A module, in a file of its own or not.
#[derive(Default)]
struct Module {
    file: usize,
    /// What it defines.
    items: HashSet<String>,
    /// What it re-exports, and where that is.
    exports: HashMap<String, Names>,
    /// Modules of which it re-exports everything.
    globs: Vec<Names>,
    /// Paths that its code writes, from the crate's root.
    paths: Vec<Names>,
}

/// A crate as it is read.
#[derive(Default)]
struct Reader {
    names: Vec<String>,
    modules: HashMap<Names, Module>,
}

pub(super) fn graph(source: &Path) -> Result<Graph> {
    let mut reader = Reader::default();
    reader.file(source, &source.with_file_name(""), Vec::new())?;
    let mut uses = vec![BTreeSet::new(); reader.names.len()];
    for module in reader.modules.values() {
        for path in &module.paths {
            let used = reader.file_of(path, 0);
            if used != module.file {
                uses[module.file].insert(used);
            }
        }
    }
    Ok((reader.names, uses))
}

impl Reader {
    /// Reads a file, whose child modules are in a folder.
    fn file(&mut self, path: &Path, children: &Path, module: Names) -> Result<()> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let parsed = syn::parse_file(&text).with_context(|| path.display().to_string())?;
        let file = self.names.len();
        self.names.push(if module.is_empty() { "lib".to_owned() } else { module.join("::") });
        self.items(parsed.items, file, children, module)
    }

    fn items(&mut self, items: Vec<Item>, file: usize, folder: &Path, path: Names) -> Result<()> {
        let mut module = Module { file, ..Module::default() };
        let (mut code, mut uses) = (TokenStream::new(), Vec::new());
        let mut inner = HashSet::new();
        for item in items {
            if attributes(&item).iter().any(is_test) {
                continue;
            }
            match item {
                Item::Mod(item) => {
                    let name = item.ident.to_string();
                    inner.insert(name.clone());
                    let child: Names = path.iter().cloned().chain([name.clone()]).collect();
                    match item.content {
                        Some((_, items)) => self.items(items, file, &folder.join(name), child)?,
                        None => {
                            let (source, folder) = place(&item.attrs, folder, &name);
                            self.file(&source, &folder, child)?;
                        }
                    }
                }
                Item::Use(item) => uses.push(item),
                item => {
                    module.items.extend(name(&item));
                    item.to_tokens(&mut code);
                }
            }
        }
        let mut written = Vec::new();
        let words = paths(code, &mut written);
        for ItemUse { vis, tree, .. } in uses {
            let private = matches!(vis, Visibility::Inherited);
            let mut leaves = Vec::new();
            flatten(&tree, &mut Vec::new(), &mut leaves);
            for (used, called) in leaves {
                let Some(used) = absolute(&used, &path, &inner) else { continue };
                // What is re-exported is used where its new name stands in code.
                if private || called.as_ref().is_some_and(|called| words.contains(called)) {
                    module.paths.push(used.clone());
                }
                match called {
                    Some(called) if !private => drop(module.exports.insert(called, used)),
                    None if !private => module.globs.push(used),
                    _ => {}
                }
            }
        }
        // One word alone is a visibility, or a value of that name.
        let written = written.iter().filter(|used| used.len() > 1);
        module.paths.extend(written.filter_map(|used| absolute(used, &path, &inner)));
        self.modules.insert(path, module);
        Ok(())
    }

    /// The file that has what a path leads to. Re-exports that name one another end at the file that was reached.
    fn file_of(&self, path: &[String], depth: usize) -> usize {
        let known =
            (0..=path.len()).rev().find(|&length| self.modules.contains_key(&path[..length])).unwrap_or(0);
        let module = &self.modules[&path[..known]];
        let (Some(name), true) = (path.get(known), depth < 16) else { return module.file };
        let rest = &path[known + 1..];
        let onward = |target: &[String]| {
            let target: Names = target.iter().chain(rest).cloned().collect();
            self.file_of(&target, depth + 1)
        };
        if let Some(target) = module.exports.get(name) {
            return onward(target);
        }
        let has =
            |target: &&Names| self.modules.get(*target).is_some_and(|module| module.items.contains(name));
        match module.globs.iter().find(has) {
            Some(target) if !module.items.contains(name) => onward(target),
            _ => module.file,
        }
    }
}

/// The file of a module that stands elsewhere, and the folder of its children.
fn place(attributes: &[Attribute], folder: &Path, name: &str) -> (PathBuf, PathBuf) {
    let said = attributes.iter().filter(|a| a.path().is_ident("path")).find_map(|a| match &a.meta {
        syn::Meta::NameValue(pair) => match &pair.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    });
    if let Some(said) = said {
        return (folder.join(&said), folder.join(said).with_file_name(""));
    }
    let (own, inside) = (folder.join(format!("{name}.rs")), folder.join(name));
    (if own.exists() { own } else { inside.join("mod.rs") }, inside)
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// `#[cfg(test)]` or `#[test]`.
fn is_test(attribute: &Attribute) -> bool {
    let test = |list: &syn::MetaList| list.path.is_ident("cfg") && list.tokens.to_string() == "test";
    match &attribute.meta {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(list) => test(list),
        syn::Meta::NameValue(_) => false,
    }
}

/// What an item is called.
fn name(item: &Item) -> Option<String> {
    Some(match item {
        Item::Const(item) => item.ident.to_string(),
        Item::Enum(item) => item.ident.to_string(),
        Item::Fn(item) => item.sig.ident.to_string(),
        Item::Macro(item) => item.ident.as_ref()?.to_string(),
        Item::Static(item) => item.ident.to_string(),
        Item::Struct(item) => item.ident.to_string(),
        Item::Trait(item) => item.ident.to_string(),
        Item::Type(item) => item.ident.to_string(),
        Item::Union(item) => item.ident.to_string(),
        _ => return None,
    })
}

/// The paths of a `use`, and what each is called; what ends in `*` is not called anything.
fn flatten(tree: &UseTree, before: &mut Names, leaves: &mut Vec<(Names, Option<String>)>) {
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, leaves);
            before.pop();
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, before, leaves)),
        UseTree::Glob(_) => leaves.push((before.clone(), None)),
        UseTree::Name(name) if name.ident == "self" => leaves.push((before.clone(), before.last().cloned())),
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            leaves.push((before.iter().cloned().chain([name.clone()]).collect(), Some(name)));
        }
        UseTree::Rename(rename) => {
            let name = rename.ident.to_string();
            let last = (name != "self").then_some(name);
            leaves.push((before.iter().cloned().chain(last).collect(), Some(rename.rename.to_string())));
        }
    }
}

/// A path from the crate's root; `None` if it leads out of the crate. `inner` are the modules inside the one where it stands.
fn absolute(path: &[String], module: &[String], inner: &HashSet<String>) -> Option<Names> {
    let (first, mut rest) = path.split_first()?;
    let mut from = match first.as_str() {
        "crate" => &module[..0],
        "self" => module,
        "super" => module.split_last()?.1,
        name if inner.contains(name) => return Some(module.iter().chain(path).cloned().collect()),
        _ => return None,
    };
    while let Some((_, further)) = rest.split_first().filter(|(next, _)| *next == "super") {
        (from, rest) = (from.split_last()?.1, further);
    }
    Some(from.iter().chain(rest).cloned().collect())
}

/// The paths that code writes, those inside of macros among them, and all its words.
fn paths(code: TokenStream, found: &mut Vec<Names>) -> HashSet<String> {
    let mut words = HashSet::new();
    let mut path = Names::new();
    let mut colons = 0;
    let mut member = false;
    for token in code {
        match token {
            TokenTree::Ident(ident) => {
                let word = ident.to_string();
                if colons < 2 {
                    found.extend((!path.is_empty()).then(|| std::mem::take(&mut path)));
                }
                if colons == 2 || !member {
                    path.push(word.clone());
                }
                words.insert(word);
                (colons, member) = (0, false);
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
            token => {
                // A method of what came before, or a field.
                member = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '.');
                found.extend((!path.is_empty()).then(|| std::mem::take(&mut path)));
                colons = 0;
                if let TokenTree::Group(group) = token {
                    words.extend(paths(group.stream(), found));
                }
            }
        }
    }
    found.extend((!path.is_empty()).then_some(path));
    words
}
