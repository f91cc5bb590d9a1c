//! Types and functions of a C header.
//!
//! They are read from the source of a crate that bindgen made, so that none is typed by hand. Enumerations become
//! integers with constants, since a program may pass any number; of items that exist in several versions of the header
//! the wanted one is taken; and for every function there is its type.

use quote::quote;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{env, fs};
use syn::punctuated::Punctuated;
use syn::{Attribute, FnArg, Item, ReturnType, Token};

/// Where cargo keeps a file of a package that the crate being built depends on.
///
/// # Panics
/// When the package is no dependency: a mistake in a build script.
pub fn source_of(package: &str, file: &str) -> PathBuf {
    let manifest = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("Cargo.toml");
    let metadata = cargo_metadata::MetadataCommand::new()
        .manifest_path(manifest)
        .other_options(["--offline".to_owned()])
        .exec()
        .expect("cargo metadata");
    let package = metadata.packages.iter().find(|known| known.name.as_str() == package);
    let manifest = &package.expect("the package is a dependency").manifest_path;
    manifest.parent().expect("a manifest is in a folder").join(file).into()
}

/// What of a source is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Selection<'a> {
    /// The feature that stands for the version of the header, as `cudarc` calls it; none for sources of one version.
    pub version: Option<&'a str>,
    /// What the names of functions begin with; an upper-case letter follows.
    pub prefix: &'a str,
    /// Functions that are wanted though they are in other versions alone.
    pub also: &'a BTreeSet<String>,
}

/// What a header says.
#[derive(Clone, Debug, Default)]
pub struct Header {
    /// Rust source: types, constants, and a module `functions` with the type of every function.
    pub source: String,
    /// The types of each function's parameters.
    pub parameters: BTreeMap<String, Vec<String>>,
    /// Constants of enumerations: name of the enumeration, names of its constants in order.
    pub enumerations: BTreeMap<String, Vec<String>>,
}

/// What Rust says of names and types that C has made.
const ALLOWED: &str = "non_camel_case_types, non_snake_case, non_upper_case_globals, dead_code, unused_imports, \
    missing_docs, unreachable_pub, clippy::all";

impl Header {
    /// The source as a module; `head` is what stands before its body, such as `pub mod sys`.
    pub fn module(&self, head: &str, about: &str) -> String {
        let source = &self.source;
        // Some sources name C's types through their module.
        format!("/// {about}\n#[allow({ALLOWED})]\n{head} {{\nuse std::os::raw;\n{source}\n}}\n")
    }
}

