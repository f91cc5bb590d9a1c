//! Makes the types of `cuda.h` and the functions that are not implemented.
//!
//! - `sys.rs`: structures, enumerations as integers with constants (a program may pass any number), and for every
//!   function its type. All come from the source of the crate `cudarc`, which is generated from `cuda.h`.
//! - `exports.rs`: for every symbol of `api.txt` that no file in `src/api` defines either the same function with the
//!   per-thread default stream, if it is one of those twins, or one that says that it is not supported; and a table of
//!   all symbols.

use quote::quote;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};
use syn::{Attribute, FnArg, Item, ReturnType};

/// The version of `cuda.h`, as `cudarc` calls it.
const FEATURE: &str = "\"cuda-13000\"";

/// Older forms whose parameters are those of a newer one.
const OLDER: [(&str, &str); 20] = [
    ("cuCtxDestroy", "cuCtxDestroy_v2"),
    ("cuCtxPopCurrent", "cuCtxPopCurrent_v2"),
    ("cuCtxPushCurrent", "cuCtxPushCurrent_v2"),
    ("cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRelease_v2"),
    ("cuDevicePrimaryCtxReset", "cuDevicePrimaryCtxReset_v2"),
    ("cuDevicePrimaryCtxSetFlags", "cuDevicePrimaryCtxSetFlags_v2"),
    ("cuEventDestroy", "cuEventDestroy_v2"),
    ("cuEventElapsedTime", "cuEventElapsedTime_v2"),
    ("cuStreamDestroy", "cuStreamDestroy_v2"),
    ("cuMemHostRegister", "cuMemHostRegister_v2"),
    ("cuLinkCreate", "cuLinkCreate_v2"),
    ("cuLinkAddData", "cuLinkAddData_v2"),
    ("cuDeviceGetUuid", "cuDeviceGetUuid_v2"),
    ("cuIpcOpenMemHandle", "cuIpcOpenMemHandle_v2"),
    ("cuStreamBatchMemOp", "cuStreamBatchMemOp_v2"),
    ("cuStreamWaitValue32", "cuStreamWaitValue32_v2"),
    ("cuStreamWaitValue64", "cuStreamWaitValue64_v2"),
    ("cuStreamWriteValue32", "cuStreamWriteValue32_v2"),
    ("cuStreamWriteValue64", "cuStreamWriteValue64_v2"),
    ("cuTexRefSetAddress2D_v2", "cuTexRefSetAddress2D_v3"),
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=api.txt");
    println!("cargo:rerun-if-changed=src/api");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    let source = fs::read_to_string(bindings()).expect("cudarc has its source");
    let file = syn::parse_file(&source).expect("cudarc's source is Rust");
    let (sys, parameters) = types(&file);
    fs::write(out.join("sys.rs"), sys).expect("OUT_DIR can be written");
    fs::write(out.join("exports.rs"), exports(&parameters)).expect("OUT_DIR can be written");
}

/// Where `cudarc` keeps the driver's types.
fn bindings() -> PathBuf {
    let manifest = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("Cargo.toml");
    let offline = ["--offline".to_owned()];
    let metadata = cargo_metadata::MetadataCommand::new()
        .manifest_path(manifest)
        .other_options(offline)
        .exec()
        .expect("cargo metadata");
    let package = metadata.packages.iter().find(|package| package.name.as_str() == "cudarc");
    let manifest = &package.expect("cudarc is a dependency").manifest_path;
    manifest.parent().expect("a manifest is in a folder").join("src/driver/sys/mod.rs").into()
}

/// Whether an item exists in our version of the header.
fn exists(attributes: &[Attribute]) -> bool {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).all(|attribute| {
        let condition = quote!(#attribute).to_string();
        !condition.contains("cuda-") || condition.contains(FEATURE)
    })
}

