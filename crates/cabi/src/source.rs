//! Which functions our own source defines.
//!
//! They stand in macros such as `api! { fn cudaFree(pointer: *mut c_void) { … } }`, one behind the other.

use quote::quote;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Block, FnArg, Ident, Item, Token, parenthesized};

/// The content of a macro that defines functions.
struct Definitions(Vec<(String, Vec<String>)>);

impl Parse for Definitions {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut found = Vec::new();
        while !input.is_empty() {
            input.call(Attribute::parse_outer)?;
            input.parse::<Token![fn]>()?;
            let name: Ident = input.parse()?;
            let content;
            parenthesized!(content in input);
            let arguments = Punctuated::<FnArg, Token![,]>::parse_terminated(&content)?;
            input.parse::<Block>()?;
            found.push((name.to_string(), types(&arguments)));
        }
        Ok(Self(found))
    }
}

/// The types of parameters.
fn types(arguments: &Punctuated<FnArg, Token![,]>) -> Vec<String> {
    let typed = arguments.iter().filter_map(|argument| match argument {
        FnArg::Typed(typed) => Some(&typed.ty),
        FnArg::Receiver(_) => None,
    });
    typed.map(|ty| quote!(#ty).to_string()).collect()
}

/// The functions that the files of a folder define, in macros called `macros` or as exported items, with the types of
/// their parameters.
///
/// # Panics
/// When a file cannot be read or is not Rust: build scripts end so.
pub fn definitions(folder: &Path, macros: &[&str]) -> BTreeMap<String, Vec<String>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("the folder of sources can be listed") {
        let path = entry.expect("the folder of sources can be listed").path();
        let text = fs::read_to_string(&path).expect("sources are text");
        let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for item in file.items {
            if let Item::Fn(function) = &item
                && function.attrs.iter().any(|attribute| quote!(#attribute).to_string().contains("no_mangle"))
            {
                all.insert(function.sig.ident.to_string(), types(&function.sig.inputs));
            }
            let Item::Macro(item) = item else { continue };
            if macros.iter().any(|name| item.mac.path.is_ident(name)) {
                let found: Definitions =
                    item.mac.parse_body().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                all.extend(found.0);
            }
        }
    }
    all
}

/// The names in a list: one a line, with a comment behind `#`.
pub fn names(list: &str) -> impl Iterator<Item = &str> {
    list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}
