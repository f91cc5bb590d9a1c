//! Laws of ARCHITECTURE.md that are tables there: the files with `unsafe`, the files without a catch-all over semantic functions,
//! how large circles of modules may be. The tables are read from the page, so that each fact stands once.

use crate::modules::Modules;
use crate::root;
use anyhow::{Context, Result, bail};
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use std::fs;
use std::path::Path;
use syn::visit::{self, Visit};
use walkdir::WalkDir;

/// How the head of each table begins.
const UNSAFE: &str = "| `unsafe` in |";
const EXHAUSTIVE: &str = "| no catch-all in |";
const CIRCLES: &str = "| modules of |";

/// Circles of so many files are no circles: two or three files that know one another can be read together.
const SMALL: usize = 3;

pub(crate) fn check(wrong: &mut Vec<String>) -> Result<()> {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).context("ARCHITECTURE.md")?;
    circles(&table(&page, CIRCLES)?, wrong)?;
    unsafety(&table(&page, UNSAFE)?, wrong)?;
    for row in table(&page, EXHAUSTIVE)? {
        let ([file], [ty]) = (&quoted(&row[0])[..], &quoted(&row[1])[..]) else {
            bail!("ARCHITECTURE.md: `{}` is to name a file, `{}` a type", row[0], row[1]);
        };
        let text = fs::read_to_string(root().join(file)).with_context(|| file.clone())?;
        let file_of = syn::parse_file(&text).with_context(|| file.clone())?;
        wrong.extend(
            catch_alls(&file_of, ty)
                .iter()
                .map(|line| format!("{file}, line {line}: a match over {ty} leaves cases to a catch-all")),
        );
    }
    Ok(())
}

/// The cells of the rows of a table, by how its head begins.
fn table(page: &str, head: &str) -> Result<Vec<Vec<String>>> {
    let mut lines = page.lines().skip_while(|line| !line.starts_with(head));
    if lines.next().is_none() {
        bail!("ARCHITECTURE.md has no table that begins with `{head}`");
    }
    let rows = lines.skip(1).take_while(|line| line.starts_with('|'));
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    Ok(rows.map(cells).collect())
}

/// What stands in backquotes.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn circles(rows: &[Vec<String>], wrong: &mut Vec<String>) -> Result<()> {
    for row in rows {
        let most: usize = row[1].parse().with_context(|| row[1].clone())?;
        for name in quoted(&row[0]) {
            let modules = Modules::of(&name)?;
            let circle = modules.largest_circle();
            if circle.len() > most {
                let files = circle.join(" ");
                wrong.push(format!(
                    "{} files of {name} use one another; {most} are the most: {files}",
                    circle.len()
                ));
            } else if circle.len().max(SMALL) < most {
                let size = circle.len().max(SMALL);
                wrong.push(format!(
                    "the largest circle of {name} has {} files: write {size} in ARCHITECTURE.md",
                    circle.len()
                ));
            }
        }
    }
    Ok(())
}

/// `unsafe` stands where the table says, and nowhere else.
fn unsafety(rows: &[Vec<String>], wrong: &mut Vec<String>) -> Result<()> {
    let allowed: Vec<String> = rows.iter().flat_map(|row| quoted(&row[0])).collect();
    let mut found = vec![false; allowed.len()];
    let root = root();
    for entry in ["crates", "xtask/src", "examples"]
        .iter()
        .flat_map(|folder| WalkDir::new(root.join(folder)).sort_by_file_name())
    {
        let entry = entry?;
        let path = entry.path();
        let name = path.strip_prefix(&root).unwrap_or(path).display().to_string();
        // What tests do is their own business.
        if !name.ends_with(".rs")
            || name.contains("/tests")
            || name.contains("/benches/")
            || !has_unsafe(path)?
        {
            continue;
        }
        match allowed
            .iter()
            .position(|place| name == *place || (place.ends_with('/') && name.starts_with(place.as_str())))
        {
            Some(place) => found[place] = true,
            None => {
                wrong.push(format!("{name} has `unsafe`, which the table of ARCHITECTURE.md does not allow"))
            }
        }
    }
    let unused = allowed.iter().zip(found).filter(|(_, found)| !found);
    wrong.extend(unused.map(|(place, _)| format!("{place} has no `unsafe`, though ARCHITECTURE.md says so")));
    Ok(())
}