impl Selection<'_> {
    /// Whether an item exists in the wanted version of the header.
    fn exists(&self, attributes: &[Attribute]) -> bool {
        let Some(version) = self.version else { return true };
        attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).all(|attribute| {
            let condition = quote!(#attribute).to_string();
            !condition.contains("cuda-") || condition.contains(&format!("\"{version}\""))
        })
    }

    /// Reads a source.
    ///
    /// # Panics
    /// When the source is not what bindgen writes: build scripts end so.
    pub fn read(&self, path: &Path) -> Header {
        let source = fs::read_to_string(path).expect("the bindings have a source");
        let file = syn::parse_file(&source).expect("the bindings are Rust");
        let mut header = Header::default();
        let mut items = Vec::new();
        let mut functions = Vec::new();
        // A function is taken from our version of the header before it is taken from another.
        let ours = |item: &&Item| !matches!(item, Item::Fn(function) if !self.exists(&function.attrs));
        let (ours, others): (Vec<&Item>, Vec<&Item>) = file.items.iter().partition(ours);
        for item in ours.into_iter().chain(others) {
            match item {
                Item::Use(item)
                    if self.exists(&item.attrs) && quote!(#item).to_string().contains("self ::") =>
                {
                    let mut item = item.clone();
                    item.attrs.clear();
                    items.push(quote!(#item));
                }
                Item::Type(item) if self.exists(&item.attrs) => {
                    let (name, ty) = (&item.ident, &item.ty);
                    items.push(quote!(pub type #name = #ty;));
                }
                Item::Const(item) if self.exists(&item.attrs) => {
                    let (name, ty, value) = (&item.ident, &item.ty, &item.expr);
                    items.push(quote!(pub const #name: #ty = #value;));
                }
                Item::Enum(item) if self.exists(&item.attrs) => {
                    let name = &item.ident;
                    let signed = item.attrs.iter().any(|a| quote!(#a).to_string().contains("i32"));
                    let integer = if signed { quote!(i32) } else { quote!(u32) };
                    items.push(quote!(pub type #name = #integer;));
                    for variant in &item.variants {
                        let (name, value) =
                            (&variant.ident, variant.discriminant.as_ref().map(|(_, value)| value));
                        items.push(quote!(pub const #name: #integer = #value;));
                    }
                    let constants = item.variants.iter().map(|variant| variant.ident.to_string()).collect();
                    header.enumerations.insert(name.to_string(), constants);
                }
                Item::Struct(item) if self.exists(&item.attrs) && item.generics.params.is_empty() => {
                    // A table of loaded symbols is bindgen's, not the header's.
                    let made = structure(item);
                    let made = quote!(#made);
                    if !made.to_string().contains("libloading") {
                        items.push(made);
                    }
                }
                Item::Union(item) if self.exists(&item.attrs) => {
                    let (name, fields) = (&item.ident, &item.fields);
                    items.push(quote!(#[repr(C)] #[derive(Clone, Copy)] pub union #name #fields));
                }
                Item::Fn(item) => {
                    let name = item.sig.ident.to_string();
                    let wanted = self.exists(&item.attrs) || self.also.contains(&name);
                    if wanted && self.names(&name) && !header.parameters.contains_key(&name) {
                        functions.push(function(&item.sig, &mut header.parameters));
                    }
                }
                Item::Impl(item) => {
                    for method in &item.items {
                        if let syn::ImplItem::Fn(method) = method
                            && self.names(&method.sig.ident.to_string())
                        {
                            functions.push(function(&method.sig, &mut header.parameters));
                        }
                    }
                }
                _ => {}
            }
        }
        let text = quote! {
            #(#items)*
            /// The type of every function.
            pub mod functions {
                use super::*;
                #(#functions)*
            }
        };
        header.source = text.to_string();
        header
    }

    /// Whether this is the name of a function of the API.
    fn names(&self, name: &str) -> bool {
        name.strip_prefix(self.prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
    }
}

fn structure(item: &syn::ItemStruct) -> impl quote::ToTokens + use<> {
    let (name, fields) = (&item.ident, &item.fields);
    let semicolon = matches!(fields, syn::Fields::Unit | syn::Fields::Unnamed(_)).then(|| quote!(;));
    let layout = item.attrs.iter().filter(|a| a.path().is_ident("repr"));
    let shown = name.to_string();
    quote! {
        #(#layout)* #[derive(Clone, Copy)] pub struct #name #fields #semicolon
        impl ::core::fmt::Debug for #name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.write_str(#shown)
            }
        }
    }
}

/// The type of a function; notes the types of its parameters.
fn function(
    signature: &syn::Signature,
    parameters: &mut BTreeMap<String, Vec<String>>,
) -> impl quote::ToTokens + use<> {
    let name = &signature.ident;
    let types: Punctuated<_, Token![,]> = signature
        .inputs
        .iter()
        .filter_map(|input| match input {
            FnArg::Typed(typed) => Some(&typed.ty),
            FnArg::Receiver(_) => None,
        })
        .collect();
    let result = match &signature.output {
        ReturnType::Type(_, result) => quote!(-> #result),
        ReturnType::Default => quote!(),
    };
    parameters.insert(name.to_string(), types.iter().map(|ty| quote!(#ty).to_string()).collect());
    quote!(pub type #name = unsafe extern "C" fn(#types) #result;)
}
