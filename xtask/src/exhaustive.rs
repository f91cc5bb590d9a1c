//! Matches over an enum that name some of its variants and leave the others to a catch-all.
//!
//! Which enum a pattern names is told from the file's imports, at its head or in a function: `AtomOp::Add` behind `use
//! ir::instruction::AtomOp` is a variant of `ir::instruction::AtomOp`. A match that a macro gets as an argument is looked at as well. A match over
//! several values at once is not: most combinations mean nothing, and one arm says so.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::HashMap;
use syn::visit::{self, Visit};
use syn::{ExprMatch, Pat, UseTree};

/// The lines of arms for everything else, in matches over one of the types or over a type of one of the modules.
///
/// `library` is what other crates call this one.
pub(crate) fn catch_alls(file: &syn::File, library: &str, over: &[String]) -> Vec<usize> {
    let mut imports = Imports(HashMap::new());
    imports.visit_file(file);
    let over = over.iter().map(|path| path.split("::").map(str::to_owned).collect()).collect();
    let mut matches = Matches { imports: imports.0, library, over, lines: Vec::new() };
    matches.visit_file(file);
    matches.lines.sort_unstable();
    matches.lines.dedup();
    matches.lines
}

/// Names, and the paths that they stand for.
struct Imports(HashMap<String, Vec<String>>);

impl Imports {
    fn tree(&mut self, tree: &UseTree, before: &[String]) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.tree(&path.tree, &with(&path.ident)),
            UseTree::Name(name) if name.ident == "self" => {
                before.last().map(|last| self.0.insert(last.clone(), before.to_vec()));
            }
            UseTree::Name(name) => drop(self.0.insert(name.ident.to_string(), with(&name.ident))),
            UseTree::Rename(name) => drop(self.0.insert(name.rename.to_string(), with(&name.ident))),
            UseTree::Group(group) => group.items.iter().for_each(|item| self.tree(item, before)),
            UseTree::Glob(_) => {}
        }
    }
}

impl<'a> Visit<'a> for Imports {
    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        self.tree(&item.tree, &[]);
    }
}

struct Matches<'a> {
    imports: HashMap<String, Vec<String>>,
    library: &'a str,
    over: Vec<Vec<String>>,
    lines: Vec<usize>,
}

impl Matches<'_> {
    fn look_at(&mut self, found: &ExprMatch) {
        let over = found.arms.iter().any(|arm| self.names(&arm.pat));
        let rest = found.arms.iter().find(|arm| arm.guard.is_none() && takes_all(&arm.pat));
        if let (true, Some(rest)) = (over, rest) {
            self.lines.push(rest.fat_arrow_token.spans[0].start().line);
        }
    }

    /// Whether a pattern names a variant, by itself or in `Some`.
    fn names(&self, pattern: &Pat) -> bool {
        match pattern {
            Pat::Path(pattern) => self.is_variant(&pattern.path),
            Pat::TupleStruct(pattern) => {
                self.is_variant(&pattern.path)
                    || pattern.path.is_ident("Some") && pattern.elems.iter().any(|inner| self.names(inner))
            }
            Pat::Struct(pattern) => self.is_variant(&pattern.path),
            Pat::Or(pattern) => pattern.cases.iter().any(|case| self.names(case)),
            Pat::Reference(pattern) => self.names(&pattern.pat),
            Pat::Paren(pattern) => self.names(&pattern.pat),
            Pat::Ident(pattern) => pattern.subpat.as_ref().is_some_and(|(_, inner)| self.names(inner)),
            _ => false,
        }
    }

    fn is_variant(&self, path: &syn::Path) -> bool {
        let mut whole: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        // A name may stand for one that is imported itself.
        for _ in 0..4 {
            let Some(longer) = self.imports.get(&whole[0]).filter(|longer| **longer != whole[..1]) else {
                break;
            };
            whole.splice(..1, longer.iter().cloned());
        }
        if whole[0] == "crate" {
            whole[0] = self.library.to_owned();
        }
        self.over.iter().any(|over| {
            let module = over.last().is_some_and(|last| last.starts_with(char::is_lowercase));
            whole.starts_with(over) && whole.len() == over.len() + if module { 2 } else { 1 }
        })
    }

    /// Matches in what a macro gets, where they read as such.
    fn in_tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Ident(word) if word == "match" => {
                    let brace = |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == proc_macro2::Delimiter::Brace);
                    let Some(end) = tokens[at..].iter().position(brace) else { continue };
                    let text: TokenStream = tokens[at..=at + end].iter().cloned().collect();
                    if let Ok(found) = syn::parse2::<ExprMatch>(text) {
                        self.look_at(&found);
                    }
                }
                TokenTree::Group(group) => self.in_tokens(group.stream()),
                _ => {}
            }
        }
    }
}

impl<'a> Visit<'a> for Matches<'_> {
    fn visit_expr_match(&mut self, found: &'a ExprMatch) {
        self.look_at(found);
        visit::visit_expr_match(self, found);
    }

    fn visit_macro(&mut self, found: &'a syn::Macro) {
        self.in_tokens(found.tokens.clone());
    }

    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        // What tests leave out is their own business.
        if item.ident != "tests" {
            visit::visit_item_mod(self, item);
        }
    }
}

/// `_`, a name alone, these in `Some`, or one of several.
fn takes_all(pattern: &Pat) -> bool {
    match pattern {
        Pat::Wild(_) => true,
        Pat::Ident(name) => name.subpat.is_none() && name.ident.to_string().starts_with(char::is_lowercase),
        Pat::TupleStruct(some) => some.path.is_ident("Some") && some.elems.iter().all(takes_all),
        Pat::Or(or) => or.cases.iter().any(takes_all),
        Pat::Paren(inner) => takes_all(&inner.pat),
        Pat::Reference(inner) => takes_all(&inner.pat),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        let over = ["ir::instruction".to_owned(), "ir::Op".to_owned()];
        catch_alls(&syn::parse_file(text).unwrap(), "ir", &over)
    }

    #[test]
    fn types_are_known_by_imports() {
        let text = "use ir::instruction::{self, A, B as C}; use other::D;\n\
                    fn f() {\n\
                    match a { A::X => {}\n _ => {} }\n\
                    match a { C::X => {}\n rest => {} }\n\
                    match a { D::X => {}\n _ => {} }\n\
                    match a { instruction::E::X | instruction::E::Y => {}\n _ => {} }\n\
                    match a { crate::Op::X(_) => {}\n _ => {} }\n\
                    match a { ir::Op::X(_) => {} ir::Op::Y(_) => {} }\n}";
        assert_eq!(lines(text), [4, 6, 10, 12]);
    }

    #[test]
    fn options_macros_and_inner_imports_count_and_combinations_do_not() {
        let text = "fn f() { use ir::instruction::A; use A as M;\n\
                    match a { Some(M::X) => {}\n Some(_) => {} None => {} }\n\
                    list! { one => match a { M::X => 1,\n _ => 2 }, }\n\
                    match (a, b) { (M::X, 1) => {}\n _ => {} }\n\
                    match a { M::X if b => {} M::X => {} M::Y => match b { 1 => {} _ => {} } }\n}";
        assert_eq!(lines(text), [3, 5]);
    }
}