/// Whether code of a file says `unsafe`: tests in it, comments and texts aside.
fn has_unsafe(path: &Path) -> Result<bool> {
    fn says(code: TokenStream) -> bool {
        code.into_iter().any(|token| match token {
            TokenTree::Ident(word) => word == "unsafe",
            TokenTree::Group(group) => says(group.stream()),
            TokenTree::Punct(_) | TokenTree::Literal(_) => false,
        })
    }
    let text = fs::read_to_string(path)?;
    if !text.contains("unsafe") {
        return Ok(false);
    }
    let file = syn::parse_file(&text).with_context(|| path.display().to_string())?;
    let tests = |item: &&syn::Item| !matches!(item, syn::Item::Mod(item) if item.ident == "tests");
    Ok(file.items.iter().filter(tests).any(|item| says(item.to_token_stream())))
}

/// The lines of matches over a type that have an arm for everything else.
fn catch_alls(file: &syn::File, ty: &str) -> Vec<usize> {
    struct Matches<'a> {
        ty: &'a str,
        lines: Vec<usize>,
    }
    impl<'a> Visit<'a> for Matches<'_> {
        fn visit_expr_match(&mut self, found: &'a syn::ExprMatch) {
            let over = found.arms.iter().any(|arm| names(arm.pat.to_token_stream(), self.ty));
            let rest = found.arms.iter().find(|arm| arm.guard.is_none() && takes_all(&arm.pat));
            if let (true, Some(rest)) = (over, rest) {
                self.lines.push(rest.fat_arrow_token.spans[0].start().line);
            }
            visit::visit_expr_match(self, found);
        }
    }
    /// Whether a pattern names a variant of the type: `Type::`.
    fn names(pattern: TokenStream, ty: &str) -> bool {
        let mut before = None;
        pattern.into_iter().any(|token| {
            let variant = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == ':')
                && before.as_deref() == Some(ty);
            before = if let TokenTree::Ident(word) = &token { Some(word.to_string()) } else { None };
            variant || matches!(token, TokenTree::Group(group) if names(group.stream(), ty))
        })
    }
    /// `_`, a name alone, or a tuple of them.
    fn takes_all(pattern: &syn::Pat) -> bool {
        match pattern {
            syn::Pat::Wild(_) => true,
            syn::Pat::Ident(name) => {
                name.subpat.is_none() && name.ident.to_string().starts_with(char::is_lowercase)
            }
            syn::Pat::Tuple(tuple) => tuple.elems.iter().all(takes_all),
            syn::Pat::Or(or) => or.cases.iter().any(takes_all),
            _ => false,
        }
    }
    let mut matches = Matches { ty, lines: Vec::new() };
    matches.visit_file(file);
    matches.lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn catch_alls_are_found_by_type() {
        let text = "fn f(a: A, b: u32) {\n\
                    match a { A::X => {}\n _ => {} }\n\
                    match b { 1 => {} _ => {} }\n\
                    match a { A::X => {} A::Y => match b { 1 => {} _ => {} } }\n\
                    match (a, b) { (A::X, 1) => {}\n other => {} }\n\
                    match a { x if g(x) => {} A::X => {} A::Y => {} }\n}";
        let file = syn::parse_file(text).unwrap();
        assert_eq!(catch_alls(&file, "A"), [3, 7]);
        assert_eq!(catch_alls(&file, "B"), [0; 0]);
    }

    #[test]
    fn tables_are_read_by_their_heads() {
        let page =
            "text\n| modules of | files |\n| --- | --- |\n| `a`, `b` | 3 |\n| `c` | 7 |\n\n| other |\n";
        let rows = table(page, CIRCLES).unwrap();
        assert_eq!(rows, [["`a`, `b`", "3"], ["`c`", "7"]]);
        assert_eq!(quoted(&rows[0][0]), ["a", "b"]);
        assert!(table(page, UNSAFE).is_err());
    }
}