/// What `sys.rs` says, and the types of every function's parameters.
fn types(file: &syn::File) -> (String, BTreeMap<String, Vec<String>>) {
    let mut items = Vec::new();
    let mut functions = Vec::new();
    let mut parameters = BTreeMap::new();
    let implemented = implemented();
    // A function is taken from our version of the header before it is taken from another.
    let (ours, others): (Vec<&Item>, Vec<&Item>) =
        file.items.iter().partition(|item| !matches!(item, Item::Fn(function) if !exists(&function.attrs)));
    for item in ours.into_iter().chain(others) {
        match item {
            Item::Use(item) if exists(&item.attrs) => {
                let text = quote!(#item).to_string();
                if text.contains("self ::") {
                    let mut item = item.clone();
                    item.attrs.clear();
                    items.push(quote!(#item));
                }
            }
            Item::Type(item) if exists(&item.attrs) => {
                let (name, ty) = (&item.ident, &item.ty);
                items.push(quote!(pub type #name = #ty;));
            }
            Item::Const(item) if exists(&item.attrs) => {
                let (name, ty, value) = (&item.ident, &item.ty, &item.expr);
                items.push(quote!(pub const #name: #ty = #value;));
            }
            Item::Enum(item) if exists(&item.attrs) => {
                let name = &item.ident;
                let signed = item.attrs.iter().any(|a| quote!(#a).to_string().contains("i32"));
                let integer = if signed { quote!(i32) } else { quote!(u32) };
                items.push(quote!(pub type #name = #integer;));
                for variant in &item.variants {
                    let (name, value) =
                        (&variant.ident, variant.discriminant.as_ref().map(|(_, value)| value));
                    items.push(quote!(pub const #name: #integer = #value;));
                }
            }
            Item::Struct(item) if exists(&item.attrs) => {
                let (name, fields, generics) = (&item.ident, &item.fields, &item.generics);
                let semicolon =
                    matches!(fields, syn::Fields::Unit | syn::Fields::Unnamed(_)).then(|| quote!(;));
                if generics.params.is_empty() {
                    let layout = item.attrs.iter().filter(|a| a.path().is_ident("repr"));
                    let shown = name.to_string();
                    items.push(quote! {
                        #(#layout)* #[derive(Clone, Copy)] pub struct #name #fields #semicolon
                        impl ::core::fmt::Debug for #name {
                            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                                f.write_str(#shown)
                            }
                        }
                    });
                }
            }
            Item::Union(item) if exists(&item.attrs) => {
                let (name, fields) = (&item.ident, &item.fields);
                items.push(quote!(#[repr(C)] #[derive(Clone, Copy)] pub union #name #fields));
            }
            Item::Fn(item) => {
                let name = &item.sig.ident;
                let text = name.to_string();
                let of_api =
                    text.starts_with("cu") && text.as_bytes().get(2).is_some_and(u8::is_ascii_uppercase);
                // Older forms that we have are in older versions of the header.
                let wanted = exists(&item.attrs) || implemented.contains_key(&text);
                if !of_api || !wanted || parameters.contains_key(&text) {
                    continue;
                }
                let types: Vec<_> = item
                    .sig
                    .inputs
                    .iter()
                    .map(|input| match input {
                        FnArg::Typed(typed) => &typed.ty,
                        FnArg::Receiver(_) => panic!("{name} is no method"),
                    })
                    .collect();
                let ReturnType::Type(_, result) = &item.sig.output else { panic!("{name} returns nothing") };
                parameters.insert(name.to_string(), types.iter().map(|ty| quote!(#ty).to_string()).collect());
                functions.push(quote!(pub type #name = unsafe extern "C" fn(#(#types),*) -> #result;));
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
    (text.to_string(), parameters)
}

/// The functions that `src/api` defines, with the types of their parameters.
fn implemented() -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir("src/api").expect("src/api is a folder") {
        let text =
            fs::read_to_string(entry.expect("src/api can be listed").path()).expect("sources are text");
        for (at, _) in text.match_indices("    fn cu") {
            let Some((name, rest)) = text[at..].trim_start()[3..].split_once('(') else { continue };
            let (parameters, _) = rest.split_once(')').expect("a list of parameters ends");
            // Their types are names and pointers, which have no commas.
            let types = parameters.split(',').filter_map(|parameter| parameter.split_once(": "));
            let types = types.map(|(_, ty)| ty.split_whitespace().collect::<Vec<_>>().join(" "));
            found.insert(name.to_owned(), types.collect());
        }
    }
    found
}

fn exports(parameters: &BTreeMap<String, Vec<String>>) -> String {
    let implemented = implemented();
    let mut out = String::new();
    let mut table = String::new();
    let listed = fs::read_to_string("api.txt").expect("api.txt is there");
    let mut symbols: Vec<(&str, u32)> = listed
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let (symbol, version) = line.split_once(' ').expect("a symbol and a version");
            (symbol, version.parse().expect("a version"))
        })
        .collect();
    // Newer symbols than those of the list are in no table of versions; there are none as long as both are of 13.0.
    symbols.sort_unstable();
    for (symbol, version) in symbols {
        let twin = symbol.strip_suffix("_ptsz").or(symbol.strip_suffix("_ptds"));
        let plain = twin.unwrap_or(symbol);
        let newer = OLDER.iter().find(|(older, _)| *older == plain).map(|(_, newer)| *newer);
        let same = [twin, newer].into_iter().flatten().find(|same| implemented.contains_key(*same));
        if let Some(original) = same.filter(|_| !implemented.contains_key(symbol)) {
            // What no header of today declares has the types that we give it.
            let types = parameters.get(original).unwrap_or(&implemented[original]).iter().enumerate();
            let typed: String = types.map(|(i, ty)| format!("a{i}: {ty}, ")).collect();
            writeln!(out, "crate::border::twin! {{ {symbol}, {original}, {}, ({typed}) }}", twin.is_some())
                .expect("strings take everything");
        } else if !implemented.contains_key(symbol) {
            writeln!(out, "crate::border::unsupported! {{ {symbol} }}").expect("strings take everything");
        }
        let stem = symbol.trim_end_matches("_ptsz").trim_end_matches("_ptds");
        let name = match stem.rsplit_once("_v") {
            Some((name, number)) if number.bytes().all(|b| b.is_ascii_digit()) => name,
            _ => stem,
        };
        let per_thread = twin.is_some();
        writeln!(
            table,
            "Symbol {{ name: \"{name}\", version: {version}, per_thread: {per_thread}, address: {} as *const () }},",
            if implemented.contains_key(symbol) { format!("crate::api::{symbol}") } else { symbol.to_owned() }
        )
        .expect("strings take everything");
    }
    format!(
        "{out}\n/// Every symbol, by name.\npub(crate) static SYMBOLS: Symbols = Symbols(&[\n{table}]);\n"
    )
}
