//! Laws of ARCHITECTURE.md that are tables there: the files with `unsafe`, the types over which no match has a catch-all, how
//! large circles of modules may be. The tables are read from the page, so that each fact stands once.

use crate::exhaustive::catch_alls;
use crate::modules::Modules;
use crate::root;
use anyhow::{Context, Result, bail};
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use std::fs;
use std::path::Path;
use walkdir::WalkDir;

/// How the head of each table begins.
const UNSAFE: &str = "| `unsafe` in |";
const EXHAUSTIVE: &str = "| no catch-all over |";
const EXCEPTIONS: &str = "| catch-all in |";
const CIRCLES: &str = "| modules of |";

/// Circles of so many files are no circles: two or three files that know one another can be read together.
const SMALL: usize = 3;

pub(crate) fn check(wrong: &mut Vec<String>) -> Result<()> {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).context("ARCHITECTURE.md")?;
    circles(&table(&page, CIRCLES)?, wrong)?;
    unsafety(&table(&page, UNSAFE)?, wrong)?;
    exhaustive(&table(&page, EXHAUSTIVE)?, &table(&page, EXCEPTIONS)?, wrong)
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

/// Whether a file is the one that a table names, or in the folder.
fn is_in(file: &str, place: &str) -> bool {
    file == place || place.ends_with('/') && file.starts_with(place)
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
        match allowed.iter().position(|place| is_in(&name, place)) {
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

/// A match over these types, or a type of these modules, names all variants; the exceptions are files that still need to be.
fn exhaustive(rows: &[Vec<String>], exceptions: &[Vec<String>], wrong: &mut Vec<String>) -> Result<()> {
    let over: Vec<String> = rows.iter().flat_map(|row| quoted(&row[0])).collect();
    let excepted: Vec<String> = exceptions.iter().flat_map(|row| quoted(&row[0])).collect();
    let mut found = vec![false; excepted.len()];
    let crates = root().join("crates");
    for entry in WalkDir::new(&crates).sort_by_file_name() {
        let entry = entry?;
        let path = entry.path();
        let inside = path.strip_prefix(&crates).unwrap_or(path);
        let name = format!("crates/{}", inside.display());
        // What tests leave out is their own business.
        if !name.ends_with(".rs") || name.contains("/tests") || name.contains("/benches/") {
            continue;
        }
        let file = syn::parse_file(&fs::read_to_string(path)?).with_context(|| name.clone())?;
        let library = inside.iter().next().unwrap_or_default().to_string_lossy().replace('-', "_");
        let lines = catch_alls(&file, &library, &over);
        match excepted.iter().position(|excepted| is_in(&name, excepted)) {
            Some(place) => found[place] |= !lines.is_empty(),
            None => wrong.extend(
                lines
                    .iter()
                    .map(|line| format!("{name}, line {line}: a match leaves variants to a catch-all")),
            ),
        }
    }
    let unused = excepted.iter().zip(found).filter(|(_, found)| !found);
    wrong.extend(unused.map(|(file, _)| format!("{file} has no catch-all, though ARCHITECTURE.md says so")));
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

#[cfg(test)]
mod tests {
    use super::*;

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
