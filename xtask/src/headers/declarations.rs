//! What a header declares: read from the Rust that `bindgen` writes, written as the crate `cuda-headers` has it.

use anyhow::{Context, Result, bail};
use quote::{ToTokens, quote};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use syn::{Fields, FnArg, ForeignItem, Item, UseTree};

/// The declarations of a header, each kind in the header's order: by name, as Rust.
#[derive(Debug, Default)]
pub(crate) struct Declarations {
    /// Constants that stand for themselves.
    constants: Vec<(String, String)>,
    enumerations: Vec<Enumeration>,
    /// Structures, unions and other names of types.
    types: Vec<(String, String)>,
    functions: Vec<(String, String)>,
}

#[derive(Debug)]
struct Enumeration {
    name: String,
    integer: String,
    constants: Vec<(String, String)>,
}

impl Declarations {
    /// Reads what `bindgen` writes.
    pub(crate) fn read(bindings: &str) -> Result<Self> {
        // Types of C's and of Rust's core library stand under short names.
        let short =
            bindings.replace("core::ffi::", "").replace("::core::option::", "").replace("usize]", "]");
        let file = syn::parse_file(&short).context("what bindgen writes")?;
        let mut found = Self::default();
        let mut constants: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
        for item in &file.items {
            if let Item::Const(item) = item {
                let (name, ty, value) = (item.ident.to_string(), text(&item.ty), text(&item.expr));
                constants.entry(ty).or_default().push((name, value));
            }
        }
        for item in &file.items {
            match item {
                Item::Type(item) => {
                    let (name, ty) = (item.ident.to_string(), text(&item.ty));
                    match constants.remove(&name) {
                        Some(constants) => {
                            found.enumerations.push(Enumeration { name, integer: ty, constants });
                        }
                        None => found.types.push((name.clone(), format!("pub type {name} = {ty};"))),
                    }
                }
                Item::Use(item) => {
                    let (of, name) = renamed(&item.tree).context("bindgen uses no other names")?;
                    found.types.push((name.clone(), format!("pub type {name} = {of};")));
                }
                Item::Struct(item) => {
                    let (name, fields) = (&item.ident, &item.fields);
                    let end = matches!(fields, Fields::Unit | Fields::Unnamed(_)).then(|| quote!(;));
                    found.structure(name, &item.attrs, quote!(pub struct #name #fields #end));
                }
                Item::Union(item) => {
                    let (name, fields) = (&item.ident, &item.fields);
                    found.structure(name, &item.attrs, quote!(pub union #name #fields));
                }
                Item::ForeignMod(block) => {
                    for item in &block.items {
                        if let ForeignItem::Fn(function) = item {
                            found.function(&function.sig);
                        }
                    }
                }
                // Constants have been read; implementations follow from the layouts.
                Item::Const(_) | Item::Impl(_) => {}
                other => bail!("bindgen writes what is not expected: {}", quote!(#other)),
            }
        }
        for (ty, constants) in constants {
            let typed = |(name, value): (String, String)| {
                let text = format!("pub const {name}: {ty} = {value};");
                (name, text)
            };
            found.constants.extend(constants.into_iter().map(typed));
        }
        Ok(found)
    }

    fn structure(&mut self, name: &syn::Ident, attributes: &[syn::Attribute], item: impl ToTokens) {
        let attributes =
            attributes.iter().filter(|a| a.path().is_ident("repr") || a.path().is_ident("derive"));
        self.types.push((name.to_string(), quote!(#(#attributes)* #item).to_string()));
    }

    fn function(&mut self, signature: &syn::Signature) {
        let name = signature.ident.to_string();
        // A twin for the per-thread default stream has the type of its original.
        if name.ends_with("_ptsz") || name.ends_with("_ptds") {
            return;
        }
        let parameters = signature.inputs.iter().filter_map(|input| match input {
            FnArg::Typed(typed) => Some(format!("{}: {}", text(&typed.pat), text(&typed.ty))),
            FnArg::Receiver(_) => None,
        });
        let parameters: Vec<String> = parameters.collect();
        let text = format!("fn {name}({}) {};", parameters.join(", "), text(&signature.output));
        self.functions.push((name, text));
    }

    /// Leaves out what another header declares alike. A type is another one, too, if it is made of such a type.
    pub(crate) fn leave_out(&mut self, other: &Self) {
        let values = |enumerations: &[Enumeration]| -> BTreeSet<(String, String)> {
            enumerations.iter().flat_map(|e| e.constants.iter().cloned()).collect()
        };
        let names: BTreeMap<&str, &Enumeration> =
            other.enumerations.iter().map(|e| (e.name.as_str(), e)).collect();
        let known = values(&other.enumerations);
        // An enumeration with more constants is no other type.
        for enumeration in std::mem::take(&mut self.enumerations) {
            if names.contains_key(enumeration.name.as_str()) {
                let Enumeration { name, constants, .. } = enumeration;
                let more = constants.into_iter().filter(|constant| !known.contains(constant));
                self.constants.extend(more.map(|(constant, value)| {
                    let text = format!("pub const {constant}: {name} = {value};");
                    (constant, text)
                }));
            } else {
                self.enumerations.push(enumeration);
            }
        }
        let declared: BTreeSet<&(String, String)> =
            other.constants.iter().chain(&other.types).chain(&other.functions).collect();
        let differs = |item: &(String, String), others: &BTreeSet<String>| {
            !declared.contains(item) || words(&item.1).any(|word| others.contains(word))
        };
        self.constants.retain(|constant| !declared.contains(constant));
        let mut others: BTreeSet<String> = BTreeSet::new();
        loop {
            let found = self.types.iter().filter(|item| differs(item, &others)).map(|(name, _)| name.clone());
            let found: BTreeSet<String> = found.collect();
            if found == others {
                break;
            }
            others = found;
        }
        self.types.retain(|(name, _)| others.contains(name));
        self.functions.retain(|item| differs(item, &others));
    }

    /// The file of a header, which says `about` and uses modules; rustfmt does the rest.
    pub(crate) fn text(&self, about: &str, uses: &[&str]) -> String {
        let mut out = format!("//! {about}\n//!\n//! {MADE}\n\n{ALLOWED}\n\n");
        let mut line = |text: &str| writeln!(out, "{text}").expect("strings take everything");
        for module in uses.iter().chain(&["core::ffi::*"]) {
            line(&format!("use {module};"));
        }
        for (_, constant) in &self.constants {
            line(constant);
        }
        if !self.enumerations.is_empty() {
            line("\nenumerations! {");
            for Enumeration { name, integer, constants } in &self.enumerations {
                line(&format!("    enum {name}: {integer} {{"));
                for (constant, value) in constants {
                    line(&format!("        {constant} = {value},"));
                }
                line("    }");
            }
            line("}");
        }
        for (_, ty) in &self.types {
            line(&format!("\n{ty}"));
        }
        line("\nfunctions! {");
        for (_, function) in &self.functions {
            line(&format!("    {function}"));
        }
        line("}");
        out
    }
}

/// By this line `cargo xtask tidy` knows generated files.
pub(crate) const MADE: &str = "@generated by `cargo xtask headers`.";

/// Names are C's, and the manuals describe them.
const ALLOWED: &str =
    "#![allow(missing_docs, non_camel_case_types, non_snake_case, non_upper_case_globals, clippy::all)]";

/// Rust as it is usually written, without line ends.
fn text(tokens: &impl ToTokens) -> String {
    let mut text = tokens.to_token_stream().to_string();
    for (from, to) in [("* mut", "*mut"), ("* const", "*const"), (" ;", ";"), (" ,", ","), ("- ", "-")] {
        text = text.replace(from, to);
    }
    text
}

/// The words of a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
}

/// `self::of as name`.
fn renamed(tree: &UseTree) -> Option<(String, String)> {
    match tree {
        UseTree::Path(path) => renamed(&path.tree),
        UseTree::Rename(rename) => Some((rename.ident.to_string(), rename.rename.to_string())),
        _ => None,
    }
}
